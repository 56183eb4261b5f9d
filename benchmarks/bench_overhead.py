"""What caching and cosine add to the bare encoder: the same texts compared through all of it, from an empty
cache, against nothing but `encoder.encode`. The ratio is bare/ours, so 0.95 is an overhead of 5%.

The overhead in CPU seconds is given too: on a machine with other work to do it is the steadier figure.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from itertools import count
from pathlib import Path

from real_text import DATA, real_texts
from rich.console import Console
from timing import Comparison, compare, seconds, show

from embassay.contracts import Encoder
from embassay.runs.embeddings import CachedEncoder, EmbeddingCache
from embassay.systems.cosine import Cosine
from embassay.systems.encoders.minilm import MiniLMEncoder
from embassay.systems.encoders.wordllama import WordLlamaEncoder


def measure(what: str, encoder: Encoder, texts: list[str], repeats: int) -> Comparison:
    half = len(texts) // 2
    first, second = texts[:half], texts[half:]
    with tempfile.TemporaryDirectory() as folder:
        number = count()

        def bare() -> None:
            encoder.encode(first)
            encoder.encode(second)

        def through_everything() -> None:
            cache = EmbeddingCache.open(Path(folder) / f"{next(number)}.sqlite")
            Cosine(CachedEncoder(encoder, cache)).pairs(first, second)
            cache.close()

        row = compare(f"{encoder.name}, {len(texts):,} {what}", through_everything, bare, repeats)
        cache = EmbeddingCache.open(Path(folder) / "0.sqlite")
        extra = [cpu_seconds(through_everything) / cpu_seconds(bare) - 1 for _ in range(repeats)]
        again = seconds(lambda: Cosine(CachedEncoder(encoder, cache)).pairs(first, second))
        cache.close()
    Console(width=120).print(
        f"{row.name}: {len(texts) / row.peer:,.0f} texts/s bare, overhead {1 / row.ratio - 1:.1%} "
        f"({statistics.median(extra):.1%} of CPU time, {min(extra):.1%}..{max(extra):.1%}), "
        f"{len(texts) / again:,.0f} texts/s from the cache"
    )
    return row


def cpu_seconds(work: Callable[[], None]) -> float:
    """CPU seconds of one call, over all threads."""
    start = time.process_time()
    work()
    return time.process_time() - start


def main(arguments: list[str] | None = None) -> list[Comparison]:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--data", type=Path, default=DATA)
    options = parser.parse_args(arguments)
    static, transformer, repeats = (1024, 8, 2) if options.quick else (16_384, 256, 5)
    texts, short = real_texts(static, options.data), real_texts(static, options.data, longest=80)
    rows = [
        measure("texts", WordLlamaEncoder(), texts, repeats),
        measure("short texts", WordLlamaEncoder(), short, repeats),
        measure("texts", MiniLMEncoder(), texts[:transformer], repeats),
    ]
    show("Cache and cosine against the bare encoder", rows)
    return rows


if __name__ == "__main__":
    main()
