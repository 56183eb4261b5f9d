"""Texts to train with and texts to test with."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from embassay.data import open_dataset
from embassay.errors import DataError

ROWS = "text,label,split\n" + "".join(
    f"{split} {n},{n % 2},{split}\n" for split in ("train", "dev", "test") for n in range(6)
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    (tmp_path / "x.csv").write_text(ROWS)
    return tmp_path / "x.csv"


def test_sides(path: Path) -> None:
    """Rows go to the side that their split names; others are counted."""
    loaded = open_dataset(str(path)).load("classification")
    assert loaded.data.train.texts == tuple(f"train {n}" for n in range(6))
    assert loaded.data.test.labels == ("0", "1") * 3
    assert len(loaded.data) == 6
    assert [(left.reason, left.count) for left in loaded.skipped] == [("in the split 'dev'", 6)]


def test_another_split_is_tested(path: Path) -> None:
    """`--split dev` tests on dev, still trains on train, and keeps the rows of dev for everything else."""
    dataset = open_dataset(str(path), split="dev")
    data = dataset.load("classification").data
    assert (data.test.texts[0], data.train.texts[0]) == ("dev 0", "train 0")
    assert dataset.load("labelled").data.texts == data.test.texts


def test_draw(path: Path) -> None:
    """A limit counts the texts of each side and keeps the labels."""
    data = open_dataset(str(path)).load("classification", limit=2, seed=1).data
    assert [sorted(side.labels) for side in (data.train, data.test)] == [["0", "1"], ["0", "1"]]


def test_a_folder_of_two_tables(tmp_path: Path) -> None:
    """train and test beside each other, whatever their ids; `--map` counts for both."""
    for side in ("train", "test"):
        (tmp_path / f"{side}.csv").write_text("id,body,topic\n1,a,x\n2,b,y\n")
    dataset = open_dataset(str(tmp_path), mapping={"text": "body", "label": "topic"})
    assert dataset.shapes() == ("labelled", "classification")
    data = dataset.load("classification").data
    assert (data.train.ids, data.test.ids) == (("train/1", "train/2"), ("test/1", "test/2"))


TEXTS = ["a sunny day", "rain all day"] * 3


@pytest.mark.parametrize(
    ("train", "test", "labels"),
    [
        ([1, 0], [1.0, 0.0], {"1", "0"}),
        ([1, 0], ["1", "0.0"], {"1", "0"}),
        ([True, False], [1, 0], {"1", "0"}),
        (["true", "false"], ["True", "FALSE"], {"true", "false"}),
        (["Caf\u00e9", "bar"], ["Cafe\u0301", " bar "], {"Caf\u00e9", "bar"}),
        ([-1.0, 2.0], ["-1", 2], {"-1", "2"}),
    ],
)
def test_a_label_is_one_however_it_is_written(tmp_path: Path, train, test, labels) -> None:
    """By people, by JSON and by tables with a gap in the column; on both sides, and said."""
    rows = [
        {"text": text, "label": label, "split": split}
        for split, pair in (("train", train), ("test", test))
        for text, label in zip(TEXTS, pair * 3, strict=True)
    ]
    path = tmp_path / "x.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    loaded = open_dataset(str(path)).load("classification")
    assert set(loaded.data.train.labels) == set(loaded.data.test.labels) == labels
    assert [warning.partition(":")[0] for warning in loaded.warnings if "label" in warning] == [
        "labels with several spellings, read as one"
    ]
    texts = open_dataset(str(path)).load("labelled")
    assert set(texts.data.labels) == labels


@pytest.mark.parametrize("labels", [["007", "7"], ["1.10", "1.1"], ["true", "1", "2"], ["a", "A"], ["0.5", "5"]])
def test_labels_that_are_not_one_stay_apart(tmp_path: Path, labels) -> None:
    """Codes, versions, truth values among other numbers, and letters in another case."""
    rows = [{"text": f"text {n}", "label": labels[n % len(labels)]} for n in range(12)]
    path = tmp_path / "x.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    loaded = open_dataset(str(path)).load("labelled")
    assert set(loaded.data.labels) == set(labels)
    assert not loaded.warnings


def test_a_table_with_a_gap_has_the_labels_of_one_without(tmp_path: Path) -> None:
    """pandas writes a column of whole numbers with a gap as 1.0 and 0.0: the other table's are the same labels."""
    (tmp_path / "train.csv").write_text("text,label\na sunny day,1.0\nrain all day,0.0\nno label,\n")
    (tmp_path / "test.csv").write_text("text,label\nsunny,1\nrain,0\n")
    data = open_dataset(str(tmp_path)).load("classification").data
    assert (data.train.labels, data.test.labels) == (("1", "0"), ("1", "0"))


def test_a_description_of_two_tables(tmp_path: Path) -> None:
    """Its tables may be the sides; one alone is an error."""
    for side in ("learn", "exam"):
        (tmp_path / f"{side}.csv").write_text("text,label\na,x\nb,y\n")
    described = "name: own\ntables:\n  - {file: learn.csv, shapes: [train]}\n"
    (tmp_path / "own.yaml").write_text(described + "  - {file: exam.csv, shapes: [test]}\n")
    assert open_dataset(str(tmp_path / "own.yaml")).shapes() == ("classification",)
    (tmp_path / "own.yaml").write_text(described)
    with pytest.raises(DataError, match="a classification needs train and test, not only train"):
        open_dataset(str(tmp_path / "own.yaml"))


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("a,x,train\nb,y,train\n", "the split 'test' has no usable rows"),
        ("a,x,test\nb,y,dev\n", "the split 'train' has no usable rows"),
        ("a,x,train\nb,x,train\nc,y,test\n", "the training texts have only one label"),
    ],
)
def test_sides_that_cannot_be_used(tmp_path: Path, rows: str, message: str) -> None:
    """A side without rows, and one label to train on, are errors."""
    (tmp_path / "x.csv").write_text("text,label,split\n" + rows)
    with pytest.raises(DataError, match=message):
        open_dataset(str(tmp_path / "x.csv")).load("classification")


def test_labels_that_are_not_trained_on(tmp_path: Path) -> None:
    """They are kept with a warning: no classifier can get them right."""
    (tmp_path / "x.csv").write_text("text,label,split\na,x,train\nb,y,train\nc,z,test\n")
    loaded = open_dataset(str(tmp_path / "x.csv")).load("classification")
    assert loaded.warnings == ("test texts with a label that no training text has: 1 (3: z)",)
