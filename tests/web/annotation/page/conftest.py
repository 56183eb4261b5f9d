"""A browser, a server with a study in a thread of its own, and pages whose complaints fail the test."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from embassay.protocols.hume.store import SavedAnswer

from .made_study import write_made_study

EXPECTED = ("Failed to load resource: ",)
"""What a browser says by itself where a test cuts the connection, or an answer is refused as it should be."""


WATCHED = """() => {
  // A hand's pause without waiting: the page's clock jumps. What is under way: requests, and timers of a blink.
  const now = performance.now.bind(performance), start = setTimeout, stop = clearTimeout, ask = fetch;
  let ahead = 0;
  performance.now = () => now() + ahead;
  window.later = (ms) => { ahead += ms; };
  window.underway = new Set();
  window.rest = () => new Promise((done) => start(done));
  const during = async (promise) => {
    underway.add(promise);
    try { return await promise; } finally { underway.delete(promise); }
  };
  window.setTimeout = (act, ms = 0, ...more) => {
    const timer = start(() => { underway.delete(timer); act(...more); }, ms);
    if (ms <= 100) underway.add(timer);
    return timer;
  };
  window.clearTimeout = (timer) => { underway.delete(timer); stop(timer); };
  window.fetch = (...what) => during(ask(...what).then((answer) => {
    for (const read of ["json", "text"]) {
      const own = answer[read].bind(answer);
      answer[read] = () => during(own());
    }
    return answer;
  }));
}"""
PAUSE = 190
"""Milliseconds between two keys of a quick hand, longer than the page waits after a save."""
SETTLED = """async () => {
  do { await rest(); await rest(); } while (underway.size);
}"""


class Serving:
    """A study behind a real server that can be stopped and started at the same place."""

    def __init__(self, study: Path, adjudicators: tuple[str, ...] = (), *, until_decided: bool = False) -> None:
        self.study, self.port, self.adjudicators = study, 0, adjudicators
        self.until_decided = until_decided
        self.start()

    def start(self) -> None:
        import uvicorn

        from embassay.web.annotation.app import make_annotation_app
        from embassay.web.annotation.service import open_study_service
        from embassay.web.server import open_listening_socket

        self.service = open_study_service(
            self.study, ["ann"], adjudicators=self.adjudicators, until_decided=self.until_decided
        )
        config = uvicorn.Config(
            make_annotation_app(self.service), log_level="error", access_log=False, timeout_graceful_shutdown=2
        )
        self._server = uvicorn.Server(config)
        socket = open_listening_socket("127.0.0.1", self.port)
        self.port = socket.getsockname()[1]
        self._thread = threading.Thread(target=self._server.run, kwargs={"sockets": [socket]}, daemon=True)
        self._thread.start()
        while not self._server.started:
            time.sleep(0.01)

    def stop(self) -> None:
        self._server.should_exit = True
        self._thread.join(timeout=10)
        self.service.close()

    @property
    def link(self) -> str:
        return self.link_of("ann")

    def link_of(self, who: str) -> str:
        return f"http://127.0.0.1:{self.port}{self.service.annotator_link(who)}"

    def answers(self) -> dict[str, SavedAnswer]:
        return self.service.store.answers("ann")

    def values(self) -> dict[str, Any]:
        return {item: one.value for item, one in self.answers().items() if one.value is not None}

    def order(self, task: str) -> tuple[str, ...]:
        return self.service.order("ann", task)


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Callable[..., Serving]]:
    """Serve a study of these tasks: serve("pairs", "news"); also to adjudicators, and with questions of profiles."""
    for name in ("fastapi", "uvicorn"):
        pytest.importorskip(name)
    running: list[Serving] = []

    def started(*tasks: str, adjudicators: tuple[str, ...] = (), profile: tuple[str, ...] = ()) -> Serving:
        study = write_made_study(tmp_path / f"study{len(running)}", *tasks)
        if profile:
            told = json.loads((study / "study.json").read_text("utf-8"))
            (study / "study.json").write_text(json.dumps(told | {"profile": profile}), "utf-8")
        running.append(Serving(study, adjudicators))
        return running[-1]

    yield started
    for one in running:
        one.stop()


class Person:
    """Somebody before the page, with a keyboard."""

    def __init__(self, page: Any) -> None:
        self.page = page

    def press(self, *keys: str) -> None:
        """Keys with the pause of a quick hand, each when the page has done what the one before asked for."""
        for key in keys:
            self.page.keyboard.press(key)
            self.settle()
            self.page.evaluate("later", PAUSE)

    def settle(self) -> None:
        """Wait until nothing is under way: no request, no timer of a blink."""
        self._lasting(SETTLED)

    def type(self, text: str) -> None:
        self.page.keyboard.type(text)

    def at(self, place: str) -> None:
        """Go to a place by its address and wait until it is there."""
        self.page.evaluate(
            """place => new Promise((done) => {
              if (decodeURI(location.hash) === "#" + place) done();
              addEventListener("hashchange", () => done(), { once: true });
              location.hash = place;
            })""",
            place,
        )
        self.settle()

    def tab_to(self, name: str) -> None:
        """Walk with the Tab key to the button or field of this name."""
        names = "e => e.getAttribute('aria-label') || e.labels?.[0]?.innerText || e.innerText || ''"
        for _ in range(60):
            self.page.keyboard.press("Tab")
            if self.page.evaluate(f"({names})(document.activeElement)").strip().startswith(name):
                return
        raise AssertionError(f"no Tab leads to {name}")

    @property
    def heading(self) -> str:
        return str(self.page.locator("h1").inner_text())

    @property
    def saved(self) -> str:
        return str(self.page.locator("#saved").inner_text())

    def until(self, condition: str, seconds: float = 20) -> None:
        """Wait until this expression is true. Not by the browser's own waiting, which the page's policy forbids."""
        end = time.monotonic() + seconds
        while not self._holds(condition):
            assert time.monotonic() < end, f"never: {condition}"
            self.page.wait_for_timeout(30)

    def _holds(self, condition: str) -> bool:
        return bool(self._lasting(condition))

    def _lasting(self, expression: str) -> Any:
        """What an expression gives; None where the page was loaded anew meanwhile."""
        from playwright.sync_api import Error

        try:
            return self.page.evaluate(expression)
        except Error as error:
            if "navigation" not in str(error):
                raise
            return None

    def is_saved(self, seconds: float = 20) -> None:
        """Wait until the page says that all is kept."""
        says = "document.querySelector('#saved[aria-busy=false]')?.textContent === '✓ saved'"
        self.until(says, seconds)


@pytest.fixture
def visit(browser: Any) -> Iterator[Callable[..., Person]]:
    """Open an address: visit(link, width=1232, height=800, context=None, **options of the browser's context)."""
    contexts, complaints = [], []

    def opened(link: str, *, width: int = 1232, height: int = 800, context: Any = None, **options: Any) -> Person:
        if context is None:
            context = browser.new_context(viewport={"width": width, "height": height}, **options)
            contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.add_init_script(f"({WATCHED})()")
        page.goto(link)
        page.wait_for_selector("h1")
        person = Person(page)
        person.settle()
        return person

    yield opened
    for context in contexts:
        context.close()
    assert [one for one in complaints if not any(part in one for part in EXPECTED)] == []
