"""The file: self-contained, escaped, within its budgets, the same for the same run."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import re
import sys
from collections import Counter
from collections.abc import Callable
from html.parser import HTMLParser
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from embassay.report import write_report
from embassay.report.html import (
    COMPARE,
    SCRIPTS,
    STYLES,
    SWEEP,
    escape_json_for_script,
    list_report_page_definitions,
    read_minified_assets,
)
from embassay.report.runs import read_report_runs

MakeRun = Callable[..., Path]
HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(1)> & 'q' \"d\" {{ 7*7 }}"
RTL = "هذا نص عربي قصير عن البحر والسمك والملح في المطبخ."
LONG = "st:organisation/" + "x" * 184
SYSTEMS = ("aster-large", "birch-base", "jaccard", "bm25")
DEMO = {
    "wordllama": "embedding",
    "minilm": "embedding",
    "levenshtein": "classical",
    "rouge": "classical",
    "jaccard": "classical",
    "bm25": "classical",
}


class Page(HTMLParser):
    """Tags, ids and texts of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data


def page_of(run: Path) -> str:
    return write_report(run).read_text("utf-8")


def inline(page: str, tag: str) -> str:
    found = re.search(rf"<{tag}>(.*?)</{tag}>", page, re.DOTALL)
    assert found is not None
    return found.group(1)


def item_data(page: str) -> dict[str, Any]:
    """The data of the explorer."""
    found = re.search(r'id="?items-data"?>([^<]*)<', page)
    assert found is not None
    return dict(json.loads(gzip.decompress(base64.b64decode(found.group(1)))))


def test_the_policy_allows_only_its_own_style_and_script(plain_run: Path) -> None:
    """Nothing may load; the hashes are those of what stands in the file."""
    page = page_of(plain_run)
    policy = next(
        attrs["content"] for tag, attrs in Page(page).tags
        if tag == "meta" and attrs.get("http-equiv") == "Content-Security-Policy"
    )  # fmt: skip
    assert policy is not None
    assert policy.startswith("default-src 'none';")
    for tag, name in (("style", "style-src"), ("script", "script-src")):
        digest = base64.b64encode(hashlib.sha256(inline(page, tag).encode()).digest()).decode()
        assert f"{name} 'sha256-{digest}'" in policy
    assert "unsafe" not in policy


def test_nothing_points_outside(plain_run: Path) -> None:
    """No source, style sheet, import or inline handler; links stay inside the page."""
    page = page_of(plain_run)
    for tag, attrs in Page(page).tags:
        assert not {"src", "srcset", "style", "background", "action"} & set(attrs), (tag, attrs)
        assert not [name for name in attrs if name.startswith("on")]
        assert (attrs.get("href") or "#").startswith("#")
    assert "url(" not in inline(page, "style")
    assert "@import" not in inline(page, "style")
    assert not re.findall(r"https?://(?!www\.w3\.org/2000/svg)", page)


def test_the_script_never_makes_markup_of_data() -> None:
    """No innerHTML and the like, no evaluation, no network."""
    script = read_minified_assets("embassay.report", (*SCRIPTS, *COMPARE, *SWEEP))
    for word in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "XMLHttp", "import("):
        assert word not in script
    assert not re.search(r"\b(eval|fetch|Function)\(", script)


@pytest.mark.parametrize("text", [HOSTILE, RTL, "\u2028\u2029", "\U0001f600"])
def test_json_blocks_hold_no_tag(text: str) -> None:
    """What is put in comes out, and nothing in it can end the script element."""
    block = str(escape_json_for_script({"text": text}))
    assert "<" not in block
    assert json.loads(block) == {"text": text}


def test_hostile_texts_stay_texts(make_full_run: MakeRun) -> None:
    """Names, data sets, reasons and texts from data are escaped wherever they stand."""
    systems = {HOSTILE: "embedding", "bm25": "classical", LONG: "embedding", RTL: "classical"}
    run = make_full_run(
        systems=systems, texts=(HOSTILE, RTL), datasets=(HOSTILE, "two"), name=HOSTILE,
        failed=(("retrieval", "two", HOSTILE),),
    )  # fmt: skip
    page = page_of(run)
    parsed = Page(page)
    assert Counter(tag for tag, _ in parsed.tags)["script"] == 3
    assert not [tag for tag, _ in parsed.tags if tag == "img"]
    assert "alert(1)" in parsed.text
    assert "{{ 7*7 }}" in parsed.text
    assert HOSTILE in item_data(page)["texts"]


def test_ids_are_unique_and_links_lead_somewhere(plain_run: Path) -> None:
    """Every id once; every link inside the page has a target."""
    tags = Page(page_of(plain_run)).tags
    ids = Counter(attrs["id"] for _, attrs in tags if "id" in attrs)
    assert [name for name, n in ids.items() if n > 1] == []
    links = {(attrs["href"] or "").partition("?")[0] for tag, attrs in tags if tag == "a" and "href" in attrs}
    assert {link for link in links if link.removeprefix("#") not in ids} == set()


def test_each_page_has_one_heading_and_tables_have_headers(plain_run: Path) -> None:
    """One h1 per view, named by it; every header cell of a table has a scope."""
    tags = Page(page_of(plain_run)).tags
    views = [attrs for tag, attrs in tags if tag == "section" and attrs.get("class") == "view"]
    # Watched systems have a page only where their checks lie beside the runs.
    known = [one.slug for one in list_report_page_definitions(read_report_runs([plain_run])) if one.slug != "watch"]
    assert [view["id"] for view in views] == known
    headings = [attrs.get("id") for tag, attrs in tags if tag == "h1"]
    assert headings == [view["aria-labelledby"] for view in views]
    assert all(attrs.get("scope") for tag, attrs in tags if tag == "th")


def test_a_protocol_without_results_has_no_page(make_run: MakeRun) -> None:
    """No page is shown empty."""
    tasks = ("preference", "robustness", "sensitivity", "clustering", "retrieval")
    systems = ("aster-large", "birch-base", "jaccard", "bm25", "constant", "random")
    run = make_run(not_run=tuple((t, "sample", s) for t in tasks for s in systems), status="partial")
    page = page_of(run)
    assert 'href=#sage"' not in page
    assert "id=sage" not in page
    assert "id=items" not in page
    assert "Nothing finished yet" in page
    assert "0 of 30 cells" in page
    assert "embassay sage run" in page


@pytest.mark.parametrize(
    "fields",
    [
        {"systems": {"bm25": "classical"}},
        {"tasks": ("robustness",)},
        {"tasks": ("clustering",), "documents": 6},
        {"datasets": ("one", "two", "three")},
        {"failed": tuple(("preference", "sample", name) for name in SYSTEMS)},
        {"systems": {f"system-{i}": "embedding" for i in range(40)}},
    ],
)
def test_runs_of_every_shape_have_a_report(make_run: MakeRun, fields: dict[str, object]) -> None:
    """One system, one task, few items, many data sets, a task nobody finished, forty systems."""
    page = page_of(make_run(**fields))
    assert "<h1" in page
    assert "Undefined" not in page
    assert ">None<" not in page


def test_the_report_of_a_run_is_always_the_same(plain_run: Path, tmp_path: Path) -> None:
    """Two reports of one folder have the same bytes."""
    first = write_report(plain_run, out=tmp_path / "a.html").read_bytes()
    assert first == write_report(plain_run, out=tmp_path / "b.html").read_bytes()


def test_the_report_of_the_demo_is_small(make_full_run: MakeRun, root: Path) -> None:
    """Six systems and two references on the sample documents: under 320 KB, under 3,500 elements."""
    lines = (root / "src/embassay/data/sample/documents.jsonl").read_text("utf-8").splitlines()
    texts = tuple(json.loads(line)["text"] for line in lines)
    page = page_of(make_full_run(systems=DEMO, texts=texts))
    assert len(page.encode()) < 320_000
    assert len(Page(page).tags) < 3_500


@pytest.mark.slow
def test_the_work_of_writing_grows_with_the_results(make_full_run: MakeRun) -> None:
    """Twice as many more data sets, twice as many more calls of functions, and some for each result and item."""
    datasets = ("one", "two", "three", "four", "five")
    work, sizes = [], []
    for n in (2, 2, 3, 5):  # the first also loads what any report needs
        run = make_full_run(datasets=datasets[:n], tasks=("preference", "clustering"))
        work.append(calls_of(lambda run=run: write_report(run)))
        items = sum(1 for _ in (run / "items").rglob("*.parquet")) * 48
        sizes.append(len((run / "results.jsonl").read_text().splitlines()) + items)
    assert work[3] - work[2] < 2.4 * (work[2] - work[1])
    assert work[3] - work[2] < 60 * (sizes[3] - sizes[2])


def calls_of(act: Callable[[], object]) -> int:
    """How many functions of Python it calls, whatever the machine."""
    counted = count()

    def hear(frame: object, event: str, arg: object) -> None:
        if event == "call":
            next(counted)

    sys.setprofile(hear)
    try:
        act()
    finally:
        sys.setprofile(None)
    return next(counted)


def test_values_are_printed_with_their_interval_and_full_precision(plain_run: Path) -> None:
    """A cell of the board shows three decimals and holds six digits with the ends of its interval."""
    page = page_of(plain_run)
    exact = r"data-v=\.56\d+,\.5\d+,\.5\d+>"
    assert re.search(exact + r'<span class="?big"?>0\.563</span><small>0\.550–0\.576</small>', page)
    assert 'data-why="out of memory"' in page


def test_style_and_script_are_small() -> None:
    """The frame of every report: under 60 KB, uncompressed."""
    assert (
        len(read_minified_assets("embassay.report", STYLES).encode())
        + len(read_minified_assets("embassay.report", SCRIPTS).encode())
        < 60_000
    )
