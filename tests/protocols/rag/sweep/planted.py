"""Planted documents: of twelve machines the second sentence says why "it" failed, and only the first what "it" is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

MACHINES = (
    "kiln", "turbine", "loom", "crane", "printing press", "ferry", "lighthouse", "elevator", "windmill", "dredger",
    "telescope", "harvester",
)  # fmt: skip
PARTS = ("oil pump", "main belt", "left bearing", "chain", "roller", "rudder")


def plant_machines(folder: Path, *, titled: bool = True) -> dict[str, Any]:
    """The files in a folder, and the sweep's entry for them; evidence is the second of three sentences of each
    document."""
    folder.mkdir(parents=True, exist_ok=True)
    corpus, queries, spans = [], [], []
    for i, machine in enumerate(MACHINES):
        first = f"The {machine} was bought in {1901 + i}."
        second = f"It failed in spring because its {PARTS[i % 6]} broke."
        text = f"{first} {second} Nobody noticed for a week."
        corpus.append({"id": f"d{i}", "title": f"History of the {machine}" * titled, "text": text})
        queries.append({"id": f"q{i}", "text": f"Why did the {machine} fail?"})
        place = {"start": len(first) + 1, "end": len(first) + 1 + len(second)}
        spans.append({"query_id": f"q{i}", "document": f"d{i}", **place, "relevance": 1, "text": second})
    for name, rows in (("corpus", corpus), ("queries", queries), ("spans", spans)):
        write_rows(folder / f"{name}.jsonl", rows)
    return entry_of(folder)


def entry_of(folder: Path) -> dict[str, Any]:
    """The sweep's entry for such files."""
    paths = {"path": "corpus", "queries": "queries", "spans": "spans"}
    return {key: str(folder / f"{name}.jsonl") for key, name in paths.items()}


def write_rows(path: Path, rows: list[dict[str, Any]]) -> None:
    """A table of JSON lines."""
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
