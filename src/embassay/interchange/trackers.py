"""What an experiment tracker is told of a run, whichever it is, and never a secret."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from embassay.interchange.runs import Run
from embassay.interchange.tables import Column, long_parquet, wide_csv, wide_of
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


HIDDEN = "***"
_SECRET = r"(?:api[_-]?key|key|token|secret|password|passwd)"
_USER = re.compile(r"(?<=://)[^/@\s]+(?=@)")
_VALUE = re.compile(rf"(?<=[?&;\s])((?i:{_SECRET})=)(?![A-Z][A-Z0-9_]*(?:[&;\s]|$))[^&;\s]+")
"""A value of a secret's name in a spec string; `key=OPENAI_API_KEY` names a variable, which is no secret."""
_OPTION = re.compile(rf"(--(?i:{_SECRET})[ =])\S+")
_KNOWN = re.compile(r"\b(?:sk-[\w-]{16,}|hf_\w{16,}|gh[pousr]_\w{16,}|AIza[\w-]{30,}|xox[abp]-[\w-]{10,})")
_NAMES = re.compile(rf"(?:^|_){_SECRET}$", re.IGNORECASE)
_SHORTEST = 8


def redacted(value: Any, environment: Mapping[str, str] | None = None) -> Any:
    """The same value of JSON with `***` for secrets: users in addresses, values called key, token, secret or password
    in spec strings, keys of known vendors, and whatever a variable of the environment with such a name holds.

    >>> redacted(["openai:m?base_url=http://me:pw@host/v1&key=OPENAI_KEY"], {})
    ['openai:m?base_url=http://***@host/v1&key=OPENAI_KEY']
    >>> redacted({"a": "x:m?key=abc123"}, {}), redacted("is 0123456789", {"MY_TOKEN": "0123456789"})
    ({'a': 'x:m?key=***'}, 'is ***')
    """
    environment = os.environ if environment is None else environment
    secrets = sorted(
        (text for name, text in environment.items() if _NAMES.search(name) and len(text) >= _SHORTEST),
        key=len,
    )
    return _walk(value, secrets[::-1])


def _walk(value: Any, secrets: list[str]) -> Any:
    if isinstance(value, str):
        return _text_without(value, secrets)
    if isinstance(value, Mapping):
        return {_text_without(str(key), secrets): _walk(one, secrets) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_walk(one, secrets) for one in value]
    return value


def _text_without(text: str, secrets: list[str]) -> str:
    for secret in secrets:
        text = text.replace(secret, HIDDEN)
    text = _USER.sub(HIDDEN, text)
    for named in (_VALUE, _OPTION):
        text = named.sub(rf"\g<1>{HIDDEN}", text)
    return _KNOWN.sub(HIDDEN, text)
