"""The board: every system with its label, rank range, leading score and one value per task; a panel per task."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Literal

from embassay.contracts import Kind
from embassay.document.blocks import (
    Block,
    Column,
    Heading,
    LabelledTableRow,
    PageLink,
    ParagraphBlock,
    Sentence,
    StyledBlockGroup,
    StyledWords,
    SystemNameInSentence,
    Table,
    TableCell,
    choose_heat_step,
)
from embassay.document.marks import LinearScale, draw_interval_mark, draw_system_kind_sign, fit_axis_scale
from embassay.protocols.kernel import tables as numbers
from embassay.protocols.kernel.claims import select_names_above_references
from embassay.protocols.kernel.tables import POINTS, SCORE, MeasureFormat
from embassay.records import ResultRow
from embassay.report.record import APART, FEW, KINDS, OVERALL, RunCellStatus, RunRecord, SystemOfRun

PLACES = {
    "sage": "embassay.report.sage.tables",
    "pteb": "embassay.report.pteb.conclusions",
    "original": "embassay.report.pteb.conclusions",
    "hteb": "embassay.report.pteb.conclusions",
}
DECLARED = ("calibration", "sessions", "versions")
"""Kinds whose tasks are those that their rows name, as those of a protocol of another package."""


@dataclass(frozen=True)
class BoardTask:
    """One task in words. `trivial` is a value that needs no understanding, a constant or a reference's; `printed` says
    how values are written."""

    name: str
    title: str
    short: str
    headline: str
    unit: str
    items: str
    superlative: str
    how: str
    caution: str = ""
    trivial: float | None = None
    trivial_label: str = ""
    trivial_system: str = ""
    printed: MeasureFormat = SCORE


def is_protocol_with_task_board(kind: str) -> bool:
    """Whether a run of this kind has a board of tasks: SAGE, PTEB, HTEB, and every protocol of another package."""
    return kind in PLACES or kind in DECLARED or kind not in KINDS


def list_protocol_tasks(record: RunRecord) -> tuple[BoardTask, ...]:
    """Every task of the run's protocol, in the order of its page."""
    if record.kind not in PLACES:
        return tuple(_list_external_protocol_tasks(record)) if is_protocol_with_task_board(record.kind) else ()
    place = import_module(PLACES[record.kind])
    tasks: tuple[BoardTask, ...] = place.describe_tasks(record) if hasattr(place, "describe_tasks") else place.TASKS
    return tasks


def _list_external_protocol_tasks(record: RunRecord) -> Iterator[BoardTask]:
    """The tasks of a protocol of another package as its rows name them: the measure is that of scores over datasets."""
    names = dict.fromkeys([cell.task for cell in record.cells] + [key[0] for key in record.rows])
    for name in names:
        measures = (key[5] for key in record.rows if key[0] == name and not any(key[1:4]))
        title, headline = name.replace("_", " ").capitalize(), next(measures, "")
        if name != OVERALL:
            words = headline.replace("_", " ")
            yield BoardTask(
                name,
                title,
                title,
                headline,
                words,
                "items",
                f"is best at {title.lower()}",
                f"{words}.",
                trivial_system="random",
            )


def list_run_tasks(record: RunRecord) -> tuple[BoardTask, ...]:
    """The tasks that the run has, in the order of the page."""
    return tuple(task for task in list_protocol_tasks(record) if record.datasets(task.name))


def count_items_of_system_score(record: RunRecord, task: BoardTask, system: str) -> int:
    """How many items a system's score on a task rests on: the sum over its datasets."""
    rows = (record.find(task.name, system, task.headline, dataset=data) for data in record.datasets(task.name))
    return sum(row.n for row in rows if row is not None and row.value is not None)


ZERO = re.compile(r"-?0\.\d")
State = Literal["value", "failed", "running", "partial", "not run", "undefined", "none"]
WORDS: dict[State, str] = {
    "failed": "✕ failed", "running": "◔ running", "partial": "◐ partial", "not run": "not run",
    "undefined": "n/a", "none": numbers.NONE
}  # fmt: skip


@dataclass(frozen=True)
class BoardValue:
    """A cell of the board: a value with its interval, or the state that stands there, with its reason."""

    state: State
    row: ResultRow | None = None
    best: bool = False
    reason: str = ""
    few: bool = False
    """Whether so few items stand behind the value that it is shown grey."""
    unit: MeasureFormat = SCORE

    @property
    def value(self) -> float | None:
        """The exact value, None where there is none."""
        return self.row.value if self.row is not None else None

    @property
    def text(self) -> str:
        """The value with the decimals of its unit, or the word of its state."""
        return WORDS[self.state] if self.value is None else self.unit.text(self.value)

    @property
    def interval(self) -> str:
        """The 95% interval, empty where there is none."""
        row = self.row
        return (
            ""
            if row is None or row.ci_low is None or row.ci_high is None
            else self.unit.interval(row.ci_low, row.ci_high)
        )

    @property
    def exact(self) -> str:
        """The value (and its interval) in its unit, for sorting and CSV, without zeros before the point."""
        row = self.row
        if row is None or row.value is None:
            return ""
        bounded = row.ci_low is not None and row.ci_high is not None
        values = [row.value, *((row.ci_low or 0.0, row.ci_high or 0.0) if bounded else ())]
        words = (f"{end * self.unit.factor:.6g}" for end in values)
        # A zero less in each cell: a page of many cells is kilobytes smaller.
        return ",".join(word.replace("0.", ".", 1) if ZERO.match(word) else word for word in words)

    @property
    def sentence(self) -> Sentence:
        """The value's text; of one that is missing the word of its state, and why."""
        if self.value is not None:
            return (self.text,)
        word = StyledWords(self.text, f"state {self.state.replace(' ', '-')}")
        return (word, *((" ", StyledWords(self.reason, "small")) if self.reason else ()))


def collect_values_and_ends(values: Iterable[BoardValue]) -> list[float]:
    """All values and ends of intervals, for a scale."""
    rows = [value.row for value in values if value.row is not None]
    return [end for row in rows for end in (row.value, row.ci_low, row.ci_high) if end is not None]


@dataclass(frozen=True)
class BoardRow:
    """One system on the board; `rank` is empty for an unranked one, `note` stands in for its score."""

    system: SystemOfRun
    label: str
    rank: str
    lead: BoardValue
    tasks: tuple[BoardValue, ...]
    note: str = ""


@dataclass(frozen=True)
class SystemBoard:
    """The systems: ranked ones best first, those ranked apart because another method stands behind their score, those
    with a task missing, references.

    `lead` names the scope of the leading score: `overall`, or the first task when no system can have that.
    """

    lead: str
    lead_title: str
    tasks: tuple[BoardTask, ...]
    ranked: tuple[BoardRow, ...]
    unranked: tuple[BoardRow, ...]
    references: tuple[BoardRow, ...]
    apart: tuple[BoardRow, ...] = ()
    unit: MeasureFormat = SCORE

    @property
    def rows(self) -> tuple[BoardRow, ...]:
        """The rows of all systems, in the order of the board."""
        return self.ranked + self.apart + self.unranked + self.references

    @property
    def has_ranks(self) -> bool:
        """Whether the tests allowed ranks."""
        return any(row.rank for row in self.ranked)

    def row(self, system: str) -> BoardRow:
        """Find the row of the system called `system`."""
        return next(row for row in self.rows if row.system.name == system)

    def name_system_in_sentence(self, system: str) -> SystemNameInSentence:
        """The system's name, for a sentence."""
        return name_row_system_in_sentence(self.row(system))

    def sort_rows_by_score_on_task(self, name: str) -> tuple[BoardRow, ...]:
        """The rows by their value on a task, best first; then those without one; references last."""
        place = next(i for i, task in enumerate(self.tasks) if task.name == name)

        def make_sort_key(row: BoardRow) -> tuple[bool, bool, float]:
            value = row.tasks[place].value
            return (not row.system.ranked, value is None, -(value or 0.0))

        return tuple(sorted(self.rows, key=make_sort_key))


def list_possible_leaders_above_reference(board: SystemBoard, names: Sequence[str], task: str = "") -> tuple[str, ...]:
    """Of the systems that the tests let be first, on a task or by the leading score, those that score above every
    reference, which knows nothing; all of them where none does."""
    place = next((i for i, other in enumerate(board.tasks) if other.name == task), None)

    def value(row: BoardRow) -> float | None:
        return row.lead.value if place is None or task == board.lead else row.tasks[place].value

    floor = max((known for row in board.references if (known := value(row)) is not None), default=None)
    return select_names_above_references(names, lambda name: value(board.row(name)), floor)


def build_record_board(record: RunRecord) -> SystemBoard:
    """The board of a record."""
    tasks = list_run_tasks(record)
    lead = choose_leading_scope(record)
    title = "Overall" if lead == OVERALL else next((task.short for task in tasks if task.name == lead), "Overall")
    label_of = record.system_labels
    rows = [_make_board_row(record, system, lead, tasks, label_of[system.name]) for system in record.systems]
    complete = [row for row in rows if row.system.ranked and row.lead.value is not None]
    # The tests' own order and not the values': a page and comparisons.json must agree in ties.
    complete = _order_board_rows(record, lead, complete)
    aside = (
        ()
        if record.find_task_comparisons(lead).name.endswith(APART)
        else record.find_task_comparisons(lead + APART).systems
    )
    missing = [row for row in rows if row.system.ranked and row.lead.value is None]
    references = [row for row in rows if not row.system.ranked]
    return SystemBoard(
        lead, title, tasks,
        tuple(row for row in complete if row.system.name not in aside),
        tuple(missing), tuple(references),
        tuple(row for row in complete if row.system.name in aside),
        tasks[0].printed if tasks else SCORE
    )  # fmt: skip


def _order_board_rows(record: RunRecord, lead: str, rows: list[BoardRow]) -> list[BoardRow]:
    """Complete rows in the order of their scope, then by value."""
    names = (*record.find_task_comparisons(lead).systems, *record.find_task_comparisons(lead + APART).systems)
    # Backwards, so that a name in both scopes keeps its first place.
    order = {name: place for place, name in reversed(list(enumerate(names)))}
    return sorted(rows, key=lambda row: (order.get(row.system.name, len(order)), -(row.lead.value or 0)))


def choose_leading_scope(record: RunRecord) -> str:
    """`overall`; in a run whose tasks are too few for one, the first that a ranked system has finished."""
    tasks, names = list_run_tasks(record), [system.name for system in record.list_non_reference_systems]
    beyond = getattr(import_module(PLACES[record.kind]), "BEYOND", ()) if record.kind in PLACES else ()
    counted = {task.name for task in tasks} - {task.name for task in beyond}
    # SAGE's overall score needs all five of its tasks; others have one from two on.
    if len(counted) >= (5 if record.kind == "sage" else 2):
        return OVERALL
    done = (
        task.name for task in tasks if any(record.value(task.name, name, task.headline) is not None for name in names)
    )
    return next(done, OVERALL)


def find_task_value(record: RunRecord, system: SystemOfRun, task: BoardTask) -> BoardValue:
    """A system's headline on a task, or the state that stands there instead."""
    row = record.find(task.name, system.name, task.headline)
    if row is not None and row.value is not None:
        best = system.ranked and system.name in record.find_task_comparisons(task.name).best
        few = count_items_of_system_score(record, task, system.name) < FEW
        return BoardValue("value", row, best, few=few, unit=task.printed)
    return make_missing_board_value(record, record.list_system_cells_of_task_by_dataset(task.name, system.name), row)


def make_missing_board_value(record: RunRecord, cells: Sequence[RunCellStatus], row: ResultRow | None) -> BoardValue:
    """Why there is no value: a failed cell first, then one not done, then the measure's own reason."""
    failed = [cell for cell in cells if cell.status == "failed"]
    waiting = [cell for cell in cells if cell.status == "not run"]
    if failed:
        where = f"{failed[0].dataset}: " if len(cells) > 1 else ""
        return BoardValue("failed", reason=where + (failed[0].reason or "no reason was recorded"))
    if waiting:
        running = record.manifest.get("status") == "running"
        state: State = "running" if running else "partial" if len(waiting) < len(cells) else "not run"
        done = f"{len(cells) - len(waiting)} of {len(cells)} datasets" if len(cells) > 1 else ""
        return BoardValue(state, reason=done)
    if not cells and row is None:
        return BoardValue("none", reason="not part of the run")
    return BoardValue("undefined", reason=row.reason if row is not None and row.reason else "no value was recorded")


def _make_board_row(
    record: RunRecord, system: SystemOfRun, lead: str, tasks: tuple[BoardTask, ...], label: str
) -> BoardRow:
    values = tuple(find_task_value(record, system, task) for task in tasks)
    ranges = record.rank_range(lead, system.name)
    rank = numbers.format_rank_range(*ranges) if ranges and system.ranked else ""
    if lead != OVERALL:
        place = [task.name for task in tasks].index(lead)
        return BoardRow(system, label, rank, values[place], values)
    row = record.find(OVERALL, system.name, OVERALL)
    if row is not None and row.value is not None:
        best = system.ranked and system.name in record.find_task_comparisons(OVERALL).best
        unit = tasks[0].printed if tasks else SCORE
        return BoardRow(system, label, rank, BoardValue("value", row, best, unit=unit), values)
    return BoardRow(
        system,
        label,
        "",
        BoardValue("undefined", reason=row.reason if row else ""),
        values,
        _describe_partial_mean(record, system, tasks, values),
    )


def _describe_partial_mean(
    record: RunRecord, system: SystemOfRun, tasks: tuple[BoardTask, ...], values: tuple[BoardValue, ...]
) -> str:
    row = record.find(OVERALL, system.name, "mean_of_present")
    if row is None or row.value is None:
        if finished := sum(value.value is not None for value in values):
            return f"{finished} of {numbers.format_noun_count(len(tasks), 'task')} finished"
        headlines = {task.name: task.headline for task in tasks}
        some = any(
            dataset and not variant and name == system.name and headlines.get(of) == measure
            for (of, dataset, _, variant, name, measure), result in record.rows.items()
            if result.value is not None
        )
        if some:
            return "no task has all its datasets"
        # What ended without a value has a reason; what did not end has none yet.
        why = (
            result.reason
            for (of, _, _, _, name, measure), result in record.rows.items()
            if name == system.name and headlines.get(of) == measure and result.reason
        )
        ended = all(cell.status == "done" for cell in record.cells if cell.system == system.name)
        return (next(why, "") if ended else "") or "no finished task"
    counted = f"{row.n} finished tasks" if row.n > 1 else "one finished task"
    return f"mean of the {counted} {numbers.format_score(row.value)}"


TOP = 12


MOST_MISSING = 12


def make_blocks_of_missing_values(record: RunRecord, board: SystemBoard) -> Iterator[Block]:
    """Every value of the board that is missing, with its reason, and how to go on; nothing where all are there."""
    missing = [
        (row, task, value)
        for row in (*board.ranked, *board.unranked)
        for task, value in zip(board.tasks, row.tasks, strict=True)
        if value.value is None
    ]
    if not missing:
        return
    blocks: list[Block] = []
    for row, task, value in missing[:MOST_MISSING]:
        of = task.short if task.printed is POINTS else task.short.lower()
        blocks.append(
            ParagraphBlock(
                (draw_system_kind_sign(row.system.kind), SystemNameInSentence(row.label), f", {of}: ", *value.sentence),
                "",
            )
        )
    if more := len(missing) - MOST_MISSING if len(missing) > MOST_MISSING else 0:
        blocks.append(ParagraphBlock((f"and {more} more: ", PageLink("all notes", "method-notes")), ""))
    if command := record.manifest.get("command", ""):
        blocks.append(ParagraphBlock((StyledWords(command, "command"), " continues from the last finished cell."), ""))
    yield StyledBlockGroup("panel", (Heading("Missing here", level=3), *blocks))


def name_row_system_in_sentence(row: BoardRow) -> SystemNameInSentence:
    """The row's system, for a sentence."""
    return SystemNameInSentence(row.label, row.system.index)


@dataclass(frozen=True)
class WantedColumn:
    """A column to look up: a measure and variant, on one dataset where the table is of several, under the name of its
    group if it has one; `below` are variants whose values stand under it in the same cell. On a heat, `ideal` is what
    the value should be: a number, or `above` or `below` for that side of the summary; `is_less_better` where a value
    above the number is the worse mistake."""

    heading: str
    measure: str
    variant: str = ""
    group: str = ""
    below: tuple[str, ...] = ()
    dataset: str = ""
    ideal: float | Literal["above", "below"] | None = None
    is_less_better: bool = False


def make_system_values_table(
    record: RunRecord, board: SystemBoard, task: BoardTask, wanted: Sequence[WantedColumn], *, name: str, title: str,
    is_shaded: bool = False
) -> Table | None:  # fmt: skip
    """The columns that at least one system has a row for, each on its own scale: over small marks, or `is_shaded` on a
    ground by their place in the column; None if there is none."""
    rows = board.sort_rows_by_score_on_task(task.name)
    shown = [
        column for column in wanted if any(_find_column_result(record, task, row, column) is not None for row in rows)
    ]
    looked_up = [[_find_column_value(record, task, row, column) for column in shown] for row in rows]
    scales = [
        fit_axis_scale(collect_values_and_ends(values), factor=task.printed.factor)
        for values in zip(*looked_up, strict=True)
    ]
    lines = tuple(
        make_system_table_row(
            row,
            tuple(
                _make_shaded_value_cell(value, scale, column) if is_shaded else _make_value_mark_cell(value,
                    scale, row.system.kind)
                for value, scale, column in zip(values, scales, shown, strict=True)
            ),
            i, rows,
        )
        for i, (row, values) in enumerate(zip(rows, looked_up, strict=True))
    )  # fmt: skip
    columns = tuple(
        Column(column.heading, None if is_shaded else scale, "") for column, scale in zip(shown, scales, strict=True)
    )
    style = "heat grid lines" if is_shaded else "values"
    note = _explain_undefined_cells(rows, looked_up) if is_shaded else ""
    made = Table(name, title, "System", columns, lines, style, task.printed.decimals, is_titled=False, note=note)
    return made if shown else None


def _explain_undefined_cells(rows: Sequence[BoardRow], columns: Sequence[Sequence[BoardValue]]) -> str:
    """Why cells say n/a, each reason once with the systems that it holds of."""
    reasons: dict[str, list[str]] = {}
    for row, values in zip(rows, columns, strict=True):
        for reason in dict.fromkeys(value.reason for value in values if value.state == "undefined" and value.reason):
            reasons.setdefault(reason, []).append(row.label)
    return " ".join(f"n/a: {reason} ({', '.join(names)})." for reason, names in reasons.items())


def make_system_table_row(
    row: BoardRow, entries: tuple[TableCell, ...], place: int, rows: Sequence[BoardRow]
) -> LabelledTableRow:
    """A system's line at its place among the rows: those beyond the first twelve are shown when asked for."""
    contenders = sum(row.system.ranked for row in rows)
    more = "more" if TOP <= place < contenders else "reference" if not row.system.ranked else ""
    return LabelledTableRow(row.label, entries, row.system.kind, more, row.system.name)


def _find_column_result(record: RunRecord, task: BoardTask, row: BoardRow, want: WantedColumn) -> ResultRow | None:
    return record.find(task.name, row.system.name, want.measure, dataset=want.dataset, variant=want.variant)


def _find_column_value(record: RunRecord, task: BoardTask, row: BoardRow, column: WantedColumn) -> BoardValue:
    result = _find_column_result(record, task, row, column)
    if result is not None and result.value is not None:
        return BoardValue("value", result, unit=task.printed)
    cells = [
        cell
        for cell in record.list_system_cells_of_task_by_dataset(task.name, row.system.name)
        if cell.dataset == column.dataset
    ]
    return make_missing_board_value(record, cells, result)


def _make_value_mark_cell(value: BoardValue, scale: LinearScale, kind: Kind) -> TableCell:
    """Make a cell of a value, its mark and its interval, one under the other."""
    if value.value is None:
        return TableCell(value.sentence, why=value.reason or value.text, style="task")
    mark = draw_interval_mark(value.row, kind, scale, width=72, few=value.few)
    parts = (value.text, mark, value.interval or "no interval")
    return TableCell(parts, exact=value.exact, style="task grey" if value.few else "task", bold=value.best)


def _make_shaded_value_cell(value: BoardValue, scale: LinearScale, column: WantedColumn) -> TableCell:
    """Make a cell with a shaded ground: blue the higher, amber the higher where less is better."""
    if value.value is None:
        text = value.text if value.state == "undefined" else value.sentence
        return TableCell(text, why=value.reason or value.text)
    step = choose_heat_step(scale.at(value.value) / 100)
    if column.is_less_better:
        step = -step if value.value > 0 else 0
    return TableCell(value.text, value.interval or "no interval", value.exact, step)
