"""Cohere's and Voyage's own clients against the same server: the same requests, the same scores."""

from __future__ import annotations

import pytest

from semblance.systems.rerankers import open_reranker
from semblance.text import open_tokenizer
from stub import StubServer

pytestmark = [pytest.mark.vendors, pytest.mark.filterwarnings("ignore")]

QUERY = "où dort le renard roux 🦊"
DOCUMENTS = ["le renard roux", "une poule", "où dort le renard", "word " * 300]


def _cohere(url):
    cohere = pytest.importorskip("cohere")
    return (
        cohere.ClientV2(api_key="k", base_url=url)
        .rerank(model="rerank-v3.5", query=QUERY, documents=DOCUMENTS)
        .results
    )


def _voyage(url):
    voyageai = pytest.importorskip("voyageai")
    client = voyageai.Client(api_key="k", base_url=f"{url}/voyage/v1")
    return client.rerank(QUERY, DOCUMENTS, model="rerank-2.5", truncation=False).results


@pytest.mark.parametrize(
    ("spec", "path", "ask"),
    [("cohere:rerank-v3.5", "", _cohere), ("voyage:rerank-2.5", "/voyage/v1", _voyage)],
)
def test_the_client_gets_the_same_scores(spec, path, ask):
    """Document by document, and each client's request is one that the strict server takes."""
    with StubServer() as stub:
        ours = open_reranker(f"{spec}?base_url={stub.url}{path}", tokenizer=open_tokenizer("words"))
        found = ours.score(QUERY, DOCUMENTS)
        theirs = {one.index: one.relevance_score for one in ask(stub.url)}
        assert stub.statuses == {200: 2}
    assert found.tolist() == pytest.approx([theirs[position] for position in range(len(DOCUMENTS))], abs=1e-7)
