"""What engines answer with, read as runs; and judgements of spans, which hold for any way of cutting."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from embassay.data.judged_runs import AnswerTextMatcher, RunOrQrelsEntries, read_entries_in_memory, read_run_entries
from embassay.data.judged_runs.engines import read_engine_hits
from embassay.data.judged_runs.spans import (
    convert_spans_to_document_qrels,
    is_span_judgement_file,
    read_evidence_spans,
    rename_passages_by_evidence,
)
from embassay.data.judged_runs.texts import _normalise_blanks
from embassay.errors import DataError

REFUND = "A refund takes five days, and is asked for in the shop on weekdays."
HELMET = "Wear a helmet in the hall, and never run on the wet floor there."
KNOWN = {"d1": REFUND, "d2": HELMET, "d3": "The shop opens at nine."}
ASKED = {"q1": "How long does a refund take?", "q2": "What must I wear?"}
LANGCHAIN = {
    "query_id": "q1",
    "documents": [
        {"id": None, "page_content": REFUND, "metadata": {"source": "shop.md", "start_index": 30}, "type": "Document"},
        {"id": None, "page_content": "The shop  opens at NINE.", "metadata": {}, "type": "Document"},
    ],
}  # fmt: skip
SERIALIZED = {
    "query_id": "q1",
    "documents": [
        [{"lc": 1, "type": "constructor", "kwargs": {"page_content": REFUND, "metadata": {}}}, 0.9],
        [{"lc": 1, "type": "constructor", "kwargs": {"page_content": HELMET, "metadata": {}}}, 0.4],
    ],
}
LLAMA = {
    "query_id": "q1",
    "source_nodes": [
        {"node": {"id_": "8a-uuid", "text": REFUND, "metadata": {}, "class_name": "TextNode"}, "score": 0.81},
        {"node": {"id_": "d3", "text": "cut", "start_char_idx": 0, "end_char_idx": 9}, "score": 0.62},
    ],
}
SEARCH = {
    "took": 3,
    "hits": {"total": {"value": 2}, "hits": [{"_id": "d1", "_score": 3.5}, {"_id": "d2", "_score": 1.25}]},
}
RAGAS = {
    "user_input": "how long does a refund take", "retrieved_contexts": [HELMET, f"Before. {REFUND} After it."],
    "response": "five days", "reference": "five",
}  # fmt: skip


ESQL = {
    "query_id": "q1", "took": 7, "is_partial": False,
    "columns": [{"name": "_id", "type": "keyword"}, {"name": "_score", "type": "double"}, {"name": "text"}],
    "values": [["d1", 3.5, REFUND], ["d2", 1.25, None]],
}  # fmt: skip


def search(*hits: dict[str, Any], **more: Any) -> dict[str, Any]:
    """An answer of `_search` with these hits."""
    return {"took": 3, "timed_out": False, "_shards": {"total": 1, "failed": 0}, "hits": {"hits": list(hits)}, **more}


def run_of(tmp_path: Path, content: Any, known: bool = True, **mapping: str) -> RunOrQrelsEntries:
    path = tmp_path / "run.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return read_run_entries(path, mapping, AnswerTextMatcher(KNOWN, ASKED) if known else None)


@pytest.mark.parametrize(
    ("answer", "rows"),
    [
        (LANGCHAIN, [("q1", "d1", -1.0), ("q1", "d3", -2.0)]),
        (SERIALIZED, [("q1", "d1", 0.9), ("q1", "d2", 0.4)]),
        (LLAMA, [("q1", "d1", 0.81), ("q1", "d3", 0.62)]),
        ({"query_id": "q1", **SEARCH}, [("q1", "d1", 3.5), ("q1", "d2", 1.25)]),
        ({"query_id": "q1", "response": SEARCH}, [("q1", "d1", 3.5), ("q1", "d2", 1.25)]),
        (RAGAS, [("q1", "d2", -1.0), ("q1", "d1", -2.0)]),
        (ESQL, [("q1", "d1", 3.5), ("q1", "d2", 1.25)]),
        ({**ESQL, "values": [["d1", "d2"], [3.5, 1.25], [REFUND, None]]}, [("q1", "d1", 3.5), ("q1", "d2", 1.25)]),
        (
            {"query_id": "q1", "columns": ESQL["columns"], "rows": ESQL["values"]},
            [("q1", "d1", 3.5), ("q1", "d2", 1.25)],
        ),
        (
            {"query_id": "q1", "columns": [{"name": "text"}], "values": [[HELMET], [REFUND]]},
            [("q1", "d2", -1.0), ("q1", "d1", -2.0)],
        ),
    ],
    ids=[
        "LangChain",
        "LangChain serialized",
        "LlamaIndex",
        "_search",
        "_search inside",
        "ragas",
        "ES|QL",
        "ES|QL by columns",
        "SQL",
        "ES|QL by text",
    ],
)
def test_what_each_engine_writes(answer: dict[str, Any], rows: list[tuple[str, str, float]], tmp_path: Path) -> None:
    """As a line, in a list, and as query -> answer, by ids or by text."""
    for content in (json.dumps(answer) + "\n", [answer]):
        assert run_of(tmp_path, content).frame.rows() == rows
    query = answer.get("query_id") or answer["user_input"]
    rest = {key: value for key, value in answer.items() if key != "query_id"}
    assert run_of(tmp_path, {query: rest}).frame.rows() == rows


HIT = {"_index": "docs", "_id": "AV-7", "_score": 1.5}
INNER = {"hits": {"total": {"value": 1}, "hits": [{**HIT, "_nested": {"offset": 0}, "_source": {"text": HELMET}}]}}
MARKED = HELMET.replace("helmet", "<em>helmet</em>")


@pytest.mark.parametrize(
    "answer",
    [
        search({**HIT, "fields": {"text": [HELMET], "page": [3]}}),
        search({**HIT, "fields": {"doc_id": ["d2"]}}),
        search({**HIT, "highlight": {"text": [MARKED[:40], MARKED[40:]]}}),
        search({**HIT, "_source": {"title": "Halls"}, "inner_hits": {"passages": INNER}}),
        search({**HIT, "_source": {"vector": [0.5], "metadata": {"id": "d2"}}}),
        search({**HIT, "_id": "d2", "_score": None, "sort": [4]}, aggregations={"by": {"buckets": []}}, _scroll_id="x"),
        {"id": "Fm==", "is_running": False, "response": search({**HIT, "_id": "d2"})},
        {"body": search({**HIT, "_id": "d2"}), "statusCode": 200},
        {"retriever": {"documents": [{"id": "9f", "content": HELMET, "meta": {}, "score": 1.5}]}},
        {"content": HELMET, "type": "tool", "tool_call_id": "1", "artifact": [{"page_content": HELMET}]},
    ],
    ids=[
        "fields", "id in fields", "highlight", "inner", "metadata", "sorted", "async", "client", "Haystack", "tool",
    ],
)  # fmt: skip
def test_where_engines_put_what_they_found(answer: dict[str, Any], tmp_path: Path) -> None:
    """Without `_source`, within what a client or a pipeline wraps it in, on a line that names the question."""
    content = json.dumps({"query_id": "q2", **answer}) + "\n"
    assert run_of(tmp_path, content).frame["doc"].to_list() == ["d2"]


def test_answers_that_are_not_whole_are_counted(tmp_path: Path) -> None:
    """A search that ran out of time, or lost shards, answers as if it were whole."""
    late = {**search({**HIT, "_id": "d1"}), "timed_out": True}
    lost = search({**HIT, "_id": "d2"}, _shards={"total": 2, "failed": 1})
    notes = run_of(tmp_path, {"q1": late, "q2": lost, "q3": search({**HIT, "_id": "d3"})}).notes
    assert [note for note in notes if note.startswith("2 answers are incomplete")]


def test_lists_of_documents_by_query(tmp_path: Path) -> None:
    """`json.dumps({query: [document.model_dump() ...]})`, laid out over lines."""
    content = json.dumps({"q1": LANGCHAIN["documents"], "q2": [HELMET]}, indent=1)
    assert run_of(tmp_path, content).frame["doc"].to_list() == ["d1", "d3", "d2"]


def test_what_is_not_in_the_corpus_stays_in_the_run(tmp_path: Path) -> None:
    """Under a name of its own, and counted."""
    found = run_of(tmp_path, {"q1": ["Nobody has ever written this sentence in any document.", REFUND]})
    assert found.frame["doc"][0].startswith("text:")
    assert found.notes == (
        "1 of 2 passages were matched to the corpus by their text",
        "1 of 2 passages are not in the corpus and count as unjudged",
    )


def test_without_a_corpus_ids_are_as_they_come(tmp_path: Path) -> None:
    assert run_of(tmp_path, [LLAMA], known=False).frame["doc"].to_list() == ["8a-uuid", "d3"]
    mapped = {"q1": [{"page_content": "x", "metadata": {"ref": {"key": "k7"}}}]}
    assert run_of(tmp_path, mapped, known=False, doc_id="metadata.ref.key").frame["doc"].to_list() == ["k7"]


def test_scores_that_do_not_fall_are_ranks(tmp_path: Path) -> None:
    """A distance rises with the rank: the order is the engine's."""
    rising = {"q1": [[{"page_content": REFUND}, 0.1], [{"page_content": HELMET}, 0.7]]}
    assert run_of(tmp_path, rising).frame["value"].to_list() == [-1.0, -2.0]


def test_a_passage_that_comes_twice_counts_once(tmp_path: Path) -> None:
    assert run_of(tmp_path, {"q1": [REFUND, REFUND]}).frame["doc"].to_list() == ["d1", "d1!again"]


def test_what_comes_twice_is_told(tmp_path: Path) -> None:
    """A passage that is found again, and a question that is answered again: neither may pass unseen."""
    notes = run_of(tmp_path, [RAGAS, RAGAS]).notes
    assert any(note.startswith("2 of 4 passages repeat an earlier result") for note in notes)
    assert any(note.startswith("1 question is answered more than once") for note in notes)


@pytest.mark.parametrize("known", [True, False])
def test_documents_with_scores_and_lists_of_ids(known: bool, tmp_path: Path) -> None:
    """As pytrec_eval, ranx and BEIR keep runs, numbers as text too; and the ids alone, best first."""
    rows = [("q1", "d1", 1.0), ("q1", "d2", 2.5), ("q2", "d3", 0.5)]
    for number in (float, str):
        run = {"q1": {"d1": number(1), "d2": number(2.5)}, "q2": {"d3": number(0.5)}}
        assert run_of(tmp_path, run, known).frame.rows() == rows
    listed = run_of(tmp_path, {"q1": ["d2", "d1"], "q2": ["d3"]}, known)
    assert listed.frame.rows() == [("q1", "d2", -1.0), ("q1", "d1", -2.0), ("q2", "d3", -1.0)]


def test_places_are_taken_along(tmp_path: Path) -> None:
    assert run_of(tmp_path, [LANGCHAIN]).places == {"d1": ("shop.md", 30, 30 + len(REFUND))}


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ('{"documents": []}', "does not contain its question"),
        ('{"responses": [{"hits": {"hits": []}}]}', "_msearch"),
        ('{"q1": [], "q2": []}', "no answer contains"),
        ('{"query_id": "q1", "hits": {"hits": 3}}', "cannot be read"),
        ('{"query_id": "q1", "documents": [3.5]}', "cannot be read"),
        ('{"q1": {"d1": "nan"}}', "document -> score"),
        (
            '{"query_id": "q1", "error": {"type": "index_not_found_exception", "reason": "no such index [x]"}}',
            "no such index",
        ),
        ('{"query_id": "q1", "documents": []}\n{"query_id"', ":2: the line is not valid JSON"),
    ],
)
def test_what_is_no_answer_is_named(content: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=said):
        run_of(tmp_path, content)


@given(st.text(max_size=80))
def test_texts_are_found_whatever_their_spaces(text: str) -> None:
    """A text that nobody sees is equal to none."""
    known = AnswerTextMatcher({"d": text})
    assert known.find_passage_by_text(f"  {text}\n") == ("d" if _normalise_blanks(text) else None)


SPANS = [
    {"query_id": "q", "document": "a.md", "start": 100, "end": 200, "relevance": 5},
    {"query_id": "q", "document": "a.md", "start": 900, "end": 1000, "relevance": 3},
    {"query_id": "q", "document": "b.md", "start": 0, "end": 50, "relevance": 1},
]


@pytest.fixture
def judged(tmp_path: Path) -> Path:
    path = tmp_path / "spans.jsonl"
    path.write_text("".join(json.dumps(one) + "\n" for one in SPANS))
    return path


def test_evidence_is_found_however_documents_are_cut(judged: Path) -> None:
    """Whole, in a larger passage, and half of it; less than half is none."""
    spans = read_evidence_spans(judged)
    assert is_span_judgement_file(judged)
    assert sorted(convert_spans_to_document_qrels(spans, judged).frame.rows()) == [
        ("q", "a.md[100:200]", 5.0), ("q", "a.md[900:1000]", 3.0), ("q", "b.md[0:50]", 1.0),
    ]  # fmt: skip
    for start, end, found in ((100, 200, True), (0, 500, True), (150, 180, True), (160, 400, False), (50, 149, False)):
        held = rename_passages_by_evidence(
            read_entries_in_memory({"q": ["x"]}, "run", "r"), spans, {"x": ("a.md", start, end)}
        )
        assert (held.run.frame["doc"][0] == "a.md[100:200]") is found
        assert (held.matched, held.unmatched) == (int(found), int(not found))


def test_evidence_counts_once_and_the_best_of_several(judged: Path) -> None:
    """The first passage with it has it; a passage over two has that with most in common, the best of equals."""
    places = {"one": ("a.md", 0, 300), "two": ("a.md", 120, 400), "all": ("a.md", 0, 2000), "none": ("c.md", 0, 9)}
    run = read_entries_in_memory({"q": ["one", "two", "all", "none", "lost"]}, "run", "r")
    held = rename_passages_by_evidence(run, read_evidence_spans(judged), places)
    assert held.run.frame["doc"].to_list() == ["a.md[100:200]", "two!again", "a.md[900:1000]", "none", "lost"]
    assert (held.matched, held.unmatched, held.unplaced) == (3, 1, 1)
    assert held.run.frame["value"].to_list() == run.frame["value"].to_list()


@pytest.mark.parametrize(
    "line", ['{"query_id": "q", "document": "a", "start": 5, "end": 5}', "{", "[]", '{"start": 1}']
)
def test_lines_that_judge_no_span(line: str, judged: Path) -> None:
    judged.write_text(judged.read_text() + line + "\n")
    with pytest.raises(DataError, match=r"spans.jsonl:4: "):
        read_evidence_spans(judged)


def test_rows_that_name_no_document() -> None:
    """ES|QL leaves ids out unless they are asked for: the refusal says how."""
    columns, values = [{"name": "title"}, {"name": "price"}], [["Refunds", 3]]
    with pytest.raises(DataError, match=r"METADATA _id") as raised:
        read_engine_hits(
            Path("run.json"), json.dumps({"query_id": "q1", "columns": columns, "values": values}).encode(), {}
        )
    assert raised.value.found == "title, price"
    partial = {"query_id": "q1", "columns": [{"name": "_id"}], "values": [["d1"]], "is_partial": True}
    assert read_engine_hits(Path("run.json"), json.dumps(partial).encode(), {})[0].is_partial
    mapped = {"query_id": "q1", "columns": [{"name": "key.keyword"}], "values": [["d1"]]}
    [hit] = read_engine_hits(Path("run.json"), json.dumps(mapped).encode(), {"doc_id": "key.keyword"})
    assert hit.ids == {"key.keyword": "d1"}


@pytest.mark.parametrize("printed", [repr, json.dumps, lambda texts: "[" + "\n ".join(map(repr, texts)) + "]"])
def test_the_csv_of_ragas(printed: Any, tmp_path: Path) -> None:
    """Its lists are printed into a cell: by Python, as JSON, or by numpy without commas. Texts have quotation marks,
    line breaks and commas of their own."""
    odd = 'It\'s "open", at\nnine: [yes]'
    rows = [(ASKED["q1"], [HELMET, REFUND]), (ASKED["q2"], [odd, HELMET]), ("q3", [])]
    path = tmp_path / "ragas.csv"
    with path.open("w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(["user_input", "retrieved_contexts", "response"])
        writer.writerows([asked, printed(texts), "x, y"] for asked, texts in rows)
    found = read_run_entries(path, {}, AnswerTextMatcher({**KNOWN, "d4": odd}, ASKED))
    assert list(found.frame.select("query", "doc").iter_rows()) == [
        ("q1", "d2"), ("q1", "d1"), ("q2", "d4"), ("q2", "d2"),
    ]  # fmt: skip


def test_a_csv_of_ragas_that_was_cut(tmp_path: Path) -> None:
    """A list without its end is refused with its line, and with what to do."""
    path = tmp_path / "ragas.csv"
    path.write_text(f"user_input,retrieved_contexts\nq1,\"['{REFUND}']\"\nq2,\"['{HELMET}', 'The sh\"\n")
    with pytest.raises(DataError, match="to_jsonl") as raised:
        read_run_entries(path, {}, AnswerTextMatcher(KNOWN, ASKED))
    assert raised.value.line == 3


JUDGED = {"q1": {"d1": 5.0, "d2": 1.0, "d3": 1.0}}
OTHERS: dict[str, Any] = {
    "Pinecone": {"matches": [{"id": "d2", "score": 0.9, "values": []}, {"id": "d1", "score": 0.8}], "namespace": ""},
    "Qdrant": {
        "result": [{"id": 17, "score": 0.9, "payload": {"doc_id": "d2"}}, {"id": 3, "payload": {"doc_id": "d1"}}]
    },
    "Qdrant, points": {
        "result": {"points": [{"id": 1, "payload": {"text": HELMET}}, {"id": 2, "payload": {"text": REFUND}}]}
    },
    "Weaviate": {
        "data": {
            "Get": {
                "Page": [
                    {"text": HELMET, "_additional": {"id": "u1", "distance": 0.1}},
                    {"text": REFUND, "_additional": {"id": "u2", "distance": 0.3}},
                ]
            }
        }
    },
    "Milvus": {"results": [[{"id": "d2", "distance": 0.9, "entity": {}}, {"id": "d1", "distance": 0.8, "entity": {}}]]},
    "Chroma": {
        "ids": [["d2", "d1"]],
        "distances": [[0.1, 0.3]],
        "documents": [[HELMET, REFUND]],
        "metadatas": [[{}, {}]],
    },
    "Chroma, texts": {
        "ids": [["u", "v"]],
        "documents": [[HELMET, REFUND]],
        "metadatas": [[None, None]],
        "embeddings": None,
    },
    "columns": {"doc_ids": ["d2", "d1"], "scores": [0.9, 0.9]},
    "Vespa": {
        "root": {
            "children": [
                {"id": "id:ns:page::2", "relevance": 0.9, "fields": {"doc_id": "d2"}},
                {"id": "id:ns:page::1", "relevance": 0.9, "fields": {"doc_id": "d1"}},
            ]
        }
    },
    "Solr": {"response": {"numFound": 2, "docs": [{"id": "d2", "text": [HELMET]}, {"id": "d1", "text": [REFUND]}]}},
    "Typesense": {
        "found": 2,
        "hits": [{"document": {"id": "d2"}, "text_match": 5}, {"document": {"id": "d1"}, "text_match": 5}],
    },
    "Algolia": {
        "hits": [{"objectID": "d2", "_highlightResult": {"text": {"value": "x"}}}, {"objectID": "d1"}],
        "nbHits": 2,
    },
    "Azure": {
        "value": [
            {"@search.score": 0.03, "@search.rerankerScore": 2.9, "chunk_id": "d2"},
            {"@search.score": 0.04, "@search.rerankerScore": 1.9, "chunk_id": "d1"},
        ]
    },
    "Mongo": {"documents": [{"_id": {"$oid": "d2"}, "score": 0.9}, {"_id": {"$oid": "d1"}, "score": 0.8}]},
    "Bedrock": {
        "retrievalResults": [{"content": {"text": HELMET}, "score": 0.6}, {"content": {"text": REFUND}, "score": 0.5}]
    },
    "Cohere": {
        "results": [
            {"index": 1, "relevance_score": 0.9, "document": {"text": HELMET}},
            {"index": 0, "relevance_score": 0.7, "document": {"text": REFUND}},
        ]
    },
    "vector store": {
        "search_query": "x",
        "data": [
            {"file_id": "f", "score": 0.9, "content": [{"type": "text", "text": HELMET}]},
            {"file_id": "f", "score": 0.8, "content": [{"type": "text", "text": REFUND}]},
        ],
    },
    "pairs": {"documents": [["d2", 0.5], ["d1", 0.5]]},
    "two texts": {"contexts": [HELMET, REFUND]},
    "equal scores": {"documents": [{"id": "d2", "score": 0.5}, {"id": "d1", "score": 0.5}]},
    "distances": {"documents": [{"id": "d2", "distance": 0.1}, {"id": "d1", "distance": 0.5}]},
    "ranks": {"documents": [{"id": "d1", "rank": 2}, {"id": "d2", "rank": 1}]},
    "ids": {"query": "x", "expected_ids": ["d1"], "retrieved_ids": ["d2", "d1"], "metric_dict": {"mrr": 0.5}},
    "with what is expected": {"retrieved_contexts": [HELMET, REFUND], "reference_contexts": [REFUND], "reference": "x"},
    "with messages": {"documents": [{"id": "d2"}, {"id": "d1"}], "chat_history": [{"role": "user", "content": "Hi"}]},
    "with buckets": {
        "hits": {"hits": [{"_id": "d2"}, {"_id": "d1"}]},
        "aggregations": {"by": {"buckets": [{"key": "a"}]}},
    },
    "twice the same": {"nodes": [{"id": "d2"}, {"id": "d1"}], "source_nodes": [{"id": "d2"}, {"id": "d1"}]},
    "with none": {"documents": [{"id": "d2"}, {"id": "d1"}], "reranked": []},
    "id of a chunk": {
        "source_nodes": [
            {"node": {"id_": "d2", "metadata": {"doc_id": "file-9", "document_id": "file-9"}}, "score": 0.8},
            {"node": {"id_": "d1", "metadata": {"doc_id": "file-9", "document_id": "file-9"}}, "score": 0.8},
        ]
    },
    "a source's id": {
        "hits": {"hits": [{"_id": "d2", "_source": {"id": 9002}}, {"_id": "d1", "_source": {"id": 9001}}]}
    },
    "a path": {
        "documents": [
            {"page_content": "x", "metadata": {"source": "d2"}},
            {"page_content": "y", "metadata": {"source": "d1"}},
        ]
    },
}


@pytest.mark.parametrize("answer", OTHERS.values(), ids=OTHERS)
def test_the_engines_order_and_the_judged_ids(answer: dict[str, Any], tmp_path: Path) -> None:
    """d2 before d1, however it is written, on a line and as query -> answer: no hit is lost, equal scores keep the
    order, and ids are those of the corpus."""
    path = tmp_path / "run.json"
    for content in ({"query_id": "q1", **answer}, {"q1": answer}):
        path.write_text(json.dumps(content))
        run = read_run_entries(path, {}, AnswerTextMatcher(KNOWN, ASKED, lambda: JUDGED))
        best = run.frame.with_columns(single=pl.col("value").cast(pl.Float32)).sort("single", "doc", descending=True)
        assert best.select("query", "doc").rows() == [("q1", "d2"), ("q1", "d1")]


def test_judgements_decide_between_ids(tmp_path: Path) -> None:
    """Without a corpus too, and where both are known it is said, with what takes the other."""
    hits = [{"_id": f"d{i}", "_source": {"id": f"x{i}", "ref": {"doc_id": f"d{4 - i}"}}} for i in (1, 2, 3)]
    path = tmp_path / "run.json"
    path.write_text(json.dumps({"q1": {"hits": {"hits": hits}}}))
    run = read_run_entries(path, {}, AnswerTextMatcher({}, {}, lambda: JUDGED))
    assert run.frame["doc"].to_list() == ["d1", "d2", "d3"]
    [note] = [note for note in run.notes if "known id" in note]
    assert "--map doc_id=_source.ref.doc_id" in note
    mapped = read_run_entries(path, {"doc_id": "_source.ref.doc_id"}, AnswerTextMatcher({}, {}, lambda: JUDGED))
    assert mapped.frame["doc"].to_list() == ["d3", "d2", "d1"]


def test_judgements_decide_between_questions(tmp_path: Path) -> None:
    """An answer's own id is no question's where another key holds one."""
    path = tmp_path / "run.json"
    path.write_text(json.dumps([{"id": "resp-1", "query": ASKED["q1"], "documents": ["d1"]}]))
    assert read_run_entries(path, {}, AnswerTextMatcher(KNOWN, ASKED)).frame["query"].to_list() == ["q1"]


TWO = {
    "bm25": {"documents": [{"id": "d2", "score": 9.1}, {"id": "d1", "score": 3.0}]},
    "ranker": {"documents": [{"id": "d1", "score": 0.98}, {"id": "d2", "score": 0.1}]},
}


@pytest.mark.parametrize(
    "answer",
    [
        TWO,
        {"documents": [{"id": "d2"}], "reranked": [{"id": "d1"}]},
        {"hits": {"hits": [{"_id": "d2"}]}, "rescored": {"hits": [{"_id": "d1"}]}},
        {"documents": ["d1"], "nodes": ["d2"]},
    ],
)
def test_several_lists_are_asked_about(answer: dict[str, Any], tmp_path: Path) -> None:
    """None is taken for the answer, unless it is named."""
    with pytest.raises(DataError, match="several lists") as caught:
        run_of(tmp_path, {"query_id": "q1", **answer})
    name = caught.value.mend.rpartition("documents=")[2].rstrip(".")
    assert run_of(tmp_path, {"query_id": "q1", **answer}, documents=name).frame["query"][0] == "q1"


def test_a_list_of_several_lists_is_named(tmp_path: Path) -> None:
    found = run_of(tmp_path, {"query_id": "q1", **TWO}, documents="ranker.documents")
    assert found.frame["doc"].to_list() == ["d1", "d2"]
    with pytest.raises(DataError, match="nested lists"):
        run_of(tmp_path, {"query_id": "q1", "ids": [["d1"], ["d2"]]})
    with pytest.raises(DataError, match="there is no list under 'x'"):
        run_of(tmp_path, {"query_id": "q1", **TWO}, documents="x")


@pytest.mark.parametrize("score", ["1" + "0" * 400, '1, "text": "\\ud800"'])
def test_numbers_and_signs_that_are_none(score: str, tmp_path: Path) -> None:
    """Numbers beyond all, and halves of signs, are refused with the line, and are no crash."""
    content = '{"q1": [{"id": "a", "score": ' + score + "}]}"
    with pytest.raises(DataError, match=r":1: "):
        run_of(tmp_path, content, known=False)


def test_scores_are_the_engines_or_none_are(tmp_path: Path) -> None:
    """Where distances rise in one answer, no answer's numbers are scores; so a scale is never mixed."""
    one, two = [["d1", 0.1]], [["d1", 0.1], ["d2", 0.7]]
    assert run_of(tmp_path, {"q1": one}).is_scored
    mixed = run_of(tmp_path, {"q1": one, "q2": two})
    assert (mixed.frame["value"].to_list(), mixed.is_scored) == ([-1.0, -1.0, -2.0], False)
    assert any("increases with the rank" in note for note in mixed.notes)
