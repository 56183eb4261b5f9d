"""The page that another package brings for its protocol: on the report, on a terminal, and when it fails."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from embassay.document.blocks import (
    Block,
    CollapsibleBlocks,
    Figure,
    Heading,
    LabelledTableRow,
    PageFactsLine,
    PageLink,
    ParagraphBlock,
    Table,
    VerdictText,
    make_number_columns,
)
from embassay.registry import RegistryEntry
from embassay.report import write_report
from embassay.report.overview import make_overview_page
from embassay.report.runs import PAGES, ReportRun, read_report_runs
from embassay.report.terminal import iterate_run_verdict_blocks, make_run_terminal_blocks

from .test_html import Page

MakeRun = Callable[..., Path]
Bring = Callable[..., None]
LOSSES = Table("board", "Losses", "System", make_number_columns("Lost"), (LabelledTableRow("aster-large", ()),))


def page(run: ReportRun, alone: bool) -> Iterator[Block]:
    """Ids that other pages have too, a link to one of them, and blocks that a terminal cannot draw."""
    yield PageFactsLine((run.title, f"alone: {alone}"))
    yield Heading("Losses", "board")
    yield ParagraphBlock(("See ", PageLink("below", "board"), "."), id="overview-board")
    yield CollapsibleBlocks("More", (ParagraphBlock("one click away"),))


@pytest.fixture
def other(make_run: MakeRun) -> Path:
    """A run of a protocol that is not ours."""
    return of_another(make_run(tasks=("clustering", "retrieval")))


def of_another(run: Path) -> Path:
    """The run, as one of the protocol `other`."""
    manifest = json.loads((run / "manifest.json").read_text())
    (run / "manifest.json").write_text(json.dumps(manifest | {"protocol": "other"}))
    return run


@pytest.fixture
def bring(monkeypatch: pytest.MonkeyPatch) -> Bring:
    """Let a package bring a page for `other`."""

    def brought(what: Any, summary: str = "from the package other-package", **facts: str) -> None:
        entry: RegistryEntry[Any] = RegistryEntry("other", what, summary, tuple(facts.items()), "other-package")
        monkeypatch.setitem(PAGES._entries, "other", entry)

    return brought


def test_it_is_shown_below_the_verdict_of_the_ranking(other: Path, bring: Bring) -> None:
    """With an entry of the navigation, ids of its own, one heading, and links that lead to its own places."""
    bring(page, "Is it so?", title="Other")
    html = write_report(other).read_text("utf-8")
    tags = Page(html).tags
    ids = Counter(attrs["id"] for _, attrs in tags if "id" in attrs)
    assert [name for name, n in ids.items() if n > 1] == []
    assert {"other", "other-title", "other-board", "other-overview-board", "board", "overview-board"} <= set(ids)
    own = html.partition("<section class=view id=other ")[2].partition("</section>")[0]
    assert own.count("<h1 ") == 1
    assert own.index("class=facts") < own.index("<h1 ") < own.index("id=other-board")
    assert "href=#other-board" in own
    assert "alone: True" in own
    assert "one click away" in own
    assert "id=other-datasets" not in html
    assert "<a href=#other>Other</a>" in html


def test_two_runs_of_one_protocol_have_ids_apart(make_run: MakeRun, bring: Bring, tmp_path: Path) -> None:
    """As those of ours."""
    bring(page)
    runs = [of_another(make_run(tasks=("clustering",), datasets=(name,))) for name in ("one", "two")]
    tags = Page(write_report(runs, out=tmp_path / "report.html").read_text("utf-8")).tags
    ids = Counter(attrs["id"] for _, attrs in tags if "id" in attrs)
    assert [name for name, n in ids.items() if n > 1] == []
    assert {"other-board", "other-board-2"} <= set(ids)


def test_its_verdict_is_that_of_its_card_and_of_a_terminal(other: Path, bring: Bring) -> None:
    """And the other blocks stand below the board, but for those that a terminal cannot draw."""
    found = VerdictText(("Nothing is lost",))

    def said(run: ReportRun, alone: bool) -> Iterator[Block]:
        yield from (found, *page(run, alone))

    bring(said, "Is it so?")
    assert [(one.slug, one.question, one.verdict) for one in make_overview_page(read_report_runs([other])).cards] == [
        ("other", "Is it so?", found)
    ]
    assert next(iter(iterate_run_verdict_blocks(other))).heading == found.heading  # type: ignore[union-attr]
    blocks = list(make_run_terminal_blocks(other))
    assert [one for one in blocks if isinstance(one, VerdictText)] == [found]
    assert Heading("Losses", "board") in blocks
    assert not [one for one in blocks if isinstance(one, CollapsibleBlocks | PageFactsLine | Figure)]


def test_without_a_page_there_are_tasks_and_tables(other: Path) -> None:
    """And no note, for nothing failed."""
    told: list[str] = []
    html = write_report(other, tell=told.append).read_text("utf-8")
    assert "id=other-datasets" in html
    assert "<p><b><span aria-hidden=true>⚠</span> Its own page" not in html
    assert told == []


def raises(_run: ReportRun, _alone: bool) -> Iterator[Block]:
    """After its first block."""
    yield Heading("Losses")
    raise ZeroDivisionError("no item")


FAILURES: dict[str, tuple[Any, str]] = {
    "raises": (raises, "ZeroDivisionError: no item"),
    "no block": (lambda run, alone: ["a text"], "'a text', which is not a block"),
    "a table of two shapes": (lambda run, alone: [LOSSES], "ValueError"),
    "two verdicts": (lambda run, alone: [VerdictText(("a",)), VerdictText(("b",))], "one Verdict"),
    "not there": ("a_module_that_is_not_there:page", "No module named 'a_module_that_is_not_there'"),
    "no function": ("embassay.report.record:OVERALL", "is not a class or function"),
}


@pytest.mark.parametrize(("what", "why"), FAILURES.values(), ids=FAILURES)
def test_a_page_that_fails_breaks_nothing(other: Path, bring: Bring, what: Any, why: str) -> None:
    """Whose it is and what is wrong: in a line of the command, in a note on the page and below the table of a terminal;
    tasks and tables are shown."""
    bring(what)
    told: list[str] = []
    html = write_report(other, tell=told.append).read_text("utf-8")
    (line,) = told
    assert "other-package" in line
    assert why in line
    assert "\n" not in line
    own = html.partition("<section class=view id=other ")[2].partition("</section>")[0]
    assert "id=other-datasets" in own
    assert "other-package" in own
    noted = [note for one in make_run_terminal_blocks(other) for note in getattr(one, "notes", ())]
    assert any("other-package" in str(note) for note in noted)
