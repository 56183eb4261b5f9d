"""What a run's manifest says: what was asked for, on what, with what, how it went and what it took."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any, Literal

from embassay import __version__
from embassay.protocols.planning import Plan, PlannedDataset, facts_of
from embassay.runs.cells import Cell, CellRecord
from embassay.runs.folder import hardware, versions
from embassay.runs.memory import kept
from embassay.runs.spending import Spending

Plain = dict[str, Any]

RESAMPLING = 2
"""Raised when the same items would be drawn otherwise: runs of other rules are not paired."""


def manifest(protocol: str, plan: Plan, records: Mapping[str, CellRecord], now: Mapping[str, Any]) -> Plain:
    """The manifest of a plan of which `records` (by cell key) have ended; `now` are the fields of the session."""
    head = ("name", "status", "created", "updated", "command")
    return {
        "embassay": __version__,
        "protocol": protocol,
        **{key: now[key] for key in head},
        "arguments": plan.request.as_dict(),
        "tokenizer": {"name": plan.request.tokenizer, "identity": plan.tokenizer_identity},
        "systems": [
            {"name": one.name, "kind": one.kind, "identity": one.identity, "facts": facts_of(one)}
            for one in plan.systems
        ],
        "datasets": [_dataset(one) for one in plan.datasets],
        "hardware": hardware(),
        "versions": versions(),
        "resampling": RESAMPLING,
        "cells": [_cell(cell, records.get(cell.key)) for cell in plan.cells],
        **{key: value for key, value in now.items() if key not in head},
        **({} if (memory := kept()) is None else {"memory": memory}),
        "problems": {"failed_cells": sum(not record.done for record in records.values())},
    }


def sessions(previous: Mapping[str, Any], this: Plain, spending: Spending) -> list[Plain]:
    """All attempts at the run with what each has spent: one that was killed could not say so itself."""
    return [
        {**one, "spent": {name: asdict(spent) for name, spent in spending.by_account(one["started"]).items()}}
        for one in [*previous.get("sessions", ()), this]
    ]


def spent(spending: Spending, max_usd: float | None) -> Plain:
    """What the run was billed, what may be billed beside it and what is held aside for requests in flight, by system
    and together; the limit of this session."""
    by_system = spending.by_account()
    known = all(one.usd is not None for one in by_system.values())
    return {
        "usd": spending.usd if known else None,
        "possible_usd": spending.possible_usd,
        "reserved_usd": spending.reserved_usd,
        "max_usd": max_usd,
        "systems": {name: asdict(one) for name, one in by_system.items()},
    }


def moment(precision: Literal["seconds", "milliseconds"] = "seconds") -> str:
    """Now, in UTC."""
    return datetime.now(UTC).isoformat(timespec=precision)


def _cell(cell: Cell, record: CellRecord | None) -> Plain:
    where = {"key": cell.key, "task": cell.task, "dataset": cell.dataset, "system": cell.system}
    where |= {"variant": cell.variant} if cell.variant else {}
    if record is None:
        empty: Plain = {"counts": {}, "skipped": [], "warnings": []}
        return {**where, "status": "not run", "reason": "", "seconds": None, **empty}
    return {
        **where,
        "status": record.status,
        "reason": record.reason,
        "seconds": round(record.seconds, 3),
        "peak_bytes": record.peak_bytes,
        "counts": dict(record.counts),
        "skipped": [asdict(skip) for skip in record.skipped],
        "warnings": list(record.warnings),
    }


def _dataset(dataset: PlannedDataset) -> Plain:
    return {
        "name": dataset.name,
        "source": dataset.source,
        "lang": dataset.lang,
        "fingerprint": dataset.fingerprint,
        "tasks": {
            task.task: {
                "n": task.n,
                "skipped": [asdict(skip) for skip in task.skipped],
                "warnings": list(task.warnings),
            }
            for task in dataset.tasks
        },
    }
