"""What a tracker is told of a run, whichever it is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from embassay.interchange.runs import Run
from embassay.interchange.tables import long_parquet, wide_csv
from embassay.interchange.tracking.redaction import redacted
from embassay.interchange.wide import Column, wide_of
from embassay.records import Result
from embassay.runs.files import to_json

_CHANGES = ("status", "updated", "embassay", "name", "created")
REPORT = "report.html"


@dataclass(frozen=True)
class Logged:
    """A run in a tracker: its folder's name, its id there, and whether all of it was there before."""

    run: str
    id: str
    unchanged: bool = False


@dataclass(frozen=True)
class Value:
    """A headline: whose, in which column, and the row it is of."""

    system: str
    column: Column
    row: Result


def values_of(run: Run) -> list[Value]:
    """The headlines of a run, missing ones too, system by system."""
    table = wide_of(run)
    return [
        Value(system, column, row)
        for system, cells in zip(table.systems, table.cells, strict=True)
        for column, row in zip(table.columns, cells, strict=True)
        if row is not None
    ]


def numbers_of(value: Value) -> dict[str, float]:
    """The numbers of a headline by their kind: value (an empty name), low, high, n; none where it has no value."""
    row = value.row
    if row.value is None:
        return {}
    named = {"": row.value, "low": row.ci_low, "high": row.ci_high, "n": row.n}
    return {kind: float(number) for kind, number in named.items() if number is not None}


def parameters_of(run: Run) -> dict[str, str]:
    """What the run was asked for, on which data: flat names, texts without secrets, in the order of the manifest."""
    data = {str(one.get("name")): one.get("fingerprint") for one in run.manifest.get("datasets", ())}
    found = {
        "protocol": run.protocol,
        "kind": run.kind,
        **dict(_flat(run.manifest.get("arguments") or {}, "")),
        "data": data,
    }
    return {name: _text(value) for name, value in redacted(found).items() if value not in (None, "", [], {})}


def about(run: Run) -> dict[str, str]:
    """What may change while the run goes on, and the fingerprint of its manifest."""
    plain = {name: run.manifest[name] for name in _CHANGES if run.manifest.get(name)}
    return {
        name: _text(value) for name, value in redacted({**plain, "manifest": run.manifest_digest}).items()
    }


def files_of(run: Run) -> Iterator[tuple[str, Path | bytes]]:
    """The files to keep: name and where it is, or what it holds. The report, if the run has one; its tables; manifest
    and all results."""
    if (run.path / REPORT).is_file():
        yield REPORT, run.path / REPORT
    for path in sorted((run.path / "tables").glob("*")):
        if path.is_file():
            yield f"tables/{path.name}", path
    yield "manifest.json", (to_json(redacted(run.manifest), indent=1) + "\n").encode("utf-8")
    yield "headlines.csv", wide_csv(wide_of(run)).encode("utf-8")
    yield "results.parquet", long_parquet([run])


def _flat(value: Mapping[str, Any], before: str) -> Iterator[tuple[str, Any]]:
    for name, one in value.items():
        if isinstance(one, Mapping):
            yield from _flat(one, f"{before}{name}.")
        else:
            yield f"{before}{name}", one


def _text(value: Any) -> str:
    return value if isinstance(value, str) else to_json(value)
