"""Sweeps with words alone, with a generator, with rewriting in the time, and with a width that finds itself."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest

import embassay as eb
import many_vectors
from embassay.errors import UsageError
from embassay.protocols.rag.sweep.findings import read_findings
from embassay.protocols.rag.sweep.protocol import read_sweep_measurements
from stub import StubServer

QUICK = {"queries": 4, "warmup": 1, "repeats": 2, "concurrency": 2}
CONFIG = {
    "datasets": "sample", "encoder": "wordllama", "k": [10], "queries": 12, "latency": QUICK,
    "measures": ["RA-nWG", "Harm", "UDCG"], "cutoffs": [5, 10],
}  # fmt: skip


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    """Dense, sparse and hybrid, each with a reranker and without, under rules and an assumed generator."""
    out = tmp_path_factory.mktemp("words") / "run"
    eb.rag.sweep({
        **CONFIG, "mode": ["dense", "sparse", "hybrid"], "reranker": ["none", "overlap"], "rewrite": ["none", "rules"],
        "rules": {"quality_axes": ["RA-nWG@10", "Harm@10"]},
        "generator": {"ttft_ms": 400, "tokens_per_second": 100, "output_tokens": 201},
    }, out=out)  # fmt: skip
    return out


def test_words_alone_have_no_vectors(done):
    """Retrieval and reranking are all their stages; their index is of passages and has no recall to lose."""
    sweep = read_sweep_measurements(done)
    sparse = [one for one in sweep.measured if one.configuration.mode == "sparse"]
    assert len(sparse) == 2 * 2
    for one in sparse:
        own = {"retrieve", "total", "generate", "end to end"}
        own |= {"rerank"} if one.configuration.reranker == "overlap" else set()
        own |= {"rewrite"} if one.configuration.rewrite == "rules" else set()
        assert one.times.stages.keys() == own
        assert one.recall == {}
        assert one.index.dim == 0
        assert one.times.together.shape == (4,)
        assert set(one.signals) == {"margin"} | ({"entropy"} if one.configuration.reranker == "overlap" else set())


def test_their_lists_are_those_of_bm25(done):
    """As the index of words finds them."""
    from embassay.protocols.rag.sweep.collection import read_retrieval_collection
    from embassay.protocols.rag.sweep.config import parse_sweep_request
    from embassay.search.bm25 import BM25Index

    request = parse_sweep_request(CONFIG)
    collection = read_retrieval_collection(request.datasets[0], request)
    index = BM25Index.of(collection.ids, collection.texts)
    frame = pl.concat([pl.read_parquet(path) for path in done.glob("rankings/**/bm25*.parquet")])
    rows = {
        row["query_id"]: row for row in frame.filter(pl.col("configuration") == "bm25/k10/sparse").iter_rows(named=True)
    }
    for key, text in zip(collection.query_ids, collection.queries, strict=True):
        hits = index.search(text, 10)
        assert rows[key]["documents"] == [hit.id for hit in hits]
        assert rows[key]["scores"] == pytest.approx([hit.score for hit in hits])


def test_modes_are_compared_with_words(done):
    """Every dense stack has its sparse counterpart; the best by words alone is a scenario and a table."""
    part = read_findings(done / "sweep.json").parts[0]
    pairs = {(one.value, one.other): one.pairs for one in part.effects if one.axis == "mode"}
    assert pairs == {("dense", "sparse"): 4, ("hybrid", "dense"): 4, ("hybrid", "sparse"): 4}
    assert "bm25/k10/sparse" in next(one.stack for one in part.scenarios if one.name == "words")
    assert (done / "tables" / "rag_sparse.md").is_file()


def test_what_is_assumed_of_answers_is_said_and_counted_apart(done):
    """Rewriting is in the total, an answer on top of it; the efficiency is that of the whole."""
    sweep, part = read_sweep_measurements(done), read_findings(done / "sweep.json").parts[0]
    for one in sweep.measured:
        stages = {k: v for k, v in one.times.stages.items() if k not in ("total", "generate", "end to end")}
        assert one.times.total == pytest.approx(sum(stages.values()))
        assert one.times.stages["generate"] == pytest.approx(2400)
        assert one.times.stages["end to end"] == pytest.approx(one.times.total + 2400)
    assert part.generation is not None
    assert (part.generation.queries, part.generation.first_ms) == (0, 400)
    assert any("Assumed: 400 ms" in note for note in part.notes)
    assert all(one.time("end to end") is not None for one in part.stacks)


def test_several_axes_of_quality_are_objectives(done):
    """Less harm is better there: no stack of the frontier is beaten in price, time, quality and harm at once."""
    part = read_findings(done / "sweep.json").parts[0]
    found = part.find_frontier_by_name("cost, latency, RA-nWG@10 and Harm@10")
    assert found is not None
    kept = [part.stack(one) for one in found.stacks]
    for one in kept:
        assert not any(
            other.cost <= one.cost and other.latency < one.latency - 100
            and (other.value("RA-nWG@10") or 0) > (one.value("RA-nWG@10") or 0)
            and (other.value("Harm@10") or 0) < (one.value("Harm@10") or 0)
            for other in part.stacks
        )  # fmt: skip
    least = min(part.stacks, key=lambda one: one.value("Harm@10") or 0)
    assert any(one.value("Harm@10") == least.value("Harm@10") for one in kept)


def _chat(turn):
    if '"rewrite"' in turn.messages[0]["content"]:
        return json.dumps({"rewrite": "salt of meat"})
    return "READY" if "READY" in turn.last else "It is saltier by the sea, as two passages say."


def test_models_are_timed_once_and_paid_once(tmp_path, monkeypatch):
    """An answer and a word for each timed query, a rewriting for each query; a second session asks for nothing."""
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    monkeypatch.setenv("EMBASSAY_CACHE", str(tmp_path / "cache"))
    with StubServer(chat=_chat, latency=0.02) as stub:
        spec = f"openai:NAME?base_url={stub.url}/v1&price=1&price_output=1"
        config = {
            **CONFIG, "mode": ["sparse", "sparse+rerank"], "reranker": "overlap",
            "rewrite": f"llm:{spec.replace('NAME', 'words')}",
            "generator": {"model": spec.replace("NAME", "answers"), "passages": 3, "output_tokens": 50},
        }  # fmt: skip
        eb.rag.sweep(config, out=tmp_path / "run")
        asked = [body["model"] for body in stub.bodies]
        eb.rag.sweep(config, out=tmp_path / "run", force=True)
        assert len(stub.bodies) == len(asked)
    assert (asked.count("words"), asked.count("answers")) == (12, 4 + 4)
    sweep, part = (read_sweep_measurements(tmp_path / "run"), read_findings(tmp_path / "run" / "sweep.json").parts[0])
    for one in sweep.measured:
        assert one.times.stages["rewrite"].min() >= 20
        assert one.times.stages["generate"].min() >= 20
        assert one.times.stages["rewrite"].shape == (2, 4)
    assert part.generation is not None
    assert part.generation.queries == 4


def test_a_width_that_finds_itself(tmp_path):
    """The smallest within 1% of exact recall on half of the queries; the folder says which."""
    pytest.importorskip("faiss")
    eb.rag.sweep({**CONFIG, "index": ["flat", "hnsw-f32?ef=auto"], "queries": 40}, out=tmp_path / "run")
    sweep, part = (read_sweep_measurements(tmp_path / "run"), read_findings(tmp_path / "run" / "sweep.json").parts[0])
    (auto,) = [one for one in sweep.measured if one.configuration.index.endswith("auto")]
    assert auto.ef is not None
    assert 1 <= auto.ef <= auto.index.n
    assert auto.recall[10] >= 0.95
    assert part.indexes[0].ef == auto.ef
    assert any(f"at ef {auto.ef} and above" in note for note in part.notes)


def test_harm_is_turned_for_the_frontier():
    """So that a stack with less of it wins, all else equal."""
    from embassay.protocols.rag.sweep.findings.conclusions import _negate_lower_better_measures_of_stack
    from embassay.protocols.rag.tradeoffs import StackCostLatencyQuality

    found = _negate_lower_better_measures_of_stack(
        StackCostLatencyQuality("a", 1, 1, {"Harm@10": 0.2, "RA-nWG@10": 0.5})
    )
    assert dict(found.quality) == {"Harm@10": -0.2, "RA-nWG@10": 0.5}
    assert np.isclose(found.cost, 1)


@pytest.mark.slow
def test_models_of_many_vectors_are_encoders(tmp_path, monkeypatch):
    """SPLADE and ColBERT: dense and fused lists, the dense ones as each system searches."""
    from embassay.protocols.rag.sweep.collection import read_retrieval_collection
    from embassay.protocols.rag.sweep.config import parse_sweep_request
    from embassay.protocols.rag.sweep.findings.conclusions import sum_index_memory
    from embassay.systems import open_system
    from embassay.text import open_tokenizer

    many_vectors.install(monkeypatch)
    encoders = ["splade:any", "colbert:any"]
    config = {**CONFIG, "encoder": encoders, "queries": 3, "mode": ["dense", "hybrid"], "index": ["flat"]}
    eb.rag.sweep(config, out=tmp_path / "run")
    sweep = read_sweep_measurements(tmp_path / "run")
    assert not sweep.skipped
    sizes = sum_index_memory([one for one in sweep.measured if one.configuration.encoder in encoders])
    assert sizes.vectors is None  # a formula of one vector a text says nothing here
    assert sizes.memory
    assert {(one.configuration.encoder, one.configuration.mode) for one in sweep.measured} == {
        (encoder, mode) for encoder in encoders for mode in ("dense", "hybrid")
    }
    request = parse_sweep_request(config)
    collection = read_retrieval_collection(request.datasets[0], request)
    frame = pl.concat([pl.read_parquet(path) for path in (tmp_path / "run").glob("rankings/**/*.parquet")])
    for encoder in encoders:
        system = open_system(encoder, tokenizer=open_tokenizer(request.tokenizer))
        found = system.search(list(collection.queries), list(collection.texts), 10)
        mine = frame.filter(
            pl.col("configuration").str.starts_with(encoder) & pl.col("configuration").str.ends_with("dense")
        )
        lists = dict(zip(mine["query_id"], mine["documents"].to_list(), strict=True))
        for key, row in zip(collection.query_ids, found.indices, strict=True):
            assert lists[key][:10] == [collection.ids[place] for place in row]


def test_an_ensemble_makes_no_vectors():
    """Several systems are fused by `mode: hybrid`: an ensemble is refused where it stands, with the way."""
    from embassay.protocols.rag.sweep.config import parse_sweep_request

    with pytest.raises(UsageError, match=r"'ensemble:wordllama\+bm25' makes no vectors") as caught:
        parse_sweep_request({**CONFIG, "encoder": ["wordllama", "ensemble:wordllama+bm25"]})
    assert "hybrid" in caught.value.mend
