"""The report in a real browser: from a file, without a network."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from embassay.protocols.kernel.comparisons import SystemHeadlineValue, SystemStanding, write_standings
from embassay.report import write_report

from .conftest import Heard, turn_to
from .sweep_run import write_sweep_run

pytestmark = pytest.mark.browser
MakeRun = Callable[..., Path]
HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(1)>"
VIEWS = ("overview", "sage", "systems", "items", "method")


class Opened:
    """A report in a page, with everything it asked for and said."""

    def __init__(self, heard: Heard, report: Path) -> None:
        self.page, self.report = heard.page, report
        self.requests, self.complaints = heard.requests, heard.complaints

    def go(self, place: str = "") -> Any:
        self.page.goto("about:blank")
        self.requests.clear()
        self.page.goto(self.report.as_uri() + place)
        return self.page


Open = Callable[..., Opened]


@pytest.fixture
def opened(use: Callable[..., Heard]) -> Open:
    """Open the report of a run."""

    def make(run: Path, **options: Any) -> Opened:
        report = run / "report.html"
        return Opened(use(**options), report if report.exists() else write_report(run))

    return make


def shown(page: Any) -> list[str]:
    """The views whose content is drawn: those that a style or an attribute hides have none."""
    found: list[str] = page.eval_on_selector_all(
        ".view", "views => views.filter(view => view.firstElementChild.getBoundingClientRect().height "
        "&& view.firstElementChild.checkVisibility({contentVisibilityAuto: true})).map(view => view.id)",
    )  # fmt: skip
    return found


def names(page: Any, table: str) -> list[str]:
    """The systems of a table in the order of its rows, those that are hidden left out."""
    found: list[str] = page.eval_on_selector_all(
        f"{table} tbody tr:not([hidden]) th[scope=row]", "cells => cells.map(cell => cell.childNodes[0].textContent)"
    )
    return found


def test_it_asks_for_nothing_and_complains_of_nothing(opened: Open, plain_run: Path) -> None:
    """One request, the file itself; no message on the console on any view."""
    report = opened(plain_run)
    for view in VIEWS:
        turn_to(report.go(), view)
        assert report.requests == [report.report.as_uri()]
    assert report.complaints == []


def test_hostile_names_and_texts_do_nothing(opened: Open, make_full_run: MakeRun) -> None:
    """They are seen as they are; no script of theirs runs, no image is asked for."""
    run = make_full_run(systems={HOSTILE: "embedding", "bm25": "classical"}, texts=(HOSTILE,) * 48, name=HOSTILE)
    report = opened(run)
    for view in VIEWS:
        page = report.go(f"#{view}")
        turn_to(page, view)
        assert len(report.requests) == 1
        assert page.locator("img").count() == 0
    turn_to(page, "items")
    page.wait_for_function("text => document.querySelector('#item .data')?.innerText.includes(text)", arg=HOSTILE)
    assert report.complaints == []


def test_one_view_at_a_time_with_a_link_each(opened: Open, plain_run: Path) -> None:
    """The first is the overview; the navigation switches, marks the current page, and back goes back."""
    page = opened(plain_run).go()
    assert shown(page) == ["overview"]
    page.get_by_role("link", name="SAGE", exact=True).click()
    page.wait_for_selector("#sage:not([hidden])")
    assert shown(page) == ["sage"]
    assert page.locator("nav [aria-current=page]").inner_text() == "SAGE"
    assert page.title().startswith("No system ranks noise")
    page.go_back()
    page.wait_for_selector("#overview:not([hidden])")
    assert shown(page) == ["overview"]


def test_a_link_to_a_part_opens_its_view(opened: Open, plain_run: Path) -> None:
    """An address may name any part of a view."""
    page = opened(plain_run).go("#system-1")
    assert shown(page) == ["systems"]
    assert page.locator("#system-1").is_visible()


def test_find_in_page_reaches_hidden_views(opened: Open, plain_run: Path) -> None:
    """A hidden view is `until-found`, and being found opens it."""
    page = opened(plain_run).go()
    assert page.locator("#method").get_attribute("hidden") == "until-found"
    page.eval_on_selector("#method", "view => view.dispatchEvent(new Event('beforematch'))")
    page.wait_for_selector("#method:not([hidden])")
    assert shown(page) == ["method"]


def test_the_theme_follows_the_system_until_it_is_chosen(opened: Open, plain_run: Path) -> None:
    """System, light and dark; a choice wins and stays."""
    report = opened(plain_run, color_scheme="dark")
    page = report.go()
    ground = "getComputedStyle(document.body).backgroundColor"
    assert page.evaluate(ground) == "rgb(20, 24, 29)"
    turn_to(page, "method")
    page.select_option("#theme", "light")
    assert page.evaluate(ground) == "rgb(255, 255, 255)"
    report.go("#sage")
    assert page.evaluate(ground) == "rgb(255, 255, 255)"
    turn_to(page, "method")
    page.select_option("#theme", "")
    assert page.evaluate(ground) == "rgb(20, 24, 29)"


@pytest.fixture
def answered(use: Callable[..., Heard], make_run: MakeRun, tmp_path: Path) -> Callable[[], Any]:
    """Open a report of two runs that answer three questions: damaged copies, groups, time."""
    systems = {"birch-base-instruct": "embedding", "aster": "embedding", "wordllama": "embedding"}
    run = make_run(tasks=("clustering", "retrieval"), systems=systems)
    draws = iter(np.random.default_rng(0).normal(0, 0.02, (6, 500)))
    write_standings(
        run,
        [
            SystemStanding(
                task,
                "",
                name,
                SystemHeadlineValue(name, 0.6 - 0.02 * at, 48, 0.6 - 0.02 * at + next(draws), "bootstrap"),
            )
            for task in ("clustering", "retrieval")
            for at, name in enumerate(systems)
        ],
    )
    write_sweep_run(tmp_path / "sweep")
    report = write_report([run, tmp_path / "sweep"], out=tmp_path / "report.html")

    def make() -> Any:
        page = use().page
        page.goto(report.as_uri())
        return page

    return make


def test_the_first_screen_at_three_widths(answered: Callable[[], Any]) -> None:
    """Nothing lies over another thing or goes on sideways: strips, names, the table of all systems, of which a phone
    shows one question, chosen in a list."""
    page = answered()
    overlapping = """[...document.querySelectorAll('.answers td[data-a]')].filter(cell => [...cell.children]
      .some(row => row.children[0].getBoundingClientRect().right > row.children[1].getBoundingClientRect().left))"""
    for width in (390, 1024, 1440):
        page.set_viewport_size({"width": width, "height": 1000})
        assert page.evaluate(f"{overlapping}.length") == 0, width
        sideways = page.eval_on_selector(".frame:has(.values.places)", "box => box.scrollWidth - box.clientWidth")
        assert width == 1024 or sideways <= 0, (width, sideways)
        shown = page.locator(".places thead th:visible").count()
        asked = page.locator(".places thead th").count()
        assert shown == (2 if width == 390 else asked), width
    page.set_viewport_size({"width": 390, "height": 1000})
    second = page.locator(".places thead th").nth(2).inner_text()
    page.get_by_label("Question", exact=True).select_option(index=1)
    assert [one.strip() for one in page.locator(".places thead th:visible").all_inner_texts()][1:] == [second]
    heights = page.eval_on_selector_all(".answers td:last-child a", "all => all.map(one => one.clientHeight)")
    assert min(heights) >= 44


def test_the_first_screen_ends_with_one_line_of_notes(answered: Callable[[], Any]) -> None:
    """In the order of the design; how many notes there are and how many can change an answer is said before opening."""
    page = answered()
    order = page.eval_on_selector_all(
        "#overview :is(h1, .answers, .use, .places, details.care, .cards)",
        "all => all.map(one => one.id || one.className)",
    )
    assert order == ["overview-title", "answers", "use", "values places", "care", "cards"]
    line = page.locator("details.care summary")
    assert line.inner_text().count("\n") == 0
    link = page.locator("details.care a").text_content()
    assert re.search(r"\d+", link)[0] in line.inner_text()
    assert page.locator("details.care li").first.is_hidden()
    page.locator(".use summary").click()
    assert page.locator(".use li").count() >= 3


def test_sorting_goes_best_worst_original(opened: Open, plain_run: Path) -> None:
    """First click best first, second worst first, third back; missing last both ways; only one column marked."""
    page = opened(plain_run).go("#sage")
    header = page.locator("#retained-0 thead th button", has_text="capitals")
    original = names(page, "#retained-0")
    header.click()
    best = names(page, "#retained-0")
    assert page.locator("#retained-0 [aria-sort]").count() == 1
    assert page.locator("#retained-0 [aria-sort=descending]").count() == 1
    header.click()
    worst = names(page, "#retained-0")
    assert best[-1] == worst[-1] == "birch-base"
    assert worst[:-1] == best[:-1][::-1]
    assert "sort=retained-0" in page.url
    address = page.url
    header.click()
    assert names(page, "#retained-0") == original
    assert page.locator("#retained-0 [aria-sort]").count() == 0
    page.goto("about:blank")
    page.goto(address)
    assert names(page, "#retained-0") == worst


def test_rank_sorts_from_the_first_place(opened: Open, plain_run: Path) -> None:
    """Best first is the lowest rank; groups stay apart."""
    page = opened(plain_run).go()
    page.locator("#board thead button", has_text="Rank").click()
    assert names(page, "#board")[:3] == ["aster-large", "jaccard", "bm25"]
    page.locator("#board thead button", has_text="Rank").click()
    assert names(page, "#board") == ["bm25", "jaccard", "aster-large", "birch-base", "random", "constant"]


def test_filter_says_what_it_hides(opened: Open, make_full_run: MakeRun) -> None:
    """Everything is shown at first; the count, a near name and a way back stand beside the field."""
    run = make_full_run(
        systems={f"birch-{i}": "embedding" for i in range(10)} | {f"oak-{i}": "classical" for i in range(4)}
    )
    page = opened(run).go()
    assert len(names(page, "#board")) == 16
    page.fill("#board-filter", "oak")
    assert names(page, "#board") == ["oak-0", "oak-1", "oak-2", "oak-3"]
    assert page.locator("#overview").get_by_text("4 of 16 shown").is_visible()
    page.fill("#board-filter", "brich")
    assert page.locator("#overview").get_by_text("‘brich’. Did you mean birch-").is_visible()
    assert "filter=brich" in page.url
    page.get_by_role("button", name="Clear filter").click()
    assert len(names(page, "#board")) == 16


def test_beyond_twelve_rows_are_folded_and_open(opened: Open, make_full_run: MakeRun) -> None:
    """Twelve at first in charts, all on demand."""
    run = make_full_run(systems={f"s{i}": "embedding" for i in range(20)}, tasks=("robustness",))
    page = opened(run).go("#sage")
    assert len(names(page, "#shares-0")) == 14
    page.locator(".frame:has(#shares-0) ~ button").get_by_text("Show all 20").first.click()
    assert len(names(page, "#shares-0")) == 22


def test_any_two_systems_can_be_compared(opened: Open, plain_run: Path) -> None:
    """The forest plot takes any base and scope, in words, and its address restores it."""
    page = opened(plain_run).go("#compare")
    page.get_by_label("On", exact=True).select_option("robustness")
    page.get_by_label("Compare the others with", exact=True).select_option(label="bm25")
    assert names(page, "#forest") == ["aster-large", "birch-base", "jaccard"]
    assert "beats bm25" in page.locator("#forest tbody tr").first.inner_text()
    before = page.locator("#compare").inner_text()
    address = page.url
    page.goto("about:blank")
    page.goto(address)
    assert page.locator("#compare").inner_text() == before


def test_the_plot_of_the_script_is_that_of_the_file(opened: Open, plain_run: Path) -> None:
    """Choosing what was already shown changes no word or number."""
    page = opened(plain_run).go("#compare")
    before = page.locator("#forest tbody").inner_text()
    page.get_by_label("Compare the others with", exact=True).select_option(label="aster-large")
    page.get_by_label("On", exact=True).select_option("overall")
    assert page.locator("#forest tbody").inner_text() == before


def test_datasets_are_chosen_in_a_field(opened: Open, make_full_run: MakeRun) -> None:
    """One data set at a time; being found opens another."""
    page = opened(make_full_run(datasets=("one", "two"))).go("#sage")
    assert page.locator("#shares-0").is_visible()
    assert page.locator(".pane:has(#shares-1)").get_attribute("hidden") == "until-found"
    page.locator(".panes:has(#shares-0) select").select_option(label="two")
    assert page.locator(".pane:has(#shares-0)").get_attribute("hidden") == "until-found"
    assert page.locator(".pane:has(#shares-1)").get_attribute("hidden") is None
    assert page.locator(".pane:has(#retained-1)").get_attribute("hidden") is None
    assert page.locator(".panes:has(#retained-0) select").input_value() == "two"


def test_csv_has_full_precision_and_reasons(opened: Open, plain_run: Path) -> None:
    """A column per value, low, high and reason; null where there is none; no signs or separators."""
    page = opened(plain_run).go()
    rows = list(csv.DictReader(io.StringIO(page.evaluate("asCsv($('#board'))"))))
    by_name = {row["System"]: row for row in rows}
    assert re.fullmatch(r"0\.\d{4,10}", by_name["aster-large"]["Overall"])
    assert float(by_name["aster-large"]["Overall low"]) < float(by_name["aster-large"]["Overall"])
    assert by_name["birch-base"]["Retrieval"] == "null"
    assert by_name["birch-base"]["Retrieval reason"] == "out of memory"
    assert by_name["birch-base"]["Rank"] == "–"
    with page.expect_download() as download:
        page.locator(".frame:has(#board) + .actions").get_by_text("CSV").click()
    assert download.value.suggested_filename == "made-board.csv"


def test_latex_keeps_bold_and_groups(opened: Open, make_full_run: MakeRun) -> None:
    """The paper's table with booktabs; special characters are escaped."""
    page = opened(make_full_run(systems={"a_b&c%": "embedding", "bm25": "classical"})).go("#sage")
    latex = page.evaluate("asLatex($('#sage_table1'))")
    assert r"a\_b\&c\% & \textbf{" in latex
    assert r"\multicolumn{7}{l}{\emph{Classical metrics}} \\" in latex
    assert latex.count(r"\midrule") == 3
    assert r"\begin{tabular}{lrrrrrr}" in latex


def test_copied_text_has_intervals(opened: Open, plain_run: Path) -> None:
    """Tab-separated, values with their interval."""
    page = opened(plain_run).go()
    text = page.evaluate("asText($('#board'))")
    assert text.splitlines()[0].split("\t")[:3] == ["Rank", "System", "Overall"]
    assert "aster-large\t0.563 (0.550–0.576)\t" in text


def test_items_differ_most_first_and_open(opened: Open, plain_run: Path) -> None:
    """The list starts with the largest difference, and the first item is open."""
    page = opened(plain_run).go("#items?g=2")
    page.wait_for_selector("#item-list li")
    gaps = [abs(float(text.replace("−", "-"))) for text in page.locator("#item-list b").all_inner_texts()]
    assert gaps == sorted(gaps, reverse=True)
    assert page.locator("#item-list [aria-selected=true]").count() == 1
    assert "A single item has no interval" in page.locator("#item").inner_text()
    assert page.locator("#item ins").count() > 5


def test_keys_act_inside_the_list_only(opened: Open, plain_run: Path) -> None:
    """Arrows choose while the list has the focus; elsewhere they belong to the browser."""
    page = opened(plain_run).go("#items?g=5")
    page.wait_for_selector("#item-list li")
    chosen = "$('#item-list [aria-selected=true] .id').textContent"
    first = page.evaluate(chosen)
    page.keyboard.press("ArrowDown")
    assert page.evaluate(chosen) == first
    page.focus("#item-list")
    page.keyboard.press("ArrowDown")
    second = page.evaluate(chosen)
    assert second != first
    assert page.evaluate("document.activeElement.id") == "item-list"
    assert page.get_attribute("#item-list", "aria-activedescendant") == page.get_attribute(
        "#item-list [aria-selected=true]", "id"
    )
    page.keyboard.press("Home")
    assert page.evaluate(chosen) == first
    assert first in page.locator("#item .facts").inner_text()


def test_the_address_of_an_item_restores_it(opened: Open, plain_run: Path) -> None:
    """Group, measure, A, B and item live in the address."""
    page = opened(plain_run).go("#items?g=5")
    page.wait_for_selector("#item-list li")
    page.get_by_label("Measure", exact=True).select_option(label="nDCG@10, negated")
    page.get_by_label("A", exact=True).select_option(label="bm25")
    page.locator("#item-list li").nth(3).click()
    before, address = page.locator("#item").inner_text(), page.url
    page.goto("about:blank")
    page.goto(address)
    page.wait_for_selector("#item-list li")
    assert page.locator("#item").inner_text() == before


def test_search_and_histogram_filter_the_list(opened: Open, plain_run: Path) -> None:
    """Both say how many are shown, and can be cleared."""
    page = opened(plain_run).go("#items?g=5")
    page.wait_for_selector("#item-list li")
    page.fill("#item-search", "text 7 ")
    assert page.locator("#item-list li").count() == 1
    assert "1 of 42 shown" in page.locator("#item-count").inner_text()
    page.locator("#item-count button").click()
    assert page.locator("#item-list li").count() == 42
    page.locator(".bin:not([disabled])").first.click()
    assert page.locator("#item-list li").count() < 42
    assert page.locator(".bin[aria-pressed=true]").count() == 1


def test_every_kind_of_item_can_be_looked_at(opened: Open, plain_run: Path) -> None:
    """Comparisons, ratings, documents, sets and queries all draw without a complaint."""
    report = opened(plain_run)
    page = report.go("#items?g=0")
    page.wait_for_selector("#item h3")
    assert page.locator("#item-fields select").first.locator("option").count() == 6
    for group in range(6):
        page.evaluate("group => { location.hash = `items?g=${group}`; }", group)
        page.wait_for_function("group => now.g === group", arg=group)
        assert "All systems" in page.locator("#item").inner_text(), group
    assert report.complaints == []


def test_rankings_stand_side_by_side_with_copies_marked(opened: Open, plain_run: Path) -> None:
    """Two rankings of ten; a perturbed copy says which edit made it; the clean corpus has none."""
    page = opened(plain_run).go("#items?g=5")
    page.wait_for_selector(".ranking")
    assert page.locator(".ranking").count() == 2
    assert page.locator(".ranking li").count() == 20
    assert page.get_by_text("copy:").count() == 10
    page.get_by_label("Corpus", exact=True).select_option("0")
    assert page.get_by_text("copy:").count() == 0


def test_no_sideways_scrolling(opened: Open, make_full_run: MakeRun) -> None:
    """The page never scrolls sideways, with long names and many columns; wide tables do in their frame."""
    systems = {"st:organisation/" + "x" * 184: "embedding", "birch-base-with-a-longer-name": "embedding"}
    page = opened(make_full_run(systems=systems | {"bm25": "classical"})).go()
    for view in VIEWS:
        turn_to(page, view)
        for width in (320, 390, 860):
            page.set_viewport_size({"width": width, "height": 900})
            assert page.evaluate("document.documentElement.scrollWidth") <= width, (view, width)
    assert page.locator(".frame:not([tabindex='0'])").count() == 0


def test_on_a_phone_one_score_at_a_time(opened: Open, plain_run: Path) -> None:
    """A field chooses the score; each row shows its value, interval and mark."""
    page = opened(plain_run, width=390).go()
    assert page.locator("#board .c0").nth(2).is_visible()
    assert not page.locator("#board td.c2").first.is_visible()
    page.get_by_label("Score shown").select_option("Robustness")
    assert page.locator("#board td.c2").first.is_visible()
    assert not page.locator("#board td.lead").first.is_visible()


def test_without_a_script_everything_follows(opened: Open, plain_run: Path) -> None:
    """All views stand one after the other, the navigation jumps, no dead control is shown."""
    page = opened(plain_run, java_script_enabled=False).go()
    assert all(page.locator(f"#{view}").is_visible() for view in VIEWS)
    assert page.locator("button, select").count() == 0
    assert page.get_by_text("The explorer needs JavaScript").is_visible()


def test_print_shows_everything_in_light_on_a4(opened: Open, make_full_run: MakeRun) -> None:
    """All views and data sets, no navigation, no dark ground, every column inside the page."""
    page = opened(make_full_run(datasets=("one", "two")), width=703, color_scheme="dark").go("#items")
    page.emulate_media(media="print", color_scheme="dark")
    for view in VIEWS:
        assert page.locator(f"#{view} h1").is_visible()
        assert page.eval_on_selector(f"#{view}", "view => getComputedStyle(view).contentVisibility") == "visible"
    assert page.locator("#shares-1").is_visible()
    assert not page.locator(".top").is_visible()
    assert page.evaluate("getComputedStyle(document.body).color") == "rgb(26, 31, 38)"
    assert page.evaluate("document.documentElement.scrollWidth") <= 703


def test_the_first_key_offers_to_skip(opened: Open, plain_run: Path) -> None:
    """Tab reaches the skip link, then the navigation."""
    page = opened(plain_run).go()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to content"
    assert page.locator(".skip").bounding_box()["y"] >= 0
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Overview"


def test_controls_are_large_enough_to_hit(opened: Open, plain_run: Path) -> None:
    """Buttons, fields and navigation are at least 24 pixels high."""
    page = opened(plain_run).go()
    for view in VIEWS:
        turn_to(page, view)
        small = page.eval_on_selector_all(
            "button, select, input, summary, nav a",
            "all => all.filter(one => one.checkVisibility() "
            "&& one.getBoundingClientRect().height < 24).map(one => one.outerHTML)",
        )
        assert small == [], view


def test_no_text_is_smaller_than_13_pixels(opened: Open, plain_run: Path) -> None:
    """Captions are 13 pixels, everything else is larger."""
    page = opened(plain_run).go("#sage")
    small = page.evaluate(
        "[...document.querySelectorAll('#sage *')].filter(one => [...one.childNodes].some(node => "
        "node.nodeType === 3 && node.textContent.trim()) && parseFloat(getComputedStyle(one).fontSize) < 13)"
        ".map(one => one.outerHTML.slice(0, 80))"
    )
    assert small == []
