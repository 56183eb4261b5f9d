"""Golden sets of folders of documents: spans that outlive another chunker, and runs that come later."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import embassay as eb
from embassay.errors import DataError, UsageError
from embassay.protocols.rag.golden import protocol
from embassay.protocols.rag.golden.options import GoldenOptions
from embassay.protocols.rag.golden.stages import read_json_line_rows

from .conftest import SUBJECTS

OPTIONS = GoldenOptions(depth=2, minimum=1, top=2)


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    """A document on each subject, in four sections, and a question for each."""
    folder = tmp_path / "docs"
    folder.mkdir()
    for subject, text in SUBJECTS.items():
        parts = "".join(f"## Part {n} of {subject}\n\nNote {n}: {text}. That is all of {n}.\n\n" for n in range(4))
        (folder / f"{subject}.md").write_text(f"# On {subject}\n\n{parts}")
    questions = [{"id": f"Q{n}", "text": f"What is known of {subject}?"} for n, subject in enumerate(SUBJECTS)]
    (tmp_path / "queries.jsonl").write_text("".join(json.dumps(one) + "\n" for one in questions))
    return folder


@pytest.fixture
def grades(corpus: Path) -> str:
    """A simulated judge: 5 for the second part of the right document, 2 for all others."""
    lines = ["query-id\tcorpus-id\tscore"]
    for n, subject in enumerate(SUBJECTS):
        for other in SUBJECTS:
            for part in range(1, 7):
                lines.append(f"Q{n}\t{other}.md#{part}\t{5 if other == subject and part == 2 else 2}")
    path = corpus.parent / "grades.tsv"
    path.write_text("\n".join(lines) + "\n")
    return f"simulated:{path}"


def make(corpus: Path, judge: str, **more: Any) -> Any:
    queries = corpus.parent / "queries.jsonl"
    given = {"options": OPTIONS, "ranking": "grades", "out": corpus.parent / "golden", **more}
    return protocol.golden("wordllama", judge, corpus=corpus, queries=queries, **given)


def graded(run: Any) -> set[tuple[str, str]]:
    rows = (run.path / "export" / "qrels.tsv").read_text().splitlines()[1:]
    return {(one.split("\t")[0], one.split("\t")[1]) for one in rows}


def write_run(path: Path, rows: list[tuple[str, str]]) -> Path:
    path.write_text("".join(f"{query} Q0 {doc} {rank} {-rank} x\n" for rank, (query, doc) in enumerate(rows, 1)))
    return path


def test_a_folder_is_a_corpus_and_judgements_have_spans(corpus: Path, grades: str) -> None:
    """Each span is the text of its passage in the document."""
    run = make(corpus, grades)
    spans = [json.loads(line) for line in (run.path / "export" / "spans.jsonl").read_text().splitlines()]
    assert len(spans) == len(graded(run))
    rows = read_json_line_rows(next((run.path).glob("q*/s4_scores/*.scores.jsonl")))
    for row in rows:
        about = row["metadata"]
        text = (corpus / about["document"]).read_text()
        assert row["text"].endswith(text[about["start"] : about["end"]])  # a breadcrumb stands before it


def test_chunks_of_its_own_have_spans_too(corpus: Path, grades: str) -> None:
    """With --chunk the whole documents are cut by the golden set."""
    options = GoldenOptions(depth=2, minimum=1, top=2, chunk=20, overlap=0)
    judge = f"simulated:{corpus.parent / 'none.tsv'}"
    (corpus.parent / "none.tsv").write_text("query-id\tcorpus-id\tscore\nQ0\ttea.md#1\t5\n")
    run = make(corpus, judge, options=options, out=corpus.parent / "chunks")
    first = json.loads((run.path / "export" / "spans.jsonl").read_text().splitlines()[0])
    assert first["document"].endswith(".md")
    assert first["start"] < first["end"]


def test_a_golden_set_survives_another_chunker(corpus: Path, grades: str) -> None:
    """A perfect run on other chunks scores what one on its own chunks does; by ids it would score nothing."""
    run = make(corpus, grades)
    spans = run.path / "export" / "spans.jsonl"
    best = [(f"Q{n}", f"{subject}.md#2") for n, subject in enumerate(SUBJECTS)]
    whole = write_run(corpus.parent / "whole.trec", best)
    given = {"measures": ["nDCG@1"], "resamples": 20}
    before = eb.rag.score(str(spans), {"r": str(whole)}, corpus=str(corpus), **given)
    halves = f"{corpus}?chunk=8"
    from embassay.data import open_dataset
    from embassay.data.documents import read_corpus_passages_with_origin

    judged = [json.loads(line) for line in spans.read_text().splitlines()]
    five = {one["query_id"]: one for one in judged if one["relevance"] == 5}
    rows = []
    for query, one in five.items():
        rows += [
            (query, place.id)
            for place in read_corpus_passages_with_origin(open_dataset(halves))
            if place.document == one["document"] and one["start"] <= place.start < one["end"]
        ][:1]
    cut = write_run(corpus.parent / "cut.trec", rows)
    after = eb.rag.score(str(spans), {"r": str(cut)}, corpus=halves, **given)
    assert before.values["value"][0] == after.values["value"][0] > 0
    with pytest.raises(DataError, match="is unknown"):
        eb.rag.score(str(spans), {"r": str(whole)}, **given)


def test_a_later_run_is_graded_and_no_more(corpus: Path, grades: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What it brings joins the pool, what has a grade is not asked again, and a repeat changes nothing."""
    run = make(corpus, grades)
    before = graded(run)
    first = next(iter(sorted(before)))
    new = [("Q0", "glass.md#4"), first, ("Q0", "nowhere.md#1"), ("Q9", "tea.md#1")]
    path = write_run(corpus.parent / "new.trec", new)
    from embassay.protocols.rag.judges.simulation import SimulatedJudge

    asked: list[str] = []
    grade = SimulatedJudge.grade

    async def counting(self: Any, question: Any, passage: Any, **more: Any) -> Any:
        asked.append(passage.id)
        return await grade(self, question, passage, **more)

    monkeypatch.setattr(SimulatedJudge, "grade", counting)
    options = GoldenOptions(depth=2, minimum=1, top=2)
    again = make(corpus, grades, add_runs=[path], options=options)
    assert graded(again) == before | {("Q0", "glass.md#4")}
    assert asked == ["glass.md#4"]
    assert again.manifest["added_runs"]["new"]["other questions"] == 1
    asked.clear()
    assert graded(make(corpus, grades, options=options)) == graded(again)  # it stays without being named
    assert asked == []


def test_a_run_of_other_data_is_refused(corpus: Path, grades: str) -> None:
    run = make(corpus, grades)
    path = write_run(corpus.parent / "other.trec", [("Q0", "x"), ("Z", "tea.md#1")])
    with pytest.raises(DataError, match="no passage from this golden set"):
        make(corpus, grades, add_runs=[path])
    assert run.path.exists()


def test_a_folder_of_tables_is_no_folder_of_documents(corpus: Path, grades: str) -> None:
    (corpus / "corpus.jsonl").write_text('{"_id": "a", "text": "b"}\n')
    (corpus / "queries.jsonl").write_text('{"_id": "a", "text": "b"}\n')
    (corpus / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\na\ta\t1\n")
    with pytest.raises(UsageError, match="folder of tables"):
        make(corpus, grades)
