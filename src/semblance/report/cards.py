"""A modest model card per system: what it is, how it stands among the others, how to run it again."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from semblance.protocols import numbers
from semblance.protocols.numbers import Unit
from semblance.report.board import Board, Row, Value
from semblance.report.gathered import Run, rows_of
from semblance.report.record import OVERALL, Record, System
from semblance.report.scale import Scale, scale_of
from semblance.report.tasks import PLACES, Task
from semblance.report.verdict import Sentence, listed, plain

KINDS = {
    "embedding": "An embedding model, compared by cosine",
    "classical": "A classical similarity metric",
    "reference": "A reference that needs no understanding, in every table and never ranked",
    "llm": "A language model that judges or paraphrases",
}
FACT_WORDS = {
    "dims": "dimensions",
    "max_tokens": "input limit, tokens",
    "usd_per_million_tokens": "US dollars per million tokens",
}


OPTIONS = {"paraphrasers": "-p", "prompts": "--prompt", "runs": "--runs", "baseline": "--baseline"}
"""How the arguments of a PTEB run are given."""


@dataclass(frozen=True)
class Standing:
    """A score of the system beside those of the others."""

    title: str
    value: Value
    others: tuple[float, ...]
    scale: Scale
    rank: str


@dataclass(frozen=True)
class Standings:
    """The scores of a system in one run. `place` is a sentence; `title` is empty where there is one run."""

    title: str
    place: Sentence
    scores: tuple[Standing, ...]
    command: str


@dataclass(frozen=True)
class SystemCard:
    """One system, `ranked` where a board has ranks. `about` is a sentence."""

    row: Row
    about: str
    standings: tuple[Standings, ...]
    facts: tuple[tuple[str, str], ...]
    ranked: bool


def cards_of(runs: Sequence[Run]) -> tuple[SystemCard, ...] | None:
    """A card per system, in the order of the boards; runs of language models have pages of their own."""
    boards = [run for run in runs if run.record.kind in PLACES]
    return tuple(_card(boards, row) for row in rows_of(boards)) or None


def system_cards(record: Record, board: Board) -> tuple[SystemCard, ...] | None:
    """The cards of one run."""
    return cards_of((Run(record, board),))


def run_again(record: Record, system: System) -> str:
    """The command that evaluates this system alone, with the run's other arguments."""
    arguments = record.arguments
    parts = ["semblance", record.kind, "run", "-s", system.name]
    for task in arguments.get("tasks", ()):
        parts += ["-t", task]
    for dataset in arguments.get("datasets", ()):
        parts += ["-d", dataset]
    for name in ("paraphrasers", "prompts", "runs", "baseline") if record.kind == "pteb" else ():
        given = arguments.get(name)
        for value in given if isinstance(given, list | tuple) else [] if given is None else [given]:
            parts += [OPTIONS[name], str(value)]
    for column, renamed in (arguments.get("mapping") or {}).items():
        parts += ["--map", f"{column}={renamed}"]
    for option in ("split", "grades", "limit", "seed", "tokenizer"):
        if arguments.get(option) is not None:
            parts += [f"--{option}", str(arguments[option])]
    return shlex.join([*parts, "--out", f"runs/{record.manifest.get('name', 'again')}-again"])


def _card(runs: Sequence[Run], row: Row) -> SystemCard:
    system = row.system
    own = [(run, run.board.row(system.name)) for run in runs if system.name in run.record.by_name]
    several = len(runs) > 1
    return SystemCard(
        row=row,
        about=_about(system),
        standings=tuple(
            Standings(
                run.title if several else "", _place(run.record, run.board, one),
                _standings(run.record, run.board, one), run_again(run.record, system),
            )
            for run, one in own
        ),
        facts=tuple(dict.fromkeys(fact for run, _ in own for fact in _facts(run, system, several=several))),
        ranked=bool(row.rank) and own[0][0] is runs[0],
    )  # fmt: skip


def _about(system: System) -> str:
    dims, limit = system.facts.get("dims"), system.facts.get("max_tokens")
    details = [f"{numbers.count(dims)} dimensions"] if dims else []
    details += [f"reads up to {numbers.count(limit)} tokens"] if limit else []
    return f"{KINDS[system.kind]}{', ' if details else ''}{', '.join(details)}."


def _place(record: Record, board: Board, row: Row) -> Sentence:
    if not row.system.ranked:
        return ("It shows what a score is worth without understanding.",)
    best = [
        task.short if task.short.isupper() else task.short.lower()
        for task in board.tasks
        if row.system.name in record.scope(task.name).best
    ]
    tasks = plain(listed(best))
    of = f"{len(board.apart if row in board.apart else board.ranked)} ranked systems"
    if row.rank:
        scope = "overall" if board.lead == OVERALL else f"on {board.lead_title.lower()}"
        place = f"Rank {row.rank} of {of} {scope}"
    else:
        place = row.note.capitalize() if row.note else f"No score {board.lead_title.lower()}"
    return (f"{place}" + (f"; best or not told apart from the best on {tasks}." if best else "."),)


def _standings(record: Record, board: Board, row: Row) -> tuple[Standing, ...]:
    made = []
    if board.lead == OVERALL:
        others = [one.lead.value for one in board.ranked + board.apart if one is not row]
        made.append(_standing("Overall", row.lead, others, row.rank, board.unit))
    for i, task in enumerate(board.tasks):
        others = [one.tasks[i].value for one in board.rows if one is not row and one.system.ranked]
        made.append(_standing(task.short, row.tasks[i], others, _rank(record, task, row), task.printed))
    return tuple(made)


def _standing(title: str, value: Value, others: Sequence[float | None], rank: str, unit: Unit) -> Standing:
    known = tuple(other for other in others if other is not None)
    scale = scale_of(
        [*known, *([] if value.value is None else [value.value])],
        within=None if unit.factor != 1 else (0.0, 1.0), factor=unit.factor,
    )  # fmt: skip
    return Standing(title, value, known, scale, rank)


def _rank(record: Record, task: Task, row: Row) -> str:
    ranges = record.placed(task.name, row.system.name)
    return numbers.rank(*ranges) if ranges else ""


def _facts(run: Run, system: System, *, several: bool) -> tuple[tuple[str, str], ...]:
    record, of = run.record, f" ({run.title})" if several else ""
    system = record.by_name[system.name]
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
    facts.append((f"time, all cells{of}", numbers.duration(seconds)))
    if encoded + cached:
        facts.append((f"texts encoded, taken from the cache{of}", f"{encoded:,}, {cached:,}"))
        facts.append(
            (f"texts cut at the input limit{of}", numbers.share(cut / (encoded + cached), encoded + cached))
        )
    if encoded and seconds:
        facts.append((f"texts per second, all work included{of}", numbers.count(round(encoded / seconds))))
    return (*facts, ("identity", system.identity or numbers.NONE))
