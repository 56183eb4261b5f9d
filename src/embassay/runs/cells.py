"""A cell: the smallest unit of a run that is done, kept and resumed as one."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from embassay.errors import ModelError
from embassay.records import Component, Score, Skipped, TaskOutcome
from embassay.runs.files import digest


@dataclass(frozen=True)
class Cell:
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
    components: Mapping[str, Component]
    skipped: tuple[Skipped, ...] = ()
    warnings: tuple[str, ...] = ()
    counts: Mapping[str, int] = field(default_factory=dict)
    variant: str = ""
    peak_bytes: int | None = None
    """The most memory that its process held meanwhile, everything loaded before included."""

    @property
    def done(self) -> bool:
        """Whether the cell has results (a failed one is tried again when the run resumes)."""
        return self.status == "done"


def finished(cell: Cell, outcome: TaskOutcome, seconds: float, peak_bytes: int | None = None) -> CellRecord:
    """The record of a cell that was evaluated. ModelError for a score or a part of it that is NaN or infinite: what
    has no value is None, with its reason."""
    numbers = {f"the score {one.measure} {one.variant}".strip(): one.value for one in outcome.scores}
    numbers |= {f"the part {name} of the score": part.value for name, part in outcome.components.items()}
    for name, value in numbers.items():
        if value is not None and not math.isfinite(value):
            raise ModelError(f"{name[0].upper()}{name[1:]} is {value}, which is no number.")
    return CellRecord(
        cell.key, cell.task, cell.dataset, cell.system, "done", "", seconds,
        outcome.scores, outcome.components, outcome.skipped, outcome.warnings, outcome.counts, cell.variant,
        peak_bytes,
    )  # fmt: skip


def failed(cell: Cell, reason: str, seconds: float) -> CellRecord:
    """The record of a cell that could not be evaluated, with the reason in plain words."""
    return CellRecord(
        cell.key,
        cell.task,
        cell.dataset,
        cell.system,
        "failed",
        reason,
        seconds,
        (),
        {},
        variant=cell.variant,
    )


def record_to_json(record: CellRecord) -> dict[str, Any]:
    """The record as JSON values; replicates as lists of numbers (repr keeps every bit). The `checksum` is of all the
    rest: a record that was changed by hand, or by a disk, is none."""
    components = {
        name: {
            "value": part.value,
            "n": part.n,
            "reason": part.reason,
            "replicates": _numbers(part.replicates),
            **({} if part.units is None else {"units": part.units}),
        }
        for name, part in record.components.items()
    }
    plain = asdict(CellRecord(**{**vars(record), "components": {}}))
    whole = {**plain, "components": components, "counts": dict(record.counts)}
    return {**whole, "checksum": digest(whole)}


def record_from_json(plain: Mapping[str, Any]) -> CellRecord:
    """The inverse of `record_to_json`; KeyError, TypeError or ValueError if `plain` is not one, or not as it was."""
    plain = dict(plain)
    if plain.pop("checksum") != digest(plain):
        raise ValueError("the checksum is that of another record")
    components = {
        name: Component(
            part["value"], part["n"], _array(part["replicates"]), part["reason"], part.get("units")
        )
        for name, part in plain["components"].items()
    }
    return CellRecord(
        **{
            **plain,
            "scores": tuple(Score(**score) for score in plain["scores"]),
            "components": components,
            "skipped": tuple(
                Skipped(skip["reason"], skip["count"], tuple(skip["examples"])) for skip in plain["skipped"]
            ),
            "warnings": tuple(plain["warnings"]),
        }
    )


def _numbers(values: np.ndarray[Any, np.dtype[np.float64]]) -> list[float | None]:
    return [value if value == value else None for value in values.tolist()]


def _array(values: list[float | None]) -> np.ndarray[Any, np.dtype[np.float64]]:
    return np.array([np.nan if value is None else value for value in values], dtype=np.float64)
