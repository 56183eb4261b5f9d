"""Drops from rows, against original score and language: equal to a direct computation, and nothing left out unsaid."""

from __future__ import annotations

import math
from collections.abc import Iterator
from statistics import fmean

import numpy as np
import pytest
from scipy.stats import spearmanr

from embassay.protocols.pteb.drops import (
    HEADLINES,
    ScoreDrop,
    analyse_drops_by_language,
    list_used_datasets,
    measure_score_drops,
    parse_source_from_variant,
    relate_drops_to_original_scores,
)
from embassay.protocols.wordings.records import classify_language_as_english_or_other
from embassay.records import ResultRow, SkippedItems

SEEDS = (1337, 1338, 1339)


def cell(
    dataset: str,
    system: str,
    original: float | None,
    deltas: list[float | None],
    *,
    task: str = "sts",
    lang: str = "eng",
    subset: str = "",
    source: str = "",
) -> Iterator[ResultRow]:
    """The rows of one system on one dataset: the original, and per run its score and delta."""

    def row(variant: str, measure: str, value: float | None) -> ResultRow:
        reason = "" if value is not None else "6% of the texts have no wording"
        return ResultRow("pteb", task, dataset, subset, lang, variant, system, measure, value, 100, reason=reason)

    yield row("original", HEADLINES[task], original)
    yield row("original", "another", 0.123)
    for seed, delta in zip(SEEDS, deltas, strict=False):
        variant = f"paraphrase:{source}{',' if source else ''}seed={seed}"
        yield row(variant, HEADLINES[task], None if delta is None or original is None else original + delta)
        yield row(variant, "delta", delta)
    # A summary row of the same name, which is no run.
    yield row("", "delta", 9.0)


def test_a_drop_is_the_mean_over_the_runs() -> None:
    """Of the rows of runs alone; the original is the headline's."""
    found = measure_score_drops(cell("stsb", "minilm", 0.8, [-0.03, -0.05, -0.04]))
    assert found.missing == ()
    [drop] = found.rows
    assert (drop.task, drop.dataset, drop.system, drop.original, drop.runs) == ("sts", "stsb", "minilm", 0.8, 3)
    assert drop.delta == pytest.approx(-0.04)


def test_a_run_without_a_score_is_counted() -> None:
    """The mean of the others would be another quantity."""
    rows = [*cell("stsb", "a", 0.8, [-0.03, None]), *cell("sick", "a", None, [-0.1])]
    found = measure_score_drops(rows)
    assert found.rows == ()
    assert found.missing == (
        SkippedItems("a run without a score", 1, ("a sts stsb",)),
        SkippedItems("no original score", 1, ("a sts sick",)),
    )


def test_sources_can_be_asked_for_by_themselves() -> None:
    """Names may hold commas and colons."""
    name = "by=openai:gpt?x=1,y=2"
    rows = [*cell("stsb", "a", 0.8, [-0.1], source=name), *cell("stsb", "a", 0.8, [-0.3], source="by=b")]
    assert parse_source_from_variant(f"paraphrase:{name},seed=1337") == name
    assert [drop.delta for drop in measure_score_drops(rows, source=name).rows] == [-0.1]
    assert [drop.delta for drop in measure_score_drops(rows).rows] == [pytest.approx(-0.2)]
    assert measure_score_drops(rows, source="").rows == ()


def test_languages_take_the_place_of_their_dataset() -> None:
    """Each by itself when asked for; a dataset with one language stays as it is."""
    rows = [
        *cell("sts17", "a", 0.7, [-0.1], lang="mul"),
        *cell("sts17", "a", 0.8, [-0.05], lang="eng", subset="eng"),
        *cell("sts17", "a", 0.6, [-0.15], lang="spa", subset="spa"),
        *cell("stsb", "a", 0.9, [-0.02]),
    ]
    assert [drop.lang for drop in measure_score_drops(rows).rows] == ["mul", "eng"]
    assert [drop.lang for drop in measure_score_drops(rows, by_language=True).rows] == ["eng", "spa", "eng"]
    assert [(one.dataset, one.languages) for one in list_used_datasets(rows)] == [
        ("sts17", ("eng", "spa")),
        ("stsb", ("eng",)),
    ]


def some(n: int = 24, systems: int = 3) -> list[ScoreDrop]:
    rng = np.random.default_rng(5)
    return [
        ScoreDrop("sts", f"d{i}", "eng" if i % 3 else "spa", f"s{j}", original, 0.02 - 0.1 * original, 6)
        for i in range(n)
        for j in range(systems)
        for original in [float(rng.uniform(0.1, 1.0))]
    ]


def test_against_the_original_score() -> None:
    """Bins, contrast and correlation equal a direct computation."""
    points = some()
    found = relate_drops_to_original_scores(points)
    high = [drop.delta for drop in points if drop.original > 0.8]
    low = [drop.delta for drop in points if drop.original <= 0.8]
    assert found.above.first is not None
    assert found.above.second is not None
    assert found.above.difference is not None
    assert found.above.first.delta.value == pytest.approx(fmean(high))
    assert found.above.second.delta.value == pytest.approx(fmean(low))
    difference = found.above.difference
    assert difference.value == pytest.approx(fmean(high) - fmean(low))
    assert difference.low < difference.value < difference.high < 0
    assert found.correlation == pytest.approx(-1)
    expected = spearmanr([p.original for p in points], [p.delta for p in points]).statistic
    assert found.correlation == pytest.approx(expected)
    assert [one.name for one in found.bins] == ["under 20", "20 to 40", "40 to 60", "60 to 80", "80 to 100"]
    assert sum(one.delta.n for one in found.bins) == len(points)


def test_edges_belong_to_the_upper_bin() -> None:
    """But a score of 100 is in the last one, and 80 is not above 80."""
    points = [
        ScoreDrop("sts", f"d{i}", "eng", "s", original, 0.0, 1) for i, original in enumerate((-0.1, 0.2, 0.8, 1.0))
    ]
    found = relate_drops_to_original_scores(points)
    assert [(one.name, one.delta.n) for one in found.bins] == [("under 20", 1), ("20 to 40", 1), ("80 to 100", 2)]
    assert found.above.first is not None
    assert found.above.first.delta.n == 1
    assert math.isnan(found.correlation)


def test_few_datasets_have_no_interval() -> None:
    """The cells of one are not independent, and resamples of two or three are two or three values."""
    [group] = relate_drops_to_original_scores(
        [ScoreDrop("sts", "d", "eng", f"s{i}", 0.5, -0.1, 1) for i in range(5)]
    ).bins
    assert (group.delta.n, group.datasets, group.delta.method) == (
        5,
        1,
        "no interval: 1 dataset, but at least 5 are needed",
    )
    assert group.delta.low is None


def test_the_interval_draws_datasets_with_all_their_cells() -> None:
    """Copies of a system narrow nothing: 95% intervals hold a planted mean as often as they say."""
    rng = np.random.default_rng(11)
    held = 0
    for trial in range(150):
        shared = rng.normal(-0.05, 0.03, 25)
        points = [
            ScoreDrop("sts", f"d{i}", "eng", f"s{j}", 0.5, float(delta), 6)
            for i, delta in enumerate(shared)
            for j in range(4)
        ]
        [group] = relate_drops_to_original_scores(points, seed=trial).bins
        held += group.delta.low <= -0.05 <= group.delta.high
    assert 0.86 <= held / 150 <= 0.99


@pytest.mark.parametrize(
    ("lang", "group"),
    [
        ("en", "English"),
        ("eng-eng", "English"),
        ("en-GB", "English"),
        ("deu", "other languages"),
        ("zh-Hans", "other languages"),
        ("pt-BR", "other languages"),
        ("spa-spa", "other languages"),
        ("nld-eng", "English and another"),
        ("und", None),
        ("", None),
        ("mul", None),
    ],
)
def test_languages_have_their_group(lang: str, group: str | None) -> None:
    """Regions and scripts are no second language."""
    assert classify_language_as_english_or_other(lang) == group


def test_english_against_other_languages() -> None:
    """The plain difference, and the one within datasets that have both."""
    points = [
        ScoreDrop("sts", "sts17", "eng", "a", 0.9, -0.02, 6),
        ScoreDrop("sts", "sts17", "spa", "a", 0.8, -0.05, 6),
        ScoreDrop("sts", "sts17", "ara-eng", "a", 0.7, -0.09, 6),
        ScoreDrop("classification", "bank", "eng", "a", 0.9, -0.10, 6),
        ScoreDrop("retrieval", "odd", "und", "a", 0.9, -0.5, 6),
    ]
    found = analyse_drops_by_language(points)
    assert [(one.name, round(one.delta.value, 4)) for one in found.groups] == [
        ("English", -0.06),
        ("other languages", -0.05),
        ("English and another", -0.09),
    ]
    assert found.difference.difference is not None
    assert found.difference.difference.value == pytest.approx(-0.01)
    assert found.same_datasets.difference is not None
    assert found.same_datasets.difference.value == pytest.approx(0.03)
    assert [one.name for one in found.languages] == ["ara-eng", "eng", "spa"]
    assert found.missing == (SkippedItems("language not known", 1, ("a retrieval/odd",)),)


def test_one_language_has_no_difference() -> None:
    """None, not 0."""
    found = analyse_drops_by_language([ScoreDrop("sts", "d", "eng", "a", 0.9, -0.1, 6)])
    assert found.difference.difference is None
    assert found.difference.second is None
