"""A run on disk: manifest with the machine and software it used, results, cells, items and texts.

A cell's items are written first and its record last, each in one step, so a record on disk means the cell is whole.
`results.jsonl` grows by a line per result while a run goes on and is put in the order of the plan at its end.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import platform
import re
import stat
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field, is_dataclass
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import UnionType
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

import numpy as np

from embassay.errors import DataError, ModelError, UsageError
from embassay.limits import WHOLE, parse_json_written_by_embassay, read_bounded_file, walk_bounded_folder
from embassay.records import HeadlineComponent, ResultRow, Score, SkippedItems, TaskOutcome

MANIFEST = "manifest.json"
RANKINGS = ".rankings"
"""Ends the name of a file of rankings, before its suffix."""
_PARQUET = b"PAR1"


def make_distinct_folder_names(folders: Sequence[Path]) -> tuple[str, ...]:
    """The name of each folder, with as many of the folders above it as tell them apart; equal for a folder that is
    given twice.

    >>> make_distinct_folder_names([Path("runs/may"), Path("runs/june")])
    ('may', 'june')
    >>> make_distinct_folder_names([Path("may/sage"), Path("june/sage")])
    ('may/sage', 'june/sage')
    """
    parts = [folder.absolute().parts for folder in folders]
    depth = 1
    while depth < max(map(len, parts)) and len({part[-depth:] for part in parts}) < len(set(parts)):
        depth += 1
    return tuple("/".join(part[-depth:]) for part in parts)


def find_run_folders(folder: Path) -> Iterator[Path]:
    """Every run that a folder is or holds, at any depth, in the order of their names. What lies inside a run belongs to
    it. Links are not followed, and folders whose name starts with a dot are passed over."""
    for path, names, files in walk_bounded_folder(folder):
        if MANIFEST in files and is_run_folder(Path(path)):
            names.clear()
            yield Path(path)
        names[:] = sorted(name for name in names if not name.startswith("."))


def is_run_folder(folder: Path) -> bool:
    """Whether the manifest of a folder is that of a run, or too damaged to say: reading it says what is wrong. Sets of
    paraphrases and the stages of a golden set have manifests too, but of no protocol."""
    try:
        manifest = parse_json_written_by_embassay(read_bounded_file(folder / MANIFEST).decode("utf-8"))
    except FileNotFoundError:
        return False
    except (DataError, OSError, ValueError):
        return True
    return isinstance(manifest, dict) and "protocol" in manifest


def write_file_atomically(path: Path, content: str | bytes) -> None:
    """Write `content` to `path` in one step: a crash leaves the old file or the new one, never a part."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
    # A file's name may be no UTF-8; JSON reads its escapes back as they were.
    data = content.encode("utf-8", "backslashreplace") if isinstance(content, str) else content
    # What is there is never followed: in a folder that others can write it may be their link to one of our files.
    temporary.unlink(missing_ok=True)
    with temporary.open("xb") as stream:
        stream.write(data)
        stream.flush()
        os.fsync(stream.fileno())
    temporary.replace(path)


def write_json(path: Path, value: Any, indent: int = 1) -> None:
    """Write a value as indented JSON, in one step."""
    write_file_atomically(path, format_value_as_json(value, indent=indent) + "\n")


def format_json_lines(rows: Iterable[Any]) -> str:
    """A line of JSON for each row."""
    return "".join(format_value_as_json(row) + "\n" for row in rows)


def write_json_lines(path: Path, rows: Iterable[Any]) -> None:
    """Write a line of JSON for each row, in one step."""
    write_file_atomically(path, format_json_lines(rows))


def create_private_folder(path: Path) -> Path:
    """The folder, made where it is missing: each one that is made is for its owner only."""
    for folder in reversed([parent for parent in (path, *path.parents) if not parent.exists()]):
        folder.mkdir(mode=0o700, exist_ok=True)
    return path


def create_private_file(path: Path) -> Path:
    """The file, made empty where it is missing: for its owner only, unless its folder is one that a group writes."""
    if not path.exists() and not path.parent.stat().st_mode & stat.S_IWGRP:
        # Another process may have made it meanwhile, which is as good.
        with suppress(FileExistsError):
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    return path


def format_value_as_json(value: Any, *, indent: int | None = None) -> str:
    """JSON with keys in the order given, text as it is, and no NaN (a missing number is null)."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False, indent=indent)


def digest_json(value: Any) -> str:
    """A short, stable fingerprint of a JSON-able value: 32 hexadecimal digits."""
    # In ASCII, as half of a surrogate pair has no bytes of its own.
    canonical = json.dumps(value, ensure_ascii=True, sort_keys=True, separators=(",", ":"))
    return hashlib.blake2b(canonical.encode(), digest_size=16).hexdigest()


def slugify_name(name: str) -> str:
    """`name` as a file name; a short hash is appended when something had to change.

    >>> slugify_name("bm25"), slugify_name("st:ORG/MODEL")
    ('bm25', 'st_ORG_MODEL-ba67ad2a')
    """
    safe = re.sub(r"[^A-Za-z0-9._-]", "_", name).lstrip(".")[:60]
    return safe if safe and safe == name else f"{safe}-{digest_json(name)[:8]}"


@dataclass(frozen=True)
class RunCell:
    """One system on one dataset for one task, in one `variant` of the texts where a protocol has several. `key` is a
    digest of everything its values depend on; `job` is what the protocol's work function needs, and travels to worker
    processes. A `remote` cell waits for a server that may want money: it is done in the process that keeps the
    accounts."""

    task: str
    dataset: str
    system: str
    key: str
    units: int
    """Texts the system will see, for progress and time left."""
    job: Any = field(compare=False, repr=False)
    remote: bool = False
    variant: str = ""


@dataclass(frozen=True)
class CellRecord:
    """What is kept of a finished or failed cell, beside its items."""

    key: str
    task: str
    dataset: str
    system: str
    status: str
    reason: str
    seconds: float
    scores: tuple[Score, ...]
    components: Mapping[str, HeadlineComponent]
    skipped: tuple[SkippedItems, ...] = ()
    warnings: tuple[str, ...] = ()
    counts: Mapping[str, int] = field(default_factory=dict)
    variant: str = ""
    peak_bytes: int | None = None
    """The most memory that its process held meanwhile, everything loaded before included."""

    @property
    def done(self) -> bool:
        """Whether the cell has results (a failed one is tried again when the run resumes)."""
        return self.status == "done"


def make_finished_record(
    cell: RunCell, outcome: TaskOutcome, seconds: float, peak_bytes: int | None = None
) -> CellRecord:
    """The record of a cell that was evaluated. ModelError for a score or a part of it that is NaN or infinite: what
    has no value is None, with its reason."""
    numbers = {f"the score {score.measure} {score.variant}".strip(): score.value for score in outcome.scores}
    numbers |= {f"the part {name} of the score": part.value for name, part in outcome.components.items()}
    for name, value in numbers.items():
        if value is not None and not math.isfinite(value):
            raise ModelError(f"{name[0].upper()}{name[1:]} is {value}, which is not a number.")
    return CellRecord(
        cell.key, cell.task, cell.dataset, cell.system, "done", "", seconds,
        outcome.scores, outcome.components, outcome.skipped, outcome.warnings, outcome.counts, cell.variant,
        peak_bytes
    )  # fmt: skip


def make_failed_cell_record(cell: RunCell, reason: str, seconds: float) -> CellRecord:
    """The record of a cell that could not be evaluated, with the reason in plain words."""
    return CellRecord(
        cell.key, cell.task, cell.dataset, cell.system, "failed", reason, seconds, (), {}, variant=cell.variant
    )


def convert_cell_record_to_json(record: CellRecord) -> dict[str, Any]:
    """The record as JSON values; replicates as lists of numbers (repr keeps every bit). The `checksum` is of all the
    rest: a record that was changed by hand, or by a disk, is none."""
    components = {
        name: {
            "value": part.value,
            "n": part.n,
            "reason": part.reason,
            "replicates": convert_numbers_to_json(part.replicates),
            **({} if part.units is None else {"units": part.units}),
        }
        for name, part in record.components.items()
    }
    # Without the components: asdict would copy every replicate of them.
    plain = asdict(CellRecord(**{**vars(record), "components": {}}))
    whole = {**plain, "components": components, "counts": dict(record.counts)}
    return {**whole, "checksum": digest_json(whole)}


def read_cell_record_from_json(plain: Mapping[str, Any]) -> CellRecord:
    """The inverse of `convert_cell_record_to_json`; KeyError, TypeError or ValueError if `plain` is not one, or not as
    it was."""
    plain = dict(plain)
    if plain.pop("checksum") != digest_json(plain):
        raise ValueError("the checksum belongs to another record")
    components = {
        name: HeadlineComponent(
            part["value"], part["n"], convert_none_to_nan_array(part["replicates"]), part["reason"], part.get("units")
        )
        for name, part in plain["components"].items()
    }
    return CellRecord(
        **{
            **plain,
            "scores": tuple(Score(**score) for score in plain["scores"]),
            "components": components,
            "skipped": tuple(
                SkippedItems(skip["reason"], skip["count"], tuple(skip["examples"])) for skip in plain["skipped"]
            ),
            "warnings": tuple(plain["warnings"]),
        }
    )


def convert_numbers_to_json(values: np.ndarray[Any, np.dtype[np.float64]]) -> list[float | None]:
    """Numbers as JSON has them: None for NaN."""
    return [value if value == value else None for value in values.tolist()]


def convert_none_to_nan_array(values: Sequence[float | None]) -> np.ndarray[Any, np.dtype[np.float64]]:
    """The same numbers, NaN for None."""
    return np.array([np.nan if value is None else value for value in values], dtype=np.float64)


PACKAGES = (
    "bm25s", "numba", "numpy", "onnxruntime", "openvino", "polars", "rapidfuzz", "scikit-learn", "scipy", "tiktoken",
    "tokenizers", "wordllama"
)  # fmt: skip


def collect_hardware_facts() -> dict[str, Any]:
    """Processor, cores, memory and platform; what cannot be found is None."""
    return {
        "cpu": _read_processor_name(),
        "cores": os.cpu_count(),
        "memory_gib": _installed_memory_gib(),
        "platform": f"{platform.system()} {platform.machine()}",
    }


def list_package_versions() -> dict[str, str]:
    """Versions of Python and of the packages that results depend on."""
    packages = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            packages[package] = version(package)
        except PackageNotFoundError:
            continue
    return packages


def _read_processor_name() -> str | None:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or None
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), None)


def measure_installed_memory() -> int | None:
    """The memory that is built in, in bytes; None where the system does not tell."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return None


def _installed_memory_gib() -> float | None:
    built_in = measure_installed_memory()
    return None if built_in is None else round(built_in / 2**30, 1)


_Kinds = Mapping[str, type | tuple[type, ...]]

_WHOLE: _Kinds = {
    **dict.fromkeys(("protocol", "kind", "name", "status", "created", "updated", "step"), str),
    **dict.fromkeys(("arguments", "hardware", "versions", "spent"), dict),
    **dict.fromkeys(("systems", "datasets", "cells", "warnings"), list),
}
_NEEDED: Mapping[str, tuple[str, ...]] = {
    "systems": ("name",),
    "datasets": ("name",),
    "cells": ("task", "dataset", "system", "status"),
}
_PARTS: _Kinds = {
    **dict.fromkeys(("name", "kind", "identity", "source", "lang", "fingerprint", "task", "dataset", "system"), str),
    **dict.fromkeys(("status", "reason", "variant"), str),
    **dict.fromkeys(("facts", "tasks", "counts"), dict),
    **dict.fromkeys(("skipped", "warnings"), list),
    "seconds": (int, float)
}  # fmt: skip


def check_manifest_types(manifest: Mapping[str, Any]) -> None:
    """ValueError, with the place, where a part that others rely on is of another kind than it should be, or where a
    system, a dataset or a cell lacks what names it. What is not there at all is allowed, and so is null."""
    _check_part_types(manifest, _WHOLE, "")
    for name, needed in _NEEDED.items():
        for position, part in enumerate(manifest.get(name) or ()):
            where = f"{name}[{position}]"
            if not isinstance(part, dict):
                raise ValueError(f"{where} is not an object")
            missing = [key for key in needed if not isinstance(part.get(key), str)]
            if missing:
                raise ValueError(f"{where} has no {missing[0]}")
            _check_part_types(part, _PARTS, f"{where}.")


def _check_part_types(part: Mapping[str, Any], kinds: _Kinds, where: str) -> None:
    for key, kind in kinds.items():
        value = part.get(key)
        if value is not None and not isinstance(value, kind):
            raise ValueError(f"{where}{key} is {type(value).__name__}")
        if isinstance(value, str):
            value.encode()  # ValueError too for half of a surrogate pair, which no file could hold again


SCHEMA = 1
_WORDS = (
    "protocol", "task", "dataset", "subset", "lang", "variant", "system", "measure", "method", "reason"
)  # fmt: skip
_NUMBERS = ("value", "ci_low", "ci_high", "seed")


@dataclass(frozen=True)
class RunFolder:
    """The files of one run under `path`."""

    path: Path

    @property
    def results(self) -> Path:
        """The path of the file with one result per line."""
        return self.path / "results.jsonl"

    @property
    def spending_path(self) -> Path:
        """The journal of what the run has paid for; see `runs.spending`."""
        return self.path / "spending.jsonl"

    def read_manifest(self) -> dict[str, Any] | None:
        """The manifest, or None if there is no run here yet; DataError if it is damaged or of another schema."""
        path = self.path / MANIFEST
        if not path.exists():
            return None
        try:
            manifest = dict(parse_json_written_by_embassay(read_bounded_file(path).decode("utf-8")))
            schema = manifest["schema"]
            if schema == SCHEMA:
                check_manifest_types(manifest)
        except (ValueError, KeyError, TypeError) as error:
            raise DataError(
                "the manifest cannot be read", path=path, found=str(error), mend="Choose another --out folder."
            ) from error
        if schema != SCHEMA:
            raise DataError(
                "this run was written by another version of Embassay",
                path=path,
                expected=f"schema {SCHEMA}",
                found=f"schema {schema}",
                mend="Choose another --out folder, or use the version that wrote it.",
            )
        return manifest

    def write_manifest(self, manifest: Mapping[str, Any]) -> None:
        """Replace the manifest."""
        write_json(self.path / MANIFEST, {"schema": SCHEMA, **manifest})

    @contextmanager
    def hold_folder_lock(self) -> Iterator[None]:
        """Hold the folder for this process; UsageError if another one works on it."""
        from filelock import lock_descriptor

        self.path.mkdir(parents=True, exist_ok=True)
        # The file stays: of one that is removed, two processes could lock two.
        with (self.path / ".lock").open("a") as stream:
            if not lock_descriptor(stream.fileno(), blocking=False):
                raise UsageError(
                    f"Another process is working on {self.path}.", mend="Wait for it, or choose another --out."
                )
            self._remove_partial_files()
            yield

    def _remove_partial_files(self) -> None:
        """Remove what a killed session was writing by `write_file_atomically`: the folder is locked, so nobody else
        writes."""
        for path in self.path.rglob(".*.part"):
            if path.stem.rpartition(".")[2].isdecimal():
                path.unlink(missing_ok=True)

    def read_cell_record(self, cell: RunCell) -> CellRecord | None:
        """The record of a cell if it is there and as it was written, failed ones included. None otherwise, with a
        warning where there is something else in its place."""
        path = self.get_cell_record_path(cell)
        try:
            record = read_cell_record_from_json(parse_json_written_by_embassay(read_bounded_file(path).decode("utf-8")))
            if (damaged := self._find_damaged_file(cell)) is None:
                return record
            path = damaged
            raise ValueError("the file is incomplete")
        except FileNotFoundError:
            return None
        except (DataError, OSError, ValueError, KeyError, TypeError, AttributeError):
            warnings.warn(
                f"{path} was damaged, edited, or written by another version. "
                f"{cell.task} on {cell.dataset} with {cell.system} will be computed again.",
                RuntimeWarning,
                stacklevel=2,
            )
            return None

    def _find_damaged_file(self, cell: RunCell) -> Path | None:
        """The file of the cell's items, or of its rankings, of which a part is missing."""
        places = (
            self.locate_cell_items(cell.task, cell.dataset, cell.system, suffix, variant=cell.variant)
            for suffix in ("", RANKINGS)
        )
        return next((place for place in places if place.exists() and not is_whole_parquet(place)), None)

    def write_cell_record(self, cell: RunCell, record: CellRecord) -> None:
        """Write a cell's record: from here on it counts as done."""
        write_file_atomically(
            self.get_cell_record_path(cell), format_value_as_json(convert_cell_record_to_json(record)) + "\n"
        )

    def get_cell_record_path(self, cell: RunCell) -> Path:
        """Where the record of a cell is."""
        return self.path / "cells" / f"{cell.key}.json"

    def locate_cell_items(self, task: str, dataset: str, system: str, suffix: str = "", *, variant: str = "") -> Path:
        """Where the per-item values of a cell are; those of a variant in a folder of the system."""
        path = self.path / "items" / task / slugify_name(dataset) / slugify_name(system)
        return (
            path / f"{slugify_name(variant)}{suffix}.parquet"
            if variant
            else path.with_name(f"{path.name}{suffix}.parquet")
        )

    def locate_task_texts(self, task: str, dataset: str) -> Path:
        """Where the texts that a task judged on a dataset are."""
        return self.path / "texts" / task / f"{slugify_name(dataset)}.parquet"

    def write_texts_once(self, task: str, dataset: str, columns: Callable[[], Mapping[str, Sequence[Any]]]) -> None:
        """Write the texts that a task judges on a dataset, unless they are there: then `columns` is not called."""
        path = self.locate_task_texts(task, dataset)
        if not is_whole_parquet(path):
            write_parquet_columns(path, columns())

    def append_results(self, rows: Iterable[ResultRow]) -> None:
        """Add rows at the end of `results.jsonl`, in one write."""
        data = format_json_lines(row.as_dict() for row in rows).encode()
        with self.results.open("ab") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())

    def write_results(self, rows: Iterable[ResultRow]) -> None:
        """Replace `results.jsonl`."""
        write_json_lines(self.results, (row.as_dict() for row in rows))

    def read_results(self) -> list[ResultRow]:
        """All rows; DataError with the line for one that cannot be read."""
        if not self.results.exists():
            return []
        rows = []
        for number, line in enumerate(read_bounded_file(self.results, WHOLE).splitlines(), start=1):
            try:
                rows.append(_parse_result_row(parse_json_written_by_embassay(line)))
            except (ValueError, TypeError) as error:
                raise DataError(
                    "this line is not a result", path=self.results, line=number,
                    found=line[:80].decode("utf-8", "replace"),
                    mend="Run the same command again to rebuild the file from the finished cells."
                ) from error  # fmt: skip
        return rows

    def write_cell_failure_log(self, cell: RunCell, text: str) -> None:
        """Write the traceback of a failed cell to its log."""
        write_file_atomically(self.path / "logs" / f"{cell.key}.txt", text)


def _parse_result_row(plain: Any) -> ResultRow:
    """A row from its JSON; TypeError where a column is of another type than it should be, ValueError for half of a
    surrogate pair, which no file could hold again."""
    row = ResultRow(**plain)
    for name in _WORDS:
        if not isinstance(getattr(row, name), str):
            raise TypeError(f"{name} is not a string")
    # encode() fails for half of a surrogate pair.
    "".join(getattr(row, name) for name in _WORDS).encode()
    for name in _NUMBERS:
        value = getattr(row, name)
        if isinstance(value, bool) or not isinstance(value, int | float | None):
            raise TypeError(f"{name} is not a number")
    if isinstance(row.n, bool) or not isinstance(row.n, int):
        raise TypeError("n is not a whole number")
    return row


def is_whole_parquet(path: Path) -> bool:
    """Whether a file is there and begins and ends as Parquet does: half of one, as a full disk or a copy that broke off
    leaves it, has no end."""
    try:
        with path.open("rb") as stream:
            begins = stream.read(len(_PARQUET)) == _PARQUET
            stream.seek(-len(_PARQUET), os.SEEK_END)
            return begins and stream.tell() >= 2 * len(_PARQUET) and stream.read() == _PARQUET
    except OSError:
        return False


def write_parquet_columns(path: Path, columns: Mapping[str, Sequence[Any]]) -> None:
    """Write equal-length columns as Parquet (texts as strings, numbers as float64), in one step."""
    import io

    import polars as pl

    buffer = io.BytesIO()
    pl.DataFrame(
        {name: pl.Series(name, values, dtype=_column_type(name), strict=False) for name, values in columns.items()}
    ).write_parquet(buffer, compression="zstd", statistics=False)
    write_file_atomically(path, buffer.getvalue())


def _column_type(name: str) -> Any:
    import polars as pl

    numbers = {"value": pl.Float64, "score": pl.Float64, "gain": pl.Float64, "rank": pl.Int64}
    return numbers.get(name, pl.String)


T = TypeVar("T")


def read_json_record(path: Path, cls: type[T], *, schema: int, what: str, mend: str) -> T:
    """The record, called `what`, that a JSON file of a run holds; DataError, with the `mend`, if it holds none or one
    of another schema."""
    try:
        plain = parse_json_written_by_embassay(read_bounded_file(path).decode("utf-8"))
        written = plain["schema"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DataError(f"the record of {what} cannot be read", path=path, found=str(error), mend=mend) from error
    if written != schema:
        raise DataError(
            f"the record of {what} was written by another version of Embassay", path=path,
            expected=f"schema {schema}", found=f"schema {written}", mend=mend
        )  # fmt: skip
    try:
        return build_dataclass_from_values(cls, plain)
    except (KeyError, TypeError, AttributeError, IndexError, ValueError) as error:
        raise DataError(f"the record of {what} is incomplete", path=path, found=str(error), mend=mend) from error


def build_dataclass_from_values(cls: type[T], plain: Mapping[str, Any]) -> T:
    """A dataclass from its plain values: lists become tuples, and mappings the dataclasses they stand for.

    TypeError for a field that it does not have, or that it needs and is not there.
    """
    kind: Any = cls
    hints = _find_field_types(kind)
    unknown = [name for name in plain if name not in hints]
    if unknown:
        raise TypeError(f"{cls.__name__} has no field {unknown[0]!r}")
    return cls(**{name: _convert_to_field_type(hints[name], value) for name, value in plain.items()})


def build_checked_dataclass(cls: type[T], plain: Any) -> T:
    """A dataclass from plain values whose types are exactly those of its fields; ValueError with the field for others.

    Numbers are not read from texts, nor texts from numbers: a file may have been edited.
    """
    from pydantic import TypeAdapter, ValidationError

    try:
        # As JSON, since that has lists where a record has tuples.
        return TypeAdapter(cls).validate_json(format_value_as_json(plain), strict=True)
    except ValidationError as error:
        fault = error.errors(include_url=False, include_input=False)[0]
        raise ValueError(f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}") from None


def build_versioned_dataclass(cls: type[T], plain: Any, name: str, version: int) -> T:
    """The record in a file that begins with its `format` and `version`; ValueError for others, and as of
    `build_checked_dataclass`."""
    if not isinstance(plain, dict) or (plain.get("format", ""), plain.get("version", "")) != (name, version):
        raise ValueError("another format")
    fields = {key: value for key, value in plain.items() if key not in {"format", "version"}}
    return build_checked_dataclass(cls, fields)


@lru_cache
def _find_field_types(cls: type) -> dict[str, Any]:
    """The types of a dataclass's fields: a record has thousands of a few classes."""
    return get_type_hints(cls)


def _convert_to_field_type(hint: Any, value: Any) -> Any:
    if value is None:
        return None
    if isinstance(hint, UnionType):
        return _convert_to_field_type(next(part for part in get_args(hint) if part is not type(None)), value)
    if get_origin(hint) is tuple:
        return tuple(_convert_to_field_type(get_args(hint)[0], part) for part in value)
    return build_dataclass_from_values(hint, value) if isinstance(hint, type) and is_dataclass(hint) else value
