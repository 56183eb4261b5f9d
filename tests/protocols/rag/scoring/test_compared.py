"""Who beats whom: the paired bootstrap of the specification, corrected by Holm, and ranks that follow from it."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl
import pytest

import embassay as eb
from embassay.protocols.rag.scoring.conclusions import judged_less
from embassay.protocols.rag.scoring.score import Score
from embassay.stats import bootstrap_ci, holm, paired_bootstrap, randomization_test
from stub.ranked import qrels, run

# Everything is judged: where grades are missing, none of these runs would be said to be beaten.
JUDGED = {query: {f"d{i}": 1 for i in range(60)} | grades for query, grades in qrels(150).items()}
RUNS = {
    "good": run(JUDGED, 1, skill=4.0, depth=50),
    "fair": run(JUDGED, 2, skill=0.4, depth=50),
    "same": run(JUDGED, 13, skill=0.4, depth=50),
    "poor": run(JUDGED, 4, skill=-1.0, depth=50),
}
MEASURES = ["RA-nWG@10", "Harm@10", "N-Recall5@10", "%PROC@10"]


@pytest.fixture(scope="module")
def found() -> eb.rag.Scoring:
    return eb.rag.score(JUDGED, RUNS, measures=MEASURES, resamples=4000, seed=5)


def values(found: eb.rag.Scoring, name: str, measure: str) -> np.ndarray:
    frame = found.per_query.filter(pl.col("run") == name, pl.col("measure") == measure)
    return frame["value"].fill_null(np.nan).to_numpy()


@pytest.mark.parametrize("measure", ["RA-nWG@10", "Harm@10"])
def test_intervals_are_those_of_the_bootstrap(found: eb.rag.Scoring, measure: str) -> None:
    """Where a measure is defined for all queries they are those of `bootstrap_ci`; else close to those without them."""
    for name in RUNS:
        known = values(found, name, measure)
        whole = bootstrap_ci(known[~np.isnan(known)], n_resamples=4000, seed=5)
        value = found.record.value(name, measure)
        assert value is not None
        assert value.value == pytest.approx(whole.estimate, abs=1e-12)
        exact = not np.isnan(known).any()
        assert (value.low, value.high) == pytest.approx((whole.low, whole.high), abs=1e-12 if exact else 0.01)


def test_pairs_are_those_of_the_paired_bootstrap(found: eb.rag.Scoring) -> None:
    """Difference, interval and p; adjusted by Holm over the pairs of the measure."""
    comparison = found.record.comparison("Harm@10")
    assert comparison is not None
    for pair in comparison.pairs:
        # Tenths as whole numbers: a resampled difference of 0 is then exactly that.
        a, b = (np.rint(10 * values(found, name, "Harm@10")) for name in (pair.a, pair.b))
        one = paired_bootstrap(a, b, n_resamples=4000, seed=5)
        expected = (one.estimate / 10, one.low / 10, one.high / 10, one.p)
        assert (pair.difference, pair.low, pair.high, pair.p) == pytest.approx(expected, abs=1e-12)
    assert [pair.p_adjusted for pair in comparison.pairs] == holm([pair.p for pair in comparison.pairs])


def test_ranks_follow_from_the_tests(found: eb.rag.Scoring) -> None:
    """Best first; a rank is a range where the tests leave it open."""
    comparison = found.record.comparison("RA-nWG@10")
    assert comparison is not None
    ranges = zip(comparison.rank_low, comparison.rank_high, strict=True)
    assert dict(zip(comparison.runs, ranges, strict=True)) == {
        "good": (1, 1), "fair": (2, 3), "same": (2, 3), "poor": (4, 4),
    }  # fmt: skip
    assert {pair.better for pair in comparison.pairs if {pair.a, pair.b} == {"fair", "same"}} == {""}


def test_where_lower_is_better_the_lower_one_wins(found: eb.rag.Scoring) -> None:
    """Harm: the run that beats another has less of it."""
    comparison = found.record.comparison("Harm@10")
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
    return eb.rag.score(judged, {"old": old, "new": new}, resamples=500, **options)


def test_a_run_that_is_judged_less_is_not_said_to_be_beaten() -> None:
    """It may be behind for the missing grades alone: the heading and the sentence under it say so, and the way on."""
    found = _unequally_judged()
    assert found.verdict == "old scores highest on RA-nWG@10, but new is judged less"
    assert (
        "new has no grade for 50.0% of the passages that count, the leader for 0.0%" in found.record.lede[1]
    )
    assert "--add-run" in found.record.lede[1]
    assert judged_less(found.record) == ("new", pytest.approx(0.5), pytest.approx(0.0))


def test_where_they_are_taken_out_missing_grades_count_against_nobody() -> None:
    """Nor where the less judged one leads."""
    assert judged_less(_unequally_judged(unjudged="condense").record) is None
    judged = {f"q{i}": {f"d{j}": 5 if j < 5 else 1 for j in range(10)} for i in range(30)}
    runs = {
        "old": {query: [f"d{j}" for j in range(5, 10)] for query in judged},
        "new": {query: ["d0", "d1", "new1", "new2", "d2"] for query in judged},
    }
    found = eb.rag.score(judged, runs, measures=["RA-nWG@5", "Judged@5"], resamples=500)
    assert judged_less(found.record) is None
    assert found.verdict == "new beats every other run on RA-nWG@5"


def test_equal_runs_cannot_be_told_apart() -> None:
    """A run against itself differs by nothing, with p 1."""
    found = eb.rag.score(
        JUDGED, {"a": RUNS["fair"], "b": RUNS["fair"]}, measures=["RA-nWG@10"], resamples=500
    )
    comparison = found.record.comparison("RA-nWG@10")
    assert comparison is not None
    [pair] = comparison.pairs
    assert (pair.difference, pair.low, pair.high, pair.p, pair.better) == (0, 0, 0, 1, "")
    assert found.verdict == "No run stands out on RA-nWG@10: both may be first"


def test_the_randomisation_test() -> None:
    """An option: the p of random signs, none for ratios."""
    found = eb.rag.score(
        JUDGED, {name: RUNS[name] for name in ("fair", "same", "poor")}, measures=MEASURES, test="randomization",
        resamples=5000,
    )  # fmt: skip
    comparison = found.record.comparison("Harm@10")
    assert comparison is not None
    for pair in comparison.pairs:
        one = randomization_test(
            values(found, pair.a, "Harm@10"), values(found, pair.b, "Harm@10"), n_resamples=5000
        )
        assert pair.p == pytest.approx(one.p, abs=0.03)
    ratio = found.record.comparison("%PROC@10")
    assert ratio is not None
    assert ratio.reason == "the randomisation test compares means, not ratios"
    assert "randomisation" in found.record.settings.test


def test_too_few_resamples_are_said() -> None:
    """With many pairs, few resamples cannot reach significance after the correction."""
    runs = {f"r{i}": RUNS["fair"] for i in range(6)}
    found = eb.rag.score(JUDGED, runs, measures=["Harm@10"], resamples=500)
    assert any(
        "15 pairs of runs 500 resamples cannot tell any two apart" in note.text for note in found.record.notes
    )


def test_undefined_on_either_side_is_left_out_of_both() -> None:
    """A difference is over the queries where both runs have a value."""
    judged = {f"q{i}": {"a": 5, "b": 1} for i in range(30)}
    full = {query: ["a"] for query in judged}
    half = {query: ["b"] for query in list(judged)[:20]}
    found = eb.rag.score(judged, {"full": full, "half": half}, measures=["Judged@1", "R@1"], resamples=500)
    comparison = found.record.comparison("Judged@1")
    assert comparison is not None
    assert [pair.n for pair in comparison.pairs] == [20]
    recall = found.record.comparison("R@1")
    assert recall is not None
    assert [(pair.n, pair.difference) for pair in recall.pairs] == [(30, 1.0)]


def test_pairs_are_best_first(found: eb.rag.Scoring) -> None:
    """So that the first is of the two best."""
    score: Score = found.record
    for comparison in score.comparisons:
        shown = [score.value(name, comparison.measure) for name in comparison.runs]
        known = [one.value for one in shown if one is not None and one.value is not None]
        assert all((a <= b) if comparison.measure == "Harm@10" else (a >= b) for a, b in pairwise(known))
