"""Figures as tables: the paper's aggregates from its input table (spec hume 10.2), and those of a small study."""

from __future__ import annotations

import pytest

from embassay.protocols.hume.published.standings import compare_people_with_models
from embassay.protocols.hume.record import Summary, SystemMeanAndRank
from embassay.protocols.hume.tables import make_figure_tables
from embassay.protocols.kernel.tables import ColumnTable
from embassay.stats import Estimate

INEXACT = 0.1 + 1e-9
"""Points that rounded inputs may differ by from the paper's figures."""


@pytest.fixture(scope="module")
def figures(paper: Summary) -> dict[str, ColumnTable]:
    """The paper's figures, by their number."""
    return {one.name.removeprefix("hume_figure"): one for one in make_figure_tables(paper)}


def rows(table: ColumnTable) -> list[dict[str, object]]:
    """The rows as mappings."""
    return [dict(zip([one.name for one in table.columns], row, strict=True)) for row in table.rows]


def keyed(table: ColumnTable, column: str) -> dict[tuple[object, object], object]:
    """A column by dataset and language."""
    return {(row["dataset"], row["lang"]): row[column] for row in rows(table)}


def test_names(figures: dict[str, ColumnTable]) -> None:
    """All eight, in order, each with as many values as columns in every row."""
    assert list(figures) == list("12345678")
    for table in figures.values():
        assert all(len(row) == len(table.columns) for row in table.rows)


def test_overall(figures: dict[str, ColumnTable]) -> None:
    """F1: people come fourth with 77.64, behind jasper, SFR and e5-mistral."""
    found = {str(row["system"]): (row["rank"], row["mean"]) for row in rows(figures["1"])}
    expected = {
        "jasper": 80.1, "SFR": 78.3, "e5-mistral": 78.2, "Human": 77.64, "gte-Qwen2": 77.5, "stella": 76.9,
        "Qwen3": 76.8, "me5-large": 70.4, "me5-small": 69.0, "me5-base": 68.2, "mxbai": 66.6, "gemma": 64.2,
        "mpnet": 63.4, "MiniLM": 61.9,
    }  # fmt: skip
    assert list(found) == list(expected)
    for place, (system, mean) in enumerate(expected.items(), start=1):
        assert found[system] == (place, pytest.approx(mean, abs=INEXACT))
    human = [row for row in rows(figures["1"]) if row["human"]]
    assert [(row["kind"], row["parameters_millions"], row["pairs"]) for row in human] == [("human", None, 26)]


def test_spread(figures: dict[str, ColumnTable]) -> None:
    """F2: languages together; people are first in four pairs and nearly last in four others."""
    table = rows(figures["2"])
    assert [row["lang"] for row in table] == sorted(row["lang"] for row in table)
    rank = keyed(figures["2"], "human_rank")
    assert sum(value == 1 for value in rank.values()) == 4
    last = {"Core17Instruction": 13, "News21Instruction": 13, "Robust04Instruction": 14, "SICK-R": 13}
    assert {name: rank[name, "eng"] for name in last} == last
    assert keyed(figures["2"], "models") == dict.fromkeys(rank, 13)


def test_wins(figures: dict[str, ColumnTable]) -> None:
    """F3: 4, 16 and 16 of 26 pairs, and the same by family, dataset group and language."""
    found: dict[tuple[object, object], dict[object, tuple[object, object]]] = {}
    for row in rows(figures["3"]):
        found.setdefault((row["panel"], row["group"]), {})[row["against"]] = (row["wins"], row["pairs"])

    def of(panel: str, group: str) -> tuple[list[object], object]:
        three = [found[panel, group][against] for against in ("best", "median", "mean")]
        return [wins for wins, _ in three], three[0][1]

    assert [found["reference", name][name] for name in ("best", "median", "mean")] == [(4, 26), (16, 26), (16, 26)]
    assert of("family", "classification") == ([3, 6, 5], 7)
    assert of("family", "clustering") == ([0, 5, 5], 7)
    assert of("family", "reranking") == ([0, 2, 2], 6)
    assert of("family", "sts") == ([1, 3, 4], 6)
    assert of("group", "multilingual datasets") == ([4, 11, 12], 14)
    assert of("group", "English-only datasets") == ([0, 5, 4], 12)
    assert of("lang", "ara") == ([2, 3, 3], 3)
    assert of("lang", "rus") == ([1, 2, 3], 3)
    assert of("lang", "nob") == ([1, 2, 2], 2)
    assert of("lang", "dan") == ([0, 2, 2], 2)
    assert of("lang", "eng") == ([0, 7, 6], 16)
    best = next(row for row in rows(figures["3"]) if (row["panel"], row["group"]) == ("reference", "best"))
    # Wilson's interval of 4 of 26, worked with its formula.
    assert (best["win_rate"], best["low"], best["high"]) == pytest.approx((15.3846, 6.1501, 33.5312), abs=1e-3)


def test_gaps(figures: dict[str, ColumnTable]) -> None:
    """F4 and F5: the largest leads and deficits of people."""
    best = keyed(figures["4"], "gap")
    assert list(best.values()) == sorted(best.values(), reverse=True)
    largest = [26.6, 17.5, 11.3, 10.0]
    assert list(best.values())[:4] == pytest.approx(largest, abs=INEXACT)
    assert list(best)[:4] == [
        ("STS22", "ara"), *(("MultilingualSentiment", lang) for lang in ("ara", "rus", "nob"))
    ]  # fmt: skip
    deficits = {"ArxivClusteringP2P": -35.4, "RedditClusteringP2P": -31.2, "EmotionClassification": -29.6}
    for name, gap in {**deficits, "SIB200ClusteringS2S": -29.3}.items():
        assert best[name, "eng"] == pytest.approx(gap, abs=INEXACT)
    assert [key[0] for key in list(best)[::-1]][:4] == [*deficits, "SIB200ClusteringS2S"]
    assert sum(keyed(figures["4"], "outside_interval").values()) == 14
    median = keyed(figures["5"], "gap")
    for key, gap in {
        ("SIB200ClusteringS2S", "ara"): 40.1, ("STS22", "ara"): 38.7, ("WikiCitiesClustering", "eng"): 22.7,
        ("MultilingualSentiment", "ara"): 22.7, ("ArxivClusteringP2P", "eng"): -19.8,
        ("Core17Instruction", "eng"): -12.0, ("MultilingualSentiment", "eng"): -11.2,
        ("Robust04Instruction", "eng"): -9.9, ("SICK-R", "eng"): -9.6,
    }.items():  # fmt: skip
        assert median[key] == pytest.approx(gap, abs=INEXACT), key
    langs = [row["lang"] for row in rows(figures["5"])]
    assert langs == sorted(langs)


def test_stars(figures: dict[str, ColumnTable], paper_rows: list[dict[str, str]]) -> None:
    """The same fourteen pairs as printed have their best model outside the interval of people."""
    found = keyed(figures["4"], "outside_interval")
    assert found == {(row["dataset"], row["lang"]): int(row["star"]) for row in paper_rows}


def test_difficulty(figures: dict[str, ColumnTable]) -> None:
    """F6: 18 easy, 6 moderate; Emotion and ArXiv are hard."""
    found = keyed(figures["6"], "difficulty")
    values = list(found.values())
    assert [values.count(word) for word in ("easy", "moderate", "hard")] == [18, 6, 2]
    assert list(found)[-2:] == [("ArxivClusteringP2P", "eng"), ("EmotionClassification", "eng")]


def test_ranges(figures: dict[str, ColumnTable]) -> None:
    """F7: from SIB200 in Arabic to News21."""
    found = keyed(figures["7"], "range")
    first = [59.6, 59.1, 54.1, 53.1, 47.2, 44.6, 41.7]
    assert list(found.values())[:7] == pytest.approx(first, abs=INEXACT)
    assert list(found.values())[-4:] == pytest.approx([12.5, 12.1, 9.0, 8.6], abs=INEXACT)
    assert [key[0] for key in found][-4:] == [
        "WikipediaMultilingual", "STS22", "Robust04Instruction", "News21Instruction"
    ]  # fmt: skip


def test_agreement(figures: dict[str, ColumnTable]) -> None:
    """F8: over the 16 pairs with two annotators, -.735 with p = .001 (rounded scores move one rank)."""
    assert len(figures["8"].rows) == 16
    assert "Spearman -0.7" in figures["8"].note
    low = {row["dataset"] for row in rows(figures["8"]) if row["trust"] == "low"}
    assert low == {
        "EmotionClassification", "MultilingualSentiment", "ArxivClusteringP2P", "SIB200ClusteringS2S", "STSBenchmark"
    }  # fmt: skip
    high = {row["dataset"] for row in rows(figures["8"]) if row["trust"] == "high"}
    assert high == {
        "WikiCitiesClustering", "Core17Instruction", "News21Instruction", "Robust04Instruction", "STS12", "STS22"
    }  # fmt: skip


def test_small(small_record: Summary) -> None:
    """Models without a score and pairs without models are left out; no table breaks on an empty part."""
    figures = {one.name: one for one in make_figure_tables(small_record)}
    assert figures["hume_figure1"].rows == figures["hume_figure3"].rows == ()
    (row,) = rows(figures["hume_figure2"])
    assert (row["models"], row["min"], row["median"], row["max"]) == (2, 50, pytest.approx(70), 90)
    assert row["position"] == pytest.approx(0.5)
    assert len(figures["hume_figure6"].rows) == 2
    assert figures["hume_figure8"].note.startswith("The correlation needs at least three pairs")


def test_only_ranked_models_count(small_record: Summary) -> None:
    """What the record gives no rank is in no median, as in its wins."""
    place = SystemMeanAndRank(system="minilm", kind="embedding", mean=Estimate(value=0.9), rank=1)
    beside = SystemMeanAndRank(
        system="bm25", kind="classical", mean=Estimate(value=None, reason="not vectors"), rank=None
    )
    first, second = compare_people_with_models(small_record.model_copy(update={"places": (place, beside)}))
    assert first.standing is not None
    assert (first.standing.n_models, first.standing.worst) == (1, 0.9)
    assert second.standing is None
