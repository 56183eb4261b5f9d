"""A running server: what a client that sends half a head costs."""

import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from pathlib import Path

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
    listening = serving.open_listening_socket("127.0.0.1", 0)
    server = serving._make_uvicorn_server(lambda: hello, "test", proxy_headers=False)
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


FEW_FILES = """
import resource
resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
from embassay.web import server
from test_serving import hello
listening = server.listen("127.0.0.1", 0)
ready = lambda: print(listening.getsockname()[1], flush=True)
server.serve(lambda: hello, listening, command="test", proxy_headers=False, ready=ready)
"""


@pytest.mark.slow
def test_half_heads_take_no_open_file_from_others():
    """With 64 open files allowed and 200 half heads, whoever asks is answered, and nothing is said of it."""
    process = subprocess.Popen(
        [sys.executable, "-c", FEW_FILES], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        cwd=Path(__file__).parent,
    )  # fmt: skip
    port = int(process.stdout.readline())
    halves = []
    for number in range(200):
        halves.append(socket.create_connection(("127.0.0.1", port), timeout=60))
        halves[-1].sendall(HEAD)
        if number % 50 == 49:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=60) as answer:
                assert answer.read() == b"hi"
    for one in halves:
        one.close()
    process.send_signal(signal.SIGTERM)
    assert process.communicate(timeout=60)[1] == ""
    assert process.returncode == 0
