"""The paper's tables 1 to 6 and ours beside them, as the run wrote them, with what may be set in bold."""

from __future__ import annotations

from dataclasses import dataclass

from embassay.protocols.sage.tables import GROUPS, Table, tables
from embassay.report.board import Board, Row, Value, task_value
from embassay.report.record import OVERALL, Record
from embassay.report.sage.tasks import BY_NAME, TASKS

PAPER = ("sage_table1", "sage_table2", "sage_table3", "sage_table4", "sage_table5", "sage_table6")
SCOPES = {
    "Clustering": "clustering", "Human Pref.": "preference", "Robustness": "robustness",
    "Sensitivity": "sensitivity", "Retrieval": "retrieval", "Overall": OVERALL,
}  # fmt: skip
MEASURES = {task.headline for task in TASKS} | {OVERALL, "accuracy", "precision", "recall", "f1", "score"}
"""All that tables 1 to 6 are made of; a run has ten times as many rows."""


@dataclass(frozen=True)
class PaperCell:
    """A value to three decimals or `n/a`; bold when it is the best or cannot be told apart from it."""

    exact: float | None
    bold: bool
    value: Value | None = None


@dataclass(frozen=True)
class PaperTable:
    """A table in the paper's layout: groups of systems, each with its rows."""

    id: str
    title: str
    columns: tuple[str, ...]
    groups: tuple[tuple[str, tuple[tuple[Row, tuple[PaperCell, ...]], ...]], ...]


def paper_tables(record: Record, board: Board) -> tuple[PaperTable, ...]:
    """Tables 1 to 6, as far as the run has their tasks."""
    kinds = {system.name: system.kind for system in record.systems}
    rows = [row for row in record.rows.values() if row.measure in MEASURES and row.variant.count("=") == 0]
    made = {table.name: table for table in tables(rows, kinds)}
    return tuple(_paper(record, board, made[name]) for name in PAPER if name in made and made[name].columns)


def _paper(record: Record, board: Board, table: Table) -> PaperTable:
    groups = []
    for kind, heading in GROUPS:
        rows = tuple(
            (board.row(system), tuple(_cell(record, board, table, system, i) for i in range(len(values))))
            for row_kind, system, values in _in_order(board, table)
            if row_kind == kind
        )
        if rows:
            groups.append((heading, rows))
    return PaperTable(table.name, table.title, table.columns, tuple(groups))


def _in_order(board: Board, table: Table) -> list[tuple[str, str, tuple[float | None, ...]]]:
    place = {row.system.name: i for i, row in enumerate(board.rows)}
    return sorted(table.rows, key=lambda row: place[row[1]])


def _cell(record: Record, board: Board, table: Table, system: str, place: int) -> PaperCell:
    values = next(values for _, name, values in table.rows if name == system)
    scope = _scope(record, table, place)
    bold = scope in record.scopes and system in record.scope(scope).best
    value = _with_interval(record, board, system, scope) if scope else None
    return PaperCell(values[place], bold, value)


def _scope(record: Record, table: Table, place: int) -> str:
    """The scope whose tests cover a column: table 1's tasks, and table 4 when robustness has one dataset."""
    if table.name == "sage_table1":
        return SCOPES[table.columns[place]]
    return "robustness" if table.name == "sage_table4" and len(record.datasets("robustness")) == 1 else ""


def _with_interval(record: Record, board: Board, system: str, scope: str) -> Value | None:
    if scope == OVERALL:
        row = record.find(OVERALL, system, OVERALL)
        return Value("value" if row is not None and row.value is not None else "undefined", row)
    if scope not in {task.name for task in board.tasks}:
        return None
    return task_value(record, record.by_name[system], BY_NAME[scope])
