"""What engines answer with, as a run: LangChain, LlamaIndex, Elasticsearch, OpenSearch and ragas, by ids or by text.

A file is a JSON object of query -> answer, or has an object with the query and its answer on each line:

    {"query_id": "q1", "documents": [{"page_content": "...", "metadata": {"id": "d7"}}]}     LangChain
    {"query_id": "q1", "source_nodes": [{"node": {"id_": "d7", "text": "..."}, "score": 0.8}]}     LlamaIndex
    {"query_id": "q1", "hits": {"hits": [{"_id": "d7", "_score": 3.2, "_source": {...}}]}}     _search
    {"query_id": "q1", "columns": [{"name": "_id"}, ...], "values": [["d7", ...], ...]}     ES|QL
    {"user_input": "How ...?", "retrieved_contexts": ["...", "..."]}     ragas

ragas' table may be CSV too, its lists printed in a cell. What has no id of the corpus is found there by its text.
"""

from __future__ import annotations

import ast
import csv
import hashlib
import io
import json
import math
import re
import tokenize
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from embassay.data.rows import plain_number, shown
from embassay.errors import DataError
from embassay.limits import LINE, bounded_json

LISTS = (
    "source_nodes", "nodes", "documents", "source_documents", "docs", "context", "retrieved_contexts", "contexts",
    "hits", "response", "results", "artifact", "body",
)  # fmt: skip
"""Keys under which an answer stands."""
QUERIES = ("query_id", "qid", "query-id", "id", "user_input", "question", "query", "input")
_IDS = ("doc_id", "id", "_id", "id_", "node_id", "docid", "document_id", "chunk_id")
_TEXTS = ("page_content", "text", "content", "body", "passage", "chunk")
_SCORES = ("score", "_score", "relevance_score", "similarity")
_LONGEST_ID = 200
"""Characters of a text without a blank up to which it may be an id."""
_LEAST_TEXT = 20
"""Characters from which on a text may be found inside a passage, or a passage inside a text."""


@dataclass(frozen=True)
class Hit:
    """An item of an answer: the ids it may be known under, its text, score and place in a document, as far as it says;
    `line` is that of its answer."""

    query: str
    ids: tuple[str, ...]
    text: str
    score: float | None
    rank: int
    line: int
    document: str = ""
    start: int | None = None
    end: int | None = None
    is_partial: bool = False
    """Whether its engine says that the answer is not whole."""


@dataclass
class Known:
    """The corpus and the questions that answers are matched with: id -> text of passages, text -> id of questions.

    `unmatched` counts the items of answers whose text is in no passage; they stay in the run, as documents that nobody
    judged.
    """

    passages: Mapping[str, str]
    questions: Mapping[str, str] = field(default_factory=dict)
    matched: int = 0
    unmatched: int = 0

    def __post_init__(self) -> None:
        self._by_text: dict[str, str] = {}
        self._by_words: dict[str, list[str]] = {}
        self._plain = {key: plain(text) for key, text in self.passages.items()}
        for key, text in self._plain.items():
            self._by_text.setdefault(text, key)
            for run in set(_runs(text)):
                self._by_words.setdefault(run, []).append(key)
        self._asked = {plain(text): key for key, text in self.questions.items()}

    def question(self, asked: str) -> str:
        """The id of a question given by its id or its text; as given where it is neither."""
        return asked if asked in self.questions else self._asked.get(plain(asked), asked)

    def passage(self, text: str) -> str | None:
        """The passage with this text, else the one that shares most with it, one being inside the other or both half
        the same; None where there is none."""
        wanted = plain(text)
        if wanted in self._by_text:
            return self._by_text[wanted]
        if len(wanted) < _LEAST_TEXT:
            return None
        votes = Counter(key for run in set(_runs(wanted)) for key in self._by_words.get(run, ()))
        if not votes:
            return None
        most = max(votes.values())
        best = min(
            (key for key, count in votes.items() if count == most), key=lambda key: len(self._plain[key])
        )
        least = max(1, min(len(set(_runs(wanted))), len(set(_runs(self._plain[best])))))
        return best if 2 * most >= least else None


def plain(text: str) -> str:
    """A text without what converters change: its words in small letters, a blank between them."""
    return " ".join(re.findall(r"\w+", text.casefold()))


def _runs(text: str) -> Iterator[str]:
    """Its runs of five words, or all of it where it has fewer."""
    words = text.split(" ")
    if len(words) < 5:
        yield text
    for place in range(len(words) - 4):
        yield " ".join(words[place : place + 5])


def is_answer(content: bytes) -> bool:
    """Whether the text of a run file is what an engine answered: JSON whose first object has an answer's key, or whose
    values are answers; or a CSV of ragas."""
    if _listed(content):
        return True
    first = content.lstrip()[:1]
    if first not in (b"{", b"["):
        return False
    try:
        value = _first_value(content)
    except ValueError:
        return True  # whose reader says why it cannot be used
    if isinstance(value, list):
        value = value[0] if value else None
    if not isinstance(value, dict):
        return False
    if (
        any(key in value for key in LISTS if key != "body")
        or "responses" in value
        or _refusal(value)
        or _table(value)
    ):
        return True
    if any(_is_answer_within(value) for value in value.values()):
        return True
    return bool(value) and all(isinstance(value, list | dict) for value in value.values())


def _is_partial(answer: Any) -> bool:
    """Whether a _search timed out, or lost shards, or ES|QL says so: then it answers with what it has, and no error."""
    for key in ("", "response", "body"):
        level = answer.get(key) if key and isinstance(answer, dict) else answer
        shards = level.get("_shards") if isinstance(level, dict) else None
        if isinstance(level, dict) and (
            level.get("timed_out") is True
            or level.get("is_partial") is True
            or (isinstance(shards, dict) and shards.get("failed"))
        ):
            return True
    return False


def _is_answer_within(value: Any) -> bool:
    """Whether an answer stands in it, as under the name of a component of Haystack."""
    return isinstance(value, dict) and any(isinstance(value.get(key), list | dict) for key in LISTS)


def _refusal(record: Any) -> str:
    """What an engine says in place of an answer; empty where it is none."""
    error = record.get("error") if isinstance(record, dict) else None
    if not isinstance(error, dict) or "hits" in record:
        return ""
    return ": ".join(str(error[key]) for key in ("type", "reason") if error.get(key)) or "an error"


def _first_value(content: bytes) -> Any:
    """The value in the first line, or in all; None for what is no JSON, ValueError for JSON that cannot be used."""
    line = content.lstrip().partition(b"\n")[0]
    with suppress(ValueError):
        return bounded_json(line)
    try:
        return bounded_json(content)
    except (json.JSONDecodeError, UnicodeDecodeError):
        return None


def hits_of(path: Path, content: bytes, mapping: Mapping[str, str]) -> list[Hit]:
    """The items of all answers in a file, in its order. DataError, with the line where there is one, for what is no
    answer."""
    hits = []
    for line, query, answer in _answers(path, content, mapping):
        if refusal := _refusal(answer):
            raise DataError(
                "the engine answered with an error", path=path, line=line, found=refusal,
                mend="Ask it again, or leave the question out: then it counts as not answered.",
            )  # fmt: skip
        items = _items(answer)
        if items is None:
            raise DataError(
                "an answer cannot be read", path=path, line=line,
                expected="a list of documents, document -> score, or hits of a _search", found=shown(answer),
                mend="See docs/rag_score.md for what each engine writes.",
            )  # fmt: skip
        named = _named_ids(answer)
        for rank, item in enumerate(items, 1):
            hit = _hit(path, query, item, named[rank - 1 : rank], rank, line, mapping)
            hits.append(replace(hit, is_partial=_is_partial(answer)))
    if not hits:
        raise DataError("no answer holds a document", path=path, mend="Check that the engine found anything.")
    return hits


def _answers(path: Path, content: bytes, mapping: Mapping[str, str]) -> Iterator[tuple[int, str, Any]]:
    """Line, query and answer of each."""
    if _listed(content):
        yield from _of_table(path, content)
        return
    whole, fault = None, None
    try:
        whole = bounded_json(content)
    except ValueError as error:
        fault = error
    if isinstance(whole, dict) and "responses" in whole:
        raise DataError(
            "the answers of an _msearch do not say to which questions they are", path=path,
            mend='Write one object per line: {"query_id": "q1", "hits": {"hits": [...]}}.',
        )  # fmt: skip
    if isinstance(whole, dict) and not any(key in whole for key in LISTS) and _query(whole, mapping) is None:
        yield from ((1, str(query), answer) for query, answer in whole.items())
        return
    records: Iterable[tuple[int, Any]]
    if isinstance(whole, list | dict):
        records = ((1, record) for record in (whole if isinstance(whole, list) else [whole]))
    else:
        records = _lines(path, content, fault)
    for line, record in records:
        query = _query(record, mapping)
        if query is None:
            raise DataError(
                "the answer does not say which question it is to", path=path, line=line,
                expected=f"a key such as {', '.join(QUERIES[:3])}, or user_input", found=shown(record),
                mend="Add it, or name it: --map query_id=KEY.",
            )  # fmt: skip
        yield line, query, record


_CONTEXTS, _CONTEXT_IDS = "retrieved_contexts", "retrieved_context_ids"


def _listed(content: bytes) -> bool:
    """Whether it is a CSV with ragas' columns: a question, and a list of contexts in one cell."""
    names = content.lstrip().partition(b"\n")[0].decode("utf-8", "replace").strip().split(",")
    heads = {name.strip(' "') for name in names}
    return _CONTEXTS in heads and bool(heads & set(QUERIES))


def _of_table(path: Path, content: bytes) -> Iterator[tuple[int, str, Any]]:
    csv.field_size_limit(LINE.most)
    rows = csv.DictReader(io.StringIO(content.decode("utf-8").lstrip()))
    for number, row in enumerate(rows, 1):
        query = _query(row, {})
        lists = {name: _printed(row[name] or "") for name in (_CONTEXTS, _CONTEXT_IDS) if name in row}
        if query is None or None in lists.values():
            raise DataError(
                f"row {number} holds no question, or no list of contexts", path=path, line=rows.line_num,
                expected="a list in brackets, its texts in quotation marks", found=shown(row[_CONTEXTS]),
                mend="Write JSON instead: dataset.to_jsonl(PATH) in ragas.",
            )  # fmt: skip
        yield rows.line_num, query, lists


def _printed(cell: str) -> list[str] | None:
    """The texts of a list as JSON, Python or numpy print it; None for what is none, as one that was cut."""
    try:
        ids = bounded_json(cell)
        return list(map(str, ids)) if isinstance(ids, list) else None
    except ValueError:
        pass
    try:
        parts = list(tokenize.generate_tokens(io.StringIO(cell).readline))
        texts = [str(ast.literal_eval(part.string)) for part in parts if part.type == tokenize.STRING]
    except (tokenize.TokenError, SyntaxError, ValueError):
        return None
    others = "".join(part.string.strip() for part in parts if part.type != tokenize.STRING)
    return texts if re.fullmatch(r"\[,*\]", others) else None


def _table(answer: Any) -> list[dict[str, Any]]:
    """The rows of an ES|QL or SQL answer, as objects by the names of its columns; none where it is no such answer."""
    if not isinstance(answer, dict) or not isinstance(columns := answer.get("columns"), list):
        return []
    rows = answer.get("values", answer.get("rows"))
    names = [str(column.get("name")) for column in columns if isinstance(column, dict) and "name" in column]
    if not isinstance(rows, list) or not names or len(names) != len(columns):
        return []
    if any(not isinstance(row, list) for row in rows):
        return []
    if any(len(row) != len(names) for row in rows) and len(rows) == len(names):
        rows = list(zip(*rows, strict=False))  # columnar=true: a list of each column
    return [dict(zip(names, row, strict=False)) for row in rows]


def _lines(path: Path, content: bytes, fault: ValueError | None) -> Iterator[tuple[int, Any]]:
    """The object of each line; `fault` is why the whole is none."""
    for number, line in enumerate(content.split(b"\n"), 1):
        if not line.strip():
            continue
        try:
            yield number, bounded_json(line)
        except ValueError as error:
            # JSON over several lines that cannot be used is not JSON by lines at fault.
            is_cut = isinstance(error, json.JSONDecodeError) and not isinstance(fault, json.JSONDecodeError)
            raise DataError(
                "the line is not valid JSON", path=path, line=number, found=str(fault if is_cut else error),
                mend="Write one object per line, or one object of query -> answer.",
            ) from error  # fmt: skip


def _query(record: Any, mapping: Mapping[str, str]) -> str | None:
    if not isinstance(record, dict):
        return None
    for name in (*((mapping["query_id"],) if "query_id" in mapping else ()), *QUERIES):
        value = record.get(name)
        if isinstance(value, str | int) and not isinstance(value, bool) and str(value).strip():
            return str(value)
    return None


def _items(answer: Any) -> list[Any] | None:
    """The items of an answer, however deep they stand in it."""
    if isinstance(answer, dict) and not any(key in answer for key in LISTS) and (scored := _scored(answer)):
        return scored
    for _ in range(4):
        if isinstance(answer, list):
            return answer
        if not isinstance(answer, dict):
            return None
        if isinstance(answer.get("columns"), list) and ("values" in answer or "rows" in answer):
            return _table(answer)
        key = next((key for key in LISTS if isinstance(answer.get(key), list | dict)), None)
        if key is None:
            key = next((key for key, value in answer.items() if _is_answer_within(value)), None)
        if key is None:
            return None
        answer = answer[key]
    return answer if isinstance(answer, list) else None


def _scored(answer: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Document -> score, as pytrec_eval, ranx and BEIR keep a run: best first; empty where that is no such answer."""
    try:
        scores = {
            key: math.nan if isinstance(score, bool) else plain_number(score) for key, score in answer.items()
        }
    except (TypeError, ValueError, OverflowError):
        return []
    if not all(map(math.isfinite, scores.values())):
        return []
    return [{"id": key, "score": scores[key]} for key in sorted(scores, key=lambda key: (-scores[key], key))]


def _named_ids(answer: Any) -> list[str]:
    """ragas' ids beside its texts."""
    ids = answer.get(_CONTEXT_IDS) if isinstance(answer, dict) else None
    return [str(id) for id in ids] if isinstance(ids, list) else []


def _hit(
    path: Path,
    query: str,
    item: Any,
    ids: Sequence[str],
    rank: int,
    line: int,
    mapping: Mapping[str, str],
) -> Hit:
    score = None
    if isinstance(item, list) and len(item) == 2:  # a document with its score, as LangChain has it
        item, score = item[0], _number(item[1])
    if isinstance(item, str):
        # One word may be an id; a text of the corpus is known by its text all the same.
        name = (item,) if len(item) <= _LONGEST_ID and not re.search(r"\s", item) else ()
        return Hit(query, (*ids, *name), item, score, rank, line)
    if not isinstance(item, dict):
        raise DataError(
            "a document of an answer cannot be read", path=path, line=line,
            expected="an object, or its text", found=shown(item), mend="See docs/rag_score.md.",
        )  # fmt: skip
    levels, returned = list(_levels(item)), list(_returned(_inside(item)))
    chosen = _dotted(levels, mapping["doc_id"]) if "doc_id" in mapping else None
    every = [chosen, *ids, *(level.get(name) for level in (*reversed(levels), *returned) for name in _IDS)]
    if score is None:
        wanted = (*((mapping["score"],) if "score" in mapping else ()), *_SCORES)
        score = next(
            (n for level in levels for name in wanted if (n := _number(level.get(name))) is not None), None
        )
    text = next(
        (
            str(level[name])
            for level in (*levels, *returned)
            for name in _TEXTS
            if isinstance(level.get(name), str)
        ),
        "",
    )
    named = tuple(dict.fromkeys(str(id) for id in every if isinstance(id, str | int) and str(id).strip()))
    if not named and not text.strip():
        raise DataError(
            "a document of an answer has neither an id nor a text", path=path, line=line, found=", ".join(item),
            expected=f"one of {', '.join((*_IDS[:3], *_TEXTS[:3]))}",
            mend="Name what holds its id: --map doc_id=KEY. ES|QL gives ids after FROM index METADATA _id, _score.",
        )  # fmt: skip
    return Hit(query, named, text, score, rank, line, *_place(levels, text))


def _levels(item: dict[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Where an item may say what it is: itself, what wraps it, its metadata, and what a hit of a _search returns."""
    inner = _inside(item)
    yield from (inner, item)
    source, fields = inner.get("_source"), inner.get("fields")
    for level in (
        inner.get("metadata"),
        source,
        source.get("metadata") if isinstance(source, dict) else None,
    ):
        if isinstance(level, dict):
            yield level
    if isinstance(fields, dict):
        yield {
            name: value[0] for name, value in fields.items() if isinstance(value, list) and len(value) == 1
        }


def _returned(hit: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """What a hit of a _search shows of its text where it doesn't return it: its best inner hits, and what is marked."""
    if isinstance(within := hit.get("inner_hits"), dict):
        for value in within.values():
            first = next(iter(_items(value) or ()), None)
            if isinstance(first, dict):
                yield from _levels(first)
    if isinstance(marked := hit.get("highlight"), dict):
        parts = next((parts for parts in marked.values() if isinstance(parts, list)), [])
        yield {"text": " ".join(_MARK.sub("", part) for part in parts if isinstance(part, str))}


_MARK = re.compile(r"</?[a-z][^<>]{0,80}>")
"""What a _search puts around the words that it found."""


def _inside(item: dict[str, Any]) -> dict[str, Any]:
    """The document in what LlamaIndex and LangChain wrap it in."""
    for key in ("node", "document", "kwargs", "__data__"):
        if isinstance(inner := item.get(key), dict):
            item = inner
    return item


def _place(levels: Sequence[Mapping[str, Any]], text: str) -> tuple[str, int | None, int | None]:
    """The document that an item is from, and its characters there; empty where it doesn't say."""

    def said(*names: str) -> Any:
        return next((level[name] for name in names for level in levels if level.get(name) is not None), None)

    document = said("document", "source", "file_path", "file_name", "path")
    start, end = (
        int(place) if isinstance(place, str) and place.isdecimal() else place
        for place in (said("start", "start_index", "start_char_idx"), said("end", "end_char_idx"))
    )
    if not isinstance(document, str) or not isinstance(start, int):
        return (document if isinstance(document, str) else ""), None, None
    return document, start, end if isinstance(end, int) else start + len(text)


def _dotted(levels: Sequence[Mapping[str, Any]], name: str) -> Any:
    """The value under a key, or under a path of keys: `metadata.path`."""
    for level in levels:
        value: Any = level
        for part in [name] if name in level else name.split("."):
            value = value.get(part) if isinstance(value, Mapping) else None
        if value is not None:
            return value
    return None


def _number(value: Any) -> float | None:
    right = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    return float(value) if right else None


@dataclass(frozen=True)
class Answered:
    """A file of answers as entries (query, document, number) with the line of each, where documents are from, and what
    is to be said of the reading."""

    entries: list[tuple[str, str, float]]
    lines: list[int]
    places: dict[str, tuple[str, int, int]]
    notes: tuple[str, ...]


REPEATS = "!again"
"""Ends the name of a document that stood further up already."""


def answered(path: Path, content: bytes, mapping: Mapping[str, str], known: Known | None) -> Answered:
    """The answers in a file as a run. A document is the first of its ids that `known` has, else the passage with its
    text, else its own id, else a name made of its text. Scores are those of the engine where they fall with the rank,
    else minus the rank. DataError for what is no answer."""
    hits = hits_of(path, content, mapping)
    by_query: dict[str, list[Hit]] = {}
    for hit in hits:
        by_query.setdefault(hit.query if known is None else known.question(hit.query), []).append(hit)
    answers = Answered([], [], {}, ())
    before = (0, 0) if known is None else (known.matched, known.unmatched)
    for query, of_query in by_query.items():
        scores = [hit.score for hit in of_query]
        falling = None not in scores and scores == sorted(scores, key=lambda score: -(score or 0.0))
        copies = Counter[str]()
        for rank, hit in enumerate(of_query, 1):
            doc = _document(hit, known)
            copies[doc] += 1
            name = doc if copies[doc] == 1 else f"{doc}{REPEATS * (copies[doc] - 1)}"
            answers.entries.append((query, name, float(hit.score or 0.0) if falling else -float(rank)))
            answers.lines.append(hit.line)
            if hit.start is not None and hit.end is not None and hit.end > hit.start >= 0:
                answers.places[name] = (hit.document, hit.start, hit.end)
    notes = (*_notes(hits, known, *before), *_repeated(by_query, answers.entries))
    return Answered(answers.entries, answers.lines, answers.places, notes)


def _repeated(
    by_query: Mapping[str, Sequence[Hit]], entries: Sequence[tuple[str, str, float]]
) -> Iterator[str]:
    """What stands in the answers more than once."""
    if again := sum(doc.endswith(REPEATS) for _, doc, _ in entries):
        yield f"{again:,} of {len(entries):,} passages stand further up already: they keep their rank, worth nothing"
    if twice := sum(sum(hit.rank == 1 for hit in hits) > 1 for hits in by_query.values()):
        asked = f"{twice:,} question is" if twice == 1 else f"{twice:,} questions are"
        yield f"{asked} answered more than once: the later answer is put after the first"


def _notes(hits: Sequence[Hit], known: Known | None, matched: int, unmatched: int) -> Iterator[str]:
    """What is to be said of how documents were found; `matched` and `unmatched` are the counts before."""
    if known is not None and (matches := known.matched - matched):
        yield f"{matches:,} of {len(hits):,} passages were found in the corpus by their text"
    if known is not None and (lost := known.unmatched - unmatched):
        yield f"{lost:,} of {len(hits):,} passages are not in the corpus: they count as not judged"
    if partial := len({hit.query for hit in hits if hit.is_partial}):
        yield f"{partial:,} answers are not whole, as their engine says: it timed out, or shards failed"
    if known is None and any(not hit.ids for hit in hits):
        yield "passages without an id are called by their text: with --corpus they are found among its passages"


def _document(hit: Hit, known: Known | None) -> str:
    name = hit.ids[0] if hit.ids else f"text:{hashlib.blake2b(hit.text.encode(), digest_size=6).hexdigest()}"
    if known is None:
        return name
    for id in hit.ids:
        if id in known.passages:
            return id
    passage = known.passage(hit.text) if hit.text else None
    if passage is None:
        known.unmatched += 1
        return name
    known.matched += 1
    return passage
