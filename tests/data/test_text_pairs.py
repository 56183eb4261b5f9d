"""Pairs of texts, scored or labelled, also from rows that hold lists."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from embassay.data import open_dataset
from embassay.errors import DataError

Table = Callable[..., str]


@pytest.fixture
def table(tmp_path: Path) -> Table:
    """Writes rows as JSON Lines."""

    def write(*rows: dict[str, Any]) -> str:
        path = tmp_path / "own.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        return str(path)

    return write


def test_scored_pairs_under_other_names(table: Table) -> None:
    """`--map` names the columns; rows without a text or a score are counted."""
    path = table(
        {"premise": "a", "hypothesis": "b", "sim": "4.5"},
        {"premise": "a", "hypothesis": " ", "sim": 1},
        {"premise": "a", "hypothesis": "c", "sim": None},
        {"premise": "a", "hypothesis": "b", "sim": 0},
    )
    dataset = open_dataset(path, mapping={"text": "premise", "text2": "hypothesis", "score": "sim"})
    assert dataset.shapes() == ("pairs",)
    loaded = dataset.load("pairs")
    assert (loaded.data.ids, loaded.data.first, loaded.data.second) == (("1", "4"), ("a", "a"), ("b", "b"))
    assert loaded.data.scores.tolist() == [4.5, 0.0]
    assert [(left.reason, left.count) for left in loaded.skipped] == [("no text2", 1), ("no score", 1)]
    assert set(loaded.warnings) == {
        "repeats of an earlier pair: 1 (4)", "pairs with a different earlier judgement: 1 (4)",
    }  # fmt: skip


@pytest.mark.parametrize(("score", "mend"), [("2,4", "2.4"), ("48%", "48"), ("good", "remove the row")])
def test_numbers_of_spreadsheets_are_told_how_to_be_written(table: Table, score: str, mend: str) -> None:
    path = table({"text": "a", "text2": "b", "score": score}, {"text": "c", "text2": "d", "score": "1"})
    with pytest.raises(DataError, match="expected a number") as refused:
        open_dataset(path).load("pairs")
    assert mend in refused.value.mend


@pytest.mark.parametrize("written", [" NA ", "null", "N/A", "None"])
def test_what_other_programs_write_for_no_score_is_left_out(table: Table, written: str) -> None:
    row = {"text": "a", "text2": "b"}
    loaded = open_dataset(table({**row, "score": written}, {**row, "score": 1})).load("pairs")
    assert loaded.data.scores.tolist() == [1.0]
    assert [(left.reason, left.count) for left in loaded.skipped] == [("no score", 1)]


def test_a_score_of_parquet_with_fixed_decimals(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    scores = pyarrow.array([0.25, 1.5]).cast(pyarrow.decimal128(5, 2))
    path = tmp_path / "own.parquet"
    parquet.write_table(pyarrow.table({"text": ["a", "c"], "text2": ["b", "d"], "score": scores}), path)
    assert open_dataset(str(path)).load("pairs").data.scores.tolist() == [0.25, 1.5]


def test_a_labelled_pair_is_no_labelled_text(table: Table) -> None:
    """A label beside a second text is no topic: the table is not clustered."""
    path = table({"text": "a", "text2": "b", "label": 1}, {"text": "c", "text2": "d", "label": False})
    dataset = open_dataset(path)
    assert dataset.shapes() == ("labelled_pairs",)
    assert dataset.load("labelled_pairs").data.labels.tolist() == [1, 0]
    with pytest.raises(DataError, match="has no labelled"):
        dataset.load("labelled")


def test_labels_of_pairs_are_0_and_1(table: Table) -> None:
    """Another value is an error with its line, and so is one label for all."""
    wrong = open_dataset(table(*({"text": "a", "text2": "b", "label": label} for label in (1, 2))))
    with pytest.raises(DataError, match=r"own.jsonl:2: the value of 'label' .*expected 0 or 1, .*; found 2"):
        wrong.load("labelled_pairs")
    same = open_dataset(table(*[{"text": "a", "text2": "b", "label": 1}] * 2))
    with pytest.raises(DataError, match=r"all pairs have the same label .* found 2 of label 1"):
        same.load("labelled_pairs")


@pytest.mark.parametrize("words", [("yes", "no"), ("Y", "n"), ("TRUE", "false"), ("1", "0"), (1.0, 0)])
def test_words_that_say_whether_pairs_are_alike(table: Table, words) -> None:
    rows = [{"text": f"a{n}", "text2": "b", "label": words[n % 2]} for n in range(4)]
    assert open_dataset(table(*rows)).load("labelled_pairs").data.labels.tolist() == [1, 0, 1, 0]


def test_which_of_other_words_is_alike_has_to_be_said(table: Table) -> None:
    """It is not guessed; once said, every other word is another label, and an empty one is none."""
    words = ("duplicate", "none", "Duplicate ", "", "related")
    path = table(*({"text": f"a{n}", "text2": "b", "label": word} for n, word in enumerate(words)))
    with pytest.raises(DataError, match=r"found 'duplicate'.*--map same=VALUE"):
        open_dataset(path).load("labelled_pairs")
    loaded = open_dataset(path, mapping={"same": "duplicate"}).load("labelled_pairs")
    assert loaded.data.labels.tolist() == [1, 0, 1, 0]
    assert [one.reason for one in loaded.skipped] == ["no label"]
    assert set(loaded.warnings) == {
        "label none, counted as different: 1 (2)", "label related, counted as different: 1 (5)",
    }  # fmt: skip
    assert loaded.fingerprint != open_dataset(path).fingerprint
    with pytest.raises(DataError, match=r"4 of label 0: duplicate, none.*same=VALUE"):
        open_dataset(path, mapping={"same": "paraphrase"}).load("labelled_pairs")


@pytest.mark.parametrize("missing", ["NA", "n/a", "NaN", "null", " "])
@pytest.mark.parametrize("mapping", [{}, {"same": "1"}])
def test_what_other_programs_write_for_no_label_is_none(table: Table, missing: str, mapping) -> None:
    """Neither an error nor, once a word is named, the label of what is different."""
    labels = ("1", "0", missing, missing, "0")
    path = table(*({"text": f"a{n}", "text2": "b", "label": label} for n, label in enumerate(labels)))
    loaded = open_dataset(path, mapping=mapping).load("labelled_pairs")
    assert loaded.data.labels.tolist() == [1, 0, 0]
    assert [(one.reason, one.count) for one in loaded.skipped] == [("no label", 2)]


def test_draws_of_labelled_pairs_keep_the_labels(table: Table) -> None:
    """A limit is shared by the labels in proportion."""
    path = table(*({"text": f"a{n}", "text2": "b", "label": int(n % 4 == 0)} for n in range(40)))
    data = open_dataset(path).load("labelled_pairs", limit=12, seed=3).data
    assert (len(data), data.labels.sum()) == (12, 3)


def test_one_row_of_lists(table: Table) -> None:
    """MTEB keeps pairs to classify in one row; each place of the lists is a pair."""
    path = table({"sent1": ["a", "c"], "sent2": ["b", "d"], "labels": [1, 0]})
    mapping = {"text": "sent1", "text2": "sent2", "label": "labels"}
    data = open_dataset(path, mapping=mapping).load("labelled_pairs").data
    assert (data.ids, data.first, data.second) == (("1#1", "1#2"), ("a", "c"), ("b", "d"))
    assert data.labels.tolist() == [1, 0]


def test_a_row_of_lists_is_a_set(table: Table) -> None:
    """MTEB keeps each set to cluster in a row."""
    path = table(
        {"id": "x", "sentences": ["a", "b", "c"], "labels": [0, 1, 0]},
        {"id": "y", "sentences": ["d", "e"], "labels": ["p", "q"]},
    )
    data = open_dataset(path, mapping={"text": "sentences", "label": "labels"}).load("labelled").data
    assert data.sets == ("x", "x", "x", "y", "y")
    assert data.labels == ("0", "1", "0", "p", "q")
    assert data.ids[3] == "y#1"


def test_lists_of_different_length(table: Table) -> None:
    """They cannot be matched."""
    path = table({"text": ["a", "b"], "label": [1]})
    with pytest.raises(DataError, match=r"own.jsonl:1: the lists in text, label differ in length \(expected 2"):
        open_dataset(path).load("labelled")
    path = table({"text": ["a", "b"], "label": [1, 2]}, {"text": "c", "label": 1})
    with pytest.raises(DataError, match=r"own.jsonl:2: .*expected a list, as in the first row; found 'c'"):
        open_dataset(path).load("labelled")
