"""A run of which fewer passages are graded is not declared worse by a comparison either."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import embassay as eb
from embassay.protocols.compare import ComparableRun, compare_systems, list_ranked_system_groups, read_comparable_run
from embassay.protocols.compare_claims import make_contrast_claim, make_first_place_claims
from embassay.protocols.gate import ThresholdVerdict, judge_against_baseline
from embassay.protocols.kernel.tables import SCORE
from embassay.report.terminal import contrast_verdict


def test_a_run_that_is_judged_less_is_not_worse_in_a_comparison(tmp_path: Path) -> None:
    """The second run's odd passages were never graded: p is small, and no rank, verdict or claim goes by it."""
    judged = {f"q{i}": {f"q{i}-{j}": 1 + (i + j) % 5 for j in range(10)} for i in range(30)}
    old = {query: list(grades) for query, grades in judged.items()}
    new = {query: [f"new{j}" if j % 2 else f"{query}-{j}" for j in range(10)] for query in judged}
    runs = {"old": old, "new": new}
    eb.rag.score(judged, runs, measures=["nDCG@10", "Harm@10"], resamples=300, out=tmp_path / "scored")
    run = read_comparable_run(tmp_path / "scored")
    found = compare_systems(run, "new", "old", measures=["nDCG@10"])
    [one] = found.contrasts
    assert one.p_adjusted < 0.05
    assert one.judged_less == "new"
    assert make_contrast_claim(one).relation == "higher"
    said = contrast_verdict(one, SCORE, found.among)
    assert said.startswith("old scores higher than new")
    assert "missing labels" in said
    field = next(iter(list_ranked_system_groups(run, measures=["nDCG@10"])))
    assert [(entrant.rank_low, entrant.rank_high) for entrant in field.entrants] == [(1, 2), (1, 2)]
    assert {claim.subject for claim in make_first_place_claims(field)} == {"old", "new"}
    # And a run that is judged alike is worse: the same documents, in the worst order or nearly so.
    poor = {query: sorted(grades, key=lambda key: grades[key]) for query, grades in judged.items()}
    poor |= {f"q{i}": [*poor[f"q{i}"][3:], *poor[f"q{i}"][:3]] for i in range(10)}
    good = {query: sorted(grades, key=lambda key: -grades[key]) for query, grades in judged.items()}
    eb.rag.score(judged, {"good": good, "poor": poor}, measures=["nDCG@10"], resamples=300, out=tmp_path / "fair")
    fair = compare_systems(read_comparable_run(tmp_path / "fair"), "good", "poor")
    assert make_contrast_claim(fair.contrasts[0]).relation == "beats"


QUERIES = range(40)
GRADED = {f"q{i}": {f"q{i}-{j}": 1 + (i + j) % 5 for j in range(10)} for i in QUERIES}
BEST_FIRST = {query: sorted(grades, key=grades.__getitem__, reverse=True) for query, grades in GRADED.items()}
"""What a system retrieved; others in the same places were never graded."""


def _replace_passages(places: int) -> dict[str, list[str]]:
    """The last of so many places in every other query, and one place less in the others, hold what nobody graded."""
    return {
        query: [*ranked[: 10 - places + i % 2], *(f"new{j}" for j in range(places - i % 2))]
        for i, (query, ranked) in enumerate(BEST_FIRST.items())
    }


def _score_alone(folder: Path, ranked: Any, **options: Any) -> ComparableRun:
    eb.rag.score(GRADED, {"bm25": ranked}, resamples=300, out=folder, **options)
    return read_comparable_run(folder)


def _gate(now: ComparableRun, base: ComparableRun, measure: str) -> ThresholdVerdict:
    [verdict] = judge_against_baseline(now, base, measures=[measure])
    return verdict


def test_a_run_that_is_judged_less_than_in_an_earlier_folder_is_not_worse(tmp_path: Path) -> None:
    """Seven of ten passages lost their grades, in half of the queries six: 65% have none, where all had one."""
    measures = {"measures": ["nDCG@10"]}
    now = _score_alone(tmp_path / "now", _replace_passages(7), **measures)
    base = _score_alone(tmp_path / "base", BEST_FIRST, **measures)
    assert now.ungraded["nDCG@10"]["bm25"] == pytest.approx(0.65)
    assert base.ungraded["nDCG@10"]["bm25"] == 0
    [one] = compare_systems(now, "bm25", "bm25", base).contrasts
    assert one.p < 0.001
    assert one.judged_less == "bm25 (now)"
    assert make_contrast_claim(one).relation == "higher"
    assert "missing labels" in contrast_verdict(one, SCORE)
    verdict = _gate(now, base, "nDCG@10")
    assert (verdict.met, verdict.stops) == (None, True)
    assert "fewer of its passages are graded now" in verdict.reason
    assert verdict.value == pytest.approx(one.difference)
    # A better run is better, whatever is judged of it.
    assert _gate(base, now, "nDCG@10").met


def test_what_is_judged_alike_is_worse_in_two_folders(tmp_path: Path) -> None:
    """And so is what is left out before the cut, or differs by less than 5%."""
    worst_first = {query: [*ranked[1:], ranked[0]][::-1] for query, ranked in BEST_FIRST.items()}
    worst_first |= {query: worst_first[query][1:] for query in list(worst_first)[:20]}
    base = _score_alone(tmp_path / "base", BEST_FIRST, measures=["nDCG@10"])
    now = _score_alone(tmp_path / "now", worst_first, measures=["nDCG@10"])
    [one] = compare_systems(now, "bm25", "bm25", base).contrasts
    assert (one.judged_less, make_contrast_claim(one).relation) == ("", "beats")
    assert _gate(now, base, "nDCG@10").met is False


def test_harm_that_no_grade_shows_is_no_gain(tmp_path: Path) -> None:
    """Of Harm the one that is ahead may be so for its missing grades."""
    measures = {"measures": ["Harm@10"]}
    now = _score_alone(tmp_path / "now", BEST_FIRST, **measures)
    base = _score_alone(tmp_path / "base", _replace_passages(4), **measures)
    assert base.ungraded["Harm@10"]["bm25"] == pytest.approx(-0.35)
    [one] = compare_systems(now, "bm25", "bm25", base).contrasts
    assert one.judged_less == "bm25 (base)"
    verdict = _gate(now, base, "Harm@10")
    assert (verdict.met, verdict.stops) == (None, True)


def test_a_new_name_keeps_what_is_judged(tmp_path: Path) -> None:
    """`gate --as`: the shares are those of the system, whatever it is called."""
    base = _score_alone(tmp_path / "base", BEST_FIRST, measures=["nDCG@10"])
    assert base.rename_systems({"bm25": "bm25s"}).ungraded == {"nDCG@10": {"bm25s": 0.0}}
