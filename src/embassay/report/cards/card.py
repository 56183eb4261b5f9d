"""The card of one system, over all runs that have it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from embassay.protocols import numbers
from embassay.registry import attribute
from embassay.report.board import Board, Row
from embassay.report.cards.again import run_again
from embassay.report.cards.findings import Finding, finding
from embassay.report.cards.price import AgainstPrice, against_price
from embassay.report.cards.sentences import two_sentences
from embassay.report.cards.standings import Standings, standings_of
from embassay.report.cards.unknown import unknown
from embassay.report.gathered import Run, rows_of
from embassay.report.record import Record, System
from embassay.report.tasks import PLACES
from embassay.report.verdict import Sentence

if TYPE_CHECKING:
    from embassay.report.cards.people import AgainstPeople

KINDS = {
    "embedding": "An embedding model, compared by cosine",
    "classical": "A classical similarity metric",
    "reference": "A reference that needs no understanding, in every table and never ranked",
    "llm": "A language model",
}
FACT_WORDS = {"dims": "dimensions", "max_tokens": "input limit, tokens"}
HIDDEN = ("kind", "dim", "about", "role", "usd_per_million_tokens")
"""Facts that the card says elsewhere, or that say how a run used the system."""
MOST = 6
"""Findings of a kind on a card."""
Say = Callable[[Run, Row], Iterator[Finding]]
BY_ROW = ("ranks", "datasets", "of_sage", "of_pteb")
GOOD = {
    "sage": ("ranks:good", "datasets:good", "of_sage:good"),
    "pteb": ("ranks:good", "datasets:good", "of_pteb:good"),
    "score": ("of_score:good",),
    "names": ("of_probes:names_good",),
    "hume": ("people:good",),
}
BAD = {
    "sage": ("ranks:bad", "datasets:bad", "of_sage:bad"),
    "pteb": ("ranks:bad", "datasets:bad", "of_pteb:bad"),
    "score": ("of_score:bad",),
    "names": ("of_probes:names_bad",),
    "noise": ("of_probes:noise_bad",),
    "hume": ("people:bad",),
}
"""What says something of a system, by the kind of run: loaded for such a run. It is asked by the system's row of the
board in the modules BY_ROW, else by its name."""


@dataclass(frozen=True)
class SystemCard:
    """One system, `ranked` where the first run that has it has ranks. `sentences` are two for a ranked system."""

    row: Row
    about: str
    sentences: tuple[Sentence, ...]
    standings: tuple[Standings, ...]
    good: tuple[Finding, ...]
    bad: tuple[Finding, ...]
    people: tuple[AgainstPeople, ...]
    price: AgainstPrice
    unknown: tuple[str, ...]
    facts: tuple[tuple[str, str], ...]
    commands: tuple[str, ...]
    ranked: bool
    has_items: bool


def cards_of(runs: Sequence[Run]) -> tuple[SystemCard, ...] | None:
    """A card per system of which a run has results, in the order of the boards."""
    rows = rows_of(sorted(runs, key=lambda run: run.record.kind not in PLACES))
    found = (_card(runs, row) for row in rows if row.system.kind in KINDS)
    return tuple(card for card in found if card is not None) or None


def system_cards(record: Record, board: Board) -> tuple[SystemCard, ...] | None:
    """The cards of one run."""
    return cards_of((Run(record, board),))


def _card(runs: Sequence[Run], row: Row) -> SystemCard | None:
    name = row.system.name
    own = [run for run in runs if _has(run, name)]
    boards = [(run, run.board.row(name)) for run in own if run.record.kind in PLACES]
    several = len(runs) > 1
    found = (standings_of(run, run.board.row(name), several=several) for run in own)
    standings = tuple(one for one in found if one.scores or one.place)
    good, bad = _findings(GOOD, own, name), _findings(BAD, own, name, _troubles)
    beside = tuple(_beside_people(own, name))
    if not (standings or good or bad or beside):
        return None
    return SystemCard(
        row=row,
        about=_about(row.system),
        sentences=two_sentences(row, own, standings, good, bad),
        standings=standings,
        good=good[:MOST],
        bad=bad[:MOST],
        people=beside,
        price=against_price(own, row),
        unknown=tuple(dict.fromkeys(unknown(runs, own, row))),
        facts=tuple(dict.fromkeys(fact for run in own for fact in _facts(run, row.system))),
        commands=tuple(dict.fromkeys(filter(None, (run_again(run.record, row.system) for run, _ in boards)))),
        ranked=bool(boards) and bool(boards[0][1].rank) and boards[0][0] is runs[0],
        has_items=any(run.record.kind in ("sage", "pteb") for run in own) and row.system.ranked,
    )  # fmt: skip


def _has(run: Run, name: str) -> bool:
    system = run.record.by_name.get(name)
    return system is not None and (system.kind in KINDS or run.record.kind == "score")


def _beside_people(own: Sequence[Run], name: str) -> Iterator[AgainstPeople]:
    """What every study says of a system."""
    for run in own:
        if run.record.kind == "hume":
            from embassay.report.cards.people import against_people

            found = against_people(run, name)
            yield from () if found is None else (found,)


def _say(place: str) -> Say:
    """What stands at `place`, asked by a row."""
    say = attribute(f"embassay.report.cards.{place}")
    if place.partition(":")[0] in BY_ROW:
        return say  # type: ignore[no-any-return]
    return lambda run, row: say(run, row.system.name)


def _findings(
    sources: dict[str, tuple[str, ...]], own: Sequence[Run], name: str, *always: Say
) -> tuple[Finding, ...]:
    found = [
        one
        for run in own
        if run.record.by_name[name].kind != "reference"
        for say in (*always, *map(_say, sources.get(run.record.kind, ())))
        for one in say(run, run.board.row(name))
    ]
    return tuple(sorted(found, key=lambda one: -one.weight))


def _troubles(run: Run, row: Row) -> Iterator[Finding]:
    """Cells that failed, and texts that were cut."""
    record, name = run.record, row.system.name
    cells = [cell for cell in record.cells if cell.system == name]
    failed = [cell for cell in cells if cell.status == "failed"]
    if failed:
        first = failed[0]
        what = f"failed {len(failed)} of {numbers.counted(len(cells), 'cell')}"
        why = f"{first.task} on {first.dataset}: {first.reason or 'no reason was recorded'}"
        yield finding(run, f"{what} ({why})", weight=9)
    cut = sum(cell.counts.get("texts_truncated", 0) for cell in cells)
    seen = sum(cell.counts.get("texts_encoded", 0) + cell.counts.get("texts_cached", 0) for cell in cells)
    if cut and seen >= cut:
        limit = record.by_name[name].facts.get("max_tokens")
        at = f" at {numbers.count(limit)} tokens" if limit else " at its input limit"
        yield finding(
            run, f"does not read all of {numbers.share(cut / seen, seen)} texts, cut{at}", weight=2.5
        )


def _about(system: System) -> str:
    dims, limit = system.facts.get("dims"), system.facts.get("max_tokens")
    details = [f"{numbers.count(int(dims))} dimensions"] if dims else []
    details += [f"reads up to {numbers.count(limit)} tokens"] if limit else []
    summary = str(system.facts.get("summary", ""))
    about = f"{KINDS[system.kind]}{', ' if details else ''}{', '.join(details)}."
    return f"{about} {summary[:1].upper()}{summary[1:]}." if summary and system.kind != "llm" else about


def _facts(run: Run, system: System) -> Iterator[tuple[str, str]]:
    own = run.record.by_name[system.name]
    if own.kind not in KINDS:
        return
    for key, value in own.facts.items():
        if key not in HIDDEN and key != "summary" and not isinstance(value, dict):
            yield FACT_WORDS.get(key, key.replace("_", " ")), numbers.NONE if value is None else str(value)
    if own.identity:
        yield "identity", own.identity
