"""Who beats whom: the paired bootstrap of the specification, corrected by Holm, and ranks that follow from it."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl
import pytest
import scipy.stats

import embassay as eb
from embassay.protocols.rag.scoring.conclusions import find_less_judged_run
from embassay.protocols.rag.scoring.score import ScoringRecord
from embassay.randomness import make_seeded_generator
from embassay.stats import corrected_interval, freedom_of_units, holm, randomization_test, resample_means, wilson
from embassay.stats.resampling import count_effective_groups
from stub.ranked import by_query, qrels, run

# Everything is judged: where grades are missing, none of these runs would be said to be beaten.
SHARED = {query: {f"d{i}": 1 for i in range(60)} | grades for query, grades in qrels(150).items()}


JUDGED = by_query(SHARED)
RUNS = {
    "good": by_query(run(SHARED, 1, skill=4.0, depth=50)),
    "fair": by_query(run(SHARED, 2, skill=0.4, depth=50)),
    "same": by_query(run(SHARED, 13, skill=0.4, depth=50)),
    "poor": by_query(run(SHARED, 4, skill=-1.0, depth=50)),
}
MEASURES = ["RA-nWG@10", "Harm@10", "N-Recall5@10", "%PROC@10"]


@pytest.fixture(scope="module")
def found() -> eb.rag.Scoring:
    return eb.rag.score(JUDGED, RUNS, measures=MEASURES, resamples=4000, seed=5)


def values(found: eb.rag.Scoring, name: str, measure: str) -> np.ndarray:
    frame = found.per_query.filter(pl.col("run") == name, pl.col("measure") == measure)
    return frame["value"].fill_null(np.nan).to_numpy()


def test_intervals_are_those_of_every_protocol(found: eb.rag.Scoring) -> None:
    """The percentiles of resampled means, corrected for bias and few units; Wilson's where all have 0 or all have 1."""
    for name in RUNS:
        known = values(found, name, "Harm@10")
        draws = resample_means(known, n_resamples=4000, rng=make_seeded_generator(5, "resample"))[:, 0]
        expected = corrected_interval(draws, known.mean(), freedom_of_units(150), accelerated=True)
        if np.ptp(known) == 0:
            expected = wilson(known[0], 150).low, wilson(known[0], 150).high
        value = found.record.value(name, "Harm@10")
        assert value is not None
        assert value.value == pytest.approx(known.mean(), abs=1e-12)
        assert (value.low, value.high) == pytest.approx(expected, abs=1e-9)


def test_pairs_are_t_tests_of_the_paired_bootstrap(found: eb.rag.Scoring) -> None:
    """Difference, interval and p by scipy's t with 149 degrees; adjusted by Holm over the pairs of the measure."""
    comparison = found.record.find_measure_comparison("Harm@10")
    assert comparison is not None
    for pair in comparison.pairs:
        apart = values(found, pair.a, "Harm@10") - values(found, pair.b, "Harm@10")
        draws = resample_means(apart, n_resamples=4000, rng=make_seeded_generator(5, "resample"))[:, 0]
        error = float(np.std(draws, ddof=1)) * (150 / 149) ** 0.5
        half = scipy.stats.t.ppf(0.975, 149) * error
        p = 2 * scipy.stats.t.sf(abs(apart.mean()) / error, 149)
        expected = (apart.mean(), apart.mean() - half, apart.mean() + half, p)
        assert (pair.difference, pair.low, pair.high, pair.p) == pytest.approx(expected, abs=1e-9)
    assert [pair.p_adjusted for pair in comparison.pairs] == holm([pair.p for pair in comparison.pairs])


def test_ranks_follow_from_the_tests(found: eb.rag.Scoring) -> None:
    """Best first; a rank is a range where the tests leave it open."""
    comparison = found.record.find_measure_comparison("RA-nWG@10")
    assert comparison is not None
    ranges = zip(comparison.rank_low, comparison.rank_high, strict=True)
    assert dict(zip(comparison.runs, ranges, strict=True)) == {
        "good": (1, 1), "fair": (2, 3), "same": (2, 3), "poor": (4, 4),
    }  # fmt: skip
    assert {pair.better for pair in comparison.pairs if {pair.a, pair.b} == {"fair", "same"}} == {""}


def test_where_lower_is_better_the_lower_one_wins(found: eb.rag.Scoring) -> None:
    """Harm: the run that beats another has less of it."""
    comparison = found.record.find_measure_comparison("Harm@10")
    assert comparison is not None
    for pair in comparison.pairs:
        if pair.better:
            assert (pair.better == pair.a) == (pair.difference < 0)
    assert any(pair.better for pair in comparison.pairs)


def test_the_verdict_names_who_may_be_first(found: eb.rag.Scoring) -> None:
    """And its numbers are those of the pair."""
    assert found.verdict == "good beats every other run on RA-nWG@10"
    assert "the next, by" in found.record.lede[0]


def _unequally_judged(**options: Any) -> eb.rag.Scoring:
    """Two runs of the same quality; nobody graded half of what the second found."""
    judged = {f"q{i}": {f"d{j}": 1 + (i + j) % 5 for j in range(10)} for i in range(30)}
    old = {query: list(grades) for query, grades in judged.items()}
    new = {query: [f"new{j}" if j % 2 else f"d{j}" for j in range(10)] for query in judged}
    runs = {"old": by_query(old), "new": by_query(new)}
    return eb.rag.score(by_query(judged), runs, resamples=500, **options)


def test_a_run_that_is_judged_less_is_not_said_to_be_beaten() -> None:
    """It may be behind for the missing grades alone: the heading and the sentence under it say so, and the way on."""
    found = _unequally_judged()
    assert found.verdict == "old scores highest on RA-nWG@10, but new has fewer graded passages"
    assert "50.0% of the passages that count, compared with 0.0% for the leader" in found.record.lede[1]
    assert "--add-run" in found.record.lede[1]
    assert find_less_judged_run(found.record) == ("new", pytest.approx(0.5), pytest.approx(0.0))


def test_where_they_are_taken_out_missing_grades_count_against_nobody() -> None:
    """Nor where the less judged one leads."""
    assert find_less_judged_run(_unequally_judged(unjudged="condense").record) is None
    judged = {f"q{i}": {f"d{j}": 5 if j < 5 else 1 for j in range(10)} for i in range(30)}
    runs = {
        "old": {query: [f"d{j}" for j in range(5, 10)] for query in judged},
        "new": {query: ["d0", "d1", "new1", "new2", "d2"] for query in judged},
    }
    runs = {name: by_query(run) for name, run in runs.items()}
    found = eb.rag.score(by_query(judged), runs, measures=["RA-nWG@5", "Judged@5"], resamples=500)
    assert find_less_judged_run(found.record) is None
    assert found.verdict == "new beats every other run on RA-nWG@5"


def test_equal_runs_cannot_be_told_apart() -> None:
    """A run against itself differs by nothing, with p 1."""
    found = eb.rag.score(JUDGED, {"a": RUNS["fair"], "b": RUNS["fair"]}, measures=["RA-nWG@10"], resamples=500)
    comparison = found.record.find_measure_comparison("RA-nWG@10")
    assert comparison is not None
    [pair] = comparison.pairs
    assert (pair.difference, pair.low, pair.high, pair.p, pair.better) == (0, None, None, 1, "")
    assert found.verdict == "No run stands out on RA-nWG@10: both may be first"


def test_the_randomisation_test() -> None:
    """An option: the p of random signs, none for ratios."""
    found = eb.rag.score(
        JUDGED, {name: RUNS[name] for name in ("fair", "same", "poor")}, measures=MEASURES, test="randomization",
        resamples=5000,
    )  # fmt: skip
    comparison = found.record.find_measure_comparison("Harm@10")
    assert comparison is not None
    for pair in comparison.pairs:
        one = randomization_test(values(found, pair.a, "Harm@10"), values(found, pair.b, "Harm@10"), n_resamples=5000)
        assert pair.p == pytest.approx(one.p, abs=0.03)
    ratio = found.record.find_measure_comparison("%PROC@10")
    assert ratio is not None
    assert ratio.reason == "the randomisation test compares means, not ratios"
    assert "randomisation" in found.record.settings.test


def test_too_few_resamples_are_said() -> None:
    """With many pairs, few patterns of signs cannot reach significance after the correction."""
    runs = {f"r{i}": RUNS["fair"] for i in range(6)}
    found = eb.rag.score(JUDGED, runs, measures=["Harm@10"], resamples=500, test="randomization")
    assert any(
        "15 pairs of runs, 500 resamples are too few for significance" in note.text for note in found.record.notes
    )


def test_undefined_on_either_side_is_left_out_of_both() -> None:
    """A difference is over the queries where both runs have a value."""
    judged = {f"q{i}": {f"a{i}": 5, f"b{i}": 1} for i in range(30)}
    full = {query: [f"a{query[1:]}"] for query in judged}
    half = {query: [f"b{query[1:]}"] for query in list(judged)[:20]}
    found = eb.rag.score(judged, {"full": full, "half": half}, measures=["Judged@1", "R@1"], resamples=500)
    comparison = found.record.find_measure_comparison("Judged@1")
    assert comparison is not None
    assert [pair.n for pair in comparison.pairs] == [20]
    recall = found.record.find_measure_comparison("R@1")
    assert recall is not None
    assert [(pair.n, pair.difference) for pair in recall.pairs] == [(30, 1.0)]
    # One run has everything and the other nothing, 30 times: the chance of one sign for all of them.
    assert recall.pairs[0].p == 2.0**-29


def _of_paragraphs(sizes: list[int], hit: list[float]) -> tuple[dict[str, dict[str, int]], dict[str, list[str]]]:
    """Questions on paragraphs, so many on each, and a run that has the paragraph for a share of them."""
    judged, run = {}, {}
    for paragraph, (size, share) in enumerate(zip(sizes, hit, strict=True)):
        for i in range(size):
            judged[f"p{paragraph}q{i}"] = {f"p{paragraph}": 5}
            run[f"p{paragraph}q{i}"] = [f"p{paragraph}" if i < share * size else "none"]
    return judged, run


def test_questions_that_share_a_relevant_document_are_drawn_together() -> None:
    """The interval is that of a mean over paragraphs, by hand; compared by both, two runs differ over paragraphs."""
    sizes, hit = [4, 6, 2, 8, 4, 6, 2, 8, 5], [1, 0.5, 0, 0.75, 0.25, 1, 0.5, 1, 0.2]
    judged, run = _of_paragraphs(sizes, hit)
    found = eb.rag.score(
        judged, {"a": run, "b": {query: ["none"] for query in judged}}, measures=["R@1"], resamples=3000
    )
    assert found.record.judgements.groups == 9
    sums = np.array([round(size * share) for size, share in zip(sizes, hit, strict=True)], dtype=float)
    rows = make_seeded_generator(0, "resample").integers(0, 9, size=(3000, 9))
    draws = sums[rows].sum(axis=1) / np.array(sizes)[rows].sum(axis=1)
    value = found.record.value("a", "R@1")
    assert value is not None
    # Nine groups of unequal sizes tell as much as 45^2 / 265 = 7.6 of one size, eight.
    assert count_effective_groups(np.repeat(np.arange(9), sizes)) == 8
    expected = corrected_interval(draws, sums.sum() / 45, freedom_of_units(8), accelerated=True)
    assert (value.low, value.high) == pytest.approx(expected, abs=1e-9)
    assert "9 groups of queries that share a relevant document" in value.method
    [pair] = found.record.comparisons[0].pairs
    assert (pair.df, pair.error) == (7, pytest.approx(np.std(draws, ddof=1) * (8 / 7) ** 0.5))


def test_one_document_for_all_questions_leaves_no_interval() -> None:
    """They are one unit, and the record says so."""
    judged, run = _of_paragraphs([12], [0.5])
    found = eb.rag.score(
        judged, {"a": run, "b": {query: ["none"] for query in judged}}, measures=["R@1"], resamples=100
    )
    [comparison] = found.record.comparisons
    assert comparison.reason == "all queries share a relevant document, so they count as one"
    assert [(value.low, value.high) for value in found.record.values] == [(None, None)] * 2


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_no_interval_has_a_width_of_zero(share: float) -> None:
    """Ten questions of ten that all have 1 (or 0): Wilson's interval, 0.722 to 1."""
    judged, run = _of_paragraphs([1] * 10, [share] * 10)
    found = eb.rag.score(judged, {"a": run}, measures=["R@1"], resamples=100)
    [value] = found.record.values
    ends = (0.7225, 1.0) if share else (0.0, 0.2775)
    assert (value.value, value.low, value.high) == (share, *(pytest.approx(end, abs=1e-4) for end in ends))


def test_what_never_varies_between_the_ends_has_no_interval() -> None:
    """Ten questions with one of two passages each: nothing says how much others would differ, and that is said."""
    judged = {f"q{i}": {f"a{i}": 5, f"b{i}": 5} for i in range(10)}
    found = eb.rag.score(judged, {"a": {f"q{i}": [f"a{i}"] for i in range(10)}}, measures=["R@1"], resamples=100)
    [value] = found.record.values
    assert (value.value, value.low, value.high) == (0.5, None, None)
    assert "every resample gives the same" in value.method


def test_pairs_are_best_first(found: eb.rag.Scoring) -> None:
    """So that the first is of the two best."""
    score: ScoringRecord = found.record
    for comparison in score.comparisons:
        shown = [score.value(name, comparison.measure) for name in comparison.runs]
        known = [one.value for one in shown if one is not None and one.value is not None]
        assert all((a <= b) if comparison.measure == "Harm@10" else (a >= b) for a, b in pairwise(known))
