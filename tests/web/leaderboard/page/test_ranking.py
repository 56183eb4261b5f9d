"""The table in a real browser: sort, filters, columns, and an address for each view."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from .conftest import columns, names, settled, wait_until
from .made_board import Made
from .serving import Served

pytestmark = [pytest.mark.browser, pytest.mark.slow]
Visit = Callable[..., Any]


def choose(page: Any, label: str, words: str) -> None:
    """Choose in a field by its label."""
    page.get_by_label(label, exact=True).select_option(label=words)


def test_the_page_reads_the_same_with_and_without_scripts(served: Served, visit: Visit) -> None:
    """Every number, name and state of the server's table is there again when the page has come alive."""
    text = """() => [...document.querySelectorAll('#board tbody tr')].map(
      row => [...row.cells].map(cell => cell.textContent.replace(/\\s+/g, ' ').trim()).join(' | '))"""
    plain = visit(served.board_url, alive=False, java_script_enabled=False)
    live = visit(served.board_url)
    assert plain.evaluate(text) == live.evaluate(text)
    marks = "all => all.map(mark => mark.className)"
    drawn = plain.eval_on_selector_all("#board tbody u", marks)
    assert sum(" rk " in one for one in drawn) == len(served.made.names) - 3
    assert sum(" t" in one for one in drawn) > 70
    assert live.eval_on_selector_all("#board tbody u", marks) == drawn
    assert plain.locator("nav a:visible").all_inner_texts() == ["Ranking", "Data", "Boards (3)"]
    assert plain.locator("noscript a").count() == 3


def test_headers_sort_best_first_then_worst_then_by_rank(served: Served, visit: Visit) -> None:
    """What is missing is last both ways; only the sorted header says that it is."""
    page = visit(served.board_url)
    ranked = names(page)
    button = page.get_by_role("button", name="Retrieval")
    values = "rows => rows.map(row => row.querySelector('.task:last-child').firstChild.textContent)"
    for way, sign in (("descending", -1), ("ascending", 1)):
        button.click()
        assert page.locator("#board [aria-sort]").count() == 1
        assert page.locator("#board [aria-sort]").get_attribute("aria-sort") == way
        found = [float(one) for one in page.eval_on_selector_all("#board tbody:first-of-type tr[data-name]", values)]
        assert found == sorted(found, key=lambda value: sign * value)
        assert len(set(found)) > 5
        assert names(page)[-3:] == ranked[-3:]
    button.click()
    assert names(page) == ranked
    assert page.locator("#board [aria-sort]").inner_text().startswith("Rank")


def test_rank_and_name_sort_too(served: Served, visit: Visit) -> None:
    """A click on Rank turns the order, another one turns it back; names go from A to Z."""
    page = visit(served.board_url)
    ranked = names(page)[:-3]
    page.get_by_role("button", name="Rank").click()
    assert names(page)[:-3] == ranked[::-1]
    page.get_by_role("button", name="Rank").click()
    assert names(page)[:-3] == ranked
    page.get_by_role("button", name="System", exact=True).click()
    shown = page.locator("#board tbody:first-of-type .system a").all_inner_texts()
    assert shown == sorted(shown, key=str.lower)


def test_finding_a_system(served: Served, visit: Visit) -> None:
    """What is hidden is counted, a mistyped name is answered with the nearest one, and one press shows all again."""
    page = visit(served.board_url)
    everyone = names(page)
    find = page.get_by_label("Find a system")
    find.fill("birch")
    assert names(page) == [name for name in everyone if "birch" in name]
    assert page.locator("#shown").inner_text().startswith("1 of 14 systems shown.")
    find.fill("brich")
    assert names(page) == []
    assert "No system matches ‘brich’. Did you mean birch-large? Clear filters" in page.locator("#shown").inner_text()
    page.get_by_role("button", name="birch-large").click()
    assert names(page) == ["birch-large"]
    page.get_by_role("button", name="Clear filters").click()
    assert names(page) == everyone
    assert find.input_value() == ""
    find.fill("qqqqqqqqqq")
    assert "Did you mean" not in page.locator("#shown").inner_text()


def test_filters_by_kind(served: Served, visit: Visit) -> None:
    """All kinds are shown at first; a pressed one is taken away, with its count."""
    page = visit(served.board_url)
    page.get_by_role("button", name="embedding").click()
    assert names(page) == [name for name in names(page) if name in ("bm25", "jaccard", "random")]
    assert "3 of 14" in page.locator("#shown").inner_text()
    page.get_by_role("button", name="embedding").click()
    assert len(names(page)) == 14


def test_filters_by_significance(served: Served, visit: Visit) -> None:
    """All that may be first; and all that no test tells apart from one of them."""
    page = visit(served.board_url)
    board = served.made.board
    choose(page, "Show", "Systems that may be first on Overall")
    firsts = [one.name for one in board.systems if (board.ranks["overall"][one.index] or (9, 9))[0] == 1]
    assert names(page) == firsts
    assert 0 < len(firsts) < 11
    other = board.systems[4]
    choose(page, "Show", other.label)
    alike = board.alike["overall"][4] or ()
    assert set(names(page)) == {other.name, *(board.systems[i].name for i in alike)}
    assert 0 < len(alike) < 10


def test_significance_on_another_score_is_fetched(served: Served, visit: Visit) -> None:
    """The groups of a task's own tests come from the server when they are asked for."""
    page = visit(served.board_url)
    choose(page, "Score", "Clustering")
    part = served.made.part(("clustering",))
    order = sorted(
        (i for i, ranks in enumerate(part.ranks["clustering"]) if ranks),
        key=lambda i: -(part.cells["clustering"][i].value or 0.0),
    )
    assert names(page)[: len(order)] == [served.made.names[i] for i in order]
    choose(page, "Show", served.made.board.systems[5].label)
    expected = {served.made.names[i] for i in (5, *(part.alike["clustering"][5] or ()))}
    wait_until(page, f"document.querySelectorAll('#board tr[data-name]').length === {len(expected)}")
    assert set(names(page)) == expected


def test_a_task_shows_its_own_ranking_and_datasets(served: Served, visit: Visit) -> None:
    """Its score leads, its datasets are the columns, values come from the server; languages narrow them."""
    page = visit(served.board_url)
    choose(page, "Task", "Retrieval")
    assert columns(page) == ["Retrieval", "Retrieval · data1", "Retrieval · data2", "Retrieval · data3"]
    wait_until(page, "!document.querySelector('#board').textContent.includes('…')")
    own = {row: served.made.values["retrieval/data2"][i].value for i, row in enumerate(served.made.names)}
    cell = page.locator(f'#board tr[data-name="{names(page)[0]}"] .task').nth(1)
    assert cell.evaluate("cell => cell.firstChild.textContent") == f"{own[names(page)[0]]:.3f}"
    choose(page, "Language", "German (de)")
    assert columns(page) == ["Retrieval", "Retrieval · data2"]
    choose(page, "Task", "All tasks")
    tasks = ("Preference", "Robustness", "Sensitivity", "Clustering", "Retrieval")
    assert columns(page) == ["Overall", *(f"{task} · data2" for task in tasks)]
    page.get_by_role("button", name="Back to all tasks").click()
    assert columns(page)[1] == "Preference"


def test_columns_can_be_chosen(served: Served, visit: Visit) -> None:
    """Scores and facts; intervals as numbers; and the way back."""
    page = visit(served.board_url)
    page.locator("summary", has_text="Columns").click()
    page.get_by_role("checkbox", name="Robustness").uncheck()
    page.get_by_role("checkbox", name="Dimensions").check()
    page.get_by_role("checkbox", name="First in resamples").check()
    assert "Robustness" not in columns(page)
    assert columns(page)[-2:] == ["First in resamples", "Dimensions"]
    page.locator("summary", has_text="Columns").click()  # the list may lie over the heads
    page.get_by_role("button", name="Dimensions").click()
    dims = page.eval_on_selector_all(
        "#board tbody:first-of-type tr[data-name] .fact:last-child", "all => all.map(one => one.textContent)"
    )
    assert [one for one in dims if one != "–"] == sorted(
        (one for one in dims if one != "–"), key=lambda one: int(one.replace(",", ""))
    )
    assert dims[-2:] == ["–", "–"]
    page.locator("summary", has_text="Columns").click()
    page.get_by_role("checkbox", name="Intervals as numbers").check()
    assert page.locator("#board .ci").first.is_visible()
    assert not page.locator("#board .task .iv").first.is_visible()
    page.get_by_role("button", name="Reset columns").click()
    assert len(columns(page)) == 6


def test_the_address_holds_what_is_shown(served: Served, visit: Visit) -> None:
    """A link shows the same again, in another browser and after a reload."""
    page = visit(served.board_url)
    choose(page, "Task", "Clustering")
    page.get_by_label("Find a system").fill("large")
    page.get_by_role("button", name="System", exact=True).click()
    wait_until(page, "!document.querySelector('#board').textContent.includes('…')")
    again = visit(page.url)
    wait_until(again, "!document.querySelector('#board').textContent.includes('…')")
    text = "document.querySelector('#board').innerText + document.querySelector('#shown').innerText"
    assert again.evaluate(text) == page.evaluate(text)
    assert again.get_by_label("Find a system").input_value() == "large"
    page.get_by_role("link", name="Compare").first.click()
    page.go_back()
    assert names(page) == names(again)


@pytest.mark.parametrize(
    "place",
    [
        "#ranking?sort=nonsense&way=up&task=none&lang=xx&score=no&from=nobody&kind=x&col=zz",
        "#nowhere?a=%ff",
        "#?&&=",
        "#pareto?x=1&score=2",
    ],
)
def test_a_broken_address_shows_a_page(served: Served, visit: Visit, place: str) -> None:
    """What nobody could have chosen is passed over."""
    page = visit(served.board_url + place, alive=False)
    wait_until(page, "document.querySelector('h1').textContent.length > 0")
    settled(page)
    assert page.locator("h1:visible").count() == 1


def test_it_works_below_a_prefix(serve: Callable[..., Served], visit: Visit) -> None:
    """Behind a proxy's path every address of the page leads there again."""
    server = serve(Made(), prefix="/team/boards")
    page = visit(server.url)
    page.locator("#board .system a").first.click()
    assert page.locator("h1").inner_text() == server.made.board.systems[0].label
    page.get_by_role("link", name="Ranking").click()
    page.wait_for_selector("[data-alive]", state="attached")
    assert all(path.startswith("/team/boards/") for path, *_ in server.asked)


def test_downloads_and_copies(served: Served, visit: Visit) -> None:
    """The whole board as three files; the table shown as text with intervals; a link."""
    page = visit(served.board_url, permissions=["clipboard-read", "clipboard-write"])
    page.locator("summary", has_text="Download").click()
    with page.expect_download() as started:
        page.get_by_role("link", name="CSV").click()
    assert started.value.suggested_filename == f"{served.made.board.id}.csv"
    assert [one.get_attribute("href").rpartition(".")[2] for one in page.locator("#bar a").all()] == [
        "csv",
        "tex",
        "json",
    ]
    page.get_by_label("Find a system").fill("birch")
    page.locator("summary", has_text="Copy").click()
    page.get_by_role("button", name="This table").click()
    wait_until(page, "document.querySelector('#said').textContent === 'Table copied'")
    head, row = page.evaluate("navigator.clipboard.readText()").strip().split("\n")
    assert head.split("\t")[:3] == ["Rank", "System", "Overall"]
    cells = row.split("\t")
    index = served.made.names.index("birch-large")
    value, low, high, *_ = served.made.values["overall"][index]
    assert cells[1:3] == ["birch-large", f"{value:.3f} ({low:.3f}–{high:.3f})"]


def test_by_keyboard_alone(served: Served, visit: Visit) -> None:
    """Tab reaches every field and header, the ring is seen, Escape closes what is open, focus stays through a sort."""
    page = visit(served.board_url, height=600)
    seen, hidden = [], []
    for _ in range(36):
        page.keyboard.press("Tab")
        found = page.evaluate("""() => {
          const e = document.activeElement, box = e.getBoundingClientRect();
          const at = document.elementFromPoint(box.left + box.width / 2, box.top + Math.min(box.height / 2, 20));
          const ring = getComputedStyle(e).outlineStyle !== 'none';
          return [e.dataset.key || e.textContent.trim(), Boolean((e.contains(at) || at?.contains(e)) && ring)];
        }""")
        seen.append(found[0])
        if not found[1]:
            hidden.append(found[0])
    assert hidden == []
    wanted = {
        "find",
        "score",
        "task",
        "lang",
        "sure",
        "kind embedding",
        "open columns",
        "open downloads",
        "open copies",
        "sort rank",
        "sort retrieval",
    }
    assert wanted <= set(seen)
    page.locator("[data-key='open columns']").focus()
    page.keyboard.press("Enter")
    assert page.get_by_role("checkbox", name="Dimensions").is_visible()
    page.keyboard.press("Tab")
    page.keyboard.press("Escape")
    assert not page.get_by_role("checkbox", name="Dimensions").is_visible()
    assert page.evaluate("document.activeElement.dataset.key") == "open columns"
    page.locator("[data-key='sort retrieval']").focus()
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.dataset.key") == "sort retrieval"
    assert page.locator("[aria-sort=descending]").inner_text().startswith("Retrieval")
