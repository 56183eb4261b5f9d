"""Faults of rows: the first is raised; a check collects them all, each with its line."""

from __future__ import annotations

from pathlib import Path

import pytest

from embassay.data import open_dataset
from embassay.data.rows import skip_and_collect_faulty_rows
from embassay.errors import DataError

FILES = {
    "bytes.jsonl": (b'{"text": "a"}\n{"text": "\xe9"}\n{"text": "b"}\n{"text": "\xff"}\n', [2, 4]),
    "json.jsonl": (b'{"text": "a"}\n{"text":\n[1]\n{"text": "b"}\n', [2, 3]),
    "cells.jsonl": (b'{"text": 1}\n{"text": "b"}\n{"text": ["c"]}\n', [1, 3]),
    "ids.jsonl": (b'{"id": 1, "text": "a"}\n{"id": 1, "text": "b"}\n{"id": 1, "text": "c"}\n', [2, 3]),
    "fields.csv": (b"text,label\na,1,2\nb,1\nc\n", [2, 4]),
    "quotes.csv": (b'text,label\n"a" b,1\nc,2\n"d" e,1\nf,1\n', [2, 4]),
}


@pytest.mark.parametrize("name", FILES)
def test_faults_are_raised_or_collected(name: str, tmp_path: Path) -> None:
    """A run stops at the first fault; collecting, the reader names every line and reads the others."""
    content, lines = FILES[name]
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(DataError) as caught:
        open_dataset(str(path)).load("documents")
    assert caught.value.line == lines[0]
    faults: list[DataError] = []
    with skip_and_collect_faulty_rows(faults.append):
        dataset = open_dataset(str(path))
        faults.clear()
        loaded = dataset.load("documents")
    assert [fault.line for fault in faults] == lines
    assert len(loaded.data) >= 1
    with pytest.raises(DataError):
        open_dataset(str(path)).load("documents")


def test_judgements_are_collected(tmp_path: Path) -> None:
    """Judgements without a number and pairs judged twice are all named."""
    (tmp_path / "corpus.jsonl").write_text('{"id": "d", "text": "x"}\n')
    (tmp_path / "queries.jsonl").write_text('{"id": "q", "text": "y"}\n')
    rows = "q\td\t1\nq\td\thigh\nq\td\t2\nq\t\t1\n"
    (tmp_path / "qrels.tsv").write_text(f"query_id\tdoc_id\trelevance\n{rows}")
    faults: list[DataError] = []
    with skip_and_collect_faulty_rows(faults.append):
        loaded = open_dataset(str(tmp_path)).load("retrieval")
    assert [fault.line for fault in faults] == [3, 4, 5]
    assert [fault.what for fault in faults] == [
        "the value of 'relevance' cannot be used",
        "query 'q' and document 'd' have two different judgements",
        "the value of 'doc_id' cannot be used",
    ]
    assert loaded.data.qrels == {"q": {"d": 1.0}}
