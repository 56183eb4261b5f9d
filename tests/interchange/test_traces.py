"""Traces as questions, runs and sessions: three formats read alike, repeats merged, personal data masked on request."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from embassay.data.judged_runs import read_run_entries
from embassay.data.judged_runs.traces import TracedDocument, mask_personal_data, read_searches_from_traces
from embassay.errors import DataError, UsageError
from embassay.interchange.traces import import_search_traces_as_runs
from embassay.protocols.rag.sessions import read_search_sessions


def attribute(key: str, value: Any) -> dict[str, Any]:
    if isinstance(value, list):
        return {"key": key, "value": {"arrayValue": {"values": [attribute("", one)["value"] for one in value]}}}
    if isinstance(value, dict):
        return {"key": key, "value": {"kvlistValue": {"values": [attribute(k, v) for k, v in value.items()]}}}
    name = "stringValue" if isinstance(value, str) else "doubleValue"
    return {"key": key, "value": {name: value}}


def otlp(
    trace: str, name: str, attributes: dict[str, Any], *, parent: str = "", at: int = 0, status: int = 0
) -> dict[str, Any]:
    span = {
        "traceId": trace, "spanId": f"{trace}-{at}", "parentSpanId": parent, "name": name,
        "startTimeUnixNano": str(at * 10**9), "endTimeUnixNano": str(at * 10**9 + 250_000_000),
        "attributes": [attribute(key, value) for key, value in attributes.items()], "status": {"code": status},
    }  # fmt: skip
    return {"resourceSpans": [{"resource": {}, "scopeSpans": [{"spans": [span]}]}]}


def genai(query: str, *documents: tuple[str, float]) -> dict[str, Any]:
    hits = [{"id": key, "score": score} for key, score in documents]
    return {
        "gen_ai.operation.name": "retrieval", "gen_ai.retrieval.query.text": query,
        "gen_ai.retrieval.documents": hits,
    }  # fmt: skip


def openinference(query: str, *documents: tuple[str, float]) -> dict[str, Any]:
    flat: dict[str, Any] = {"openinference.span.kind": "RETRIEVER", "input.value": query}
    for place, (key, score) in enumerate(documents):
        flat[f"retrieval.documents.{place}.document.id"] = key
        flat[f"retrieval.documents.{place}.document.score"] = score
        flat[f"retrieval.documents.{place}.document.content"] = f"Text of {key}."
    return flat


def write(path: Path, *rows: Any) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


EXPECTED = (TracedDocument("d1", "", 0.9), TracedDocument("d2", "", 0.5))


def bare(documents: tuple[TracedDocument, ...]) -> tuple[TracedDocument, ...]:
    return tuple(TracedDocument(document.id, "", document.score) for document in documents)


def test_three_formats_are_read_alike(tmp_path: Path) -> None:
    """GenAI by OTLP, with documents as objects and as JSON in a text; OpenInference flat, nested and as Phoenix's
    table has it; Langfuse by API, export and SDK."""
    hits = [("d1", 0.9), ("d2", 0.5)]
    in_text = {**genai("how long?"), "gen_ai.retrieval.documents": json.dumps([{"id": k, "score": s} for k, s in hits])}
    nested = {
        "openinference": {"span": {"kind": "RETRIEVER"}}, "input": {"value": "how long?"},
        "retrieval": {"documents": [{"document": {"id": k, "score": s}} for k, s in hits]},
    }  # fmt: skip
    sdk = {"name": "store", "context": {"trace_id": "t"}, "parent_id": None, "start_time": "2026-01-02T03:04:05Z"}
    table = {f"attributes.{key}": value for key, value in openinference("how long?", *hits).items()}
    observed = {"type": "RETRIEVER", "name": "store", "input": {"query": "how long?"}}
    output = [{"id": k, "score": s} for k, s in hits]
    rows = {
        "otlp": otlp("t", "store", genai("how long?", *hits)),
        "otlp text": otlp("t", "store", in_text),
        "otlp openinference": otlp("t", "store", openinference("how long?", *hits)),
        "sdk": {**sdk, "attributes": openinference("how long?", *hits)},
        "phoenix nested": {**sdk, "attributes": nested},
        "phoenix table": {"name": "store", "context.trace_id": "t", **table},
        "langfuse api": {**observed, "traceId": "t", "startTime": "2026-01-02T03:04:05Z", "output": output},
        "langfuse export": {
            **observed, "trace_id": "t", "start_time": "2026-01-02 03:04:05.000", "input": json.dumps("how long?"),
            "output": json.dumps({"documents": output}),
        },
    }  # fmt: skip
    for format_, row in rows.items():
        [search] = read_searches_from_traces([write(tmp_path / "spans.jsonl", row)]).searches
        assert (search.query, search.stack, bare(search.documents)) == ("how long?", "store", EXPECTED), format_
        assert search.trace == "t", format_
    (tmp_path / "whole.json").write_text(json.dumps({"data": [rows["langfuse api"]]}, indent=2))
    assert len(read_searches_from_traces([tmp_path / "whole.json"]).searches) == 1
    (tmp_path / "list.json").write_text(json.dumps([rows["sdk"], rows["sdk"]]))
    assert len(read_searches_from_traces([tmp_path / "list.json"]).searches) == 2


def test_questions_runs_and_sessions(tmp_path: Path) -> None:
    """Worked by hand: two traces that ask alike are one question; one that searches twice is a session and no run; a
    failed search has no list; what a reranker made of a list is a run of its own."""
    root = {"input.value": "Where is the shop?", "openinference.span.kind": "CHAIN"}
    file = write(
        tmp_path / "spans.jsonl",
        otlp("a", "store", genai("How long is a refund?", ("d1", 0.9), ("d2", 0.5)), at=1),
        otlp("a", "rerank", {
            "openinference.span.kind": "RERANKER", "reranker.query": "How long is a refund?",
            "reranker.output_documents.0.document.id": "d2", "reranker.output_documents.1.document.id": "d1",
        }, at=2),
        otlp("b", "store", genai("how long is a  refund?", ("d9", 0.1)), at=3),
        otlp("c", "ask", root, at=4),
        otlp("c", "store", genai("shop address", ("d3", 0.5), ("d3", 0.4)), parent="c-4", at=5),
        otlp("c", "store", genai("shop location", ("d4", 0.5)), parent="c-4", at=6),
        otlp("d", "store", genai("Who pays?"), at=7, status=2),
        otlp("e", "store", {"gen_ai.operation.name": "retrieval", "gen_ai.retrieval.documents": "[]"}, at=8),
        otlp("f", "store", {"gen_ai.operation.name": "retrieval", "gen_ai.retrieval.query.text": "Lost?"}, at=9),
    )  # fmt: skip
    done = import_search_traces_as_runs([file], tmp_path / "out")
    queries = [json.loads(line) for line in (tmp_path / "out" / "queries.jsonl").read_text().splitlines()]
    assert [(row["text"], row["times"]) for row in queries] == [
        ("How long is a refund?", 2), ("Where is the shop?", 1), ("Who pays?", 1)
    ]  # fmt: skip
    assert done.runs == {"store": 1, "rerank": 1}
    run = read_run_entries(tmp_path / "out" / "runs" / "rerank.jsonl")
    assert run.frame["doc"].to_list() == ["d2", "d1"]
    sessions = read_search_sessions(tmp_path / "out" / "sessions.jsonl")
    shop = sessions[queries[1]["id"]]
    assert [(call.query, call.documents, call.seconds) for call in shop] == [
        ("shop address", ("d3",), 0.25), ("shop location", ("d4",), 0.25)
    ]  # fmt: skip
    assert queries[2]["id"] not in sessions
    assert (done.merged, done.several, done.failed, done.without_query, done.without_documents) == (1, 1, 1, 1, 1)
    assert len(list(done.notes())) == 6
    with pytest.raises(UsageError, match="not empty"):
        import_search_traces_as_runs([file], tmp_path / "out")


def test_near_duplicates_and_limits(tmp_path: Path) -> None:
    """A word more is the same question where that is asked for; of two stacks as many are drawn, the same again."""
    long = "How many days may pass before a customer of the shop has a refund"
    rows = [otlp(f"n{i}", "store", genai(long + end, ("d", 1.0)), at=i) for i, end in enumerate(("", " ?", " now"))]
    file = write(tmp_path / "near.jsonl", *rows)
    assert import_search_traces_as_runs([file], tmp_path / "near", near=0.8).questions == 1
    assert import_search_traces_as_runs([file], tmp_path / "exact", near=1.0).questions == 3
    stacks = [
        otlp(f"t{i}", "rare" if i % 10 == 0 else "usual", genai(f"{i} {'abcdefghij'[i % 10] * 9}?", ("d", 1.0)), at=i)
        for i in range(40)
    ]
    file = write(tmp_path / "stacks.jsonl", *stacks)
    drawn = [import_search_traces_as_runs([file], tmp_path / name, limit=6, near=1.0) for name in ("one", "two")]
    assert drawn[0].runs == drawn[1].runs == {"rare": 3, "usual": 3}
    for name in ("queries.jsonl", "runs/rare.jsonl"):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()


def test_personal_data_are_masked_on_request(tmp_path: Path) -> None:
    """In questions, queries and texts of documents; numbers of other kinds stay."""
    assert mask_personal_data("Card 4111 1111 1111 1111, host 10.0.0.12, +41 44 668 18 00.") == (
        "Card <card>, host <address>, <phone>."
    )
    assert mask_personal_data("Order 12345 of 2024-05-01 costs 1,299.00") == "Order 12345 of 2024-05-01 costs 1,299.00"
    documents = [{"content": "Mail eve@example.com", "score": 1.0}]
    row = {"type": "RETRIEVER", "traceId": "t", "name": "s", "input": "Is ada@example.org in?", "output": documents}
    file = write(tmp_path / "spans.jsonl", row)
    import_search_traces_as_runs([file], tmp_path / "masked", mask=True)
    written = "".join(path.read_text() for path in (tmp_path / "masked").rglob("*.jsonl"))
    assert "example" not in written
    assert "Is <email> in?" in written
    assert "Mail <email>" in written
    done = import_search_traces_as_runs([file], tmp_path / "plain")
    assert "personal data" in list(done.notes())[-1]
    assert "eve@example.com" in (tmp_path / "plain" / "corpus.jsonl").read_text()


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("Hello, my name is Ada Byron King and I sail.", "Hello, my name is <name> and I sail."),
        ("Who is Mrs. O'Neill's doctor?", "Who is Mrs. <name> doctor?"),
        ("Je m’appelle Élodie Brontë. Où est le port ?", "Je m’appelle <name>. Où est le port ?"),
        ("Ich heiße Jürgen, bitte um Hilfe.", "Ich heiße <name>, bitte um Hilfe."),
        ("Kind regards,\nMaria Silva", "Kind regards,\n<name>"),
        ("Frau Dr. Weiß fragt nach dem Vertrag", "Frau <name> fragt nach dem Vertrag"),
        ("Is Madame Curie in Paris?", "Is Madame <name> in Paris?"),
        ("Does Herr of the manor exist in Python 3?", "Does Herr of the manor exist in Python 3?"),
        ("Best practice for Kubernetes in Berlin", "Best practice for Kubernetes in Berlin"),
    ],
)
def test_announced_names_are_masked(text: str, masked: str) -> None:
    """After a title, an introduction or a farewell, in five languages; other words with capitals stay."""
    assert mask_personal_data(text) == masked


def test_listed_names_are_masked(tmp_path: Path) -> None:
    """As whole words in any case, the longest first; without --mask too."""
    listed, out = tmp_path / "names.txt", tmp_path / "out"
    listed.write_text("Ada\nAda King\n\n", "utf-8")
    row = {"type": "RETRIEVER", "traceId": "t", "name": "s", "input": "Did ADA KING or ada meet Adam?", "output": []}
    import_search_traces_as_runs([write(tmp_path / "spans.jsonl", row)], out, mask_words=listed)
    assert "Did <name> or <name> meet Adam?" in (out / "queries.jsonl").read_text()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "empty"), ("{", "not JSON"), ('{"a": 1}\n', "not a span"), ("[1]", "not a span"),
        ('{"resourceSpans": [{"scopeSpans": [{"spans": [{"attributes": [1]}]}]}]}', "OTLP"),
        ('{"attributes": {"input.value": "x"}}\n{', "not JSON"),
        ('{"attributes": {"openinference.span.kind": "LLM"}}', "no search"),
    ],
)  # fmt: skip
def test_what_is_no_trace_is_refused(content: str, message: str, tmp_path: Path) -> None:
    """In one sentence, with the file."""
    path = tmp_path / "odd.jsonl"
    path.write_text(content)
    with pytest.raises(DataError, match=message) as told:
        read_searches_from_traces([path])
    assert told.value.path == path
    with pytest.raises(DataError, match="cannot be read"):
        read_searches_from_traces([tmp_path / "nowhere"])


def test_the_command(tmp_path: Path) -> None:
    """What there is, and where; as JSON the counts."""
    from typer.testing import CliRunner

    from embassay.cli.main import build_app_with_commands

    file = write(tmp_path / "spans.jsonl", otlp("a", "store", genai("How long?", ("d1", 1.0))))
    told = CliRunner().invoke(
        build_app_with_commands("data"), ["data", "traces", str(file), "--out", str(tmp_path / "out")]
    )
    assert told.exit_code == 0, told.output
    assert "1 question from 1 spans. Runs: store (1)." in told.output
    plain = ["data", "traces", str(file), "--out", str(tmp_path / "json"), "--json", "--mask"]
    assert json.loads(CliRunner().invoke(build_app_with_commands("data"), plain).stdout)["masked"] is True


@pytest.mark.slow
def test_what_opentelemetry_exports(tmp_path: Path) -> None:
    """Its SDK's own spans, with the names of OpenInference's package, by its own encoder and as it prints them."""
    pytest.importorskip("opentelemetry.sdk")
    encoder = pytest.importorskip("opentelemetry.exporter.otlp.proto.common.trace_encoder")
    conventions = pytest.importorskip("openinference.semconv.trace")
    from google.protobuf.json_format import MessageToJson
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    names, document = conventions.SpanAttributes, conventions.DocumentAttributes
    prefix = f"{names.RETRIEVAL_DOCUMENTS}.0"
    attributes = {
        names.OPENINFERENCE_SPAN_KIND: conventions.OpenInferenceSpanKindValues.RETRIEVER.value,
        names.INPUT_VALUE: "How long?", f"{prefix}.{document.DOCUMENT_ID}": "d1",
        f"{prefix}.{document.DOCUMENT_SCORE}": 0.5, f"{prefix}.{document.DOCUMENT_CONTENT}": "Five days.",
    }  # fmt: skip
    with provider.get_tracer("t").start_as_current_span("store", attributes=attributes):
        pass
    spans = exporter.get_finished_spans()
    written = {
        "otlp": MessageToJson(encoder.encode_spans(spans), indent=None), "sdk": spans[0].to_json(indent=None)
    }  # fmt: skip
    for name, line in written.items():
        (tmp_path / name).write_text(line + "\n")
        [search] = read_searches_from_traces([tmp_path / name]).searches
        assert search.query == "How long?"
        assert search.documents == (TracedDocument("d1", "Five days.", 0.5),)
        assert search.seconds is not None


_LANGFUSE = """
import os, sys
from langfuse import Langfuse
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
exporter, provider = InMemorySpanExporter(), TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(exporter))
client = Langfuse(public_key="p", secret_key="s", base_url="http://127.0.0.1:9", tracer_provider=provider)
with client.start_as_current_observation(as_type="chain", name="ask", input={"question": "How long?"}):
    with client.start_as_current_observation(as_type="retriever", name="store", input={"query": "days"}) as span:
        span.update(output=[{"id": "d1", "page_content": "Five days.", "score": 0.5}])
with open(sys.argv[1], "w") as file:
    file.writelines(span.to_json(indent=None) + "\\n" for span in exporter.get_finished_spans())
os._exit(0)
"""


@pytest.mark.slow
def test_what_langfuse_exports(tmp_path: Path) -> None:
    """Its SDK's own observations; in a process of its own, since its client keeps trying to send."""
    pytest.importorskip("langfuse")
    subprocess.run([sys.executable, "-c", _LANGFUSE, str(tmp_path / "spans")], check=True, timeout=120)
    [search] = read_searches_from_traces([tmp_path / "spans"]).searches
    assert (search.query, search.question, search.stack) == ("days", "How long?", "store")
    assert search.documents == (TracedDocument("d1", "Five days.", 0.5),)


def test_files_are_read_as_runs_are(tmp_path: Path) -> None:
    """With a byte order mark and packed; what is no UTF-8 is told with its line."""
    lines = [json.dumps(otlp(f"t{n}", "search", genai(f"How {n}?", ("d1", 0.5)), at=n)) for n in (1, 2)]
    content = "\n".join(lines).encode()
    (tmp_path / "plain.jsonl").write_bytes(content)
    expected = read_searches_from_traces([tmp_path / "plain.jsonl"])
    for name, changed in (("mark.jsonl", b"\xef\xbb\xbf" + content), ("packed.jsonl", gzip.compress(content))):
        (tmp_path / name).write_bytes(changed)
        assert read_searches_from_traces([tmp_path / name]) == expected
    (tmp_path / "odd.jsonl").write_bytes(content.replace(b"How 2", b"H\xf6w 2"))
    with pytest.raises(DataError, match="not UTF-8") as raised:
        read_searches_from_traces([tmp_path / "odd.jsonl"])
    assert "odd.jsonl:2" in str(raised.value)
