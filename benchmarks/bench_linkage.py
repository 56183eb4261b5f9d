"""Complete linkage: seconds and peak memory against scikit-learn on the same distances of real texts.

`--large` adds 20,000 texts against scikit-learn (needs about 12 GiB) and 50,000 texts end to end.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from real_text import DATA, real_texts
from rich.console import Console
from timing import Comparison, compare, peak_rss, show

from embassay.measures.clusters import cluster_by_complete_linkage
from embassay.systems.cosine import Cosine
from embassay.systems.encoders.wordllama import WordLlamaEncoder

CLUSTERS = 20


def condensed(n: int, data: Path) -> NDArray[np.float32]:
    return Cosine(WordLlamaEncoder()).distances(real_texts(n, data))


def square(n: int, data: Path) -> NDArray[np.float32]:
    """The same distances as scikit-learn takes them."""
    distances = condensed(n, data)
    matrix = np.zeros((n, n), dtype=np.float32)
    start = 0
    for row in range(n - 1):
        matrix[row, row + 1 :] = matrix[row + 1 :, row] = distances[start : start + n - 1 - row]
        start += n - 1 - row
    return matrix


def scikit_learn(matrix: NDArray[np.float32]) -> NDArray[np.int64]:
    from sklearn.cluster import AgglomerativeClustering

    model = AgglomerativeClustering(CLUSTERS, linkage="complete", metric="precomputed")
    return model.fit(matrix).labels_


def ours_end_to_end(n: int, data: Path) -> None:
    started = time.perf_counter()
    texts = real_texts(n, data)
    read = time.perf_counter()
    distances = Cosine(WordLlamaEncoder()).distances(texts)
    measured = time.perf_counter()
    cluster_by_complete_linkage(distances, n, CLUSTERS)
    done = time.perf_counter()
    print(
        f"{n:,} texts: read {read - started:.1f} s, encode and compare {measured - read:.1f} s, "
        f"cluster {done - measured:.1f} s"
    )


def scikit_learn_end_to_end(n: int, data: Path) -> None:
    scikit_learn(square(n, data))


def speed(n: int, data: Path, repeats: int) -> Comparison:
    distances, matrix = condensed(n, data), square(n, data)
    labels = cluster_by_complete_linkage(distances.copy(), n, CLUSTERS), scikit_learn(matrix)
    pairs = set(zip(*(part.tolist() for part in labels), strict=True))
    print(f"{n:,} texts: partitions {'agree' if len(pairs) == CLUSTERS else 'DIFFER'}")
    return compare(
        f"{n:,} texts (ours with a copy)",
        lambda: cluster_by_complete_linkage(distances.copy(), n, CLUSTERS),
        lambda: scikit_learn(matrix),
        repeats,
    )


def memory(n: int, data: Path) -> str:
    ours, peer = peak_rss(ours_end_to_end, n, data), peak_rss(scikit_learn_end_to_end, n, data)
    return (
        f"{n:,} texts, peak memory from texts to labels: ours {ours / 2**30:.2f} GiB, "
        f"scikit-learn {peer / 2**30:.2f} GiB, {ours / peer:.0%}"
    )


def main(arguments: list[str] | None = None) -> list[Comparison]:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--large", action="store_true")
    parser.add_argument("--data", type=Path, default=DATA)
    options = parser.parse_args(arguments)
    console = Console(width=120)
    sizes = [(1000, 3)] if options.quick else [(2000, 5), (8000, 3)]
    if options.large:
        sizes.append((20_000, 1))
    rows = [speed(n, options.data, repeats) for n, repeats in sizes]
    show("Complete linkage against scikit-learn", rows)
    for n, _ in sizes:
        console.print(memory(n, options.data))
    if options.large:
        peak = peak_rss(ours_end_to_end, 50_000, options.data)
        console.print(f"50,000 texts, peak memory from texts to labels: {peak / 2**30:.2f} GiB")
    return rows


if __name__ == "__main__":
    main()
