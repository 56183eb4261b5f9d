"""Resource classes of languages, and people and models by them."""

from __future__ import annotations

import csv
from importlib.resources import files

import pytest

from embassay.protocols.hume.record import DatasetLanguageRecord, Summary, SystemMeanAndRank, SystemScore
from embassay.protocols.hume.resource import language_resource_class, language_resource_level, resource_table
from embassay.stats import Estimate


def _pair(lang: str, human: float, **models: float) -> DatasetLanguageRecord:
    scores = tuple(
        SystemScore(system=name, kind="embedding", score=Estimate(value=value)) for name, value in models.items()
    )
    return DatasetLanguageRecord(
        task=f"t-{lang}-{human}", dataset=f"d{human}", lang=lang, family="sts", measure="spearman", n=9,
        human=Estimate(value=human), models=scores,
    )  # fmt: skip


def _table(*pairs: DatasetLanguageRecord) -> dict[tuple[str, str], dict[str, object]]:
    places = tuple(
        SystemMeanAndRank(system=name, kind="embedding", mean=Estimate(value=0.5), rank=1) for name in ("a", "b")
    )
    table = resource_table(Summary(title="t", source="study", seed=7, pairs=pairs, places=places), 7)
    names = [one.name for one in table.columns]
    rows = [dict(zip(names, row, strict=True)) for row in table.rows]
    return {(str(row["level"]), str(row["class"])): row for row in rows}


def test_the_languages_of_the_study() -> None:
    """As the specification has them: English and Arabic 5, Russian 4, Danish 3, Bokmål 1."""
    classes = {lang: language_resource_class(lang) for lang in ("eng", "ara", "rus", "dan", "nob", "mul")}
    assert classes == {"eng": 5, "ara": 5, "rus": 4, "dan": 3, "nob": 1, "mul": None}
    assert [language_resource_level(lang) for lang in classes] == [
        "high",
        "high",
        "high",
        "mid",
        "low",
        "not classified",
    ]


def test_the_file_is_whole() -> None:
    """Every code once, in classes 1 to 5, and as many languages of the rich classes as the paper lists."""
    text = (files("embassay.protocols.hume") / "resource.csv").read_text("utf-8")
    rows = list(csv.DictReader(text.splitlines()))
    assert len({row["code"] for row in rows}) == len(rows)
    assert {row["class"] for row in rows} == set("12345")
    alike = {"arb", "zho", "fas", "lvs", "zsm", "uzn", "ekk", "fil", "swh"}
    counts = {n: sum(row["class"] == n and row["code"] not in alike for row in rows) for n in "5432"}
    assert counts == {"5": 7, "4": 18, "3": 28, "2": 19}


def test_means_gaps_and_wins_by_level() -> None:
    """Of a level and of each class in it; few pairs have no interval and say so."""
    found = _table(
        _pair("eng", 0.6, a=0.8, b=0.4), _pair("rus", 0.9, a=0.7, b=0.5), _pair("nob", 0.5, a=0.4, b=0.2),
        _pair("und", 0.3, a=0.6, b=0.6),
    )  # fmt: skip
    high = found["high", "all"]
    assert (high["pairs"], high["languages"], high["wins"]) == (2, "eng, rus", 1)
    assert [high[name] for name in ("human", "best", "median", "gap")] == pytest.approx([75, 75, 60, 0])
    assert high["best_percent_of_human"] == pytest.approx((100 * 0.8 / 0.6 + 100 * 0.7 / 0.9) / 2)
    assert high["human_low"] is None
    assert "fewer than 10" in str(high["reason"])
    assert found["high", "4"]["gap"] == pytest.approx(20)
    assert set(found) == {
        ("high", "all"), ("high", "5"), ("high", "4"), ("low", "all"), ("low", "1"), ("not classified", "all"),
    }  # fmt: skip


def test_many_pairs_have_an_interval() -> None:
    """From ten on, around the mean."""
    row = _table(*(_pair("eng", 0.5 + place / 100, a=0.5) for place in range(10)))["high", "5"]
    assert row["human_low"] < row["human"] < row["human_high"]  # type: ignore[operator]
    assert (row["gap_low"], row["reason"]) != (None, "x")
    assert row["reason"] == ""
