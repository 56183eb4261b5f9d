"""What is answered at each address, as text: the routes only translate."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from embassay.web.leaderboard import downloads
from embassay.web.leaderboard.answers import HTML, JSON, Kept, Packed, pack
from embassay.web.leaderboard.board import Made
from embassay.web.leaderboard.card import make_card
from embassay.web.leaderboard.changes import changes
from embassay.web.leaderboard.compared import compare
from embassay.web.leaderboard.contract import as_plain
from embassay.web.leaderboard.library import Library, View
from embassay.web.leaderboard.page import render, render_card
from embassay.web.leaderboard.part import part_of

BELOW = "../../"
MOST_COLUMNS = 40
_FILES: dict[str, tuple[Callable[[Made], str], str]] = {
    "csv": (downloads.as_csv, "text/csv; charset=utf-8"),
    "tex": (downloads.as_tex, "text/x-tex; charset=utf-8"),
    "json": (downloads.as_json, JSON),
}


@dataclass(frozen=True)
class Service:
    """A folder that is served. Every method gives an answer, or None where there is nothing of that name."""

    library: Library
    kept: Kept = field(default_factory=Kept)

    def page(self, name: str | None) -> Packed | None:
        """The page of a board; of the newest where no name is given."""
        view = self.library.view()
        base = "" if name is None else BELOW
        name = name or (view.boards.boards[0].id if view.boards.boards else None)
        made = None if name is None else self.library.board(name, view)
        if name is not None and made is None:
            return None
        board = made.board if made is not None else None
        key = ("page", board.stamp if board is not None else "", base, view.stamp)
        return self.kept.get(key, lambda: pack(render(board, view.boards, base=base), HTML))

    def boards(self) -> Packed:
        """The list of boards."""
        view = self.library.view()
        return self.kept.get(("boards", view.stamp), lambda: _json(view.boards))

    def board(self, name: str) -> Packed | None:
        """The record of a board."""
        made = self.library.board(name)
        return None if made is None else self.kept.get(("board", made.board.stamp), lambda: _json(made.board))

    def cells(self, name: str, keys: Sequence[str]) -> Packed | None:
        """Some columns of a board; None for a column that it has not, or for too many."""
        made = self.library.board(name)
        if (
            made is None
            or not set(keys) <= {one.key for one in made.board.columns}
            or len(keys) > MOST_COLUMNS
        ):
            return None
        wanted = tuple(dict.fromkeys(keys))
        return self.kept.get(("cells", made.board.stamp, wanted), lambda: self._cells(made, wanted))

    def changes(self, name: str, since: str) -> Packed | None:
        """What is new on a board."""
        made = self.library.board(name)
        if made is None:
            return None
        old = self.library.earlier(name, since)
        known = since if old is not None else ""
        return self.kept.get(
            ("changes", made.board.stamp, known), lambda: _json(changes(old, made.board, known))
        )

    def compare(self, name: str, a: str, b: str) -> Packed | None:
        """Two systems side by side."""
        made = self.library.board(name)
        names = {one.name for one in made.members} if made is not None else set()
        if made is None or a == b or not {a, b} <= names:
            return None
        return self.kept.get(("compare", made.board.stamp, a, b), lambda: _json(compare(made, a, b)))

    def card(self, name: str, system: str) -> Packed | None:
        """The record of one system."""
        return self._card(name, system, "card", lambda card, _: _json(card))

    def card_page(self, name: str, system: str) -> Packed | None:
        """The page of one system."""
        return self._card(
            name, system, "card page",
            lambda card, view: pack(render_card(card, view.boards, base=BELOW), HTML),
        )  # fmt: skip

    def download(self, name: str, kind: str) -> Packed | None:
        """A board as a file."""
        made = self.library.board(name)
        if made is None or kind not in _FILES:
            return None
        write, media = _FILES[kind]
        return self.kept.get(("download", kind, made.board.stamp), lambda: pack(write(made), media))

    def report(self, run: str) -> Packed | None:
        """The report of a run, read from its folder."""
        view = self.library.view()
        path = view.report(run)
        if path is None:
            return None
        stamp = view.read[run][0].stamp[-1]
        try:
            return self.kept.get(("report", run, stamp), lambda: pack(_opened(path), HTML))
        except OSError:
            return None

    def _cells(self, made: Made, wanted: Sequence[str]) -> Packed:
        columns = [one for one in made.joined.columns if one.key in wanted]
        standings = made.joined.standings(self.library.replicates, columns)
        part, _ = part_of(
            made.joined,
            made.members,
            columns,
            standings,
            self.library.tests,
            alike=(),
            stamp=made.board.stamp,
        )
        return _json(part)

    def _card(self, name: str, system: str, what: str, make: Callable[[Any, View], Packed]) -> Packed | None:
        view = self.library.view()
        made = self.library.board(name, view)
        if made is None or system not in {one.name for one in made.members}:
            return None
        key = (what, system, made.board.stamp, view.stamp)
        return self.kept.get(key, lambda: make(make_card(self.library, view, made, system), view))


def _json(record: Any) -> Packed:
    return pack(
        json.dumps(as_plain(record), ensure_ascii=False, allow_nan=False, separators=(",", ":")), JSON
    )


def _opened(path: Any) -> bytes:
    """A file of a run, never through a link: what that leads to may lie elsewhere."""
    import os

    # A link put in place of the file after the folder was read is refused by the system itself.
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))
    with os.fdopen(handle, "rb") as stream:
        return stream.read()
