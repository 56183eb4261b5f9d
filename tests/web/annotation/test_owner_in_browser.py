"""The owner's page in a real browser, with the server it comes from."""

from __future__ import annotations

import threading
import time

import pytest

from chromium import axe_findings

pytestmark = [pytest.mark.browser, pytest.mark.slow]
EXPECTED = "net::ERR_FAILED"
"""What a browser says by itself where a test cuts the connection."""
SCRIPT = "<script>document.title = 'gone'</script><img src=x onerror=\"document.title='gone'\">"


@pytest.fixture
def base(service):
    """The address of the service, really served."""
    uvicorn = pytest.importorskip("uvicorn")
    from embassay.web.annotation.app import make_annotation_app
    from embassay.web.server import open_listening_socket

    listening = open_listening_socket("127.0.0.1", 0)
    server = uvicorn.Server(
        uvicorn.Config(make_annotation_app(service), log_level="error", timeout_graceful_shutdown=2)
    )
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    while not server.started:
        time.sleep(0.01)
    yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    server.should_exit = True
    thread.join(10)
    listening.close()


@pytest.fixture
def visit(browser):
    """Opens an address; a complaint of any page fails the test."""
    contexts, complaints = [], []

    def opened(address, *, width=1232, **options):
        context = browser.new_context(viewport={"width": width, "height": 900}, **options)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: EXPECTED in message.text or complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.clock.install()
        page.goto(address)
        return page

    yield opened
    for context in contexts:
        context.close()
    assert complaints == []


@pytest.mark.parametrize(("width", "scheme"), [(1232, "light"), (1232, "dark"), (390, "light"), (320, "dark")])
def test_it_reads_well_everywhere(base, service, ann, bob, visit, width, scheme) -> None:
    """No finding of axe, no sideways scrolling of the page, no script of anybody's text run."""
    pytest.importorskip("axe_playwright_python")
    for at, page in enumerate((ann, bob)):
        page.answer("mood-00", at, 1, comment=SCRIPT, flag="broken")
        page.answer("pairs-00", 3, 2, comment="تعليق طويل")
    page = visit(base + service.owner_link(), width=width, color_scheme=scheme)
    assert page.locator("h1").inner_text().startswith("17% of the answers are in")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.title() == "small: progress"
    fades = """all => all.map(one => [one.scrollWidth - one.clientWidth > 2,
      getComputedStyle(one).maskImage !== 'none'])"""
    assert all(wide == faded for wide, faded in page.eval_on_selector_all(".frame", fades))
    assert page.locator(".comment").filter(has_text="<script>").count() == 2
    assert axe_findings(page, only=("wcag2a", "wcag2aa", "wcag21aa", "wcag22aa")) == []


def test_it_stays_fresh_and_says_when_it_does_not(base, service, ann, visit) -> None:
    """New answers appear by themselves; a server that is away is named; a link can be copied."""
    page = visit(base + service.owner_link(), permissions=["clipboard-read", "clipboard-write"])
    assert "No answers yet" in page.locator("h1").inner_text()
    ann.answer("mood-00", 1, 1)
    page.clock.run_for(21_000)
    page.get_by_text("4% of the answers are in: 1 of 24").wait_for(timeout=10_000)
    page.locator(".copy").first.click()
    page.get_by_text("Link copied.").wait_for(timeout=10_000)
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied == base + service.annotator_link("ann")
    page.route("**/*", lambda route: route.abort())
    for _ in range(3):
        page.clock.run_for(21_000)
    page.get_by_text("the server does not respond").wait_for(timeout=10_000)
    assert "4% of the answers are in" in page.locator("h1").inner_text()
