"""What a scoring says of its runs, held against its values, over judgements and runs drawn at random."""

from __future__ import annotations

import re

import numpy as np
import pytest

import embassay as eb
from claims import Tables, walk
from embassay.protocols.rag.scoring.conclusions import list_score_claims
from embassay.protocols.rag.scoring.score import RunComparisonByMeasure, ScoringRecord
from stub.ranked import qrels, run

MEASURES = ["nDCG@5", "Harm@5", "R@10"]


def random_score(seed: int) -> ScoringRecord:
    """Two to four runs of drawn skill on judgements of which some runs find fewer."""
    rng = np.random.default_rng([seed, 41])
    judged = qrels(int(rng.integers(12, 40)), seed, documents=int(rng.choice([22, 40])))
    runs = {
        name: run(judged, seed * 10 + place, skill=float(rng.choice([0.0, 0.5, 2.0])), documents=40)
        for place, name in enumerate("abcd"[: int(rng.integers(2, 5))])
    }
    treated = str(rng.choice(["zero", "grade1", "condense"]))
    return eb.rag.score(judged, runs, measures=MEASURES, resamples=200, seed=seed, unjudged=treated).record


def tables_of(score: ScoringRecord, comparison: RunComparisonByMeasure) -> Tables:
    """The values of one measure, and the pairs whose interval and p tell them apart."""
    values = {
        value.run: value.value
        for value in score.values
        if value.measure == comparison.measure and value.value is not None
    }
    apart = {frozenset((pair.a, pair.b)) for pair in comparison.pairs if pair.p_adjusted < 0.05}
    spared = {frozenset((pair.a, pair.b)) for pair in comparison.pairs if pair.judged_less}
    lower = frozenset(measure.name for measure in score.measures if measure.direction == "lower")
    ranks = {}
    for name in comparison.runs:
        beaten = [other for other in comparison.runs if frozenset((name, other)) in apart - spared]
        above = sum((values[other] > values[name]) != bool(comparison.measure in lower) for other in beaten)
        ranks[name] = (1 + above, len(comparison.runs) - len(beaten) + above)
    return Tables({comparison.measure: values}, ranks, apart=lambda a, b: frozenset((a, b)) in apart, lower=lower)


def held(score: ScoringRecord) -> int:
    """Every claim on pairs, and every `beats` of a sentence."""
    walked, stated = 0, list(list_score_claims(score))
    for comparison in score.comparisons:
        own = [claim for claim in stated if claim.measure == comparison.measure]
        walked += walk(own, tables_of(score, comparison))
        # Whoever beats all others holds rank 1 alone, and nobody is beaten by a run with more graded passages.
        for name, low, high in zip(comparison.runs, comparison.rank_low, comparison.rank_high, strict=False):
            beaten_by = {claim.subject for claim in own if claim.relation == "beats" and name in claim.others}
            beats = sum(claim.relation == "beats" and claim.subject == name for claim in own)
            assert (low, high) == (1 + len(beaten_by), len(comparison.runs) - beats)
    proven = {(claim.subject, claim.others[0]) for claim in stated if claim.relation == "beats"}
    for winner, loser in re.findall(r"(\w) [\d.]+ beats (\w) ", " ".join(score.lede)):
        assert (winner, loser) in proven
    if "missing labels" in " ".join(score.lede):
        assert "beats" not in score.verdict
        assert "fewer graded passages" in score.verdict
    return walked


def test_every_claim_of_random_scorings_holds() -> None:
    """Whatever is not judged, and however it counts."""
    assert sum(held(random_score(seed)) for seed in range(12)) > 60


@pytest.mark.nightly
def test_every_claim_of_many_random_scorings_holds() -> None:
    """The same at length."""
    for seed in range(1000, 1300):
        held(random_score(seed))


def test_a_run_that_is_judged_less_is_beaten_in_no_sentence_table_or_rank() -> None:
    """The second run's odd passages were never graded: nobody knows whether it is worse."""
    judged = {f"q{i}": {f"d{j}": 1 + (i + j) % 5 for j in range(10)} for i in range(30)}
    old = {query: list(grades) for query, grades in judged.items()}
    new = {query: [f"new{j}" if j % 2 else f"d{j}" for j in range(10)] for query in judged}
    score = eb.rag.score(judged, {"old": old, "new": new}, measures=["nDCG@10"], resamples=300).record
    comparison = score.find_measure_comparison("nDCG@10")
    assert comparison is not None
    [pair] = comparison.pairs
    assert pair.p_adjusted < 0.05
    assert (pair.better, pair.judged_less) == ("", "new")
    assert comparison.rank_high == (2, 2)
    assert "beats" not in " ".join((score.verdict, *score.lede))
    assert any("missing labels" in sentence for sentence in score.lede)


def test_a_run_that_is_behind_without_its_ungraded_passages_too_is_beaten() -> None:
    """Deep lists: without the ungraded passages both still reach the cutoff, and the graded ones say the same."""
    # Documents of its own for each query: those that share one count as one group.
    judged = {f"q{i}": {f"q{i}-{j}": 1 + (4 if j < 4 else 0) for j in range(20)} for i in range(30)}
    good = {query: list(docs) for query, docs in judged.items()}
    poor = {query: [f"{query}-new", *reversed(docs)] for query, docs in judged.items()}
    score = eb.rag.score(judged, {"good": good, "poor": poor}, measures=["nDCG@10"], resamples=300).record
    comparison = score.find_measure_comparison("nDCG@10")
    assert comparison is not None
    [pair] = comparison.pairs
    assert pair.better == "good"
