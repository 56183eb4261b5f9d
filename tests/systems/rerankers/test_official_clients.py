"""Cohere's and Voyage's own clients against the same server: the same requests, the same scores."""

from __future__ import annotations

import gc

import pytest

from embassay.systems.rerankers import open_reranker
from embassay.text import open_tokenizer
from stub import StubServer

pytestmark = [pytest.mark.vendors, pytest.mark.filterwarnings("ignore")]

QUERY = "où dort le renard roux 🦊"
DOCUMENTS = ["le renard roux", "une poule", "où dort le renard", "word " * 300]


@pytest.fixture(autouse=True)
def _collect():
    """The clients leave their connections open; what complains of that is to do it here, where it is ignored."""
    yield
    gc.collect()


def _cohere(url):
    cohere = pytest.importorskip("cohere")
    return (
        cohere.ClientV2(api_key="k", base_url=url).rerank(model="rerank-v3.5", query=QUERY, documents=DOCUMENTS).results
    )


def _voyage(url):
    voyageai = pytest.importorskip("voyageai")
    client = voyageai.Client(api_key="k", base_url=f"{url}/voyage/v1")
    return client.rerank(QUERY, DOCUMENTS, model="rerank-2.5", truncation=False).results


def _bodies(stub):
    """Have the stub keep every body from now on."""
    kept = []

    def keeping(handler):
        def kept_and_handled(request):
            kept.append({key: value for key, value in request.json.items() if value is not None})
            return handler(request)

        return kept_and_handled

    stub._routes = [(method, pattern, keeping(handler)) for method, pattern, handler in stub._routes]
    return kept


@pytest.mark.parametrize(
    ("spec", "path", "ask"), [("cohere:rerank-v3.5", "", _cohere), ("voyage:rerank-2.5", "/voyage/v1", _voyage)]
)
def test_the_client_gets_the_same_scores(spec, path, ask):
    """Document by document; and the requests are the same, field for field."""
    with StubServer() as stub:
        kept = _bodies(stub)
        ours = open_reranker(f"{spec}?base_url={stub.url}{path}", tokenizer=open_tokenizer("words"))
        found = ours.score(QUERY, DOCUMENTS)
        theirs = {one.index: one.relevance_score for one in ask(stub.url)}
        assert kept[0] == kept[1]
    assert found.tolist() == pytest.approx([theirs[position] for position in range(len(DOCUMENTS))], abs=1e-7)
