"""The runs that one report tells of, read together: their systems share one numbering."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

from semblance.errors import UsageError
from semblance.report.board import Board, Row, make_board
from semblance.report.names import labels
from semblance.report.record import KINDS, Record, System, read_record

TITLES = {
    "sage": "SAGE", "pteb": "PTEB", "judge": "Judges", "paraphrasers": "Paraphrasers",
    "validation": "Validation", "golden": "Golden set", "score": "RAG",
    "sweep": "Sweep", "names": "Names", "noise": "Noise", "hume": "HUME",
}  # fmt: skip


@dataclass(frozen=True)
class Run:
    """One run of a report. `mark` ends the ids of its parts where every run has such a part; the first has none."""

    record: Record
    board: Board
    mark: str = ""

    @property
    def title(self) -> str:
        """What its protocol or command is called."""
        return TITLES.get(self.record.kind, self.record.kind)


def read_runs(paths: Sequence[Path]) -> tuple[Run, ...]:
    """The runs in the order of a report. DataError for a folder without a run, UsageError for two of one kind."""
    records = sorted((read_record(path) for path in paths), key=_place)
    for first, second in pairwise(records):
        if first.kind == second.kind:
            raise UsageError(
                f"{first.path} and {second.path} are both {TITLES.get(first.kind, first.kind)} runs: one report "
                "tells of one run of a kind.",
                mend="Write a report of each.",
            )
    return gathered(records)


def gathered(records: Sequence[Record]) -> tuple[Run, ...]:
    """The records with their boards. A system has the same number and label in all of them."""
    numbered = {name: i for i, name in enumerate(dict.fromkeys(_names(records)))}
    made = []
    for place, record in enumerate(records):
        systems = tuple(replace(one, index=numbered[one.name]) for one in record.systems)
        shared = record if len(records) == 1 else replace(record, systems=systems)
        made.append(Run(shared, make_board(shared), f"-{record.kind}" if place else ""))
    return tuple(made)


def systems_of(runs: Sequence[Run]) -> tuple[tuple[System, str], ...]:
    """Every system of the report by its number, with its label."""
    found = {system.index: system for run in reversed(runs) for system in run.record.systems}
    label = labels([found[index].name for index in sorted(found)])
    return tuple((found[index], label[found[index].name]) for index in sorted(found))


def rows_of(runs: Sequence[Run]) -> tuple[Row, ...]:
    """The board rows of every system, in the order of the boards, each system once."""
    found: dict[str, Row] = {}
    for run in runs:
        for row in run.board.rows:
            found.setdefault(row.system.name, row)
    return tuple(sorted(found.values(), key=lambda row: not row.system.ranked))


def _names(records: Iterable[Record]) -> list[str]:
    return [system.name for record in records for system in record.systems]


def _place(record: Record) -> tuple[int, str]:
    known = KINDS.index(record.kind) if record.kind in KINDS else len(KINDS)
    return known, record.kind
