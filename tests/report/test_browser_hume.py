"""The view of HUME in a real browser: it stays inside the page, reads in the dark and on paper, and axe finds nothing
serious."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from chromium import axe_findings
from embassay.report import write_report

from .hume_run import published, study, write_hume_run

pytestmark = pytest.mark.browser
Go = Callable[..., Any]
HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(1)>"


@pytest.fixture(scope="module")
def reports(
    tmp_path_factory: pytest.TempPathFactory, plain_run: Path, pteb_run: Path, score_run: Path
) -> dict[str, Path]:
    """Of the paper's results, of a small study, of one with a hostile name, and of four protocols."""
    folder = tmp_path_factory.mktemp("hume")
    made = {"paper": published(), "study": study(), "hostile": study(judge=HOSTILE, name=HOSTILE)}
    runs = {name: write_hume_run(folder / name, one, name="made") for name, one in made.items()}
    found = {name: write_report(run) for name, run in runs.items()}
    four = write_report([plain_run, pteb_run, score_run, runs["study"]], out=folder / "four.html")
    return {**found, "four": four}


@pytest.fixture
def go(visit: Go, reports: dict[str, Path]) -> Go:
    return lambda name="study", view="hume", **options: visit(reports[name], view, **options)


@pytest.mark.parametrize("name", ["paper", "study", "hostile", "four"])
def test_it_stays_inside_the_page(go: Go, name: str) -> None:
    """From 320 pixels on nothing scrolls sideways; one heading; texts are 13 pixels or more."""
    page = go(name)
    assert page.locator(".view:not([hidden]) h1").count() == 1
    for width in (320, 390, 860, 1232):
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate("document.documentElement.scrollWidth") <= width, width
    tiny = page.evaluate(
        "[...document.querySelectorAll('#hume *')].filter(one => [...one.childNodes].some(node => "
        "node.nodeType === 3 && node.textContent.trim()) && parseFloat(getComputedStyle(one).fontSize) < 13)"
        ".map(one => one.outerHTML.slice(0, 80))"
    )
    assert tiny == []


@pytest.mark.parametrize(
    ("name", "scheme", "width"), [("paper", "light", 1232), ("study", "dark", 390), ("study", "light", 1232)]
)
def test_axe_finds_nothing_serious(go: Go, name: str, scheme: str, width: int) -> None:
    """Also in what is one click away."""
    pytest.importorskip("axe_playwright_python")
    page = go(name, width=width, color_scheme=scheme)
    page.evaluate("document.querySelectorAll('#hume details').forEach((one) => { one.open = true; })")
    assert axe_findings(page, within="#hume", least="serious") == []


PLUM = "rgb(86, 26, 102)"
"""The token of people in the light theme."""
ROWS = """() => [...document.querySelectorAll("#hume-chart tbody tr:not(.group)")].map((row) => {
  const mark = row.querySelector("svg.pm"), box = mark.getBoundingClientRect(), path = mark.querySelector("path");
  const shape = path.getBoundingClientRect(), line = mark.querySelector("line").getBoundingClientRect();
  const at = (x) => 100 * (x - box.left) / box.width;
  return {
    values: row.cells[2].dataset.v.split(",").map(Number), fill: getComputedStyle(path).fill,
    drawn: [at(shape.left + shape.width / 2), at(line.left), at(line.right)],
  };
})"""


def test_marks_are_plum_for_people_and_lie_on_their_scale(go: Go) -> None:
    """The diamond of a pair is where its score is; the interval's line goes from end to end."""
    page = go("paper")
    found = page.evaluate(ROWS)
    assert len(found) == 26
    for one in found:
        assert one["fill"] == PLUM
        assert one["drawn"] == pytest.approx(one["values"], abs=0.8)


VALUES = """(body) => [...body.rows].filter((row) => !row.matches(".group"))
  .map((row) => Number(row.cells[2].dataset.v.split(",")[0]))"""


def test_tables_are_sorted_within_families_and_copied(go: Go) -> None:
    """A click on People sorts every family; CSV has value, both ends and no heading rows."""
    page = go("paper")
    page.locator("#hume-chart thead button").first.click()
    for body in page.locator("#hume-chart tbody").all():
        values = body.evaluate(VALUES)
        assert values == sorted(values, reverse=True)
    text = page.evaluate("asCsv(document.querySelector('#hume-chart'))")
    head, *lines = text.strip().splitlines()
    assert head == "Pair,People,People low,People high,People reason,Best,Best low,Best high,Best reason,Agreement"
    assert len(lines) == 26
    assert any(line.startswith("Emotion") and ",45.8333," in line for line in lines)


def test_the_reference_and_the_pair_can_be_chosen(go: Go) -> None:
    page = go()
    fields = page.locator("#hume .fields select")
    assert fields.count() == 3
    fields.nth(0).select_option(index=1)
    assert page.locator("#against-1").is_visible()
    assert not page.locator("#against-0").is_visible()
    fields.nth(1).select_option(label="the median model")
    assert page.locator("#gaps-median").is_visible()


def test_the_view_keeps_its_budget_of_nodes(go: Go) -> None:
    """About 900 nodes of a small study in the report of four protocols, under 5,000 in all; the file under 400 KB."""
    page = go("four")
    assert page.evaluate("document.querySelectorAll('#hume *').length") <= 950
    assert page.evaluate("document.querySelectorAll('*').length") < 5_000


def test_without_a_script_and_on_paper_everything_follows(go: Go) -> None:
    page = go("study", java_script_enabled=False)
    assert all(page.locator(f"#{view} h1").is_visible() for view in ("overview", "hume", "method"))
    assert page.locator("#hume-chart svg.pm").count() == 4
    page = go("paper", width=703)
    page.emulate_media(media="print")
    assert page.locator("#hume h1").is_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 703


def test_hostile_names_do_nothing(go: Go) -> None:
    """They are seen as they are; no script of theirs runs (the fixture hears dialogs and errors)."""
    page = go("hostile")
    assert page.locator("img").count() == 0
    assert HOSTILE in page.locator("#hume-chart").inner_text()


def test_the_overview_has_its_card(go: Go) -> None:
    """With the way to the view, and the warning first that annotators are simulated."""
    page = go("four", view="overview")
    card = page.locator(".card", has=page.get_by_role("heading", name="HUME", exact=True))
    assert "simulated annotators" in card.inner_text()
    assert "HUME: All annotators are simulated" in page.locator("#overview .care li").first.text_content()
    card.get_by_role("link").click()
    page.locator("#hume h1").wait_for()
