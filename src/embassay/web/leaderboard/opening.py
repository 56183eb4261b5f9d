"""From what a user gives to a leaderboard that can be served."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from embassay.errors import UsageError

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


def make(root: Path, *, hosts: tuple[str, ...], root_path: str, stale_after: float, every: float) -> Any:
    """The app that serves `root`. ImportError where the extra `web` is missing."""
    from embassay.web.leaderboard.app import LeaderboardOptions, make_app
    from embassay.web.leaderboard.library import Library

    options = LeaderboardOptions(hosts, root_path, every)
    return make_app(Library(root, stale_after=stale_after), options)
