"""Rerankers of Cohere, Voyage and Jina against a server that is as strict as they are."""

from __future__ import annotations

import numpy as np
import pytest

from embassay.errors import ModelError, TextRefused, UsageError
from embassay.systems.remote import Ledger
from embassay.systems.rerankers import open_reranker
from embassay.text import open_tokenizer
from stub import Faults, StubServer
from stub.strict import WRONG_KEY, scores

pytest.importorskip("httpx2")

SPECS = {
    "cohere": ("cohere:rerank-v3.5", "", "COHERE_API_KEY"),
    "voyage": ("voyage:rerank-2.5", "/voyage/v1", "VOYAGE_API_KEY"),
    "jina": ("jina:jina-reranker-v2-base-multilingual", "/jina/v1", "JINA_API_KEY"),
}
QUERY = "where does the red fox sleep"
DOCUMENTS = ["a hen sleeps here", "the red fox", "where does the red fox sleep at night", "x"]
every_vendor = pytest.mark.parametrize("vendor", SPECS)


@pytest.fixture(scope="module")
def stub():
    with StubServer() as server:
        yield server


@pytest.fixture(autouse=True)
def _no_keys(monkeypatch):
    for name in ("COHERE_API_KEY", "CO_API_KEY", "VOYAGE_API_KEY", "JINA_API_KEY"):
        monkeypatch.delenv(name, raising=False)


def opened(vendor, stub, ledger=None, **params):
    spec, path, _ = SPECS[vendor]
    given = {"base_url": stub.url + path, **params}
    text = f"{spec}?" + "&".join(f"{key}={value}" for key, value in given.items())
    return open_reranker(text, ledger=ledger, tokenizer=open_tokenizer("words"))


def expected(documents):
    found = dict(scores(QUERY, documents))
    return np.array([found[position] for position in range(len(documents))], dtype=np.float32)


@every_vendor
def test_scores_in_the_order_of_the_documents(stub, vendor):
    """The server answers best first; what comes back is in the order that was asked."""
    found = opened(vendor, stub).score(QUERY, DOCUMENTS)
    assert found.dtype == np.float32
    assert np.array_equal(found, expected(DOCUMENTS))
    assert found.argmax() == 2


@every_vendor
def test_blank_documents_come_last(stub, vendor):
    """They are not sent, as vendors refuse them, and nothing is below them."""
    found = opened(vendor, stub).score(QUERY, ["", "x", "  ", "the red fox"])
    assert np.isfinite(found).all()
    assert max(found[0], found[2]) < min(found[1], found[3])
    assert found[0] == found[2]


@every_vendor
def test_nothing_to_rank(stub, vendor):
    """No documents, or only blank ones: no request."""
    stub.forget()
    reranker = opened(vendor, stub)
    assert reranker.score(QUERY, []).shape == (0,)
    assert reranker.score(QUERY, ["", " "]).tolist() == [0, 0]
    assert not stub.requests


@every_vendor
def test_a_long_list_goes_in_several_requests(stub, vendor):
    """More documents than a vendor takes at once; every score in its place."""
    stub.forget()
    documents = [f"document {number} about a fox" for number in range(2300)]
    assert np.array_equal(opened(vendor, stub).score(QUERY, documents), expected(documents))
    assert stub.requests.total() == 3


@every_vendor
def test_faults_pass(vendor, hasty):
    """Missing results, NaN, errors, resets: asked again until every document has its score."""
    faults = Faults.all(0.4, slow_seconds=0.01)
    with StubServer(faults=faults) as stub:
        reranker = opened(vendor, stub)
        assert all(np.array_equal(reranker.score(QUERY, DOCUMENTS), expected(DOCUMENTS)) for _ in range(15))
        assert sum(stub.injected.values()) > 3


@every_vendor
def test_a_wrong_key_is_said_and_not_shown(stub, vendor, monkeypatch):
    """A plain ModelError, with what the vendor says and the mend."""
    monkeypatch.setenv(SPECS[vendor][2], WRONG_KEY)
    with pytest.raises(ModelError, match="status 401") as caught:
        opened(vendor, stub).score(QUERY, DOCUMENTS)
    assert not isinstance(caught.value, TextRefused)
    assert WRONG_KEY not in str(caught.value)
    assert "Check the key" in caught.value.mend


@every_vendor
def test_a_missing_key_says_which(vendor):
    """Before any work."""
    spec, _, key = SPECS[vendor]
    with pytest.raises(ModelError, match=f"export {key}="):
        open_reranker(spec, tokenizer=open_tokenizer("words"))


@every_vendor
def test_the_key_is_in_nothing_that_is_kept(stub, vendor, monkeypatch):
    """Not in name, identity or the object's own words."""
    monkeypatch.setenv(SPECS[vendor][2], "secret-of-mine-123")
    reranker = opened(vendor, stub)
    reranker.score(QUERY, DOCUMENTS)
    assert "secret" not in reranker.name + reranker.identity + repr(reranker.connection)
    assert "secret-of-mine-123" in stub.seen_keys


def test_a_refused_text(stub):
    """What the server will never take is the text's failure: here an empty query."""
    with pytest.raises(TextRefused, match=r"status 400.*query"):
        opened("cohere", stub).score("", DOCUMENTS)


def test_cohere_charges_by_the_search(stub):
    """$2 per thousand searches in the table, one for each hundred documents; a price given goes first."""
    ledger = Ledger()
    opened("cohere", stub, ledger).score(QUERY, ["a"] * 150)
    opened("cohere", stub, ledger, price=10).score(QUERY, ["a"])
    assert ledger.map_models_to_call_totals()["cohere:rerank-v3.5"].usd == pytest.approx(2 * 0.002 + 0.01)


def test_voyage_charges_by_the_token(stub):
    """Of the documents, and of the query with each of them, as the server counts."""
    ledger = Ledger()
    opened("voyage", stub, ledger).score("two words", ["one", "and three more"])
    totals = ledger.map_models_to_call_totals()["voyage:rerank-2.5"]
    assert totals.input_tokens == 1 + 3 + 2 * 2
    assert totals.usd == pytest.approx(8 * 0.05e-6)


def test_names_and_identities(stub):
    """The name is the canonical spec; what scores depend on is in the identity, and limits are not."""
    reranker = opened("cohere", stub, rpm=10, max_tokens_per_doc=512)
    assert reranker.name == f"cohere:rerank-v3.5?base_url={stub.url}&max_tokens_per_doc=512&rpm=10"
    assert reranker.identity != opened("cohere", stub).identity
    assert opened("cohere", stub, rpm=10).identity == opened("cohere", stub).identity


@pytest.mark.parametrize("vendor", SPECS)
def test_a_model_is_needed(vendor):
    """A vendor alone is none."""
    with pytest.raises(UsageError, match="needs the name of a model"):
        open_reranker(vendor, tokenizer=open_tokenizer("words"))
