"""Timing shared by the benchmarks: ours and a named peer in turn in one run, so load hits both alike."""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import statistics
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

LOG = "EMBASSAY_BENCH_LOG"
"""Names a file that gets a line of JSON for every comparison shown: `run_all.py` sets it."""
NOTHING_TO_MEASURE = 77
"""Exit code of a script that lacks what it measures: data, a server, a card."""


def parse_sizes(parser: argparse.ArgumentParser, **smallest: Any) -> argparse.Namespace:
    """The arguments, with `--quick`: every size that was not given is then the `smallest` one."""
    parser.add_argument("--quick", action="store_true", help="the smallest sizes: does it run?")
    given = parser.parse_args()
    for name, size in smallest.items() if given.quick else ():
        if getattr(given, name) == parser.get_default(name):
            setattr(given, name, size)
    return given


def need(path: Path | None, what: str) -> Path:
    """A path that is there; else the script ends, as one that has nothing to measure."""
    if path is None or not path.exists():
        print(f"Nothing to measure: {what} is not here ({path}).")
        raise SystemExit(NOTHING_TO_MEASURE)
    return path


def need_package(name: str) -> None:
    """A peer that is installed; else the script ends, as one that has nothing to measure."""
    if find_spec(name) is None:
        print(f"Nothing to measure: the peer {name} is not installed.")
        raise SystemExit(NOTHING_TO_MEASURE)


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
    rows = list(rows)
    if log := os.environ.get(LOG):
        lines = [json.dumps({"title": title, **asdict(row)}) + "\n" for row in rows]
        with Path(log).open("a", encoding="utf-8") as stream:
            stream.writelines(lines)
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
