"""The board: everything that the page and the JSON answer say, from the runs of one version, part by part."""

from __future__ import annotations

import hashlib
import json
import math
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from threading import Lock
from typing import Any
from urllib.parse import quote

from embassay.document import blocks
from embassay.document.claims import describe_first_ranked, describe_gap_of_best_two
from embassay.protocols.kernel import tables as numbers
from embassay.protocols.kernel.claims import (
    Claim,
    describe_leaders_beating_baselines,
    make_count_claim,
    make_leader_claims,
    make_pair_comparison_claim,
    make_value_claim,
    select_names_above_references,
)
from embassay.protocols.kernel.comparisons import ALPHA, CLASSICAL, OVERALL, REFERENCE, describe_undecided_pair
from embassay.protocols.kernel.tables import MeasureFormat
from embassay.report.record import shorten_names_to_labels
from embassay.web.leaderboard.contract import (
    BoardCell,
    BoardColumn,
    BoardColumnData,
    BoardDataset,
    BoardSystemRow,
    BoardVerdict,
    Leaderboard,
    ListedBoard,
    ListedRun,
    State,
    Status,
    SystemFacts,
    convert_record_to_json,
)
from embassay.web.leaderboard.folders import (
    LoadedRunData,
    board_title,
    dataset_language,
    strip_folders_of_absolute_paths,
)
from embassay.web.leaderboard.ranking import (
    METHOD,
    UNTESTED,
    At,
    LeaderboardColumnTestResults,
    RunStandingsCache,
    SystemPairTests,
    compute_pair_tests_of_column,
)
from embassay.web.leaderboard.table import (
    BoardSystemWithRun,
    DataVersionRuns,
    LeaderboardSystemRow,
    find_column_task_dataset_measure,
    make_board_cell,
)

_LONGEST = 80
_MOST_NAMED = 4
_FEW = 10


def board_verdict(
    board: DataVersionRuns,
    members: Sequence[LeaderboardSystemRow],
    tests: LeaderboardColumnTestResults,
    labels: Mapping[str, str],
) -> blocks.VerdictText:
    """The verdict of a board: who may be first on the leading column."""
    lead = board.lead
    ranked = [member for member in members if member.complete and member.group == ""]
    if lead is None or not ranked:
        return _unfinished_verdict(board)
    on = "" if lead.task == OVERALL else f" on {lead.title}"
    if len(ranked) == 1:
        return _single_system_verdict(ranked[0], lead, on, labels)
    values = {member.name: member.cells[lead.key].value or 0.0 for member in ranked}
    first = _state_possible_leaders(lead, ranked, tests, _best_reference_score(members, lead))
    if not first:
        return _unranked_verdict(lead, values, tests, on)
    gap, unit = _state_gap_to_second(lead, ranked, tests), _make_column_format(lead)
    every = "embedding model" if any(member.group == CLASSICAL for member in members if member.complete) else "system"
    heading = _name_possible_leaders(first, labels, on) or describe_first_ranked(
        first, lambda name: _cut_label(labels[name]), on, every=every
    )
    lede = tuple(
        describe_gap_of_best_two(claim, labels.__getitem__, values.__getitem__, unit, _describe_undecided_gap(tests))
        for claim in gap
    )
    return blocks.VerdictText(heading, lede, (*first, *gap))


def _state_possible_leaders(
    lead: BoardColumn, ranked: Sequence[LeaderboardSystemRow], tests: LeaderboardColumnTestResults, floor: float | None
) -> tuple[Claim, ...]:
    """Who may be first, of those that score above the best reference, if any does; none without ranks."""
    able = {member.name: member for member in ranked if tests.ranks.get(member.name, (0, 0))[0] == 1}
    first = select_names_above_references(list(able), lambda name: _orient_value_upward(able[name], lead), floor)
    alone = len(first) == 1 and tests.ranks[first[0]] == (1, 1)
    names = [member.name for member in ranked]
    return make_leader_claims(lead.key, first, names, alone=alone, below=len(able) - len(first))


def _best_reference_score(members: Sequence[LeaderboardSystemRow], lead: BoardColumn) -> float | None:
    """What the best reference, which knows nothing, scores, turned so that more is better; None without one."""
    known = [member for member in members if member.group == REFERENCE and lead.key in member.cells]
    values = [_orient_value_upward(member, lead) for member in known if member.cells[lead.key].value is not None]
    return max(values, default=None)


def _orient_value_upward(member: LeaderboardSystemRow, lead: BoardColumn) -> float:
    value = member.cells[lead.key].value or 0.0
    return value if lead.higher_is_better else -value


def _state_gap_to_second(
    lead: BoardColumn, ranked: Sequence[LeaderboardSystemRow], tests: LeaderboardColumnTestResults
) -> tuple[Claim, ...]:
    """What the test says of the two best; none without a test. Its differences are turned so that more is better."""
    if tests.gap is None:
        return ()
    gap, (a, b) = tests.gap, [member.name for member in ranked[:2]]
    apart = gap.p_adjusted < ALPHA
    claim = make_pair_comparison_claim(lead.key, a, b, gap.difference, gap.low, gap.high, apart=apart)
    return (claim,)


def _describe_undecided_gap(tests: LeaderboardColumnTestResults) -> str:
    return "" if tests.gap is None else describe_undecided_pair(tests.gap.p, tests.gap.p_adjusted, tests.gap.systems)


def _single_system_verdict(
    member: LeaderboardSystemRow, lead: BoardColumn, on: str, labels: Mapping[str, str]
) -> blocks.VerdictText:
    claim = make_value_claim(member.name, lead.key, member.cells[lead.key].value)
    scores = f"{_cut_label(labels[member.name])} scores {_format_system_column_value(member, lead)}{on or ' overall'}"
    return blocks.VerdictText((scores,), (("Add a second system to compare.",),), (claim,))


def _unranked_verdict(
    lead: BoardColumn, values: Mapping[str, float], tests: LeaderboardColumnTestResults, on: str
) -> blocks.VerdictText:
    least, most = (end(values, key=lambda name: values[name]) for end in (min, max))
    others = {name: tuple(other for other in values if other != name) for name in (least, most)}
    claims = (
        Claim(least, "least", lead.key, others[least], values[least]),
        Claim(most, "most", lead.key, others[most], values[most]),
    )
    ends = " and ".join(_make_column_format(lead).format_value_in_text(claim.value or 0.0) for claim in claims)
    lede = f"Values are between {ends}. No test compares them ({tests.reason})."
    return blocks.VerdictText((f"No ranking{on}: differences cannot be tested",), ((lede,),), claims)


def list_board_warnings(
    board: DataVersionRuns, members: Sequence[LeaderboardSystemRow], runs: Sequence[ListedRun], broken: int
) -> tuple[str, ...]:
    """What a reader must know before the table, each with its count and consequence."""
    return tuple(_list_board_warnings(board, members, runs, broken))


def choose_word_for_simulated_annotators(board: DataVersionRuns) -> str:
    """`All` or `Some` where scripts stand in for people, else nothing."""
    return next((run.scripts for run in board.runs if run.scripts), "")


def _name_possible_leaders(first: Sequence[Claim], labels: Mapping[str, str], on: str) -> blocks.Sentence:
    """The names of two or three that may be first, where they fit and somebody may not; else empty."""
    names = [labels[claim.subject] for claim in first]
    if not 1 < len(names) <= 3 or len(names) == first[0].of:
        return ()
    named = f"{', '.join(names[:-1])} and {names[-1]} may be first{on}{describe_leaders_beating_baselines(first[0])}"
    return (named,) if len(named) <= _LONGEST else ()


def _unfinished_verdict(board: DataVersionRuns) -> blocks.VerdictText:
    work = [work for run in board.runs for work in run.work]
    claim = make_count_claim("finished", sum(cell.status == "done" for cell in work), len(work))
    cells = f"{numbers.format_count(claim.n)} of {numbers.format_noun_count(claim.of, 'cell')}"
    if not claim.n:
        lede = f"{cells} finished. Results appear here as cells finish."
        return blocks.VerdictText(("Nothing finished yet",), ((lede,),), (claim,))
    heading = "No system has finished every task, so none is ranked"
    lede = f"{cells} have finished. Results appear here as cells finish."
    return blocks.VerdictText((heading,), ((lede,),), (claim,))


def _list_board_warnings(
    board: DataVersionRuns, members: Sequence[LeaderboardSystemRow], runs: Sequence[ListedRun], broken: int
) -> Iterator[str]:
    if scripts := choose_word_for_simulated_annotators(board):
        yield (
            f"{scripts} annotators are simulated: scripts answered, not people. Their scores say nothing about people."
        )
    failed = [work for member in members for work in member.entrant.cell_statuses_of_system if work.status == "failed"]
    if failed:
        where = f"{failed[0].system} on {failed[0].task}, {failed[0].dataset}"
        more = f" and {numbers.format_count(len(failed) - 1)} more" if len(failed) > 1 else ""
        yield f"{numbers.format_noun_count(len(failed), 'cell')} failed: {where}{more}. Such systems have no rank."
    waiting = [member for member in members if not member.complete and member.group != "reference"]
    if waiting and not failed:
        what = "system is" if len(waiting) == 1 else "systems are"
        yield f"{numbers.format_count(len(waiting))} {what} incomplete and listed without a rank below the others."
    stale = [run.name for run in runs if run.status == "stale"]
    if stale:
        yield f"Runs without updates for a long time, possibly killed: {_join_some_names(stale)}."
    twice = [member.name for member in members if member.entrant.others]
    if twice:
        who = "is" if len(twice) == 1 else "are"
        yield (
            f"{numbers.format_noun_count(len(twice), 'system')} {who} in several runs of this version; the "
            "newest finished run counts."
        )
    few = [
        column
        for column in board.overview
        if 0 < _largest_item_count(members, column) < _FEW and column.task != OVERALL
    ]
    if few and board.kind != "mteb":  # there n counts the tasks of a mean
        titles = _join_some_names([column.title for column in few])
        yield f"Too few items (under {_FEW}) to rely on ranks: {titles}."
    codes = {str(run.manifest.get("embassay") or "") for run in board.runs}
    if len(codes) > 1:
        yield (
            f"The runs were made by {numbers.format_small_count_in_words(len(codes))} versions of Embassay: "
            f"{', '.join(sorted(codes))}."
        )
    if broken:
        yield (
            f"{numbers.format_noun_count(broken, 'folder')} cannot be read and {'is' if broken == 1 else 'are'} "
            "left out."
        )


def _largest_item_count(members: Sequence[LeaderboardSystemRow], column: BoardColumn) -> int:
    return max((member.cells[column.key].n for member in members), default=0)


def _join_some_names(names: Sequence[str]) -> str:
    more = len(names) - _MOST_NAMED
    return ", ".join(names[:_MOST_NAMED]) + (f" and {numbers.format_count(more)} more" if more > 0 else "")


def _format_system_column_value(member: LeaderboardSystemRow, column: BoardColumn) -> str:
    return _make_column_format(column).format_value_in_text(member.cells[column.key].value or 0.0)


def _make_column_format(column: BoardColumn) -> MeasureFormat:
    return MeasureFormat(column.factor, column.decimals, 1 if column.unit == "points" else column.decimals)


def _cut_label(label: str) -> str:
    return label if len(label) <= 44 else label[:43] + "…"


@dataclass(frozen=True)
class LinkedBoardsAndStatuses:
    """What a board must know beside its runs: the state of each run by name, the newer board and in what it differs,
    older ones, how many folders cannot be read, and the last check of each system that is watched."""

    statuses: Mapping[str, Status]
    newer: str | None = None
    older: tuple[str, ...] = ()
    broken: int = 0
    differs: str = ""
    watched: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class BoardWithSources:
    """A board and what it was made of; `whole` says whether all its columns have been tested."""

    board: Leaderboard
    joined: DataVersionRuns
    members: tuple[LeaderboardSystemRow, ...]
    whole: bool = True


def build_leaderboard(
    joined: DataVersionRuns,
    around: LinkedBoardsAndStatuses,
    replicates: RunStandingsCache,
    tests: CachedColumnTests,
    *,
    later: bool = False,
    values_only: bool = False,
) -> BoardWithSources:
    """The board of the runs of one version. The same runs in the same state give the same board. With `later` only the
    leading column is tested now: the pairs of hundreds of systems take seconds a column. With `values_only` nothing is
    tested, and no replicates are read."""
    standings = {} if values_only else joined.compute_column_standings(replicates, joined.overview)
    members = joined.order_board_systems(standings)
    lead = joined.lead.key if joined.lead is not None else ""
    part, tested = make_board_column_data(joined, members, joined.overview, standings, tests, alike=[lead], later=later)
    label = dict(shorten_names_to_labels([member.name for member in members]))
    if choose_word_for_simulated_annotators(joined):
        label |= {member.name: "simulated annotators" for member in members if member.kind == "person"}
    runs = tuple(make_listed_run_of_leaderboard(run, around.statuses[run.name]) for run in joined.runs)
    columns = add_item_counts_to_columns(joined.columns, part.cells)
    newest = joined.runs[0]
    outcome = board_verdict(joined, members, tested.get(lead, LeaderboardColumnTestResults()), label)
    said = BoardVerdict(
        blocks.convert_sentence_to_text(outcome.heading), " ".join(map(blocks.convert_sentence_to_text, outcome.lede))
    )
    board = Leaderboard(
        joined.id, board_title(newest), newest.kind, joined.version, board_status(runs), find_newest_run_time(runs), "",
        around.newer, said, list_board_warnings(joined, members, runs, around.broken), tuple(_run_datasets(newest)),
        runs, lead,
        tuple(replace(each, reason=tested[each.key].reason) if each.key in tested else each for each in columns),
        tuple(
            _make_board_system_row(joined, member, i, label[member.name], around)
            for i, member in enumerate(members)
        ),
        part.cells, part.ranks, part.best, part.top, part.alike, around.older, METHOD,
    )  # fmt: skip
    whole = not any(test.reason == LATER for test in tested.values())
    stamp = "" if values_only else hash_record(board)
    return BoardWithSources(replace(board, stamp=stamp), joined, members, whole)


def make_listed_board_entry(joined: DataVersionRuns, around: LinkedBoardsAndStatuses) -> ListedBoard:
    """A board in the list; nothing is tested for it."""
    runs = tuple(make_listed_run_of_leaderboard(run, around.statuses[run.name]) for run in joined.runs)
    return ListedBoard(
        joined.id, board_title(joined.runs[0]), joined.kind, joined.version, board_status(runs),
        find_newest_run_time(runs),
        len({name for run in joined.runs for name in run.systems}),
        sum(len(by_system) for run in joined.runs for by_system in run.scores.values()),
        len(runs), around.newer, sum(run.done for run in runs), sum(run.cells for run in runs),
        around.differs
    )  # fmt: skip


def make_listed_run_of_leaderboard(run: LoadedRunData, status: Status) -> ListedRun:
    """A run as told to a page. While it goes on, it was updated when its files were."""
    updated = run.updated
    if run.is_running:
        updated = datetime.fromtimestamp(run.folder.touched, UTC).isoformat(timespec="seconds")
    done = sum(work.status == "done" for work in run.work)
    return ListedRun(run.name, status, updated, done, len(run.work), find_report_address(run))


def find_report_address(run: LoadedRunData) -> str | None:
    """Where the report of a run is, after a page's base; None where it has none."""
    return f"runs/{quote(run.name)}/report.html" if run.folder.has_report else None


def board_status(runs: Sequence[ListedRun]) -> Status:
    """`live` if one run is, else `stale` if one is."""
    states = {run.status for run in runs}
    return "live" if "live" in states else "stale" if "stale" in states else "done"


def find_newest_run_time(runs: Sequence[ListedRun]) -> str:
    """The newest time of the runs."""
    return max((run.updated for run in runs), default="")


def _run_datasets(run: LoadedRunData) -> list[BoardDataset]:
    return [
        BoardDataset(
            str(dataset["name"]), dataset_language(run, dataset),
            max((int(task.get("n") or 0) for task in (dataset.get("tasks") or {}).values()), default=0),
            str(dataset.get("fingerprint") or ""),
        )
        for dataset in run.manifest.get("datasets") or ()
    ]  # fmt: skip


def _make_board_system_row(
    joined: DataVersionRuns, member: LeaderboardSystemRow, index: int, label: str, around: LinkedBoardsAndStatuses
) -> BoardSystemRow:
    entrant = member.entrant
    return BoardSystemRow(
        index,
        member.name,
        label,
        member.kind,
        member.group,
        member.complete and member.group in ("", "classical"),
        _find_system_completion_state(member),
        _unranked_note(joined, member),
        entrant.run.name,
        find_report_address(entrant.run),
        tuple(run.name for run in entrant.others),
        replace(collect_system_facts(entrant), last_check=around.watched.get(member.name, "")),
    )


def _find_system_completion_state(member: LeaderboardSystemRow) -> State:
    states = {cell.state for cell in member.cells.values()}
    if "running" in states:
        return "running"
    return "done" if member.complete or member.group == "reference" else "partial"


def _unranked_note(joined: DataVersionRuns, member: LeaderboardSystemRow) -> str:
    """Why a system has no rank, with the mean of what it has."""
    if member.complete or member.group == "reference":
        return ""
    mean = member.entrant.score((OVERALL, "", "mean_of_present"))
    tasks = [column for column in joined.overview if column.task != OVERALL]
    done = sum(member.cells[column.key].value is not None for column in tasks)
    lead = member.cells[joined.lead.key] if joined.lead is not None else None
    if lead is not None and lead.state == "undefined":
        return lead.reason
    if mean is None or mean[0] is None or joined.lead is None:
        return f"{done} of {numbers.format_noun_count(len(tasks), 'column')} finished"
    value = numbers.format_score(mean[0] * joined.lead.factor, joined.lead.decimals)
    return f"mean of the {numbers.format_noun_count(mean[3], 'finished task')} {value}"


_DIGITS = 8
_MOST_TESTS = 2_000
LATER = "the tests of this column are being computed"


class CachedColumnTests:
    """Tests of columns, done once while the runs behind them stay the same."""

    def __init__(self) -> None:
        self._known: OrderedDict[tuple[object, ...], LeaderboardColumnTestResults] = OrderedDict()
        self._pairs: dict[tuple[object, ...], dict[str, SystemPairTests]] = {}
        self._lock = Lock()

    def of(
        self, board: DataVersionRuns, column: BoardColumn, standings: At, ranked: frozenset[str], *, make: bool = True
    ) -> LeaderboardColumnTestResults:
        """The tests of one column among the `ranked` systems. Incomplete systems take no part but in a mean over
        some datasets that they have, and references only where they reach the leader. Where tests are not known yet
        and `make` is false, there are none for now."""
        place = find_column_task_dataset_measure(column)
        behind = {
            entrant.name: (entrant.run.name, entrant.run.folder.stamp[:3])
            for entrant in board.entering_systems
            if (entrant.name in ranked or column.parts) and (place, entrant.name) in standings
        }
        asked = (column.key, *column.parts)
        key = (board.id, asked, frozenset(behind.items()))
        with self._lock:
            if key in self._known:
                self._known.move_to_end(key)
                return self._known[key]
        has_draws = any(len(standings[place, name].headline.replicates) for name in behind)
        if board.kind in UNTESTED and not has_draws:
            return LeaderboardColumnTestResults(reason=UNTESTED[board.kind])
        if not make:
            return LeaderboardColumnTestResults(reason=LATER)
        pairs = self._pairs.setdefault((board.id, asked), {})
        tested = compute_pair_tests_of_column(
            [standings[place, name] for name in sorted(behind)],
            higher=column.higher_is_better, origins=behind, known=pairs
        )  # fmt: skip
        with self._lock:
            self._known[key] = tested
            while len(self._known) > _MOST_TESTS:
                self._known.popitem(last=False)
        return tested


def make_board_column_data(
    board: DataVersionRuns,
    members: Sequence[LeaderboardSystemRow],
    columns: Sequence[BoardColumn],
    standings: At,
    tests: CachedColumnTests,
    *,
    alike: Sequence[str],
    stamp: str = "",
    later: bool = False,
) -> tuple[BoardColumnData, Mapping[str, LeaderboardColumnTestResults]]:
    """The columns as a part of the board, systems in the order of `members`; and what the tests said by key. `alike`
    are the keys for which all that cannot be told apart are listed; with `later` no other columns are tested now."""
    place = {member.name: i for i, member in enumerate(members)}
    ranked = frozenset(member.name for member in members if member.complete or member.group == REFERENCE)
    tested = {
        column.key: tests.of(board, column, standings, ranked, make=not later or column.key in alike)
        for column in columns
    }
    cells = {column.key: tuple(_board_cell(m, column, standings) for m in members) for column in columns}
    part = BoardColumnData(
        stamp,
        cells,
        {key: tuple(test.ranks.get(m.name) for m in members) for key, test in tested.items()},
        {key: tuple(_round_share(test.best.get(m.name)) for m in members) for key, test in tested.items()},
        {key: tuple(sorted(place[name] for name in test.top)) for key, test in tested.items()},
        {
            key: tuple(
                tuple(sorted(place[name] for name in tested[key].alike[m.name]))
                if m.name in tested[key].alike
                else None
                for m in members
            )
            for key in alike
            if key in tested
        },
    )
    return (part if stamp else replace(part, stamp=hash_record(part))), tested


def add_item_counts_to_columns(
    columns: Sequence[BoardColumn], cells: Mapping[str, Sequence[BoardCell]]
) -> tuple[BoardColumn, ...]:
    """The columns with the largest number of items of their cells, where these are given."""
    return tuple(
        replace(column, n=max((cell.n for cell in cells[column.key]), default=0)) if column.key in cells else column
        for column in columns
    )


def round_cell_value(cell: BoardCell) -> BoardCell:
    """Eight digits: more than a score has. Order, ranks and downloads are from all of them."""
    return cell._replace(
        value=_round_finite_value(cell.value), low=_round_finite_value(cell.low), high=_round_finite_value(cell.high)
    )


def _board_cell(member: LeaderboardSystemRow, column: BoardColumn, standings: At) -> BoardCell:
    """The cell, with the interval of its replicates where the row was written without one."""
    cell = member.cells.get(column.key) or make_board_cell(member.entrant, column)
    standing = standings.get((find_column_task_dataset_measure(column), member.name))
    if cell.value is not None and cell.low is None and standing is not None:
        low, high = standing.headline.interval
        cell = cell._replace(low=low, high=high)
    return round_cell_value(cell)


def hash_record(record: Any) -> str:
    """A digest of a record's content."""
    plain = json.dumps(convert_record_to_json(record), ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(plain.encode("utf-8", "replace")).hexdigest()[:16]


def _round_finite_value(value: float | None) -> float | None:
    """What JSON cannot say is no value."""
    return float(f"{value:.{_DIGITS}g}") if value is not None and math.isfinite(value) else None


def _round_share(value: float | None) -> float | None:
    return None if value is None else round(value, 4)


_FLOAT = 4
"""Bytes of a number of a vector: a million vectors take as many MB for each dimension."""


def collect_system_facts(entrant: BoardSystemWithRun) -> SystemFacts:
    """The facts of a system, from the manifest and the cells of its run; of a sweep's stack from its measurements."""
    facts = entrant.described.get("facts") or {}
    stack = entrant.run.stacks.get(entrant.name, {})
    seconds = sum(work.seconds or 0.0 for work in entrant.cell_statuses_of_system if work.status == "done")
    texts = sum(work.texts for work in entrant.cell_statuses_of_system if work.status == "done")
    dims = _parse_and_round_number(facts.get("dims") or facts.get("dim") or (stack.get("axes") or {}).get("dims"))
    return SystemFacts(
        dims,
        _parse_and_round_number(facts.get("max_tokens")),
        _parse_and_round_number(facts.get("parameters")),
        _parse_number(facts.get("usd_per_million_tokens")),
        _parse_number(stack.get("cost")),
        _stack_p95_latency(stack),
        round(seconds, 3) or None,
        round(texts / seconds, 1) if texts and seconds else None,
        strip_folders_of_absolute_paths(str(facts.get("licence") or "")),
        strip_folders_of_absolute_paths(str(facts.get("summary") or "")),
        _parse_number(facts.get("weights_mb")),
        None if stack or dims is None else float(dims * _FLOAT),
        _index_megabytes(stack),
    )


def _index_megabytes(stack: Mapping[str, Any]) -> float | None:
    """Of a stack's index, as measured, else what its structure takes."""
    memory = stack.get("memory") or {}
    taken = _parse_number(memory.get("memory"))
    if taken is None and memory.get("vectors") is not None:
        taken = (_parse_number(memory["vectors"]) or 0.0) + (_parse_number(memory.get("graph")) or 0.0)
    return None if taken is None else round(taken / 1e6, 3)


def _stack_p95_latency(stack: Mapping[str, Any]) -> float | None:
    """The 95th percentile of a stack's whole answer."""
    total = [time for time in stack.get("times") or () if time.get("stage") == "total"]
    return _parse_number(total[0].get("p95")) if total else None


def _parse_and_round_number(value: Any) -> int | None:
    number = _parse_number(value)
    return None if number is None else round(number)


def _parse_number(value: Any) -> float | None:
    """A number that may be written as text; None for what is none."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    return number if math.isfinite(number) and not isinstance(value, bool) else None
