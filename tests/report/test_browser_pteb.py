"""The report of a SAGE and a PTEB run in a real browser."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from embassay.report import write_report
from embassay.report.pteb.conclusions import ParaphraseLosses
from embassay.report.pteb.tables import loss_dumbbell_charts
from embassay.report.runs import read_report_runs

from .conftest import turn_to

pytestmark = pytest.mark.browser
VIEWS = ("overview", "sage", "pteb", "systems", "items", "method")
HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(1)>"
Go = Callable[..., Any]


@pytest.fixture(scope="module")
def together(plain_run: Path, pteb_run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of both."""
    return write_report([plain_run, pteb_run], out=tmp_path_factory.mktemp("both") / "report.html")


@pytest.fixture
def go(visit: Go, together: Path) -> Go:
    """Open a view of the report, or of another file."""
    return lambda place, file=together, **options: visit(file, place, **options)


def test_each_view_has_its_link(go: Go) -> None:
    """The navigation leads from page to page, one at a time."""
    page = go("overview")
    for name, view in (("PTEB", "pteb"), ("SAGE", "sage"), ("Items", "items")):
        page.get_by_role("link", name=name, exact=True).click()
        page.wait_for_selector(f"#{view}:not([hidden])")
        assert page.locator(f"#{view}").is_visible()
        assert page.locator(".view:not([hidden])").count() == 1


def test_no_sideways_scrolling(go: Go) -> None:
    """The page never scrolls sideways; wide tables do in their frame."""
    page = go("")
    for view in VIEWS:
        turn_to(page, view)
        for width in (320, 390, 860):
            page.set_viewport_size({"width": width, "height": 900})
            assert page.evaluate("document.documentElement.scrollWidth") <= width, (view, width)


def test_long_and_hostile_names_do_nothing(go: Go, make_pteb: Callable[..., Path]) -> None:
    """No script runs, nothing scrolls sideways on a phone."""
    systems = {HOSTILE: "embedding", "st:organisation/" + "x" * 184: "embedding", "bm25": "classical"}
    file = write_report(make_pteb(systems=systems, datasets={"sts": (HOSTILE, "y" * 90)}))
    page = go("", file=file, width=390)
    for view in ("pteb", "items", "method"):
        turn_to(page, view)
        assert page.evaluate("document.documentElement.scrollWidth") <= 390, view


@pytest.fixture(scope="module")
def alone(pteb_run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of the PTEB run alone, which has every chart."""
    return write_report(pteb_run, out=tmp_path_factory.mktemp("alone") / "report.html")


def test_first_systems_stand_side_by_side(go: Go, pteb_run: Path) -> None:
    """In a report of several runs: a column each, every change with original, paraphrased score and interval."""
    page = go("pteb")
    heads = page.locator("#drops thead th").all_inner_texts()
    [run] = read_report_runs([pteb_run])
    charts = loss_dumbbell_charts(ParaphraseLosses(run.record, run.board))
    assert [head.split()[0] for head in heads[1:]] == [one.title for one in charts[:3]]
    for place, chart in enumerate(charts[:3]):
        for one in chart.rows:
            row = page.locator("#drops tbody tr").filter(has=page.locator(f"th:has-text('{one.name}')"))
            text = row.filter(has_text=one.sub).locator("td").nth(place).inner_text()
            if one.loss.drop is not None:
                assert text.startswith(one.loss.format_drop_in_points)
                assert f"{one.loss.before.text} to {one.loss.after.text} {one.loss.spread}" in text


def test_a_system_is_chosen_for_its_changes(go: Go, alone: Path) -> None:
    """One chart at a time; the others are found by the browser's search."""
    page = go("pteb", file=alone)
    assert page.locator("#drops-0").is_visible()
    page.get_by_label("System", exact=True).select_option("birch-base")
    assert page.locator("#drops-1").is_visible()
    assert not page.locator("#drops-0").is_visible()


def test_points_are_sorted_and_exported_as_they_are_read(go: Go) -> None:
    """The CSV has points with their interval, not fractions."""
    page = go("pteb")
    with page.expect_download() as download:
        page.locator(".frame:has(#scores) + .actions").get_by_text("CSV").click()
    rows = list(csv.DictReader(io.StringIO(Path(download.value.path()).read_text("utf-8"))))
    first = rows[0]
    assert first["System"] == "aster-large"
    assert 80 < float(first["Mean of tasks"]) < 90
    assert float(first["Mean of tasks low"]) < float(first["Mean of tasks"]) < float(first["Mean of tasks high"])
    page.locator("#scores thead").get_by_role("button", name="Retrieval").click()
    names = page.eval_on_selector_all("#scores tbody th[scope=row]", "cells => cells.map(cell => cell.textContent)")
    assert names[0] == "aster-large"


def test_scopes_of_pteb_are_compared_in_points(go: Go) -> None:
    """The field offers the scopes of every run; differences are printed with the decimals of their unit."""
    page = go("overview?on=pteb.overall")
    assert page.locator("#compare-scope").inner_text() == "pteb: overall"
    (row,) = page.locator("#forest tbody tr").all()
    assert row.locator("th").inner_text().strip() == "birch-base"
    assert "−8." in row.locator("td.num").first.inner_text()
    page = go("overview?on=pteb.overall:classical")
    assert page.locator("#compare-base").inner_text() == "jaccard"


def test_a_reworded_item_shows_its_texts_by_run(go: Go, pteb_run: Path, tmp_path: Path) -> None:
    """The text, the wording of each run, one that failed by name, and the values of both systems."""
    page = go("items", file=write_report(pteb_run, out=tmp_path / "report.html"))
    page.locator("#item-search").fill("item-03")
    page.locator("#item-list li .id:text-is('item-03')").first.click()
    item = page.locator("#item")
    assert "Nobody in the village remembers" in item.inner_text()
    assert [one.inner_text() for one in item.locator(".reworded th").all()] == ["Original", "1337", "1338", "1339"]
    assert "no usable paraphrase" in item.inner_text()
    assert "similarity, mean of 3 runs" in item.inner_text()


def test_without_a_script_everything_follows(go: Go) -> None:
    """All views stand one after the other."""
    page = go("", java_script_enabled=False)
    assert all(page.locator(f"#{view}").is_visible() for view in VIEWS)
    assert page.locator("#drops").is_visible()


def test_print_shows_everything_on_a4(go: Go) -> None:
    """All views, systems and scopes, every column inside the page."""
    page = go("items", width=703, color_scheme="dark")
    page.emulate_media(media="print", color_scheme="dark")
    assert all(page.locator(f"#{view} h1").is_visible() for view in VIEWS)
    assert page.locator("#drops").is_visible()
    assert page.evaluate("getComputedStyle(document.body).color") == "rgb(26, 31, 38)"
    assert page.evaluate("document.documentElement.scrollWidth") <= 703


def test_controls_can_be_hit_and_texts_read(go: Go) -> None:
    """Buttons and fields are at least 24 pixels high, no text is under 13 pixels."""
    page = go("")
    for view in VIEWS:
        turn_to(page, view)
        small = page.eval_on_selector_all(
            "button, select, input, summary, nav a",
            "all => all.filter(one => one.checkVisibility() "
            "&& one.getBoundingClientRect().height < 24).map(one => one.outerHTML)",
        )
        assert small == [], view
        tiny = page.evaluate(
            f"[...document.querySelectorAll('#{view} *')].filter(one => [...one.childNodes].some(node => "
            "node.nodeType === 3 && node.textContent.trim()) && parseFloat(getComputedStyle(one).fontSize) < 13)"
            ".map(one => one.outerHTML.slice(0, 80))"
        )
        assert tiny == [], view
