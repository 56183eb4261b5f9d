"""Files that people send back: what spreadsheets do to them is understood, what is broken is named by file and line."""

from __future__ import annotations

import json

import pytest

from embassay.errors import DataError, UsageError
from embassay.protocols.pteb.validation.raters import (
    collect_ratings_from_files,
    read_inspector_decisions,
    read_rating_file_rows,
)
from embassay.protocols.wordings.pairs import COLUMNS, PairToRate, write_rating_table

ITEMS = {
    "fra-001": PairToRate("fra-001", "fra", "pair", "un chat, dort", "dort un «chat»", None),
    "fra-002": PairToRate("fra-002", "fra", "pair", "deux", "trois", None),
}


def row(pair="fra-001", rater="a", rating="4", **more):
    item = ITEMS.get(pair, ITEMS["fra-001"])
    return {
        "pair_id": pair, "lang": "fra", "text": item.text2, "text2": item.text, "rater_id": rater, "rating": rating,
        **more,
    }  # fmt: skip


@pytest.mark.parametrize("ending", ["csv", "jsonl", "tsv"])
@pytest.mark.parametrize("rating", [None, 0.0, 3.5, 5.0])
def test_rating_files_come_back_as_written(tmp_path, ending, rating):
    """In every format, with all columns of the shared format."""
    path = tmp_path / f"ratings.{ending}"
    given = {**row(rating=rating), "is_dummy": 0, "expected": None, "ts": "2026-11-21T10:00:00Z"}
    if ending == "tsv":
        path.write_text("\t".join(COLUMNS) + "\n" + "\t".join(str(given[c] or "") for c in COLUMNS) + "\n")
        rating = rating or None
    else:
        write_rating_table(path, [given])
    [back] = read_rating_file_rows(path)
    assert (back.pair_id, back.rater_id, back.rating, back.ts) == ("fra-001", "a", rating, given["ts"])
    assert back.texts == (given["text"], given["text2"])


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
@pytest.mark.parametrize(("cell", "value"), [("3.5", 3.5), ("3,5", 3.5), (" 4 ", 4.0), ("", None), ("  ", None)])
def test_what_spreadsheets_write_is_understood(tmp_path, write_csv, delimiter, cell, value):
    """Semicolons, tabs, decimal commas, a byte order mark, blanks."""
    path = write_csv(tmp_path / "r.csv", [row(rating=cell)], delimiter)
    [back] = read_rating_file_rows(path)
    assert back.rating == value
    assert len(collect_ratings_from_files([path], ITEMS)) == (value is not None)


def test_rows_and_texts_that_spreadsheets_reshape_are_understood(tmp_path, write_csv):
    """Empty rows at the end, and line ends in a cell."""
    rows = [row(), {**dict.fromkeys(row(), "")}]
    rows[0]["text"] = "dort un  «chat» "
    assert len(collect_ratings_from_files([write_csv(tmp_path / "r.csv", rows)], ITEMS)) == 1


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([row(), row("fra-002", rating="six")], r"r\.csv:3: the rating is not on the scale .*found 'six'"),
        ([row(rating="5.5")], r"r\.csv:2: the rating is not on the scale .*found '5.5'"),
        ([row(rating="-1")], r"r\.csv:2: the rating is not on the scale"),
        ([row(rating="4/5")], r"r\.csv:2: the rating is not on the scale .*'4/5'"),
        ([row(rating="nan")], r"r\.csv:2: the rating is not on the scale"),
        (
            [row(pair="fra-010")],
            r"r\.csv:2: the study has no pair 'fra-010'\. Check whether the file belongs to another",
        ),
        ([row(pair="")], r"r\.csv:2: the row has no pair_id"),
        ([row(rater="")], r"r\.csv:2: the row has no rater_id"),
        ([row(), row(rating="3")], r"r\.csv:3: a has already rated the pair fra-001 .*r\.csv:2"),
        ([{**row(), "text": "another text"}], r"r\.csv:2: the texts differ from those of the pair fra-001"),
        ([{"pair_id": "fra-001", "rating": "3"}], r"r\.csv: there is no column 'rater_id'"),
    ],
)
def test_broken_rows_are_named_by_file_and_line(tmp_path, write_csv, rows, message):
    """With what was expected and what to do."""
    path = write_csv(tmp_path / "r.csv", rows)
    with pytest.raises(DataError, match=message) as error:
        collect_ratings_from_files([path], ITEMS)
    assert error.value.mend


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "the file is empty"),
        (b"\xff\xfep\x00", "UTF-16"),
        (b"pair_id,rater_id,rating\nfra-001,a\n", r":2: the row does not match the header"),
        (b"pair_id,rater_id,rating\nfra-001,\xe9,3\n", r":2: byte"),
    ],
)
def test_files_that_are_no_tables_are_named(tmp_path, content, message):
    """By what they are."""
    path = tmp_path / "r.csv"
    path.write_bytes(content)
    with pytest.raises(DataError, match=message):
        collect_ratings_from_files([path], ITEMS)


def test_two_files_of_one_rater_are_told_apart(tmp_path, write_csv):
    """The same rating twice, in two files, is a mistake too."""
    one, two = (write_csv(tmp_path / name, [row()]) for name in ("one.csv", "two.csv"))
    with pytest.raises(DataError, match=r"two\.csv:2: a has already rated the pair fra-001 .*one\.csv:2"):
        collect_ratings_from_files([one, two], ITEMS)


def test_json_lines_with_numbers_are_read(tmp_path):
    """Null is not rated."""
    path = tmp_path / "r.jsonl"
    lines = [row(rating=3.25), row("fra-002", rating=None), row("fra-002", rater="b", rating=0)]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert [(one.pair_id, one.rater_id, one.value) for one in collect_ratings_from_files([path], ITEMS)] == [
        ("fra-001", "a", 3.25),
        ("fra-002", "b", 0.0),
    ]


def test_the_inspector_s_file(tmp_path, write_csv):
    """A rating per pair, on any of its rows; decisions about raters with their reason."""
    rows = [
        {"pair_id": "fra-001", "rater_id": "a", "inspection": "4,5", "decision": "", "reason": "", "why": "low"},
        {"pair_id": "fra-001", "rater_id": "b", "inspection": "", "decision": "clear", "reason": "asked", "why": ""},
        {"pair_id": "", "rater_id": "c", "inspection": "", "decision": "reject", "reason": "a copy", "why": ""},
    ]
    found = read_inspector_decisions(write_csv(tmp_path / "i.csv", rows))
    assert found.inspected == {"fra-001": 4.5}
    assert (found.cleared, found.rejected) == ({"b": "asked"}, {"c": "a copy"})


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        ({"inspection": "9"}, r"i\.csv:3: the rating is not on the scale"),
        ({"inspection": "2"}, r"i\.csv:3: the pair fra-001 was inspected twice, with different ratings"),
        ({"decision": "rejct", "reason": "x"}, r"i\.csv:3: .*Did you mean reject"),
        ({"decision": "maybe", "reason": "x"}, r"i\.csv:3: the decision is neither clear nor reject"),
        ({"decision": "reject"}, r"i\.csv:3: a decision needs a reason"),
        ({"decision": "clear", "reason": "x"}, r"i\.csv:3: the rater a is both cleared and rejected"),
        ({"decision": "reject", "reason": "x", "rater_id": ""}, r"i\.csv:3: a decision needs a rater_id"),
    ],
)
def test_a_broken_inspector_s_file_is_named_by_line(tmp_path, write_csv, cells, message):
    """As rating files are."""
    first = {"pair_id": "fra-001", "rater_id": "a", "inspection": "4", "decision": "reject", "reason": "why not"}
    empty = {**first, "inspection": "", "decision": "", "reason": ""}
    path = write_csv(tmp_path / "i.csv", [first, {**empty, **cells}])
    with pytest.raises(DataError, match=message):
        read_inspector_decisions(path)


def test_decisions_about_nobody_are_refused():
    """A misspelt rater would silently stay."""
    from embassay.protocols.pteb.validation.raters import (
        InspectorDecisionsOnRaters,
        RaterRating,
        check_inspected_pairs_and_raters_exist,
    )

    ratings = [RaterRating("fra-001", "fra-rater1", 4.0)]
    with pytest.raises(UsageError, match=r"the rater 'fra-rater'.*Did you mean fra-rater1"):
        check_inspected_pairs_and_raters_exist(InspectorDecisionsOnRaters({}, {}, {"fra-rater": "x"}), ratings, ITEMS)
    with pytest.raises(UsageError, match="the pair 'fra-01'"):
        check_inspected_pairs_and_raters_exist(InspectorDecisionsOnRaters({"fra-01": 2.0}, {}, {}), ratings, ITEMS)
