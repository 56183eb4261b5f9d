"""The folder as it is now: boards built when first asked for, and again only where their runs changed."""

from __future__ import annotations

import re
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from threading import Event, Lock, RLock
from typing import Any

from embassay.errors import DataError, UsageError
from embassay.protocols.compare import pairing
from embassay.web.leaderboard.board import Around, Made, Tests, line_of, make_board, stamp_of
from embassay.web.leaderboard.contract import Board, Boards, Broken, Status
from embassay.web.leaderboard.folders import (
    BOARD_KINDS,
    Folder,
    RunData,
    find_folders,
    history_of,
    read_run,
    version_of,
    without_paths,
)
from embassay.web.leaderboard.ranking import Replicates
from embassay.web.leaderboard.table import Joined, joined

_MANY = 60
"""Systems from which on a board is shown before all its columns are tested."""
_REMEMBERED = 8
"""Boards of earlier moments, by id, that a page may still show: updates are told against them."""


@dataclass(frozen=True)
class View:
    """The folder at one moment. `read` are all run folders by name, with the run or why it cannot be read; `stamp` is
    another when anything about the list of boards is."""

    boards: Boards
    stamp: str
    read: Mapping[str, tuple[Folder, RunData | str]]
    joined: Mapping[str, Joined]
    around: Mapping[str, Around]
    made: dict[str, Made] = field(default_factory=dict)

    def report(self, run: str) -> Path | None:
        """The report of a run, None where there is none."""
        folder = self.read[run][0] if run in self.read else None
        return folder.path / "report.html" if folder is not None and folder.has_report else None


class Library:
    """A folder of runs. `refresh` looks for changes; everything else answers from what was read last.

    A run that says it goes on, and of which nothing was heard for `stale_after` seconds, is stale.
    """

    def __init__(
        self, root: Path, *, stale_after: float = 900.0, clock: Callable[[], float] = time.time
    ) -> None:
        self.root, self._stale_after, self._clock = root, stale_after, clock
        self._replicates, self.tests = Replicates(), Tests()
        self._view: View | None = None
        self._ready, self._refreshing, self._building = Event(), Lock(), RLock()
        self._earlier: dict[str, OrderedDict[str, Board]] = {}
        self.wake = Event()
        """Set when there is something to do before the next look at the folder."""

    @property
    def replicates(self) -> Replicates:
        """What keeps the replicates of runs."""
        return self._replicates

    def view(self, timeout: float = 300.0) -> View:
        """The folder as last read. Waits for the first reading."""
        self._ready.wait(timeout)
        if self._view is None:
            raise DataError("The folder has not been read yet")
        return self._view

    def refresh(self) -> bool:
        """Read what changed; whether anything did. Boards that were asked for before are built again at once, so that
        nobody waits for them."""
        with self._refreshing:
            before = self._view
            read = {one.name: _read(one, before) for one in find_folders(self.root)}
            if before is not None and _all_same(before.read, read) and not self._aged(before):
                return self._complete(before)
            made = self._look(read, before)
            for name in before.made if before is not None else ():
                if name in made.joined:
                    self.board(name, made)
            self._view = made
            self._ready.set()
            self._complete(made)
            return True

    def board(self, name: str, view: View | None = None) -> Made | None:
        """The board called `name`; None where there is none."""
        now = view or self.view()
        if name not in now.joined:
            return None
        if name not in now.made:
            with self._building:
                if name not in now.made:
                    now.made[name] = self._make(name, now)
                    if not now.made[name].whole:
                        self.wake.set()
        return now.made[name]

    def earlier(self, name: str, stamp: str) -> Board | None:
        """The board as it was when it had this stamp; None where nobody knows any more."""
        return self._earlier.get(name, OrderedDict()).get(stamp)

    def _complete(self, view: View) -> bool:
        """Test what was left for later; whether there was anything."""
        waiting = [name for name, made in list(view.made.items()) if not made.whole]
        for name in waiting:
            made = make_board(view.joined[name], view.around[name], self._replicates, self.tests)
            self._remember(made.board)
            view.made[name] = made
        return bool(waiting)

    def _make(self, name: str, view: View) -> Made:
        last = self._view
        before = last.made.get(name) if last is not None and last is not view else None
        if last is not None and before is not None and _unchanged(name, last, view):
            return before
        later = len(view.joined[name].entrants) >= _MANY
        made = make_board(view.joined[name], view.around[name], self._replicates, self.tests, later=later)
        self._remember(made.board)
        return made

    def _remember(self, board: Board) -> None:
        known = self._earlier.setdefault(board.id, OrderedDict())
        known[board.stamp] = board
        while len(known) > _REMEMBERED:
            known.popitem(last=False)

    def _aged(self, view: View) -> bool:
        """Whether time alone has changed the state of a run."""
        return any(
            self._status(run) != one.statuses[run.name]
            for name, one in view.around.items()
            for run in view.joined[name].runs
        )

    def _look(self, read: Mapping[str, tuple[Folder, RunData | str]], before: View | None) -> View:
        runs = [run for _, run in read.values() if isinstance(run, RunData) and run.kind in BOARD_KINDS]
        broken = tuple(Broken(name, run) for name, (_, run) in read.items() if isinstance(run, str))
        boards = _joined(runs, before)
        statuses = {run.name: self._status(run) for run in runs}
        around = _around(boards, statuses, len(broken))
        lines = sorted(
            (line_of(one, around[name]) for name, one in boards.items()),
            key=lambda line: (line.updated, line.id),
            reverse=True,
        )
        now = datetime.fromtimestamp(self._clock(), UTC).isoformat(timespec="seconds")
        told = Boards(self.root.name, now, tuple(lines), broken)
        return View(told, stamp_of(told), read, boards, around)

    def _status(self, run: RunData) -> Status:
        if not run.running:
            return "done"
        return "stale" if self._clock() - run.folder.touched > self._stale_after else "live"


def _unchanged(name: str, before: View, now: View) -> bool:
    return before.joined[name] is now.joined[name] and before.around[name] == now.around[name]


def _read(folder: Folder, before: View | None) -> tuple[Folder, RunData | str]:
    """A run, read only where its files are not what they were; or why it cannot be shown."""
    if before is not None and folder.name in before.read:
        known = before.read[folder.name]
        if known[0].stamp == folder.stamp:
            return known
    try:
        run = read_run(folder)
        if run.kind in BOARD_KINDS:
            _try(run)
    except DataError as error:
        return folder, error.what
    except Exception as error:  # whatever a file may hold, it must not end the other runs' boards
        return folder, f"its files do not fit together ({type(error).__name__})"
    return folder, run


def _try(run: RunData) -> None:
    """Show the run alone, without tests: what fails here would fail on its board."""
    alone = joined([run])
    history_of(run)
    make_board(alone, Around({run.name: "done"}), Replicates(), Tests(), values_only=True)


def _joined(runs: Iterable[RunData], before: View | None) -> dict[str, Joined]:
    """Boards by id; one whose runs are the same stays the same object, with all that it has worked out."""
    versions: dict[str, list[RunData]] = {}
    for run in runs:
        versions.setdefault(version_of(run), []).append(run)
    made = {}
    for own in versions.values():
        one = joined(own)
        old = before.joined.get(one.id) if before is not None else None
        same = old is not None and len(old.runs) == len(one.runs) and all(map(_is, old.runs, one.runs))
        made[one.id] = old if same and old is not None else one
    return made


def _is(first: object, second: object) -> bool:
    return first is second


def _around(boards: Mapping[str, Joined], statuses: Mapping[str, Status], broken: int) -> dict[str, Around]:
    """What each board must know of the others: the versions of one history, newest first."""
    histories: dict[tuple[str, ...], list[Joined]] = {}
    for one in boards.values():
        histories.setdefault(history_of(one.runs[0]), []).append(one)
    made = {}
    for own in histories.values():
        own.sort(key=lambda one: (one.runs[0].updated, one.id), reverse=True)
        for one in own:
            newer = None if one is own[0] else own[0].id
            states = {run.name: statuses[run.name] for run in one.runs}
            older = tuple(old.id for old in own if old is not one)
            made[one.id] = Around(states, newer, older, broken, _difference(one, own[0]))
    return made


def _difference(one: Joined, newest: Joined) -> str:
    """In what a version is another than the newest one."""
    if one is newest:
        return ""
    why = pairing(one.runs[0].manifest, newest.runs[0].manifest).reason
    return without_paths(why) or "options of the run differ"


def _all_same(
    before: Mapping[str, tuple[Folder, RunData | str]], now: Mapping[str, tuple[Folder, RunData | str]]
) -> bool:
    """Whether nothing was read anew, and nothing has gone."""
    return before.keys() == now.keys() and all(before[name] is now[name] for name in now)


_PREFIX = re.compile(r"(/[A-Za-z0-9._~-]+)+")


def check_folder(folder: Path) -> Path:
    """The folder with its links resolved. UsageError for what is none, or cannot be listed."""
    if not folder.exists():
        raise UsageError(
            f"There is no folder {folder}.", mend="Give the folder that your runs lie in (their --out)."
        )
    if not folder.is_dir():
        raise UsageError(f"{folder} is a file.", mend="Give the folder that your runs lie in.")
    try:
        next(folder.iterdir(), None)
    except OSError as error:
        raise UsageError(
            f"{folder} cannot be listed: {(error.strerror or str(error)).lower()}.",
            mend="Run as a user who may read it.",
        ) from None
    return folder.resolve()


def check_prefix(path: str) -> str:
    """A prefix without its last stroke.

    >>> check_prefix("/team/boards/"), check_prefix("")
    ('/team/boards', '')
    """
    path = path.rstrip("/")
    if path and not _PREFIX.fullmatch(path):
        raise UsageError(f"{path!r} is no prefix of paths.", mend="Write it like /boards.")
    return path


def app_of(root: Path, *, hosts: tuple[str, ...], root_path: str, stale_after: float, every: float) -> Any:
    """The app that serves `root`. ImportError where the extra `web` is missing."""
    from embassay.web.leaderboard.routes import LeaderboardOptions, make_app

    options = LeaderboardOptions(hosts, root_path, every)
    return make_app(Library(root, stale_after=stale_after), options)
