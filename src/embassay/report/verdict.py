"""The finding in words: templates filled from the same record as the tables, never by hand.

Verbs have one meaning each: *beats* (adjusted p under alpha), *cannot be told apart from* (otherwise),
*may be first* (the rank range includes 1). A sentence is a sequence of texts and system names, so that
each is set as it should be.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from embassay.protocols.kernel import tables as numbers
from embassay.protocols.kernel.comparisons import untold
from embassay.protocols.kernel.tables import POINTS
from embassay.report.board import Board, Row
from embassay.report.record import OVERALL, Record, Scope

NOUNS = {"embedding": "encoder", "classical": "classical metric", "llm": "language model"}


@dataclass(frozen=True)
class Name:
    """A system's name inside a sentence."""

    label: str
    index: int


@dataclass(frozen=True)
class Command:
    """A command line inside a sentence."""

    label: str


Part = str | Name | Command
Sentence = tuple[Part, ...]


@dataclass(frozen=True)
class Verdict:
    """A heading of at most 80 characters and up to four sentences."""

    heading: Sentence
    lede: tuple[Sentence, ...] = ()


def plain(sentence: Iterable[Part]) -> str:
    """A sentence as text."""
    return "".join(part if isinstance(part, str) else part.label for part in sentence)


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


def listed(parts: Sequence[Part], joint: str = "and") -> Sentence:
    """`a`, `a and b`, `a, b and c`."""
    if len(parts) < 2:
        return tuple(parts)
    head: list[Part] = []
    for part in parts[:-1]:
        head += [part, ", "]
    return (*head[:-1], f" {joint} ", parts[-1])


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
