"""Intervals of agreement: the same values as without, on every family and with gaps."""

from __future__ import annotations

from typing import Any

import pytest

from embassay.protocols.hume.resampling import ALIKE, ResamplingSettings, agreement_intervals
from embassay.protocols.hume.scoring import people_agreement
from embassay.protocols.hume.study import FAMILIES, Family
from embassay.randomness import make_seeded_generator


def answers(family: Family, *, annotators: int, gaps: float, n: int = 30) -> dict[str, dict[str, Any]]:
    """Annotators who are right seven times in ten."""
    rng = make_seeded_generator(21, family, str(annotators))
    found: dict[str, dict[str, Any]] = {f"ann {k}": {} for k in range(annotators)}
    for i in range(n):
        for own in found.values():
            value = i % 4 if rng.random() < 0.7 else int(rng.integers(4))
            marks = tuple(int(rng.random() < share) for share in (0.9, 0.7, 0.2, 0.1))
            if rng.random() >= gaps:
                own[f"{i:02}"] = {
                    "classification": value, "clustering": str(value), "sts": float(value), "reranking": marks
                }[family]  # fmt: skip
    return found


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize(("annotators", "gaps"), [(2, 0.0), (3, 0.25), (5, 0.5)])
def test_values_are_those_without_interval(family: Family, annotators: int, gaps: float) -> None:
    """Every coefficient of `people_agreement` but counts and spread, to the last digits, inside its interval."""
    given = answers(family, annotators=annotators, gaps=gaps)
    plain = people_agreement(family, given, min_shared=4)
    expected = {plain.coefficient: plain.value, **plain.extras}
    found = agreement_intervals(family, given, ResamplingSettings(400), min_shared=4)
    assert expected.keys() - found.keys() <= {"dropped", "spearman_sd", "comparisons", "skipped"}
    for name, one in found.items():
        assert one.value == pytest.approx(expected[name], abs=1e-12), name
        assert one.low is None if name == "v_measure" else one.low < one.value < one.high


def test_check_vectors() -> None:
    """HUME section 6: the intervals lie around the values given there."""
    labels = {"a": dict(enumerate("aabbccabca")), "b": dict(enumerate("abbbcaabcc"))}
    found = agreement_intervals("classification", {k: {str(i): v for i, v in own.items()} for k, own in labels.items()})
    assert found["fleiss_kappa"].value == pytest.approx(0.548872, abs=1e-6)
    assert found["cohen_kappa"].value == pytest.approx(0.552239, abs=1e-6)
    assert found["percent_agreement"].low == pytest.approx(0.35, abs=0.1)


def test_undefined_resamples_are_counted() -> None:
    """Two who agree on all but rare labels: some resamples hold one label only."""
    own = {f"{i:02}": "x" for i in range(11)} | {"11": "y"}
    found = agreement_intervals("classification", {"a": own, "b": dict(own)})["fleiss_kappa"]
    # (11 / 12)^12 of the resamples miss the only y.
    assert found.undefined == pytest.approx(2000 * (11 / 12) ** 12, rel=0.1)
    assert "of 2000 resamples" in found.reason


def test_perfect_agreement_has_no_interval() -> None:
    """Nor has one annotator, or two without a common item, anything at all."""
    own = {f"{i:02}": str(i % 3) for i in range(30)}
    found = agreement_intervals("clustering", {"a": own, "b": dict(own)})["ari"]
    assert (found.value, found.reason) == (1.0, ALIKE)
    assert agreement_intervals("sts", {"a": {"1": 2.0}}) == {}
    assert agreement_intervals("sts", {"a": {"1": 2.0}, "b": {"2": 2.0}}) == {}
    assert agreement_intervals("sts", {}) == {}


@pytest.mark.parametrize("family", FAMILIES)
def test_intervals_stay_in_range(family: Family) -> None:
    """Of few items and near full agreement a widened interval would pass 1."""
    rng = make_seeded_generator(31, family)
    ids = [f"{i:02}" for i in range(8)]
    for study in range(30):
        own = answers(family, annotators=1, gaps=0.0, n=8)["ann 0"]
        other = dict(own)
        moved = ids[int(rng.integers(8))]
        other[moved] = own[ids[study % 8]]
        for name, one in agreement_intervals(
            family, {"a": own, "b": other}, ResamplingSettings(200, seed=study)
        ).items():
            assert not one.ends[1] > 1 or name == "absolute_difference", name
            assert not one.ends[0] < (0 if name in ("percent_agreement", "absolute_difference") else -1), name
