"""Which guard restores a search of damaged text, as a run of SAGE found it: one line for each damage."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from embassay.document.blocks import Block, Column, Heading, ParagraphBlock, Table, TableCell, make_number_columns
from embassay.protocols.kernel import tables as numbers
from embassay.protocols.sage.guards import ALONE

TABLE = "tables/sage_guards.csv"
Cells = Mapping[str, str]


def read_guard_rows_by_system_and_damage(run: Path) -> dict[tuple[str, str, str], list[Cells]]:
    """The lines of the table of guards by dataset, system and damage; empty where the run tried none."""
    path = run / TABLE
    if not path.is_file():
        return {}
    parts: dict[tuple[str, str, str], list[Cells]] = {}
    with path.open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            parts.setdefault((row["dataset"], row["system"], row["damage"]), []).append(row)
    return parts


def iterate_text_damage_guard_blocks(run: Path, *, heading: bool = False) -> Iterator[Block]:
    """What each damage leaves of a search, and the cheapest guard that keeps enough of it."""
    parts = read_guard_rows_by_system_and_damage(run)
    if not parts:
        return
    if heading:
        yield Heading("Which guard restores search on damaged text", "sage-guards")
    datasets = list(dict.fromkeys(dataset for dataset, _, _ in parts))
    for dataset in datasets:
        of_dataset = {key: lines for key, lines in parts.items() if key[0] == dataset}
        yield _make_cheapest_guard_per_damage_table(dataset, of_dataset)
    yield ParagraphBlock(
        "Kept: share of the unguarded system's clean nDCG@10. Cheapest: the fastest guard that keeps enough and "
        "answers every question or, if there is none, a threshold that refuses some questions; “likely” if the lower "
        "end of the interval is too low."
    )


def _make_cheapest_guard_per_damage_table(dataset: str, parts: Mapping[tuple[str, str, str], list[Cells]]) -> Table:
    heads: list[str | Column] = [
        f"Damage of {dataset}", "System", *make_number_columns("Alone, 95%"), "Cheapest",
        *make_number_columns("Kept, 95%", "ms")
    ]  # fmt: skip
    rows = [_make_guard_comparison_row(damage, system, lines) for (_, system, damage), lines in parts.items()]
    return Table.of(f"sage-guards-{dataset}", heads, rows)


def _make_guard_comparison_row(damage: str, system: str, lines: Iterable[Cells]) -> list[str | TableCell]:
    by_guard = {line["guard"]: line for line in lines}
    best = next((line for line in by_guard.values() if line["cheapest"]), None)
    alone = by_guard.get(ALONE)
    head: list[str | TableCell] = [damage, system, numbers.NONE if alone is None else _format_kept_share(alone)]
    if best is None:
        return [*head, "none of them", numbers.NONE, numbers.NONE]
    took = best["ms per question"]
    guard = "no guard needed" if best["guard"] == ALONE else best["guard"]
    sure = "" if best["cheapest"] == "sure" or best["guard"] == ALONE else f" ({best['cheapest']})"
    return [*head, f"{guard}{sure}", _format_kept_share(best), f"{float(took):.2f}" if took else numbers.NONE]


def _format_kept_share(line: Cells) -> str:
    if not line["kept"]:
        return numbers.NONE
    ends = (
        f" {numbers.format_interval(float(line['low']), float(line['high']))}" if line["low"] and line["high"] else ""
    )
    return f"{numbers.format_score(float(line['kept']))}{ends}"
