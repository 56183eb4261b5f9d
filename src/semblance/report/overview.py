"""The first page: what the run found, what to beware of, and every system on one board."""

from __future__ import annotations

from dataclasses import dataclass

from semblance.report import numbers
from semblance.report.board import Board, ends
from semblance.report.comparison import Forest, forest_of
from semblance.report.notes import Note, notes_of
from semblance.report.record import Record
from semblance.report.sage.tasks import Task
from semblance.report.sage.verdict import sage_verdict
from semblance.report.scale import Scale, scale_of
from semblance.report.verdict import Verdict, board_verdict

MOST_NOTES = 3


@dataclass(frozen=True)
class Card:
    """What a protocol says, in one sentence, with the way to its page."""

    slug: str
    title: str
    question: str
    verdict: Verdict


@dataclass(frozen=True)
class Overview:
    """The content of the page. `columns` are the tasks beside the leading score, with their place."""

    facts: tuple[str, ...]
    verdict: Verdict
    notes: tuple[Note, ...]
    more_notes: int
    columns: tuple[tuple[int, Task, Scale], ...]
    lead_scale: Scale
    cards: tuple[Card, ...]
    forest: Forest | None
    unrounded: bool
    footer: tuple[str, ...]


def overview(record: Record, board: Board) -> Overview:
    """The page of a record."""
    notes = notes_of(record)
    columns = tuple(
        (i, task, scale_of(ends(row.tasks[i] for row in board.rows)))
        for i, task in enumerate(board.tasks)
        if task.name != board.lead
    )
    forest = forest_of(record, board)
    return Overview(
        facts=_facts(record),
        verdict=board_verdict(record, board),
        notes=notes[:MOST_NOTES],
        more_notes=len(notes),
        columns=columns,
        lead_scale=scale_of(ends(row.lead for row in board.rows)),
        cards=_cards(record, board),
        forest=forest,
        unrounded=_rounds_apart(board),
        footer=_footer(record),
    )


def _facts(record: Record) -> tuple[str, ...]:
    datasets = [dataset["name"] for dataset in record.manifest.get("datasets", ())]
    named = ", ".join(datasets) if len(datasets) <= 3 else numbers.counted(len(datasets), "dataset")
    seed = record.arguments.get("seed")
    facts = (
        numbers.counted(len(record.ranked_systems), "system"),
        named,
        numbers.date(record.manifest.get("updated", "")),
        f"seed {seed}" if seed is not None else "",
    )
    return tuple(fact for fact in facts if fact)


def _cards(record: Record, board: Board) -> tuple[Card, ...]:
    if "sage" not in record.protocols or not board.rows:
        return ()
    return (Card("sage", "SAGE", "Similarity under change", sage_verdict(record, board)),)


def _rounds_apart(board: Board) -> bool:
    """Whether the printed difference of the first two is not the difference of their printed values."""
    if len(board.ranked) < 2:
        return False
    a, b = (row.lead.value or 0.0 for row in board.ranked[:2])
    return numbers.score(a - b) != numbers.score(round(a, 3) - round(b, 3))


def _footer(record: Record) -> tuple[str, ...]:
    sessions = record.manifest.get("sessions", ())
    texts = sum(session.get("texts_encoded", 0) for session in sessions)
    seconds = sum(session.get("seconds") or 0 for session in sessions)
    cores = record.manifest.get("hardware", {}).get("cores")
    parts = [f"semblance {record.manifest.get('semblance', '')}"]
    parts += [f"{numbers.count(texts)} texts encoded"] if texts else []
    if seconds:
        parts.append(numbers.duration(seconds) + (f" on {numbers.counted(cores, 'core')}" if cores else ""))
    return tuple(parts)
