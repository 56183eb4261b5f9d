"""A real `embassay serve` in a process of its own, and a client that asks it."""

from __future__ import annotations

import gzip
import http.client
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi")
PATIENCE = 60.0


@dataclass
class Answer:
    """What came back."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def text(self) -> str:
        zipped = self.headers.get("content-encoding") == "gzip"
        return (gzip.decompress(self.body) if zipped else self.body).decode()

    @property
    def json(self) -> Any:
        return json.loads(self.text)


@dataclass
class Server:
    """`embassay serve` of a folder."""

    folder: Path
    arguments: tuple[str, ...] = ()
    port: int = 0
    process: subprocess.Popen[str] | None = field(default=None, repr=False)

    def start(self) -> Server:
        command = [
            *(sys.executable, "-m", "embassay", "serve", str(self.folder)),
            *("--port", str(self.port), "--every", "0.2", *self.arguments),
        ]
        environment = {**os.environ, "OMP_NUM_THREADS": "1"}
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
        )
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            assert self.process.stderr is not None
            raise AssertionError(self.process.stderr.read())
        self.port = int(line.rstrip("/\n").rpartition(":")[2])
        return self

    def kill(self) -> None:
        """End it as a crash would."""
        assert self.process is not None
        self.process.kill()
        self.process.communicate(timeout=10)

    def get(self, path: str, method: str = "GET", body: bytes | None = None, **headers: str) -> Answer:
        """Ask for a path as it is written here: nothing is made tidy on the way."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        try:
            named = {name.replace("_", "-"): value for name, value in headers.items()}
            connection.request(method, path, body=body, headers=named)
            answer = connection.getresponse()
            found = {name.lower(): value for name, value in answer.getheaders()}
            return Answer(answer.status, found, answer.read())
        finally:
            connection.close()

    def boards(self) -> list[dict[str, Any]]:
        return list(self.get("/api/boards").json["boards"])

    def board(self, place: int = 0) -> dict[str, Any]:
        """The record of the board at a place of the list."""
        return dict(self.get(f"/api/boards/{self.boards()[place]['id']}").json)

    def until(self, true: Callable[[], Any]) -> Any:
        """What `true` gives once it gives something."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            if found := true():
                return found
            time.sleep(0.05)
        raise AssertionError("nothing happened")


@pytest.fixture(scope="module")
def serve() -> Iterator[Callable[..., Server]]:
    """Start servers; all are ended after the tests of the file."""
    started: list[Server] = []

    def start(folder: Path, *arguments: str) -> Server:
        started.append(Server(folder, arguments).start())
        return started[-1]

    yield start
    for one in started:
        if one.process is not None:
            one.process.terminate()
    for one in started:
        if one.process is not None:
            one.process.communicate(timeout=20)
