"""A server that a user names may send elsewhere, never end, or lie about time: nothing leaks, hangs or fills memory."""

from __future__ import annotations

import gzip
import shutil
import ssl
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from embassay.errors import ModelError
from embassay.limits import ANSWER
from embassay.systems import SYSTEMS

KEY = "sk-a-secret-of-the-user-0123456789"
SPECS = ("openai:m?base_url={}&dimensions=2", "cohere:m?base_url={}&dimensions=2", "voyage:m?base_url={}&dimensions=2")
Answer = Callable[[BaseHTTPRequestHandler], None]


@contextmanager
def server(answer: Answer, tls: Path | None = None) -> Iterator[tuple[str, list[tuple[dict[str, str], bytes]]]]:
    """A real server on this machine and what it was sent: headers and bodies."""
    heard: list[tuple[dict[str, str], bytes]] = []

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length") or 0))
            heard.append((dict(self.headers.items()), body))
            self.close_connection = True
            with suppress(OSError):
                answer(self)

        do_GET = do_POST

        def log_message(self, *_: Any) -> None:
            pass

    listening = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    scheme = "http"
    if tls is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(tls / "cert.pem", tls / "key.pem")
        listening.socket = context.wrap_socket(listening.socket, server_side=True)
        scheme = "https"
    thread = threading.Thread(target=listening.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"{scheme}://127.0.0.1:{listening.server_address[1]}", heard
    finally:
        listening.shutdown()
        listening.server_close()
        thread.join()


def encoder(monkeypatch: pytest.MonkeyPatch, spec: str, url: str, **limits: Any) -> Any:
    """One that gives up at once."""
    for name in ("OPENAI_API_KEY", "COHERE_API_KEY", "VOYAGE_API_KEY", "GEMINI_API_KEY"):
        monkeypatch.setenv(name, KEY)
    made: Any = SYSTEMS.build(spec.format(url))
    made._calls.limits = replace(made._calls.limits, attempts=1, **limits)
    return made


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize("spec", SPECS)
def test_a_redirect_takes_nothing_along(monkeypatch: pytest.MonkeyPatch, spec: str, status: int) -> None:
    """Neither the key nor the texts go where the server points; the user is told what to do."""
    with server(lambda one: _said(one, 200, b"{}")) as (elsewhere, heard):
        pointing = server(lambda one: _said(one, status, b"", location=elsewhere))
        with pointing as (url, _), pytest.raises(ModelError, match=f"status {status}") as told:
            encoder(monkeypatch, spec, url).encode(["A private text."])
        assert heard == []
    assert "base_url" in told.value.mend


@pytest.mark.parametrize("packed", [False, True], ids=["plain", "packed"])
@pytest.mark.parametrize("spec", SPECS[:2])
def test_an_answer_without_end(monkeypatch: pytest.MonkeyPatch, spec: str, packed: bool) -> None:
    """Is left at the largest size that any answer has, counted after it is unpacked."""
    monkeypatch.setenv(ANSWER.environment_variable_name, "1MiB")
    bomb = gzip.compress(b" " * 2**26)

    def endless(one: BaseHTTPRequestHandler) -> None:
        one.send_response(200)
        if packed:
            one.send_header("content-encoding", "gzip")
        one.end_headers()
        for _ in range(4096):
            one.wfile.write(bomb if packed else b" " * 2**16)

    with server(endless) as (url, _), pytest.raises(ModelError, match="longer than 1 MiB"):
        encoder(monkeypatch, spec, url).encode(["A text."])


def test_a_slow_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """A byte a moment is no answer in time."""

    def slow(one: BaseHTTPRequestHandler) -> None:
        one.send_response(200)
        one.end_headers()
        for _ in range(600):
            one.wfile.write(b" ")
            time.sleep(0.1)

    with server(slow) as (url, _), pytest.raises(ModelError, match="no answer in time"):
        encoder(monkeypatch, SPECS[1] + "&timeout=0.5", url).encode(["A text."])


@pytest.mark.parametrize("status", [429, 500, 503])
@pytest.mark.parametrize("wait", ["1000000000", "inf", "Fri, 31 Dec 9999 23:59:59 GMT"])
def test_a_wait_for_ever(monkeypatch: pytest.MonkeyPatch, status: int, wait: str) -> None:
    """A server that asks to wait for years is given up, and others do not wait with it."""
    with server(lambda one: _said(one, status, b"{}", **{"retry-after": wait})) as (url, heard):
        made = encoder(monkeypatch, SPECS[1], url)
        made._calls.limits = replace(made._calls.limits, attempts=6)
        with pytest.raises(ModelError, match=f"status {status}"):
            made.encode(["A text."])
        paused = [one._paused_until - one._clock() for one in made._calls._paces.values()]
        assert all(seconds <= made._calls.limits.patience for seconds in paused)
        assert len(heard) == 1


def test_nested_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """Brackets in brackets are no JSON, in an answer or in an error."""
    for status in (200, 400):
        nested = server(lambda one, status=status: _said(one, status, b"[" * 200_000))
        with nested as (url, _), pytest.raises(ModelError):
            encoder(monkeypatch, SPECS[1], url).encode(["A text."])


@pytest.mark.parametrize("spec", SPECS)
def test_a_certificate_that_nobody_signed(monkeypatch: pytest.MonkeyPatch, spec: str, tmp_path: Path) -> None:
    """Is refused before anything is sent, and there is no way to say otherwise."""
    if shutil.which("openssl") is None:
        pytest.skip("needs the program openssl, to make a certificate")
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "1",
         "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", tmp_path / "key.pem",
         "-out", tmp_path / "cert.pem"],
        check=True, capture_output=True,
    )  # fmt: skip
    with server(lambda one: _said(one, 200, b"{}"), tls=tmp_path) as (url, heard):
        with pytest.raises(ModelError, match=r"(?i)certificate"):
            encoder(monkeypatch, spec, url).encode(["A private text."])
        assert heard == []


def _said(one: BaseHTTPRequestHandler, status: int, body: bytes, **headers: str) -> None:
    one.send_response(status)
    for name, value in headers.items():
        one.send_header(name, value)
    one.send_header("content-length", str(len(body)))
    one.end_headers()
    one.wfile.write(body)
