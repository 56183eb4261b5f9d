"""The same rows give the same records, whatever table they are written in."""

from __future__ import annotations

import csv
import gzip
import io
import json
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from embassay.data import open_dataset
from embassay.data.rows import skip_and_collect_faulty_rows as collecting_faults
from embassay.data.tables import JsonLinesTable
from embassay.errors import DataError

Rows = Sequence[Mapping[str, Any]]


def jsonl(rows: Rows) -> bytes:
    return "".join(json.dumps(dict(row), ensure_ascii=False) + "\n" for row in rows).encode()


def escaped_jsonl(rows: Rows) -> bytes:
    return "\r\n".join(json.dumps(dict(row)) for row in rows).encode()


def delimited(rows: Rows, delimiter: str) -> bytes:
    buffer = io.StringIO(newline="")
    writer = csv.DictWriter(buffer, list(rows[0]), delimiter=delimiter)
    writer.writeheader()
    writer.writerows(rows)
    return buffer.getvalue().encode()


def parquet(rows: Rows) -> bytes:
    buffer = io.BytesIO()
    pl.DataFrame([dict(row) for row in rows], infer_schema_length=None).write_parquet(buffer)
    return buffer.getvalue()


WRITERS: dict[str, Callable[[Rows], bytes]] = {
    "x.jsonl": jsonl,
    "y.jsonl": escaped_jsonl,
    "x.csv": lambda rows: delimited(rows, ","),
    "x.tsv": lambda rows: delimited(rows, "\t"),
    "x.parquet": parquet,
    "x.jsonl.gz": lambda rows: gzip.compress(jsonl(rows)),
    "x.csv.gz": lambda rows: gzip.compress(delimited(rows, ",")),
    "x.tsv.gz": lambda rows: gzip.compress(delimited(rows, "\t")),
}

# A NUL byte marks a binary file and half a surrogate pair is no text: both are faults, tested as such.
TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1).filter(str.strip)
LABELS = st.sampled_from(["a", "b", "ç", "1"])
RATINGS = st.floats(-1e6, 1e6) | st.none()


def same(rows: Rows, shape: str) -> None:
    """Write the rows in every format and compare what is loaded."""
    with tempfile.TemporaryDirectory() as folder:
        first = None
        for name, write in WRITERS.items():
            (Path(folder) / name).write_bytes(write(rows))
            loaded = open_dataset(f"{folder}/{name}").load(shape)
            found = (asdict(loaded.data), loaded.lang, loaded.skipped, loaded.warnings)
            first = first or found
            np.testing.assert_equal(found, first, err_msg=name)


@given(st.lists(st.tuples(TEXTS, TEXTS, RATINGS, RATINGS), min_size=1, max_size=6))
def test_ratings_agree_over_formats(values: list[tuple[str, str, float | None, float | None]]) -> None:
    """Texts with any characters and numbers, missing or not, survive every format."""
    rows = [
        {"id": f"r{n}", "text": text, "summary": summary, "overall": one, "axis.own": other}
        for n, (text, summary, one, other) in enumerate(values)
    ]
    rows.append({"id": "last", "text": "t", "summary": "s", "overall": 1.5, "axis.own": 2.0})
    same(rows, "ratings")


@given(st.lists(st.tuples(TEXTS, LABELS, st.sampled_from(["1", "2"])), min_size=1, max_size=8))
def test_labelled_agree_over_formats(values: list[tuple[str, str, str]]) -> None:
    """Rows without ids are numbered alike, and sets and labels survive every format."""
    rows = [{"text": text, "label": label, "set": group, "lang": "fr"} for text, label, group in values]
    rows += [{"text": "t", "label": label, "set": "1", "lang": "en"} for label in "ab"]
    same(rows, "labelled")


@pytest.mark.parametrize("kind", [int, str, float])
def test_numbers_name_ids_and_labels(kind: type, tmp_path: Path) -> None:
    """An integer and its text are one id and one label."""
    rows = [{"id": n, "text": f"t{n}", "label": kind(n % 2), "set": 7} for n in range(4)]
    (tmp_path / "x.jsonl").write_bytes(jsonl(rows))
    data = open_dataset(str(tmp_path / "x.jsonl")).load("labelled").data
    assert data.ids == ("0", "1", "2", "3")
    assert data.labels == tuple(str(n % 2) for n in range(4))
    assert set(data.sets) == {"7"}


def test_parquet_reads_only_the_columns_it_needs(tmp_path: Path) -> None:
    """A column no shape asks for may hold anything, and a name with brackets is a name."""
    frame = pl.DataFrame({"text": ["a", None], "label": pl.Series(["x", "y"], dtype=pl.Categorical), "v": [[1], [2]]})
    frame.write_parquet(tmp_path / "x[1].parquet")
    loaded = open_dataset(str(tmp_path / "x[1].parquet")).load("documents")
    assert loaded.data.texts == ("a",)
    assert loaded.dataset == "x[1]"


def test_columns_that_appear_late(tmp_path: Path) -> None:
    """A JSON key that the first rows lack is a column all the same."""
    (tmp_path / "x.jsonl").write_bytes(jsonl([{"text": "a"}, {"text": "b", "summary": "s"}]))
    loaded = open_dataset(str(tmp_path / "x.jsonl")).load("summarised")
    assert loaded.data.ids == ("2",)
    assert loaded.skipped[0].reason == "no summary"


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ('[{"text": "a"}, {"text": "b"}]\n', r"jsonl:1: the line is a JSON list .*jq -c"),
        (
            '[\n {\n  "text": "a"\n }\n]\n',
            r"jsonl:1: the line is not valid JSON .*several lines. Run jq -c '\.\[\]' texts",
        ),
        ('{\n "text": "a"\n}\n', r"jsonl:1: the line is not valid JSON .*several lines. Run jq -c '\.' "),
        ("1\n2\n", r"jsonl:1: the line is not a JSON object .*found a number"),
        ("\n" * 3, r"all lines are blank"),
        ("\n" * 100_001, r"jsonl:100001: 100,000 blank lines in a row"),
    ],
    ids=["list", "laid out", "one laid out", "numbers", "blank", "newlines"],
)
@pytest.mark.parametrize("collecting", [False, True])
def test_what_is_no_json_lines_is_told_by_what_it_is(tmp_path: Path, content: str, says: str, collecting: bool) -> None:
    """A JSON list, bare numbers and newlines without end each have a message of their own, in `data check` too."""
    path = tmp_path / "texts.jsonl"
    path.write_text(content)
    with pytest.raises(DataError, match=says), collecting_faults(lambda _: None) if collecting else nullcontext():
        JsonLinesTable(path).columns()
