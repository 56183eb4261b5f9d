"""The figures from the public result files: the paper's aggregates with full values (spec hume 10.2)."""

from __future__ import annotations

from pathlib import Path

import pytest

from embassay.protocols.hume.options import PublishedRequest
from embassay.protocols.hume.published.protocol import published_summary, read_published_results
from embassay.protocols.hume.record import Summary
from embassay.protocols.hume.results.markdown import render_markdown_report
from embassay.protocols.hume.tables import make_figure_tables
from embassay.protocols.kernel.tables import ColumnTable


@pytest.fixture(scope="module")
def published(root: Path) -> Summary:
    """The record of the public results; skipped where they are absent."""
    path = root / ".." / "shared" / "reference" / "hume" / "results.json.gz"
    if not path.exists():
        pytest.skip("the published results are absent")
    request = PublishedRequest(results=(str(path),))
    return published_summary(read_published_results(request), request)


@pytest.fixture(scope="module")
def figures(published: Summary) -> dict[str, ColumnTable]:
    """Its figures by number."""
    return {one.name.removeprefix("hume_figure"): one for one in make_figure_tables(published)}


def column(table: ColumnTable, name: str) -> dict[tuple[object, ...], object]:
    """A column by dataset and language, or by system."""
    names = [one.name for one in table.columns]
    keys = [names.index(key) for key in ("dataset", "lang") if key in names] or [names.index("system")]
    return {tuple(row[key] for key in keys): row[names.index(name)] for row in table.rows}


def test_overall(figures: dict[str, ColumnTable]) -> None:
    """Human 77.64 in fourth place, behind 80.1, 78.3 and 78.2."""
    means, ranks = column(figures["1"], "mean"), column(figures["1"], "rank")
    assert means["Human",] == pytest.approx(77.64, abs=0.005)
    assert ranks["Human",] == 4
    assert [round(float(str(value)), 1) for value in list(means.values())[:4]] == [80.1, 78.3, 78.2, 77.6]


def test_gaps(figures: dict[str, ColumnTable]) -> None:
    """To the tenth of a point, which rounded inputs miss: +26.7 on Arabic news."""
    best, median = column(figures["4"], "gap"), column(figures["5"], "gap")
    expected = {
        ("STS22", "ara"): 26.7, ("MultilingualSentiment", "ara"): 17.5, ("MultilingualSentiment", "rus"): 11.25,
        ("MultilingualSentiment", "nob"): 10.0, ("ArxivClusteringP2P", "eng"): -35.4,
        ("RedditClusteringP2P", "eng"): -31.2, ("EmotionClassification", "eng"): -29.6,
        ("SIB200ClusteringS2S", "eng"): -29.3,
    }  # fmt: skip
    assert {key: best[key] for key in expected} == pytest.approx(expected, abs=0.055)
    medians = {("SIB200ClusteringS2S", "ara"): 40.1, ("STS22", "ara"): 38.7, ("Core17Instruction", "eng"): -12.0}
    assert {key: median[key] for key in medians} == pytest.approx(medians, abs=0.055)
    outside = column(figures["4"], "outside_interval").values()
    assert list(outside).count(1) == 14


def test_ranges(figures: dict[str, ColumnTable]) -> None:
    """Best minus lowest model."""
    expected = {
        ("SIB200ClusteringS2S", "ara"): 59.6, ("SIB200ClusteringS2S", "eng"): 59.1, ("ArxivClusteringP2P", "eng"): 54.1,
        ("STS22", "eng"): 12.1, ("Robust04Instruction", "eng"): 9.0, ("News21Instruction", "eng"): 8.6,
    }  # fmt: skip
    found = column(figures["7"], "range")
    assert {key: found[key] for key in expected} == pytest.approx(expected, abs=0.055)


def test_agreement_against_lead(figures: dict[str, ColumnTable], published: Summary) -> None:
    """-.7353 with p = .00117 over 16 pairs, in the figure's note, in the record and in words."""
    assert "Spearman -0.74 over 16 pairs (p = 0.00117)" in figures["8"].note
    assert published.agreement_against_gap is not None
    assert published.agreement_against_gap.value == pytest.approx(-0.7353, abs=5e-5)
    assert published.agreement_against_gap_p == pytest.approx(0.00117, abs=5e-6)
    assert "correlation of −0.74 over 16 pairs, p = 0.001" in render_markdown_report(published)
