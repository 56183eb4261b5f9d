"""Task 5: shares of nDCG@10 and the tie rule."""

import numpy as np
import pytest

from semblance.protocols.sage.edits import RETRIEVAL_EDITS
from semblance.protocols.sage.retrieval import evaluate, harmonic_retention, merged, retention
from semblance.records import Documents, RetrievalSet

CORPUS = Documents(
    tuple(f"d{i}" for i in range(12)),
    tuple(
        f"word{i} is here. The {i} must be seen! It can go on for a while, w{i}x w{i}y w{i}z."
        for i in range(12)
    ),
)
QUERIES = Documents(("q1", "q2"), ("word3", "word7"))
DATA = RetrievalSet(CORPUS, QUERIES, {"q1": {"d3": 1.0}, "q2": {"d7": 2.0, "d1": 1.0}})


def test_18_edits():
    """Six edits, and insertion and removal at three positions and two sizes."""
    assert len(RETRIEVAL_EDITS) == len(set(RETRIEVAL_EDITS)) == 18


def test_merging_puts_the_original_before_its_copies(ranked):
    """Equal scores: original, then by shard and corpus order [A18]; `copies_first` is the other bound."""
    shards = [
        ranked([[0, 1]], [[0.9, 0.5]]),
        ranked([[0, 1]], [[0.9, 0.7]]),
        ranked([[2, -1]], [[0.9, -np.inf]]),
    ]
    shard, index, score = merged(shards, 4)
    assert (shard[0].tolist(), index[0].tolist()) == ([0, 1, 2, 1], [0, 0, 2, 1])
    assert score[0].tolist() == [0.9, 0.9, 0.9, 0.7]
    shard, _, _ = merged(shards, 4, copies_first=True)
    assert shard[0].tolist() == [1, 2, 0, 1]


def test_a_system_blind_to_edits_keeps_little_of_an_augmented_corpus(pairwise, context, score):
    """Scores by document number only: every copy ties with its original, which still comes first."""

    def by_number(query, document):
        return float(query.strip("word") in document.lower().replace("0", "o") or query in document)

    outcome = evaluate(pairwise(lambda q, d: float(q in d)), DATA, context())
    assert score(outcome, "ndcg@10", "original").value > 0
    assert score(outcome, "tie_share", "augmented").value == 1
    worst = evaluate(pairwise(lambda q, d: float(q in d)), DATA, context(ties="worst"))
    assert score(worst, "retention").value < score(outcome, "retention").value


def test_replaced_corpora_of_an_unshaken_system_keep_everything(pairwise, context, score):
    """A system that sees only what no edit touches (the id, given through a table) keeps all of its nDCG."""
    texts = {text: i for i, text in enumerate(CORPUS.texts)}

    def oracle(query, document):
        number = int(query.removeprefix("word"))
        return 1.0 if texts.get(document) == number else 0.0

    outcome = evaluate(pairwise(oracle), DATA, context())
    assert score(outcome, "ndcg@10", "augmented").value == score(outcome, "ndcg@10", "original").value
    assert score(outcome, "retention").value == 1
    assert score(outcome, "retention", "augmented").value == 1
    assert outcome.counts["texts"] == 19 * 12


def test_zero_clean_ndcg_is_undefined(pairwise, context, score):
    """A share of nothing has no value: a reason instead."""
    outcome = evaluate(pairwise(lambda q, d: -float(len(d)) if "word3" in d or "word7" in d or "word1" in d else 1.0),
                       RetrievalSet(CORPUS, QUERIES, {"q1": {"d3": 1.0}, "q2": {"d7": 1.0}}), context())  # fmt: skip
    if score(outcome, "ndcg@10", "original").value == 0:
        assert score(outcome, "retention").value is None
        assert "nDCG@10 is 0" in score(outcome, "retention").reason


def test_harmonic_mean_and_share():
    """18 equal shares have that share as their mean; one 0 makes it 0; a clean 0 is undefined."""
    assert harmonic_retention(np.array([0.25] * 18 + [0.5])) == pytest.approx(0.5)
    assert harmonic_retention(np.array([0.0] + [0.5] * 17 + [0.5])) == 0
    assert retention(np.array([0.3, 0.6])) == pytest.approx(0.5)
    assert np.isnan(retention(np.array([0.3, 0.0])))


def test_rankings_name_originals_and_copies(pairwise, context):
    """What was found is kept: document, which edit made the copy, score and gain, clean and augmented."""
    outcome = evaluate(pairwise(lambda q, d: float(q in d)), DATA, context())
    rows = [
        dict(zip(outcome.rankings, row, strict=True)) for row in zip(*outcome.rankings.values(), strict=True)
    ]
    clean = [row for row in rows if row["version"] == "original" and row["query_id"] == "q1"]
    assert [row["rank"] for row in clean] == list(range(1, 11))
    assert clean[0] == {"query_id": "q1", "version": "original", "rank": 1, "doc_id": "d3", "edit": "",
                        "score": 1.0, "gain": 1.0}  # fmt: skip
    copies = [row for row in rows if row["version"] == "augmented" and row["edit"]]
    assert copies
    assert {row["edit"] for row in copies} <= set(RETRIEVAL_EDITS)
