"""A run of a sweep for the report's tests: what was measured is drawn, all else is made by the real functions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from embassay.protocols.rag.sweep.findings import SweepFindings, compute_and_write_findings, make_findings_result_rows
from embassay.protocols.rag.sweep.stacks import SweepMeasurements, SweepRules
from embassay.runs.folder import RunFolder
from protocols.rag.sweep import sweeps

RULES = SweepRules(sla_ms=300.0, budget=1.0)
AXES = {**sweeps.AXES, "dims": (64,), "index": ("flat", "hnsw-int8")}


def write_sweep_run(path: Path, sweep: SweepMeasurements | None = None) -> SweepFindings:
    """The folder of a sweep: manifest, rows, findings and tables."""
    folder = RunFolder(path)
    found = compute_and_write_findings(
        sweeps.drawn({"sea": 40, "river": 60}, RULES, axes=AXES) if sweep is None else sweep, path
    )
    folder.write_results(make_findings_result_rows(found))
    folder.write_manifest(_manifest(path.name, found))
    return found


def _manifest(name: str, found: SweepFindings) -> dict[str, Any]:
    part = found.parts[0]
    return {
        "embassay": "0.1.0", "protocol": "rag", "kind": "sweep", "name": name, "status": "finished",
        "created": "2026-11-20T09:00:00+00:00", "updated": "2026-11-21T09:00:00+00:00",
        "command": "embassay rag sweep sweep.yaml --out runs/sweep", "arguments": {"seed": found.asked.seed},
        "tokenizer": {"name": "words", "identity": "words 1"},
        "systems": [{"name": one.id, "kind": "run", "identity": "", "facts": {}} for one in part.stacks],
        "datasets": [
            {"name": one, "source": one, "lang": "en", "fingerprint": "9f", "tasks": {"sweep": {"n": part.queries}}}
            for one in part.datasets
        ],
        "hardware": {"cpu": "made", "cores": 2, "memory_gib": 24.0, "platform": "Linux"},
        "versions": {"python": "3.11"}, "cells": [],
        "sessions": [{"started": "2026-11-21T09:00:00+00:00", "seconds": 120.0}],
        "spent": {"usd": 0.0, "max_usd": None, "systems": {}}, "problems": {"failed_cells": 0},
    }  # fmt: skip
