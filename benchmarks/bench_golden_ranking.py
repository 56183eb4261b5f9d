"""Ranking engines on the simulated worlds of `ranking_worlds`: how good an order is after how many calls.

    python benchmarks/bench_golden_ranking.py --engines locks grades single_shot --seeds 100 --json out.json
    python benchmarks/bench_golden_ranking.py --engines bayes --at 20 24 28 32 36 40 --together 25 --json out.json
    python benchmarks/bench_golden_ranking.py --engines bayes:stop=false --at 20 28 36 --together 10 --reliability
    python benchmarks/bench_golden_ranking.py --merge a.json b.json --markdown docs/ranking_table.md

Every pool has a seed, and pool, judge and engine all draw from it, so that engines meet the same pools. With
`--together 25` as many pools share one judge and go on in lockstep, as the queries of a golden set do. Parts of the
work go to processes with a low priority. The JSON holds every pool's numbers; the Markdown table their means, with the
engine's first count of calls that reaches the reference on both tau and overlap. With `--reliability` it is what an
engine claims of its top set against what is true of the judge's own stable order, over all looks and worlds.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, field
from itertools import pairwise
from multiprocessing import get_context
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from ranking_worlds import ALL, DISAGREEMENTS, REAL, WORLDS, Played, draw_pool, play_together
from timing import parse_sizes

from embassay.protocols.rag.ranking.engines import ENGINES

FRESH = 10_000
"""Seeds from here on are for reported figures; those before it are for trying things out."""
MOST = 5000
NUMBERS = ("calls", "tau", "tau_inside", "overlap", "set_errors", "overlap_5", "own_within_1")
CLAIM = "set_errors_at_most_1"
BINS = (0.0, 0.2, 0.4, 0.6, 0.8, 0.9, 0.97, 1.0)


@dataclass(frozen=True)
class Part:
    """Some pools of a cell, played in groups that share a judge."""

    engine: str
    world: str
    disagreement: float
    seeds: tuple[int, ...]
    together: int
    at: tuple[int, ...]
    max_calls: int


@dataclass
class Cell:
    """An engine on a world with a judge: for every `at` (calls allowed; `end` for all) the numbers of each pool."""

    engine: str
    world: str
    disagreement: float
    together: int
    seeds: list[int] = field(default_factory=list)
    looks: dict[str, dict[str, list[float]]] = field(default_factory=dict)
    claims: dict[str, dict[str, list[Any]]] = field(default_factory=dict)
    stopped: list[str] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def key(self) -> tuple[str, str, float, int]:
        return self.engine, self.world, self.disagreement, self.together

    def add(self, other: Cell) -> None:
        self.seeds += other.seeds
        self.stopped += other.stopped
        self.seconds += other.seconds
        for mine, theirs in ((self.looks, other.looks), (self.claims, other.claims)):
            for at, numbers in theirs.items():
                kept = mine.setdefault(at, {})
                for name, values in numbers.items():
                    kept.setdefault(name, []).extend(values)


def work(part: Part) -> Cell:
    """Play the pools of a part."""
    engine = ENGINES.build(part.engine)
    cell = Cell(part.engine, part.world, part.disagreement, part.together)
    for start in range(0, len(part.seeds), part.together):
        seeds = part.seeds[start : start + part.together]
        pools = [draw_pool(ALL[part.world], seed) for seed in seeds]
        played = play_together(engine, pools, part.disagreement, max_calls=part.max_calls, at=part.at, seed=seeds[0])
        cell.seconds += played[0].seconds
        for seed, one in zip(seeds, played, strict=True):
            _enter(cell, seed, one)
    return cell


def _enter(cell: Cell, seed: int, played: Played) -> None:
    cell.seeds.append(seed)
    cell.stopped.append(played.ranking.stopped)
    names = [str(look.at) for look in played.looks[:-1]] + ["end"]
    for name, look in zip(names, played.looks, strict=True):
        numbers = cell.looks.setdefault(name, {})
        for number in NUMBERS:
            numbers.setdefault(number, []).append(round(getattr(look, number), 5))
        claims = cell.claims.setdefault(name, {})
        for claim, value in look.claims.items():
            claims.setdefault(claim, []).append(round(value, 5))
        claims.setdefault("doubts", []).append(", ".join(look.doubts))
        claims.setdefault("claimed", []).append(round(look.claims[CLAIM], 5) if CLAIM in look.claims else None)


def parts(asked: argparse.Namespace) -> Iterator[Part]:
    """All the work, in pieces of about equal size."""
    size = max(asked.together, asked.piece // asked.together * asked.together)
    seeds = range(asked.first, asked.first + asked.seeds)
    for engine in asked.engines:
        for world in asked.worlds:
            # Real judges are as noisy as they are.
            for disagreement in asked.disagreements[: 1 if world in REAL else None]:
                for start in range(0, len(seeds), size):
                    yield Part(
                        engine, world, disagreement, tuple(seeds[start : start + size]), asked.together,
                        tuple(asked.at), asked.max_calls,
                    )  # fmt: skip


def run(asked: argparse.Namespace) -> list[Cell]:
    """Do all parts, on some processes, and put them together."""
    cells: dict[tuple[str, str, float, int], Cell] = {}
    todo = list(parts(asked))
    begun = perf_counter()
    # Processes with two threads each would only be in each other's way; children read this when they import numpy.
    os.environ |= dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")
    with ProcessPoolExecutor(asked.processes, get_context("spawn"), initializer=_calm) as pool:
        for done, cell in enumerate(pool.map(work, todo), start=1):
            if cell.key in cells:
                cells[cell.key].add(cell)
            else:
                cells[cell.key] = cell
            if done % 10 == 0 or done == len(todo):
                print(f"{done}/{len(todo)} parts, {perf_counter() - begun:.0f} s", file=sys.stderr)
    return list(cells.values())


def _calm() -> None:
    os.nice(15)


def mean(values: Sequence[float]) -> float:
    return float(np.mean(values))


def error(values: Sequence[float]) -> float:
    """The standard error of a mean."""
    return float(np.std(values, ddof=1) / np.sqrt(len(values))) if len(values) > 1 else float("nan")


def crossing(cell: Cell, reference: Cell) -> str:
    """The first count of calls at which a cell's means are at least the reference's, tau and overlap both."""
    target = {name: mean(reference.looks["end"][name]) for name in ("tau", "overlap")}
    for at in sorted(int(at) for at in cell.looks if at != "end"):
        if all(mean(cell.looks[str(at)][name]) >= value for name, value in target.items()):
            return str(at)
    return "-"


def tables(cells: Sequence[Cell], reference: str) -> str:
    """Markdown: for each engine a table of worlds by disagreement, `tau/overlap`, with standard errors."""
    by_key = {cell.key[:3]: cell for cell in cells if cell.engine == reference}
    lines = []
    for engine, together in dict.fromkeys((cell.engine, cell.together) for cell in cells):
        own = [cell for cell in cells if (cell.engine, cell.together) == (engine, together)]
        ats = list(dict.fromkeys(at for cell in own for at in cell.looks))
        shared = f", {together} pools together" if together > 1 else ""
        lines += [f"`{engine}`{shared}:", ""]
        head = ["world", "disagreement", "pools", *(f"{at} calls" for at in ats if at != "end"), "at the end"]
        if engine != reference and by_key:
            head.append(f"first >= `{reference}`")
        lines += ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
        lines += [_row(cell, ats, by_key.get((reference, *cell.key[1:3])), engine != reference) for cell in own]
        lines.append("")
    return "\n".join(lines)


def _row(cell: Cell, ats: Sequence[str], reference: Cell | None, compared: bool) -> str:
    parts = [cell.world, f"{cell.disagreement:.0%}", str(len(cell.seeds))]
    for at in ats:
        numbers = cell.looks.get(at)
        if numbers is None:
            parts.append("")
            continue
        text = f"{mean(numbers['tau']):.3f}/{mean(numbers['overlap']):.3f}"
        if at == "end":
            errors = f"(±{error(numbers['tau']):.3f}/{error(numbers['overlap']):.3f})"
            text = f"{mean(numbers['calls']):.0f}: {text} {errors}"
        parts.append(text)
    if compared and reference is not None:
        parts.append(crossing(cell, reference))
    return "| " + " | ".join(parts) + " |"


def reliability(cells: Sequence[Cell]) -> str:
    """Markdown: what P(at most one wrong in the top) was claimed at all looks, pooled, and how often it was true of the
    judge's own order; then how often each reason withdrew it, world by world."""
    pairs = [
        (claimed, true)
        for cell in cells
        for at in cell.looks
        if at != "end"
        for claimed, true in zip(cell.claims[at]["claimed"], cell.looks[at]["own_within_1"], strict=True)
        if claimed is not None
    ]
    lines = ["| claimed | looks | mean claim | true | difference |", "|---|---:|---:|---:|---:|"]
    for low, high in pairwise(BINS):
        inside = [pair for pair in pairs if low <= pair[0] < high or pair[0] == high == 1]
        if inside:
            claimed, true = (mean(column) for column in zip(*inside, strict=True))
            lines.append(
                f"| {low:g} to {high:g} | {len(inside):,} | {claimed:.3f} | {true:.3f} | {true - claimed:+.3f} |"
            )
    lines += [
        "",
        "| world | disagreement | pools | claimed | true | withdrawn at the last look |",
        "|---|---|---|---|---|---|",
    ]
    lines += [_withdrawn(cell) for cell in cells]
    return "\n".join(lines) + "\n"


def _withdrawn(cell: Cell) -> str:
    at = max((at for at in cell.looks if at != "end"), key=int)
    last, claims = cell.looks[at], cell.claims[at]
    kept = [(c, t) for c, t in zip(claims["claimed"], last["own_within_1"], strict=True) if c is not None]
    said, true = (f"{mean(column):.2f}" for column in zip(*kept, strict=True)) if kept else ("", "")
    reasons = ", ".join(f"{name} {count}" for name, count in Counter(claims["doubts"]).most_common() if name)
    return f"| {cell.world} | {cell.disagreement:.0%} | {len(cell.seeds)} | {said} | {true} | {reasons} |"


def read(path: Path) -> list[Cell]:
    return [Cell(**cell) for cell in json.loads(path.read_text("utf-8"))]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--engines", nargs="+", default=["grades", "single_shot", "locks"])
    parser.add_argument("--worlds", nargs="+", default=list(WORLDS), choices=list(ALL))
    parser.add_argument("--disagreements", nargs="+", type=float, default=list(DISAGREEMENTS))
    parser.add_argument("--seeds", type=int, default=100, help="pools for each cell")
    parser.add_argument("--first", type=int, default=FRESH, help="the first of them")
    parser.add_argument("--at", nargs="*", type=int, default=[], help="also look after so many calls")
    parser.add_argument("--max-calls", type=int, default=MOST)
    parser.add_argument("--together", type=int, default=1, help="pools that share a judge")
    parser.add_argument("--piece", type=int, default=10, help="pools in a part of the work")
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    parser.add_argument("--merge", nargs="+", type=Path, default=[], help="JSON files in place of playing")
    parser.add_argument("--reference", default="locks")
    parser.add_argument("--reliability", action="store_true", help="claimed against true, in place of tau and overlap")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--markdown", type=Path)
    asked = parse_sizes(parser, seeds=2, worlds=["normal"], disagreements=[0.1], piece=1, processes=1)
    cells = [cell for path in asked.merge for cell in read(path)] if asked.merge else run(asked)
    if asked.json:
        asked.json.write_text(json.dumps([asdict(cell) for cell in cells]), "utf-8")
    text = reliability(cells) if asked.reliability else tables(cells, asked.reference)
    write: Callable[[str], Any] = asked.markdown.write_text if asked.markdown else print
    write(text)


if __name__ == "__main__":
    main()
