"""Scoring what engines wrote: by text where they have no ids, by tags of the questions, with one pool for all."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import embassay as eb
from embassay.errors import DataError, UsageError


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two documents, two questions with tags, judgements, and two engines' answers."""
    texts = {"d1": "A refund takes five days and is asked for in the shop.", "d2": "A helmet is worn in the hall."}
    asked = {"q1": "How long does a refund take?", "q2": "What is worn in the hall?"}
    rows = [{"id": key, "text": text} for key, text in texts.items()]
    (tmp_path / "corpus.jsonl").write_text("".join(json.dumps(one) + "\n" for one in rows))
    queries = [{"id": key, "text": text, "tags": [key, "en"]} for key, text in asked.items()]
    (tmp_path / "queries.jsonl").write_text("".join(json.dumps(one) + "\n" for one in queries))
    (tmp_path / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\nq1\td1\t5\nq2\td2\t5\n")
    ragas = [
        {"user_input": asked["q1"], "retrieved_contexts": [texts["d1"], texts["d2"]]},
        {"user_input": asked["q2"], "retrieved_contexts": [texts["d1"], "Nothing that is in the corpus."]},
    ]
    (tmp_path / "ragas.jsonl").write_text("".join(json.dumps(one) + "\n" for one in ragas))
    (tmp_path / "trec.run").write_text("q1 Q0 d2 1 2 x\nq2 Q0 d2 1 2 x\n")
    return tmp_path


def given(folder: Path) -> dict[str, object]:
    return {"corpus": str(folder / "corpus.jsonl"), "queries": str(folder / "queries.jsonl"), "resamples": 50}


def test_texts_are_matched_and_counted(folder: Path) -> None:
    found = eb.rag.score(
        str(folder / "qrels.tsv"), {"ragas": str(folder / "ragas.jsonl")}, measures=["RR"], **given(folder)
    )
    values = dict(found.per_query.select("query_id", "value").iter_rows())
    assert values == {"q1": 1.0, "q2": 0.0}
    assert any("not in the corpus" in note.text for note in found.record.notes)


def test_scores_by_tag_are_paired(folder: Path) -> None:
    """Each tag has its queries, values and differences, and a table in the folder."""
    eb.rag.score(
        str(folder / "qrels.tsv"), {"a": str(folder / "ragas.jsonl"), "b": str(folder / "trec.run")},
        measures=["RR"], tags=True, out=folder / "run", **given(folder),
    )  # fmt: skip
    table = eb.open_run(folder / "run").table("rag_tags")
    rows = {(row["Tag"], row["Run"]): row for row in table.iter_rows(named=True)}
    assert rows["en", "a"]["RR"] == rows["en", "b"]["RR"] == 0.5
    assert (rows["q1", "b"]["Minus a"], rows["q2", "b"]["Minus a"]) == (-1.0, 1.0)
    assert (rows["en", "a"]["Queries"], rows["q1", "a"]["Queries"]) == (2, 1)
    assert rows["q1", "a"]["CI low"] is None  # one question has no interval
    with pytest.raises(UsageError, match="--queries"):
        eb.rag.score(str(folder / "qrels.tsv"), {"b": str(folder / "trec.run")}, tags=True)


def test_one_pool_for_all(folder: Path) -> None:
    """The union holds what any run found: the ceiling of both is the same, and different pools are warned of."""
    runs = {"a": str(folder / "ragas.jsonl"), "b": str(folder / "trec.run")}
    both = eb.rag.score(str(folder / "qrels.tsv"), runs, pools=["union"], measures=["PROC@10"], **given(folder))
    assert both.values.filter(both.values["measure"] == "PROC@10")["value"].to_list() == [1.0, 1.0]
    own = eb.rag.score(
        str(folder / "qrels.tsv"), runs, pools=list(runs.values()), measures=["PROC@10"], **given(folder)
    )
    assert any("different pools" in note.text for note in own.record.notes)
    assert not any("different pools" in note.text for note in both.record.notes)


def test_tables_without_tags_are_named(folder: Path) -> None:
    (folder / "plain.jsonl").write_text('{"id": "q1", "text": "x", "tags": ""}\n')
    with pytest.raises(DataError, match="no question has a tag"):
        eb.rag.score(
            str(folder / "qrels.tsv"), {"b": str(folder / "trec.run")}, tags=True, queries=str(folder / "plain.jsonl")
        )


@pytest.mark.parametrize("place", [0, "0"])
@pytest.mark.parametrize(
    "path", ["my notes/a.md", "docs/my notes/a.md", "/srv/docs/my notes/a.md", "C:\\d\\my notes\\a.md"]
)
def test_a_document_is_known_by_the_end_of_its_path(tmp_path: Path, path: str, place: int | str) -> None:
    """An engine's loader says the folder too, and blanks as they are; of two documents of one name the one whose path
    says more is meant."""
    spans = [
        {"query_id": "q1", "document": "my%20notes/a.md", "start": 0, "end": 40, "relevance": 5},
        {"query_id": "q1", "document": "a.md", "start": 0, "end": 40, "relevance": 1},
    ]
    (tmp_path / "spans.jsonl").write_text("".join(json.dumps(one) + "\n" for one in spans))
    found = {"page_content": "x" * 40, "metadata": {"source": path, "start_index": place}}
    (tmp_path / "run.jsonl").write_text(json.dumps({"query_id": "q1", "documents": [found]}))
    scored = eb.rag.score(tmp_path / "spans.jsonl", {"mine": tmp_path / "run.jsonl"}, measures=["Precision4+@1"])
    assert scored.values["value"].to_list() == [1.0]
