"""What SAGE found, in words: how often noise stays above changed meaning, and who leads which task."""

from __future__ import annotations

from collections.abc import Sequence

from embassay.protocols import numbers
from embassay.records import Result
from embassay.report.board import Board
from embassay.report.record import Record
from embassay.report.sage.tasks import BY_NAME
from embassay.report.tasks import item_count
from embassay.report.verdict import Part, Sentence, Verdict, listed, name, plain

RELATION = "superficial_over_semantic"
MOST_NAMES = 3


def sage_verdict(record: Record, board: Board) -> Verdict:
    """The verdict of the SAGE page."""
    lede = [*_shares(record, board), *_places(record, board)]
    if not lede:
        return Verdict(("SAGE: no ranked system has finished a task",), ())
    return Verdict(_heading(record, board), tuple(lede))


def relation_rows(record: Record, board: Board) -> list[Result]:
    """How often noise stays above changed meaning: a row per ranked system and dataset with a value."""
    found = (
        record.find("robustness", row.system.name, "share", dataset=dataset, variant=RELATION)
        for row in (*board.ranked, *board.unranked)
        for dataset in record.datasets("robustness")
    )
    return [row for row in found if row is not None and row.value is not None]


def _heading(record: Record, board: Board) -> Sentence:
    rows = relation_rows(record, board)
    if rows:
        half = [row for row in rows if (row.value or 0) > 0.5]
        if not half:
            return ("Noise moves every system more than a changed meaning",)
        systems = {row.system for row in half}
        of = len({row.system for row in rows})
        keep = "keeps" if len(systems) == 1 else "keep"
        return (f"{len(systems)} of {numbers.counted(of, 'system')} {keep} noise above changed meaning",)
    leader = next((task for task in board.tasks if len(record.scope(task.name).first) == 1), None)
    if leader is None:
        return (f"SAGE: {numbers.counted(len(board.tasks), 'task')}, no task with a single leader",)
    return (name(board.row(record.scope(leader.name).first[0])), f" {leader.superlative}")


def _shares(record: Record, board: Board) -> list[Sentence]:
    """The largest share of documents on which noise stays above changed meaning, and what caps the score."""
    rows = relation_rows(record, board)
    if not rows:
        return []
    most = max(rows, key=lambda row: row.value or 0)
    return [
        _most_share(record, board, most) if most.value else _no_share(record, rows),
        ("Robustness saturates at one third: look at the shares, not only at the score.",),
    ]


def _most_share(record: Record, board: Board, most: Result) -> Sentence:
    where = f" on {most.dataset}" if len(record.datasets("robustness")) > 1 else ""
    of = "documents" if most.n < 100 else "of the documents"
    share = f"On at most {numbers.share(most.value or 0, most.n)} {of}{where}"
    return (
        f"{share} every superficial edit stays above every meaning change: ",
        name(board.row(most.system)),
        ".",
    )


def _no_share(record: Record, rows: Sequence[Result]) -> Sentence:
    n = item_count(record, BY_NAME["robustness"], rows[0].system)
    return (f"No system keeps every superficial edit above every meaning change on any of {n:,} documents.",)


def _places(record: Record, board: Board) -> list[Sentence]:
    """Who may be first on the tasks that have ranks, tasks with the same answer together."""
    tasks_of: dict[tuple[str, ...], list[str]] = {}
    for task in board.tasks:
        first = record.scope(task.name).first
        if first:
            tasks_of.setdefault(first, []).append(task.short.lower())
    return [_place(board, first, tasks) for first, tasks in tasks_of.items()]


def _place(board: Board, first: tuple[str, ...], tasks: list[str]) -> Sentence:
    where = plain(listed(tasks))
    if len(first) > MOST_NAMES:
        return (f"{numbers.in_words(len(first)).capitalize()} systems may be first on {where}.",)
    names: list[Part] = [name(board.row(system)) for system in first]
    return ("Only " if len(first) == 1 else "", *listed(names, "or"), f" may be first on {where}.")
