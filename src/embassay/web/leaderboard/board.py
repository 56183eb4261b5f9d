"""The board: everything that the page and the JSON answer say, from the runs of one version."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from urllib.parse import quote

from embassay.protocols import numbers
from embassay.protocols.standings import OVERALL
from embassay.report.names import labels
from embassay.web.leaderboard.contract import (
    Board,
    BoardLine,
    Dataset,
    Run,
    State,
    Status,
    SystemRow,
    Verdict,
)
from embassay.web.leaderboard.facts import facts_of
from embassay.web.leaderboard.joined import Joined, Member
from embassay.web.leaderboard.part import LATER, Tests, part_of, stamp_of, with_counts
from embassay.web.leaderboard.ranking import METHOD, Tested
from embassay.web.leaderboard.reading import RunData
from embassay.web.leaderboard.replicates import Replicates
from embassay.web.leaderboard.versions import language_of, title_of
from embassay.web.leaderboard.wording import care, simulated, verdict


@dataclass(frozen=True)
class Around:
    """What a board must know beside its runs: the state of each run by name, the newer board and in what it differs,
    older ones, and how many folders cannot be read."""

    statuses: Mapping[str, Status]
    newer: str | None = None
    older: tuple[str, ...] = ()
    broken: int = 0
    differs: str = ""


@dataclass(frozen=True)
class Made:
    """A board and what it was made of; `whole` says whether all its columns have been tested."""

    board: Board
    joined: Joined
    members: tuple[Member, ...]
    whole: bool = True


def make_board(
    joined: Joined,
    around: Around,
    replicates: Replicates,
    tests: Tests,
    *,
    later: bool = False,
    values_only: bool = False,
) -> Made:
    """The board of the runs of one version. The same runs in the same state give the same board. With `later` only the
    leading column is tested now: the pairs of hundreds of systems take seconds a column. With `values_only` nothing is
    tested, and no replicates are read."""
    standings = {} if values_only else joined.standings(replicates, joined.overview)
    members = joined.members(standings)
    lead = joined.lead.key if joined.lead is not None else ""
    part, said = part_of(joined, members, joined.overview, standings, tests, alike=[lead], later=later)
    label = dict(labels([one.name for one in members]))
    if simulated(joined):
        label |= {one.name: "simulated annotators" for one in members if one.kind == "person"}
    runs = tuple(run_of(run, around.statuses[run.name]) for run in joined.runs)
    columns = with_counts(joined.columns, part.cells)
    newest = joined.runs[0]
    found = verdict(joined, members, said.get(lead, Tested()), label)
    board = Board(
        joined.id, title_of(newest), newest.kind, joined.version, status_of(runs), updated_of(runs), "",
        around.newer, Verdict(found.title, found.lede), care(joined, members, runs, around.broken),
        tuple(_datasets(newest)), runs, lead,
        tuple(replace(one, reason=said[one.key].reason) if one.key in said else one for one in columns),
        tuple(_row(joined, one, i, label[one.name]) for i, one in enumerate(members)),
        part.cells, part.ranks, part.best, part.top, part.alike, around.older, METHOD,
    )  # fmt: skip
    whole = not any(found.reason == LATER for found in said.values())
    stamp = "" if values_only else stamp_of(board)
    return Made(replace(board, stamp=stamp), joined, members, whole)


def line_of(joined: Joined, around: Around) -> BoardLine:
    """A board in the list; nothing is tested for it."""
    runs = tuple(run_of(run, around.statuses[run.name]) for run in joined.runs)
    return BoardLine(
        joined.id, title_of(joined.runs[0]), joined.kind, joined.version, status_of(runs), updated_of(runs),
        len({name for run in joined.runs for name in run.systems}),
        sum(len(own) for run in joined.runs for own in run.scores.values()),
        len(runs), around.newer, sum(one.done for one in runs), sum(one.cells for one in runs),
        around.differs,
    )  # fmt: skip


def run_of(run: RunData, status: Status) -> Run:
    """A run as told to a page. While it goes on, it was updated when its files were."""
    updated = run.updated
    if run.running:
        updated = datetime.fromtimestamp(run.folder.touched, UTC).isoformat(timespec="seconds")
    done = sum(one.status == "done" for one in run.work)
    return Run(run.name, status, updated, done, len(run.work), report_of(run))


def report_of(run: RunData) -> str | None:
    """Where the report of a run is, after a page's base; None where it has none."""
    return f"runs/{quote(run.name)}/report.html" if run.folder.has_report else None


def status_of(runs: Sequence[Run]) -> Status:
    """`live` if one run is, else `stale` if one is."""
    states = {one.status for one in runs}
    return "live" if "live" in states else "stale" if "stale" in states else "done"


def updated_of(runs: Sequence[Run]) -> str:
    """The newest time of the runs."""
    return max((one.updated for one in runs), default="")


def _datasets(run: RunData) -> list[Dataset]:
    return [
        Dataset(
            str(one["name"]), language_of(run, one),
            max((int(task.get("n") or 0) for task in (one.get("tasks") or {}).values()), default=0),
            str(one.get("fingerprint") or ""),
        )
        for one in run.manifest.get("datasets") or ()
    ]  # fmt: skip


def _row(joined: Joined, one: Member, index: int, label: str) -> SystemRow:
    entrant = one.entrant
    return SystemRow(
        index, one.name, label, one.kind, one.group, one.complete and one.group in ("", "classical"), _state(one),
        _note(joined, one), entrant.run.name, report_of(entrant.run), tuple(run.name for run in entrant.others),
        facts_of(entrant),
    )  # fmt: skip


def _state(one: Member) -> State:
    states = {cell.state for cell in one.cells.values()}
    if "running" in states:
        return "running"
    return "done" if one.complete or one.group == "reference" else "partial"


def _note(joined: Joined, one: Member) -> str:
    """Why a system has no rank, with the mean of what it has."""
    if one.complete or one.group == "reference":
        return ""
    mean = one.entrant.score((OVERALL, "", "mean_of_present"))
    tasks = [column for column in joined.overview if column.task != OVERALL]
    done = sum(one.cells[column.key].value is not None for column in tasks)
    lead = one.cells[joined.lead.key] if joined.lead is not None else None
    if lead is not None and lead.state == "undefined":
        return lead.reason
    if mean is None or mean[0] is None or joined.lead is None:
        return f"{done} of {numbers.counted(len(tasks), 'column')} finished"
    value = numbers.score(mean[0] * joined.lead.factor, joined.lead.decimals)
    return f"mean of the {numbers.counted(mean[3], 'finished task')} {value}"
