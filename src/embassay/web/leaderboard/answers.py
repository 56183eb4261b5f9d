"""What is answered at each address, as text: made once, zipped once, and what is new since a page last heard."""

from __future__ import annotations

import gzip
import hashlib
import json
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from threading import Lock
from typing import Any, TypeVar

from embassay.web.leaderboard import downloads
from embassay.web.leaderboard.board import Made, part_of
from embassay.web.leaderboard.cards import compare, make_card
from embassay.web.leaderboard.contract import Board, Changes, SystemRow, as_plain
from embassay.web.leaderboard.library import Library, View
from embassay.web.leaderboard.page import render, render_card, render_overview

JSON, HTML = "application/json", "text/html; charset=utf-8"
_WORTH = 256
"""Shorter bodies are sent as they are."""


@dataclass(frozen=True)
class Packed:
    """A body, the same zipped (None where that does not pay), and its ETag."""

    media: str
    body: bytes
    zipped: bytes | None
    etag: str


def pack(body: str | bytes, media: str) -> Packed:
    """A body ready to be sent. Names may hold anything: what is no text is replaced."""
    data = body.encode("utf-8", "replace") if isinstance(body, str) else body
    zipped = gzip.compress(data, 6, mtime=0) if len(data) > _WORTH else None
    # Weak: the same tag stands for the body and for its zipped form.
    etag = f'W/"{hashlib.sha256(data).hexdigest()[:20]}"'
    return Packed(media, data, zipped if zipped is not None and len(zipped) < len(data) else None, etag)


def is_known(etag: str, asked: str | None) -> bool:
    """Whether an If-None-Match header names this tag.

    >>> is_known('W/"a"', '"b", W/"a"'), is_known('W/"a"', '"a"'), is_known('W/"a"', None)
    (True, True, False)
    """
    names = {one.strip().removeprefix("W/") for one in (asked or "").split(",")}
    return "*" in names or etag.removeprefix("W/") in names


class Kept:
    """Answers by what they are made of; the ones asked for longest ago go when `most_bytes` are reached. Two that ask
    for the same wait for one making of it."""

    def __init__(self, most_bytes: int = 64 * 2**20) -> None:
        self._most, self._size = most_bytes, 0
        self._kept: OrderedDict[Hashable, Packed] = OrderedDict()
        self._making: dict[Hashable, Lock] = {}
        self._lock = Lock()

    def get(self, key: Hashable, make: Callable[[], Packed]) -> Packed:
        """The answer for `key`, made where it is not there."""
        found = self._found(key)
        if found is not None:
            return found
        with self._lock:
            making = self._making.setdefault(key, Lock())
        with making:
            found = self._found(key)
            if found is None:
                found = make()
                self._keep(key, found)
            with self._lock:
                self._making.pop(key, None)
        return found

    def _found(self, key: Hashable) -> Packed | None:
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
            return self._kept.get(key)

    def _keep(self, key: Hashable, made: Packed) -> None:
        with self._lock:
            self._kept[key] = made
            self._size += _size(made)
            while self._size > self._most and len(self._kept) > 1:
                self._size -= _size(self._kept.popitem(last=False)[1])


def _size(made: Packed) -> int:
    return len(made.body) + len(made.zipped or b"")


MOST_BYTES = 12 * 1024
"""Zipped. A page that gets no more than this fetches the board again, which is about as much."""
T = TypeVar("T")


def changes(old: Board | None, new: Board, since: str) -> Changes:
    """The update from `old` (None: unknown) to `new`; `whole` where it would be too large."""
    if old is None:
        return Changes(since, new.stamp, True, new.status, new.updated)
    if old.stamp == new.stamp:
        return Changes(since, new.stamp, False, new.status, new.updated)
    made = _difference(old, new, since)
    size = len(gzip.compress(json.dumps(as_plain(made), ensure_ascii=False).encode("utf-8", "replace"), 6))
    return made if size <= MOST_BYTES else Changes(since, new.stamp, True, new.status, new.updated)


def _difference(old: Board, new: Board, since: str) -> Changes:
    order = tuple(one.name for one in new.systems)
    return Changes(
        since, new.stamp, False, new.status, new.updated,
        None if old.verdict == new.verdict else new.verdict,
        None if old.care == new.care else new.care,
        None if order == tuple(one.name for one in old.systems) else order,
        None if old.columns == new.columns else tuple(one for one in new.columns if one.overview),
        None if old.runs == new.runs else new.runs,
        tuple(_moved(old, new)),
        _by_name(old, new, old.cells, new.cells),
        _by_name(old, new, old.ranks, new.ranks),
        _by_name(old, new, old.best, new.best),
        _top(old, new),
    )  # fmt: skip


def _moved(old: Board, new: Board) -> list[SystemRow]:
    """Rows that say something else, their place apart: the order tells that."""
    known = {one.name: one for one in old.systems}
    return [
        one for one in new.systems
        if one.name not in known or as_plain(known[one.name]) | {"index": 0} != as_plain(one) | {"index": 0}
    ]  # fmt: skip


def _by_name(
    old: Board, new: Board, before: Mapping[str, Sequence[Any]], now: Mapping[str, Sequence[Any]]
) -> dict[str, dict[str, Any]]:
    """Per column the systems whose entry differs."""
    found: dict[str, dict[str, Any]] = {}
    for key, entries in now.items():
        known = dict(zip((one.name for one in old.systems), before.get(key, ()), strict=False))
        own = {
            one.name: entry
            for one, entry in zip(new.systems, entries, strict=True)
            if one.name not in known or known[one.name] != entry
        }
        if own:
            found[key] = own
    return found


def _top(old: Board, new: Board) -> dict[str, tuple[str, ...]]:
    def names(board: Board, key: str) -> tuple[str, ...]:
        return tuple(board.systems[i].name for i in board.top.get(key, ()))

    return {
        key: names(new, key) for key in new.top if key not in old.top or names(old, key) != names(new, key)
    }


BELOW = "../../"
MOST_COLUMNS = 40
MOST_BOARDS = 30
"""Boards whose leaders the overview names; all are in its list."""
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
        """The page of a board; where no name is given the overview of all, or the only one there is."""
        view = self.library.view()
        newest = [one.id for one in view.boards.boards if one.newer is None]
        if name is None and len(newest) > 1:
            return self._overview(newest[:MOST_BOARDS], view)
        base = "" if name is None else BELOW
        name = name or (view.boards.boards[0].id if view.boards.boards else None)
        made = None if name is None else self.library.board(name, view)
        if name is not None and made is None:
            return None
        board = made.board if made is not None else None
        key = ("page", board.stamp if board is not None else "", base, view.stamp)
        return self.kept.get(key, lambda: pack(render(board, view.boards, base=base), HTML))

    def _overview(self, names: Sequence[str], view: View) -> Packed:
        made = [one.board for name in names if (one := self.library.board(name, view)) is not None]
        key = ("overview", *(one.stamp for one in made), view.stamp)
        return self.kept.get(key, lambda: pack(render_overview(made, view.boards, base=""), HTML))

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
