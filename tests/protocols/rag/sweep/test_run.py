"""Whole sweeps on the sample data: what is on disk, what is computed once, what resumes, what fails alone."""

import json
import shutil
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import embassay as eb
from embassay.contracts import RankedCandidates
from embassay.errors import ModelError, UsageError
from embassay.measures import ra_nwg
from embassay.protocols.kernel import inputs as opening
from embassay.protocols.kernel.session import SilentListener
from embassay.protocols.rag.sweep.collection import read_retrieval_collection
from embassay.protocols.rag.sweep.config import parse_sweep_request
from embassay.protocols.rag.sweep.protocol import read_sweep_measurements
from embassay.search.indexes import INDEXES
from embassay.search.indexes.faiss_index import FlatIndex
from embassay.systems import SYSTEMS
from embassay.systems.rerankers import RERANKERS
from embassay.systems.rerankers.overlap import OverlapReranker

QUICK = {"queries": 4, "warmup": 1, "repeats": 2, "concurrency": 2}
CONFIG = {
    "datasets": "sample", "encoder": "wordllama", "dims": [64, "full"], "k": [10, 20], "reranker": ["none", "overlap"],
    "mode": ["dense", "hybrid"], "queries": 12, "latency": QUICK, "measures": ["RA-nWG", "Harm"], "cutoffs": [5, 10],
    "prices": {"date": "2025-11-30", "rerank": {"overlap": 0.05}, "generator": 1.25},
}  # fmt: skip
FREE = {key: value for key, value in CONFIG.items() if key != "prices"}
"""Without prices, for other rerankers than the config's."""
BROKEN: dict[str, object] = {}


class Counted(OverlapReranker):
    """The overlap of a query's words, but not weighed within the list, and every pair is noted."""

    name = identity = "counted"
    pairwise = True
    asked: list[tuple[str, str]] = []  # noqa: RUF012

    def score(self, query, documents):
        if BROKEN.get("counted"):
            raise ModelError("The server of counted is gone.")
        self.asked.extend((query, document) for document in documents)
        words = set(query.lower().split())
        return np.array([len(words & set(one.lower().split())) for one in documents], dtype=np.float32)


class Shaky(FlatIndex):
    """Exact search that goes away when it is told to."""

    def __init__(self, vectors, name="shaky"):
        super().__init__(vectors, name=name)

    def search(self, queries, k) -> RankedCandidates:
        if BROKEN.get("shaky"):
            raise ModelError("The server of shaky does not answer.")
        return super().search(queries, k)


def _no_encoder():
    raise ModelError("The model is not there.")


class Tally(SilentListener):
    """How many texts each stage was said to have, and how many of them were told."""

    def __init__(self):
        self.stages = []

    def stage(self, title, total, unit="texts"):
        self.stages.append([title, total, 0, unit])

    def advanced_by(self, texts):
        self.stages[-1][2] += texts


@pytest.fixture(autouse=True)
def _parts():
    """Parts that can fail, for this module alone."""
    RERANKERS.add("counted", lambda: Counted())
    INDEXES.add("shaky", Shaky, kind="server")
    SYSTEMS.add("gone", _no_encoder, kind="embedding")
    Counted.asked.clear()
    yield
    BROKEN.clear()
    for registry, name in ((RERANKERS, "counted"), (INDEXES, "shaky"), (SYSTEMS, "gone")):
        del registry._entries[name]


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    """A finished sweep, for those who only read."""
    out = tmp_path_factory.mktemp("sweep") / "run"
    eb.rag.sweep(CONFIG, out=out)
    return out


def _bytes(out):
    """What must be the same for the same arguments: values, rankings and facts, without times."""
    files = [*out.glob("items/**/*.parquet"), *out.glob("rankings/**/*.parquet"), *out.glob("stacks/*.json")]
    return {str(path.relative_to(out)): path.read_bytes() for path in files}


def test_every_combination_is_measured(done):
    """Arrays of every query, times of every stage, money from tokens."""
    sweep = read_sweep_measurements(done)
    assert len(sweep.measured) == 2 * 2 * 2 * 2
    assert not sweep.skipped
    assert len(sweep.queries["sample"]) == 12
    for one in sweep.measured:
        assert one.quality.keys() == {"RA-nWG@5", "Harm@5", "RA-nWG@10", "Harm@10"}
        assert all(values.shape == (12,) for values in (*one.quality.values(), *one.ceiling.values()))
        stages = {"embed", "retrieve", "total"} | ({"fuse"} if one.configuration.mode == "hybrid" else set())
        stages |= {"rerank"} if one.configuration.reranker == "overlap" else set()
        assert one.times.stages.keys() == stages
        assert one.times.total.shape == (2, 4)
        assert one.times.total == pytest.approx(sum(one.times.stages[s] for s in stages - {"total"}))
        assert one.times.together.shape == ((4,) if one.configuration.dims is None else (0,))
        assert one.recall == {10: 1.0, 30: 1.0}
        assert one.index.dim == (one.configuration.dims or 256)
        price = 0.05 if one.configuration.reranker == "overlap" else 0.0
        assert one.usd["rerank"] == pytest.approx(one.configuration.k * one.tokens[0] * price / 1000)
        assert one.usd["generate"] == pytest.approx(10 * one.passage_tokens * 1.25 / 1000)
        assert one.tokens[0] > one.passage_tokens
        assert set(one.signals) == {"margin", "noise"} | ({"entropy"} if price else set())
        assert np.nanmax(one.signals["noise"]) < 1


def test_values_are_those_of_the_rankings_kept(done):
    """The lists on disk, scored one by one, give the values on disk; each is of documents, each once."""
    collection = read_retrieval_collection(parse_sweep_request(CONFIG).datasets[0], parse_sweep_request(CONFIG))
    grades = {
        key: {collection.ids[place]: grade for place, grade in own.items()}
        for key, own in zip(collection.query_ids, collection.grades, strict=True)
    }
    rankings = pl.concat([pl.read_parquet(path) for path in done.glob("rankings/**/*.parquet")])
    sweep = read_sweep_measurements(done)
    assert len(rankings) == 16 * 12
    for one in sweep.measured:
        own = rankings.filter(pl.col("configuration") == one.configuration.id)
        assert own["query_id"].to_list() == list(sweep.queries["sample"])
        for value, row in zip(one.quality["RA-nWG@5"], own.iter_rows(named=True), strict=True):
            assert len(row["documents"]) == len(set(row["documents"])) == one.configuration.k == len(row["scores"])
            assert value == pytest.approx(ra_nwg(grades[row["query_id"]], row["documents"], 5), nan_ok=True)


def test_a_reranker_reorders_its_candidates_only(done):
    """With and without one, a stack has the same documents; the ceiling is that of both."""
    by_id = {one.configuration: one for one in read_sweep_measurements(done).measured}
    for configuration, one in by_id.items():
        if configuration.reranker == "overlap":
            plain = by_id[replace(configuration, reranker="none")]
            assert one.ceiling["RA-nWG@5"] == pytest.approx(plain.ceiling["RA-nWG@5"], nan_ok=True)
    assert any(
        not np.array_equal(one.quality["RA-nWG@5"], by_id[replace(key, reranker="none")].quality["RA-nWG@5"])
        for key, one in by_id.items()
        if key.reranker == "overlap"
    )


def test_nothing_is_computed_twice(tmp_path):
    """Texts are embedded once for all dims and stacks, and no pair is scored twice for quality."""
    opening._open_embedding_cache.cache_clear()
    config = {**FREE, "reranker": "counted", "latency": {**QUICK, "queries": 1, "warmup": 0, "repeats": 1}}
    eb.rag.sweep(config, out=tmp_path / "a")
    counts = read_sweep_measurements(tmp_path / "a").counts
    assert counts.embedded == 147 + 12 + 12
    pairs = set(Counted.asked)
    assert counts.reranked == len(pairs)
    # 2 modes x 2 k at one encoder for the clock, and 4 stacks at full dimensions under load.
    assert len(Counted.asked) == len(pairs) + 2 * (10 + 20) + 2 * (10 + 20)
    n = len(Counted.asked)
    eb.rag.sweep({**config, "dims": [32]}, out=tmp_path / "b")
    again = read_sweep_measurements(tmp_path / "b").counts
    assert again.embedded == 0
    assert again.embedded_before >= 147
    assert again.reranked == len(set(Counted.asked)) - len(pairs)
    assert len(Counted.asked) > n


def test_a_finished_sweep_is_read_only(done, monkeypatch):
    """The same call again computes nothing, and the same bytes stay, times too."""
    before = {path: path.read_bytes() for path in [*done.glob("timings/*"), *done.glob("stacks/*")]}
    monkeypatch.setattr("embassay.protocols.rag.sweep.protocol.EncodedChunkedDataset", None)
    run = eb.rag.sweep(CONFIG, out=done)
    assert run.manifest["status"] == "finished"
    assert {path: path.read_bytes() for path in before} == before


def test_rules_and_prices_may_change(done, tmp_path):
    """Nothing is measured anew for them; the dollars are."""
    shutil.copytree(done, tmp_path / "run")
    config = {**CONFIG, "prices": {"rerank": {"overlap": 0.1}}, "rules": {"measure": "RA-nWG@5", "budget": 3}}
    before = _bytes(tmp_path / "run")
    eb.rag.sweep(config, out=tmp_path / "run", sla_ms=900)
    changed = read_sweep_measurements(tmp_path / "run")
    assert _bytes(tmp_path / "run") == before
    assert (changed.rules.measure, changed.rules.budget, changed.rules.sla_ms) == ("RA-nWG@5", 3, 900)
    first = read_sweep_measurements(done).measured
    for one, old in zip(changed.measured, first, strict=True):
        assert one.usd["rerank"] == pytest.approx(2 * old.usd["rerank"])


def test_other_arguments_are_refused(done):
    """A folder holds one sweep; none of its stacks may go."""
    with pytest.raises(UsageError, match="other arguments: k was"):
        eb.rag.sweep({**CONFIG, "k": [10]}, out=done)
    with pytest.raises(UsageError, match="seed"):
        eb.rag.sweep(CONFIG, out=done, seed=5)


def test_a_sweep_grows_along_its_axes(done, tmp_path):
    """More values of k and dims on a finished folder add stacks: in the end those of one sweep of all. The samples of
    time that were there stay."""
    out = tmp_path / "run"
    eb.rag.sweep({**CONFIG, "k": [10], "dims": CONFIG["dims"][:1]}, out=out)
    kept = {path: path.read_bytes() for path in out.glob("timings/*")}
    run = eb.rag.sweep(CONFIG, out=out)
    assert run.manifest["status"] == "finished"
    assert {path: path.read_bytes() for path in kept} == kept
    grown = {one.configuration: one.quality for one in read_sweep_measurements(out).measured}
    whole = {one.configuration: one.quality for one in read_sweep_measurements(done).measured}
    assert grown.keys() == whole.keys()
    for one, quality in whole.items():
        np.testing.assert_equal(grown[one], quality)


@pytest.mark.parametrize("lost", ["cells", "stacks", "timings", "items"])
def test_what_is_lost_is_measured_again(done, tmp_path, lost):
    """A cell without its record, facts, samples or values is done again, to the same bytes; samples that are there
    are kept."""
    out = tmp_path / "run"
    shutil.copytree(done, out)
    first = next(path for path in sorted(out.glob(f"{lost}/**/*")) if path.is_file())
    first.unlink()
    kept = {path: path.read_bytes() for path in out.glob("timings/*")}
    eb.rag.sweep(CONFIG, out=out)
    assert _bytes(out) == _bytes(done)
    assert {path: path.read_bytes() for path in kept} == kept
    assert len(read_sweep_measurements(out).measured) == 16


def test_an_encoder_that_cannot_be_had(tmp_path):
    """Its combinations are left out with the reason, the others are measured."""
    run = eb.rag.sweep({**CONFIG, "encoder": ["gone", "wordllama"]}, out=tmp_path / "run")
    sweep = read_sweep_measurements(tmp_path / "run")
    assert len(sweep.measured) == 16
    assert {(one.configuration.encoder, one.failed) for one in sweep.skipped} == {("gone", True)}
    assert {one.reason for one in sweep.skipped} == {"The model is not there."}
    assert run.manifest["status"] == "partial"


def test_a_mistake_in_one_part_is_its_cells(tmp_path, monkeypatch):
    """Not only what an adapter foresees: any error fails the cells that met it, with a log, and the others go on."""

    def mistaken(*_):
        raise ZeroDivisionError("division by zero")

    monkeypatch.setattr(Shaky, "search", mistaken)
    run = eb.rag.sweep({**FREE, "index": ["flat", "shaky"]}, out=tmp_path / "run")
    sweep = read_sweep_measurements(tmp_path / "run")
    assert {one.configuration.index for one in sweep.measured} == {"flat"}
    reasons = {one.reason for one in sweep.skipped}
    assert [reason.partition(" (")[0] for reason in reasons] == ["ZeroDivisionError: division by zero"]
    assert "Traceback" in next((tmp_path / "run" / "logs").glob("*.txt")).read_text()
    assert run.manifest["status"] == "partial"


def test_a_reranker_that_fails(tmp_path):
    """Its own stacks are left out; the next session tries it again."""
    BROKEN["counted"] = True
    config = {**FREE, "reranker": ["none", "counted"]}
    eb.rag.sweep(config, out=tmp_path / "run")
    sweep = read_sweep_measurements(tmp_path / "run")
    assert {one.configuration.reranker for one in sweep.measured} == {"none"}
    assert len(sweep.measured) == len(sweep.skipped) == 8
    assert all(one.failed and "counted is gone" in one.reason for one in sweep.skipped)
    BROKEN.clear()
    run = eb.rag.sweep(config, out=tmp_path / "run")
    assert len(read_sweep_measurements(tmp_path / "run").measured) == 16
    assert not read_sweep_measurements(tmp_path / "run").skipped
    assert run.manifest["status"] == "finished"


def test_a_server_that_goes_away(tmp_path):
    """One reason for all of its cells, what is finished stays, and the run goes on when it is back."""
    BROKEN["shaky"] = True
    config = {**FREE, "index": ["flat", "shaky"], "reranker": "none"}
    eb.rag.sweep(config, out=tmp_path / "run")
    before = _bytes(tmp_path / "run")
    sweep = read_sweep_measurements(tmp_path / "run")
    assert {one.configuration.index for one in sweep.measured} == {"flat"}
    assert {one.reason for one in sweep.skipped} == {"The server of shaky does not answer."}
    BROKEN.clear()
    eb.rag.sweep(config, out=tmp_path / "run")
    after = read_sweep_measurements(tmp_path / "run")
    assert len(after.measured) == 16
    assert all(_bytes(tmp_path / "run")[name] == content for name, content in before.items() if "flat" in name)
    by_id = {one.configuration: one for one in after.measured}
    for key, one in by_id.items():
        if key.index == "shaky":
            flat = by_id[replace(key, index="flat")]
            assert np.array_equal(one.quality["RA-nWG@5"], flat.quality["RA-nWG@5"], equal_nan=True)


def test_chunks_rewriting_copies_and_boost(tmp_path):
    """The axes of spec section 9, together: fewer candidates after copies went, chunks collapsed to documents."""
    config = {
        **CONFIG, "dims": 64, "k": 20, "mode": "dense", "reranker": ["none", "overlap"], "deduplicate": [0, 0.02],
        "boost": [0, 0.5], "chunk": ["none", "20+5"], "rewrite": ["none", "rules"], "queries": 6,
    }  # fmt: skip
    eb.rag.sweep(config, out=tmp_path / "run")
    sweep = read_sweep_measurements(tmp_path / "run")
    assert len(sweep.measured) == 2 * 2 * 2 * 3
    assert len(sweep.skipped) == 2 * 2 * 2
    assert not any(one.failed for one in sweep.skipped)
    by_id = {one.configuration: one for one in sweep.measured}
    rankings = pl.concat([pl.read_parquet(path) for path in (tmp_path / "run").glob("rankings/**/*.parquet")])
    lengths = dict(rankings.group_by("configuration").agg(pl.col("documents").list.len().mean()).iter_rows())
    for key, one in by_id.items():
        if key.chunk == "none" and not key.deduplicate:
            assert lengths[key.id] == 20
        if key.chunk != "none":
            assert lengths[key.id] < 20
            whole = by_id[replace(key, chunk="none")]
            assert one.passage_tokens < whole.passage_tokens
        if key.deduplicate:
            assert lengths[key.id] <= lengths[replace(key, deduplicate=0.0).id]
            assert one.times.stages.keys() >= {"rerank"}
    fewer = [key for key in by_id if key.deduplicate and lengths[key.id] < lengths[replace(key, deduplicate=0.0).id]]
    assert fewer


def test_embedding_is_timed_afresh(tmp_path, monkeypatch):
    """Every call of the clock encodes: the cache is for quality."""
    from embassay.systems.encoders.wordllama import WordLlamaEncoder

    calls = []
    true = WordLlamaEncoder.encode
    monkeypatch.setattr(
        WordLlamaEncoder,
        "encode",
        lambda self, texts, role=None: calls.append(len(texts)) or true(self, texts, role=role),
    )
    eb.rag.sweep({**FREE, "dims": [64], "k": 10, "reranker": "none", "mode": "dense"}, out=tmp_path / "run")
    assert calls.count(1) == 2 * (1 + 4)


def test_the_manifest_says_what_was_computed(done):
    """Cells with their counts, queries, prices and rules; results have a row for the headline."""
    said = json.loads((done / "manifest.json").read_text())
    assert (said["protocol"], said["kind"], said["status"]) == ("rag", "sweep", "finished")
    assert [cell["system"] for cell in said["cells"]] == ["wordllama/64d/flat", "wordllama/flat"]
    assert said["prices"]["tokens"] == {"wordllama": 0.0, "overlap": 0.05, "generator": 1.25}
    rows = eb.rag.sweep(CONFIG, out=done).results
    head = rows.filter((pl.col("measure") == "RA-nWG@10") & (pl.col("dataset") == "sample"))
    assert len(head) == 16
    assert set(head["variant"]) == {""}


def test_indexes_are_built_once(tmp_path, monkeypatch):
    """Kept by the content of the vectors, whatever else a sweep asks; nearly all of the exact answers are found."""
    pytest.importorskip("faiss")
    monkeypatch.setenv("EMBASSAY_CACHE", str(tmp_path / "cache"))
    config = {**FREE, "index": ["flat", "hnsw-f32", "pq?nbits=4"], "reranker": "none", "k": 10, "mode": "dense"}
    eb.rag.sweep(config, out=tmp_path / "a")
    first = read_sweep_measurements(tmp_path / "a")
    assert (first.counts.built, first.counts.built_before) == (4, 0)
    eb.rag.sweep({**config, "mode": "hybrid"}, out=tmp_path / "b")
    again = read_sweep_measurements(tmp_path / "b")
    assert (again.counts.built, again.counts.built_before) == (0, 4)
    recall = {(one.configuration.index, one.configuration.dims): one.recall[10] for one in first.measured}
    assert recall["flat", None] == 1
    assert recall["hnsw-f32", None] > 0.9
    assert 0.3 < recall["pq?nbits=4", None] <= 1


def test_an_index_that_cannot_be_made_is_no_failure(tmp_path):
    """Parts that do not divide the dimensions: the combination is left out with the reason, and the run is done."""
    pytest.importorskip("faiss")
    config = {**FREE, "index": ["flat", "pq?m=48&nbits=4"], "reranker": "none", "k": 10, "mode": "dense", "dims": 64}
    run = eb.rag.sweep(config, out=tmp_path / "run")
    sweep = read_sweep_measurements(tmp_path / "run")
    assert [one.configuration.index for one in sweep.measured] == ["flat"]
    assert [(one.failed, "64 dimensions into 48" in one.reason) for one in sweep.skipped] == [(False, True)]
    assert run.manifest["status"] == "finished"


def test_stacks_that_differ_in_one_part_differ_in_its_time_alone(done):
    """Samples are shared wherever the stage is the same: the reranker's over dims, the index's over rerankers."""
    by_id = {one.configuration: one.times.stages for one in read_sweep_measurements(done).measured}
    for key, stages in by_id.items():
        if key.reranker == "overlap":
            plain, less = by_id[replace(key, reranker="none")], by_id[replace(key, dims=64)]
            assert all(np.array_equal(stages[name], plain[name]) for name in plain if name != "total")
            assert np.array_equal(stages["rerank"], less["rerank"])
            assert np.array_equal(stages["embed"], less["embed"])
            if key.dims is None:
                assert not np.array_equal(stages["retrieve"], less["retrieve"])


def test_own_documents_are_in_no_list_and_leave_no_gap(tmp_path):
    """By vectors and with words, whole and in chunks: as many are found as were asked for, none of them its own."""
    folder = tmp_path / "set"
    (folder / "qrels").mkdir(parents=True)
    texts = [
        f"Fish {i} swims in the sea {i % 7}. Birds fly over {i % 5} hills. Cats sleep {i % 3} hours." for i in range(40)
    ]
    rows = [json.dumps({"_id": f"d{i}", "text": text}) + "\n" for i, text in enumerate(texts)]
    (folder / "corpus.jsonl").write_text("".join(rows))
    (folder / "queries.jsonl").write_text("".join(rows[:6]))
    judged = "".join(f"d{i}\td{i}\t1\nd{i}\td{i + 7}\t1\n" for i in range(6))
    (folder / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\n" + judged)
    config = {
        **{key: value for key, value in FREE.items() if key != "queries"},
        "datasets": [{"path": str(folder), "exclude_self": True}], "dims": ["full"], "k": [10], "reranker": "none",
        "chunk": ["none", 200],
    }  # fmt: skip
    eb.rag.sweep(config, out=tmp_path / "out")
    lists = pl.concat([pl.read_parquet(path) for path in (tmp_path / "out" / "rankings").rglob("*.parquet")])
    assert len(lists) == 6 * 4
    for query, documents in lists.select("query_id", "documents").iter_rows():
        assert query not in documents
        assert len(documents) == 10


def test_a_stage_counts_its_own_texts(tmp_path):
    """Queries in small talk are no part of the stage of passages and queries, which would have more than all."""
    tally = Tally()
    eb.rag.sweep({**FREE, "k": 10, "reranker": "none", "mode": "dense"}, out=tmp_path / "run", listener=tally)
    vectors = [one for one in tally.stages if one[0].startswith("vectors by")]
    assert len(vectors) == 2
    assert all(0 < told <= total for _, total, told, _ in vectors)
    assert vectors[1][1] == CONFIG["queries"]


class Lengths:
    """Vectors of very different lengths, made for `similarity`; counts of letters, for lack of a model."""

    max_tokens = None
    dim = 8

    def __init__(self, similarity):
        self.similarity, self.name = similarity, similarity
        self.identity = f"lengths/{similarity}"

    def encode(self, texts, *, role=None):
        counts = [[text.lower().count(letter) for letter in "etaoinsr"] for text in texts]
        return np.array(counts, dtype=np.float32).reshape(len(texts), 8) * 0.01

    def count_truncated(self, texts):
        return 0


@pytest.mark.parametrize("similarity", ["dot", "euclidean", "manhattan"])
def test_vectors_are_compared_as_their_model_was_made_for(similarity, tmp_path):
    """The ranking is that of direct computation; what no index can search by is said, and the cosine taken."""
    name = f"lengths-{similarity}"  # what was opened is kept by its name
    SYSTEMS.add(name, lambda: Lengths(similarity), kind="embedding")
    try:
        config = {**FREE, "encoder": name, "dims": "full", "k": 10, "reranker": "none", "mode": "dense"}
        eb.rag.sweep(config, out=tmp_path / "run")
    finally:
        del SYSTEMS._entries[name]
    collection = read_retrieval_collection(parse_sweep_request(CONFIG).datasets[0], parse_sweep_request(CONFIG))
    (path,) = (tmp_path / "run").glob("rankings/**/*.parquet")
    kept = {row["query_id"]: row["documents"] for row in pl.read_parquet(path).iter_rows(named=True)}
    encode = Lengths(similarity).encode
    documents = encode(collection.texts).astype(np.float64)
    for key, query in zip(collection.query_ids, collection.queries, strict=True):
        (asked,) = encode([query]).astype(np.float64)
        scores = {
            "dot": documents @ asked,
            "euclidean": -np.linalg.norm(documents - asked, axis=1),
            "manhattan": documents @ asked / np.linalg.norm(documents, axis=1),
        }[similarity]
        found = [scores[collection.ids.index(doc)] for doc in kept[key]]
        np.testing.assert_allclose(found, np.sort(scores)[::-1][:10], atol=1e-5)
    told = (tmp_path / "run" / "manifest.json").read_text("utf-8")
    assert ("made for Manhattan distance" in told) == (similarity == "manhattan")
