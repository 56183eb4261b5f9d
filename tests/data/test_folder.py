"""Folders in BEIR's layout."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from embassay.data import grade_map, open_dataset
from embassay.errors import UsageError


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """60 documents, three queries in two splits, grades 0 to 2."""
    folder = tmp_path / "own"
    (folder / "qrels").mkdir(parents=True)
    documents = [{"_id": f"d{n}", "title": "" if n % 2 else f"T{n}", "text": f"text {n}"} for n in range(60)]
    (folder / "corpus.jsonl").write_text("".join(json.dumps(row) + "\n" for row in documents))
    queries = [{"_id": f"q{n}", "text": f"query {n}", "metadata": {}} for n in range(3)]
    packed = gzip.compress("".join(json.dumps(row) + "\n" for row in queries).encode())
    (folder / "queries.jsonl.gz").write_bytes(packed)
    header = "query-id\tcorpus-id\tscore\n"
    (folder / "qrels" / "test.tsv").write_text(header + "q0\td0\t2\nq0\td7\t1\nq0\td9\t0\nq1\td50\t1\n")
    (folder / "qrels" / "dev.tsv").write_text(header + "q2\td3\t1\n")
    return folder


def test_folder_gives_retrieval_and_documents(folder: Path) -> None:
    """Document text is title + " " + text; queries without judgements in the split are left out."""
    dataset = open_dataset(str(folder))
    assert (dataset.name, dataset.lang) == ("own", "und")
    assert dataset.shapes() == ("documents", "retrieval")
    loaded = dataset.load("retrieval")
    assert loaded.data.corpus.texts[:2] == ("T0 text 0", "text 1")
    assert loaded.data.corpus == dataset.load("documents").data
    assert loaded.data.queries.ids == ("q0", "q1")
    assert loaded.data.qrels == {"q0": {"d0": 2.0, "d7": 1.0, "d9": 0.0}, "q1": {"d50": 1.0}}
    assert [(left.reason, left.count) for left in loaded.skipped] == [("queries without judgements", 1)]


def test_split_names_the_qrels(folder: Path) -> None:
    """`dev` reads qrels/dev.tsv, and has another fingerprint."""
    dataset = open_dataset(str(folder), split="dev")
    assert dataset.load("retrieval").data.qrels == {"q2": {"d3": 1.0}}
    assert dataset.fingerprint != open_dataset(str(folder)).fingerprint


def test_only_split_is_the_default(folder: Path) -> None:
    """A folder with one split needs no name for it."""
    (folder / "qrels" / "test.tsv").unlink()
    assert open_dataset(str(folder)).load("retrieval").data.queries.ids == ("q2",)


def test_split_is_a_column_of_a_single_file(folder: Path) -> None:
    """Without a qrels folder, the split selects rows of the one file."""
    for path in (folder / "qrels").iterdir():
        path.unlink()
    (folder / "qrels").rmdir()
    rows = [{"query_id": f"q{n}", "doc_id": f"d{n}", "relevance": 1, "split": "ab"[n % 2]} for n in range(3)]
    (folder / "qrels.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert open_dataset(str(folder), split="b").load("retrieval").data.queries.ids == ("q1",)
    assert len(open_dataset(str(folder)).load("retrieval").data) == 3


def test_mapping_applies_to_the_files_that_have_the_column(folder: Path) -> None:
    """`text=title` changes the corpus and leaves the queries, which have no title."""
    data = open_dataset(str(folder), mapping={"text": "title"}).load("retrieval").data
    assert data.queries.texts[0] == "query 0"
    assert data.corpus.texts[:2] == ("T0 T0", "")


@pytest.mark.parametrize("limit", [1, 3, 10, 60, 100])
def test_limit_keeps_what_is_relevant(limit: int, folder: Path) -> None:
    """Every relevant document stays; seeded others fill up to the limit; queries and gains stay."""
    full = open_dataset(str(folder)).load("retrieval").data
    data = open_dataset(str(folder)).load("retrieval", limit=limit).data
    assert len(data.corpus) == min(max(limit, 3), 60)
    assert {"d0", "d7", "d50"} <= set(data.corpus.ids) <= set(full.corpus.ids)
    assert list(data.corpus.ids) == sorted(data.corpus.ids, key=lambda key: int(key[1:]))
    assert data.queries == full.queries
    assert all(set(grades) <= set(data.corpus.ids) for grades in data.qrels.values())
    assert {doc for doc, gain in data.qrels["q0"].items() if gain} == {"d0", "d7"}


def test_limit_draws_by_seed(folder: Path) -> None:
    """Another seed fills up with others, the same seed with the same."""
    dataset = open_dataset(str(folder))
    drawn = [dataset.load("retrieval", limit=20, seed=seed).data.corpus.ids for seed in (1, 1, 2)]
    assert drawn[0] == drawn[1] != drawn[2]


def test_grades_become_gains(folder: Path) -> None:
    """With a grade map the gain is the grade - 1."""
    data = open_dataset(str(folder), grades="trec3").load("retrieval").data
    assert data.qrels["q0"] == {"d0": 3.0, "d7": 2.0, "d9": 0.0}


def test_named_grade_maps() -> None:
    """The maps of spec rag 1.1; -1 of Cranfield is dropped."""
    assert grade_map("identity") == {n: n for n in range(1, 6)}
    assert grade_map("cranfield") == {1: 5, 2: 4, 3: 3, 4: 2, -1: None}
    assert grade_map("1=5,0=1") == grade_map("binary")


@pytest.mark.parametrize("text", ["cranfeld", "1=6", "1=0", "a=1", "1", "", "1=5,,0=1"])
def test_grade_map_that_cannot_be_read(text: str) -> None:
    """Grades are integers from 1 to 5."""
    with pytest.raises(UsageError, match="in --grades"):
        grade_map(text)
