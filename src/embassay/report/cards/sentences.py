"""The two sentences of a card: where a system stands, and where it breaks. Filled from the record."""

from __future__ import annotations

from collections.abc import Sequence

from embassay.report.board import Row
from embassay.report.cards import ranks
from embassay.report.cards.findings import Finding, valued
from embassay.report.cards.standings import Standings
from embassay.report.gathered import Run
from embassay.report.verdict import Part, Sentence, name

MOST = 2
"""Runs whose ranks fit a sentence."""


def two_sentences(
    row: Row,
    own: Sequence[Run],
    standings: Sequence[Standings],
    good: Sequence[Finding],
    bad: Sequence[Finding],
) -> tuple[Sentence, ...]:
    """The first says its places, or the best that is known of it; the second what moves or beats it most."""
    if row.system.ranked:
        return (_stands(row, own, good), _breaks(bad))
    return (standings[0].place,) if standings else ()


def _stands(row: Row, own: Sequence[Run], good: Sequence[Finding]) -> Sentence:
    places = [place for run in own if run.board.tasks and (place := _place(run, row, several=len(own) > 1))]
    if places:
        return (name(row), f" holds {'; '.join(places[:MOST])}.")
    if good:
        return (name(row), " ", *good[0].clause, ".")
    return (name(row), " has no rank here: no test sets it beside others.")


def _place(run: Run, row: Row, *, several: bool) -> str:
    own = next((one for one in run.board.rows if one.system.name == row.system.name), None)
    rank = ranks.overall(run, own) if own is not None else ""
    if own is None or not rank or own.lead.value is None:
        return ""
    return f"{rank}{f' in {run.title}' if several else ''}, {valued(own.lead)}"


def _breaks(bad: Sequence[Finding]) -> Sentence:
    if not bad:
        return ("Nothing that was tested here finds it behind the others or moved by an edit.",)
    first = bad[0]
    second = next((one for one in bad[1:] if one.run != first.run), None)
    said: list[Part] = ["It ", *first.clause]
    return (*said, *((", and ", *second.clause) if second is not None else ()), ".")
