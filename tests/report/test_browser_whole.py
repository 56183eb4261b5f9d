"""One report of every protocol in a real browser, with hostile names and texts: every view, in both themes, on a phone,
on paper, by keys alone."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import embassay as eb
from chromium import COLOURS, axe_findings
from embassay.protocols.hteb.options import HtebOptions
from embassay.report import write_report
from embassay.report.runs import PAGES
from page_examples import declared_protocol

from .conftest import Heard, Made, turn_to, write_run
from .hume_run import study, write_hume_run
from .pteb_run import Pteb, write_pteb
from .rag_runs import write_golden_run, write_score_run
from .sweep_run import write_sweep_run

pytestmark = pytest.mark.browser
HOSTILE = '</script><script>alert(1)</script><img src=x onerror=alert(1)> & "q" {{ 7*7 }}'
PLACES = "/*script*/ /*style*/ /*policy*/"
"""What stands in the template where script, style and policy are put in."""
SMALL: dict[str, Any] = {"queries": 6, "runs": 2, "tokenizer": "words", "resamples": 100}
VIEWS = (
    "overview", "sage", "pteb", "golden", "score", "sweep", "names", "noise", "hume", "systems", "items", "method",
)  # fmt: skip


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Eight runs, some with names and texts that would do harm."""
    folder = tmp_path_factory.mktemp("whole")
    systems = {HOSTILE: "embedding", "birch-base": "embedding", "jaccard": "classical", "bm25": "classical"}
    texts = (HOSTILE, PLACES, HOSTILE + PLACES) * 16
    runs = [
        write_run(folder / "sage", Made(systems=systems, texts=texts, name=HOSTILE + PLACES)),
        write_pteb(folder / "pteb", Pteb(systems=systems)),
        write_golden_run(folder / "golden"),
        write_score_run(folder / "score", runs=(HOSTILE, "minilm", "bm25")),
        eb.rag.probe_names(["jaccard", "bm25"], out=folder / "names", **SMALL).path,
        eb.rag.probe_noise(["jaccard"], out=folder / "noise", **SMALL).path,
        write_hume_run(folder / "hume", study(judge=HOSTILE, name=HOSTILE), name="made"),
    ]
    write_sweep_run(folder / "sweep")
    return [*runs, folder / "sweep"]


@pytest.fixture(scope="module")
def whole(runs: list[Path]) -> Path:
    """Their report."""
    return write_report(runs, out=runs[0].parent / "report.html")


def views(page: Any) -> Iterator[str]:
    """Every view in turn; the navigation has a link to each."""
    linked = set(page.eval_on_selector_all(".top nav a", "all => all.map(one => one.hash.slice(1))"))
    for place in page.eval_on_selector_all(".view", "all => all.map(one => one.id)"):
        assert place in linked
        turn_to(page, place)
        yield place


See = Callable[..., Any]


@pytest.fixture
def see(use: Callable[..., Heard], whole: Path) -> Iterator[See]:
    """Open the report; nothing may be asked for but the file, and nothing complained of."""
    heard: list[Heard] = []

    def make(**options: Any) -> Any:
        heard.append(use(**options))
        heard[-1].page.goto(whole.as_uri())
        return heard[-1].page

    yield make
    for one in heard:
        assert set(one.requests) <= {whole.as_uri(), "about:blank"}
        assert whole.as_uri() in one.requests


def test_every_view_opens_and_hostile_texts_do_nothing(see: See) -> None:
    """Nothing runs, is asked for or added; names and texts are seen as they are."""
    page = see()
    assert tuple(view for view in views(page) if view != "reading") == VIEWS
    assert page.locator("img").count() == 0
    assert page.locator("script").count() == 3
    for view in ("overview", "sage", "pteb", "score", "hume", "systems"):
        # A long name loses its organisation, up to the last slash, and its end.
        assert "<img src=x onerror=alert(1)>" in page.locator(f"#{view}").text_content(), view
    address = page.url.partition("#")[0]
    page.goto("about:blank")
    page.goto(address + "#items?g=2")
    page.wait_for_selector("#item .data")
    assert any(text in page.locator("#item .data").first.inner_text() for text in (HOSTILE, PLACES))


def test_the_audit_finds_what_is_planted(use: Callable[..., Heard]) -> None:
    """A pale text among readable ones of the same kind, and a button without a name; nothing but that."""
    pytest.importorskip("axe_playwright_python")
    page = use().page
    page.set_content(
        "<html lang=en><title>t</title><main><h1>x</h1><p>fine</p><p>fine</p><p class=a>"
        "<b style='color:#777; background:#888'>pale</b></p><button></button></main></html>"
    )
    rules = [one.partition(":")[0] for one in axe_findings(page, within="main", least="serious")]
    assert sorted(rules) == ["button-name", "color-contrast"]
    assert len(axe_findings(page, only=COLOURS)) == 1
    page.evaluate("document.querySelector('b').style.color = '#000'")
    assert axe_findings(page, only=COLOURS) == []


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious(see: See, scheme: str) -> None:
    """On every view: all rules in light, those on colours again in dark, where nothing else differs."""
    pytest.importorskip("axe_playwright_python")
    page = see(color_scheme=scheme)
    assert set(VIEWS) <= set(views(page))
    # All of them at once: axe looks through the whole document each time, whatever it is asked about.
    page.eval_on_selector_all(".view", "all => all.forEach(view => view.removeAttribute('hidden'))")
    only = COLOURS if scheme == "dark" else ()
    assert axe_findings(page, within="main", only=only, least="serious") == []


def test_no_view_scrolls_sideways(see: See) -> None:
    """On a phone; wide tables do in their own frame."""
    page = see()
    for view in views(page):
        for width in (320, 390):
            page.set_viewport_size({"width": width, "height": 900})
            assert page.evaluate("document.documentElement.scrollWidth") <= width, (view, width)


def test_it_prints(see: See, tmp_path: Path) -> None:
    """A PDF of every view in light; nothing reaches over the edge of the paper."""
    page = see(width=703, color_scheme="dark")
    page.emulate_media(media="print", color_scheme="dark")
    for view in VIEWS:
        assert page.locator(f"#{view} h1").is_visible(), view
    glued = page.eval_on_selector_all(
        "#together td.task:not([data-why])", "all => all.filter(one => !one.innerText.includes('\\n')).length"
    )
    assert glued == 0, "a value and its interval stand on lines of their own"
    assert page.evaluate("getComputedStyle(document.body).color") == "rgb(26, 31, 38)"
    cut = page.eval_on_selector_all(
        ".view :is(td, th, p, h1, h2, h3, li, dd, pre, code, svg, u)",
        "all => all.filter(one => one.checkVisibility() && !one.closest('svg svg') "
        "&& one.getBoundingClientRect().right > 704).map(one => one.outerHTML.slice(0, 120))",
    )
    assert cut == []
    paper = page.pdf(path=tmp_path / "report.pdf", prefer_css_page_size=True)
    assert paper.startswith(b"%PDF")
    assert paper.count(b"/Type /Page\n") >= len(VIEWS)


def test_a_summary_prints_on_two_pages_at_most(runs: list[Path], use: Callable[..., Heard], tmp_path: Path) -> None:
    """Of eight runs with hostile names, of one, and of a study; one page of a run without an answer. Nothing is cut
    off, fetched or seriously hard to read, and what makes an answer sure is printed too."""
    pytest.importorskip("axe_playwright_python")
    for folders, pages in ((runs, 2), (runs[:1], 2), (runs[2:3], 1), (runs[6:7], 2)):
        file = write_report(folders, out=tmp_path / "summary.html", summary=True)
        heard = use(width=703)
        heard.page.goto(file.as_uri())
        assert axe_findings(heard.page, within="main", least="serious") == []
        heard.page.emulate_media(media="print", color_scheme="dark")
        assert heard.page.evaluate("document.documentElement.scrollWidth") <= 703
        heard.page.set_viewport_size({"width": 390, "height": 900})
        heard.page.emulate_media(media="screen", color_scheme="dark")
        assert heard.page.evaluate("document.documentElement.scrollWidth") <= 390
        heard.page.emulate_media(media="print", color_scheme="dark")
        said = heard.page.locator(".answers tbody td:last-child")
        assert all(said.nth(at).is_visible() for at in range(said.count()))
        paper = heard.page.pdf(prefer_css_page_size=True)
        assert paper.count(b"/Type /Page\n") == pages, folders
        assert set(heard.requests) <= {file.as_uri(), "about:blank"}


def test_it_can_be_used_by_keys_alone(see: See) -> None:
    """Skip link, navigation, sorting, filters, list and buttons of the explorer; the focus is always seen."""
    page = see()
    focused = "document.activeElement.textContent.trim()"

    def tab_to(text: str) -> None:
        for _ in range(120):
            page.keyboard.press("Tab")
            if page.evaluate(focused) == text:
                style = "getComputedStyle(document.activeElement)"
                assert page.evaluate(f"{style}.outlineStyle") != "none", text
                return
        raise AssertionError(f"{text} cannot be reached")

    tab_to("Skip to content")
    page.keyboard.press("Enter")
    tab_to("SAGE, overall")
    page.keyboard.press("Enter")
    assert page.locator("#together [aria-sort=descending]").count() == 1
    assert page.evaluate(focused) == "SAGE, overall"
    page.reload()
    tab_to("Items")
    page.keyboard.press("Enter")
    page.wait_for_selector("#item-list li")
    first = page.locator("#item h2 bdi").inner_text()
    tab_to("next")
    page.keyboard.press("Enter")
    second = page.locator("#item h2 bdi").inner_text()
    assert second != first
    assert page.evaluate(focused) == "next"
    page.focus("#item-list")
    page.keyboard.press("ArrowUp")
    assert page.locator("#item h2 bdi").inner_text() == first


def test_next_and_previous_follow_the_list(see: See) -> None:
    """They end where the list ends; the address and the list go along."""
    page = see()
    page.evaluate("() => { location.hash = 'items?g=5'; }")
    page.wait_for_selector("#item-list li")
    ids = page.locator("#item-list .id").all_text_contents()  # also of rows that are not painted yet
    shown = "$('#item h2 bdi').textContent"
    assert page.locator("#turn-1").is_disabled()
    for name in ids[1:]:
        page.click("#turn1")
        assert page.evaluate(shown) == name
        assert f"i={name}" in page.url
    assert page.locator("#turn1").is_disabled()
    assert page.locator("#item-list [aria-selected=true] .id").inner_text() == ids[-1]
    page.click("#turn-1")
    assert page.evaluate(shown) == ids[-2]


def test_an_item_is_copied_with_all_values(see: See) -> None:
    """As JSON: the run, the item, and every system's value of every measure."""
    page = see()
    page.evaluate("() => { location.hash = 'items?g=5'; }")
    page.wait_for_selector("#item-list li")
    copied = json.loads(page.evaluate("asJson(group().ids.indexOf(now.i))"))
    assert copied["item"] == page.locator("#item-list [aria-selected=true] .id").inner_text()
    assert len(copied["values"]) == page.evaluate("group().systems.length")
    measures = page.evaluate("group().measures.map((one) => one.title)")
    assert all(list(values) == measures for values in copied["values"].values())


def test_what_stood_before_the_first_relevant_document(see: See) -> None:
    """Each ranking says it, and the documents before it are marked."""
    page = see()
    page.evaluate("() => { location.hash = 'items?g=5'; }")
    page.wait_for_selector("#item .ranking")
    for i in range(page.locator("#item .ranking").count()):
        said = page.locator("#item section .how").nth(i).inner_text()
        lines = page.locator("#item .ranking").nth(i).locator("li")
        grades = [lines.nth(place).locator(".good").count() for place in range(lines.count())]
        before = grades.index(1) if 1 in grades else 0
        assert page.locator("#item .ranking").nth(i).locator(".before-gold").count() == before
        words = "Before the first" if before else "is first" if 1 in grades else "No relevant document"
        assert words in said


def test_paraphrases_are_marked_word_by_word(see: See) -> None:
    """What is marked is not in the original, what is not marked is."""
    page = see()
    group = page.evaluate(
        "unpack().then((data) => data.groups.findIndex((one) => one.kind === 'reworded' && one.runs.length))"
    )
    page.evaluate("(g) => { location.hash = 'items?g=' + g; }", group)
    page.wait_for_selector(".reworded ins")
    # In one look: the item may still change while its page is being built.
    original, added, plain = page.evaluate(
        """() => {
            const [first, second] = document.querySelectorAll(".reworded tr"), cell = second.querySelector("td p");
            const bare = [...cell.childNodes].filter((one) => one.nodeType === 3).map((one) => one.textContent);
            const inserted = [...cell.querySelectorAll("ins")].map((one) => one.textContent);
            return [first.querySelector("td").innerText, inserted, bare.join(" ")];
        }"""
    )
    assert added
    assert set(plain.split()) <= set(original.split())


def test_items_of_scored_runs_and_probes_can_be_looked_at(see: See) -> None:
    """Every measure of A and B, and all systems on a line."""
    page = see()
    groups = page.evaluate(
        "unpack().then((data) => data.groups.map((one, i) => [i, one.kind, one.title, one.measures.length]))"
    )
    found = [(i, title, n) for i, kind, title, n in groups if kind == "values"]
    assert len(found) >= 3
    for i, title, measures in found:
        page.evaluate("(g) => { location.hash = 'items?g=' + g; }", i)
        page.locator("#item h2", has_text=title).wait_for()
        assert page.locator("#item .version").count() == measures
        assert "All systems" in page.locator("#item").inner_text()


@pytest.fixture(scope="module")
def shout() -> Iterator[Any]:
    """The protocol of docs/extending.md, its page declared for as long."""
    module = sys.modules["shout_of_the_docs"] = ModuleType("shout_of_the_docs")
    exec(declared_protocol(), module.__dict__)
    yield module.Shout()
    del PAGES._entries["shout"], sys.modules["shout_of_the_docs"]


@pytest.fixture(scope="module")
def later(tmp_path_factory: pytest.TempPathFactory, shout: Any) -> Path:
    """A report of what came after the first eight: HTEB, a calibration, a choice without labels, and a protocol of
    another package."""
    folder = tmp_path_factory.mktemp("later")
    few = {"tokenizer": "words", "limit": 14}
    alike = HtebOptions(languages="reference")
    hteb = eb.hteb.run(["jaccard", "levenshtein"], tasks=["sts"], runs=1, options=alike, out=folder / "hteb", **few)
    meant = eb.calibrate(["jaccard"], out=folder / "calibration", tokenizer="words")
    texts = [{"id": f"d{n}", "text": f"The boat of ward {n} carries {n * 7} crates of salt."} for n in range(40)]
    chosen = eb.choose(["jaccard", "bm25"], texts, out=folder / "choice", tokenizer="words")
    loud = shout.run(["jaccard", "levenshtein"], out=folder / "shout", **few)
    return write_report([hteb.path, meant.path, chosen.path, loud.path], out=folder / "report.html")


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_later_pages_are_as_good(later: Path, use: Callable[..., Heard], scheme: str) -> None:
    """No serious finding, no complaint, no request, no sideways scrolling on a phone."""
    pytest.importorskip("axe_playwright_python")
    heard = use(color_scheme=scheme)
    heard.page.goto(later.as_uri())
    assert {"hteb", "calibration", "choose", "shout"} <= set(views(heard.page))
    assert heard.page.locator("#shout-missed").count() == 1
    heard.page.set_viewport_size({"width": 390, "height": 800})
    for place in views(heard.page):
        assert heard.page.evaluate("document.documentElement.scrollWidth") <= 390, place
    heard.page.eval_on_selector_all(".view", "all => all.forEach(view => view.removeAttribute('hidden'))")
    only = COLOURS if scheme == "dark" else ()
    assert axe_findings(heard.page, within="main", only=only, least="serious") == []
    assert set(heard.requests) <= {later.as_uri(), "about:blank"}


def test_what_goes_on_sideways_says_so(see: See) -> None:
    """On a phone tables and tabs that scroll fade at the end where they go on, and no longer once they are there."""
    page = see(width=390)
    sideways = "one => one.checkVisibility() && one.scrollWidth - one.clientWidth > 2"
    marked = "all => all.filter(%s).map(one => [one.scrollLeft, one.classList.contains('goes-on'), one.className])"
    for view in ("overview", "sage", "hume", "sweep"):
        turn_to(page, view)
        page.wait_for_timeout(100)
        found = page.eval_on_selector_all(f"#{view} .frame, .top nav", marked % sideways)
        assert found, view
        ends = page.eval_on_selector_all(
            f"#{view} .frame, .top nav",
            f"all => all.filter({sideways}).map(one => one.scrollLeft + one.clientWidth < one.scrollWidth - 2)",
        )
        assert [one[1] for one in found] == ends, (view, found)
    frame = page.locator("#sweep .frame.goes-on:visible").first
    frame.evaluate("one => { one.scrollLeft = one.scrollWidth; }")
    page.wait_for_timeout(200)
    assert frame.page.locator("#sweep .frame.goes-back:not(.goes-on)").count() == 1


def test_signs_and_strips_are_there_on_a_phone(see: See) -> None:
    """The sign of every system keeps its size, and every card shows where its system stands among the others."""
    page = see(width=390)
    turn_to(page, "systems")
    strips = page.eval_on_selector_all(
        "#systems .standing .iv", "all => all.map(one => one.getBoundingClientRect().width)"
    )
    assert strips
    assert min(strips) > 150
    rows = page.eval_on_selector_all(
        "#systems .standing th", "all => all.map(one => one.getBoundingClientRect().height)"
    )
    assert max(rows) < 60  # a run's title had a letter to a line
    turn_to(page, "items?g=2")
    signs = page.eval_on_selector_all("#item .line i", "all => all.map(one => one.getBoundingClientRect().width)")
    assert signs
    assert min(signs) >= 10


@pytest.mark.parametrize("width", [390, 1024, 1440])
def test_a_measure_stays_in_one_line_of_its_heading(see: See, width: int) -> None:
    """RA-nWG@5 had been broken at its hyphen."""
    page = see(width=width)
    lines = """all => all.map(one => {
        const text = document.createTreeWalker(one, NodeFilter.SHOW_TEXT).nextNode();
        const range = document.createRange();
        range.selectNodeContents(text);
        return [one.textContent, new Set([...range.getClientRects()].map(box => box.top)).size];
    })"""
    found = page.eval_on_selector_all("#overview thead .whole", lines)
    assert found
    assert {count for _, count in found} == {1}, found


def test_numbers_stand_under_their_headings(see: See) -> None:
    """Every cell of figures is on the right of its column, whatever else a table is."""
    page = see()
    for view in views(page):
        left = page.eval_on_selector_all(
            f"#{view} td.num",
            "all => all.filter(one => one.checkVisibility() && getComputedStyle(one).textAlign !== 'right')"
            ".map(one => one.closest('table').className)",
        )
        assert left == [], view


LONG = {f"st:organisation/a-model-of-which-the-name-is-long-{i}": "embedding" for i in range(3)}


def test_long_names_can_be_told_apart(use: Callable[..., Heard], tmp_path: Path) -> None:
    """Names that begin alike are shown to their end in every table, and stay inside."""
    made = write_run(tmp_path / "sage", Made(systems={**LONG, "bm25": "classical"}))
    file = write_report([made, write_score_run(tmp_path / "score", runs=(*LONG, "bm25"))], out=tmp_path / "long.html")
    for width in (1232, 390):
        page = use(width=width).page
        page.goto(file.as_uri())
        for view in ("overview", "sage", "score"):
            turn_to(page, view)
            cut = page.eval_on_selector_all(
                f"#{view} tbody th, #{view} .answers span",
                """all => all.filter(one => one.checkVisibility() && one.textContent.includes('name-is-long'))
                .filter(one => one.scrollWidth > one.clientWidth + 1 && one.clientWidth)
                .map(one => one.closest('table').className + one.textContent)""",
            )
            assert cut == [], (view, width)
            assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_short_names_are_whole_on_paper(see: See) -> None:
    """No name of a system is broken inside a word, or from the sign of its kind."""
    page = see(width=703)
    page.emulate_media(media="print")
    broken = page.eval_on_selector_all(
        ".view tbody th",
        """all => all.filter(one => one.checkVisibility() && /^[\\w+-]{1,12}$/.test(one.textContent.trim()))
        .filter(one => {
          const range = document.createRange(), texts = document.createTreeWalker(one, NodeFilter.SHOW_TEXT);
          range.selectNodeContents(texts.nextNode());
          return new Set([...range.getClientRects()].map(box => Math.round(box.top))).size > 1;
        }).map(one => one.textContent.trim() + ' ' + one.closest('table').className)""",
    )
    assert broken == []
