"""The headlines of a run with their replicates, in a file: what comparisons and gates are made of later."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embassay.errors import DataError
from embassay.parquet import read_parquet
from embassay.protocols.comparisons import Headline
from embassay.records import Stratum
from embassay.runs.folder import write_columns

FILE = "headlines.parquet"
OVERALL = "overall"
RANKED, CLASSICAL, REFERENCE = "", "classical", "reference"
"""Groups of systems: those of one group were scored by one method. References are never ranked."""


@dataclass(frozen=True)
class Standing:
    """A system's value at a place of a run: for a task or `overall`, over datasets (`dataset` empty) or on one."""

    task: str
    dataset: str
    measure: str
    headline: Headline
    group: str = RANKED

    @property
    def system(self) -> str:
        """Whose it is."""
        return self.headline.system

    @property
    def place(self) -> tuple[str, str, str]:
        """Task, dataset and measure: what values can be compared at."""
        return self.task, self.dataset, self.measure


def write_standings(folder: Path, standings: Iterable[Standing]) -> None:
    """Write `headlines.parquet` of a run; nothing where there are none."""
    rows = [_row(one) for one in standings]
    if rows:
        write_columns(folder / FILE, {name: [row[name] for row in rows] for name in rows[0]})


def read_standings(folder: Path) -> tuple[Standing, ...]:
    """The standings of a run in the order of the file; empty where it has none. DataError for a broken file."""
    path = folder / FILE
    if not path.is_file():
        return ()
    try:
        return tuple(_standing(row) for row in read_parquet(path).iter_rows(named=True))
    except (DataError, OSError, ValueError, KeyError, TypeError) as error:
        found = error.found or error.what if isinstance(error, DataError) else str(error)
        raise DataError(
            "The headlines cannot be read", path=path, found=found[:80],
            mend="Run the same command again: it writes them from the finished cells.",
        ) from error  # fmt: skip


def by_place(standings: Sequence[Standing]) -> Mapping[tuple[str, str, str], Sequence[Standing]]:
    """The standings at each place, places in their order."""
    found: dict[tuple[str, str, str], list[Standing]] = {}
    for one in standings:
        found.setdefault(one.place, []).append(one)
    return found


def _row(one: Standing) -> dict[str, Any]:
    headline = one.headline
    # Text keeps every bit of a number, and reads the same on any machine.
    replicates = json.dumps(_numbers(headline.replicates))
    return {
        "task": one.task, "dataset": one.dataset, "measure": one.measure, "group": one.group,
        "system": headline.system, "value": headline.value, "n": str(headline.n), "method": headline.method,
        "reason": headline.reason, "replicates": replicates, "strata": _strata_text(headline.strata),
        "bounds": json.dumps([end if math.isfinite(end) else None for end in headline.bounds]),
    }  # fmt: skip


def _standing(row: Mapping[str, Any]) -> Standing:
    headline = Headline(
        row["system"], row["value"], int(row["n"]), _array(json.loads(row["replicates"])), row["method"],
        row["reason"], _strata(row.get("strata") or "[]"), _bounds(row.get("bounds") or "[null, null]"),
    )  # fmt: skip
    return Standing(row["task"], row["dataset"], row["measure"], headline, row["group"])


def _bounds(text: str) -> tuple[float, float]:
    least, most = json.loads(text)
    return -math.inf if least is None else least, math.inf if most is None else most


def _strata_text(strata: Sequence[Stratum]) -> str:
    """Six digits are plenty: the draws only tell how much of the variance is a stratum's."""
    short = [
        (one.units, [value and float(f"{value:.6g}") for value in _numbers(one.draws)]) for one in strata
    ]
    return json.dumps(short)


def _strata(text: str) -> tuple[Stratum, ...]:
    return tuple(Stratum(units, _array(draws)) for units, draws in json.loads(text))


def _numbers(values: NDArray[np.float64]) -> list[float | None]:
    return [None if value != value else value for value in values.tolist()]


def _array(values: Sequence[float | None]) -> NDArray[np.float64]:
    return np.array([np.nan if value is None else value for value in values], dtype=np.float64)
