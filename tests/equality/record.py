"""What is compared of a run: every file but pages and what a clock, a machine or a place has put into it.

A file is read as lines of text: Parquet as a line per row, JSON as a line per value, all cells as one file. A record
holds the digest of its lines, their number, short digests of up to 12 pieces, which say where the first difference is,
and the digest of its shape: the lines without the numbers and digests in them. Where another processor, another version
of numpy or of Unicode is allowed another last digit or another cell key (`arithmetic`), only the shape is compared, and
values of results to five digits.
"""

from __future__ import annotations

import hashlib
import json
import math
import platform
import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatch
from importlib.metadata import version
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from equality.runs import RUNS

FOLDER = Path(__file__).with_name("records")
KEYS, RESULTS = "cells/keys", "results.jsonl"
PIECES = 12
DITTO, BETWEEN = "'", "|"
SHOWN = (
    "task",
    "dataset",
    "subset",
    "lang",
    "variant",
    "system",
    "measure",
    "value",
    "n",
    "ci_low",
    "ci_high",
    "reason",
)
"""Columns of `results.jsonl` that a record holds in full, numbers with six digits."""
PASSING = frozenset({
    "created", "updated", "started", "ended", "finished_at", "date", "session", "ts", "cut_ts", "seconds",
    "build_seconds", "peak_bytes", "memory_bytes", "load", "cores", "hardware", "versions", "embassay", "engine",
    "forecast", "command", "checksum", "sha256", "workers",
})  # fmt: skip
"""Keys of what a clock, a machine, a place or a version says, and digests of files that hold such."""
_LOAD = re.compile(r"load average of up to [\d.]+ on \d+ cores?")
_DIGEST = re.compile(r"(?<![.\d])\b[0-9a-f]{16,64}\b|unicode-[\d.]+")
_NUMBER = re.compile(r"[-+−]?\d+(?:\.\d+)?(?:e-?\d+)?")


def files_of(name: str, run: Path) -> dict[str, list[str]]:
    """The lines of every file that counts, by path."""
    files: dict[str, list[str]] = {}
    cells: list[tuple[str, str, list[str]]] = []
    for path in sorted(one for one in run.rglob("*") if one.is_file()):
        place = path.relative_to(run).as_posix()
        if path.suffix == ".html" or place == ".lock" or any(fnmatch(place, one) for one in RUNS[name].left_out):
            continue
        lines = [_LOAD.sub("load average", line) for line in _lines(path)]
        if place.startswith("cells/"):
            cell = json.loads(path.read_text("utf-8"))
            label = " ".join(str(cell.get(key)) for key in ("task", "dataset", "variant", "system"))
            cells.append((label, path.stem, lines))
        else:
            files[place] = lines
    if cells:
        cells.sort()
        files["cells"] = [line for _, _, lines in cells for line in lines]
        files[KEYS] = [f"{label}: {key}" for label, key, _ in cells]
    return files


def _lines(path: Path) -> Iterator[str]:
    if path.suffix == ".parquet":
        table = pl.read_parquet(path)
        yield _json({name: str(kind) for name, kind in table.schema.items()})
        yield from map(_json, table.iter_rows())
    elif path.suffix == ".json":
        yield from _json(_kept(json.loads(path.read_text("utf-8"))), indent=0).split("\n")
    elif path.suffix == ".jsonl":
        yield from (_json(_kept(json.loads(line))) for line in path.read_text("utf-8").splitlines())
    else:
        yield from path.read_text("utf-8").split("\n")


def _json(value: Any, indent: int | None = None) -> str:
    return json.dumps(value, ensure_ascii=False, default=str, indent=indent)


def _kept(value: Any) -> Any:
    """A JSON value, keys in their order, without what `PASSING` names; of a path its last part."""
    if isinstance(value, Mapping):
        return {key: _kept(one) for key, one in value.items() if key not in PASSING}
    if isinstance(value, list):
        return [_kept(one) for one in value]
    return Path(value).name if isinstance(value, str) and value.startswith("/") else value


def record_of(files: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """What is kept of a run."""
    return {
        "arithmetic": arithmetic(),
        "files": {place: _summary(lines) for place, lines in files.items()},
        "results": _rows(files[RESULTS]),
    }


def arithmetic() -> str:
    """What the last digits of numbers and the cell keys may differ by: equal here and there, equal bytes are asked."""
    numbers = np.linspace(0.1, 3.0, 997)
    single = numbers.astype(np.float32)
    tried = [np.exp(numbers), np.log(numbers), np.exp(single), numbers.sum(), single.sum(), numbers.std()]
    tried += [np.outer(one, one) @ np.outer(one, one) for one in (numbers[:64], single[:64])]
    built = [f"{name} {version(name)}" for name in ("numpy", "scipy", "scikit-learn", "numba")]
    said = [platform.machine(), unicodedata.unidata_version, *built, *(one.tobytes().hex() for one in tried)]
    return _digest(said, 16)


def differences(name: str, record: Mapping[str, Any], files: Mapping[str, Sequence[str]]) -> list[str]:
    """A line for each file that is gone, new or other than in the record, with its first line that differs."""
    before, strict = record["files"], record["arithmetic"] == arithmetic()
    said = []
    for place in sorted({*before, *files}):
        if not strict and (place == KEYS or _DIGEST.search(place)):
            continue
        if place not in files:
            said.append(f"{name}: {place} is gone")
        elif place not in before:
            said.append(f"{name}: {place} is new")
        elif strict and _summary(files[place]) != before[place]:
            said.append(f"{name}: {place} {_first(place, record, files[place])}")
        elif not strict and _summary(files[place])[-1] != before[place][-1]:
            said.append(f"{name}: {place} has other words, or another number of lines")
    return said if strict else [*said, *_moved(name, record["results"], _rows(files[RESULTS]))]


def _first(place: str, record: Mapping[str, Any], lines: Sequence[str]) -> str:
    if place == RESULTS:
        for number, (old, new) in enumerate(zip_longest(record["results"], _rows(lines), fillvalue="nothing")):
            if old != new:
                return f"line {number}\n  was {old}\n  is  {new}"
    _, n, marks, _ = record["files"][place]
    if n != len(lines):
        return f"has {len(lines)} lines, was {n}"
    pairs = zip(marks.split(), _marks(lines), strict=True)
    at = next((at for at, (old, new) in enumerate(pairs) if old != new), 0) * _step(n)
    shown = "".join(f"\n  is  {line[:200]}" for line in lines[at : at + min(_step(n), 3)])
    return f"differs in lines {at + 1} to {min(n, at + _step(n))}, which begin{shown}"


def _moved(name: str, before: Sequence[str], after: Sequence[str]) -> list[str]:
    """Results of which the value differs by more than rounding."""
    at = SHOWN.index("value")
    said, old, new = [], "", ""
    for number, rows in enumerate(zip(before, after, strict=False)):
        values = [row.split(BETWEEN)[at] for row in rows]
        old, new = (was if value == DITTO else value for was, value in zip((old, new), values, strict=True))
        if number and old != new and not _near(old, new):
            said.append(f"{name}: {RESULTS} line {number}: was {old}, is {new}")
    return said


def _near(old: str, new: str) -> bool:
    try:
        return math.isclose(float(old), float(new), rel_tol=2e-5, abs_tol=1e-9)
    except ValueError:
        return False


def _rows(lines: Sequence[str]) -> list[str]:
    """`results.jsonl` as a table: values under their names, `'` for the value above."""
    above: list[str] = []
    rows = [BETWEEN.join(SHOWN)]
    for line in lines:
        row = json.loads(line)
        values = [f"{one:.6g}" if isinstance(one, float) else str(one) for one in map(row.get, SHOWN)]
        same = [value and above[at : at + 1] == [value] for at, value in enumerate(values)]
        rows.append(BETWEEN.join(DITTO if equal else value for equal, value in zip(same, values, strict=True)))
        above = values
    return rows


def _summary(lines: Sequence[str]) -> list[Any]:
    shape = [_NUMBER.sub("~", _DIGEST.sub("#", line)) for line in lines]
    return [_digest(lines, 16), len(lines), " ".join(_marks(lines)), _digest(shape, 8)]


def _marks(lines: Sequence[str]) -> list[str]:
    step = _step(len(lines))
    return [_digest(lines[at : at + step], 4) for at in range(0, len(lines), step)]


def _step(n: int) -> int:
    """How many lines a mark stands for."""
    return max(1, -(-n // PIECES))


def _digest(lines: Sequence[str], digits: int) -> str:
    return hashlib.sha256("\n".join(lines).encode("utf-8", "surrogatepass")).hexdigest()[:digits]
