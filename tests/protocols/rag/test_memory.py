"""RAG's cells and searches are estimated before they begin, and what does not fit fails alone, with a way out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import embassay as eb
from embassay.errors import UsageError
from embassay.protocols.rag.golden.corpus import estimate_corpus_memory, estimate_search_memory
from embassay.protocols.rag.sweep.config import parse_sweep_request
from embassay.protocols.rag.sweep.forecasts import forecast_sweep
from embassay.protocols.rag.tradeoffs import estimate_word_index_bytes
from embassay.runs.memory import LIMIT, PeakMemory, enforce_memory_limit, measure_resident_memory
from embassay.search.bm25 import BM25Index
from embassay.systems import open_system
from embassay.systems.remote import NoCallsLedger
from embassay.text import open_tokenizer

linux = pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the system does not tell")
QUICK = {"queries": 2, "warmup": 1, "repeats": 1, "concurrency": 2}
PROBE: dict[str, Any] = {"queries": 4, "runs": 2, "tokenizer": "words", "resamples": 50}


def made(folder: Path, passages: int) -> Path:
    """A BEIR folder of so many passages of 60 words, and eight queries."""
    rng, known = np.random.default_rng(0), [f"word{i}" for i in range(3000)]
    (folder / "qrels").mkdir(parents=True)
    rows = [{"_id": f"d{i}", "title": "", "text": " ".join(rng.choice(known, 60))} for i in range(passages)]
    asked = [{"_id": f"q{i}", "text": " ".join(rng.choice(known, 6))} for i in range(8)]
    for name, own in (("corpus", rows), ("queries", asked)):
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in own))
    judged = "".join(f"q{i}\td{i}\t1\n" for i in range(8))
    (folder / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\n" + judged)
    return folder


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made(tmp_path_factory.mktemp("data") / "made", 2000)


def config(corpus: Path, **more: Any) -> dict[str, Any]:
    return {
        "datasets": str(corpus), "encoder": "wordllama", "queries": 4, "latency": QUICK, "k": 10,
        "mode": ["dense", "hybrid"], "measures": ["RA-nWG"], "cutoffs": 10, **more,
    }  # fmt: skip


@pytest.fixture
def tight(monkeypatch: pytest.MonkeyPatch) -> None:
    """A promise that leaves 1 MiB beside what this process holds."""
    monkeypatch.setenv(LIMIT, str((measure_resident_memory() or 0) + 2**20))


@linux
def test_an_index_of_words_takes_no_more_than_estimated():
    """Of twice as many passages about twice as much."""
    rng, known = np.random.default_rng(1), [f"word{i}" for i in range(3000)]
    texts = [" ".join(rng.choice(known, 60)) for _ in range(3_000)]
    asked = [" ".join(rng.choice(known, 6)) for _ in range(20)]
    sizes = [estimate_word_index_bytes(texts[:n], n, asked) for n in (1_500, 3_000)]
    assert sizes[1] == pytest.approx(2 * sizes[0], rel=0.05)
    ids = [str(i) for i in range(len(texts))]
    BM25Index.of(ids[:10], texts[:10], asked=asked)
    before, peak = measure_resident_memory(), PeakMemory()
    BM25Index.of(ids, texts, asked=asked)
    assert peak.bytes - before < sizes[1]


def test_a_sweep_grows_with_passages_chunks_indexes_and_words(tmp_path, corpus):
    """As the plan shows it; more vectors, a copy of them and words each take more."""

    def planned(**more):
        return max(
            cell.memory_bytes
            for cell in forecast_sweep(parse_sweep_request(config(corpus, **more)), NoCallsLedger()).work.cells
        )

    plain = planned(mode="dense")
    assert planned() > plain
    assert planned(mode="dense", index=["flat", "hnsw-f32"]) > plain
    assert planned(mode="dense", chunk=["none", "20"]) > plain
    assert planned(mode="dense", datasets=[str(made(tmp_path / "more", 4000))]) > plain


@linux
def test_cells_of_a_sweep_that_do_not_fit_fail_with_a_way_out(tmp_path, corpus, tight):
    """And nothing is encoded for them."""
    found = eb.rag.sweep(config(corpus, index=["flat", "hnsw-f32"]), out=tmp_path / "run")
    reasons = {cell["system"]: cell["reason"] for cell in found.manifest["cells"]}
    assert [cell["status"] for cell in found.manifest["cells"]] == ["failed"] * 2
    assert all("more than the" in one and "raise --memory" in one for one in reasons.values())
    assert "or the flat index" in reasons["wordllama/hnsw-f32"]
    assert "flat index" not in reasons["wordllama/flat"]


@linux
@pytest.mark.parametrize("probe", [eb.rag.probe_names, eb.rag.probe_noise])
def test_cells_of_a_probe_that_do_not_fit_fail_with_a_way_out(tmp_path, probe, tight):
    """The plan has an estimate for each of them."""
    found = probe(["wordllama", "bm25"], out=tmp_path / "run", langs=("en",), **PROBE)
    assert all(cell["memory_bytes"] > 0 for cell in found.manifest["forecast"]["cells"])
    for cell in found.manifest["cells"]:
        assert cell["status"] == "failed"
        assert "more than the" in cell["reason"]


@linux
def test_what_is_held_stays_below_the_estimate(tmp_path, corpus):
    """Of a noise probe over a corpus, with vectors and without."""
    with enforce_memory_limit(2**33):
        found = eb.rag.probe_noise(
            ["wordllama", "bm25"], datasets=[str(corpus)], langs=("en",), out=tmp_path / "run", **PROBE
        )
    estimated = {cell["system"]: cell["memory_bytes"] for cell in found.manifest["forecast"]["cells"]}
    for cell in found.manifest["cells"]:
        assert cell["status"] == "done"
        assert cell["peak_bytes"] < estimated[cell["system"]]


@linux
def test_a_golden_set_is_refused_before_its_corpus_is_read(tmp_path, corpus, monkeypatch):
    """It holds the corpus whole, and says so; its searches hold a shard of vectors."""
    need = estimate_corpus_memory([corpus / "corpus.jsonl", tmp_path / "not there"])
    assert need.bytes == 4 * (corpus / "corpus.jsonl").stat().st_size
    monkeypatch.setenv(LIMIT, str(measure_resident_memory()))
    with pytest.raises(UsageError, match="a golden set holds in memory"):
        eb.rag.golden("wordllama", f"simulated:{corpus / 'qrels' / 'test.tsv'}", dataset=corpus, out=tmp_path / "run")
    wordllama = open_system("wordllama", tokenizer=open_tokenizer("words"))
    some, shard, many = (estimate_search_memory(wordllama, ["a text"] * n, ["a"], 50) for n in (1000, 65_536, 200_000))
    vectors = [next(size for what, size in one.parts.items() if "vectors" in what) for one in (some, shard, many)]
    assert vectors[0] < vectors[1] == vectors[2]
