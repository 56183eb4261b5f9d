"""A run without cells on disk: manifest, rows, tables and the record."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from embassay import __version__
from embassay.protocols.manifest import moment
from embassay.protocols.session import Table
from embassay.records import Result
from embassay.runs.files import to_json, write_atomic
from embassay.runs.folder import RunFolder, hardware, versions


def write_tables(folder: RunFolder, tables: Iterable[Table]) -> None:
    """Every table as CSV and Markdown."""
    for table in tables:
        write_atomic(folder.path / "tables" / f"{table.name}.csv", table.as_csv())
        write_atomic(folder.path / "tables" / f"{table.name}.md", table.as_markdown())


def write_finished(
    folder: RunFolder,
    *,
    request: Any,
    command: str,
    rows: Sequence[Result],
    tables: Iterable[Table],
    systems: Sequence[dict[str, Any]],
    datasets: Sequence[dict[str, Any]],
    extra: dict[str, Any],
) -> None:
    """Write all but the record of a run that is done in one go; once more writes it anew."""
    write_tables(folder, tables)
    folder.write_results(rows)
    write_atomic(folder.path / "comparisons.json", to_json({"scopes": {}}, indent=1) + "\n")
    before, now = folder.read_manifest() or {}, moment()
    folder.write_manifest(
        {
            "embassay": __version__,
            "protocol": "hume",
            "name": folder.path.resolve().name,
            "status": "finished",
            "created": before.get("created", now),
            "updated": now,
            "command": command,
            "arguments": request.as_dict(),
            "tokenizer": {"name": "", "identity": ""},
            "systems": list(systems),
            "datasets": list(datasets),
            "hardware": hardware(),
            "versions": versions(),
            "cells": [],
            "sessions": [*before.get("sessions", ()), {"started": now, "ended": now, "spent": {}}],
            "spent": {"usd": 0.0, "max_usd": None, "systems": {}},
            "problems": {"failed_cells": 0},
            **extra,
        }
    )
