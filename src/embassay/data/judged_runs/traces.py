"""Searches in traces: spans of OpenTelemetry (GenAI), OpenInference (Phoenix) and Langfuse, read alike.

A line of a file is an export of OTLP as JSON (`resourceSpans`), a span as SDKs and Phoenix write it (`attributes`), or
an observation of Langfuse (`type`, `input`, `output`). Attribute names are those of the GenAI semantic conventions
(`gen_ai.retrieval.*`), of OpenInference (`retrieval.documents`, `reranker.output_documents`) and of Langfuse's SDK.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from embassay.data.judged_runs.content import read_unpacked_bytes, split_nonblank_lines
from embassay.errors import DataError
from embassay.limits import parse_json_written_by_embassay, read_bounded_file

Flat = Mapping[str, Any]
"""Attributes by their whole names."""
_OTLP_VALUES = ("stringValue", "intValue", "doubleValue", "boolValue", "bytesValue")
_KINDS = {"RETRIEVER": "retriever", "RERANKER": "reranker"}
_QUESTION_KEYS = ("query", "question", "input", "text", "search_query", "q", "messages")
_ID_KEYS = ("id", "document.id", "doc_id", "_id", "chunk_id", "node_id")
_TEXT_KEYS = ("content", "document.content", "text", "page_content", "body")
_SCORE_KEYS = ("score", "document.score", "similarity", "relevance_score")


@dataclass(frozen=True)
class TracedDocument:
    """What a search brought: an id, a text, or both, and its score where the trace says one."""

    id: str = ""
    text: str = ""
    score: float | None = None

    def as_dict(self) -> dict[str, Any]:
        """As a document of a run."""
        plain = {"id": self.id, "text": self.text, "score": self.score}
        return {name: value for name, value in plain.items() if value not in ("", None)}


@dataclass(frozen=True)
class TracedSearch:
    """One search of a trace, by a `stack` (the name of its span), with what was asked and what came back.

    `is_failed` where the span ended in an error: what it brought then is no list. `start` is in seconds, `question` is
    what the whole trace was asked, where its first span says it.
    """

    trace: str
    stack: str
    query: str
    documents: tuple[TracedDocument, ...]
    start: float = 0.0
    seconds: float | None = None
    usd: float | None = None
    session: str = ""
    is_failed: bool = False
    is_reranker: bool = False
    question: str = ""


@dataclass(frozen=True)
class SearchesReadFromTraces:
    """The searches of files, in order of time; `spans` were read, `without_query` and `without_documents` searches left
    out."""

    searches: tuple[TracedSearch, ...]
    spans: int
    without_query: int
    without_documents: int


@dataclass(frozen=True)
class _TraceSpan:
    """A span of any of the formats."""

    trace: str
    name: str
    kind: str
    attributes: Flat
    start: float
    end: float | None
    is_root: bool
    is_failed: bool
    usd: float | None = None
    session: str = ""
    extra: Mapping[str, Any] = field(default_factory=dict)


def read_searches_from_traces(paths: Sequence[Path]) -> SearchesReadFromTraces:
    """The searches in files of JSON lines, or of one JSON value. DataError, with the line, for one that is no span, and
    where no file has a search."""
    spans = [span for path in paths for span in _read_trace_spans_of_file(path)]
    questions: dict[str, str] = {}
    for span in sorted(spans, key=lambda span: not span.is_root):
        if span.kind not in _KINDS.values() and (asked := _find_span_query(span)):
            questions.setdefault(span.trace, asked)
    searches, no_query, no_documents = [], 0, 0
    for span in spans:
        if span.kind not in _KINDS.values():
            continue
        query, documents = _find_span_query(span), _find_span_documents(span)
        no_query += not query
        no_documents += bool(query) and documents is None and not span.is_failed
        if query and (documents is not None or span.is_failed):
            searches.append(_make_traced_search_of_span(span, query, documents or (), questions.get(span.trace, "")))
    if not searches:
        raise DataError(
            "the traces contain no searches", path=paths[0],
            expected="a span of kind RETRIEVER, or with gen_ai.operation.name=retrieval, with its query and documents",
            found=f"{len(spans):,} spans", mend="Make the instrumentation record retriever input and output."
        )  # fmt: skip
    searches.sort(key=lambda search: (search.start, search.trace))
    return SearchesReadFromTraces(tuple(searches), len(spans), no_query, no_documents)


def _make_traced_search_of_span(
    span: _TraceSpan, query: str, documents: tuple[TracedDocument, ...], question: str
) -> TracedSearch:
    seconds = None if span.end is None or span.end < span.start else round(span.end - span.start, 6)
    return TracedSearch(
        span.trace, span.name or span.kind, query, documents, span.start, seconds, span.usd, span.session,
        span.is_failed, span.kind == "reranker", question
    )  # fmt: skip


def _read_trace_spans_of_file(path: Path) -> Iterator[_TraceSpan]:
    for number, value in _iterate_json_lines_or_value(read_unpacked_bytes(path), path):
        rows = value if isinstance(value, list) else [value]
        for row in rows:
            yield from _parse_spans_of_row(row, path, number)


def _iterate_json_lines_or_value(content: bytes, path: Path) -> Iterator[tuple[int, Any]]:
    """The lines of a file, or its one value."""
    lines = list(split_nonblank_lines(path, content))
    for number, line in lines:
        try:
            yield (number, json.loads(line) if line.lstrip().startswith(b"[") else parse_json_written_by_embassay(line))
        except (ValueError, RecursionError) as error:
            # Only the first line can be the beginning of one value that goes over all of them.
            if number != lines[0][0]:
                raise DataError("this line is not JSON", path=path, line=number, found=str(error)[:80]) from None
            yield 1, _parse_whole_file_as_json(content, path, error)
            return


def _parse_whole_file_as_json(content: bytes, path: Path, error: Exception) -> Any:
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        raise DataError("this is not JSON", path=path, line=1, found=str(error)[:80]) from None


def _parse_spans_of_row(row: Any, path: Path, line: int) -> Iterator[_TraceSpan]:
    if isinstance(row, dict) and "resourceSpans" in row:
        yield from _parse_otlp_spans(row, path, line)
    elif isinstance(row, dict) and isinstance(row.get("data"), list) and "attributes" not in row:
        for inner in row["data"]:
            yield from _parse_spans_of_row(inner, path, line)
    elif isinstance(row, dict) and "type" in row and ("traceId" in row or "trace_id" in row):
        yield _parse_langfuse_span(row)
    elif isinstance(row, dict) and any(name == "attributes" or name.startswith("attributes.") for name in row):
        yield _parse_sdk_span(row)
    else:
        raise DataError(
            "this line is not a span", path=path, line=line, found=repr(row)[:80],
            expected="OTLP resourceSpans, a span with attributes, or a Langfuse observation",
            mend="Export the traces as JSON Lines."
        )  # fmt: skip


def _parse_otlp_spans(row: Mapping[str, Any], path: Path, line: int) -> Iterator[_TraceSpan]:
    try:
        for resource in row["resourceSpans"]:
            for scope in resource.get("scopeSpans", ()):
                for span in scope.get("spans", ()):
                    flat = _flatten_object(
                        {entry["key"]: _parse_otlp_value(entry["value"]) for entry in span.get("attributes", ())}
                    )
                    yield _make_trace_span(
                        str(span.get("traceId", "")), str(span.get("name", "")), flat,
                        _nanoseconds_to_seconds(span.get("startTimeUnixNano")),
                        _nanoseconds_to_seconds(span.get("endTimeUnixNano")),
                        parent=span.get("parentSpanId"),
                        status=str((span.get("status") or {}).get("code", ""))
                    )  # fmt: skip
    except (AttributeError, KeyError, TypeError) as error:
        raise DataError(
            "resourceSpans do not follow the OTLP format", path=path, line=line, found=repr(error)[:80]
        ) from None


def _parse_otlp_value(value: Any) -> Any:
    if not isinstance(value, dict):
        raise TypeError("a value is not an object")
    if "arrayValue" in value:
        return [_parse_otlp_value(inner) for inner in value["arrayValue"].get("values", ())]
    if "kvlistValue" in value:
        return {entry["key"]: _parse_otlp_value(entry["value"]) for entry in value["kvlistValue"].get("values", ())}
    return next((value[name] for name in _OTLP_VALUES if name in value), None)


def _nanoseconds_to_seconds(value: Any) -> float | None:
    try:
        return int(value) / 1e9
    except (TypeError, ValueError):
        return None


def _parse_sdk_span(row: Mapping[str, Any]) -> _TraceSpan:
    """Parse a span as the SDK's console exporter and Phoenix write it."""
    flat = _flatten_object(row)
    attributes = {
        name.removeprefix("attributes."): value for name, value in flat.items() if name.startswith("attributes.")
    }
    trace = flat.get("context.trace_id", flat.get("trace_id", ""))
    return _make_trace_span(
        str(trace), str(row.get("name", "")), attributes, _parse_time_as_seconds(row.get("start_time")),
        _parse_time_as_seconds(row.get("end_time")),
        parent=row.get("parent_id"), status=str(flat.get("status.status_code", flat.get("status_code", ""))),
        kind=str(row.get("span_kind", ""))
    )  # fmt: skip


def _parse_langfuse_span(row: Mapping[str, Any]) -> _TraceSpan:
    """Parse a Langfuse observation, with names as its API or its exports write them."""

    def take_first_value(*names: str) -> Any:
        return next((row[name] for name in names if row.get(name) not in (None, "")), None)

    attributes = {"langfuse.observation.input": row.get("input"), "langfuse.observation.output": row.get("output")}
    cost = take_first_value("totalCost", "total_cost", "calculatedTotalCost", "calculated_total_cost")
    usd = float(cost) if isinstance(cost, int | float) and not isinstance(cost, bool) and cost >= 0 else None
    kind = str(row["type"]).lower()
    start = _parse_time_as_seconds(take_first_value("startTime", "start_time"))
    return _TraceSpan(
        str(take_first_value("traceId", "trace_id") or ""), str(row.get("name") or ""), kind, attributes, start or 0.0,
        _parse_time_as_seconds(take_first_value("endTime", "end_time")),
        take_first_value("parentObservationId", "parent_observation_id") is None,
        str(row.get("level", "")).upper() == "ERROR", usd, str(take_first_value("sessionId", "session_id") or "")
    )  # fmt: skip


def _make_trace_span(
    trace: str,
    name: str,
    attributes: Flat,
    start: float | None,
    end: float | None,
    *,
    parent: Any,
    status: str,
    kind: str = "",
) -> _TraceSpan:
    session = next(
        (
            str(attributes[key])
            for key in ("session.id", "gen_ai.conversation.id", "langfuse.session.id")
            if attributes.get(key)
        ),
        "",
    )
    cost = attributes.get("llm.cost.total")
    return _TraceSpan(
        trace, name, _find_span_kind(attributes, kind), attributes, start or 0.0, end, not parent,
        status.upper() in ("2", "ERROR", "STATUS_CODE_ERROR", "STATUSCODE.ERROR"),
        float(cost) if isinstance(cost, int | float) else None, session
    )  # fmt: skip


def _find_span_kind(attributes: Flat, kind: str) -> str:
    stated = str(attributes.get("openinference.span.kind") or kind).upper()
    if stated in _KINDS:
        return _KINDS[stated]
    if attributes.get("gen_ai.operation.name") == "retrieval":
        return "retriever"
    return str(attributes.get("langfuse.observation.type") or "").lower()


def _flatten_object(value: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Flatten objects within objects to the whole name of each value; lists of objects stay."""
    flat: dict[str, Any] = {}
    for name, inner in value.items():
        whole = f"{prefix}{name}"
        if isinstance(inner, dict):
            flat |= _flatten_object(inner, f"{whole}.")
        else:
            flat[whole] = inner
    return flat


def _parse_time_as_seconds(value: Any) -> float | None:
    """Parse a time in ISO 8601, with or without a zone, or in seconds, as seconds."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    try:
        moment = datetime.fromisoformat(str(value).replace("Z", "+00:00"))
    except ValueError:
        return None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def _find_span_query(span: _TraceSpan) -> str:
    names = ("gen_ai.retrieval.query.text", "reranker.query", "input.value", "langfuse.observation.input")
    value = next((span.attributes[name] for name in names if span.attributes.get(name)), None)
    return " ".join(_find_question_text(_unpack_json_text(value)).split())


def _unpack_json_text(value: Any) -> Any:
    """Unpack JSON within a text, where it is one."""
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "[", '"'):
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            return value
    return value


def _find_question_text(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        # The last message of a conversation is what was asked.
        return _find_question_text(value[-1]) if value else ""
    if isinstance(value, dict):
        for name in (*_QUESTION_KEYS, "content"):
            if name in value and (text := _find_question_text(value[name])):
                return text
    return ""


def _find_span_documents(span: _TraceSpan) -> tuple[TracedDocument, ...] | None:
    """Find the documents that the search brought; None where the trace does not say."""
    attributes = span.attributes
    prefix = "reranker.output_documents" if span.kind == "reranker" else "retrieval.documents"
    for name in ("gen_ai.retrieval.documents", prefix):
        if name in attributes:
            return _read_traced_documents(_unpack_json_text(attributes[name]))
    if numbered := _read_documents_of_trace_attributes(attributes, f"{prefix}."):
        return numbered
    for name in ("langfuse.observation.output", "output.value"):
        if attributes.get(name) is not None:
            return _read_traced_documents(_unpack_json_text(attributes[name]))
    return None


def _read_documents_of_trace_attributes(attributes: Flat, prefix: str) -> tuple[TracedDocument, ...]:
    by_number: dict[int, dict[str, Any]] = {}
    for name, value in attributes.items():
        match = re.fullmatch(r"(\d{1,6})\.(.+)", name.removeprefix(prefix)) if name.startswith(prefix) else None
        if match is not None:
            by_number.setdefault(int(match[1]), {})[match[2]] = value
    return tuple(_read_traced_document(by_number[number]) for number in sorted(by_number))


def _read_traced_documents(value: Any) -> tuple[TracedDocument, ...] | None:
    if isinstance(value, dict):
        inner = next(
            (value[name] for name in ("documents", "results", "hits", "nodes", "matches") if name in value), None
        )
        return None if inner is None else _read_traced_documents(inner)
    if not isinstance(value, list):
        return None
    return tuple(_read_traced_document(_unpack_json_text(entry)) for entry in value)


def _read_traced_document(entry: Any) -> TracedDocument:
    if not isinstance(entry, dict):
        return TracedDocument(id=str(entry))
    flat = _flatten_object(entry)
    metadata = _unpack_json_text(flat.get("metadata", flat.get("document.metadata")))
    more = _flatten_object(metadata) if isinstance(metadata, dict) else {}
    score = next((flat[name] for name in _SCORE_KEYS if isinstance(flat.get(name), int | float)), None)
    key = next((flat[name] for name in _ID_KEYS if flat.get(name) not in (None, "")), None)
    if key is None:
        named = {**more, **{name.removeprefix("metadata."): value for name, value in flat.items()}}
        key = next((named[name] for name in _ID_KEYS if named.get(name) not in (None, "")), "")
    text = next((str(flat[name]) for name in _TEXT_KEYS if flat.get(name)), "")
    return TracedDocument(str(key), text, None if score is None else float(score))


_MASKS = (
    ("email", re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+")),
    ("iban", re.compile(r"\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){3,7}(?: ?[A-Z0-9]{1,3})?\b")),
    ("card", re.compile(r"\b\d{4}(?:[ -]?\d{4}){3}\b")),
    ("address", re.compile(r"\b\d{1,3}(?:\.\d{1,3}){3}\b")),
    ("phone", re.compile(r"(?<![\w.])(?!\d{4}-\d\d-\d\d)\+?\d(?:[ ()/-]?\d){7,14}(?!\w)")),
)
_ANNOUNCED = re.compile(
    # What comes before a name, in English, German, French, Spanish and Italian; up to three words with capitals follow.
    r"\b((?:Mr|Mrs|Ms|Mx|Dr|Prof|Herrn?|Frau|Monsieur|Madame|Mme|Mlle|Sra?|Señora?|Signora?)\.?"
    r"|(?i:my name is|mein name ist|ich hei(?:ß|ss)e|je m[’']appelle|mon nom est|me llamo|mi nombre es|mi chiamo)"
    r"|(?i:regards|sincerely|grüße|grüßen|cordialement|saludos|saluti),?)"
    # A dot is a part of what is short: an initial, or another title.
    r"(\s+)(?:[A-ZÀ-ÖØ-ÞĀ-Ž](?:\w{0,2}\.|[\w’'-]*)(?:\s+(?=[A-ZÀ-ÖØ-ÞĀ-Ž])|(?!\w))){1,3}"
)


def mask_personal_data(text: str, words: re.Pattern[str] | None = None) -> str:
    """The text without e-mail addresses, IBANs, card and telephone numbers, IP addresses, names that a title, an
    introduction or a farewell announces, and what `words` finds; other names stay.

    >>> mask_personal_data("Write to ada@example.org or call +49 30 1234567, IBAN DE89370400440532013000")
    'Write to <email> or call <phone>, IBAN <iban>'
    >>> mask_personal_data("My name is Ada King. Does Dr. Boole still owe me the Analytical Engine?")
    'My name is <name>. Does Dr. <name> still owe me the Analytical Engine?'
    """
    for name, pattern in _MASKS:
        text = pattern.sub(f"<{name}>", text)
    text = _ANNOUNCED.sub(r"\1\2<name>", text)
    return text if words is None else words.sub("<name>", text)


def read_masked_words_pattern(path: Path) -> re.Pattern[str] | None:
    """Build the pattern that finds the words of a file, in any case; None where it has none."""
    lines = read_bounded_file(path).decode("utf-8", "replace").splitlines()
    # The longest first: a whole name before a part of it.
    words = sorted({line.strip() for line in lines if line.strip()}, key=len, reverse=True)
    return re.compile(rf"(?i)(?<!\w)(?:{'|'.join(map(re.escape, words))})(?!\w)") if words else None


def mask_personal_data_of_search(search: TracedSearch, words: re.Pattern[str] | None = None) -> TracedSearch:
    """Mask the texts of a search; ids and names of stacks stay."""
    documents = tuple(replace(document, text=mask_personal_data(document.text, words)) for document in search.documents)
    query, question = mask_personal_data(search.query, words), mask_personal_data(search.question, words)
    return replace(search, query=query, question=question, documents=documents)
