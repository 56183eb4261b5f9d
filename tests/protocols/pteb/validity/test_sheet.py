"""The sheet that goes out and comes back: what is on it, what it may say, what a run makes of it, what is refused."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import embassay as eb
from embassay.errors import DataError, UsageError
from embassay.protocols.pteb.validity.sheet import (
    COLUMNS,
    ParaphraseRatingGroup,
    RunItemToRate,
    TextWithParaphrase,
    collect_sheet_ratings,
    make_blank_rating_sheet,
    read_rating_sheet,
)

SAMPLE = Path(eb.__file__).parent / "data" / "sample" / "pairs.jsonl"
GROUP = ParaphraseRatingGroup("sts", "d", "", "recorded")
Row = dict[str, str]


def run(out: Path, **more: Any) -> Any:
    usual = {"paraphraser": "recorded", "datasets": ["sample"], "tasks": ["sts", "retrieval"]}
    options = eb.pteb.PtebOptions(languages="pooled")
    return eb.pteb.run(["jaccard"], runs=3, tokenizer="words", options=options, out=out, **{**usual, **more})


@pytest.fixture(scope="module")
def sheet(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Row]]:
    """A run on the sample, and the lines of its sheet."""
    out = tmp_path_factory.mktemp("rated") / "run"
    run(out, to_rate=60)
    with (out / "tables" / "pteb_to_rate.csv").open(encoding="utf-8", newline="") as stream:
        return out, list(csv.DictReader(stream))


def write(path: Path, rows: list[Row], say: Callable[[Row], str]) -> Path:
    """A copy with `valid` filled in."""
    buffer = io.StringIO()
    writer = csv.DictWriter(buffer, COLUMNS)
    writer.writeheader()
    writer.writerows({**row, "valid": say(row)} for row in rows)
    path.write_text(buffer.getvalue(), encoding="utf-8")
    return path


def test_a_sheet_goes_round_the_groups_and_has_all_texts_of_an_item(sheet: tuple[Path, list[Row]]) -> None:
    _, rows = sheet
    units = list(dict.fromkeys((row["task"], row["run"], row["item"]) for row in rows))
    assert [task for task, _, _ in units[:4]] == ["sts", "retrieval"] * 2
    assert len(units) == 120
    assert len(rows) == 60 * 2 + 60
    assert {row["run"] for row in rows} == {"1337", "1338", "1339"}
    assert not any(row["valid"] for row in rows)
    # The draw depends on the seed alone.
    assert [row["part"] for row in rows[:2]] == ["first", "second"]


def test_a_filled_in_sheet_gives_the_change_on_valid_paraphrases(sheet: tuple[Path, list[Row]], tmp_path: Path) -> None:
    """Ratings come when the run is done, and change nothing else of it."""
    out, rows = sheet
    before = run(out).results
    bad = {row["item"] for row in rows if row["item"] < "food-p06"}
    answers = write(tmp_path / "ann.csv", rows, lambda row: "No" if row["item"] in bad else "yes")
    rated = run(out, ratings=str(answers))
    table = rated.table("pteb_valid").filter(pl.col("task") == "sts")
    line = table.row(0, named=True)
    units = {(row["run"], row["item"]) for row in rows if row["task"] == "sts"}
    valid = sum(item not in bad for _, item in units) / len(units)
    assert line["share_valid"] == pytest.approx(valid)
    assert (line["rated"], line["in_doubt"], line["left_blank"]) == (60, 0, 0)
    assert line["valid_low"] < line["valid_change"] < line["valid_high"]
    assert line["change"] == pytest.approx(line["valid_change"] + line["added"])
    added = rated.results.filter(pl.col("measure").is_in(["delta_valid", "delta_invalid", "valid", "in_doubt"]))
    assert rated.results.height == before.height + added.height
    assert "ratings" not in rated.manifest["arguments"]
    page = rated.report(tmp_path / "report.html").read_text(encoding="utf-8")
    assert "Change on valid paraphrases only" in page
    assert "On valid, 95%" in str(rated)


def test_where_all_are_valid_nothing_is_added(sheet: tuple[Path, list[Row]], tmp_path: Path) -> None:
    out, rows = sheet
    answers = write(tmp_path / "all.csv", rows, lambda _: "yes")
    table = run(out, ratings=str(answers)).table("pteb_valid")
    for line in table.iter_rows(named=True):
        assert abs(line["added"]) < 3
        assert line["added_low"] < 0 < line["added_high"]


def test_the_mean_over_datasets_comes_first(tmp_path: Path) -> None:
    """Each dataset is rated too little to say anything; together they say more."""
    sample = pl.read_ndjson(SAMPLE).filter(pl.col("lang") == "en")
    halves = [str(tmp_path / f"half{place}.jsonl") for place in (0, 1)]
    for place, path in enumerate(halves):
        sample[place::2].write_ndjson(path)
    out, asked = tmp_path / "run", {"datasets": halves, "tasks": ["sts"]}
    run(out, **asked, to_rate=30)
    with (out / "tables" / "pteb_to_rate.csv").open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    bad = {row["item"] for row in rows[::5]}
    answers = write(tmp_path / "ann.csv", rows, lambda row: "no" if row["item"] in bad else "yes")
    mean, *parts = run(out, **asked, ratings=str(answers)).table("pteb_valid").iter_rows(named=True)
    assert (mean["dataset"], len(parts), mean["rated"]) == (None, 2, sum(part["rated"] for part in parts))
    for name in ("change", "valid_change", "added", "share_valid"):
        assert mean[name] == pytest.approx(sum(part[name] for part in parts) / 2, abs=0.006)
    for line in (mean, *parts):
        assert line["added_high"] == pytest.approx(line["change"] - line["valid_low"], abs=0.02)
    reach = sum((part["valid_change"] - part["valid_low"]) ** 2 for part in parts) ** 0.5 / 2
    assert mean["valid_change"] - mean["valid_low"] == pytest.approx(reach, abs=0.02)


def lines(path: Path, said: list[tuple[str, str, str]], texts: str = "a") -> Path:
    """A sheet of one group: item, part and answer of each line."""
    rows = [
        {
            **dict.fromkeys(COLUMNS, ""), "task": "sts", "dataset": "d", "paraphraser": "recorded", "run": "1",
            "item": item, "part": part, "text": texts, "paraphrase": "b", "valid": answer,
        }
        for item, part, answer in said
    ]  # fmt: skip
    return write(path, rows, lambda row: row["valid"])


DRAWN = {
    GROUP: {
        RunItemToRate(GROUP, 1, item): [TextWithParaphrase("first", "a", "b"), TextWithParaphrase("second", "a", "b")]
        for item in "xyzw"
    }
}


def test_raters_disagree_refuse_and_leave_blank(tmp_path: Path) -> None:
    """x: one of two calls both texts valid. y: left blank before others. z: one cannot say, the other finds it valid.
    w is not reached."""
    ann = lines(
        tmp_path / "ann.csv",
        [("x", "first", "yes"), ("x", "second", "1"), ("y", "first", ""), ("y", "second", "yes"),
         ("z", "first", "?"), ("z", "second", "yes"), ("w", "first", ""), ("w", "second", "")]
    )  # fmt: skip
    bea = lines(
        tmp_path / "bea.csv",
        [("x", "first", "No"), ("x", "second", "valid"), ("z", "first", "TRUE"), ("z", "second", "y")],
    )
    ratings = collect_sheet_ratings([*read_rating_sheet(ann), *read_rating_sheet(bea)], DRAWN)[GROUP]
    said = {unit.item: share for unit, share in ratings.valid.items()}
    assert said == {"x": 0.5, "y": None, "z": 1.0}
    assert ratings.skipped == 1
    assert (ratings.twice, ratings.agreed) == (4, 2)
    assert ratings.is_drawn


@given(st.lists(st.text(min_size=1), min_size=4, max_size=4), st.sampled_from(["yes", "no", "?"]))
def test_whatever_the_texts_are_the_sheet_is_found_again(
    tmp_path_factory: pytest.TempPathFactory, texts: list[str], answer: str
) -> None:
    """Formulas, quotes, line ends and what steers a terminal: the copy that comes back is of this run."""
    drawn = {
        GROUP: {
            RunItemToRate(GROUP, 1, "x"): [
                TextWithParaphrase("first", texts[0], texts[1]),
                TextWithParaphrase("second", texts[2], texts[3]),
            ]
        }
    }
    path = tmp_path_factory.mktemp("sheet") / "s.csv"
    path.write_text(make_blank_rating_sheet(drawn, 5).as_csv(), encoding="utf-8")
    with path.open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    filled = write(path.with_name("filled.csv"), rows, lambda _: answer)
    ratings = collect_sheet_ratings(read_rating_sheet(filled), drawn)[GROUP]
    assert list(ratings.valid.values()) == [{"yes": 1.0, "no": 0.0, "?": None}[answer]]


def test_items_that_were_not_drawn_first_are_told(tmp_path: Path) -> None:
    path = lines(tmp_path / "s.csv", [("z", "first", "yes"), ("z", "second", "yes")])
    assert not collect_sheet_ratings(read_rating_sheet(path), DRAWN)[GROUP].is_drawn


@pytest.mark.parametrize(
    ("said", "texts", "why"),
    [
        ([("x", "first", "perhaps")], "a", "yes, no or"),
        ([("q", "first", "yes")], "a", "no paraphrase of first in item 'q'"),
        ([("x", "third", "yes")], "a", "no paraphrase of third in item 'x'"),
        ([("x", "first", "yes")], "another text", "from those of the run"),
        ([("x", "first", "yes"), ("x", "first", "no")], "a", "twice"),
    ],
)
def test_what_is_wrong_is_refused_with_file_and_line(
    tmp_path: Path, said: list[tuple[str, str, str]], texts: str, why: str
) -> None:
    path = lines(tmp_path / "s.csv", said, texts)
    with pytest.raises(DataError, match=why) as error:
        collect_sheet_ratings(read_rating_sheet(path), DRAWN)
    assert f"s.csv:{len(said) + 1}" in str(error.value)


def test_a_sheet_without_its_columns_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "s.csv"
    path.write_text("item,valid\nx,yes\n", encoding="utf-8")
    with pytest.raises(DataError, match="column"):
        read_rating_sheet(path)


@pytest.mark.parametrize("how", [{"original_only": True, "paraphraser": None}, {"on_failure": "original"}])
def test_without_paraphrases_there_is_nothing_to_rate(tmp_path: Path, how: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match="rate"):
        run(tmp_path / "r", to_rate=5, **how)
