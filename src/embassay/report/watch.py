"""What a watch says: a check and a comparison on a terminal, and the timeline of checks on a page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from embassay.document.blocks import (
    Block,
    Bullets,
    Care,
    Column,
    Entry,
    Facts,
    Heading,
    Line,
    Said,
    Table,
    Text,
    Verdict,
    number_columns,
)
from embassay.errors import DataError
from embassay.protocols.watch.compare import Conformance
from embassay.protocols.watch.history import ENDING, GroupState, WatchCheck, read_checks
from embassay.protocols.watch.impact import Impact
from embassay.protocols.watch.panels import PanelEffect
from embassay.protocols.watch.plan import PlannedStep
from embassay.protocols.watch.verdicts import interval_text
from embassay.report.runs import ReportRun
from embassay.runs.spending import format_dollars

MOST_CHECKS = 400
"""Rows of a timeline, the newest: over a year of nights."""
SAYS = {
    "same": "{system} still answers as recorded",
    "noisier": "{system} answers vary more than they did",
    "changed": "{system} no longer answers as recorded",
    "not comparable": "{system} cannot be compared",
}


def check_view(check: WatchCheck) -> Iterator[Block]:
    """The verdict, what kind of change it is, whether it matters, and which texts moved."""
    yield Verdict(
        (SAYS[check.verdict].format(system=check.system) + ".",), tuple((line,) for line in _ledes(check))
    )
    if check.impact is not None:
        yield _impact_table(check.impact)
    if check.thresholds:
        yield _threshold_table(check)
    if check.verdict != "same":
        yield _group_table(check.groups)
    yield Bullets(tuple(_notes(check)))


def _ledes(check: WatchCheck) -> Iterator[str]:
    if check.verdict == "same":
        yield f"{check.asked - check.lost:,} items were asked afresh; {check.moved:,} are beyond their repeats."
        return
    yield f"{check.reason[:1].upper()}{check.reason[1:]}."
    if check.changes:
        kinds = ", ".join("kind unknown" if told.kind == "unknown" else told.kind for told in check.changes)
        yield f"What changed: {kinds} ({check.changes[0].evidence})."
    if check.impact is not None:
        yield f"Your lists: {interval_text(check.impact.states[-1].changed)} have other passages."
    if check.panel is not None:
        yield from _panel_ledes(check.panel)
    if check.part:
        yield f"To make anew in an index: {check.part}."


def _panel_ledes(panel: PanelEffect) -> Iterator[str]:
    yield (
        f"{interval_text(panel.first)} of items have another first passage; values are off by {panel.error:.3g}, "
        f"between repeats by {panel.noise:.3g} (root mean square, n {panel.values:,})."
    )
    if panel.turned is not None and panel.shift is not None:
        yield (
            f"The judge is no longer the judge: grades moved by {interval_text(panel.shift, signed=True)}, and "
            f"{interval_text(panel.turned)} crossed the line of relevance, as labels of a golden set would."
        )


def _impact_table(impact: Impact) -> Table:
    rows: list[list[Said | Entry]] = [
        [
            state.name, interval_text(state.changed), f"{state.overlap:.0%}",
            "n/a" if state.ndcg is None else interval_text(state.ndcg, signed=True), f"{state.changed.n:,}",
        ]
        for state in impact.states
    ]  # fmt: skip
    heads: list[str | Column] = [
        "Index",
        *number_columns("Lists changed, 95%", "Same passages", "nDCG@10 change, 95%", "n"),
    ]
    return Table.of("watch-lists", heads, rows)


def _threshold_table(check: WatchCheck) -> Table:
    rows: list[list[Said | Entry]] = [
        [
            f"{state.measure} {state.threshold:.3f}", "holds" if state.holds else "no longer holds",
            f"{state.accepted_before:.1%}", f"{state.accepted_now:.1%}", interval_text(state.turned),
            f"{state.equivalent:.3f}",
        ]
        for state in check.thresholds
    ]  # fmt: skip
    heads: list[str | Column] = [
        "Threshold",
        "Verdict",
        *number_columns("Accepted before", "now", "Decisions turned", "As many at"),
    ]
    return Table.of("watch-thresholds", heads, rows)


def _group_table(groups: Sequence[GroupState]) -> Table:
    rows: list[list[Said | Entry]] = [
        [
            group.group,
            f"{group.moved:,} of {group.n:,}",
            "n/a" if group.distance < 0 else f"{group.distance:.2g}",
        ]
        for group in groups
    ]
    return Table.of("watch-groups", ["Texts", *number_columns("Beyond noise", "Median distance")], rows)


def _notes(check: WatchCheck) -> Iterator[str]:
    yield f"Check {check.look}: p {check.p:.2g}, an alarm from {check.level:.2g} down."
    if check.lost:
        yield f"{check.lost:,} items have no answer and are left out."
    if check.usd is None or check.usd > 0:
        yield f"This check: {format_dollars(check.usd)}."


def conformance_view(told: Conformance) -> Iterator[Block]:
    """Whether two systems answer alike, and where not."""
    lede = [
        f"{told.beyond:,} of {told.n:,} items differ by more than either varies (p {told.p:.2g}); the first ten "
        f"neighbours agree to {told.overlap:.0%}."
    ]
    lede += [f"Difference: {change.kind} ({change.evidence})." for change in told.changes]
    yield Verdict((f"{told.first} and {told.second} are {told.verdict}.",), tuple((line,) for line in lede))
    yield _group_table(told.groups)
    yield Bullets((f"{told.lost:,} items have no answer and are left out.",) if told.lost else ())


def plan_view(steps: Sequence[PlannedStep]) -> Iterator[Block]:
    """What would be asked for, a row per step."""
    rows: list[list[Said | Entry]] = [
        [step.step, f"{step.texts:,}", f"{step.tokens:,}", format_dollars(step.usd)] for step in steps
    ]
    yield Table.of("watch-plan", ["Step", *number_columns("Texts", "Tokens", "Price")], rows)


@dataclass(frozen=True)
class Timeline:
    """The checks of one file, oldest first, or why it cannot be read."""

    path: Path
    checks: tuple[WatchCheck, ...]
    fault: str = ""

    @property
    def system(self) -> str:
        """Whose checks they are."""
        return self.checks[-1].system if self.checks else self.path.name.removesuffix(ENDING)


def find_timelines(folders: Sequence[Path]) -> tuple[Timeline, ...]:
    """The files of checks in these folders and in those right above them, each once."""
    places = dict.fromkeys(place.resolve() for folder in folders for place in (folder, folder.parent))
    files = dict.fromkeys(file for place in places for file in sorted(place.glob(f"*{ENDING}")))
    return tuple(_read_timeline(file) for file in files)


def _read_timeline(path: Path) -> Timeline:
    try:
        return Timeline(path, read_checks(path))
    except (DataError, OSError) as error:
        return Timeline(path, (), str(error))


def watch_page(runs: Sequence[ReportRun]) -> Iterator[Block]:
    """All checks that lie beside the runs of a report; nothing where there are none."""
    yield from timeline_blocks(find_timelines([run.record.path for run in runs]))


def timeline_blocks(timelines: Sequence[Timeline]) -> Iterator[Block]:
    """The newest verdict of each system, then what changed when."""
    told = [timeline for timeline in timelines if timeline.checks or timeline.fault]
    if not told:
        return
    newest = [timeline.checks[-1] for timeline in told if timeline.checks]
    off = [check for check in newest if check.verdict != "same"]
    heading = (
        f"{len(off)} of {len(newest)} watched systems no longer answer as recorded."
        if off
        else f"All {len(newest)} watched systems answer as recorded."
        if len(newest) != 1
        else "The watched system answers as recorded."
    )
    yield Verdict(
        (heading,), tuple((SAYS[check.verdict].format(system=check.system) + ".",) for check in off[:4])
    )
    for place, timeline in enumerate(told, 1):
        yield from _timeline_section(timeline, place)


def _timeline_section(timeline: Timeline, place: int) -> Iterator[Block]:
    yield Heading(timeline.system, f"watch-{place}", 3)
    if timeline.fault:
        yield Care((timeline.fault,), "These checks cannot be read.")
        return
    checks = timeline.checks
    turns = [check for before, check in pairwise(checks) if before.verdict != check.verdict]
    turns = [checks[0], *turns] if checks[0].verdict != "same" else turns
    yield Facts.of("", f"{len(checks):,} checks", f"{checks[0].at[:10]} to {checks[-1].at[:10]}")
    if turns:
        yield Bullets(tuple(_say_turn(check) for check in turns))
    lines = tuple(_check_line(check) for check in reversed(checks[-MOST_CHECKS:]))
    columns: tuple[str | Column, ...] = (
        "Verdict",
        "What changed",
        *number_columns("Beyond noise", "p", "Lists changed, 95%", "Price"),
    )
    yield Table(f"watch-checks-{place}", "Checks, the newest first", "Time", columns, lines)
    impact = next((check.impact for check in reversed(checks) if check.impact is not None), None)
    if impact is not None:
        yield Text(
            "What searching with an old, a half renewed and a new index does, when it was last measured:"
        )
        yield _impact_table(impact)


def _say_turn(check: WatchCheck) -> str:
    kinds = ", ".join(change.kind for change in check.changes)
    return f"{check.at}: {check.verdict}" + (f" ({kinds})" if kinds else "") + "."


def _check_line(check: WatchCheck) -> Line:
    kinds = ", ".join(change.kind for change in check.changes)
    lists = "" if check.impact is None else interval_text(check.impact.states[-1].changed)
    style = "" if check.verdict == "same" else "state failed"
    entries = (
        Entry(check.verdict, style=style), Entry(kinds), Entry(f"{check.moved:,} of {check.asked - check.lost:,}"),
        Entry(f"{check.p:.2g}"), Entry(lists), Entry(format_dollars(check.usd)),
    )  # fmt: skip
    return Line(check.at, entries)
