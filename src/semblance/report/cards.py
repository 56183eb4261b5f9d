"""A modest model card per system: what it is, how it stands among the others, how to run it again."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from semblance.report import numbers
from semblance.report.board import Board, Row, Value
from semblance.report.record import OVERALL, Record, System
from semblance.report.sage.tasks import Task
from semblance.report.scale import Scale, scale_of
from semblance.report.verdict import Sentence, listed, plain

KINDS = {
    "embedding": "An embedding model, compared by cosine",
    "classical": "A classical similarity metric",
    "reference": "A reference that needs no understanding, in every table and never ranked",
}
FACT_WORDS = {
    "dims": "dimensions",
    "max_tokens": "input limit, tokens",
    "usd_per_million_tokens": "US dollars per million tokens",
}


@dataclass(frozen=True)
class Standing:
    """A score of the system beside those of the others."""

    title: str
    value: Value
    others: tuple[float, ...]
    scale: Scale
    rank: str


@dataclass(frozen=True)
class SystemCard:
    """One system. `about` and `place` are a sentence each."""

    row: Row
    about: str
    place: Sentence
    standings: tuple[Standing, ...]
    facts: tuple[tuple[str, str], ...]
    command: str


def system_cards(record: Record, board: Board) -> tuple[SystemCard, ...] | None:
    """A card per system, in the order of the board."""
    return tuple(_card(record, board, row) for row in board.rows) or None


def run_again(record: Record, system: System) -> str:
    """The command that evaluates this system alone, with the run's other arguments."""
    arguments = record.arguments
    parts = ["semblance", "sage", "run", "-s", system.name]
    for task in arguments.get("tasks", ()):
        parts += ["-t", task]
    for dataset in arguments.get("datasets", ()):
        parts += ["-d", dataset]
    for column, renamed in (arguments.get("mapping") or {}).items():
        parts += ["--map", f"{column}={renamed}"]
    for option in ("split", "grades", "limit", "seed", "tokenizer"):
        if arguments.get(option) is not None:
            parts += [f"--{option}", str(arguments[option])]
    return shlex.join([*parts, "--out", f"runs/{record.manifest.get('name', 'again')}-again"])


def _card(record: Record, board: Board, row: Row) -> SystemCard:
    return SystemCard(
        row=row,
        about=_about(row.system),
        place=_place(record, board, row),
        standings=_standings(record, board, row),
        facts=_facts(record, row.system),
        command=run_again(record, row.system),
    )


def _about(system: System) -> str:
    dims, limit = system.facts.get("dims"), system.facts.get("max_tokens")
    details = [f"{numbers.count(dims)} dimensions"] if dims else []
    details += [f"reads up to {numbers.count(limit)} tokens"] if limit else []
    return f"{KINDS[system.kind]}{', ' if details else ''}{', '.join(details)}."


def _place(record: Record, board: Board, row: Row) -> Sentence:
    if not row.system.ranked:
        return ("It shows what a score is worth without understanding.",)
    best = [task.short.lower() for task in board.tasks if row.system.name in record.scope(task.name).best]
    tasks = plain(listed(best))
    of = f"{len(board.ranked)} ranked systems"
    if row.rank:
        scope = "overall" if board.lead == OVERALL else f"on {board.lead_title.lower()}"
        place = f"Rank {row.rank} of {of} {scope}"
    else:
        place = row.note.capitalize() if row.note else f"No score {board.lead_title.lower()}"
    return (f"{place}" + (f"; best or not told apart from the best on {tasks}." if best else "."),)


def _standings(record: Record, board: Board, row: Row) -> tuple[Standing, ...]:
    made = []
    if board.lead == OVERALL:
        others = [one.lead.value for one in board.ranked if one is not row]
        made.append(_standing("Overall", row.lead, others, row.rank))
    for i, task in enumerate(board.tasks):
        others = [one.tasks[i].value for one in board.rows if one is not row and one.system.ranked]
        made.append(_standing(task.short, row.tasks[i], others, _rank(record, task, row)))
    return tuple(made)


def _standing(title: str, value: Value, others: Sequence[float | None], rank: str) -> Standing:
    known = tuple(other for other in others if other is not None)
    scale = scale_of([*known, *([] if value.value is None else [value.value])])
    return Standing(title, value, known, scale, rank)


def _rank(record: Record, task: Task, row: Row) -> str:
    ranges = record.scope(task.name).ranges.get(row.system.name)
    return numbers.rank(*ranges) if ranges else ""


def _facts(record: Record, system: System) -> tuple[tuple[str, str], ...]:
    cells = [cell for cell in record.cells if cell.system == system.name]
    facts = [
        (FACT_WORDS.get(key, key.replace("_", " ")), numbers.NONE if value is None else str(value))
        for key, value in system.facts.items()
    ]
    seconds = sum(cell.seconds or 0 for cell in cells if cell.status == "done")
    encoded, cached, cut = (
        sum(cell.counts.get(key, 0) for cell in cells)
        for key in ("texts_encoded", "texts_cached", "texts_truncated")
    )
    facts.append(("time, all cells", numbers.duration(seconds)))
    if encoded + cached:
        facts.append(("texts encoded, taken from the cache", f"{encoded:,}, {cached:,}"))
        facts.append(
            ("texts cut at the input limit", numbers.share(cut / (encoded + cached), encoded + cached))
        )
    if encoded and seconds:
        facts.append(("texts per second, all work included", numbers.count(round(encoded / seconds))))
    return (*facts, ("identity", system.identity or numbers.NONE))
