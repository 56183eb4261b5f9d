"""Timing shared by the benchmarks: ours and a named peer in turn in one run, so load hits both alike."""

from __future__ import annotations

import multiprocessing
import statistics
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table


@dataclass(frozen=True)
class Comparison:
    """Seconds of ours and of the peer (medians), and peer/ours: its median and its range over the repeats."""

    name: str
    ours: float
    peer: float
    ratio: float
    lowest: float
    highest: float
    repeats: int


def seconds(work: Callable[[], Any]) -> float:
    """Wall time of one call."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def compare(name: str, ours: Callable[[], Any], peer: Callable[[], Any], repeats: int = 7) -> Comparison:
    """Time both `repeats` times in turn, after one unmeasured call of each."""
    ours()
    peer()
    pairs = [(seconds(ours), seconds(peer)) for _ in range(repeats)]
    ratios = [theirs / mine for mine, theirs in pairs]
    return Comparison(
        name,
        statistics.median(mine for mine, _ in pairs),
        statistics.median(theirs for _, theirs in pairs),
        statistics.median(ratios),
        min(ratios),
        max(ratios),
        repeats,
    )


def show(title: str, rows: Iterable[Comparison]) -> None:
    """Print the comparisons as a table."""
    table = Table(title=title)
    for heading in ("what", "ours, s", "peer, s", "ratio", "min..max", "repeats"):
        table.add_column(heading, justify="left" if heading == "what" else "right")
    for row in rows:
        table.add_row(
            row.name,
            f"{row.ours:.4f}",
            f"{row.peer:.4f}",
            f"{row.ratio:.2f}",
            f"{row.lowest:.2f}..{row.highest:.2f}",
            str(row.repeats),
        )
    Console(width=120).print(table)


def peak_rss(work: Callable[..., Any], *arguments: Any) -> int:
    """Peak resident bytes of a fresh process that only does `work(*arguments)` (picklable, module level)."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(_peak_after, (work, arguments))


def _peak_after(work: Callable[..., Any], arguments: tuple[Any, ...]) -> int:
    work(*arguments)
    status = Path("/proc/self/status")
    if status.exists():
        # ru_maxrss survives exec and would report the parent's peak; VmHWM belongs to this process alone.
        return int(status.read_text().split("VmHWM:")[1].split()[0]) * 1024
    import resource
    import sys

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
