"""Retrieval: queries alone are reworded, a query's own document, linear gains, and what failures take with them."""

from __future__ import annotations

import math

import numpy as np
import pytest

from embassay.protocols.tasks import TASKS, retrieval
from embassay.records import Documents, RetrievalSet
from embassay.search import top_k
from embassay.systems import open_system
from embassay.text import open_tokenizer


class Order:
    """Finds documents in the order of the corpus, the query's own text first."""

    name = identity = "order"
    kind = "classical"

    def search(self, queries, corpus, k):
        scores = [[2.0 if d == q else 1 - i / 1000 for i, d in enumerate(corpus)] for q in queries]
        return top_k(np.array(scores), k)


def corpus_of_itself(relevant, n=30):
    """Each query is a document of the corpus; `relevant` is the one judged relevant to query 0."""
    ids = tuple(f"d{i}" for i in range(n))
    texts = tuple(f"text {i}" for i in range(n))
    return RetrievalSet(Documents(ids, texts), Documents(ids[:1], texts[:1]), {"d0": {relevant: 1.0}})


def ndcg(data, context):
    return retrieval.evaluate_system(Order(), data, context).scores[0]


def test_the_own_document(context):
    """Found first where it may be; left out before the ten best are taken, so that the eleventh moves up, or after."""
    data = corpus_of_itself("d10")
    # Found: d0 (itself), d1 ... d9; d10 is the eleventh, and the tenth without d0.
    assert ndcg(data, context()).value == 0
    before, after = (ndcg(data, context(exclude_own=True, own_document=when)) for when in ("before", "after"))
    assert before.value == pytest.approx(1 / math.log2(11))
    assert after.value == 0
    assert before.method == "bootstrap over queries, own document left out before"
    assert after.method == "bootstrap over queries, own document left out after"
    near = corpus_of_itself("d3")
    values = [ndcg(near, context(**options)).value for options in ({}, {"exclude_own": True})]
    assert values == pytest.approx([1 / math.log2(5), 1 / math.log2(4)])


@pytest.mark.parametrize("name", ["arguana", "mteb/ArguAna", "my-arguana-copy"])
def test_arguana_leaves_the_own_document_out(name, context):
    """By its name, whatever the option says; TwitterHjerne and others keep it."""
    data = corpus_of_itself("d3")
    assert ndcg(data, context(dataset=name)).value == pytest.approx(1 / math.log2(4))
    assert ndcg(data, context(dataset="TwitterHjerneRetrieval")).value == pytest.approx(1 / math.log2(5))


def test_an_own_document_that_is_judged_does_not_count(context):
    """What cannot be found is not asked for; a query with nothing else to find drops out."""
    data = corpus_of_itself("d0")
    row = ndcg(data, context(exclude_own=True))
    assert (row.value, row.n, row.reason) == (None, 0, "no query has a relevant document")
    assert ndcg(data, context()).value == 1


def test_gains_are_linear(context):
    """A gain of 3 at rank 2 and of 1 at rank 1: (1 + 3 / log2 3) / (3 + 1 / log2 3), as trec_eval."""
    data = corpus_of_itself("d1")
    graded = RetrievalSet(data.corpus, Documents(("q",), ("text 99",)), {"q": {"d1": 3.0, "d0": 1.0, "d2": 0.0}})
    expected = (1 + 3 / math.log2(3)) / (3 + 1 / math.log2(3))
    assert ndcg(graded, context()).value == pytest.approx(expected)


def test_queries_alone_are_reworded(sample):
    """The corpus is the same object, its texts are never asked for, and the judgements follow the queries."""
    data = sample("retrieval")
    asked = []
    result = retrieval.replace_texts(data, lambda place, text: asked.append((place, text)) or f"other {text}")
    assert [text for _, text in asked] == list(data.queries.texts)
    assert all(place.startswith("query:") for place, _ in asked)
    assert result.paraphrased.corpus is data.corpus
    assert result.paraphrased.queries.ids == data.queries.ids
    gone = f"query:{data.queries.ids[4]}"
    part = retrieval.replace_texts(data, lambda place, text: None if place == gone else text)
    assert part.original.queries.ids == part.paraphrased.queries.ids
    assert part.original.corpus is part.paraphrased.corpus is data.corpus
    assert set(part.original.qrels) == set(part.original.queries.ids)
    assert data.queries.ids[4] not in part.original.qrels


def test_the_corpus_is_the_same_call_before_and_after(bag, sample, context):
    """So its vectors are kept ones when only queries change."""
    data = sample("retrieval")
    system = bag()
    retrieval.evaluate_system(system, data, context())
    retrieval.evaluate_system(
        system, retrieval.replace_texts(data, lambda _, text: text.upper()).paraphrased, context()
    )
    calls = system.encoder.calls
    assert [role for _, role in calls] == ["query", "document"] * 2
    assert calls[1] == calls[3]


def test_lost_documents_and_queries(bag, context):
    """A lost document is judged nowhere, a query with no other relevant one drops out, a lost query itself."""
    n = 60
    corpus = Documents(tuple(f"d{i}" for i in range(n)), tuple(f"w{i} doc{i}." for i in range(n)))
    queries = Documents(tuple(f"q{i}" for i in range(n)), tuple(f"w{i} ask{i}." for i in range(n)))
    qrels = {f"q{i}": {f"d{i}": 1.0, **({"d7": 1.0} if i == 8 else {})} for i in range(n)}
    outcome = TASKS.build("retrieval").evaluate(bag("doc7.", "ask3."), RetrievalSet(corpus, queries, qrels), context())
    assert [(left.reason, left.count, left.examples) for left in outcome.skipped] == [
        ("documents that could not be encoded: Too long: 9,000 tokens", 1, ("d7",)),
        ("queries that could not be encoded: Too long: 9,000 tokens", 1, ("q3",)),
        (retrieval.ORPHANS, 1, ("q7",)),
    ]
    assert outcome.scores[0].n == 58
    alone = RetrievalSet(
        Documents(*(tuple(c for i, c in enumerate(column) if i != 7) for column in (corpus.ids, corpus.texts))),
        Documents(
            *(tuple(c for i, c in enumerate(column) if i not in (3, 7)) for column in (queries.ids, queries.texts))
        ),
        {
            query: {d: g for d, g in judged.items() if d != "d7"}
            for query, judged in qrels.items()
            if query not in ("q3", "q7")
        },
    )
    assert outcome.scores[0].value == pytest.approx(retrieval.evaluate_system(bag(), alone, context()).scores[0].value)


def test_a_small_corpus(context):
    """Fewer documents than places."""
    data = RetrievalSet(Documents(("a", "b"), ("x", "y")), Documents(("q",), ("z",)), {"q": {"b": 1.0}})
    for name in ("wordllama", "bm25", "constant"):
        system = open_system(name, tokenizer=open_tokenizer("words"))
        assert 0 < retrieval.evaluate_system(system, data, context()).scores[0].value <= 1
