"""An answer without end, or that unpacks to one, is refused; it is not asked for again."""

from __future__ import annotations

import gzip
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from embassay.errors import ModelError
from embassay.limits import ANSWER
from embassay.systems import SYSTEMS

_OK = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"


@contextmanager
def server(answer: bytes) -> Iterator[tuple[str, list[int]]]:
    """Says `answer` over and over to whoever comes, until they go; how many came."""
    listening = socket.create_server(("127.0.0.1", 0))
    came: list[int] = []

    def serve() -> None:
        while True:
            try:
                caller, _ = listening.accept()
            except OSError:
                return
            came.append(1)
            try:
                caller.recv(65536)
                head, _, body = answer.partition(b"\r\n\r\n")
                caller.sendall(head + b"\r\n\r\n")
                for _ in range(64):
                    caller.sendall(body)
            except OSError:
                pass
            finally:
                caller.close()

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}/v1", came
    finally:
        listening.shutdown(socket.SHUT_RDWR)
        listening.close()
        thread.join(5)


ENDLESS = _OK + b"\r\n\r\n" + b" " * 2**18
PACKED = _OK + b"Content-Encoding: gzip\r\n\r\n" + gzip.compress(b" " * 2**24)


@pytest.mark.parametrize("spec", ["openai:m?base_url=", "ollama:m?base_url="])
@pytest.mark.parametrize("answer", [ENDLESS, PACKED], ids=["endless", "packed"])
def test_an_answer_without_end(spec: str, answer: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both of our clients stop at the limit, with the variable that raises it, and ask once only."""
    monkeypatch.setenv(ANSWER.environment_variable_name, "1MiB")
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    with server(answer) as (url, came):
        system = SYSTEMS.build(spec + url)
        with pytest.raises(ModelError, match="longer than 1 MiB") as caught:
            system.encode(["a text"])
        assert ANSWER.environment_variable_name in caught.value.mend
        assert len(came) <= 2, "asked again"
