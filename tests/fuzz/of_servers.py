"""What strangers send to our servers, and what the servers of models answer."""

from __future__ import annotations

import asyncio
import json
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import unquote_to_bytes

from fuzz.readers import run_files, study_files
from fuzz.target import JSON, Target, lines, text_of

_FOLDERS: list[tempfile.TemporaryDirectory[str]] = []
"""Of what is served: they last as long as the process."""


def _folder() -> Path:
    _FOLDERS.append(tempfile.TemporaryDirectory(prefix="fuzz"))
    return Path(_FOLDERS[-1].name)


def asked(app: Any, method: str, target: bytes, body: bytes = b"", **headers: str) -> tuple[int, bytes]:
    """Status and body of the answer to a request, as a server hands it over; whatever the app raises is raised."""
    path, _, query = target.partition(b"?")
    sent: list[Any] = []
    waiting = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive() -> Any:
        return waiting.pop() if waiting else {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        sent.append(message)

    known = {"host": "localhost", "content-type": "application/json", **headers}
    scope = {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": method, "scheme": "http",
        "path": unquote_to_bytes(b"/" + path.lstrip(b"/")).decode("utf-8", "replace"), "raw_path": path,
        "query_string": query, "root_path": "",
        "headers": [(name.replace("_", "-").encode(), value.encode()) for name, value in known.items()],
        "client": ("127.0.0.1", 1), "server": ("localhost", 80),
    }  # fmt: skip
    asyncio.run(app(scope, receive, send))
    status = next(one["status"] for one in sent if one["type"] == "http.response.start")
    return status, b"".join(one.get("body", b"") for one in sent if one["type"] == "http.response.body")


@cache
def _leaderboard() -> tuple[Any, str]:
    from embassay.web.leaderboard.library import RunLibrary
    from embassay.web.leaderboard.routes import LeaderboardOptions, make_library_app

    folder = _folder()
    (folder / "run").mkdir()
    for name, content in run_files().items():
        (folder / "run" / name).write_bytes(content)
    library = RunLibrary(folder)
    library.refresh_changed_runs()
    return make_library_app(library, LeaderboardOptions()), library.wait_for_snapshot().boards.boards[0].id


def leaderboard(content: bytes, folder: Path) -> object:
    """The input is path and query; the board's name stands for `BOARD` in it."""
    app, board = _leaderboard()
    status, said = asked(app, "GET", content.replace(b"BOARD", board.encode()), accept="text/html")
    assert status < 500, f"{status}: {said[:200]!r}"
    return status


@cache
def _annotation() -> tuple[Any, str, str]:
    from embassay.web.annotation.app import make_annotation_app
    from embassay.web.annotation.service import RequestRateLimits, StudyRequestRules, open_study_service

    folder = _folder()
    for name, content in study_files().items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    rates = RequestRateLimits(burst=10**9, per_second=1e9, wrong_burst=10**9, wrong_per_second=1e9)
    service = open_study_service(folder, ["ann"], options=StudyRequestRules(rates=rates))
    link = service.annotator_link("ann")
    return make_annotation_app(service), link, service.links.make_csrf_key(link.split("/")[2])


def annotation(content: bytes, folder: Path) -> object:
    """The first line is method and path below an annotator's link, the rest the body."""
    app, link, key = _annotation()
    first, _, body = content.partition(b"\n")
    method, _, path = first.partition(b" ")
    known = text_of(method) if method in (b"GET", b"PUT", b"POST") else "PUT"
    status, said = asked(app, known, link.encode() + path, body, **{"x-csrf-token": key})
    assert status < 500, f"{status}: {said[:200]!r}"
    return status


VENDORS = (
    "ollama:m", "cohere:m?base_url=http://localhost&dimensions=2", "voyage:m?base_url=http://localhost&dimensions=2",
    "gemini:m?base_url=http://localhost&dimensions=2",
)  # fmt: skip


class _Answering:
    """In the place of a connection: it answers the input."""

    def __init__(self, found: Any) -> None:
        self.found = found

    async def post(self, path: str, payload: Any) -> Any:
        return self.found


def vectors(content: bytes, folder: Path) -> object:
    """An encoder's server: whatever comes out is one vector of the model's dimensions, finite."""
    import numpy as np

    from embassay.systems.encoders.server import ServedEncoder
    from embassay.systems.remote import MalformedServerAnswer

    try:
        found = json.loads(content)
    except (ValueError, RecursionError):
        return None
    made = []
    for encoder in _encoders():
        assert isinstance(encoder, ServedEncoder)
        encoder.connection = _Answering(found)  # type: ignore[attr-defined]
        try:
            answer = asyncio.run(encoder.request(["A fox."], "document"))
            vector = encoder._check_vectors(answer.value, 1)
        except MalformedServerAnswer:
            continue
        assert vector.shape[0] == 1
        assert np.isfinite(vector).all()
        assert vector.dtype == np.float32
        made.append(vector)
    return made


@cache
def _encoders() -> tuple[Any, ...]:
    import os

    from embassay.systems import SYSTEMS

    os.environ.update(dict.fromkeys(("COHERE_API_KEY", "VOYAGE_API_KEY", "GEMINI_API_KEY"), "none-needed"))
    return tuple(SYSTEMS.build(spec) for spec in VENDORS)


def openai_vectors(content: bytes, folder: Path) -> object:
    """One embedding in base64 or numbers, as OpenAI's and Voyage's servers send them."""
    from embassay.systems.encoders import openai, voyage

    try:
        found = json.loads(content)
    except (ValueError, RecursionError):
        found = text_of(content)
    made = []
    for module in (openai, voyage):
        try:
            made.append(module._row(found))
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
            continue
    return made


def replies(content: bytes, folder: Path) -> object:
    """The reply of a chat server, and the words of an error."""
    from embassay.systems.chat import ollama, openai
    from embassay.systems.remote import MalformedServerAnswer
    from embassay.systems.remote.calls import ServerStatusError, classify_request_error, read_retry_wait

    try:
        found = json.loads(content)
    except (ValueError, RecursionError):
        found = text_of(content)
    made: list[Any] = []
    readers: tuple[Callable[[Any], Any], ...] = (openai._read_openai_reply, ollama.read_ollama_reply)
    for read in readers:
        try:
            made.append(read(found))
        except MalformedServerAnswer:
            continue
    line = text_of(content)
    for status in (400, 404, 429, 500):
        failure = classify_request_error(
            ServerStatusError(status, {"retry-after": line, "retry-after-ms": line}, found)
        )
        assert failure is not None
        assert len(failure.reason) < 2000
        assert "\x1b" not in failure.reason
    made.append(read_retry_wait({"retry-after": line}, found))
    return made


def addresses(content: bytes, folder: Path) -> object:
    """Addresses of servers, models', judges', indexes' and databases'."""
    from embassay.errors import EmbassayError
    from embassay.search.indexes import INDEXES
    from embassay.search.indexes.address import check_no_password, resolve_server_address
    from embassay.systems.chat import CHAT_MODELS
    from embassay.systems.remote.http import ServerBaseUrl

    text, made = text_of(content), list[Any]()
    tried: tuple[Callable[[str], Any], ...] = (
        ServerBaseUrl.of, check_no_password, CHAT_MODELS.build, CHAT_MODELS.parse_spec, INDEXES.parse_spec,
        lambda one: resolve_server_address("pgvector", one, schemes=("postgresql",), variable="EMBASSAY_NONE"),
    )  # fmt: skip
    for read in tried:
        try:
            made.append(read(text))
        except EmbassayError:
            continue
    return made


_ANSWER = {"value": 1, "seconds": 2.0, "flag": "", "comment": "", "seq": 1, "tab": "t", "paused": 0}
_EMBEDDED = {"embeddings": [[0.5, 1.0]], "prompt_eval_count": 2}
_CHAT = {
    "choices": [{"message": {"content": "yes"}, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 1},
    "model": "m",
}
TARGETS: tuple[Target, ...] = (
    Target(
        "leaderboard request", leaderboard,
        (b"b/BOARD/", b"api/boards/BOARD/cells?column=overall", b"api/boards/BOARD/compare?a=a&b=b", b"api/boards",
         b"api/boards/BOARD/download.csv", b"runs/run/report.html", b"api/boards/BOARD/changes?since=x",
         b"b/BOARD/system?name=a", b"static/x"),
        ("BOARD", "%00", "%2e%2e/", "..%2f", "%ff", "?", "&", "=", "column=", "name=", "since=", "download.tex"),
    ),
    Target(
        "annotation request", annotation,
        (b"PUT answers/mood-00\n" + lines(_ANSWER), b"GET study\n", b"GET tasks/mood/items\n",
         b"POST tab\n" + lines({"tab": "t", "take": True}), b"POST tasks/pairs/finish\n" + lines({"tab": "t"}),
         b"PUT profile\n" + lines({"name": "Ann", "settings": {"theme": "dark"}})),
        (*JSON, *_ANSWER, "topics-00", "search-00", "pairs-00", "PUT ", "%00", "..%2f", "1e400", "2e308"),
    ),
    Target(
        "vectors", vectors,
        (lines(_EMBEDDED), lines({"data": [{"index": 0, "embedding": [0.5, 1]}], "usage": {"total_tokens": 2}}),
         lines({"embeddings": {"float": [[0.5, 1]]}}), lines({"embeddings": [{"values": [0.5, 1]}]})),
        (*JSON, "embeddings", "float", "values", "data", "index", "-1", "1e300", "Infinity"),
    ),
    Target("openai vectors", openai_vectors, (b'"AACAPwAAAEA="', b"[0.5, 1.0]"), (*JSON, "AACAfw==", "=")),
    Target(
        "replies", replies,
        (lines(_CHAT), lines({"message": {"content": "yes"}, "done": True, "eval_count": 1}),
         lines({"error": {"message": "no", "code": "c"}}), b"2", b"Wed, 21 Oct 2026 07:28:00 GMT"),
        (*JSON, "choices", "message", "content", "error", "retryDelay", "1e999", "nan", "inf", "GMT", "\x1b[2J"),
    ),
    Target(
        "addresses", addresses,
        (b"http://localhost:8000/v1", b"openai:gpt?base_url=http://localhost:1", b"hnsw?m=16", b"pgvector:postgresql://h/d"),
        ("://", "@", ":", "[", "]", "?", "&", "base_url=", "key=", "%00", "ollama:", "flat", "$"),
    ),
)  # fmt: skip
