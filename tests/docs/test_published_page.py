"""docs/published.md says what docs/published.csv holds, and ours are what the code gives."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]
REFERENCE = ROOT / ".." / "shared" / "reference"
DATA = ROOT / ".." / "shared" / "data"


@pytest.fixture
def pages(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The script that makes the page."""
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    import published_page

    return published_page


def test_the_page_is_that_of_the_figures(pages: ModuleType) -> None:
    """Every figure, every count and every reason; the evidence behind it too."""
    for path, made in ((pages.PAGE, pages.page()), (pages.EVIDENCE, pages.evidence())):
        assert path.read_text("utf-8") == made, "renew it: python benchmarks/published_page.py --write"


def test_every_difference_has_a_reason_and_every_reason_a_difference(pages: ModuleType) -> None:
    """Nothing differs without a word, and no word is left from a difference that is gone."""
    figures = pages.read_figures(pages.FIGURES)
    papers, tables, reasons = pages.notes()
    differing = [one for one in figures if one.verdict == "differs"]
    assert all(pages.why(one, reasons) for one in differing)
    used = {next(reason for reason in reasons if reason.fits(one)) for one in differing}
    assert used == set(reasons)
    assert {(one.paper, one.table) for one in figures} == {(one.paper, one.table) for one in tables}
    assert {one.paper for one in figures} == set(papers)


@pytest.mark.parametrize(
    ("published", "ours", "table", "verdict"),
    [
        ("61.9", "61.94", "table 1", "exact"),
        ("61.9", "61.96", "table 1", "differs"),
        ("81.2", "81.16", "table 2", "exact"),
        ("81.2", "81.1", "table 2", "within rounding"),
        ("81.2", "81.05", "table 2", "differs"),
        ("6.50e-10", "6.503e-10", "table 1", "exact"),
        ("-0.00", "-0.0012", "table 1", "exact"),
        ("+0.8", "-6.6", "table 2", "differs"),
    ],
)
def test_verdicts(pages: ModuleType, published: str, ours: str, table: str, verdict: str) -> None:
    """Rounding is an excuse only for what is made from rounded figures, and only for one unit."""
    assert pages.ReproducedTableValue("HUME", table, "a row", "a column", published, ours).verdict == verdict


@pytest.mark.shared
@pytest.mark.skipif(not REFERENCE.is_dir(), reason="the published tables are not beside this checkout")
def test_ours_are_what_the_code_gives(pages: ModuleType) -> None:
    """HUME, PTEB and RAG whole, and SAGE's table 1: made anew from the published tables and results."""
    from reproducing import hume, pteb, rag, sage

    tables = {number: sage.table(REFERENCE / "sage" / f"table{number}.csv") for number in range(1, 7)}
    made = [
        *sage.headlines(tables), *pteb.figures(REFERENCE, DATA), *rag.figures(REFERENCE), *hume.figures(REFERENCE)
    ]  # fmt: skip
    measured = {("SAGE", f"table {number}") for number in (4, 5, 6)} | {("mteb", "all-MiniLM-L6-v2")}
    kept = [one for one in pages.read_figures(pages.FIGURES) if (one.paper, one.table) not in measured]
    assert [one.published for one in kept] == [one.published for one in made]
    for old, new in zip(kept, made, strict=True):
        assert (old.paper, old.table, old.row, old.column) == (new.paper, new.table, new.row, new.column)
        assert float(new.ours) == pytest.approx(float(old.ours), rel=1e-6, abs=1e-9)


def test_figures_read_back(pages: ModuleType) -> None:
    """What is written is what was read."""
    from reproduce import write_figures

    assert write_figures(pages.read_figures(pages.FIGURES)) == pages.FIGURES.read_text("utf-8")
