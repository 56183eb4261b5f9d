"""Doing a stage for many queries, so that a kill at any moment loses nothing and a finished stage is never redone.

What a stage makes of a query is written to a temporary name and renamed, then a manifest says what it was made with,
from and into, then an empty `_SUCCESS` says that all is there. A stage is skipped only where `_SUCCESS` is there and
the manifest's parameters and the SHA-256 of its inputs are the present ones; otherwise it and all later ones are done
again (spec rag 4).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from embassay.bounded import read_bounded
from embassay.errors import DataError
from embassay.limits import WHOLE
from embassay.protocols.manifest import moment
from embassay.protocols.rag.golden.layout import MANIFEST, STAGES, SUCCESS, QueryFolder
from embassay.runs.files import to_json, write_atomic

Plain = Mapping[str, Any]


@dataclass(frozen=True)
class Input:
    """A file that a stage reads: its path (within the run for what the run made itself) and its SHA-256."""

    path: str
    sha256: str


@dataclass(frozen=True)
class Product:
    """What a stage made of one query: the content of each file, and counts of what is in them."""

    files: Mapping[Path, str]
    counts: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Asked:
    """A query of the run and its folder."""

    id: str
    text: str
    folder: QueryFolder


Done = Callable[[Asked, Product], None]


class Step(Protocol):
    """A stage with its settings."""

    @property
    def stage(self) -> str:
        """`S1` to `S6`."""
        ...

    @property
    def parameters(self) -> Plain:
        """All settings that its artefacts depend on, as JSON values."""
        ...

    def inputs(self, asked: Asked) -> Sequence[Input]:
        """The files that it reads for a query, as they are now."""
        ...

    def do(self, waiting: Sequence[Asked], done: Done) -> Mapping[str, str]:
        """Do the stage for these queries, calling `done` for each as soon as it is; query id -> reason for those that
        it could not be done for."""
        ...


@dataclass(frozen=True)
class Outcome:
    """How a stage went: queries it was done for now, and before, and why it failed for others."""

    done: tuple[str, ...]
    kept: tuple[str, ...]
    failed: Mapping[str, str]


def carry_out(step: Step, queries: Sequence[Asked], run_id: str) -> Outcome:
    """Do the stage for the queries that it is not done for already."""
    inputs = {asked.id: tuple(step.inputs(asked)) for asked in queries}
    waiting = [one for one in queries if not is_done(step, one.folder, inputs[one.id])]
    kept = {one.id for one in queries} - {one.id for one in waiting}
    for asked in waiting:
        undo(asked.folder, step.stage)
    done: list[str] = []

    def finish(asked: Asked, product: Product) -> None:
        complete(step, asked, inputs[asked.id], product, run_id)
        done.append(asked.id)

    failed = step.do(waiting, finish) if waiting else {}
    return Outcome(tuple(done), tuple(one.id for one in queries if one.id in kept), dict(failed))


def is_done(step: Step, folder: QueryFolder, inputs: Sequence[Input]) -> bool:
    """Whether the stage is whole for a query, with the present parameters and inputs."""
    if not folder.success(step.stage).exists():
        return False
    said = read_manifest(folder, step.stage)
    if said is None or said["parameters"] != json.loads(to_json(step.parameters)):
        return False
    if [one["sha256"] for one in said["inputs"]] != [one.sha256 for one in inputs]:
        return False
    return all((folder.run / one["path"]).is_file() for one in said["outputs"])


def complete(step: Step, asked: Asked, inputs: Sequence[Input], product: Product, run_id: str) -> None:
    """Write what the stage made of a query, then its manifest, then `_SUCCESS`."""
    folder = asked.folder
    for path, content in product.files.items():
        write_atomic(path, content)
    _clear(folder.stage(step.stage), keep=product.files)
    said = {
        "run_id": run_id,
        "qid": asked.id,
        "stage": step.stage,
        "parameters": step.parameters,
        "counts": dict(product.counts),
        "inputs": [{"path": one.path, "sha256": one.sha256} for one in inputs],
        "outputs": [
            {"path": path.relative_to(folder.run).as_posix(), "sha256": sha256(content.encode())}
            for path, content in product.files.items()
        ],
        "finished_at": moment(),
    }
    write_atomic(folder.manifest(step.stage), to_json(said, indent=1) + "\n")
    write_atomic(folder.success(step.stage), "")


def undo(folder: QueryFolder, stage: str) -> None:
    """Say that this stage and all later ones are not done, the last first: a kill leaves no gap."""
    for later in reversed(from_stage(stage)):
        folder.success(later).unlink(missing_ok=True)


def forget(folder: QueryFolder, stage: str) -> None:
    """`undo`, and leave nothing of what these stages made: what was judged is judged again."""
    undo(folder, stage)
    for later in from_stage(stage):
        if folder.stage(later).is_dir():
            _clear(folder.stage(later), keep=())
            folder.manifest(later).unlink(missing_ok=True)


def from_stage(stage: str) -> tuple[str, ...]:
    """The stage and all later ones.

    >>> from_stage("S5")
    ('S5', 'S6')
    """
    names = tuple(STAGES)
    return names[names.index(stage) :]


def read_manifest(folder: QueryFolder, stage: str) -> dict[str, Any] | None:
    """What the manifest of a stage says; None where there is none that can be read."""
    try:
        said = json.loads(read_bounded(folder.manifest(stage)).decode("utf-8"))
        return said if {"parameters", "inputs", "outputs", "counts"} <= said.keys() else None
    except (DataError, OSError, ValueError, AttributeError, RecursionError):
        return None


def input_of(path: Path, run: Path) -> Input:
    """A file of the run as an input. DataError where it is not there."""
    try:
        return Input(path.relative_to(run).as_posix(), sha256(read_bounded(path, WHOLE)))
    except OSError as error:
        raise DataError(
            "a file of an earlier stage cannot be read", path=path, found=error.strerror or str(error),
            mend=f"Redo that stage: --from-stage {_stage_of(path)}.",
        ) from error  # fmt: skip


def read_rows(path: Path) -> list[dict[str, Any]]:
    """The JSON objects of an artefact, a line each; DataError with the line for one that is none."""
    rows = []
    # Not splitlines of a text: a passage may hold one of the other line separators of Unicode.
    for number, line in enumerate(read_bounded(path, WHOLE).removesuffix(b"\n").split(b"\n"), start=1):
        if not line:
            continue
        try:
            row = json.loads(line)
            if not isinstance(row, dict):
                raise ValueError("not an object")
        except (ValueError, RecursionError) as error:
            raise DataError(
                "this line of an artefact is not a JSON object", path=path, line=number, found=str(error),
                mend=f"Redo its stage: --from-stage {_stage_of(path)}.",
            ) from error  # fmt: skip
        rows.append(row)
    return rows


def lines(rows: Iterable[Plain]) -> str:
    """Rows as JSON Lines."""
    return "".join(to_json(row) + "\n" for row in rows)


def sha256(content: bytes) -> str:
    """64 hexadecimal digits."""
    return hashlib.sha256(content).hexdigest()


def _clear(folder: Path, keep: Iterable[Path]) -> None:
    """Remove what earlier settings left: a list of another depth must not be taken for this one."""
    kept = set(keep)
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path not in kept and path.name not in (MANIFEST, SUCCESS):
            path.unlink()


def _stage_of(path: Path) -> str:
    return next((stage for stage, name in STAGES.items() if name in path.parts), "S1")
