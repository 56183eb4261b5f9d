"""Elasticsearch: requests and answers over HTTP against our stub, and the same against a real server where
EMBASSAY_ELASTICSEARCH names one."""

from __future__ import annotations

import logging
import os
import sys
import traceback
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from embassay.errors import ModelError, UsageError
from embassay.search import exact_search
from embassay.search.indexes import open_index
from embassay.search.indexes.elasticsearch import (
    MOST,
    ElasticsearchVectorIndexOptions,
    build_index_mapping,
    build_knn_request,
    read_vector_hits,
    score_to_inner_product,
)
from stub.elastic import ElasticStub, Refusal

pytest.importorskip("elasticsearch")

REAL = os.environ.get("EMBASSAY_ELASTICSEARCH", "")
SECRET = "s3kret-Word"
# The stub stops and starts again: connections that were open are dropped by the garbage collector.
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")


@pytest.fixture
def stub(monkeypatch):
    with ElasticStub() as server:
        monkeypatch.setenv("EMBASSAY_ELASTICSEARCH", server.url)
        yield server


@pytest.fixture(params=["stub", "server"])
def anywhere(request, monkeypatch):
    """Our stub, and a real server: what a contract test runs against."""
    if request.param == "server":
        if not REAL:
            pytest.skip("needs an Elasticsearch: set EMBASSAY_ELASTICSEARCH to its address")
        monkeypatch.setenv("EMBASSAY_ELASTICSEARCH", REAL)
    else:
        request.getfixturevalue("stub")
    yield request.param
    if request.param == "server":
        _empty()


@pytest.fixture
def opened():
    """Open an index by the parameters of its spec string; all are closed in the end."""
    made = []

    def make(vectors, spec="elasticsearch"):
        made.append(open_index(spec, vectors))
        return made[-1]

    yield make
    for one in made:
        one.close()


def _empty():
    import elasticsearch

    with elasticsearch.Elasticsearch(REAL) as client:
        for name in client.indices.get(index="embassay-*"):
            client.indices.delete(index=name)


@pytest.mark.parametrize("kind", ["flat", "hnsw", "int8_hnsw", "int8_flat"])
@pytest.mark.parametrize("similarity", ["max_inner_product", "dot_product", "cosine"])
def test_it_finds_by_inner_product(anywhere, opened, corpus, queries, kind, similarity):
    """Whatever the field is made for, and whatever its scores are, on vectors of unit length."""
    queries = queries / np.linalg.norm(queries, axis=1, keepdims=True)
    index = opened(corpus, f"elasticsearch?kind={kind}&similarity={similarity}")
    found, exact = index.search(queries, 10), exact_search(queries, corpus, 10)
    share = np.mean(
        [len(set(a) & set(b)) / 10 for a, b in zip(found.indices.tolist(), exact.indices.tolist(), strict=True)]
    )
    assert share >= (1 if kind == "flat" else 0.9)
    np.testing.assert_allclose(found.scores, exact.scores, rtol=0, atol=1e-5 if kind == "flat" else 0.05)
    assert (np.diff(found.scores, axis=1) <= 0).all()
    assert (index.facts.n, index.facts.dim, index.facts.memory_bytes) == (600, 24, None)
    assert index.facts.disk_bytes > 0
    assert index.facts.build_seconds > 0


def test_vectors_need_no_unit_length(anywhere, opened, corpus, queries):
    """And inner products may be negative."""
    longer = corpus * np.linspace(-2, 3, len(corpus), dtype=np.float32)[:, None]
    found = opened(longer, "elasticsearch?kind=flat").search(queries * 2, 600)
    exact = exact_search(queries * 2, longer, 600)
    np.testing.assert_allclose(found.scores, exact.scores, rtol=1e-5, atol=1e-5)
    assert found.scores.min() < 0


def test_the_servers_own_scores_are_given_too(anywhere, opened, corpus, queries):
    """Beside the inner product that they stand for."""
    index = opened(corpus, "elasticsearch?kind=flat&similarity=cosine")
    for hit in index.find(queries[1], 5):
        cosine = corpus[hit.position] @ queries[1] / np.linalg.norm(queries[1])
        assert hit.score == pytest.approx((1 + cosine) / 2, abs=1e-5)
        assert hit.inner_product == pytest.approx(cosine, abs=1e-5)


def test_more_is_asked_for_than_there_is(anywhere, opened, corpus, queries):
    """The rest of a row is empty; so is the answer to no queries."""
    index = opened(corpus[:3], "elasticsearch?kind=flat")
    found = index.search(queries[:2], 5)
    assert (found.indices[:, 3:] == -1).all()
    assert (found.scores[:, 3:] == -np.inf).all()
    assert index.search(queries[:0], 5).indices.shape == (0, 5)
    assert opened(corpus[:0]).search(queries[:1], 2).indices.tolist() == [[-1, -1]]


def test_an_index_is_made_once(anywhere, opened, corpus):
    """Found by content and layout by the next one; `ef` is only how it is searched."""
    first = opened(corpus, "elasticsearch?kind=hnsw&ef=50")
    again = opened(corpus.copy(), "elasticsearch?kind=hnsw&ef=80")
    assert (first.facts.found, again.facts.found) == (False, True)
    assert again.facts.build_seconds == first.facts.build_seconds
    assert again._index == first._index
    other = corpus.copy()
    other[0, 0] += 1
    for vectors, spec in ((corpus, "kind=flat"), (corpus, "kind=hnsw&m=8"), (other, "kind=hnsw")):
        assert not opened(vectors, f"elasticsearch?{spec}").facts.found


def test_an_index_that_somebody_removed_is_loaded_again(anywhere, opened, corpus, queries):
    """While another has it open, or later."""
    index = opened(corpus, "elasticsearch?kind=flat")
    before = index.search(queries, 3)
    index._server.client.indices.delete(index=index._index)
    np.testing.assert_array_equal(index.search(queries, 3).indices, before.indices)
    index._server.client.indices.delete(index=index._index)
    assert not opened(corpus, "elasticsearch?kind=flat").facts.found


@pytest.mark.parametrize(("position", "bad"), [(3, np.nan), (599, np.inf)])
def test_values_that_the_server_does_not_take(anywhere, opened, corpus, position, bad):
    """Its own words, in one line."""
    broken = corpus.copy()
    broken[position, 3] = bad
    with pytest.raises(ModelError, match=r"Elasticsearch at .* refuses: .+\."):
        opened(broken)


def test_what_is_sent(stub, opened, corpus, queries):
    """The field, one shard, one segment, one bulk of everything, and a search that takes no vectors back."""
    index = opened(corpus, "elasticsearch?kind=hnsw&m=8&ef_construction=32&ef=50")
    index.search(queries[:1], 7)
    (made,) = [body for shape, body in stub.bodies if shape == "PUT" and "mappings" in body]
    assert made["settings"] == {"number_of_shards": 1, "number_of_replicas": 0, "refresh_interval": "-1"}
    assert made["mappings"]["properties"]["embedding"] == {
        "type": "dense_vector", "dims": 24, "index": True, "similarity": "max_inner_product",
        "index_options": {"type": "hnsw", "m": 8, "ef_construction": 32},
    }  # fmt: skip
    assert stub.indices[index._index].segments == 1
    (asked,) = [body for shape, body in stub.bodies if shape == "POST _search"]
    assert asked["_source"] is False
    assert asked["size"] == asked["knn"]["k"] == 7
    assert asked["knn"]["num_candidates"] == 50
    np.testing.assert_array_equal(np.array(asked["knn"]["query_vector"], dtype=np.float32), queries[0])


def test_candidates_are_at_least_as_many_as_asked_for():
    """And never more than the server takes."""
    query = np.zeros(2, np.float32)
    assert build_knn_request(query, 100, 50)["num_candidates"] == 100
    assert build_knn_request(query, 100, 500)["num_candidates"] == 500
    assert build_knn_request(query, MOST, MOST)["num_candidates"] == MOST
    with pytest.raises(UsageError, match="at most 10000"):
        build_knn_request(query, MOST + 1, 50)


@pytest.mark.parametrize("kind", ["flat", "int8_flat"])
def test_a_scan_has_no_graph(kind):
    """Its options would be refused, and its name says nothing of them."""
    assert build_index_mapping(ElasticsearchVectorIndexOptions(kind), 3)["properties"]["embedding"][
        "index_options"
    ] == {"type": kind}
    assert ElasticsearchVectorIndexOptions(kind, m=8).name("d") == ElasticsearchVectorIndexOptions(kind, m=16).name("d")
    assert ElasticsearchVectorIndexOptions("hnsw", m=8).name("d") != ElasticsearchVectorIndexOptions("hnsw", m=16).name(
        "d"
    )


@given(st.floats(-1e3, 1e3, width=32))
def test_scores_lead_back_to_inner_products(product):
    """For any product, and for the cosine in [-1, 1]."""
    score = 1 / (1 - product) if product < 0 else product + 1
    assert score_to_inner_product(score, "max_inner_product") == pytest.approx(product, rel=1e-9, abs=1e-9)
    cosine = product / 1e3
    for similarity in ("cosine", "dot_product"):
        assert score_to_inner_product((1 + cosine) / 2, similarity) == pytest.approx(cosine, abs=1e-12)


@pytest.mark.parametrize(
    "answer",
    [
        {"timed_out": True, "hits": {"hits": []}},
        {"_shards": {"failed": 1}, "hits": {"hits": []}},
        {"hits": {"hits": [{"_id": "x", "_score": 1.0}]}},
        {"hits": {"hits": [{"_id": "1", "_score": 0.0}]}},
        {"hits": {"hits": [{"_id": "1"}]}},
        {"nothing": 1},
    ],
)
def test_an_answer_that_is_none_or_only_a_part(answer):
    """Is an error, never a shorter ranking."""
    with pytest.raises((LookupError, TypeError, ValueError)):
        read_vector_hits(answer, "max_inner_product")


def test_a_part_of_an_answer_is_told(stub, opened, corpus, queries, monkeypatch):
    """In one line."""
    index = opened(corpus)
    monkeypatch.setattr(ElasticStub, "_one", lambda *_: {"timed_out": True, "_shards": {"failed": 0}})
    with pytest.raises(ModelError, match=r"refuses: only part of the index was searched\."):
        index.search(queries, 3)


def test_an_index_that_is_half_loaded_is_never_used(stub, opened, corpus):
    """Stopped while it loads: it is removed, and where that fails too it is not on the list."""
    stub.fail["POST _forcemerge"] = [Refusal(429, "es_rejected_execution_exception", "too busy")] * 2
    with pytest.raises(ModelError, match="refuses: too busy"):
        opened(corpus)
    assert [name for name in stub.indices if name != "embassay-indexes"] == []
    stub.fail["POST _forcemerge"] = [Refusal(429, "es_rejected_execution_exception", "too busy")] * 2
    stub.fail["DELETE"] = [Refusal(503, "unavailable", "later")] * 2
    with pytest.raises(ModelError, match="refuses: too busy"):
        opened(corpus)
    (left,) = [name for name in stub.indices if name != "embassay-indexes"]
    index = opened(corpus)
    assert not index.facts.found
    assert index._index != left


def test_a_vector_that_got_lost_is_noticed(stub, opened, corpus, monkeypatch):
    """What is listed holds every vector."""
    from stub.elastic import Stored

    def forget(self, key, document):
        if key != "17":
            self.documents[key] = document

    monkeypatch.setattr(Stored, "index", forget)
    with pytest.raises(ModelError, match="it contains 599 of 600 vectors"):
        opened(corpus)


def test_two_clients_load_the_same_vectors_at_once(stub, opened, corpus, queries, monkeypatch):
    """Both have looked before either has finished: the first to finish is kept, the other's is removed."""
    from embassay.search.indexes.elasticsearch import ElasticsearchIndex

    together, filled = Barrier(2), ElasticsearchIndex._fill_index

    def wait(self, index):
        together.wait(20)
        filled(self, index)

    monkeypatch.setattr(ElasticsearchIndex, "_fill_index", wait)
    with ThreadPoolExecutor(2) as pool:
        one, other = pool.map(opened, [corpus, corpus])
    assert one._index == other._index
    assert len([name for name in stub.indices if name != "embassay-indexes"]) == 1
    np.testing.assert_array_equal(one.search(queries, 3).indices, other.search(queries, 3).indices)


def test_a_server_that_is_stopped_is_one_clear_error(stub, opened, corpus, queries, monkeypatch, capfd):
    """It is named, with what to do, and the client's log stays away; once it is back the same index goes on."""
    monkeypatch.setattr(logging.root, "handlers", [])
    index = opened(corpus)
    before = index.search(queries, 5)
    stub.stop()
    for call in (lambda: index.search(queries, 5), lambda: open_index("elasticsearch", corpus)):
        with pytest.raises(
            ModelError, match=rf"Elasticsearch at 127\.0\.0\.1:{stub.port} does not answer: .*\."
        ) as error:
            call()
        assert "\n" not in str(error.value)
        assert "Restart the server" in error.value.mend
    assert capfd.readouterr().err == ""
    stub.start()
    np.testing.assert_array_equal(index.search(queries, 5).indices, before.indices)


def test_what_is_no_elasticsearch(corpus):
    """Another product that speaks HTTP."""
    with ElasticStub(product="") as server, pytest.raises(ModelError, match="is not Elasticsearch"):
        open_index(f"elasticsearch:{server.url}", corpus)


def shown(error):
    return "".join(traceback.format_exception(error))


def test_user_and_password_from_a_variable(corpus, queries, monkeypatch, caplog):
    """They are sent, and never shown: not when they are wrong, nor when nobody answers."""
    caplog.set_level(logging.DEBUG)
    with ElasticStub(user="me", password=SECRET) as server:
        monkeypatch.setenv("MY_ES", server.url.replace("//", f"//me:{SECRET}@"))
        index = open_index("elasticsearch:MY_ES", corpus)
        assert index.search(queries, 1).indices[0, 0] == 7
        assert SECRET not in repr(vars(index)) + index.name
        index.close()
        monkeypatch.setenv("MY_ES", server.url.replace("//", f"//you:{SECRET}@"))
        with pytest.raises(ModelError, match="refuses: unable to authenticate") as error:
            open_index("elasticsearch:MY_ES", corpus)
        assert "MY_ES" in error.value.mend
        assert SECRET not in shown(error.value)
    with pytest.raises(ModelError, match="does not answer") as error:
        open_index("elasticsearch:MY_ES", corpus)
    assert SECRET not in shown(error.value) + caplog.text


def test_an_api_key_from_a_variable(corpus, monkeypatch):
    """Named, not given."""
    with ElasticStub(key=SECRET) as server:
        monkeypatch.setenv("MY_KEY", SECRET)
        open_index(f"elasticsearch:{server.url}?key=MY_KEY", corpus).close()
        monkeypatch.delenv("MY_KEY")
        with pytest.raises(ModelError, match="MY_KEY is not set"):
            open_index(f"elasticsearch:{server.url}?key=MY_KEY", corpus)
        with pytest.raises(UsageError, match="takes the NAME") as error:
            open_index(f"elasticsearch:{server.url}?key='{SECRET}'", corpus)
    assert SECRET not in shown(error.value)


@pytest.mark.parametrize(
    "spec", ["?m=1", "?ef_construction=0", "?ef=0", "?ef=10001", "?kind=ivf", "?similarity=l2", "?shards=2"]
)
def test_what_elasticsearch_cannot_be_asked_is_refused_before_anything(spec, corpus, monkeypatch):
    """Without a server."""
    monkeypatch.delenv("EMBASSAY_ELASTICSEARCH", raising=False)
    with pytest.raises(UsageError):
        open_index(f"elasticsearch{spec}", corpus)


def test_too_many_dimensions_are_refused():
    """With what can be done."""
    with pytest.raises(UsageError, match="4096 dimensions"):
        open_index("elasticsearch", np.zeros((1, 4097), np.float32))


@pytest.mark.parametrize("url", ["http://", "http://host:port", "http://[host"])
def test_an_address_that_is_none(url, corpus, monkeypatch):
    """Where it stands, not what it is."""
    monkeypatch.setenv("MY_ES", url)
    with pytest.raises(UsageError, match="MY_ES is not the address"):
        open_index("elasticsearch:MY_ES", corpus)


def test_without_the_extra(corpus, monkeypatch):
    """What to install."""
    monkeypatch.setitem(sys.modules, "elasticsearch", None)
    with pytest.raises(ModelError, match="elasticsearch") as error:
        open_index("elasticsearch:http://localhost:9200", corpus)
    assert "embassay[elastic]" in error.value.mend
