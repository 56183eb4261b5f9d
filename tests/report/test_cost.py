"""What a run was expected to take beside what it took."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from embassay.document.terminal import draw_terminal_blocks
from embassay.protocols.kernel.tables import format_duration, format_noun_count
from embassay.report import write_report
from embassay.report.method import list_planned_and_real_system_costs, list_system_time_and_memory, say_total_paid
from embassay.report.record import read_run_record
from embassay.report.runs import attach_boards_to_records
from embassay.report.terminal import make_run_terminal_blocks

MakeRun = Callable[..., Path]

PLAN = {
    "system": "birch-base", "items": 100, "texts": 5_000, "cached": 1_000, "tokens": 90_000, "requests": 40,
    "usd": 0.09, "seconds": 75.0, "disk_bytes": 4_096, "exact": False, "assumed": True,
}  # fmt: skip
SPENT = {
    "requests": 44, "retries": 4, "failed": 1, "input_tokens": 91_500, "output_tokens": 0, "usd": 0.0915,
    "seconds": 130.0, "unsettled": 2,
}  # fmt: skip


def with_costs(run: Path, plan: dict[str, Any], spent: dict[str, Any]) -> Path:
    manifest = json.loads((run / "manifest.json").read_text())
    manifest["forecast"] = {"systems": [plan], "cells": [], "seconds": 75.0, "usd": 0.09}
    manifest["spent"] = {"usd": spent["usd"], "max_usd": 1.0, "systems": {"birch-base": spent}}
    (run / "manifest.json").write_text(json.dumps(manifest))
    return run


def test_plan_and_actual_stand_side_by_side(make_run: MakeRun) -> None:
    """Texts, tokens, requests, money and time, planned and taken; estimates are marked."""
    record = read_run_record(with_costs(make_run(), PLAN, SPENT))
    (cost,) = list_planned_and_real_system_costs(record)
    planned, took = zip(*cost.figures, strict=True)
    assert planned == ("4,000", "about 90,000", "40", "$0.0900", "about 1 min")
    assert took[1:4] == ("91,500", "44", "$0.0915")
    assert cost.calls == "4 retries, 1 call failed permanently, 2 min of waiting, summed over parallel requests"
    assert say_total_paid(record) == (
        "Spent $0.0915 of $1.00, in 44 requests with 91,500 tokens. Requests in flight when a process died: 2."
    )


def test_a_run_without_a_plan_has_no_such_table(make_run: MakeRun) -> None:
    """Older runs, and those that paid nothing, say nothing of it."""
    record = read_run_record(make_run())
    assert list_planned_and_real_system_costs(record) == ()
    assert say_total_paid(record) == ""


def test_the_report_shows_it(make_run: MakeRun) -> None:
    """The page about the method has the table and the sum; an unknown price is not $0."""
    run = with_costs(make_run(), {**PLAN, "usd": None}, {**SPENT, "usd": None})
    page = write_report(run).read_text("utf-8")
    assert "price unknown" in page
    assert "Spent an unknown amount (give price=) of $1.00" in page


def with_times(run: Path) -> Path:
    manifest = json.loads((run / "manifest.json").read_text())
    for place, cell in enumerate(manifest["cells"]):
        cell |= {"seconds": 0.5, "peak_bytes": (place + 1) * 2**20, "counts": {"pairs": 50} if place % 2 else {}}
    (run / "manifest.json").write_text(json.dumps(manifest))
    return run


def test_time_and_memory_stand_beside_scores(make_run: MakeRun) -> None:
    """In the report and in the wide view, with units, cells and pairs; never in what a run writes of its results."""
    run = with_times(make_run())
    record = read_run_record(run)
    shown = attach_boards_to_records((record,))[0]
    cells = [one for one in record.cells if one.system == "birch-base"]
    own = next(one for one in list_system_time_and_memory(record, shown.board) if one.system == "birch-base")
    assert own.time == f"{format_duration(len(cells) / 2)} ({format_noun_count(len(cells), 'cell')})"
    pairs = sum(one.counts.get("pairs", 0) for one in cells)
    assert own.per_pair == (f"10 ms (n = {pairs})" if pairs else "–")
    assert own.memory.endswith("MiB")
    assert own.vector == "1,024 bytes"
    assert len({one.system for one in list_system_time_and_memory(record, shown.board)}) == len(
        list_system_time_and_memory(record, shown.board)
    )
    wide, narrow = (
        draw_terminal_blocks(make_run_terminal_blocks(run, width), width=120, wide=width).plain
        for width in (True, False)
    )
    assert own.time in wide
    assert own.time not in narrow
    assert own.memory in write_report(run).read_text("utf-8")


def test_a_run_that_tells_no_time_has_no_such_table(make_run: MakeRun) -> None:
    """As of older versions."""
    record = read_run_record(make_run())
    for cell in record.manifest["cells"]:
        cell.pop("seconds", None)
    timeless = replace(record, cells=tuple(replace(one, seconds=None) for one in record.cells))
    assert list_system_time_and_memory(timeless, attach_boards_to_records((record,))[0].board) == ()
