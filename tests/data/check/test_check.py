"""What a check finds: it agrees with the loaders, knows every shape, and tells its progress."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from embassay.data import SHAPES, open_dataset
from embassay.data.check import DataCheckRequest
from embassay.data.check import figures as texts
from embassay.data.check.figures import (
    count_value_occurrences,
    find_score_scale_and_count_outliers,
    summarize_number_spread,
)
from embassay.data.check.files import DataFaultCollector
from embassay.data.check.inspection import TASKS, find_near_miss_shapes
from embassay.errors import DataError, UsageError


def test_every_shape_has_its_tasks() -> None:
    """A new shape needs a line in the table of tasks."""
    assert set(TASKS) == set(SHAPES)


def test_the_tasks_of_sage_are_those_of_the_protocol() -> None:
    """What the table says of SAGE is what its tasks ask for."""
    from embassay.protocols.sage.tasks import TASK_NAMES
    from embassay.protocols.sage.tasks import TASKS as SAGE

    told = {shape: {task.removeprefix("sage ") for task in tasks if "sage" in task} for shape, tasks in TASKS.items()}
    for shape in SHAPES:
        assert told[shape] == {name for name in TASK_NAMES if shape in SAGE.build(name).shapes}


def test_a_check_agrees_with_the_loaders() -> None:
    """Shapes, items, skipped rows and warnings of the sample are those that loading gives."""
    dataset = open_dataset("sample")
    report = DataCheckRequest("sample", near=None).report()
    assert report.usable
    assert tuple(shape.shape for shape in report.shapes) == dataset.shapes()
    for shape in report.shapes:
        loaded = dataset.load(shape.shape)
        assert (shape.items, shape.skipped, shape.warnings) == (len(loaded.data), loaded.skipped, loaded.warnings)
        assert shape.ready
        assert shape.figures or shape.shape in ("documents", "summarised")
    assert set(report.langs) == set(dataset.langs)


def test_the_report_is_json() -> None:
    """Everything in a report can be written as JSON and holds no number that is none."""
    json.dumps(DataCheckRequest("sample").report().as_dict(), allow_nan=False)


def test_a_large_table_is_cut_and_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lengths and near repeats are those of its first rows; what is loaded is all of it."""
    monkeypatch.setattr(texts, "HELD", 40)
    rows = "".join(f"text number {number % 9}\n" for number in range(10))
    (tmp_path / "t.csv").write_text("text\n" + rows)
    report = DataCheckRequest(str(tmp_path / "t.csv")).report()
    assert [shape.items for shape in report.shapes] == [10]
    assert report.shapes[0].warnings == ("repeats of an earlier text: 1 (10)",)
    assert [one.texts for one in report.repeats] == [4]
    assert "its first 4 rows" in " ".join(report.remarks)


def test_two_paths(tmp_path: Path) -> None:
    """With `against`, what both hold is told; a table without the same columns is said to have no counterpart."""
    mine, theirs, other = (tmp_path / name for name in ("mine.jsonl", "theirs.jsonl", "other.jsonl"))
    mine.write_text('{"text": "one and only one text", "label": 1}\n{"text": "another", "label": 2}\n')
    theirs.write_text('{"id": "t", "text": "one and  only one text"}\n')
    other.write_text('{"text": "a", "text2": "b", "score": 1}\n')
    report = DataCheckRequest(str(mine), against=str(theirs)).report()
    (overlap,) = report.overlaps
    assert (overlap.of, overlap.within, overlap.texts, overlap.exact, overlap.near) == (
        str(mine), str(theirs), 2, 1, 0,
    )  # fmt: skip
    assert overlap.examples[0].first == "t"
    assert report.repeats[0].texts == 2
    remarks = DataCheckRequest(str(mine), against=str(other)).report().remarks
    assert remarks == (f"{other}: no table to compare with mine.jsonl (columns text).",)
    with pytest.raises(UsageError, match="there is no file"):
        DataCheckRequest(str(mine), against="nowhere.jsonl").report()


def test_splits(tmp_path: Path) -> None:
    """Every two splits are compared; with a split named, repeats are its own and overlaps those that concern it."""
    path = tmp_path / "x.jsonl"
    rows = [
        ("train", "a b c d e f g"),
        ("dev", "a b c d e f g"),
        ("test", "x y z"),
        ("test", "x  y z"),
        ("train", "x y z"),
    ]
    path.write_text("".join(json.dumps({"split": split, "text": text}) + "\n" for split, text in rows))
    told = {(one.of, one.within): one.exact for one in DataCheckRequest(str(path)).report().overlaps}
    assert told == {("dev", "train"): 1, ("test", "train"): 2, ("test", "dev"): 0}
    report = DataCheckRequest(str(path), split="test").report()
    assert {(one.of, one.within) for one in report.overlaps} == {("test", "train"), ("test", "dev")}
    assert (report.repeats[0].texts, report.repeats[0].exact) == (2, 1)
    assert report.lengths[0].characters.n == 2


def test_progress_is_told(tmp_path: Path) -> None:
    """Every step says what it does and ends where it said it would."""
    path = tmp_path / "x.jsonl"
    path.write_text("".join(json.dumps({"text": f"text number {n}"}) + "\n" for n in range(3000)))
    told: dict[str, tuple[int, int]] = {}
    DataCheckRequest(str(path), say=lambda doing, done, total: told.__setitem__(doing, (done, total))).report()
    assert {"reading x.jsonl", "loading documents", "hashing texts", "comparing texts", "counting tokens"} <= set(told)
    assert told["hashing texts"] == (3000, 3000)
    assert all(done == total for done, total in told.values() if total)


@pytest.mark.parametrize(
    ("columns", "mapping", "mends"),
    [
        (["sentence1", "sentence2", "score"], {}, {"pairs": "--map text=sentence1,text2=sentence2"}),
        (["question", "positive", "negative"], {}, {"reranking": "--map query=question"}),
        (["query", "pos", "neg"], {}, {"reranking": "--map positive=pos,negative=neg"}),
        (["text", "topic"], {}, {"labelled": "--map label=topic"}),
        (["text", "txet2", "label"], {}, {"labelled_pairs": "--map text2=txet2"}),
        (["headline", "body"], {"text": "body"}, {"summarised": "--map text=body,summary=headline"}),
        (["text", "label"], {}, {}),
    ],
)
def test_near_misses(columns: list[str], mapping: dict[str, str], mends: dict[str, str]) -> None:
    """Columns called otherwise are offered for those that are missing, with all of the --map."""
    known = [*columns, *mapping]
    found = {miss.shape: miss.mend for miss in find_near_miss_shapes(known, mapping)}
    assert mends.items() <= found.items()
    for miss in find_near_miss_shapes(known, mapping):
        named = dict(pair.split("=") for pair in miss.mend.removeprefix("--map ").split(","))
        assert set(miss.missing) <= set(named)
        assert set(named.values()) <= set(columns)


def test_no_offers_without_a_likeness() -> None:
    """A column whose name says nothing is not offered; where nothing fits, the nearest shape says what it needs."""
    assert find_near_miss_shapes(["text", "price"], {}) == ()
    (miss,) = find_near_miss_shapes(["price", "colour"], {})
    assert (miss.shape, miss.missing, miss.mend) == ("documents", ("text",), "")


def test_a_column_of_objects_is_offered_for_nothing(tmp_path: Path) -> None:
    """`meta` is not like `text`, and what is inside it cannot be mapped."""
    path = tmp_path / "nested.jsonl"
    rows = [{"id": n, "document": {"text": f"text {n}"}, "meta": {"label": n % 2}} for n in range(12)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert "text=meta" not in str(DataCheckRequest(str(path)).report())


def test_one_fault_many_places() -> None:
    """Faults that differ only in ids and lines are one, and what comes up twice counts once."""
    stops = DataFaultCollector()
    for line in (5, 3, 5):
        stops.add(DataError(f"id 'k{line}' appears twice, first on line 1.", path="a", line=line), "documents")
    stops.add(DataError("the value of 'label' cannot be used", path="a", line=3), "labelled")
    first, second = stops.list_faults()
    assert (first.count, first.lines, first.shapes) == (2, (3, 5), ("documents",))
    assert first.example.startswith("a:5: id 'k5'")
    assert (second.count, second.shapes) == (1, ("labelled",))
    assert stops.of("labelled")
    assert not stops.of("pairs")


def test_figures() -> None:
    """1, 2, 3, 10: median 2.5, mean 4; of 21 scores one is off the scale 0 to 1; b appears twice."""
    told = summarize_number_spread(np.array([10, 1, 2, 3, np.nan]))
    assert (told.n, told.least, told.median, told.most, told.mean) == (4, 1, 2.5, 10, 4)
    assert find_score_scale_and_count_outliers([0.5] * 20 + [40]) == ((0, 1), 1)
    assert find_score_scale_and_count_outliers([0.1, 0.9]) is None
    assert find_score_scale_and_count_outliers(np.array([np.nan])) is None
    assert list(count_value_occurrences(["a", "b", "b"]).counts.items()) == [("b", 2), ("a", 1)]
