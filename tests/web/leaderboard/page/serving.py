"""A server of made boards at the addresses of the real one, with its policy, for pages under test."""

from __future__ import annotations

import hashlib
import json
import threading
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from embassay.web.annotation.app import HEADERS
from embassay.web.leaderboard.contract import BoardList, convert_record_to_json
from embassay.web.leaderboard.page import read_static_files, render_board_page, render_error_page, render_system_page

from .made_board import Made

TYPES = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}


class Served:
    """A made board behind a port. `fails`: answers nothing but 503, as a proxy does before a server that is gone."""

    def __init__(self, made: Made, prefix: str = "") -> None:
        self.made, self.fails, self.prefix = made, False, prefix
        self.newer: str | None = None
        self.asked: list[tuple[str, int, int]] = []
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}{self.prefix}/"

    @property
    def board_url(self) -> str:
        return f"{self.url}b/{self.made.board.id}/"

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(5)

    def answer(self, address: str) -> tuple[int, str, bytes]:
        """Status, type and body."""
        parts = urlsplit(address)
        path, query = unquote(parts.path.removeprefix(self.prefix)), parse_qs(parts.query)
        board = self.made.board
        if path.startswith("/static/"):
            name = path.removeprefix("/static/")
            return 200, TYPES["." + name.rpartition(".")[2]], read_static_files()[name]
        if path == "/favicon.ico":
            return 204, "image/x-icon", b""
        pages = {
            "/": lambda: render_board_page(board, self.made.boards, base=""),
            f"/b/{board.id}/": lambda: render_board_page(board, self.made.boards, base="../../"),
            f"/b/{board.id}/system": lambda: render_system_page(
                self.made.card(query["name"][0]), self.made.boards, base="../../"
            ),
        }
        if path in pages:
            return 200, "text/html; charset=utf-8", pages[path]().encode()
        data = self._data(path, query)
        if data is None:
            return 404, "text/html", render_error_page(404, "No such page", path, base="../../").encode()
        return 200, "application/json", json.dumps(convert_record_to_json(data)).encode()

    def _boards(self) -> BoardList:
        first, *others = self.made.boards.boards
        return replace(self.made.boards, boards=(replace(first, newer=self.newer), *others))

    def _data(self, path: str, query: dict[str, list[str]]) -> Any:
        api = f"/api/boards/{self.made.board.id}"
        found: dict[str, Any] = {
            "/api/boards": self._boards,
            api: lambda: self.made.board,
            f"{api}/cells": lambda: self.made.part(tuple(query["column"])),
            f"{api}/changes": lambda: self.made.changes(query["since"][0]),
            f"{api}/compare": lambda: self.made.comparison(query["a"][0], query["b"][0]),
            f"{api}/download.csv": lambda: {"board": self.made.board.id},
        }
        return found[path]() if path in found else None


def _handler(served: Served) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status, kind, body = (503, "text/plain", b"") if served.fails else served.answer(self.path)
            tag = '"' + hashlib.sha256(body).hexdigest()[:16] + '"'
            if status == 200 and self.headers.get("If-None-Match") == tag:
                status, body = 304, b""
            served.asked.append((self.path, status, len(body)))
            self.send_response(status)
            for key, value in {**HEADERS, "cache-control": "no-cache", "etag": tag}.items():
                self.send_header(key, value)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    return Handler
