"""The page of HUME: people and models on the same items, and how far to trust either."""

from __future__ import annotations

from dataclasses import dataclass

from embassay.protocols import numbers
from embassay.protocols.hume.summary.record import Summary, read_summary
from embassay.report.board import Board
from embassay.report.hume.annotators import Annotators, Conventions, annotators, conventions
from embassay.report.hume.ceilings import Ceilings, ceilings
from embassay.report.hume.disputes import Disputes, disputes
from embassay.report.hume.gaps import GapChart, gap_charts
from embassay.report.hume.lead import Lead, lead
from embassay.report.hume.llms import Llms, llms
from embassay.report.hume.paired import Against, Side, against_people, side_by_side
from embassay.report.hume.people import PeopleChart, people_chart
from embassay.report.hume.places import Places, WinPanel, places, win_panels
from embassay.report.hume.standing import standings
from embassay.report.hume.trust import Difficulty, Noisy, TrustTable, difficulties, noisy, trust_table
from embassay.report.hume.verdict import verdict_of
from embassay.report.hume.words import answerers, is_range
from embassay.report.notes import Note, notes_of
from embassay.report.panels import TOP
from embassay.report.record import Record
from embassay.report.tablefiles import FileTable, file_tables
from embassay.report.verdict import Verdict

PAPER = "hume_table*"
"""Tables in the paper's layout; what the others say stands on the page."""
MOST_NOTES = 3
BESIDE = 4
"""Pairs that stand side by side in a report of several runs; that of the run alone has them all."""
SHORT = 8
"""A study of at most so many pairs has its long tables open."""


@dataclass(frozen=True)
class HumePage:
    """The content of the page; parts that a run does not have are empty or None. `who` answered, in words."""

    facts: tuple[str, ...]
    verdict: Verdict
    who: str
    notes: tuple[Note, ...]
    more_notes: int
    chart: PeopleChart
    noisy: tuple[Noisy, ...]
    places: Places | None
    wins: tuple[WinPanel, ...]
    gaps: tuple[GapChart, ...]
    against: tuple[Against, ...]
    beside: Side | None
    difficulty: Difficulty
    trust: TrustTable
    lead: Lead | None
    llms: Llms | None
    ceilings: Ceilings | None
    annotators: Annotators
    disputes: tuple[Disputes, ...]
    conventions: Conventions | None
    tables: tuple[FileTable, ...]
    is_short: bool
    is_published: bool
    top: int = TOP


def hume_page(record: Record, _: Board) -> HumePage:
    """The page of a run. DataError where its `summary.json` is missing or damaged."""
    summary = read_summary(record.path)
    every = standings(summary)
    notes, against = notes_of(record), against_people(summary)
    return HumePage(
        facts=_facts(summary),
        verdict=verdict_of(summary),
        who=answerers(summary),
        notes=notes[:MOST_NOTES],
        more_notes=len(notes),
        chart=people_chart(every, has_ranges=any(is_range(one.human) for one in summary.pairs)),
        noisy=noisy(every),
        places=places(summary),
        wins=win_panels(summary) if len(summary.pairs) > 1 else (),
        gaps=gap_charts(summary, every),
        against=against,
        beside=side_by_side(against[:BESIDE]),
        difficulty=difficulties(summary.pairs),
        trust=trust_table(summary.pairs),
        lead=lead(summary, every),
        llms=llms(summary),
        ceilings=ceilings(summary, every),
        annotators=annotators(summary.pairs),
        disputes=disputes(summary.pairs),
        conventions=conventions(summary.pairs),
        tables=file_tables(record.path, PAPER),
        is_short=len(summary.pairs) <= SHORT,
        is_published=summary.source == "published",
    )


def _facts(summary: Summary) -> tuple[str, ...]:
    models = {one.system for pair in summary.pairs for one in pair.models}
    judges = {one.system for pair in summary.pairs for one in pair.llms}
    people = {one.id for pair in summary.pairs for one in pair.annotators}
    simulated = answerers(summary) == "simulated annotators"
    facts = (
        summary.title if summary.title.startswith("HUME") else f"HUME, {summary.title}",
        numbers.counted(len(summary.pairs), "pair"),
        ""
        if summary.source == "published"
        else numbers.counted(len(people), "simulated annotator" if simulated else "annotator"),
        numbers.counted(len(models), "model"),
        numbers.counted(len(judges), "language model") if judges else "",
        f"seed {summary.seed}",
    )
    return tuple(fact for fact in facts if fact)
