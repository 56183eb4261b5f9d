"""The tables of SAGE's page: values over small marks, values on a heat, and the paper's tables beside ours."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from embassay.document.marks import Scale, scale_of
from embassay.document.tables import STEPS, step_of
from embassay.protocols.kernel import tables as numbers
from embassay.protocols.sage.tables import GROUPS, Table, tables
from embassay.records import Result
from embassay.report.board import TOP, Board, Row, Task, Value, ends, item_count, missing_value, task_value
from embassay.report.cards.findings import trivial_value
from embassay.report.record import OVERALL, Record
from embassay.report.sage.conclusions import BY_NAME, TASKS


@dataclass(frozen=True)
class Wanted:
    """A column to look up: a measure and variant on one dataset."""

    heading: str
    measure: str
    dataset: str
    variant: str = ""


@dataclass(frozen=True)
class ValueRow:
    """The values of a system; `is_more` beyond the first twelve."""

    row: Row
    values: tuple[Value, ...]
    is_more: bool


@dataclass(frozen=True)
class ValueTable:
    """A table; `title` names what its columns share (a dataset, a task), `id` the table in the page."""

    id: str
    title: str
    columns: tuple[tuple[str, Scale], ...]
    rows: tuple[ValueRow, ...]

    def step(self, column: int, value: Value) -> int:
        """Which fifth of the column's scale a value lies in, 1 to 5; 0 where it is missing."""
        return 0 if value.value is None else step_of(self.columns[column][1].at(value.value) / 100)


def value_table(
    record: Record, board: Board, task: str, wanted: Sequence[Wanted], *, title: str, name: str
) -> ValueTable | None:
    """The columns that at least one system has a row for; None if there is none."""
    rows = board.by_task(task)
    columns = [one for one in wanted if any(_find(record, task, row, one) is not None for row in rows)]
    if not columns:
        return None
    contenders = sum(row.system.ranked for row in rows)
    made = tuple(
        ValueRow(
            row,
            tuple(_value(record, task, row, one) for one in columns),
            contenders > TOP and TOP <= i < contenders,
        )
        for i, row in enumerate(rows)
    )
    scales = [scale_of(ends(one.values[i] for one in made)) for i in range(len(columns))]
    headings = tuple((one.heading, scale) for one, scale in zip(columns, scales, strict=True))
    return ValueTable(name, title, headings, made)


def _find(record: Record, task: str, row: Row, one: Wanted) -> Result | None:
    return record.find(task, row.system.name, one.measure, dataset=one.dataset, variant=one.variant)


def _value(record: Record, task: str, row: Row, one: Wanted) -> Value:
    result = _find(record, task, row, one)
    if result is not None and result.value is not None:
        return Value("value", result)
    cells = [cell for cell in record.cells_of(task, row.system.name) if cell.dataset == one.dataset]
    return missing_value(record, cells, result)


@dataclass(frozen=True)
class HeatColumn:
    """A column: a row of results by its measure and variant, under a group heading if it has one; `below` are variants
    whose values stand under it in the same cell."""

    heading: str
    measure: str
    variant: str
    group: str = ""
    below: tuple[str, ...] = ()


@dataclass(frozen=True)
class HeatCell:
    """A value, its text and its step from 1 to 5; step 0 where it is missing."""

    value: Value
    text: str
    step: int


@dataclass(frozen=True)
class HeatRow:
    """The cells of a system; `is_more` beyond the first twelve."""

    row: Row
    cells: tuple[HeatCell, ...]
    is_more: bool

    @property
    def missing(self) -> Value | None:
        """Why the whole row is missing, if it is."""
        return self.cells[0].value if all(cell.step == 0 for cell in self.cells) else None


@dataclass(frozen=True)
class Heat:
    """A heat table of one dataset, its title. `groups` are headings with how many columns they span."""

    title: str
    columns: tuple[HeatColumn, ...]
    groups: tuple[tuple[str, int], ...]
    rows: tuple[HeatRow, ...]
    n: str
    half_width: float | None
    in_percent: bool

    @property
    def is_stacked(self) -> bool:
        """Whether a cell has several values, one below the other."""
        return any(column.below for column in self.columns)

    @property
    def caption(self) -> str:
        """How many items, and the widest interval of a ranked system."""
        if self.half_width is None:
            return f"{self.n}; no intervals."
        width = f"{100 * self.half_width:.1f} points" if self.in_percent else numbers.score(self.half_width)
        return f"{self.n}; widest 95% half-width {width}."


Printed = Callable[[float], str]


def heats(
    record: Record, board: Board, task: str, columns: Sequence[HeatColumn], printed: Printed = numbers.percent
) -> tuple[Heat, ...]:
    """A heat table per dataset of the task; columns without any row are left out."""
    made = (_heat(record, board, task, dataset, columns, printed) for dataset in record.datasets(task))
    return tuple(heat for heat in made if heat.columns)


def two_decimals(value: float) -> str:
    """How shares of a score and similarities are printed in a heat cell."""
    return numbers.score(value, 2)


def _heat(
    record: Record, board: Board, task: str, dataset: str, columns: Sequence[HeatColumn], printed: Printed
) -> Heat:
    rows = board.by_task(task)
    found = {
        (row.system.name, column): [
            record.find(task, row.system.name, column.measure, dataset=dataset, variant=variant)
            for variant in (column.variant, *column.below)
        ]
        for row in rows
        for column in columns
    }
    shown = [c for c in columns if any(found[row.system.name, c][0] is not None for row in rows)]
    contenders = sum(row.system.ranked for row in rows)
    made = [
        HeatRow(
            row,
            tuple(
                _heat_cell(record, task, dataset, row, found[row.system.name, column], printed)
                for column in shown
            ),
            contenders > TOP and TOP <= i < contenders,
        )
        for i, row in enumerate(rows)
    ]
    contending = {row.system.name for row in rows if row.system.ranked}
    results = [
        result
        for (system, _), stack in found.items()
        for result in stack
        if system in contending and result is not None and result.value is not None
    ]
    return Heat(
        dataset,
        tuple(shown),
        _groups(shown),
        tuple(made),
        _n(results),
        _widest(results),
        printed is numbers.percent,
    )


def _heat_cell(
    record: Record, task: str, dataset: str, row: Row, stack: Sequence[Result | None], printed: Printed
) -> HeatCell:
    """The ground, and the value that is sorted by, are those of the mean where several stand in the cell."""
    result = stack[0]
    known = [one.value for one in stack if one is not None and one.value is not None]
    if result is not None and len(known) == len(stack):
        mean = sum(known) / len(known)
        shown = result if len(stack) == 1 else replace(result, value=mean, ci_low=None, ci_high=None)
        step = min(STEPS, max(1, 1 + int(mean * STEPS)))
        return HeatCell(Value("value", shown), "\n".join(map(printed, known)), step)
    cells = [cell for cell in record.cells_of(task, row.system.name) if cell.dataset == dataset]
    value = missing_value(record, cells, result)
    return HeatCell(value, value.text, 0)


def _groups(columns: Sequence[HeatColumn]) -> tuple[tuple[str, int], ...]:
    if not any(column.group for column in columns):
        return ()
    groups: list[tuple[str, int]] = []
    for column in columns:
        if groups and groups[-1][0] == column.group:
            groups[-1] = (column.group, groups[-1][1] + 1)
        else:
            groups.append((column.group, 1))
    return tuple(groups)


def _n(results: Sequence[Result]) -> str:
    counts = sorted({result.n for result in results})
    if not counts:
        return "Nothing finished yet"
    if len(counts) == 1:
        return f"n = {numbers.count(counts[0])} per row"
    return f"n from {numbers.count(counts[0])} to {numbers.count(counts[-1])} per row"


def _widest(results: Sequence[Result]) -> float | None:
    halves = [
        (result.ci_high - result.ci_low) / 2
        for result in results
        if result.ci_low is not None and result.ci_high is not None
    ]
    return max(halves, default=None)


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
            (
                board.row(system),
                tuple(_paper_cell(record, board, table, system, i) for i in range(len(values))),
            )
            for row_kind, system, values in _in_order(board, table)
            if row_kind == kind
        )
        if rows:
            groups.append((heading, rows))
    return PaperTable(table.name, table.title, table.columns, tuple(groups))


def _in_order(board: Board, table: Table) -> list[tuple[str, str, tuple[float | None, ...]]]:
    place = {row.system.name: i for i, row in enumerate(board.rows)}
    return sorted(table.rows, key=lambda row: place[row[1]])


def _paper_cell(record: Record, board: Board, table: Table, system: str, place: int) -> PaperCell:
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


@dataclass(frozen=True)
class PanelRow:
    """A system in a panel."""

    row: Row
    value: Value


@dataclass(frozen=True)
class Panel:
    """A task's panel; `rest` are the systems beyond the first twelve, drawn as ticks until asked for."""

    task: Task
    subtitle: str
    scale: Scale
    rows: tuple[PanelRow, ...]
    rest: tuple[PanelRow, ...]
    trivial: float | None


def panels(record: Record, board: Board) -> tuple[Panel, ...]:
    """A panel for each task of the run."""
    return tuple(_panel(record, board, i) for i in range(len(board.tasks)))


def _panel(record: Record, board: Board, place: int) -> Panel:
    task = board.tasks[place]
    rows = [
        PanelRow(row, row.tasks[place])
        for row in board.by_task(task.name)
        if row.system.ranked and row.tasks[place].value is not None
    ]
    trivial = trivial_value(record, task)
    points = [*ends(one.value for one in rows), *([] if trivial is None else [trivial])]
    return Panel(
        task, _subtitle(record, task, rows), scale_of(points), tuple(rows[:TOP]), tuple(rows[TOP:]), trivial
    )


def _subtitle(record: Record, task: Task, rows: list[PanelRow]) -> str:
    """What the value is, on which data, and how many items stand behind it."""
    datasets = record.datasets(task.name)
    where = numbers.counted(len(datasets), "dataset") if len(datasets) > 1 else datasets[0]
    counts = {item_count(record, task, one.row.system.name) for one in rows}
    n = f", {numbers.count(counts.pop())} {task.items}" if len(counts) == 1 else ""
    return f"{task.unit}; {where}{n}"
