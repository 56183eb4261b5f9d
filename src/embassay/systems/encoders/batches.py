"""How the texts of a call are put together for a model, and done on all cores, one thread to a batch.

A batch on one thread gives the same bits however many cores there are; the threads of a numeric library would
not.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

Batch = list[int]
"""Rows of the call's texts."""


def of_equal_length(lengths: Sequence[int], tokens: int) -> list[Batch]:
    """Rows of equal length, at most `tokens` tokens together: nothing is padded, so no text's vector depends
    on the texts beside it. The most expensive batches come first."""
    by_length: dict[int, Batch] = defaultdict(list)
    for row, length in enumerate(lengths):
        by_length[length].append(row)
    batches = []
    for length in sorted(by_length, reverse=True):
        rows, size = by_length[length], max(1, tokens // max(1, length))
        batches += [rows[start : start + size] for start in range(0, len(rows), size)]
    return batches


def of_similar_length(texts: Sequence[str], size: int) -> list[Batch]:
    """Rows by length in characters, `size` together, long ones first; a function of the set of texts."""
    rows = sorted(range(len(texts)), key=lambda row: (-len(texts[row]), texts[row]))
    return [rows[start : start + size] for start in range(0, len(rows), size)]


def on_all_cores(
    work: Callable[[Batch], None], batches: Sequence[Batch], *, start: Callable[[], None] | None = None
) -> None:
    """`work` for every batch, in as many threads as there are cores; `start` is called in each thread first."""
    if not batches:
        return
    with ThreadPoolExecutor(min(available_cores(), len(batches)), initializer=start) as pool:
        list(pool.map(work, batches))


def available_cores() -> int:
    """The cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
