"""Scripted annotators at a real server that is killed meanwhile: what was acknowledged, and how long it took.

Shared by `bench_annotation.py` and the test of the same thing.
"""

from __future__ import annotations

import http.client
import json
import random
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

from embassay.protocols.hume.study import (
    ItemGoldAnswer,
    LabelChoice,
    RatingScale,
    ShownItemRow,
    StudyFile,
    StudyItemSource,
    StudyTask,
    hash_items_and_gold,
    write_study,
)

FAMILIES = ("classification", "clustering", "reranking", "sts")
DOCUMENTS = 7
DOUBLE = 0.05
"""How many of the answers are sent twice, as by a double click."""
_AGAIN_SECONDS, _LONGEST = 0.05, 10


def made_study(path: Path, n: int) -> Path:
    """A study of the four families with `n` items each; its texts are of the length that people read."""
    texts = [" ".join(f"word{(at * 7 + i) % 97}" for i in range(120)) for at in range(n)]
    payloads: dict[str, Any] = {
        "classification": lambda at: {"text": texts[at]},
        "clustering": lambda at: {"text": texts[at][:200]},
        "sts": lambda at: {"text1": texts[at][:200], "text2": texts[at - 1][:200]},
        "reranking": lambda at: {
            "query": texts[at][:60],
            "documents": [{"id": f"d{k}", "text": texts[(at + k) % n]} for k in range(DOCUMENTS)],
        },
    }
    tasks = [
        StudyTask(
            name=family, family=family, lang="eng", title=family, question="What is it?", guidelines="Judge alone.",
            n=n, labels=[LabelChoice(value=i, name=f"label {i}") for i in range(6)] if family == "classification"
            else [], scale=RatingScale() if family == "sts" else None, source=StudyItemSource(dataset="made"),
        )
        for family in FAMILIES
    ]  # fmt: skip
    items = [ShownItemRow(id=f"{one}-{at}", task=one, payload=payloads[one](at)) for one in FAMILIES for at in range(n)]
    gold = [ItemGoldAnswer(id=item.id, gold=0) for item in items]
    study = StudyFile(name="load", seed=1, tasks=tasks, content=hash_items_and_gold(items, gold), guidelines="1")
    return write_study(path, study, items, gold)


class Served:
    """`embassay hume serve` of a study, in a process of its own that can be killed and started again."""

    def __init__(
        self, study: Path, people: Sequence[str], *, database: str | None = None, more: Sequence[str] = ()
    ) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        names = [word for name in people for word in ("--simulated", name)]
        where = ["--database", database] if database else []
        self._command = [
            sys.executable, "-m", "embassay", "hume", "serve", str(study), *names, *where, "--port",
            str(self.port), "--json", *more,
        ]  # fmt: skip
        self.links: dict[str, str] = {}
        self.start()

    def start(self) -> None:
        """Start it and wait until it answers."""
        self._process = subprocess.Popen(self._command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(self._process.stderr.read() if self._process.stderr else "")
        shown = json.loads(line)
        links = {one["id"]: one["link"] for one in shown["annotators"]}
        assert self.links in ({}, links), "links changed"
        self.links, self.owner = links, shown["owner"]
        self._wait()

    def kill(self) -> None:
        """As the system does when there is no memory left: at once, with nothing said. Nothing, if it has ended."""
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGKILL)
            self._process.communicate(timeout=30)

    def stop(self, sign: int = signal.SIGTERM) -> tuple[int, str]:
        """As people do; the exit code, and what it said on stderr."""
        self._process.send_signal(sign)
        _, errors = self._process.communicate(timeout=30)
        return self._process.returncode, errors

    def _wait(self) -> None:
        until = time.monotonic() + 60
        while time.monotonic() < until:
            try:
                if ask(self.port, "GET", "/health")[0] == 200:
                    return
            except OSError:
                time.sleep(0.02)
        raise RuntimeError("the server does not come up")


@dataclass
class Person(threading.Thread):
    """One who answers item after item until told to stop, and sends again what was not acknowledged."""

    port: int
    link: str
    seed: int
    pause: float
    stopped: threading.Event
    acknowledged: dict[tuple[str, int], Any] = field(default_factory=dict)
    """By item and number: the value that the server said is stored."""
    seconds: list[float] = field(default_factory=list)
    """Of every save that was acknowledged, as its page waits for it; not of those that met no server."""
    unanswered: int = 0
    faults: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__(daemon=True)
        self.path = "/" + self.link.split("/", 3)[3]
        self.random = random.Random(self.seed)
        self._connection = connected(self.port)

    def __hash__(self) -> int:
        return self.seed

    def run(self) -> None:
        """Until stopped; what goes wrong is kept as a fault."""
        try:
            page = self._sure("GET", "")[1]
            self.form_key = page.split('name="csrf" content="')[1].split('"')[0]
            study = json.loads(self._sure("GET", "study")[1])
            families = {item: task["family"] for task in study["tasks"] for item in task["items"]}
            self._annotate(families, study["seq"])
        except Exception as error:  # a fault of the test, to be shown and not to be swallowed
            self.faults.append(repr(error))
        finally:
            self._connection.close()

    def _annotate(self, families: dict[str, str], seq: int) -> None:
        order = list(families)
        while not self.stopped.wait(self.random.expovariate(1 / self.pause) if self.pause else 0):
            item, seq = order[seq % len(order)], seq + 1
            self._sure("GET", f"items/{quote(item, safe='')}")
            value = self._value(families[item])
            body = {"value": value, "seconds": 1.5, "flag": "", "comment": "", "seq": seq, "tab": "t", "paused": 0}
            for _ in range(1 + (self.random.random() < DOUBLE)):
                self._save(item, seq, body)

    def _save(self, item: str, seq: int, body: dict[str, Any]) -> None:
        status, text, took = self._sure("PUT", f"answers/{quote(item, safe='')}", body)
        if status != 200 or json.loads(text)["seq"] != seq:
            self.faults.append(f"{item} {seq}: {status} {text[:200]}")
            return
        self.acknowledged[item, seq] = body["value"]
        self.seconds.append(took)

    def _value(self, family: str) -> Any:
        pick = self.random.randrange
        return {"classification": pick(6), "clustering": f"group {pick(5)}", "sts": float(pick(6))}.get(
            family, [pick(2) for _ in range(DOCUMENTS)]
        )

    def _sure(self, method: str, path: str, body: Any = None) -> tuple[int, str, float]:
        """Ask until somebody answers, as the page does."""
        until = time.monotonic() + 60
        while True:
            began = time.perf_counter()
            try:
                status, text = ask(self._connection, method, self.path + path, body, getattr(self, "form_key", ""))
                if status < 500 and status != 429:
                    return status, text, time.perf_counter() - began
            except (OSError, http.client.HTTPException):
                self._connection.close()
            if time.monotonic() > until:
                raise TimeoutError(path)
            self.unanswered += 1
            time.sleep(_AGAIN_SECONDS)


def connected(port: int) -> http.client.HTTPConnection:
    """A connection that is kept open, and made again when it was cut."""
    return http.client.HTTPConnection("127.0.0.1", port, timeout=_LONGEST)


def ask(
    to: http.client.HTTPConnection | int, method: str, path: str, body: Any = None, form_key: str = ""
) -> tuple[int, str]:
    """Status and text of one request."""
    if isinstance(to, int):
        with closing(connected(to)) as own:
            return ask(own, method, path, body, form_key)
    headers = {} if method == "GET" else {"Content-Type": "application/json", "X-CSRF-Token": form_key}
    to.request(method, path, None if body is None else json.dumps(body), headers)
    answer = to.getresponse()
    return answer.status, answer.read().decode()


def let_annotate(served: Served, *, seconds: float, kills: int, pause: float, seed: int = 1) -> list[Person]:
    """Everybody annotates for so many seconds, while the server is killed and started again `kills` times."""
    stopped = threading.Event()
    people = [Person(served.port, link, seed + at, pause, stopped) for at, link in enumerate(served.links.values())]
    for person in people:
        person.start()
    chance, ends = random.Random(seed), time.monotonic() + seconds
    for left in range(kills, 0, -1):
        share = (ends - time.monotonic()) / (left + 1)
        time.sleep(max(0.1, share * chance.uniform(0.8, 1.2)))
        served.kill()
        served.start()
    time.sleep(max(0.0, ends - time.monotonic()))
    stopped.set()
    for person in people:
        person.join(90)
    return people


def lost_or_doubled(study: Path, served: Served, people: Sequence[Person]) -> list[str]:
    """What is wrong with the store: acknowledged answers that are missing, there twice or changed; empty if none.

    A stored step that was sent and never acknowledged is right: its acknowledgement may have been cut off.
    """
    from embassay.protocols.hume.store import open_answer_store
    from embassay.protocols.hume.study import read_study

    store, wrong = open_answer_store(read_study(study), read_only=True), []
    for name, person in zip(served.links, people, strict=True):
        steps: dict[tuple[str, int], list[Any]] = {}
        for change in store.changes(name):
            steps.setdefault((change.answer.item_id, change.answer.seq), []).append(change.answer.value)
        held = store.answers(name)
        for (item, seq), value in person.acknowledged.items():
            if steps.get((item, seq)) != [value]:
                wrong.append(f"{name} {item} {seq}: {value!r} was acknowledged, {steps.get((item, seq))} is there")
            if held[item].seq < seq:
                wrong.append(f"{name} {item}: {held[item].seq} counts, and {seq} was acknowledged")
        wrong += [f"{name}: {fault}" for fault in person.faults]
    store.close()
    return wrong
