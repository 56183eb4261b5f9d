"""A running server: what a client that sends half a head costs."""

import socket
import threading
import time

import pytest

from embassay.web import server as serving

pytest.importorskip("uvicorn")


async def hello(scope, receive, send):
    if scope["type"] != "http":
        raise NotImplementedError
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
    await send({"type": "http.response.body", "body": b"hi"})


@pytest.fixture
def port(monkeypatch):
    monkeypatch.setattr(serving, "HEADER_SECONDS", 0.3)
    listening = serving.listen("127.0.0.1", 0)
    server = serving._server(lambda: hello, "test", proxy_headers=False)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    yield listening.getsockname()[1]
    server.should_exit = True
    thread.join(30)
    listening.close()


def gone(client):
    """Whether the server ends the connection; a timeout where it does not."""
    with client:
        try:
            return client.recv(1) == b""
        except ConnectionResetError:
            return True


HEAD = b"GET / HTTP/1.1\r\nHost: x\r\n"


def test_half_a_head_is_not_waited_for(port):
    """A connection without a whole head ends, whether it says nothing, half, or goes on drop by drop."""
    silent, half, slow = (socket.create_connection(("127.0.0.1", port), timeout=30) for _ in range(3))
    half.sendall(HEAD)
    ended = False
    for _ in range(200):
        try:
            slow.sendall(b"X")
        except OSError:
            ended = True
            break
        time.sleep(0.05)
    assert ended
    assert gone(silent)
    assert gone(half)
    slow.close()


def test_a_later_head_is_not_waited_for_either(port):
    """The connection of a client that was answered ends in the same way, and until then it is answered."""
    client = socket.create_connection(("127.0.0.1", port), timeout=30)
    for _ in range(2):
        client.sendall(HEAD + b"\r\n")
        answer = b""
        while not answer.endswith(b"hi"):
            answer += client.recv(1000)
    client.sendall(HEAD)
    assert gone(client)
