"""What each part of a run costs here, in CPU seconds and bytes: the figures that `scaling_model.py` computes with.

CPU seconds of one process, the median of the repeats: other work on the machine makes them longer by what it takes of
the caches and of a shared core, not by its own time. A cost that depends on the length of a text is measured on short
and on long ones, and is a line through both. There are hundreds of each: of eighty, whose words all stay in a
tokenizer's cache, one costs a quarter less. What a run holds and leaves, and what it does for a document beside its
versions, is measured on whole runs (`scaling_runs.py`). Written to `scaling_costs.json`.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from real_text import DATA, SAMPLE, real_texts
from scaling_runs import ASKED, FEW, LONGEST, MANY, SYSTEMS, Whole, copies, done

from embassay.contracts import Role
from embassay.measures.clusters import cluster_by_complete_linkage
from embassay.protocols.sage.tasks import RETRIEVAL_EDITS
from embassay.runs.embeddings import CachedEncoder, EmbeddingCache
from embassay.runs.folder import write_parquet_columns
from embassay.search import exact_search
from embassay.stats import resample_means
from embassay.systems import open_system
from embassay.systems.lexical.bm25 import TermFrequencyPass
from embassay.text import PERTURBATIONS, open_tokenizer, perturb_all

HERE = Path(__file__).with_name("scaling_costs.json")
SHORT, LONG = (40, 110), (200, 450)
"""Tokens of a passage, and of an abstract."""
K = 11
QUERIES = (30, 3_000)
"""Numbers of queries for which bm25's postings are weighed: the more, the more terms."""


@dataclass(frozen=True)
class Cost:
    """`fixed` for each one, and `token` for each token of the original text; the lowest and highest total that the
    repeats had, over the median."""

    unit: str
    fixed: float
    token: float = 0.0
    low: float = 1.0
    high: float = 1.0


@dataclass(frozen=True)
class Bytes:
    """Bytes for each one, and for each token of the original text."""

    unit: str
    fixed: float
    token: float = 0.0


@dataclass(frozen=True)
class Sample:
    """Documents of one length class with all 19 versions, and the mean tokens of an original."""

    versions: list[list[str]]
    tokens: float

    @property
    def texts(self) -> list[str]:
        return [text for version in self.versions for text in version]


def cpu(work: Callable[[], object], repeats: int) -> list[float]:
    """CPU seconds of each call, after one that is not counted."""
    work()
    found = []
    for _ in range(repeats):
        start = time.process_time()
        work()
        found.append(time.process_time() - start)
    return found


def flat(unit: str, work: Callable[[], object], ones: float, repeats: int) -> Cost:
    """The cost of one of `ones` in a call of `work`."""
    found = cpu(work, repeats)
    middle = statistics.median(found)
    return Cost(unit, middle / ones, low=min(found) / middle, high=max(found) / middle)


def line(unit: str, work: Callable[[Sample], Callable[[], object]], samples: Sequence[Sample], repeats: int) -> Cost:
    """The cost of one version of a text as a line in the tokens of its original, from two samples."""
    found = [[one / len(sample.texts) for one in cpu(work(sample), repeats)] for sample in samples]
    short, long = (statistics.median(one) for one in found)
    slope = max(0.0, (long - short) / (samples[1].tokens - samples[0].tokens))
    fixed = max(0.0, short - slope * samples[0].tokens)
    return Cost(
        unit, fixed, slope, low=min(min(found[0]) / short, min(found[1]) / long),
        high=max(max(found[0]) / short, max(found[1]) / long),
    )  # fmt: skip


class Ready:
    """An encoder that has its vectors already: what is left is the cost of keeping them."""

    name, max_tokens, uses_roles = "ready", None, False

    def __init__(self, dim: int, identity: str) -> None:
        self.dim, self.identity = dim, identity
        self._vectors = np.random.default_rng(1).standard_normal((64, dim), dtype=np.float32)

    def encode(self, texts: Sequence[str], *, role: Role | None = None) -> NDArray[np.float32]:  # noqa: ARG002
        return self._vectors[: len(texts)]

    def count_truncated(self, texts: Sequence[str]) -> int:  # noqa: ARG002
        return 0


def edited(documents: Sequence[str]) -> list[list[str]]:
    """The documents and their 18 perturbed versions, as the retrieval task makes them."""
    tokenizer, ids = open_tokenizer("cl100k"), [str(row) for row in range(len(documents))]
    edits = [PERTURBATIONS.build(name, tokenizer=tokenizer) for name in RETRIEVAL_EDITS]
    return [list(documents), *(perturb_all(edit, documents, ids, 1337) for edit in edits)]


def sample_of(texts: Sequence[str], lengths: Sequence[int], between: tuple[int, int], n: int) -> Sample:
    found = [row for row, length in enumerate(lengths) if between[0] <= length <= between[1]][:n]
    return Sample(edited([texts[row] for row in found]), float(np.mean([lengths[row] for row in found])))


def text_costs(samples: Sequence[Sample], repeats: int) -> dict[str, Cost]:
    """What is done to each of the 19 versions of a document."""
    tokenizer = open_tokenizer("cl100k")
    wordllama: Any = open_system("wordllama", tokenizer=tokenizer)
    minilm: Any = open_system("minilm", tokenizer=tokenizer)
    few = [Sample([version[:4] for version in one.versions], one.tokens) for one in samples]
    random: Any = open_system("random", tokenizer=tokenizer, seed=1337)

    def kept(sample: Sample, calls: list[int] = [0]) -> Callable[[], object]:  # noqa: B006
        folder = tempfile.mkdtemp()

        def work() -> None:
            # Another identity each time, so that nothing is found.
            calls[0] += 1
            cache = EmbeddingCache.open(Path(folder) / "kept.sqlite")
            encoder = CachedEncoder(Ready(256, f"ready:{calls[0]}"), cache)
            for version in sample.versions:
                encoder.encode(version)
            cache.close()

        return work

    def found(sample: Sample) -> Callable[[], object]:
        cache = EmbeddingCache.open(Path(tempfile.mkdtemp()) / "kept.sqlite")
        encoder = CachedEncoder(Ready(256, "ready"), cache)
        return lambda: [encoder.encode(version) for version in sample.versions]

    return {
        "edit": line("a version of a text made", lambda s: lambda: edited(s.versions[0]), samples, repeats),
        "tokenise": line("a version cut by cl100k", lambda s: lambda: tokenizer.encode_batch(s.texts),
                         samples, repeats),
        "wordllama": line("a version encoded", lambda s: lambda: wordllama.encoder.encode(s.texts),
                          samples, repeats),
        "minilm": line("a version encoded", lambda s: lambda: minilm.encoder.encode(s.texts), few,
                       min(3, repeats)),
        "random_text": line("a version hashed for the reference row random",
                            lambda s: lambda: random.search(s.texts[:1], s.texts, K), samples, repeats),
        "keep": line("256 dimensions sorted, named and written to the cache", kept, samples, repeats),
        "find": line("256 dimensions sorted, named and read from the cache", found, samples, repeats),
    }  # fmt: skip


def lexical_costs(samples: Sequence[Sample], repeats: int) -> dict[str, Cost]:
    """What classical metrics do: bm25's collection, its products, and pairs."""
    tokenizer = open_tokenizer("cl100k")
    bm25 = open_system("bm25", tokenizer=tokenizer)
    queries = [text[:80] for text in samples[0].versions[0][:200]]
    index = line("a version counted and weighed, without its tokens being cut",
                 lambda s: lambda: bm25.search(queries[:1], s.texts, K), samples, repeats)  # fmt: skip
    texts = copies(samples[0].texts, 16_000)
    alone, together = (
        statistics.median(cpu(lambda asked=asked: bm25.search(asked, texts, K), repeats))  # type: ignore[misc]
        for asked in (queries[:1], queries)
    )
    product = (together - alone) / ((len(queries) - 1) * len(texts))
    few = [Sample([version[:100] for version in one.versions], one.tokens) for one in samples]
    pairs = {}
    for name in ("levenshtein", "rouge", "jaccard"):
        system: Any = open_system(name, tokenizer=tokenizer)

        def work(sample: Sample, system: Any = system) -> Callable[[], object]:
            first = sample.versions[0] * (len(sample.versions) - 1)
            rest = [text for version in sample.versions[1:] for text in version]
            return lambda: system.pairs(first, rest)

        pairs[name] = line("a pair compared", work, few, repeats)
    cut = line("", lambda s: lambda: tokenizer.encode_batch(s.texts), samples, repeats)
    own = Cost(index.unit, max(0.0, index.fixed - cut.fixed), max(0.0, index.token - cut.token),
               index.low, index.high)  # fmt: skip
    return {"bm25_document": own, "bm25_product": Cost("a query and a document scored", product), **pairs}


def vector_costs(repeats: int) -> dict[str, Cost]:
    """Search, distances and clustering of 384 dimensions, and the bootstrap."""
    rng = np.random.default_rng(1)
    vectors = rng.standard_normal((32_768, 384), dtype=np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    queries, n = vectors[:500], 2_000
    condensed = rng.random(n * (n - 1) // 2, dtype=np.float32)
    some = vectors[:n]
    columns = rng.random((1_000, 20))
    random: Any = open_system("random", tokenizer=open_tokenizer("cl100k"), seed=1337)
    texts = [str(number) for number in range(16_384)]
    return {
        "search": flat("a query and a vector, for each dimension", lambda: exact_search(queries, vectors, K),
                       len(queries) * vectors.size, repeats),
        "random_product": flat("a query and a text drawn for the reference row random",
                               lambda: random.search(texts[:500], texts, K), 500 * len(texts), repeats),
        "distance": flat("two vectors compared, for each dimension", lambda: 1 - some @ some.T, n * n * 384,
                         repeats),
        "linkage": flat("two texts of a set joined, complete linkage",
                        lambda: cluster_by_complete_linkage(condensed.copy(), n, 20), n * n / 2, repeats),
        "resample": flat("an item drawn, for each of the columns",
                         lambda: resample_means(columns, n_resamples=1_000, rng=np.random.default_rng(2)),
                         1_000 * columns.size, repeats),
    }  # fmt: skip


def run_costs(samples: Sequence[Sample], made: dict[str, Cost]) -> tuple[dict[str, Cost], dict[str, Bytes]]:
    """What runs take by themselves and for each document: CPU seconds, and bytes of memory and of disk. `made` are the
    costs of a version, which are taken off."""
    seconds, room = dict[str, Cost](), {"kept": kept_cost(samples)}
    texts_kept = FEW * (room["kept"].fixed + samples[1].tokens * room["kept"].token)
    for system in (*SYSTEMS, "constant"):
        base = done(system, copies(samples[1].versions[0], FEW), FEW, LONGEST)
        # After one that compiles, where something is to be compiled.
        alone = done(system, ["one text", "and another text"], 1)
        seconds[f"run_{system}"] = Cost("a run by itself", alone.seconds)
        room[f"base_{system}"] = Bytes("memory of a run on few texts", base.peak)
        if system == "bm25":
            room["run"] = Bytes("disk of a run by itself", alone.kept)
            asked = (base.kept - alone.kept - texts_kept) / (FEW - 1)
            room["query"] = Bytes("disk of a query, its items and rankings", max(0.0, asked))
        if system == "minilm":
            continue
        many = [done(system, copies(one.versions[0], MANY), ASKED, LONGEST) for one in samples]
        if system == "constant":
            seconds["document"] = _own(many, alone, samples, made)
            # Before the first cell: the corpus has been read, and its texts are being written.
            each = [(one.before - base.before) / MANY for one in many]
            room["held"] = _bytes("memory of a document of a corpus that is held, with copies", each, samples)
        else:
            each = [(one.peak - base.peak) / MANY for one in many]
            room[f"shard_{system}"] = _bytes("memory of a document of a shard, held", each, samples)
    return seconds, room


def _own(many: Sequence[Whole], alone: Whole, samples: Sequence[Sample], made: dict[str, Cost]) -> Cost:
    """What a document costs beside its versions: the reference row has next to nothing else."""
    each = [
        max(0.0, one.seconds - alone.seconds - _of_versions(made, sample)) / MANY
        for one, sample in zip(many, samples, strict=True)
    ]
    found = _bytes("a document read, kept beside the items and put in the report", each, samples)
    return Cost(found.unit, found.fixed, found.token)


def kept_cost(samples: Sequence[Sample]) -> Bytes:
    """What a document takes in the file of texts beside the items; of distinct texts, since copies pack as one."""
    each = []
    for sample in samples:
        texts = sample.versions[0]
        columns = {
            "item_id": [f"d{row}" for row in range(len(texts))],
            "field": ["document"] * len(texts),
            "text": texts,
        }
        with tempfile.TemporaryDirectory() as folder:
            write_parquet_columns(Path(folder) / "texts.parquet", columns)
            each.append((Path(folder) / "texts.parquet").stat().st_size / len(texts))
    return _bytes("disk of a document beside the items", each, samples)


def _of_versions(made: dict[str, Cost], sample: Sample) -> float:
    """CPU seconds that the reference row takes for the three versions of a run's documents."""
    texts = 3 * MANY
    edited_ = sum(made[name].fixed + sample.tokens * made[name].token for name in ("edit", "random_text"))
    return texts * (edited_ + ASKED * made["random_product"].fixed)


def _bytes(unit: str, of_one: Sequence[float], samples: Sequence[Sample]) -> Bytes:
    """A line through what a short and a long document take."""
    (short, long), (low, high) = of_one, (sample.tokens for sample in samples)
    slope = max(0.0, (long - short) / (high - low))
    return Bytes(unit, max(0.0, short - slope * low), slope)


def byte_costs(samples: Sequence[Sample], asked: Sequence[str]) -> dict[str, Bytes]:
    """Bytes of a text in the cache beside its numbers, of a text in bm25's scratch file, and of a line of JSON beside
    its text."""
    sample = samples[0]
    with tempfile.TemporaryDirectory() as folder:
        cache = EmbeddingCache.open(Path(folder) / "kept.sqlite")
        encoder = CachedEncoder(Ready(256, "ready"), cache)
        distinct = len(set(sample.texts))
        encoder.encode(sample.texts)
        cache.close()
        size = sum(path.stat().st_size for path in Path(folder).iterdir())
    found = {"cache": Bytes("a text in the cache, beside its numbers", size / distinct - 4 * 256)}
    tokenizer = open_tokenizer("cl100k")
    for queries in QUERIES:
        reading = TermFrequencyPass(tokenizer, [text[:80] for text in asked[:queries]], all_terms=False)
        each = [
            sum(array.nbytes for one in reading(s.texts).postings for array in vars(one).values()) / len(s.texts)
            for s in samples
        ]
        found[f"posting_{queries}"] = _bytes(f"a version in the scratch file, {queries:,} queries", each, samples)
    texts = sample.versions[0]
    rows = sum(len(json.dumps({"_id": f"d{row}", "title": "", "text": text})) + 1 for row, text in enumerate(texts))
    found["line"] = Bytes("a line of JSON beside its text", (rows - sum(map(len, texts))) / len(texts))
    return found


def measured(data: Path, n: int, repeats: int) -> dict[str, Any]:
    tokenizer = open_tokenizer("cl100k")
    texts = real_texts(40 * n if data.is_dir() else 500, data)
    lengths = [len(ids) for ids in tokenizer.encode_batch(texts)]
    samples = [sample_of(texts, lengths, between, n) for between in (SHORT, LONG)]
    costs = {
        **text_costs(samples, repeats), **lexical_costs(samples, repeats), **vector_costs(repeats),
    }  # fmt: skip
    seconds, room = run_costs(samples, costs)
    return {
        "cpu": _processor(), "cores": os.cpu_count(), "python": platform.python_version(),
        "repeats": repeats, "samples": [{"documents": len(s.versions[0]), "tokens": s.tokens} for s in samples],
        "seconds": {name: asdict(cost) for name, cost in {**costs, **seconds}.items()},
        "bytes": {name: asdict(cost) for name, cost in {**byte_costs(samples, texts[::-1]), **room}.items()},
    }  # fmt: skip


def _processor() -> str:
    told = Path("/proc/cpuinfo")
    rows = told.read_text("utf-8").splitlines() if told.exists() else []
    return next((row.partition(":")[2].strip() for row in rows if row.startswith("model name")), "unknown")


def main(arguments: list[str] | None = None) -> dict[str, Any]:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--data", type=Path, default=DATA if DATA.is_dir() else SAMPLE)
    parser.add_argument("--out", type=Path, default=HERE)
    options = parser.parse_args(arguments)
    found = measured(options.data, *((20, 1) if options.quick else (300, 2)))
    text = json.dumps(found, indent=1, default=float) + "\n"
    options.out.write_text(text, "utf-8")
    print(text, end="")
    return found


if __name__ == "__main__":
    main()
