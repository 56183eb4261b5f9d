"""nDCG, AP, RR, recall and precision: hand-worked, against trec_eval, and by their properties."""

from __future__ import annotations

import math

import numpy as np
import pytest
import pytrec_eval
from hypothesis import given
from hypothesis import strategies as st

from embassay.errors import UsageError
from embassay.measures import (
    average_precision,
    evaluate,
    evaluate_graded,
    grade,
    ndcg,
    ndcg_arrays,
    precision,
    recall,
    reciprocal_rank,
)

PUBLIC = [ndcg, average_precision, reciprocal_rank, recall, precision]
AGAINST_TREC_EVAL = {
    "nDCG@5": "ndcg_cut_5",
    "nDCG": "ndcg",
    "AP@5": "map_cut_5",
    "AP": "map",
    "RR": "recip_rank",
    "R@5": "recall_5",
    "P@5": "P_5",
}

ids = st.sampled_from([f"d{i}" for i in range(12)] + ["D1", "é", "文", "d", "~"])
# Few values, so that ties are common; some differ as doubles only, not in single precision.
scores = st.sampled_from([0.0, -0.0, 1.0, 1.0 + 1e-12, 2.5, -3.0, 0.1, 0.1 + 1e-9, 1e30, 7.0])
# The oracle does not return from a query that has negative judgements only.
judgements = st.dictionaries(ids, st.integers(-1, 3), min_size=1).filter(lambda gains: max(gains.values()) >= 0)
run = st.dictionaries(ids, scores, min_size=1)
collections = st.lists(st.tuples(judgements, run), min_size=1, max_size=4)


@given(collections)
def test_agrees_with_trec_eval(collection: list[tuple[dict[str, int], dict[str, float]]]) -> None:
    """Equal to pytrec_eval to 1e-6 with ties and negative gains, wherever a relevant document is judged."""
    qrels = {f"q{i}": gains for i, (gains, _) in enumerate(collection)}
    runs = {f"q{i}": ranking for i, (_, ranking) in enumerate(collection)}
    theirs = pytrec_eval.RelevanceEvaluator(
        qrels, {"ndcg_cut.5", "ndcg", "map_cut.5", "map", "recip_rank", "recall.5", "P.5"}
    ).evaluate(runs)
    ours = evaluate(list(AGAINST_TREC_EVAL), qrels, runs)
    for name, their_name in AGAINST_TREC_EVAL.items():
        for query, value in zip(qrels, ours[name].tolist(), strict=True):
            if any(gain > 0 for gain in qrels[query].values()):
                assert value == pytest.approx(theirs[query][their_name], abs=1e-6)
            else:
                assert math.isnan(value)


@given(collections, st.integers(1, 6), st.sampled_from(["linear", "exponential"]))
def test_agrees_with_the_definition(
    collection: list[tuple[dict[str, int], dict[str, float]]], k: int, gain: str
) -> None:
    """Both gains equal the textbook sum over an explicitly sorted list."""
    worth = (lambda g: max(g, 0)) if gain == "linear" else (lambda g: 2 ** max(g, 0) - 1)
    for gains, ranking in collection:
        order = sorted(ranking, key=lambda doc: (np.float32(ranking[doc]), doc), reverse=True)
        reached = [worth(gains.get(doc, 0)) / math.log2(i + 2) for i, doc in enumerate(order[:k])]
        best = sorted(map(worth, gains.values()), reverse=True)[:k]
        ideal = sum(value / math.log2(i + 2) for i, value in enumerate(best))
        expected = sum(reached) / ideal if ideal else math.nan
        assert ndcg(gains, ranking, k, gain=gain) == pytest.approx(expected, abs=1e-12, nan_ok=True)
        assert ndcg(gains, order, k, gain=gain) == pytest.approx(expected, abs=1e-12, nan_ok=True)


def test_ndcg_by_hand() -> None:
    """(3 / log2 2 + 1 / log2 4) / (3 / log2 2 + 1 / log2 3): the gain-1 document slipped from rank 2 to 3."""
    expected = (3 + 1 / 2) / (3 + 1 / math.log2(3))
    assert ndcg({"a": 3, "b": 1}, ["a", "x", "b"], 10) == pytest.approx(expected, abs=1e-12)
    exponential = (7 + 1 / 2) / (7 + 1 / math.log2(3))
    assert ndcg({"a": 3, "b": 1}, ["a", "x", "b"], 10, gain="exponential") == pytest.approx(exponential, abs=1e-12)


def test_the_others_by_hand() -> None:
    """Relevant at ranks 2 and 4 of 5, a third one not found."""
    qrels, retrieved = {"b": 1, "d": 2, "z": 1, "a": 0}, ["a", "b", "c", "d", "e"]
    assert average_precision(qrels, retrieved) == pytest.approx((1 / 2 + 2 / 4) / 3)
    assert average_precision(qrels, retrieved, 3) == pytest.approx((1 / 2) / 3)
    assert reciprocal_rank(qrels, retrieved, 10) == 0.5
    assert reciprocal_rank(qrels, retrieved, 1) == 0
    assert recall(qrels, retrieved, 3) == pytest.approx(1 / 3)
    assert recall(qrels, retrieved) == pytest.approx(2 / 3)
    assert precision(qrels, retrieved, 4) == 0.5
    assert precision(qrels, retrieved, 10) == 0.2


def test_annotator_examples() -> None:
    """nDCG of the worked reranking examples of the HUME specification: 3 relevant of 7, listed first."""
    qrels = {name: int(name in "abc") for name in "abcdefg"}
    assert ndcg(qrels, list("abdcefg"), 10) == pytest.approx(0.967468, abs=1e-6)
    assert ndcg(qrels, list("defabcg"), 10) == pytest.approx(0.550810, abs=1e-6)


@pytest.mark.parametrize("measure", PUBLIC)
def test_many_queries_are_an_array_in_the_order_of_the_judgements(measure) -> None:
    """One value per judged query; a query without an answer scores 0, one without judgements is left out."""
    qrels = {"q2": {"a": 1}, "q1": {"b": 1}}
    values = measure(qrels, {"q1": ["x"], "q2": ["a"], "q3": ["a"]}, 1)
    assert values.tolist() == [1.0, 0.0]
    assert measure(qrels, {}, 1).tolist() == [0.0, 0.0]
    assert isinstance(measure({"a": 1}, ["a"], 1), float)


@pytest.mark.parametrize("measure", PUBLIC)
def test_without_a_relevant_document_the_value_is_undefined(measure) -> None:
    """NaN, not 0, where all gains are 0 or negative or there are no judgements."""
    assert math.isnan(measure({"a": 0, "b": -1}, ["a"], 3))
    assert math.isnan(measure({}, ["a"], 3))
    assert measure({}, {"q": ["a"]}, 3).shape == (0,)


@given(judgements, st.lists(ids), st.integers(1, 8))
def test_repeated_ids_count_once(gains: dict[str, int], retrieved: list[str], k: int) -> None:
    """The first occurrence counts and the others leave no gap."""
    once = list(dict.fromkeys(retrieved))
    for measure in PUBLIC:
        assert measure(gains, retrieved, k) == pytest.approx(measure(gains, once, k), nan_ok=True)


def test_ties_are_broken_by_id_descending() -> None:
    """Of equal scores the id last in the alphabet is ranked first; equal means equal in single precision."""
    assert reciprocal_rank({"b": 1}, {"a": 0.5, "b": 0.5}) == 1.0
    assert reciprocal_rank({"a": 1}, {"a": 0.5, "b": 0.5}) == 0.5
    assert reciprocal_rank({"a": 1}, {"a": 0.5 + 1e-12, "b": 0.5}) == 0.5


@pytest.mark.parametrize("block", [1, 3, 1 << 20])
def test_many_ties_are_compared_in_blocks(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The size of a block of comparisons does not change the ranks."""
    monkeypatch.setattr("embassay.measures.judgements._COMPARISONS", block)
    names = [f"d{i:02}" for i in range(20)]
    qrels = {f"q{i}": {names[i]: 1, names[19]: 1} for i in range(19)}
    runs = {f"q{i}": dict.fromkeys([*names[: 10 + i % 10], names[i], names[19]], 1.0) for i in range(19)}
    assert reciprocal_rank(qrels, runs).tolist() == [1.0] * 19
    ranks = [sorted(runs[f"q{i}"], reverse=True).index(names[i]) + 1 for i in range(19)]
    assert average_precision(qrels, runs).tolist() == pytest.approx([(1 + 2 / rank) / 2 for rank in ranks])


@given(
    st.lists(st.lists(st.integers(-1, 4), min_size=3, max_size=3), min_size=1, max_size=5),
    st.integers(1, 5),
    st.sampled_from(["linear", "exponential"]),
)
def test_arrays_and_mappings_agree(rows: list[list[int]], k: int, gain: str) -> None:
    """`ndcg_arrays` of the gains in rank order is `ndcg` of the same queries; padding changes nothing."""
    qrels = {str(i): {str(j): g for j, g in enumerate(row)} for i, row in enumerate(rows)}
    runs = {query: ["2", "x", "0"] for query in qrels}
    found = np.array([[row[2], 0, row[0]] for row in rows])
    expected = ndcg(qrels, runs, k, gain=gain)
    assert np.allclose(ndcg_arrays(found, np.array(rows), k, gain=gain), expected, equal_nan=True)
    padded = np.pad(np.array(rows), ((0, 0), (0, 2)))
    assert np.allclose(ndcg_arrays(np.pad(found, ((0, 0), (0, 4))), padded, k, gain=gain), expected, equal_nan=True)


def test_what_cannot_be_measured_is_refused() -> None:
    """Cutoffs below 1, unknown gains, NaN scores, infinite gains, text, and arrays that do not fit."""
    with pytest.raises(UsageError, match="cutoff is 0"):
        ndcg({"a": 1}, ["a"], 0)
    with pytest.raises(UsageError, match="no gain function 'cubic'"):
        ndcg({"a": 1}, ["a"], 1, gain="cubic")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="1 score cannot be used, the first for query 'q2'"):
        ndcg({"q1": {"a": 1}, "q2": {"a": 1}}, {"q1": {"a": 1.0}, "q2": {"b": float("nan")}}, 3)
    with pytest.raises(UsageError, match="1 gain cannot be used"):
        ndcg({"a": math.inf}, ["a"], 3)
    with pytest.raises(UsageError, match="too large"):
        ndcg({"a": 2000}, ["a"], 3, gain="exponential")
    with pytest.raises(UsageError, match="a single text: 'doc'"):
        ndcg({"doc": 1}, "doc", 3)
    with pytest.raises(UsageError, match="shape"):
        ndcg_arrays([[1, 0]], [[1], [1]], 3)
    with pytest.raises(UsageError, match="NaN"):
        ndcg_arrays([[1, math.nan]], [[1]], 3)


def test_arguments_stay_as_they_are() -> None:
    """Measuring changes neither judgements, nor runs, nor arrays."""
    qrels, runs = {"q": {"b": 0, "a": 1}}, {"q": {"a": 1.0, "b": 1.0}}
    found, ideal = np.array([[0.0, 1.0]]), np.array([[0.0, 1.0]])
    ndcg(qrels, runs, 3)
    ndcg_arrays(found, ideal, 3)
    assert list(qrels["q"].items()) == [("b", 0), ("a", 1)]
    assert list(runs["q"].items()) == [("a", 1.0), ("b", 1.0)]
    assert found.tolist() == ideal.tolist() == [[0.0, 1.0]]


GRADED = {
    "nDCG@5": "ndcg_cut_5",
    "nDCG": "ndcg",
    "AP(rel=3)@5": "map_cut_5",
    "AP(rel=3)": "map",
    "RR(rel=3)": "recip_rank",
    "R(rel=3)@5": "recall_5",
    "P(rel=3)@5": "P_5",
}


@given(collections, st.integers(1, 3))
def test_levels_agree_with_trec_eval(collection: list[tuple[dict[str, int], dict[str, float]]], level: int) -> None:
    """`rel` is trec_eval's relevance level, for all but nDCG; undefined where nothing reaches it."""
    qrels = {f"q{i}": gains for i, (gains, _) in enumerate(collection)}
    runs = {f"q{i}": ranking for i, (_, ranking) in enumerate(collection)}
    theirs = pytrec_eval.RelevanceEvaluator(
        qrels, {"map_cut.5", "map", "recip_rank", "recall.5", "P.5"}, relevance_level=level
    ).evaluate(runs)
    names = {ours.replace("3", str(level)): name for ours, name in GRADED.items() if "rel" in ours}
    for name, values in evaluate(list(names), qrels, runs).items():
        for query, value in zip(qrels, values.tolist(), strict=True):
            if max(qrels[query].values()) >= level:
                assert value == pytest.approx(theirs[query][names[name]], abs=1e-6)
            else:
                assert math.isnan(value)


def test_graded_rankings_agree_with_trec_eval() -> None:
    """On grades from 1 to 5 the gain is grade - 1 and `rel` a grade: trec_eval's on the gains, 500 random queries."""
    rng = np.random.default_rng(5)
    names = [f"d{i}" for i in range(30)]
    grades = {
        f"q{i}": dict(
            zip(rng.permutation(names)[: rng.integers(1, 25)].tolist(), rng.integers(1, 6, 25).tolist(), strict=False)
        )
        for i in range(500)
    }
    runs = {query: dict(zip(names, (rng.integers(0, 12, 30) / 4).tolist(), strict=True)) for query in grades}
    values = evaluate_graded([*GRADED, "AP", "nDCG(gain='exponential')@5"], grade(grades, runs))
    gains = {query: {one: value - 1 for one, value in each.items()} for query, each in grades.items()}
    for level, chosen in ((1, ["nDCG@5", "nDCG"]), (2, [one for one in GRADED if "rel" in one])):
        measures = {GRADED[one].replace("_5", ".5") for one in chosen}
        theirs = pytrec_eval.RelevanceEvaluator(gains, measures, relevance_level=level).evaluate(runs)
        for name in chosen:
            for query, value in zip(grades, values[name].tolist(), strict=True):
                if max(gains[query].values()) >= level:
                    assert value == pytest.approx(theirs[query][GRADED[name]], abs=1e-6)
                else:
                    assert math.isnan(value)
    good = {query: {one: int(value >= 4) for one, value in each.items()} for query, each in grades.items()}
    assert values["AP"] == pytest.approx(average_precision(good, runs), nan_ok=True)
    assert values["nDCG(gain='exponential')@5"] == pytest.approx(ndcg(gains, runs, 5, gain="exponential"), nan_ok=True)


def test_a_level_must_be_above_0() -> None:
    """A document without a gain is never relevant."""
    with pytest.raises(UsageError, match="rel is 0"):
        evaluate(["AP(rel=0)"], {"q": {"a": 1}}, {"q": ["a"]})
