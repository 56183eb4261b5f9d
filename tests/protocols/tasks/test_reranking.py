"""Reranking: hand-worked precision, ties, several query texts, and what is left of a query that lost texts."""

from __future__ import annotations

import numpy as np
import pytest

from embassay.protocols.tasks import reranking
from embassay.records import RerankingSet
from embassay.systems import open_system
from embassay.text import open_tokenizer


class Numbers:
    """Similarity is the number that a candidate ends in, plus what stands before a bar in the query."""

    name = identity = "numbers"
    kind = "classical"

    def pairs(self, a, b):
        return np.array(
            [float(c.split()[-1]) * float(q.split("|")[0]) for q, c in zip(a, b, strict=True)], dtype=np.float32
        )


def query(*candidates, texts=("1|q",)):
    """Of candidates as (similarity, gain)."""
    return RerankingSet(
        ("q",),
        (tuple(texts),),
        (tuple(f"{i}: {similar}" for i, (similar, _) in enumerate(candidates)),),
        (np.array([gain for _, gain in candidates], dtype=float),),
    )


def value(data, context):
    return reranking.evaluate_system(Numbers(), data, context()).scores[0].value


def test_hand_worked(context):
    """Relevant at ranks 1 and 3 of four: (1/1 + 2/3) / 2. Gains above 0 are all alike."""
    assert value(query((0.9, 1), (0.8, 0), (0.7, 1), (0.1, 0)), context) == pytest.approx((1 + 2 / 3) / 2)
    assert value(query((0.9, 3), (0.8, 0), (0.7, 1), (0.1, 0)), context) == pytest.approx((1 + 2 / 3) / 2)


def test_ties_do_not_favour_the_relevant(context):
    """Among equal similarities the irrelevant come first, in whatever order the data have them."""
    ahead = query((0.5, 1), (0.5, 1), (0.5, 0))
    behind = query((0.5, 0), (0.5, 1), (0.5, 1))
    assert value(ahead, context) == value(behind, context) == pytest.approx((1 / 2 + 2 / 3) / 2)
    # A difference below 1e-6 is a tie.
    assert value(query((0.5 + 2e-8, 1), (0.5, 0)), context) == pytest.approx(1 / 2)


def test_several_texts_of_a_query(context):
    """The highest similarity to any of them counts."""
    data = query((0.2, 1), (0.5, 0), (-0.9, 1), texts=("1|q", "-1|q"))
    # Best of x and -x: .2, .5, .9.
    assert value(data, context) == pytest.approx((1 / 1 + 2 / 3) / 2)


def test_the_mean_is_over_queries(sample, context):
    """Items are the precision of each query, whose mean is the score; resamples are of queries."""
    system = open_system("wordllama", tokenizer=open_tokenizer("words"))
    outcome = reranking.evaluate_system(system, sample("reranking"), context())
    assert outcome.scores[0].value == pytest.approx(np.mean(outcome.items["value"]))
    assert set(outcome.items["measure"]) == {"ap"}
    assert outcome.scores[0].n == 36


def test_every_distinct_text_is_encoded_once(bag, sample, context):
    """Candidates that many queries share cost nothing twice."""
    data = sample("reranking")
    system = bag()
    reranking.evaluate_system(system, data, context())
    (call,) = system.encoder.calls
    assert sorted(call[0]) == sorted({text for _, text in reranking.list_texts(data)})


def many(n=40):
    """Queries with one relevant and two irrelevant candidates."""
    return RerankingSet(
        tuple(f"q{i}" for i in range(n)),
        tuple((f"word{i} apple", f"other{i}") for i in range(n)),
        tuple((f"word{i} yes{i}", f"no{i} pear", f"never{i}") for i in range(n)),
        tuple(np.array([1.0, 0.0, 0.0]) for _ in range(n)),
    )


def test_lost_encodings(bag, context):
    """A lost candidate drops itself, the only relevant one its query; one of two query texts leaves the other."""
    data = many()
    outcome = reranking.evaluate_system(bag("never7", "yes9", "other3"), data, context())
    assert [(left.reason, left.count, left.examples) for left in outcome.skipped] == [
        ("candidates that could not be encoded: Too long: 9,000 tokens", 2, ("q7:2", "q9:0")),
        (reranking.ONE_SIDED, 1, ("q9",)),
    ]
    assert outcome.scores[0].n == 39
    assert outcome.items["value"][9] is None
    assert outcome.items["value"][3] == 1.0
    both = reranking.evaluate_system(bag("word3 apple", "other3"), data, context())
    assert both.skipped[0].reason.startswith("queries that could not be encoded")
    assert (both.skipped[0].examples, both.scores[0].n) == (("q3",), 39)


def test_lost_wordings():
    """The same rules for texts without a usable paraphrase, on both sides alike."""
    data = many()
    gone = {"candidate:q7:2", "candidate:q9:0", "query:q3:1", "query:q5:0", "query:q5:1"}
    result = reranking.replace_texts(data, lambda place, text: None if place in gone else text.upper())
    assert (result.kept, result.items) == (38, 40)
    assert result.original.ids == result.paraphrased.ids == tuple(f"q{i}" for i in range(40) if i not in (5, 9))
    places = dict(zip(result.original.ids, range(38), strict=True))
    assert result.original.candidates[places["q7"]] == data.candidates[7][:2]
    assert result.paraphrased.queries[places["q3"]] == ("WORD3 APPLE",)
    assert [(left.reason, left.count, left.examples) for left in result.lost] == [
        ("query texts that could not be rewritten", 3, ("q3:1", "q5:0", "q5:1")),
        ("candidates that could not be rewritten", 2, ("q7:2", "q9:0")),
        (reranking.ONE_SIDED, 2, ("q5", "q9")),
    ]


def test_ties_as_one_step_are_scikit_learns(context):
    """On random gains with many equal similarities; and through the task, whose value knows no order of candidates."""
    from sklearn.metrics import average_precision_score

    rng = np.random.default_rng(11)
    for _ in range(200):
        gains, scores = rng.integers(0, 3, 12).astype(float), rng.integers(0, 4, 12) / 4
        if not (gains > 0).any():
            continue
        expected = average_precision_score(gains > 0, scores)
        assert reranking.average_precision_by_steps(gains, scores) == pytest.approx(expected)
        assert reranking.average_precision_of_worst_order(gains, scores) <= expected + 1e-12
    data = query((0.9, 0), (0.5, 1), (0.5, 0), (0.5, 0), (0.1, 1))
    done = reranking.evaluate_system(Numbers(), data, context(), reranking.average_precision_by_steps)
    assert done.scores[0].value == pytest.approx(average_precision_score([0, 1, 0, 0, 1], [9, 5, 5, 5, 1]))
    assert value(data, context) == pytest.approx((1 / 4 + 2 / 5) / 2)
