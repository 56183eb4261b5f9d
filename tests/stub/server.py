"""The stub server: one thread with an event loop, any number of connections."""

from __future__ import annotations

import asyncio
import json
import re
import threading
from collections import Counter
from collections.abc import Callable
from random import Random
from typing import Any

from .faults import SPOILING, Faults
from .wire import Problem, Request, answer, read_request

Handler = Callable[[Request], Any]


class StubServer:
    """A server on this machine at `url`; a context manager.

    `latency` is the seconds of every answer (a function of the request where it varies), `limit` how many
    requests it serves at once (429 above), `queue` how many (others wait). `keys`, when set, are the only keys
    it takes. `check` looks at each request and may raise a Problem. `chat` is the behaviour of the chat models
    (see `chat.py`).

    It counts: `requests` by path, `statuses`, `faults`, `paid` (inputs of answers with status 200, what a vendor
    would charge for), `most` (the most requests at once).
    """

    def __init__(
        self,
        *,
        latency: float | Callable[[Request], float] = 0.0,
        limit: int | None = None,
        queue: int | None = None,
        faults: Faults = Faults(),  # noqa: B008
        keys: frozenset[str] | set[str] | None = None,
        check: Callable[[Request], object] = lambda request: None,
        chat: Callable[..., Any] | None = None,
        port: int = 0,
    ) -> None:
        from .chat import echo
        from .vendors import routes

        self.latency, self.limit, self.faults, self.keys = latency, limit, faults, keys
        self.check, self.chat = check, chat or echo
        self.random = Random(faults.seed)
        self.port = port
        self._queue = asyncio.Semaphore(queue) if queue else None
        self._routes: list[tuple[str, re.Pattern[str], Handler]] = routes()
        self._lock = threading.Lock()
        self._connections: set[asyncio.StreamWriter] = set()
        self.forget()

    def forget(self) -> None:
        """Set every count to nothing."""
        self.requests: Counter[str] = Counter()
        self.statuses: Counter[int] = Counter()
        self.injected: Counter[str] = Counter()
        self.paid: Counter[str] = Counter()
        self.seen_keys: set[str] = set()
        self.bodies: list[Any] = []
        self.in_flight = self.most = 0

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self.port}"

    def __enter__(self) -> StubServer:
        ready = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve(ready)), daemon=True)
        self._thread.start()
        if not ready.wait(20):
            raise RuntimeError("the stub server did not start")
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(20)

    async def _serve(self, ready: threading.Event) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        server = await asyncio.start_server(self._connection, "127.0.0.1", self.port, backlog=1024)
        self.port = server.sockets[0].getsockname()[1]
        ready.set()
        async with server:
            await self._stop.wait()
            for writer in list(self._connections):
                writer.transport.abort()
            await asyncio.sleep(0)

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._connections.add(writer)
        try:
            while (request := await read_request(reader)) is not None:
                content = await self._answered(request)
                if content is None:
                    writer.transport.abort()
                    return
                writer.write(content)
                await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            writer.transport.abort()
        finally:
            self._connections.discard(writer)
            writer.close()

    async def _answered(self, request: Request) -> bytes | None:
        """The bytes to send; None where the connection is to be reset."""
        request.server = self
        self.requests[request.path] += 1
        self.seen_keys.add(request.key)
        self.in_flight += 1
        self.most = max(self.most, self.in_flight)
        try:
            if self.limit is not None and self.in_flight > self.limit:
                return self._refusal(Problem(429, "too many requests at once"))
            fault = self.faults.draw(self.random)
            self.injected[fault] += bool(fault)
            return await self._faulty(request, fault)
        finally:
            self.in_flight -= 1

    async def _faulty(self, request: Request, fault: str) -> bytes | None:
        if fault == "refused":
            return self._refusal(Problem(429, "slow down"))
        if fault == "refused_until":
            return self._refusal(Problem(429, "slow down", {"retry-after": self.faults.retry_after}))
        if fault == "broken":
            return self._refusal(Problem(500, "something broke"))
        if fault == "overloaded":
            return self._refusal(Problem(503, "overloaded"))
        await self._delay(request, self.faults.slow_seconds if fault == "slow" else 0.0)
        if fault == "reset":
            return None
        request.spoilt = fault if fault in SPOILING else ""
        try:
            content = json.dumps(self._handled(request)).encode()
        except Problem as problem:
            return self._refusal(problem)
        self.statuses[200] += 1
        self.paid.update(request.inputs)
        return answer(200, content[: len(content) // 2] if fault == "truncated" else content)

    async def _delay(self, request: Request, more: float) -> None:
        latency = self.latency(request) if callable(self.latency) else self.latency
        if self._queue is None:
            await asyncio.sleep(latency + more)
            return
        async with self._queue:
            await asyncio.sleep(latency + more)

    def _handled(self, request: Request) -> Any:
        if self.keys is not None and request.key not in self.keys:
            raise Problem(401, f"Incorrect API key provided: {request.key}.")
        self.check(request)
        for method, pattern, handler in self._routes:
            request.match = pattern.fullmatch(request.path)
            if method == request.method and request.match:
                return handler(request)
        raise Problem(404, f"no such page: {request.method} {request.path}")

    def _refusal(self, problem: Problem) -> bytes:
        self.statuses[problem.status] += 1
        return answer(problem.status, json.dumps(problem.body).encode(), problem.headers)
