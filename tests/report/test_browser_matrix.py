"""Questions by systems in a real browser: passages are one click away, filters show what they say, phones too."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import embassay as eb
from embassay.report import write_report
from embassay.runs.matrix import read_question_matrices
from protocols.choose.test_choose import OPTIONS, corpus

pytestmark = pytest.mark.browser
Go = Callable[..., Any]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    docs = tmp_path_factory.mktemp("matrix") / "docs"
    docs.mkdir()
    for row in corpus(40):
        (docs / f"{row['id']}.md").write_text(f"# {row['title']}\n\n{row['text']}\n")
    made = eb.choose(["bm25", "jaccard", "wordllama?dims=64"], docs, out=docs.parent / "run", options=OPTIONS)
    write_report(made.path)
    return made.path


@pytest.mark.parametrize("width", [1440, 390])
def test_questions_by_systems(visit: Go, run: Path, width: int) -> None:
    """A click on a place opens its question's passages; filters leave the rows they name; nothing is cut at 390."""
    [matrix] = read_question_matrices(run)
    page = visit(run / "report.html", "choose", width=width)
    rows = page.locator(".matrix tbody tr")
    assert rows.count() == len(matrix.rows)
    row = matrix.rows[0]
    assert not page.locator(".matrix li").first.is_visible()
    rows.first.locator("td").first.click()
    shown = rows.first.locator("li .data").all_inner_texts()
    assert {matrix.passages[doc] for docs in row.first for doc in docs} <= set(shown)
    rights = [one for docs in {tuple(docs) for docs in row.first} for one in docs if one in row.right]
    assert rows.first.locator("li.right").count() == max(len(rights), 1)
    for value in ("differ", "fail", "alike"):
        if matrix.total.get(value):
            page.locator(f".matrix input[value={value}]").check()
            visible = sum(one.is_visible() for one in rows.all())
            assert visible == sum(row.outcome == value for row in matrix.rows)
    page.locator(".matrix input[value='']").check()
    page.locator(".matrix select").last.select_option(row.document)
    assert sum(one.is_visible() for one in rows.all()) == sum(other.document == row.document for other in matrix.rows)
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_regret_and_its_interval_on_a_phone(visit: Go, run: Path) -> None:
    """Beside the chance of being best, inside the width of the screen."""
    page = visit(run / "report.html", "choose", width=390)
    heads = page.locator("#choose table").first.locator("thead th")
    assert [one.inner_text().partition("\n")[0].split("↕")[0].strip() for one in heads.all()[1:3]] == [
        "P(best)", "Regret"
    ]  # fmt: skip
    box = heads.nth(3).bounding_box()
    assert box["x"] + box["width"] <= 390


def test_commands_are_copied_with_a_click(visit: Go, run: Path) -> None:
    """Each command to go on with has a button."""
    page = visit(run / "report.html", "choose", width=1440)
    commands = page.locator("#choose p > code").filter(has_text="embassay ")
    assert commands.count() >= 4
    assert page.locator("#choose p > code + button").count() == commands.count()
