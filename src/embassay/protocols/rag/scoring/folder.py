"""A scoring on disk: manifest, results, values per query, comparisons, tables and the record."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from embassay import __version__
from embassay.protocols.manifest import moment
from embassay.protocols.rag.scoring.inputs import Inputs, fingerprint
from embassay.protocols.rag.scoring.record import Score, write_score
from embassay.protocols.rag.scoring.request import ScoreRequest
from embassay.protocols.rag.scoring.rows import PROTOCOL, TASK, comparisons, result_rows, tables
from embassay.protocols.rag.scoring.scoring import Scored
from embassay.protocols.session import check_same_arguments
from embassay.protocols.spreadsheets import inert
from embassay.runs.files import to_json, write_atomic
from embassay.runs.folder import RunFolder
from embassay.runs.provenance import hardware, versions

if TYPE_CHECKING:
    import polars as pl


def write_scoring(
    out: Path, request: ScoreRequest, score: Callable[[], tuple[Inputs, Scored]], command: str = ""
) -> Scored:
    """Do a scoring and write it to the folder `out`; once more with the same arguments writes it anew.

    UsageError if the folder holds a run of other arguments; nothing is read or measured then.
    """
    folder = RunFolder(out)
    check_same_arguments(folder, request)
    inputs, scored = score()
    with folder.locked():
        _write(folder, request, inputs, scored, command)
    return scored


def _write(folder: RunFolder, request: ScoreRequest, inputs: Inputs, scored: Scored, command: str) -> None:
    score = scored.record
    frame = scored.per_query()
    for run in score.runs:
        own = frame.filter(frame["run"] == run.name)
        _write_items(folder.items_path(TASK, score.judgements.name, run.name), own)
    folder.write_results(result_rows(score))
    write_atomic(folder.path / "comparisons.json", to_json(comparisons(score), indent=1) + "\n")
    for table in tables(score):
        write_atomic(folder.path / "tables" / f"{table.name}.csv", table.as_csv())
        write_atomic(folder.path / "tables" / f"{table.name}.md", table.as_markdown())
    write_atomic(folder.path / "tables" / "rag_per_query.csv", _sheet(_wide(frame)))
    write_score(folder.path / "score.json", score)
    folder.write_manifest(_manifest(folder, request, inputs, score, command))


def _write_items(path: Path, frame: pl.DataFrame) -> None:
    import polars as pl

    buffer = io.BytesIO()
    frame.select(
        pl.col("query_id").alias("item_id"), pl.lit("").alias("variant"), "measure", "value", "reason"
    ).write_parquet(buffer, compression="zstd", statistics=False)
    write_atomic(path, buffer.getvalue())


def _sheet(frame: pl.DataFrame) -> str:
    """As CSV in which no name is a formula."""
    import polars as pl

    names = pl.col("run", "query_id")
    return frame.with_columns(names.map_elements(inert, return_dtype=pl.String)).write_csv()


def _wide(frame: pl.DataFrame) -> pl.DataFrame:
    """A row per run and query, a column per measure."""
    return frame.pivot("measure", index=["run", "query_id"], values="value")


def _manifest(
    folder: RunFolder, request: ScoreRequest, inputs: Inputs, score: Score, command: str
) -> dict[str, Any]:
    before = folder.read_manifest() or {}
    now = moment()
    return {
        "embassay": __version__,
        "protocol": PROTOCOL,
        "kind": TASK,
        "name": folder.path.resolve().name,
        "status": "finished",
        "created": before.get("created", now),
        "updated": now,
        "command": command,
        "arguments": request.as_dict(),
        "tokenizer": {"name": "", "identity": ""},
        "systems": [
            {"name": run.name, "kind": "run", "identity": fingerprint([entries]), "facts": {"path": run.path}}
            for run, entries in zip(score.runs, inputs.runs.values(), strict=True)
        ],
        "datasets": [
            {
                "name": score.judgements.name,
                "source": score.judgements.path,
                "lang": "",
                "fingerprint": fingerprint([inputs.qrels]),
                "tasks": {TASK: {"n": score.judgements.queries, "skipped": [], "warnings": []}},
            }
        ],
        "hardware": hardware(),
        "versions": versions(),
        "cells": [_cell(score, run.name) for run in score.runs],
        "sessions": [*before.get("sessions", ()), {"started": now, "ended": now, "spent": {}}],
        "spent": {"usd": 0.0, "max_usd": None, "systems": {}},
        "problems": {"failed_cells": 0},
    }


def _cell(score: Score, run: str) -> dict[str, Any]:
    facts = next(one for one in score.runs if one.name == run)
    warnings = [note.text for note in score.notes if note.run == run]
    return {
        "key": run, "task": TASK, "dataset": score.judgements.name, "system": run, "status": "done", "reason": "",
        "seconds": None, "counts": {"lines": facts.lines, "queries": facts.queries, "missing": facts.missing},
        "skipped": [], "warnings": warnings,
    }  # fmt: skip
