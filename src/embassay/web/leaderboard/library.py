"""The folder as it is now: boards built when first asked for and when runs changed; cards of one system and of two."""

from __future__ import annotations

import re
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from threading import Event, Lock, RLock
from typing import Any

from embassay.errors import DataError, EmbassayError, UsageError
from embassay.protocols.compare import SystemContrast, compare_systems, determine_replicate_pairing
from embassay.protocols.kernel.comparisons import ALPHA
from embassay.protocols.kernel.tables import MeasureFormat
from embassay.records import convert_nonfinite_to_none
from embassay.web.leaderboard.board import (
    BoardWithSources,
    CachedColumnTests,
    LinkedBoardsAndStatuses,
    build_leaderboard,
    hash_record,
    make_listed_board_entry,
    round_cell_value,
)
from embassay.web.leaderboard.checks import describe_last_check_by_system
from embassay.web.leaderboard.contract import (
    BoardCell,
    BoardColumn,
    BoardList,
    BrokenRunFolder,
    Leaderboard,
    OtherBoardStanding,
    Status,
    SystemComparison,
    SystemDifferenceRow,
    SystemProfile,
    SystemStandingInColumn,
)
from embassay.web.leaderboard.folders import (
    BOARD_KINDS,
    LoadedRunData,
    Place,
    ScannedFolder,
    board_history_key,
    digest_comparable_run_settings,
    find_run_folders,
    read_leaderboard_run,
    strip_folders_of_absolute_paths,
)
from embassay.web.leaderboard.ranking import RunStandingsCache, load_run_for_comparison
from embassay.web.leaderboard.table import (
    DataVersionRuns,
    LeaderboardSystemRow,
    find_column_task_dataset_measure,
    join_version_runs,
    make_board_cell,
)


def make_system_card(
    library: RunLibrary, view: RunFolderSnapshot, made: BoardWithSources, name: str
) -> SystemProfile | None:
    """The card of the system called `name`; None where the board has none of that name."""
    board = made.board
    row = next((system for system in board.systems if system.name == name), None)
    if row is None:
        return None
    stands = tuple(
        stand
        for column in board.columns
        if not column.parts
        and (
            stand := _make_column_standing(made, row.index, column, _find_cell_as_shown(made, row.index, column))
        ).cell.state
        != "none"
    )
    ranked = [stand for stand in stands if stand.rank is not None and stand.of > 1]
    elsewhere = tuple(_list_standings_on_other_boards(library, view, board.id, name))
    identity = strip_folders_of_absolute_paths(str(made.members[row.index].entrant.described.get("identity") or ""))
    return SystemProfile(
        board.id, board.title, hash_record((board.stamp, elsewhere)), row, identity, stands,
        tuple(stand.column.title for stand in ranked if stand.rank is not None and stand.rank[0] == 1),
        tuple(stand.column.title for stand in ranked if stand.rank is not None and stand.rank[0] > 1),
        elsewhere
    )  # fmt: skip


def _find_cell_as_shown(made: BoardWithSources, index: int, column: BoardColumn) -> BoardCell:
    """As the board has it, with the interval of its replicates; as the run has it where the board shows it later."""
    shown = made.board.cells.get(column.key)
    return shown[index] if shown is not None else round_cell_value(make_board_cell(made.members[index].entrant, column))


def _make_column_standing(
    made: BoardWithSources, index: int, column: BoardColumn, cell: BoardCell
) -> SystemStandingInColumn:
    board = made.board
    rank = board.ranks[column.key][index] if column.key in board.ranks else None
    best = board.best[column.key][index] if column.key in board.best else None
    of = _count_ranked_in_group(made, column, index) if rank is not None else 0
    return SystemStandingInColumn(column, cell, rank, of, best, board.ranked(column.key))


def _count_ranked_in_group(made: BoardWithSources, column: BoardColumn, index: int) -> int:
    """How many are ranked in the system's group."""
    board = made.board
    group = board.systems[index].group
    ranks = board.ranks[column.key]
    return sum(rank is not None and system.group == group for rank, system in zip(ranks, board.systems, strict=True))


def _list_standings_on_other_boards(
    library: RunLibrary, view: RunFolderSnapshot, here: str, name: str
) -> Iterator[OtherBoardStanding]:
    """Its leading value on the other boards, newest first."""
    for line in view.boards.boards:
        if line.id == here or not any(name in run.systems for run in view.joined[line.id].runs):
            continue
        made = library.board(line.id, view)
        row = next((system for system in made.board.systems if system.name == name), None) if made else None
        if made is None or row is None or made.joined.lead is None:
            continue
        column = next(column for column in made.board.columns if column.key == made.board.lead)
        stand = _make_column_standing(made, row.index, column, made.board.cells[column.key][row.index])
        yield OtherBoardStanding(line.id, line.title, line.version, column, stand.cell, stand.rank, stand.of)


def compare_board_systems(made: BoardWithSources, a: str, b: str) -> SystemComparison | None:
    """`a` against `b` in every column in which one of them has a value; None where the board has not both."""
    members = {member.name: member for member in made.members}
    if a not in members or b not in members or a == b:
        return None
    contrasts, paired, reason = _contrast_two_leaderboard_systems(members[a], members[b])
    rows = []
    for column in (column for column in made.board.columns if not column.parts):
        cells = make_board_cell(members[a].entrant, column), make_board_cell(members[b].entrant, column)
        if any(cell.value is not None for cell in cells):
            contrast = _find_contrast_of_task_and_dataset(
                contrasts, find_column_task_dataset_measure(column), (members[a], members[b])
            )
            rows.append(_contrast_row(column, cells, contrast, reason))
    labels = {system.name: system.label for system in made.board.systems}
    return SystemComparison(
        a, b, _describe_comparison_finding(labels[a], labels[b], rows, made.board.lead), paired, reason, tuple(rows)
    )


def _contrast_two_leaderboard_systems(
    a: LeaderboardSystemRow, b: LeaderboardSystemRow
) -> tuple[Mapping[Place, SystemContrast], bool, str]:
    """Contrasts by place; none, with the reason, where the runs keep nothing to test."""
    first, second = a.entrant.run, b.entrant.run
    if first.is_running or second.is_running:
        return {}, False, "the run is still in progress; tests follow when it ends"
    try:
        other = None if first is second else load_run_for_comparison(second)
        pair_of_systems = compare_systems(
            load_run_for_comparison(first),
            first.find_original_system_name(a.name),
            second.find_original_system_name(b.name),
            other,
        )
    except (EmbassayError, OSError, ValueError):
        return {}, False, "no stored values to compare the two systems"
    by_place = {(contrast.task, contrast.dataset, contrast.measure): contrast for contrast in pair_of_systems.contrasts}
    return by_place, pair_of_systems.pairing.paired, pair_of_systems.pairing.reason


def _find_contrast_of_task_and_dataset(
    contrasts: Mapping[Place, SystemContrast], place: Place, pair: tuple[LeaderboardSystemRow, LeaderboardSystemRow]
) -> SystemContrast | None:
    """The contrast at a place; on the only dataset of a task that of the task, which is kept once."""
    task, dataset, measure = place
    datasets = {work.dataset for member in pair for work in member.entrant.cell_statuses_of_system if work.task == task}
    return contrasts.get(place) or (contrasts.get((task, "", measure)) if datasets == {dataset} else None)


def _contrast_row(
    column: BoardColumn, cells: tuple[BoardCell, BoardCell], contrast: SystemContrast | None, reason: str
) -> SystemDifferenceRow:
    values = cells[0].value, cells[1].value
    difference = None if values[0] is None or values[1] is None else values[0] - values[1]
    why = next((cell.reason or cell.state for cell in cells if cell.value is None), "")
    if contrast is None:
        why = why or reason or "no test: no stored values to resample"
        low = high = p = adjusted = smallest = None
    else:
        why = why or strip_folders_of_absolute_paths(contrast.reason)
        low, high, smallest = (
            convert_nonfinite_to_none(contrast.low),
            convert_nonfinite_to_none(contrast.high),
            convert_nonfinite_to_none(contrast.smallest),
        )
        p, adjusted = convert_nonfinite_to_none(contrast.p), convert_nonfinite_to_none(contrast.p_adjusted)
    return SystemDifferenceRow(
        column.key, column.title, column.task, column.dataset, column.measure, column.unit, column.factor,
        column.decimals, column.higher_is_better, *values, difference, low, high, p, adjusted, smallest,
        min(cell.n for cell in cells), why
    )  # fmt: skip


def _describe_comparison_finding(a: str, b: str, rows: Sequence[SystemDifferenceRow], lead: str) -> str:
    """The finding on the leading column."""
    row = next((contrast_row for contrast_row in rows if contrast_row.key == lead), None)
    on = f" on {row.title}" if row is not None and row.title != "Overall" else ""
    if row is None or row.difference is None:
        return f"{a} and {b} have no values in common{on}"
    if row.p_adjusted is None:
        return f"No test compares {a} and {b}{on}"
    if row.p_adjusted >= ALPHA:
        return f"{a} cannot be told apart from {b}{on}"
    better = (row.difference > 0) == row.higher_is_better
    first, second = (a, b) if better else (b, a)
    unit = MeasureFormat(row.factor, row.decimals, 1 if row.unit == "points" else row.decimals)
    return f"{first} beats {second} by {unit.format_value_in_text(abs(row.difference))}{on}"


_MANY = 60
"""Systems from which on a board is shown before all its columns are tested."""
_REMEMBERED = 8
"""Boards of earlier moments, by id, that a page may still show: updates are told against them."""


@dataclass(frozen=True)
class RunFolderSnapshot:
    """The folder at one moment. `read` are all run folders by name, with the run or why it cannot be read; `stamp` is
    another when anything about the list of boards is."""

    boards: BoardList
    stamp: str
    read: Mapping[str, tuple[ScannedFolder, LoadedRunData | str]]
    joined: Mapping[str, DataVersionRuns]
    around: Mapping[str, LinkedBoardsAndStatuses]
    watched: Mapping[str, str] = field(default_factory=dict)
    made: dict[str, BoardWithSources] = field(default_factory=dict)

    def report(self, run: str) -> Path | None:
        """The path of a run's report, None where there is none."""
        folder = self.read[run][0] if run in self.read else None
        return folder.path / "report.html" if folder is not None and folder.has_report else None


class RunLibrary:
    """A folder of runs. `refresh` looks for changes; everything else answers from what was read last.

    A run that says it goes on, and of which nothing was heard for `stale_after` seconds, is stale.
    """

    def __init__(self, root: Path, *, stale_after: float = 900.0, clock: Callable[[], float] = time.time) -> None:
        self.root, self._stale_after, self._clock = root, stale_after, clock
        self._replicates, self.tests = RunStandingsCache(), CachedColumnTests()
        self._view: RunFolderSnapshot | None = None
        self._ready, self._refreshing, self._building = Event(), Lock(), RLock()
        self._earlier: dict[str, OrderedDict[str, Leaderboard]] = {}
        self.wake = Event()
        """Set when there is something to do before the next look at the folder."""

    @property
    def replicates(self) -> RunStandingsCache:
        """The cache that keeps the replicates of runs."""
        return self._replicates

    def wait_for_snapshot(self, timeout: float = 300.0) -> RunFolderSnapshot:
        """The folder as last read. Waits for the first reading."""
        self._ready.wait(timeout)
        if self._view is None:
            raise DataError("The folder has not been read yet")
        return self._view

    def refresh_changed_runs(self) -> bool:
        """Read what changed; whether anything did. Boards that were asked for before are built again at once, so that
        nobody waits for them."""
        with self._refreshing:
            before = self._view
            read = {folder.name: _read_changed_run(folder, before) for folder in find_run_folders(self.root)}
            watched = describe_last_check_by_system(self.root)
            is_same = before is not None and _has_nothing_changed(before.read, read) and before.watched == watched
            if before is not None and is_same and not self._has_run_status_changed_with_time(before):
                return self._run_postponed_tests(before)
            made = self._build_folder_snapshot(read, before, watched)
            for name in before.made if before is not None else ():
                if name in made.joined:
                    self.board(name, made)
            self._view = made
            self._ready.set()
            self._run_postponed_tests(made)
            return True

    def board(self, name: str, view: RunFolderSnapshot | None = None) -> BoardWithSources | None:
        """The board called `name`; None where there is none."""
        now = view or self.wait_for_snapshot()
        if name not in now.joined:
            return None
        if name not in now.made:
            with self._building:
                # Another request may have made it while this one waited.
                if name not in now.made:
                    now.made[name] = self._build_board(name, now)
                    if not now.made[name].whole:
                        self.wake.set()
        return now.made[name]

    def find_board_by_stamp(self, name: str, stamp: str) -> Leaderboard | None:
        """The board as it was when it had this stamp; None where nobody knows any more."""
        return self._earlier.get(name, OrderedDict()).get(stamp)

    def _run_postponed_tests(self, view: RunFolderSnapshot) -> bool:
        """Test what was left for later; whether there was anything."""
        waiting = [name for name, made in list(view.made.items()) if not made.whole]
        for name in waiting:
            made = build_leaderboard(view.joined[name], view.around[name], self._replicates, self.tests)
            self._remember_board(made.board)
            view.made[name] = made
        return bool(waiting)

    def _build_board(self, name: str, view: RunFolderSnapshot) -> BoardWithSources:
        last = self._view
        before = last.made.get(name) if last is not None and last is not view else None
        if last is not None and before is not None and _is_board_unchanged(name, last, view):
            return before
        later = len(view.joined[name].entering_systems) >= _MANY
        made = build_leaderboard(view.joined[name], view.around[name], self._replicates, self.tests, later=later)
        self._remember_board(made.board)
        return made

    def _remember_board(self, board: Leaderboard) -> None:
        boards = self._earlier.setdefault(board.id, OrderedDict())
        boards[board.stamp] = board
        while len(boards) > _REMEMBERED:
            boards.popitem(last=False)

    def _has_run_status_changed_with_time(self, view: RunFolderSnapshot) -> bool:
        """Whether time alone has changed the state of a run."""
        return any(
            self._find_run_status(run) != around.statuses[run.name]
            for name, around in view.around.items()
            for run in view.joined[name].runs
        )

    def _build_folder_snapshot(
        self,
        read: Mapping[str, tuple[ScannedFolder, LoadedRunData | str]],
        before: RunFolderSnapshot | None,
        watched: Mapping[str, str],
    ) -> RunFolderSnapshot:
        runs = [run for _, run in read.values() if isinstance(run, LoadedRunData) and run.kind in BOARD_KINDS]
        broken = tuple(BrokenRunFolder(name, run) for name, (_, run) in read.items() if isinstance(run, str))
        boards = _group_runs_into_boards(runs, before)
        statuses = {run.name: self._find_run_status(run) for run in runs}
        around = {
            name: replace(each, watched=watched)
            for name, each in _map_boards_to_version_history(boards, statuses, len(broken)).items()
        }
        lines = sorted(
            (make_listed_board_entry(board, around[name]) for name, board in boards.items()),
            key=lambda line: (line.updated, line.id),
            reverse=True,
        )
        now = datetime.fromtimestamp(self._clock(), UTC).isoformat(timespec="seconds")
        listed = BoardList(self.root.name, now, tuple(lines), broken)
        return RunFolderSnapshot(listed, hash_record(listed), read, boards, around, watched=watched)

    def _find_run_status(self, run: LoadedRunData) -> Status:
        if not run.is_running:
            return "done"
        return "stale" if self._clock() - run.folder.touched > self._stale_after else "live"


def _is_board_unchanged(name: str, before: RunFolderSnapshot, now: RunFolderSnapshot) -> bool:
    return before.joined[name] is now.joined[name] and before.around[name] == now.around[name]


def _read_changed_run(
    folder: ScannedFolder, before: RunFolderSnapshot | None
) -> tuple[ScannedFolder, LoadedRunData | str]:
    """A run, read only where its files are not what they were; or why it cannot be shown."""
    if before is not None and folder.name in before.read:
        pair = before.read[folder.name]
        if pair[0].stamp == folder.stamp:
            return pair
    try:
        run = read_leaderboard_run(folder)
        if run.kind in BOARD_KINDS:
            _check_run_displays(run)
    except DataError as error:
        return folder, error.what
    except Exception as error:  # whatever a file may hold, it must not end the other runs' boards
        return folder, f"its files are inconsistent ({type(error).__name__})"
    return folder, run


def _check_run_displays(run: LoadedRunData) -> None:
    """Show the run alone, without tests: what fails here would fail on its board."""
    alone = join_version_runs([run])
    board_history_key(run)
    build_leaderboard(
        alone, LinkedBoardsAndStatuses({run.name: "done"}), RunStandingsCache(), CachedColumnTests(), values_only=True
    )


def _group_runs_into_boards(
    runs: Iterable[LoadedRunData], before: RunFolderSnapshot | None
) -> dict[str, DataVersionRuns]:
    """Boards by id; one whose runs are the same stays the same object, with all that it has worked out."""
    versions: dict[str, list[LoadedRunData]] = {}
    for run in runs:
        versions.setdefault(digest_comparable_run_settings(run), []).append(run)
    boards = {}
    for group in versions.values():
        board = join_version_runs(group)
        old = before.joined.get(board.id) if before is not None else None
        same = old is not None and len(old.runs) == len(board.runs) and all(map(_is_same_object, old.runs, board.runs))
        boards[board.id] = old if same and old is not None else board
    return boards


def _is_same_object(first: object, second: object) -> bool:
    return first is second


def _map_boards_to_version_history(
    boards: Mapping[str, DataVersionRuns], statuses: Mapping[str, Status], broken: int
) -> dict[str, LinkedBoardsAndStatuses]:
    """What each board must know of the others: the versions of one history, newest first."""
    histories: dict[tuple[str, ...], list[DataVersionRuns]] = {}
    for board in boards.values():
        histories.setdefault(board_history_key(board.runs[0]), []).append(board)
    around = {}
    for history in histories.values():
        history.sort(key=lambda board: (board.runs[0].updated, board.id), reverse=True)
        for board in history:
            newer = None if board is history[0] else history[0].id
            states = {run.name: statuses[run.name] for run in board.runs}
            older = tuple(old.id for old in history if old is not board)
            around[board.id] = LinkedBoardsAndStatuses(
                states, newer, older, broken, _version_difference(board, history[0])
            )
    return around


def _version_difference(board: DataVersionRuns, newest: DataVersionRuns) -> str:
    """In what a version is another than the newest one."""
    if board is newest:
        return ""
    why = determine_replicate_pairing(board.runs[0].manifest, newest.runs[0].manifest).reason
    return strip_folders_of_absolute_paths(why) or "options of the run differ"


def _has_nothing_changed(
    before: Mapping[str, tuple[ScannedFolder, LoadedRunData | str]],
    now: Mapping[str, tuple[ScannedFolder, LoadedRunData | str]],
) -> bool:
    """Whether nothing was read anew, and nothing has gone."""
    return before.keys() == now.keys() and all(before[name] is now[name] for name in now)


_PREFIX = re.compile(r"(/[A-Za-z0-9._~-]+)+")


def resolve_runs_folder_links(folder: Path) -> Path:
    """The folder with its links resolved. UsageError for what is none, or cannot be listed."""
    if not folder.exists():
        raise UsageError(f"There is no folder {folder}.", mend="Pass the folder that contains your runs (their --out).")
    if not folder.is_dir():
        raise UsageError(f"{folder} is a file.", mend="Pass the folder that contains your runs.")
    try:
        next(folder.iterdir(), None)
    except OSError as error:
        raise UsageError(
            f"{folder} cannot be listed: {(error.strerror or str(error)).lower()}.",
            mend="Run as a user with permission to read it.",
        ) from None
    return folder.resolve()


def normalise_url_prefix(path: str) -> str:
    """A prefix without its last stroke.

    >>> normalise_url_prefix("/team/boards/"), normalise_url_prefix("")
    ('/team/boards', '')
    """
    path = path.rstrip("/")
    if path and not _PREFIX.fullmatch(path):
        raise UsageError(f"{path!r} is not a valid path prefix.", mend="Write it like /boards.")
    return path


def make_folder_app(root: Path, *, hosts: tuple[str, ...], root_path: str, stale_after: float, every: float) -> Any:
    """The app that serves `root`. ImportError where the extra `web` is missing."""
    from embassay.web.leaderboard.routes import LeaderboardOptions, make_library_app

    options = LeaderboardOptions(hosts, root_path, every)
    return make_library_app(RunLibrary(root, stale_after=stale_after), options)
