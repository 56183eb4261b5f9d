"""Made boards behind a server of a test's own, and pages whose complaints and foreign requests fail the test."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from chromium import axe_findings

from .made_board import Made
from .serving import Served

EXPECTED = "Failed to load resource: "
"""What a browser says by itself where a test lets the server fail."""
WATCHED = """(() => {
  // Requests that have no answer yet, or one that is being read.
  window.underway = 0;
  const ask = fetch, during = async (promise) => {
    underway += 1;
    try { return await promise; } finally { underway -= 1; }
  };
  window.fetch = (...what) => during(ask(...what).then((answer) => {
    for (const read of ["json", "text"]) {
      const own = answer[read].bind(answer);
      answer[read] = () => during(own());
    }
    return answer;
  }));
})()"""
AXE = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    """Fourteen systems, three datasets a task. Tests that change it make their own by `serve`."""
    server = Served(Made())
    yield server
    server.stop()


@pytest.fixture
def serve() -> Iterator[Callable[..., Served]]:
    """Serve a board: serve(Made(...), prefix="")."""
    running: list[Served] = []

    def started(made: Made, **options: Any) -> Served:
        running.append(Served(made, **options))
        return running[-1]

    yield started
    for one in running:
        one.stop()


@pytest.fixture
def visit(browser: Any) -> Iterator[Callable[..., Any]]:
    """Open an address, wait until the page is alive: visit(url, width=1232, alive=True, **options of the context)."""
    contexts, complaints, hosts = [], [], set()

    def opened(url: str, *, width: int = 1232, height: int = 900, alive: bool = True, **options: Any) -> Any:
        context = browser.new_context(viewport={"width": width, "height": height}, **options)
        contexts.append(context)
        page = context.new_page()
        page.add_init_script(WATCHED)
        page.set_default_timeout(10_000)
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("dialog", lambda dialog: complaints.append(dialog.message))
        page.on("request", lambda request: hosts.add(urlsplit(request.url).hostname))
        page.goto(url)
        if alive:
            page.wait_for_selector("[data-alive]", state="attached")
        return page

    yield opened
    for context in contexts:
        context.close()
    assert [one for one in complaints if EXPECTED not in one] == []
    assert hosts <= {"127.0.0.1"}


@pytest.fixture
def base(folder: Path) -> Iterator[str]:
    """The real app, looking at the folder often."""
    uvicorn = pytest.importorskip("uvicorn")
    pytest.importorskip("fastapi")
    from embassay.web.leaderboard.library import make_folder_app
    from embassay.web.server import open_listening_socket

    listening = open_listening_socket("127.0.0.1", 0)
    app = make_folder_app(folder, hosts=(), root_path="", stale_after=900, every=0.2)
    server = uvicorn.Server(uvicorn.Config(app, log_level="error", timeout_graceful_shutdown=2))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    while not server.started:
        time.sleep(0.01)
    yield f"http://127.0.0.1:{listening.getsockname()[1]}/"
    server.should_exit = True
    thread.join(10)
    listening.close()


def names(page: Any, rows: str = "#board tbody tr[data-name]") -> list[str]:
    """The systems of the table in the order of its rows."""
    found: list[str] = page.eval_on_selector_all(rows, "rows => rows.map(row => row.dataset.name)")
    return found


def columns(page: Any) -> list[str]:
    """The headings of the table's columns that hold scores or facts."""
    found: list[str] = page.eval_on_selector_all(
        "#board thead :is(.lead, .task, .fact) .sort", "all => all.map(one => one.textContent)"
    )
    return found


def serious(page: Any, only: Sequence[str] = AXE) -> list[str]:
    """What axe finds."""
    pytest.importorskip("axe_playwright_python")
    return axe_findings(page, only=only, least="moderate")


def turn_to(page: Any, place: str) -> None:
    """Show a view by its address, with what it fetches for it."""
    page.evaluate(
        """place => new Promise((done) => {
          if (location.hash === place) done();
          addEventListener("hashchange", () => done(), { once: true });
          location.hash = place;
        })""",
        place,
    )
    settled(page)
    wait_until(page, "!document.querySelector('#board')?.hasAttribute('aria-busy')")


def settled(page: Any) -> None:
    """Wait until nothing that the page asked for is under way; not by its timers, which a test may have stopped."""
    page.evaluate("""async () => {
      const rest = () => new Promise((done) => {
        const { port1, port2 } = new MessageChannel();
        port1.onmessage = done;
        port2.postMessage(0);
      });
      do { await rest(); await rest(); } while (underway);
    }""")


def wait_until(page: Any, condition: str, seconds: float = 15) -> None:
    """Wait until an expression is true; not by the browser's own waiting, which the page's policy forbids."""
    for _ in range(int(seconds * 50)):
        if page.evaluate(condition):
            return
        page.wait_for_timeout(20)
    raise AssertionError(f"never: {condition}")
