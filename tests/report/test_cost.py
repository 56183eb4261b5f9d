"""What a run was expected to take beside what it took."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from embassay.report import write_report
from embassay.report.method import costs, paid
from embassay.report.record import read_record

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
    record = read_record(with_costs(make_run(), PLAN, SPENT))
    (cost,) = costs(record)
    planned, took = zip(*cost.figures, strict=True)
    assert planned == ("4,000", "about 90,000", "40", "$0.0900", "about 1 min")
    assert took[1:4] == ("91,500", "44", "$0.0915")
    assert (
        cost.calls == "4 retries, 1 call failed for good, 2 min of waiting, summed over requests side by side"
    )
    assert paid(record) == (
        "Spent $0.0915 of $1.00, in 44 requests with 91,500 tokens. 2 were in flight when a process died."
    )


def test_a_run_without_a_plan_has_no_such_table(make_run: MakeRun) -> None:
    """Older runs, and those that paid nothing, say nothing of it."""
    record = read_record(make_run())
    assert costs(record) == ()
    assert paid(record) == ""


def test_the_report_shows_it(make_run: MakeRun) -> None:
    """The page about the method has the table and the sum; an unknown price is not $0."""
    run = with_costs(make_run(), {**PLAN, "usd": None}, {**SPENT, "usd": None})
    page = write_report(run).read_text("utf-8")
    assert "price unknown" in page
    assert "Spent an unknown amount (give price=) of $1.00" in page
