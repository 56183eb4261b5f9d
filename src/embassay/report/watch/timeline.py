"""The page of a report about what is watched: the newest verdicts, and what changed when."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from embassay.document.blocks import (
    Block,
    BulletList,
    CautionNotes,
    Column,
    Heading,
    LabelledTableRow,
    PageFactsLine,
    ParagraphBlock,
    Table,
    TableCell,
    VerdictText,
    make_number_columns,
)
from embassay.errors import DataError
from embassay.protocols.watch.history import ENDING, FingerprintCheck, read_watch_checks
from embassay.protocols.watch.verdicts import format_share_with_interval
from embassay.report.runs import ReportRun
from embassay.report.watch.checks import SAYS, make_ranked_list_impact_table
from embassay.runs.spending import format_dollars

MOST_CHECKS = 400
"""Rows of a timeline, the newest: over a year of nights."""


@dataclass(frozen=True)
class WatchCheckTimeline:
    """The checks of one file, oldest first, or why it cannot be read."""

    path: Path
    checks: tuple[FingerprintCheck, ...]
    fault: str = ""

    @property
    def system(self) -> str:
        """The system whose checks these are."""
        return self.checks[-1].system if self.checks else self.path.name.removesuffix(ENDING)


def find_check_timelines(folders: Sequence[Path]) -> tuple[WatchCheckTimeline, ...]:
    """Find the files of checks in these folders and in those right above them, each once."""
    places = dict.fromkeys(place.resolve() for folder in folders for place in (folder, folder.parent))
    files = dict.fromkeys(file for place in places for file in sorted(place.glob(f"*{ENDING}")))
    return tuple(_read_watch_check_timeline(file) for file in files)


def _read_watch_check_timeline(path: Path) -> WatchCheckTimeline:
    try:
        return WatchCheckTimeline(path, read_watch_checks(path))
    except (DataError, OSError) as error:
        return WatchCheckTimeline(path, (), str(error))


def watch_checks_page(runs: Sequence[ReportRun]) -> Iterator[Block]:
    """Build the page of all checks that lie beside the runs of a report; nothing without any."""
    yield from iterate_watch_timeline_blocks(find_check_timelines([run.record.path for run in runs]))


def iterate_watch_timeline_blocks(timelines: Sequence[WatchCheckTimeline]) -> Iterator[Block]:
    """Blocks with the newest verdict of each system, then what changed when."""
    told = [timeline for timeline in timelines if timeline.checks or timeline.fault]
    if not told:
        return
    newest = [timeline.checks[-1] for timeline in told if timeline.checks]
    off = [check for check in newest if check.verdict != "same"]
    heading = (
        f"The watched system {'no longer ' * bool(off)}answers as recorded."
        if len(newest) == 1
        else f"{len(off)} of {len(newest)} watched systems no longer answer as recorded."
        if off
        else f"All {len(newest)} watched systems answer as recorded."
    )
    yield VerdictText((heading,), tuple((SAYS[check.verdict].format(system=check.system) + ".",) for check in off[:4]))
    for place, timeline in enumerate(told, 1):
        yield from _timeline_section(timeline, place)


def _timeline_section(timeline: WatchCheckTimeline, place: int) -> Iterator[Block]:
    yield Heading(timeline.system, f"watch-{place}", 3)
    if timeline.fault:
        yield CautionNotes((timeline.fault,), "These checks cannot be read.")
        return
    checks = timeline.checks
    turns = [check for before, check in pairwise(checks) if before.verdict != check.verdict]
    turns = [checks[0], *turns] if checks[0].verdict != "same" else turns
    yield PageFactsLine.of("", f"{len(checks):,} checks", f"{checks[0].at[:10]} to {checks[-1].at[:10]}")
    if turns:
        yield BulletList(tuple(_describe_check_verdict_and_changes(check) for check in turns))
    lines = tuple(_make_watch_check_row(check) for check in reversed(checks[-MOST_CHECKS:]))
    columns: tuple[str | Column, ...] = (
        "Verdict",
        "What changed",
        *make_number_columns("Beyond noise", "p", "Lists changed, 95%", "Price"),
    )
    yield Table(f"watch-checks-{place}", "Checks, newest first", "Time", columns, lines)
    impact = next((check.impact for check in reversed(checks) if check.impact is not None), None)
    if impact is not None:
        yield ParagraphBlock("Effect of searching with an old, a half re-embedded and a new index, as last measured:")
        yield make_ranked_list_impact_table(impact)


def _describe_check_verdict_and_changes(check: FingerprintCheck) -> str:
    kinds = ", ".join(change.kind for change in check.changes)
    return f"{check.at}: {check.verdict}" + (f" ({kinds})" if kinds else "") + "."


def _make_watch_check_row(check: FingerprintCheck) -> LabelledTableRow:
    kinds = ", ".join(change.kind for change in check.changes)
    lists = "" if check.impact is None else format_share_with_interval(check.impact.states[-1].changed)
    style = "" if check.verdict == "same" else "state failed"
    entries = (
        TableCell(check.verdict, style=style), TableCell(kinds),
        TableCell(f"{check.moved:,} of {check.asked - check.lost:,}"),
        TableCell(f"{check.p:.2g}"), TableCell(lists), TableCell(format_dollars(check.usd)),
    )  # fmt: skip
    return LabelledTableRow(check.at, entries)
