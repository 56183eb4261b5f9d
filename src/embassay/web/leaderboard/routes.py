"""The app: addresses that only read, the guard before them, and a thread that looks at the folder."""

from __future__ import annotations

import gzip
import hashlib
import json
import logging
import mimetypes
import threading
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Hashable, Iterator, Mapping, MutableMapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import cached_property, lru_cache, partial
from threading import Lock
from typing import Any, TypeVar

from fastapi import FastAPI, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from embassay.data.rows import escape_spreadsheet_formula
from embassay.interchange.papers import format_value_with_interval
from embassay.protocols.kernel import tables as numbers
from embassay.protocols.kernel.tables import SCORE, MeasureFormat, escape_latex, format_csv_row
from embassay.web.leaderboard.board import BoardWithSources, make_board_column_data
from embassay.web.leaderboard.contract import (
    BoardCell,
    BoardChanges,
    BoardColumn,
    BoardSystemRow,
    Leaderboard,
    convert_record_to_json,
)
from embassay.web.leaderboard.library import RunFolderSnapshot, RunLibrary, compare_board_systems, make_system_card
from embassay.web.leaderboard.page import (
    read_static_files,
    render_board_page,
    render_boards_overview,
    render_error_page,
    render_system_page,
)
from embassay.web.leaderboard.table import LeaderboardSystemRow, make_board_cell
from embassay.web.server import HEADERS, HostAndBodyLimitMiddleware, KeyedRateLimit, Receive, Send, mask_client_address

_FIELDS_IN_WORDS = """
    system kind group run task dataset lang measure value ci_low ci_high n rank_low rank_high state reason
"""
FIELDS = tuple(_FIELDS_IN_WORDS.split())


def format_board_as_csv(made: BoardWithSources) -> str:
    """One line per system and column; empty where there is no value, with the state and the reason. A text that a
    spreadsheet would take for a formula begins with an apostrophe."""
    lines = [format_csv_row(FIELDS)]
    for index, member, column, cell in _iterate_board_cells(made):
        names = (member.name, member.kind, member.group, member.entrant.run.name)
        where = (column.task, column.dataset, column.lang, column.measure)
        figures = (
            _format_exact_number(cell.value),
            _format_exact_number(cell.low),
            _format_exact_number(cell.high),
            cell.n,
            *_find_rank_range(made, index, column),
        )
        lines.append(
            format_csv_row(
                [
                    *map(escape_spreadsheet_formula, (*names, *where)),
                    *figures,
                    cell.state,
                    escape_spreadsheet_formula(cell.reason),
                ]
            )
        )
    return "".join(lines)


def format_board_as_json(made: BoardWithSources) -> str:
    """The board's record with the cells of all columns, by system."""
    plain: dict[str, Any] = convert_record_to_json(made.board)
    cells: dict[str, dict[str, Any]] = {}
    for _, member, column, cell in _iterate_board_cells(made):
        cells.setdefault(column.key, {})[member.name] = dict(zip(BoardCell._fields, cell, strict=True))
    names = [member.name for member in made.members]
    for name in ("ranks", "best"):
        plain[name] = {key: dict(zip(names, values, strict=True)) for key, values in plain[name].items()}
    del plain["top"], plain["alike"]
    return json.dumps({**plain, "cells": cells}, ensure_ascii=False, allow_nan=False, indent=1) + "\n"


def format_board_as_latex(made: BoardWithSources) -> str:
    """A table of what is shown first, to be read with `\\input`: ranks, values with intervals; bold is the first of a
    column and all that no test tells apart from it."""
    board = made.board
    shown = [column for column in board.columns if column.overview]
    lines = [
        r"% Needs \usepackage{booktabs,graphicx}.", rf"% {escape_latex(board.title)}, version {board.version}.",
        rf"% {escape_latex(board.method)}", r"\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%",
        rf"\begin{{tabular}}{{rl{'r' * len(shown)}}}", r"\toprule",
        " & ".join(["Rank", "System", *(escape_latex(column.title) for column in shown)]) + r" \\", r"\midrule"
    ]  # fmt: skip
    for row in board.systems:
        rank = board.ranks[board.lead][row.index] if board.lead in board.ranks else None
        values = [_format_board_cell_as_latex(made, column, row.index) for column in shown]
        placed = escape_latex(numbers.format_rank_range(*rank)) if rank else ""
        lines.append(" & ".join([placed, escape_latex(row.name), *values]) + r" \\")
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}}", ""])


def _format_board_cell_as_latex(made: BoardWithSources, column: BoardColumn, index: int) -> str:
    cell = made.board.cells[column.key][index]
    if cell.value is None:
        return escape_latex({"none": "–", "undefined": "n/a"}.get(cell.state, cell.state))
    unit = MeasureFormat(column.factor, column.decimals, column.decimals) if column.factor != 1 else SCORE
    return format_value_with_interval(cell.value, cell.low, cell.high, unit, bold=index in made.board.top[column.key])


def _iterate_board_cells(made: BoardWithSources) -> Iterator[tuple[int, LeaderboardSystemRow, BoardColumn, BoardCell]]:
    for index, member in enumerate(made.members):
        for column in made.board.columns:
            yield index, member, column, _make_board_cell_with_all_digits(made, index, column)


def _make_board_cell_with_all_digits(made: BoardWithSources, index: int, column: BoardColumn) -> BoardCell:
    """All digits of the value; the interval where the row was written without one is the board's."""
    cell = make_board_cell(made.members[index].entrant, column)
    if cell.low is not None or column.key not in made.board.cells:
        return cell
    shown = made.board.cells[column.key][index]
    return cell._replace(low=shown.low, high=shown.high)


def _find_rank_range(made: BoardWithSources, index: int, column: BoardColumn) -> tuple[int | str, int | str]:
    ranks = made.board.ranks.get(column.key)
    return (ranks[index] if ranks is not None else None) or ("", "")


def _format_exact_number(value: float | None) -> str:
    return "" if value is None else repr(value)


JSON, HTML = "application/json", "text/html; charset=utf-8"
_WORTH = 256
"""Shorter bodies are sent as they are."""


@dataclass(frozen=True)
class CompressedResponseBody:
    """A body, the same zipped (None where that does not pay), and its ETag."""

    media: str
    body: bytes
    zipped: bytes | None
    etag: str


def pack_response_body(body: str | bytes, media: str) -> CompressedResponseBody:
    """A body ready to be sent. Names may hold anything: what is no text is replaced."""
    data = body.encode("utf-8", "replace") if isinstance(body, str) else body
    zipped = gzip.compress(data, 6, mtime=0) if len(data) > _WORTH else None
    # Weak: the same tag stands for the body and for its zipped form.
    etag = f'W/"{hashlib.sha256(data).hexdigest()[:20]}"'
    return CompressedResponseBody(media, data, zipped if zipped is not None and len(zipped) < len(data) else None, etag)


def is_etag_known(etag: str, asked: str | None) -> bool:
    """Whether an If-None-Match header names this tag.

    >>> is_etag_known('W/"a"', '"b", W/"a"'), is_etag_known('W/"a"', '"a"'), is_etag_known('W/"a"', None)
    (True, True, False)
    """
    names = {tag.strip().removeprefix("W/") for tag in (asked or "").split(",")}
    return "*" in names or etag.removeprefix("W/") in names


class ResponseCache:
    """Answers by what they are made of; the ones asked for longest ago go when `most_bytes` are reached. Two that ask
    for the same wait for one making of it."""

    def __init__(self, most_bytes: int = 64 * 2**20) -> None:
        self._most, self._size = most_bytes, 0
        self._kept: OrderedDict[Hashable, CompressedResponseBody] = OrderedDict()
        self._making: dict[Hashable, Lock] = {}
        self._lock = Lock()

    def get(self, key: Hashable, make: Callable[[], CompressedResponseBody]) -> CompressedResponseBody:
        """The answer for `key`, made where it is not there."""
        packed = self._find_kept_answer(key)
        if packed is not None:
            return packed
        # A lock for each page: two pages are made at the same time, one page only once.
        with self._lock:
            making = self._making.setdefault(key, Lock())
        with making:
            # Whoever had the lock before may have made it.
            packed = self._find_kept_answer(key)
            if packed is None:
                packed = make()
                self._store_answer_within_limit(key, packed)
            with self._lock:
                self._making.pop(key, None)
        return packed

    def _find_kept_answer(self, key: Hashable) -> CompressedResponseBody | None:
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
            return self._kept.get(key)

    def _store_answer_within_limit(self, key: Hashable, packed: CompressedResponseBody) -> None:
        with self._lock:
            self._kept[key] = packed
            self._size += _count_response_body_bytes(packed)
            while self._size > self._most and len(self._kept) > 1:
                self._size -= _count_response_body_bytes(self._kept.popitem(last=False)[1])


def _count_response_body_bytes(packed: CompressedResponseBody) -> int:
    return len(packed.body) + len(packed.zipped or b"")


MOST_BYTES = 12 * 1024
"""Zipped. A page that gets no more than this fetches the board again, which is about as much."""
T = TypeVar("T")


def find_board_changes(old: Leaderboard | None, new: Leaderboard, since: str) -> BoardChanges:
    """The update from `old` (None: unknown) to `new`; `whole` where it would be too large."""
    if old is None:
        return BoardChanges(since, new.stamp, True, new.status, new.updated)
    if old.stamp == new.stamp:
        return BoardChanges(since, new.stamp, False, new.status, new.updated)
    changed = _board_difference(old, new, since)
    size = len(
        gzip.compress(json.dumps(convert_record_to_json(changed), ensure_ascii=False).encode("utf-8", "replace"), 6)
    )
    return changed if size <= MOST_BYTES else BoardChanges(since, new.stamp, True, new.status, new.updated)


def _board_difference(old: Leaderboard, new: Leaderboard, since: str) -> BoardChanges:
    order = tuple(system.name for system in new.systems)
    # None means unchanged: pages ask often, and most answers are nearly empty.
    return BoardChanges(
        since, new.stamp, False, new.status, new.updated,
        None if old.verdict == new.verdict else new.verdict,
        None if old.care == new.care else new.care,
        None if order == tuple(system.name for system in old.systems) else order,
        None if old.columns == new.columns else tuple(column for column in new.columns if column.overview),
        None if old.runs == new.runs else new.runs,
        tuple(_list_changed_rows(old, new)),
        _changed_entries_by_column(old, new, old.cells, new.cells),
        _changed_entries_by_column(old, new, old.ranks, new.ranks),
        _changed_entries_by_column(old, new, old.best, new.best),
        _changed_top_systems(old, new)
    )  # fmt: skip


def _list_changed_rows(old: Leaderboard, new: Leaderboard) -> list[BoardSystemRow]:
    """Rows that say something else, their place apart: the order tells that."""
    earlier = {system.name: system for system in old.systems}
    return [
        row for row in new.systems
        if row.name not in earlier
        or convert_record_to_json(earlier[row.name]) | {"index": 0} != convert_record_to_json(row) | {"index": 0}
    ]  # fmt: skip


def _changed_entries_by_column(
    old: Leaderboard, new: Leaderboard, before: Mapping[str, Sequence[Any]], now: Mapping[str, Sequence[Any]]
) -> dict[str, dict[str, Any]]:
    """Per column the systems whose entry differs."""
    by_key: dict[str, dict[str, Any]] = {}
    for key, entries in now.items():
        earlier = dict(zip((system.name for system in old.systems), before.get(key, ()), strict=False))
        changed = {
            system.name: entry
            for system, entry in zip(new.systems, entries, strict=True)
            if system.name not in earlier or earlier[system.name] != entry
        }
        if changed:
            by_key[key] = changed
    return by_key


def _changed_top_systems(old: Leaderboard, new: Leaderboard) -> dict[str, tuple[str, ...]]:
    def list_top_systems_of_column(board: Leaderboard, key: str) -> tuple[str, ...]:
        return tuple(board.systems[i].name for i in board.top.get(key, ()))

    return {
        key: list_top_systems_of_column(new, key)
        for key in new.top
        if key not in old.top or list_top_systems_of_column(old, key) != list_top_systems_of_column(new, key)
    }


BELOW = "../../"
MOST_COLUMNS = 40
MOST_BOARDS = 30
"""Boards whose leaders the overview names; all are in its list."""
_FILES: dict[str, tuple[Callable[[BoardWithSources], str], str]] = {
    "csv": (format_board_as_csv, "text/csv; charset=utf-8"),
    "tex": (format_board_as_latex, "text/x-tex; charset=utf-8"),
    "json": (format_board_as_json, JSON),
}


@dataclass(frozen=True)
class LeaderboardService:
    """A folder that is served. Every method gives an answer, or None where there is nothing of that name."""

    library: RunLibrary
    kept: ResponseCache = field(default_factory=ResponseCache)

    def page(self, name: str | None) -> CompressedResponseBody | None:
        """The page of a board; where no name is given the overview of all, or the only one there is."""
        view = self.library.wait_for_snapshot()
        newest = [line.id for line in view.boards.boards if line.newer is None]
        if name is None and len(newest) > 1:
            return self._build_boards_overview_response(newest[:MOST_BOARDS], view)
        base = "" if name is None else BELOW
        name = name or (view.boards.boards[0].id if view.boards.boards else None)
        made = None if name is None else self.library.board(name, view)
        if name is not None and made is None:
            return None
        board = made.board if made is not None else None
        key = ("page", board.stamp if board is not None else "", base, view.stamp)
        return self.kept.get(key, lambda: pack_response_body(render_board_page(board, view.boards, base=base), HTML))

    def _build_boards_overview_response(self, names: Sequence[str], view: RunFolderSnapshot) -> CompressedResponseBody:
        boards = [made.board for name in names if (made := self.library.board(name, view)) is not None]
        key = ("overview", *(board.stamp for board in boards), view.stamp)
        return self.kept.get(
            key, lambda: pack_response_body(render_boards_overview(boards, view.boards, base=""), HTML)
        )

    def boards(self) -> CompressedResponseBody:
        """The list of boards."""
        view = self.library.wait_for_snapshot()
        return self.kept.get(("boards", view.stamp), lambda: _pack_json(view.boards))

    def board(self, name: str) -> CompressedResponseBody | None:
        """The record of a board."""
        made = self.library.board(name)
        return None if made is None else self.kept.get(("board", made.board.stamp), lambda: _pack_json(made.board))

    def cells(self, name: str, keys: Sequence[str]) -> CompressedResponseBody | None:
        """Some columns of a board; None for a column that it has not, or for too many."""
        made = self.library.board(name)
        if made is None or not set(keys) <= {column.key for column in made.board.columns} or len(keys) > MOST_COLUMNS:
            return None
        wanted = tuple(dict.fromkeys(keys))
        return self.kept.get(
            ("cells", made.board.stamp, wanted), lambda: self._make_compressed_board_cells(made, wanted)
        )

    def changes(self, name: str, since: str) -> CompressedResponseBody | None:
        """What is new on a board."""
        made = self.library.board(name)
        if made is None:
            return None
        old = self.library.find_board_by_stamp(name, since)
        base = since if old is not None else ""
        return self.kept.get(
            ("changes", made.board.stamp, base), lambda: _pack_json(find_board_changes(old, made.board, base))
        )

    def compare(self, name: str, a: str, b: str) -> CompressedResponseBody | None:
        """Two systems side by side."""
        made = self.library.board(name)
        names = {member.name for member in made.members} if made is not None else set()
        if made is None or a == b or not {a, b} <= names:
            return None
        return self.kept.get(("compare", made.board.stamp, a, b), lambda: _pack_json(compare_board_systems(made, a, b)))

    def build_system_card_response(self, name: str, system: str) -> CompressedResponseBody | None:
        """The record of one system."""
        return self._pack_cached_system_answer(name, system, "card", lambda card, _: _pack_json(card))

    def build_system_page(self, name: str, system: str) -> CompressedResponseBody | None:
        """The page of one system."""
        return self._pack_cached_system_answer(
            name, system, "card page",
            lambda card, view: pack_response_body(render_system_page(card, view.boards, base=BELOW), HTML)
        )  # fmt: skip

    def build_board_download(self, name: str, kind: str) -> CompressedResponseBody | None:
        """A board as a file."""
        made = self.library.board(name)
        if made is None or kind not in _FILES:
            return None
        write, media = _FILES[kind]
        return self.kept.get(("download", kind, made.board.stamp), lambda: pack_response_body(write(made), media))

    def report(self, run: str) -> CompressedResponseBody | None:
        """The report of a run, read from its folder."""
        view = self.library.wait_for_snapshot()
        path = view.report(run)
        if path is None:
            return None
        stamp = view.read[run][0].stamp[-1]
        try:
            return self.kept.get(
                ("report", run, stamp), lambda: pack_response_body(_read_file_without_links(path), HTML)
            )
        except OSError:
            return None

    def _make_compressed_board_cells(self, made: BoardWithSources, wanted: Sequence[str]) -> CompressedResponseBody:
        columns = [column for column in made.joined.columns if column.key in wanted]
        standings = made.joined.compute_column_standings(self.library.replicates, columns)
        part, _ = make_board_column_data(
            made.joined, made.members, columns, standings, self.library.tests, alike=(), stamp=made.board.stamp
        )
        return _pack_json(part)

    def _pack_cached_system_answer(
        self, name: str, system: str, what: str, make: Callable[[Any, RunFolderSnapshot], CompressedResponseBody]
    ) -> CompressedResponseBody | None:
        view = self.library.wait_for_snapshot()
        made = self.library.board(name, view)
        if made is None or system not in {member.name for member in made.members}:
            return None
        key = (what, system, made.board.stamp, view.stamp)
        return self.kept.get(key, lambda: make(make_system_card(self.library, view, made, system), view))


def _pack_json(record: Any) -> CompressedResponseBody:
    return pack_response_body(
        json.dumps(convert_record_to_json(record), ensure_ascii=False, allow_nan=False, separators=(",", ":")), JSON
    )


def _read_file_without_links(path: Any) -> bytes:
    """A file of a run, never through a link: what that leads to may lie elsewhere."""
    import os

    # A link put in place of the file after the folder was read is refused by the system itself.
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))
    with os.fdopen(handle, "rb") as stream:
        return stream.read()


_BURST, _PER_SECOND = 40, 4.0
"""Comparisons of one address: the only answers that are made for the asker alone."""
_NOTHING = "There is nothing here", "The board, system or report may be gone, or the address is incomplete."


class LeaderboardRoutes:
    """The routes of a service."""

    def __init__(self, service: LeaderboardService) -> None:
        self._service = service
        self._limit = KeyedRateLimit(_BURST, _PER_SECOND)

    def add_routes(self, app: FastAPI) -> None:
        """Add every address, and how errors are answered."""
        for path, answer in self._routes_by_path.items():
            app.add_api_route(path, answer, methods=["GET", "HEAD"], response_model=None)
        app.add_exception_handler(HTTPException, _answer_http_error)
        app.add_exception_handler(RequestValidationError, _answer_invalid_address)
        app.add_exception_handler(Exception, _answer_internal_error)

    @cached_property
    def _routes_by_path(self) -> Mapping[str, Callable[..., Response]]:
        return {
            "/": self._send_home,
            "/b/{board}": self._redirect_to_board,
            "/b/{board}/": self._send_board_page,
            "/b/{board}/system": self._send_system_card_page,
            "/static/{name}": _send_static_file,
            "/runs/{run:path}/report.html": self._send_report,
            "/api/boards": self._send_board_list,
            "/api/boards/{board}": self._send_board_record,
            "/api/boards/{board}/cells": self._send_cells,
            "/api/boards/{board}/changes": self._answer_board_changes_since,
            "/api/boards/{board}/compare": self._send_comparison,
            "/api/boards/{board}/system": self._send_card,
            "/api/boards/{board}/download.{kind}": self._send_download,
            "/health": self._send_health,
            "/favicon.ico": _answer_missing_icon,
        }

    def _send_home(self, request: Request) -> Response:
        return _send_packed_body(request, self._service.page(None))

    def _redirect_to_board(self, board: str) -> Response:
        if self._service.board(board) is None:
            raise HTTPException(404)
        return Response(status_code=308, headers={"location": f"{board}/"})

    def _send_board_page(self, request: Request, board: str) -> Response:
        return _send_packed_body(request, self._service.page(board))

    def _send_system_card_page(self, request: Request, board: str, name: str) -> Response:
        return _send_packed_body(request, self._service.build_system_page(board, name))

    def _send_report(self, request: Request, run: str) -> Response:
        return _send_packed_body(request, self._service.report(run))

    def _send_board_list(self, request: Request) -> Response:
        return _send_packed_body(request, self._service.boards())

    def _send_board_record(self, request: Request, board: str) -> Response:
        return _send_packed_body(request, self._service.board(board))

    def _send_cells(self, request: Request, board: str, column: list[str] = Query()) -> Response:  # noqa: B008
        return _send_packed_body(request, self._service.cells(board, column))

    def _answer_board_changes_since(self, request: Request, board: str, since: str = "") -> Response:
        return _send_packed_body(request, self._service.changes(board, since))

    def _send_comparison(self, request: Request, board: str, a: str, b: str) -> Response:
        client = request.client.host if request.client is not None else None
        if not self._limit.try_use_rate_allowance(mask_client_address(client)):
            return _answer_json_error(429, "Too many comparisons at once. Try again in a few seconds.")
        return _send_packed_body(request, self._service.compare(board, a, b))

    def _send_card(self, request: Request, board: str, name: str) -> Response:
        return _send_packed_body(request, self._service.build_system_card_response(board, name))

    def _send_download(self, request: Request, board: str, kind: str) -> Response:
        packed = self._service.build_board_download(board, kind)
        more = {"content-disposition": f'attachment; filename="{board}.{kind}"'} if packed is not None else {}
        return _send_packed_body(request, packed, more)

    def _send_health(self, request: Request) -> Response:
        return _send_packed_body(request, pack_response_body('{"status":"ok"}', JSON))


def _send_packed_body(
    request: Request, packed: CompressedResponseBody | None, more: Mapping[str, str] | None = None
) -> Response:
    """An answer, zipped for whoever takes that; nothing but its tag for whoever has it."""
    if packed is None:
        raise HTTPException(404)
    # A cache must keep the zipped form and the plain one apart.
    headers = {"etag": packed.etag, "vary": "Accept-Encoding", **(more or {})}
    if is_etag_known(packed.etag, request.headers.get("if-none-match")):
        return Response(status_code=304, headers=headers)
    if packed.zipped is not None and _takes_gzip(request.headers.get("accept-encoding", "")):
        return Response(packed.zipped, media_type=packed.media, headers={**headers, "content-encoding": "gzip"})
    return Response(packed.body, media_type=packed.media, headers=headers)


def _takes_gzip(accepted: str) -> bool:
    """Whether an Accept-Encoding header allows gzip.

    >>> _takes_gzip("br, gzip;q=0.8"), _takes_gzip("gzip;q=0"), _takes_gzip("identity")
    (True, False, False)
    """
    offers = (offer.replace(" ", "").partition(";q=") for offer in accepted.lower().split(","))
    return any(name in ("gzip", "*") and quality not in ("0", "0.0", "0.00", "0.000") for name, _, quality in offers)


def _send_static_file(request: Request, name: str) -> Response:
    """A file of the pages, by its name among those that are there."""
    return _send_packed_body(request, _pack_static_files().get(name))


@lru_cache(maxsize=1)
def _pack_static_files() -> Mapping[str, CompressedResponseBody]:
    return {name: _pack_file(name, body) for name, body in read_static_files().items()}


def _pack_file(name: str, body: bytes) -> CompressedResponseBody:
    kind = mimetypes.guess_type(name)[0] or "application/octet-stream"
    return pack_response_body(body, "text/javascript" if name.endswith(".js") else kind)


def _answer_missing_icon() -> Response:
    """Browsers ask for one; an error in their console would look like one of ours."""
    return Response(status_code=204)


def _answer_http_error(request: Request, error: Any) -> Response:
    """What is not there, in words to a person and as JSON to a program."""
    if error.status_code != 404:
        return _answer_json_error(
            error.status_code, "This server only answers GET and HEAD." if error.status_code == 405 else "No."
        )
    path = request.scope["path"]  # its `url` would decode the query too, which may be no text
    if "/api/" in path or "text/html" not in request.headers.get("accept", ""):
        return _answer_json_error(404, f"{_NOTHING[0]}.")
    depth = request.scope["path"].strip("/").count("/") + request.scope["path"].endswith("/")
    base = "../" * depth if depth else ""
    return Response(render_error_page(404, *_NOTHING, base=base or ""), 404, media_type=HTML)


def _answer_invalid_address(_: Request, error: Any) -> Response:  # noqa: ARG001
    return _answer_json_error(400, "The address is incomplete.")


def _answer_internal_error(_: Request, error: Any) -> Response:  # noqa: ARG001
    """A mistake of ours: its traceback goes to the log of the server."""
    return _answer_json_error(500, "Something went wrong on the server.")


def _answer_json_error(status: int, sentence: str) -> Response:
    packed = pack_response_body(f'{{"error":"{sentence}"}}', JSON)
    return Response(packed.body, status, media_type=JSON)


_REPORTS = "/runs/"
# A report is one file with its own script and style, which its own policy allows by their hashes; whatever else lies
# under that name gets no origin, no network and no address but this one.
_REPORT_POLICY = (
    "sandbox allow-scripts allow-downloads allow-popups; default-src 'none'; script-src 'unsafe-inline'; "
    "style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_PATIENCE, _LONGEST = 5, 10.0
"""Looking at a folder takes at most one part in so many of the time, but no pause is longer than so many seconds."""
_log = logging.getLogger("uvicorn.error")


@dataclass(frozen=True)
class LeaderboardOptions:
    """`hosts` as for the guard. `root_path` is a prefix that a proxy leaves before every path (`/boards`); one that it
    takes away needs none. The folder is looked at every `every` seconds."""

    hosts: tuple[str, ...] = ()
    root_path: str = ""
    every: float = 2.0
    most_bytes: int = 0
    body_seconds: float = 10.0


def make_library_app(library: RunLibrary, options: LeaderboardOptions) -> ProxyPrefixStripper:
    """The app that serves a folder. It describes itself to nobody: there are no pages of its interface."""
    app = FastAPI(
        openapi_url=None, docs_url=None, redoc_url=None, redirect_slashes=False,
        lifespan=partial(_watch_folder, library, options.every)
    )  # fmt: skip
    LeaderboardRoutes(LeaderboardService(library)).add_routes(app)
    return ProxyPrefixStripper(HostAndBodyLimitMiddleware(app, options, choose_headers_for_path), options.root_path)


class ProxyPrefixStripper:
    """Takes a proxy's prefix away where it is there. All addresses in pages are relative: nothing needs to know it."""

    def __init__(self, app: HostAndBodyLimitMiddleware, prefix: str) -> None:
        self._app, self._prefix = app, prefix.rstrip("/")

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        """Answer a request below the prefix."""
        path = scope.get("path", "")
        if scope["type"] == "http" and self._prefix and path == self._prefix:
            name = self._prefix.rpartition("/")[2]
            await _send_redirect(send, f"{name}/")
            return
        if self._prefix and path.startswith(self._prefix + "/"):
            scope = {**scope, "path": path[len(self._prefix) :]}
        await self._app(scope, receive, send)


def choose_headers_for_path(path: str) -> Mapping[str, str]:
    """The headers of the answer at a path. Answers may be kept, but are asked after each time."""
    policy = _REPORT_POLICY if path.startswith(_REPORTS) else HEADERS["content-security-policy"]
    return {**HEADERS, "content-security-policy": policy, "cache-control": "no-cache"}


async def _send_redirect(send: Send, to: str) -> None:
    headers = [(b"location", to.encode()), (b"content-length", b"0")]
    await send({"type": "http.response.start", "status": 308, "headers": headers})
    await send({"type": "http.response.body", "body": b""})


@asynccontextmanager
async def _watch_folder(library: RunLibrary, every: float, _: FastAPI) -> AsyncIterator[None]:
    """The folder is looked at while the app runs, beside the requests."""
    ended = threading.Event()
    watching = threading.Thread(
        target=_refresh_library_until_ended, args=(library, every, ended), name="folder", daemon=True
    )
    watching.start()
    try:
        yield
    finally:
        ended.set()
        library.wake.set()


def _refresh_library_until_ended(library: RunLibrary, every: float, ended: threading.Event) -> None:
    while not ended.is_set():
        began = time.monotonic()
        try:
            library.refresh_changed_runs()
        except Exception:  # one bad moment of a disk must not end the watch
            _log.exception("The folder could not be read; retrying.")
        library.wake.wait(max(every, min(_PATIENCE * (time.monotonic() - began), _LONGEST)))
        library.wake.clear()
