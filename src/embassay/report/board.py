"""The board: every system with its label, rank range, leading score and one value per task; a panel per task; and what
it says in words: filled from the same record as the tables, never by hand.

Verbs have one meaning each: *beats* (adjusted p under alpha), *cannot be told apart from* (otherwise), *may be first*
(the rank range includes 1).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Literal

from embassay.document.blocks import Command, Name, Part, Sentence, Verdict, listed
from embassay.protocols.kernel import tables as numbers
from embassay.protocols.kernel.comparisons import untold
from embassay.protocols.kernel.tables import POINTS, SCORE, Unit
from embassay.records import Result
from embassay.report.record import APART, FEW, OVERALL, Cell, Record, Scope, System, labels

PLACES = {
    "sage": "embassay.report.sage.conclusions",
    "pteb": "embassay.report.pteb.conclusions",
    "original": "embassay.report.pteb.conclusions",
}


@dataclass(frozen=True)
class Task:
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
    printed: Unit = SCORE


def all_tasks(record: Record) -> tuple[Task, ...]:
    """Every task of the run's protocol, in the order of its page."""
    if record.kind not in PLACES:
        return ()
    place = import_module(PLACES[record.kind])
    tasks: tuple[Task, ...] = place.tasks_of(record) if hasattr(place, "tasks_of") else place.TASKS
    return tasks


def present(record: Record) -> tuple[Task, ...]:
    """The tasks that the run has, in the order of the page."""
    return tuple(task for task in all_tasks(record) if record.datasets(task.name))


def item_count(record: Record, task: Task, system: str) -> int:
    """How many items a system's score on a task rests on: the sum over its datasets."""
    rows = (
        record.find(task.name, system, task.headline, dataset=dataset)
        for dataset in record.datasets(task.name)
    )
    return sum(row.n for row in rows if row is not None and row.value is not None)


State = Literal["value", "failed", "running", "partial", "not run", "undefined", "none"]
WORDS: dict[State, str] = {
    "failed": "✕ failed", "running": "◔ running", "partial": "◐ partial", "not run": "not run",
    "undefined": "n/a", "none": numbers.NONE,
}  # fmt: skip


@dataclass(frozen=True)
class Value:
    """A cell of the board: a value with its interval, or the state that stands there, with its reason."""

    state: State
    row: Result | None = None
    best: bool = False
    reason: str = ""
    few: bool = False
    """Whether so few items stand behind the value that it is shown grey."""
    unit: Unit = SCORE

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


def ends(values: Iterable[Value]) -> list[float]:
    """All values and ends of intervals, for a scale."""
    rows = [value.row for value in values if value.row is not None]
    return [end for row in rows for end in (row.value, row.ci_low, row.ci_high) if end is not None]


@dataclass(frozen=True)
class Row:
    """One system on the board; `rank` is empty for an unranked one, `note` stands in for its score."""

    system: System
    label: str
    rank: str
    lead: Value
    tasks: tuple[Value, ...]
    note: str = ""


@dataclass(frozen=True)
class Board:
    """The systems: ranked ones best first, those ranked apart because another method stands behind their score, those
    with a task missing, references.

    `lead` names the scope of the leading score: `overall`, or the first task when no system can have that.
    """

    lead: str
    lead_title: str
    tasks: tuple[Task, ...]
    ranked: tuple[Row, ...]
    unranked: tuple[Row, ...]
    references: tuple[Row, ...]
    apart: tuple[Row, ...] = ()
    unit: Unit = SCORE

    @property
    def rows(self) -> tuple[Row, ...]:
        """All rows, in the order of the board."""
        return self.ranked + self.apart + self.unranked + self.references

    @property
    def has_ranks(self) -> bool:
        """Whether the tests allowed ranks."""
        return any(row.rank for row in self.ranked)

    def row(self, system: str) -> Row:
        """The row of the system called `system`."""
        return next(row for row in self.rows if row.system.name == system)

    def by_task(self, name: str) -> tuple[Row, ...]:
        """The rows by their value on a task, best first; then those without one; references last."""
        place = next(i for i, task in enumerate(self.tasks) if task.name == name)

        def order(row: Row) -> tuple[bool, bool, float]:
            value = row.tasks[place].value
            return (not row.system.ranked, value is None, -(value or 0.0))

        return tuple(sorted(self.rows, key=order))


def make_board(record: Record) -> Board:
    """The board of a record."""
    tasks = present(record)
    lead = leading_scope(record)
    title = (
        "Overall" if lead == OVERALL else next((task.short for task in tasks if task.name == lead), "Overall")
    )
    label_of = labels([system.name for system in record.systems])
    rows = [_row(record, system, lead, tasks, label_of[system.name]) for system in record.systems]
    complete = [row for row in rows if row.system.ranked and row.lead.value is not None]
    complete = _in_order(record, lead, complete)
    aside = () if record.scope(lead).name.endswith(APART) else record.scope(lead + APART).systems
    missing = [row for row in rows if row.system.ranked and row.lead.value is None]
    references = [row for row in rows if not row.system.ranked]
    return Board(
        lead, title, tasks,
        tuple(row for row in complete if row.system.name not in aside),
        tuple(missing), tuple(references),
        tuple(row for row in complete if row.system.name in aside),
        tasks[0].printed if tasks else SCORE,
    )  # fmt: skip


def _in_order(record: Record, lead: str, rows: list[Row]) -> list[Row]:
    """Complete rows in the order of their scope, then by value."""
    names = (*record.scope(lead).systems, *record.scope(lead + APART).systems)
    order = {name: place for place, name in reversed(list(enumerate(names)))}
    return sorted(rows, key=lambda row: (order.get(row.system.name, len(order)), -(row.lead.value or 0)))


def leading_scope(record: Record) -> str:
    """`overall`; in a run whose tasks are too few for one, the first that a ranked system has finished."""
    tasks, names = present(record), [system.name for system in record.ranked_systems]
    if len(tasks) >= (5 if record.kind == "sage" else 2):
        return OVERALL
    done = (
        task.name
        for task in tasks
        if any(record.value(task.name, name, task.headline) is not None for name in names)
    )
    return next(done, OVERALL)


def task_value(record: Record, system: System, task: Task) -> Value:
    """A system's headline on a task, or the state that stands there instead."""
    row = record.find(task.name, system.name, task.headline)
    if row is not None and row.value is not None:
        best = system.ranked and system.name in record.scope(task.name).best
        few = item_count(record, task, system.name) < FEW
        return Value("value", row, best, few=few, unit=task.printed)
    return missing_value(record, record.cells_of(task.name, system.name), row)


def missing_value(record: Record, cells: Sequence[Cell], row: Result | None) -> Value:
    """Why there is no value: a failed cell first, then one not done, then the measure's own reason."""
    failed = [cell for cell in cells if cell.status == "failed"]
    waiting = [cell for cell in cells if cell.status == "not run"]
    if failed:
        where = f"{failed[0].dataset}: " if len(cells) > 1 else ""
        return Value("failed", reason=where + (failed[0].reason or "no reason was recorded"))
    if waiting:
        running = record.manifest.get("status") == "running"
        state: State = "running" if running else "partial" if len(waiting) < len(cells) else "not run"
        done = f"{len(cells) - len(waiting)} of {len(cells)} datasets" if len(cells) > 1 else ""
        return Value(state, reason=done)
    if not cells and row is None:
        return Value("none", reason="not part of the run")
    return Value(
        "undefined", reason=row.reason if row is not None and row.reason else "no value was recorded"
    )


def _row(record: Record, system: System, lead: str, tasks: tuple[Task, ...], label: str) -> Row:
    values = tuple(task_value(record, system, task) for task in tasks)
    ranges = record.placed(lead, system.name)
    rank = numbers.rank(*ranges) if ranges and system.ranked else ""
    if lead != OVERALL:
        place = [task.name for task in tasks].index(lead)
        return Row(system, label, rank, values[place], values)
    row = record.find(OVERALL, system.name, OVERALL)
    if row is not None and row.value is not None:
        best = system.ranked and system.name in record.scope(OVERALL).best
        unit = tasks[0].printed if tasks else SCORE
        return Row(system, label, rank, Value("value", row, best, unit=unit), values)
    return Row(
        system,
        label,
        "",
        Value("undefined", reason=row.reason if row else ""),
        values,
        _partial_mean(record, system, tasks, values),
    )


def _partial_mean(record: Record, system: System, tasks: tuple[Task, ...], values: tuple[Value, ...]) -> str:
    row = record.find(OVERALL, system.name, "mean_of_present")
    if row is None or row.value is None:
        if finished := sum(one.value is not None for one in values):
            return f"{finished} of {numbers.counted(len(tasks), 'task')} finished"
        headlines = {one.name: one.headline for one in tasks}
        some = any(
            dataset and not variant and name == system.name and headlines.get(of) == measure
            for (of, dataset, _, variant, name, measure), found in record.rows.items()
            if found.value is not None
        )
        return "no task has all its datasets" if some else "no finished task"
    counted = f"{row.n} finished tasks" if row.n > 1 else "one finished task"
    return f"mean of the {counted} {numbers.score(row.value)}"


TOP = 12


@dataclass(frozen=True)
class Gap:
    """A value that is missing in a panel, with its reason."""

    row: Row
    task: Task
    value: Value


def gaps(board: Board) -> tuple[Gap, ...]:
    """Everything that a panel has no mark for."""
    return tuple(
        Gap(row, task, value)
        for row in (*board.ranked, *board.unranked)
        for task, value in zip(board.tasks, row.tasks, strict=True)
        if value.value is None
    )


NOUNS = {"embedding": "encoder", "classical": "classical metric", "llm": "language model"}


def board_verdict(record: Record, board: Board) -> Verdict:
    """The verdict on the whole run."""
    if not board.ranked:
        return _unfinished(record)
    scope = record.scope(board.lead)
    if len(board.ranked) == 1:
        return _single(board)
    if not board.has_ranks:
        return _unranked(board, scope)
    first = [board.row(name) for name in scope.first]
    heading = _heading(record, board, scope, first)
    lede = [
        _gap(record, board, scope, first),
        *_classical(board, scope, first),
        *_leaders(record, board, first),
    ]
    return Verdict(heading, tuple(sentence for sentence in lede if sentence))


def name(row: Row) -> Name:
    """The row's system, for a sentence."""
    return Name(row.label, row.system.index)


def noun_of(rows: Sequence[Row]) -> str:
    """What a group of systems is called: by its kind when they share one, else systems."""
    kinds = {row.system.kind for row in rows}
    return NOUNS[kinds.pop()] if len(kinds) == 1 else "system"


def _heading(record: Record, board: Board, scope: Scope, first: Sequence[Row]) -> Sentence:
    on = _where(record, board)
    if len(first) == 1:
        if scope.ranges[first[0].system.name][1] == 1:
            return (
                name(first[0]),
                f" beats every other {noun_of(board.ranked) if board.apart else 'system'}{on}",
            )
        return ("Only ", name(first[0]), f" may be first{on}")
    if len(first) == len(board.ranked):
        all_of_them = "both" if len(first) == 2 else f"all {numbers.in_words(len(first))}"
        return (f"No system stands out{on}: {all_of_them} may be first",)
    return (f"{numbers.in_words(len(first)).capitalize()} {noun_of(first)}s may be first{on}",)


def _where(record: Record, board: Board) -> str:
    """What a ranking is on; nothing for SAGE's overall."""
    task = "" if board.lead == OVERALL else board.lead_title
    if record.kind == "pteb":
        return f" on paraphrased {task or 'texts'}"
    return f" on {task if board.unit is POINTS else task.lower()}" if task else ""


def _gap(record: Record, board: Board, scope: Scope, first: Sequence[Row]) -> Sentence:
    """The difference between the two best by value, with what the test says of it."""
    best, second = board.ranked[:2]
    pair = scope.pair(best.system.name, second.system.name)
    if pair is None:
        return ()
    gap = board.unit.said(pair.difference) + (" points" if board.unit is POINTS else "")
    gap += f" (95% interval {board.unit.said_interval(pair.ci_low, pair.ci_high)})"
    values = [(name(row), f" {board.unit.said(row.lead.value or 0.0)}") for row in (best, second)]
    told = pair.p_adjusted < record.alpha
    others = [row for row in first if row is not best and (told or row is not second)]
    more: Sentence = (" ", *_names(others), " may also be first.") if others else ()
    if told:
        return (*values[0], " beats ", *values[1], f", the next, by {gap}.", *more)
    apart = untold(pair.p, pair.p_adjusted, len(scope.ranges))
    return (*values[0], " and ", *values[1], f" differ by {gap} and {apart}.", *more)


def _names(rows: Sequence[Row], most: int = 4) -> Sentence:
    """Up to `most` names, then how many more."""
    parts: list[Part] = [name(row) for row in rows[:most]]
    if len(rows) > most:
        parts.append(f"{numbers.in_words(len(rows) - most)} more")
    return listed(parts)


def _classical(board: Board, scope: Scope, first: Sequence[Row]) -> list[Sentence]:
    """That the first systems beat every classical metric, when the tests say so for each pair."""
    metrics = [row for row in board.ranked if row.system.kind == "classical"]
    beaten = len(first) == 1 and scope.ranges[first[0].system.name][1] == 1
    if not metrics or beaten or any(row.system.kind == "classical" for row in first):
        return []
    pairs = [scope.pair(a.system.name, b.system.name) for a in first for b in metrics]
    if not all(pair is not None and pair.difference > 0 and pair.p_adjusted < 0.05 for pair in pairs):
        return []
    who = {1: "It beats", 2: "Both beat"}.get(len(first), f"All {numbers.in_words(len(first))} beat")
    what = "the classical metric" if len(metrics) == 1 else "every classical metric"
    return [(f"{who} {what}.",)]


def _leaders(record: Record, board: Board, first: Sequence[Row]) -> list[Sentence]:
    """Who alone may be first on a task, when it is not who is first over all."""
    alone: dict[str, list[str]] = {}
    for task in board.tasks:
        leaders = record.scope(task.name).first
        if (
            task.name != board.lead
            and len(leaders) == 1
            and [row.system.name for row in first] != [leaders[0]]
        ):
            alone.setdefault(leaders[0], []).append(task.superlative)
    clauses: list[Part] = []
    sentence: list[Part] = []
    for i, (leader, what) in enumerate(alone.items()):
        clauses = [name(board.row(leader)), " ", *listed(what)]
        sentence += ["; ", *clauses] if i else clauses
    return [(*sentence, ".")] if sentence else []


def _single(board: Board) -> Verdict:
    row = board.ranked[0]
    on = "overall" if board.lead == OVERALL else f"on {board.lead_title.lower()}"
    interval = f"The 95% interval is {row.lead.interval}. " if row.lead.interval else ""
    heading = (name(row), f" scores {row.lead.text} {on}")
    return Verdict(heading, ((f"{interval}Add a second system to compare.",),))


def _unranked(board: Board, scope: Scope) -> Verdict:
    low, high = board.ranked[-1].lead, board.ranked[0].lead
    title = board.lead_title.lower()
    lede = (f"Values lie between {low.text} and {high.text}, but {scope.reason or 'no test compares them'}.",)
    return Verdict((f"No ranking on {title}: differences cannot be tested",), (lede,))


def _unfinished(record: Record) -> Verdict:
    done = sum(cell.status == "done" for cell in record.cells)
    cells = f"{numbers.count(done)} of {numbers.counted(len(record.cells), 'cell')}"
    command = Command(record.manifest.get("command", ""))
    if not done:
        lede = (f"{cells}. Run ", command, " again: this page fills as cells end.")
        return Verdict(("Nothing finished yet",), (lede,))
    if done == len(record.cells):
        return Verdict(
            ("No system has a value for every task, so none is ranked",),
            (("Every cell is finished; the notes say what has no value, and why.",),),
        )
    return Verdict(
        ("No system has finished every task, so none is ranked",),
        ((f"{cells} are finished. Run ", command, " again to continue."),),
    )
