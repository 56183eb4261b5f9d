"""One report of several runs: numbering, order, budgets, and that a single run's report stays what it was."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path

import pytest

from embassay.errors import DataError
from embassay.report import write_report
from embassay.report.items import make_items_page
from embassay.report.notes import gather_run_notes
from embassay.report.runs import list_board_rows, list_report_systems_with_labels, read_report_runs

MakeRun = Callable[..., Path]
HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(1)> & 'q' \"d\" {{ 7*7 }}"


class Tags(HTMLParser):
    """Tags with their attributes, and the text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.fixture
def both(plain_run: Path, pteb_run: Path, tmp_path: Path) -> str:
    """The report of a SAGE and a PTEB run."""
    return write_report([pteb_run, plain_run], out=tmp_path / "report.html").read_text("utf-8")


def test_pages_come_in_their_order_whatever_the_order_of_the_folders(both: str) -> None:
    """Overview, SAGE, PTEB, then what is of all runs; each named by its one heading."""
    tags = Tags(both).tags
    views = [attrs for tag, attrs in tags if tag == "section" and attrs.get("class") == "view"]
    assert [view["id"] for view in views] == ["overview", "sage", "pteb", "systems", "items", "reading", "method"]
    assert [attrs.get("id") for tag, attrs in tags if tag == "h1"] == [view["aria-labelledby"] for view in views]


def test_ids_are_unique_and_links_lead_somewhere(both: str) -> None:
    """Parts that every run has are told apart by their run."""
    tags = Tags(both).tags
    ids = Counter(attrs["id"] for _, attrs in tags if "id" in attrs)
    assert [name for name, n in ids.items() if n > 1] == []
    links = {(attrs["href"] or "").partition("?")[0] for tag, attrs in tags if tag == "a" and "href" in attrs}
    assert {link for link in links if link.removeprefix("#") not in ids} == set()
    assert {"method-notes", "method-notes-pteb"} <= set(ids)


def test_a_system_has_one_number_in_all_runs(make_run: MakeRun, make_pteb: MakeRun) -> None:
    """Systems that both runs have are numbered once; each has one card."""
    sage = make_run(systems={"bm25": "classical", "aster-large": "embedding"})
    pteb = make_pteb(systems={"aster-large": "embedding", "only-here": "embedding"}, items=False)
    runs = read_report_runs([pteb, sage])
    index = [{one.name: one.index for one in run.record.systems} for run in runs]
    assert index[0]["aster-large"] == index[1]["aster-large"]
    assert [one.name for one, _ in list_report_systems_with_labels(runs)] == [
        "bm25",
        "aster-large",
        "constant",
        "random",
        "only-here",
    ]
    assert sorted(row.system.index for row in list_board_rows(runs)) == [0, 1, 2, 3, 4]


def test_scopes_of_all_runs_can_be_compared(both: str) -> None:
    """The comparison offers those of the second run under its name, in its unit."""
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', both)
    assert found is not None
    data = json.loads(found[1])
    assert {"SAGE: Overall", "PTEB: Overall", "PTEB: Overall, classical metrics"} <= {
        one["title"] for one in data["scopes"]
    }
    units = {one["title"]: (one["factor"], one["digits"]) for one in data["scopes"]}
    assert (units["SAGE: Overall"], units["PTEB: Overall"]) == ((1.0, 3), (100.0, 2))
    assert len({one["name"] for one in data["scopes"]}) == len(data["scopes"])


def test_each_run_has_a_card_with_its_own_verdict(both: str) -> None:
    """What each run says, in one sentence, with the way to its page."""
    cards = re.findall(r"<article class=card>(.*?)</article>", both, re.DOTALL)
    assert [re.findall(r"href=#(\w+)", card)[-1] for card in cards[:2]] == ["sage", "pteb"]
    assert "Every system loses points" in cards[1]


def test_notes_name_their_run_and_the_gravest_come_first(plain_run: Path, pteb_run: Path) -> None:
    """Failed cells of one run stand before small samples of another."""
    notes = gather_run_notes(read_report_runs([plain_run, pteb_run]))
    assert notes[0].kind == "failed"
    assert {note.what.partition(":")[0] for note in notes} == {"SAGE", "PTEB"}


def test_runs_of_one_kind_have_pages_of_their_own(tmp_path: Path, make_run: MakeRun, pteb_run: Path) -> None:
    """Each page has the name of its folder; ids are unique, links lead somewhere, systems are shared."""
    make_run(name="news").rename(tmp_path / "sage-news")
    systems = {"aster-large": "embedding", "only-here": "embedding"}
    make_run(name="law", systems=systems, datasets=("law",)).rename(tmp_path / "sage-law")
    page = write_report([tmp_path, pteb_run], out=tmp_path / "report.html").read_text("utf-8")
    tags = Tags(page).tags
    views = [attrs["id"] for tag, attrs in tags if tag == "section" and attrs.get("class") == "view"]
    assert views[:4] == ["overview", "sage", "sage-2", "pteb"]
    assert re.findall(r"<a href=#sage(?:-2)?>([^<]+)</a>\n", page)[:2] == ["SAGE law", "SAGE news"]
    ids = Counter(attrs["id"] for _, attrs in tags if "id" in attrs)
    assert [name for name, n in ids.items() if n > 1] == []
    links = {(attrs["href"] or "").partition("?")[0] for tag, attrs in tags if tag == "a" and "href" in attrs}
    assert {link for link in links if link.removeprefix("#") not in ids} == set()
    named = {attrs["aria-labelledby"] for _, attrs in tags if "aria-labelledby" in attrs}
    assert named <= set(ids)
    cards = [attrs for _, attrs in tags if (attrs.get("id") or "").startswith("system-")]
    assert len(cards) == len({attrs["id"] for attrs in cards})


def test_the_same_run_twice_is_there_once(plain_run: Path, pteb_run: Path, tmp_path: Path) -> None:
    """The same folder under two names is one run; a copy is left out, and told of."""
    import shutil

    link = tmp_path / "link"
    link.symlink_to(plain_run)
    assert [run.title for run in read_report_runs([plain_run, link, plain_run.parent / "." / plain_run.name])] == [
        "SAGE"
    ]
    copy = shutil.copytree(plain_run, tmp_path / "zz-copy")
    told: list[str] = []
    page = write_report([plain_run, copy], out=tmp_path / "out.html", tell=told.append).read_text("utf-8")
    assert len(told) == 1
    assert "zz-copy" in told[0]
    assert "has the same results as" in told[0]
    assert "zz-copy is left out" in page


def test_a_folder_of_runs_is_all_of_them(plain_run: Path, pteb_run: Path, tmp_path: Path) -> None:
    """Runs are found at any depth, not inside runs nor in hidden folders; what is damaged is left out and told of."""
    import shutil

    shutil.copytree(plain_run, tmp_path / "all" / "may" / "first")
    shutil.copytree(plain_run, tmp_path / "all" / ".kept" / "hidden")
    inner = shutil.copytree(pteb_run, tmp_path / "all" / "june" / "deep" / "second")
    shutil.copytree(plain_run, inner / "texts" / "inside")
    damaged = shutil.copytree(pteb_run, tmp_path / "all" / "broken")
    (damaged / "manifest.json").write_text("{")
    other = tmp_path / "all" / "paraphrases"
    other.mkdir()
    (other / "manifest.json").write_text('{"format": "embassay-paraphrases", "version": 1, "sources": []}')
    told: list[str] = []
    page = write_report(tmp_path / "all", tell=told.append)
    assert page == tmp_path / "all" / "report.html"
    runs = read_report_runs([tmp_path / "all"])
    assert [run.title for run in runs] == ["SAGE", "PTEB"]
    assert [one.path.name for one in runs[0].left] == ["broken"]
    assert told == [f"Left out: {damaged} (the manifest cannot be read)."]
    assert "broken is left out: the manifest cannot be read" in page.read_text("utf-8")


def test_folders_without_a_run_are_errors(plain_run: Path, tmp_path: Path) -> None:
    """An empty folder, a missing one, and a damaged run that was named or that stands alone."""
    with pytest.raises(DataError, match="there is no run here"):
        read_report_runs([plain_run, tmp_path])
    with pytest.raises(DataError, match="there is no run here"):
        read_report_runs([tmp_path / "missing"])
    broken = tmp_path / "all" / "broken"
    broken.mkdir(parents=True)
    (broken / "manifest.json").write_text('{"schema": 99, "protocol": "sage"}')
    for path in (broken, broken.parent):
        with pytest.raises(DataError, match="another version of Embassay"):
            read_report_runs([plain_run, path])


def test_unfinished_runs_stand_behind_the_others(make_run: MakeRun, pteb_run: Path) -> None:
    """The report leads with a run that has results, and tells of the one that has none."""
    run = make_run()
    manifest = json.loads((run / "manifest.json").read_text())
    cells = [{**cell, "status": "not run"} for cell in manifest["cells"]]
    (run / "manifest.json").write_text(json.dumps({**manifest, "cells": cells, "status": "partial"}))
    (run / "results.jsonl").write_text("")
    (run / "comparisons.json").unlink()
    runs = read_report_runs([run, pteb_run])
    assert [one.title for one in runs] == ["PTEB", "SAGE"]
    page = write_report([run, pteb_run], out=run / "both.html").read_text("utf-8")
    assert "SAGE: 30 of 30 cells have not run yet." in page
    assert "Nothing finished yet" in page


def test_the_report_stands_in_the_folder_that_holds_all(tmp_path: Path, pteb_run: Path, plain_run: Path) -> None:
    """One run: in its folder. Several: beside them."""
    import shutil

    folders = [shutil.copytree(run, tmp_path / "demo" / run.name) for run in (plain_run, pteb_run)]
    assert write_report(folders) == tmp_path / "demo" / "report.html"
    assert write_report(folders[0]) == folders[0] / "report.html"


def test_hostile_names_and_texts_stay_texts_in_pteb(make_pteb: MakeRun) -> None:
    """Names, data sets and wordings are escaped wherever they stand."""
    run = make_pteb(
        systems={HOSTILE: "embedding", "bm25": "classical"}, datasets={"sts": (HOSTILE, "two")}, name=HOSTILE,
        failed=(), labels=(f"by={HOSTILE}", "by=two"),
    )  # fmt: skip
    page = write_report(run).read_text("utf-8")
    parsed = Tags(page)
    assert not [tag for tag, attrs in parsed.tags if tag == "img" or any(name.startswith("on") for name in attrs)]
    assert page.count("<script") == 3
    assert "{{ 7*7 }}" in parsed.text


@pytest.mark.parametrize(
    "fields",
    [
        {"systems": {"aster-large": "embedding"}},
        {"systems": {"bm25": "classical", "jaccard": "classical"}},
        {"datasets": {"clustering": ("one",)}},
        {"datasets": {"summarization": ("one", "two"), "reranking": ("three",)}},
        {"runs": 1},
        {"n": 4},
        {"failed": tuple(("sts", name) for name in ("aster-large", "birch-base", "jaccard", "bm25"))},
        {"systems": {f"system-{i}": "embedding" for i in range(20)}},
        {"labels": ("by=a", "by=b", "by=c")},
        {"lost": dict.fromkeys(("aster-large", "birch-base", "jaccard", "bm25"), 0.0)},
    ],
)
def test_pteb_runs_of_every_shape_have_a_report(make_pteb: MakeRun, fields: dict[str, object]) -> None:
    """One system, metrics alone, one task, one run, few items, a task nobody finished, twenty systems, sources."""
    page = write_report(make_pteb(**fields)).read_text("utf-8")
    ids = Counter(attrs["id"] for _, attrs in Tags(page).tags if "id" in attrs)
    assert [name for name, n in ids.items() if n > 1] == []
    assert "None" not in re.sub(r"<script.*", "", page, flags=re.DOTALL)


def test_nothing_finished_says_what_to_run(make_pteb: MakeRun) -> None:
    """A run without a finished cell has no PTEB page, and its overview says so."""
    run = make_pteb(items=False)
    manifest = json.loads((run / "manifest.json").read_text())
    cells = [{**cell, "status": "not run"} for cell in manifest["cells"]]
    (run / "manifest.json").write_text(json.dumps({**manifest, "cells": cells, "status": "partial"}))
    (run / "results.jsonl").write_text("")
    (run / "comparisons.json").unlink()
    page = write_report(run).read_text("utf-8")
    assert "Nothing finished yet" in page
    assert "id=pteb " not in page


def test_items_of_several_runs_are_fewer_and_said_so(
    plain_run: Path, pteb_run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The budget is shared; what is left out is told in one sentence, and each run alone has all."""
    runs = read_report_runs([plain_run, pteb_run])
    together, alone = make_items_page(runs), make_items_page(runs[1:])
    assert together is not None
    assert alone is not None
    assert len(together.left_out) == 1
    assert "This report of several runs" in together.left_out[0]
    assert alone.left_out == ()
    assert {group["kind"] for group in together.data["groups"]} >= {"robustness", "reworded"}


def test_the_same_runs_give_the_same_report(plain_run: Path, pteb_run: Path, tmp_path: Path) -> None:
    """Byte by byte, whatever the order of the folders."""
    first = write_report([plain_run, pteb_run], out=tmp_path / "one.html").read_bytes()
    assert write_report([pteb_run, plain_run], out=tmp_path / "two.html").read_bytes() == first


def test_the_report_of_two_demo_runs_is_small(make_full_run: MakeRun, make_pteb: MakeRun, root: Path) -> None:
    """Six systems and two references, five tasks and seven, items of both: under 320 KB."""
    lines = (root / "src/embassay/data/sample/documents.jsonl").read_text("utf-8").splitlines()
    texts = tuple(json.loads(line)["text"] for line in lines)
    names = ("wordllama", "minilm", "levenshtein", "rouge", "jaccard", "bm25")
    systems = {name: "embedding" if i < 2 else "classical" for i, name in enumerate(names)}
    tasks = ("sts", "classification", "clustering", "pair_classification", "reranking", "retrieval", "summarization")
    pteb = make_pteb(systems=systems, datasets=dict.fromkeys(tasks, ("sample",)), n=60)
    page = write_report([make_full_run(systems=systems, texts=texts), pteb], out=pteb / "both.html")
    assert page.stat().st_size < 320_000
