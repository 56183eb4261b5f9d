"""What engines answer with, as a run: LangChain, LlamaIndex, Elasticsearch, vector stores and ragas, by ids or by text.

A file is a JSON object of query -> answer, or has an object with the query and its answer on each line:

    {"query_id": "q1", "documents": [{"page_content": "...", "metadata": {"id": "d7"}}]}     LangChain
    {"query_id": "q1", "source_nodes": [{"node": {"id_": "d7", "text": "..."}, "score": 0.8}]}     LlamaIndex
    {"query_id": "q1", "hits": {"hits": [{"_id": "d7", "_score": 3.2, "_source": {...}}]}}     _search
    {"query_id": "q1", "columns": [{"name": "_id"}, ...], "values": [["d7", ...], ...]}     ES|QL
    {"query_id": "q1", "ids": [["d7", "d2"]], "distances": [[0.1, 0.4]], "documents": [["...", "..."]]}     Chroma
    {"user_input": "How ...?", "retrieved_contexts": ["...", "..."]}     ragas

ragas' table may be CSV too, its lists printed in a cell. What has no id of the corpus is found there by its text.
"""

from __future__ import annotations

import ast
import csv
import hashlib
import io
import json
import re
import tokenize
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from embassay.data.judged_runs.content import begins_like_json_object, split_nonblank_lines
from embassay.data.judged_runs.direction import list_note_on_rising_scores, separate_tied_scores
from embassay.data.judged_runs.hits import EngineHit, is_distance_name, read_search_hit, replace_lone_surrogates
from embassay.data.judged_runs.layouts import NAMES, RUN
from embassay.data.judged_runs.lists import (
    LISTS,
    AmbiguousQuestionLists,
    HitListInEngineAnswer,
    find_hit_lists,
    read_sql_answer_rows,
)
from embassay.data.judged_runs.texts import AnswerTextMatcher
from embassay.data.rows import format_value_for_error
from embassay.errors import DataError
from embassay.limits import LINE, parse_bounded_json

QUERIES = ("query_id", "qid", "query-id", "id", "user_input", "question", "query", "input", "search_query")
"""Keys under which a question stands, or its id."""


def is_engine_answer(content: bytes) -> bool:
    """Whether the text of a run file is what an engine answered: JSON whose first object has an answer's key, or whose
    values are answers; or a CSV of ragas."""
    if _is_ragas_csv(content):
        return True
    if not (content.lstrip().startswith(b"[") or begins_like_json_object(content)):
        return False
    try:
        value = _parse_first_json(content)
    except ValueError:
        return True  # whose reader says why it cannot be used
    if isinstance(value, list):
        value = value[0] if value else None
    if not isinstance(value, dict) or _is_json_run_line(value):
        return False
    if any(key in value for key in LISTS if key not in ("body", "data", "value", "source", "rows")):
        return True
    if "responses" in value or _find_engine_refusal(value):
        return True
    try:
        lists = find_hit_lists(value)
    except AmbiguousQuestionLists:
        return True
    return bool(lists) or (bool(value) and all(isinstance(value, list | dict) for value in value.values()))


def _is_json_run_line(value: Mapping[str, Any]) -> bool:
    """Whether an object is a line of a run: a query, a document and its score."""
    named = {key: [value.get(name) for name in names] for key, names in (*NAMES.items(), ("value", RUN.names))}
    return all(any(isinstance(cell, str | int | float) for cell in cells) for cells in named.values())


def _is_partial_answer(answer: Any) -> bool:
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


def _find_engine_refusal(record: Any) -> str:
    """What an engine says in place of an answer; empty where it is none."""
    error = record.get("error") if isinstance(record, dict) else None
    if not isinstance(error, dict) or "hits" in record:
        return ""
    return ": ".join(str(error[key]) for key in ("type", "reason") if error.get(key)) or "an error"


def find_engine_answer_fault(record: Any) -> str:
    """Why what an engine sent is no answer: an error, or nothing that could be a list of documents. Empty where it is
    one; an empty list is.

    >>> find_engine_answer_fault({"hits": []}), find_engine_answer_fault({"detail": "not ready"})
    ('', "it contains no list of documents: {'detail': 'not ready'}")
    """
    if refusal := _find_engine_refusal(record):
        return f"the engine answered with an error: {refusal}"
    try:
        lists = find_hit_lists(record)
    except AmbiguousQuestionLists:
        return "it contains nested lists"
    return (
        ""
        if lists or read_sql_answer_rows(record)
        else f"it contains no list of documents: {format_value_for_error(record)}"
    )


def _parse_first_json(content: bytes) -> Any:
    """The value in the first line, or in all; None for what is no JSON, ValueError for JSON that cannot be used."""
    line = content.lstrip().partition(b"\n")[0]
    with suppress(ValueError):
        return parse_bounded_json(line)
    # An object that is printed over several lines has no JSON in its first one.
    try:
        return parse_bounded_json(content)
    except (json.JSONDecodeError, UnicodeDecodeError):
        return None


def read_engine_hits(
    path: Path, content: bytes, mapping: Mapping[str, str], known: AnswerTextMatcher | None = None
) -> list[EngineHit]:
    """The items of all answers in a file, in its order. DataError, with the line where there is one, for what is no
    answer, or has several lists."""
    hits = []
    for line, query, answer in _iterate_answers_with_query(path, content, mapping, known):
        if refusal := _find_engine_refusal(answer):
            raise DataError(
                "the engine answered with an error", path=path, line=line, found=refusal,
                mend="Query it again, or remove the question, which then counts as unanswered."
            )  # fmt: skip
        chosen = _find_hit_list(path, line, answer, mapping)
        is_partial = _is_partial_answer(answer)
        for rank, item in enumerate(_sort_by_stated_rank(chosen.items), 1):
            hit = read_search_hit(query, item, rank, line, mapping)
            is_known = known is not None and any(name in known.document_ids for name in hit.sources.values())
            if not hit.ids and not hit.text.strip() and not is_known:
                raise _make_unnamed_document_error(path, line, item)
            hits.append(replace(hit, is_partial=is_partial, is_ordered=chosen.is_ordered))
    if not hits:
        raise DataError("no answer contains a document", path=path, mend="Check that the engine found something.")
    return hits


def _find_hit_list(path: Path, line: int, answer: Any, mapping: Mapping[str, str]) -> HitListInEngineAnswer:
    """The list of hits in an answer. DataError where there is none, or nobody knows which of several it is."""
    try:
        lists = find_hit_lists(answer)
    except AmbiguousQuestionLists:
        raise DataError(
            "an answer contains nested lists", path=path, line=line,
            expected="one list of documents, or of pairs of a document and its score",
            found=format_value_for_error(answer),
            mend="Write one object per question, with an object (id and score) for each document."
        ) from None  # fmt: skip
    wanted = mapping.get("documents")
    chosen = [entry for entry in lists if wanted is None or entry.name == wanted]
    if len(chosen) == 1:
        return chosen[0]
    names = ", ".join(entry.name for entry in lists)
    if lists:
        raise DataError(
            "the answer contains several lists of documents" if wanted is None else "there is no list under "
                f"{wanted!r}",
            path=path, line=line, expected="the list that the engine returned last", found=names,
            mend=f"Choose one: --map documents={lists[-1].name}."
        )  # fmt: skip
    if table := read_sql_answer_rows(answer):
        raise _make_unnamed_document_error(path, line, table[0])
    raise DataError(
        "an answer cannot be read", path=path, line=line,
        expected="a list of documents, document -> score, or _search hits",
        found=format_value_for_error(answer),
        mend="See docs/engines.md for the output of each engine."
    )  # fmt: skip


def _make_unnamed_document_error(path: Path, line: int, item: Any) -> DataError:
    return DataError(
        "a document in an answer has neither an id nor a text", path=path, line=line,
        found=", ".join(item) if isinstance(item, dict) else format_value_for_error(item), expected="an id or a text",
        mend="Choose its id field: --map doc_id=KEY. In ES|QL, FROM index METADATA _id, _score returns ids."
    )  # fmt: skip


def _sort_by_stated_rank(items: Sequence[Any]) -> Sequence[Any]:
    """Sort the items in the order of the ranks that they state, if each states another."""
    ranks = [item.get("rank") if isinstance(item, dict) else None for item in items]
    numbers = [rank for rank in ranks if isinstance(rank, int) and not isinstance(rank, bool)]
    if len(set(numbers)) < len(items):
        return items
    return [item for _, item in sorted(zip(numbers, items, strict=True), key=lambda pair: pair[0])]


def _iterate_answers_with_query(
    path: Path, content: bytes, mapping: Mapping[str, str], known: AnswerTextMatcher | None
) -> Iterator[tuple[int, str, Any]]:
    """Line, query and answer of each."""
    if _is_ragas_csv(content):
        yield from _read_ragas_records(path, content)
        return
    whole, fault = None, None
    try:
        whole = parse_bounded_json(content)
    except ValueError as error:
        fault = error
    if isinstance(whole, dict) and "responses" in whole:
        raise DataError(
            "the answers of an _msearch do not contain their questions", path=path,
            mend='Write one object per line: {"query_id": "q1", "hits": {"hits": [...]}}.'
        )  # fmt: skip
    if isinstance(whole, dict) and not _find_queries_by_key(whole, mapping):
        if not any(key in whole for key in LISTS):
            yield from ((1, replace_lone_surrogates(str(query)).strip(), answer) for query, answer in whole.items())
            return
        within: list[Any] = next((whole[key] for key in LISTS if isinstance(whole.get(key), list)), [])
        if within and all(_find_queries_by_key(record, mapping) and _has_hit_list(record) for record in within):
            whole = within
    if isinstance(whole, list | dict):
        records = [(1, record) for record in (whole if isinstance(whole, list) else [whole])]
    else:
        records = list(_read_json_objects(path, content, fault))
    order = _find_keys_holding_question_text(records, mapping, known)
    for line, record in records:
        asked = _find_queries_by_key(record, mapping)
        if not asked:
            raise DataError(
                "the answer does not contain its question", path=path, line=line,
                expected=f"a key such as {', '.join(QUERIES[:3])}, or user_input", found=format_value_for_error(record),
                mend="Add it, or choose its key: --map query_id=KEY."
            )  # fmt: skip
        key = next((key for key in order if key in asked), next(iter(asked)))
        yield line, asked[key], record


def _has_hit_list(record: Any) -> bool:
    try:
        return bool(find_hit_lists(record))
    except AmbiguousQuestionLists:
        return True


def _find_keys_holding_question_text(
    records: Sequence[tuple[int, Any]], mapping: Mapping[str, str], known: AnswerTextMatcher | None
) -> list[str]:
    """Find the keys under which questions may stand, those first whose values are known questions."""
    counts = Counter[str]()
    for _, record in records if known is not None else ():
        for key, asked in _find_queries_by_key(record, mapping).items():
            counts[key] += known is not None and known.is_known_question(asked)
    keys = [mapping.get("query_id", ""), *QUERIES]
    return sorted(keys, key=lambda key: (key != mapping.get("query_id"), -counts[key]))


_CONTEXTS, _CONTEXT_IDS = "retrieved_contexts", "retrieved_context_ids"


def _is_ragas_csv(content: bytes) -> bool:
    """Whether it is a CSV with ragas' columns: a question, and a list of contexts in one cell."""
    names = content.lstrip().partition(b"\n")[0].decode("utf-8", "replace").strip().split(",")
    heads = {name.strip(' "') for name in names}
    return _CONTEXTS in heads and bool(heads & set(QUERIES))


def _read_ragas_records(path: Path, content: bytes) -> Iterator[tuple[int, str, Any]]:
    csv.field_size_limit(LINE.most)
    rows = csv.DictReader(io.StringIO(content.decode("utf-8").lstrip()))
    for number, row in enumerate(rows, 1):
        asked = _find_queries_by_key(row, {})
        query = next(iter(asked.values()), None)
        lists = {name: _parse_printed_list(row[name] or "") for name in (_CONTEXTS, _CONTEXT_IDS) if name in row}
        if query is None or None in lists.values():
            raise DataError(
                f"row {number} has no question, or no list of contexts", path=path, line=rows.line_num,
                expected="a list of quoted texts in brackets",
                found=format_value_for_error(row[_CONTEXTS]),
                mend="Export JSON instead: dataset.to_jsonl(PATH) in ragas."
            )  # fmt: skip
        yield rows.line_num, query, lists


def _parse_printed_list(cell: str) -> list[str] | None:
    """The texts of a list as JSON, Python or numpy print it; None for what is none, as one that was cut."""
    try:
        ids = parse_bounded_json(cell)
        return list(map(str, ids)) if isinstance(ids, list) else None
    except ValueError:
        pass
    try:
        # numpy prints no commas, and Python would join texts that follow each other: tokens keep them apart.
        parts = list(tokenize.generate_tokens(io.StringIO(cell).readline))
        texts = [str(ast.literal_eval(part.string)) for part in parts if part.type == tokenize.STRING]
    except (tokenize.TokenError, SyntaxError, ValueError):
        return None
    others = "".join(part.string.strip() for part in parts if part.type != tokenize.STRING)
    return texts if re.fullmatch(r"\[,*\]", others) else None


def _read_json_objects(path: Path, content: bytes, fault: ValueError | None) -> Iterator[tuple[int, Any]]:
    """The object of each line; `fault` is why the whole is none."""
    for number, line in split_nonblank_lines(path, content):
        try:
            yield number, parse_bounded_json(line)
        except ValueError as error:
            # JSON over several lines that cannot be used is not JSON by lines at fault.
            is_cut = isinstance(error, json.JSONDecodeError) and not isinstance(fault, json.JSONDecodeError)
            raise DataError(
                "the line is not valid JSON", path=path, line=number, found=str(fault if is_cut else error),
                mend="Write one object per line, or one object that maps queries to answers."
            ) from error  # fmt: skip


def _find_queries_by_key(record: Any, mapping: Mapping[str, str]) -> dict[str, str]:
    """Key -> question, or its id, for all keys of an answer under which one stands."""
    questions: dict[str, str] = {}
    for name in (*((mapping["query_id"],) if "query_id" in mapping else ()), *QUERIES):
        value = record.get(name) if isinstance(record, dict) else None
        if isinstance(value, str | int) and not isinstance(value, bool) and str(value).strip():
            questions.setdefault(name, replace_lone_surrogates(str(value)).strip())
    return questions


@dataclass(frozen=True)
class EngineAnswerFileEntries:
    """A file of answers as entries (query, document, number) with the line of each, where documents are from, and what
    is to be said of the reading; `is_scored` where the numbers are the engine's."""

    entries: list[tuple[str, str, float]]
    lines: list[int]
    places: dict[str, tuple[str, int, int]]
    notes: tuple[str, ...]
    is_scored: bool = True


REPEATS = "!again"
"""Ends the name of a document that stood further up already."""


def read_engine_answers_as_run(
    path: Path, content: bytes, mapping: Mapping[str, str], known: AnswerTextMatcher | None
) -> EngineAnswerFileEntries:
    """The answers in a file as a run. Documents are in the order of the engine, under the ids that the corpus or the
    judgements know (`_DocumentIdChoice`), else that of the passage with their text, else their own.

    Numbers are the engine's scores where these fall with the rank in every answer, equal ones told apart in the order
    of the engine, else minus the rank. DataError for what is no answer.
    """
    hits = read_engine_hits(path, content, mapping, known)
    before = (0, 0, 0) if known is None else (known.matched, known.unmatched, known.ambiguous)
    by_query: dict[str, list[EngineHit]] = {}
    for hit in hits:
        by_query.setdefault(hit.query if known is None else known.question(hit.query), []).append(hit)
    scored = _choose_engine_scores(by_query)
    naming = _DocumentIdChoice(by_query, known)
    answers = EngineAnswerFileEntries([], [], {}, ())
    for query, of_query in by_query.items():
        taken: dict[str, int] = {}
        numbers = scored.numbers[query]
        for hit, number in zip(of_query, numbers, strict=True):
            doc = naming.document(hit, query, taken)
            taken[doc] = taken.get(doc, 0) + 1
            name = doc if taken[doc] == 1 else f"{doc}{REPEATS * (taken[doc] - 1)}"
            answers.entries.append((query, name, number))
            answers.lines.append(hit.line)
            if hit.start is not None and hit.end is not None and hit.end > hit.start >= 0:
                answers.places[name] = (hit.document, hit.start, hit.end)
    notes = (
        *_list_matching_notes(hits, known, *before), *naming.notes(), *scored.notes,
        *_list_repetition_notes(by_query, answers.entries)
    )  # fmt: skip
    return EngineAnswerFileEntries(answers.entries, answers.lines, answers.places, notes, scored.name != "")


@dataclass(frozen=True)
class _AnswerScoresByQuery:
    """The numbers of the answers to each query, what they are called (empty: made from ranks), and what is to be
    said."""

    numbers: Mapping[str, Sequence[float]]
    name: str
    notes: tuple[str, ...] = ()


def _choose_engine_scores(by_query: Mapping[str, Sequence[EngineHit]]) -> _AnswerScoresByQuery:
    """The engine's scores under the first name under which every hit has one and none rises with the rank."""
    hits = [hit for of_query in by_query.values() for hit in of_query]
    names = dict.fromkeys(name for hit in hits for name in hit.scores)
    risen = ""
    for name in names:
        if any(name not in hit.scores for hit in hits):
            continue
        columns = {query: [hit.scores[name] for hit in of_query] for query, of_query in by_query.items()}
        ordered = {query for query, of_query in by_query.items() if all(hit.is_ordered for hit in of_query)}
        falls = {query: columns[query] == sorted(columns[query], reverse=True) for query in ordered}
        # One hit an answer shows no direction: what is called a score is one, a distance is not.
        is_shown = any(len(set(column)) > 1 for column in columns.values())
        if all(falls.values()) and (is_shown or not is_distance_name(name)):
            numbers = {
                query: separate_tied_scores(column) if query in ordered else column for query, column in columns.items()
            }
            return _AnswerScoresByQuery(numbers, name, () if ordered else list_note_on_rising_scores(columns.values()))
        risen = risen or name
    ranks = {query: [-float(rank) for rank in range(1, len(hits) + 1)] for query, hits in by_query.items()}
    if not risen:
        return _AnswerScoresByQuery(ranks, "")
    note = f"{risen} increases with the rank, like a distance, so documents are ranked in their given order"
    return _AnswerScoresByQuery(ranks, "", (note,))


class _DocumentIdChoice:
    """Which of their ids documents are called by: that under the key whose values most often are ids of the corpus, or
    judged ones; where the keys are alike in that, the document's own before that of what it is from."""

    def __init__(self, by_query: Mapping[str, Sequence[EngineHit]], known: AnswerTextMatcher | None) -> None:
        self._known = known
        self._counts = Counter[str]()
        self._others: dict[str, int] = {}
        self._n = sum(map(len, by_query.values()))
        keys: dict[str, None] = {}
        for query, hits in by_query.items():
            for hit in hits:
                keys |= dict.fromkeys(hit.ids)
                self._count_known_ids_per_field(query, hit.ids)
        if not self._counts:
            for query, hits in by_query.items():
                for hit in hits:
                    self._count_known_ids_per_field(query, hit.sources)
            keys = dict.fromkeys([*self._counts, *keys])
        self._order = sorted(keys, key=lambda key: -self._counts[key])
        self._count_hits_with_other_known_ids(by_query)

    def _count_known_ids_per_field(self, query: str, ids: Mapping[str, str]) -> None:
        if self._known is None:
            return
        judged = self._known.judged_texts.get(query, {})
        for key, name in ids.items():
            known = (name in self._known.document_ids) + (name in judged)
            if known:
                self._counts[key] += known

    def _count_hits_with_other_known_ids(self, by_query: Mapping[str, Sequence[EngineHit]]) -> None:
        """How often another key than the first has a known id, and another one than that."""
        if self._known is None or not self._order:
            return
        first = self._order[0]
        for hits in by_query.values():
            for hit in hits:
                for key, name in hit.ids.items():
                    if key != first and name in self._known.document_ids and name != hit.ids.get(first):
                        self._others[key] = self._others.get(key, 0) + 1

    def notes(self) -> Iterator[str]:
        """What is to be said of the choice."""
        if not self._order or not self._counts:
            return
        first = self._order[0]
        for key, count in self._others.items():
            if self._counts[key] and first != key:
                yield (
                    f"documents are matched by {first}, but {key} also contains a known id for {count:,} of "
                    f"{self._n:,}; to use it, add --map doc_id={key}"
                )

    def document(self, hit: EngineHit, query: str, taken: Mapping[str, int]) -> str:
        """The name of a document."""
        ids = {**hit.sources, **hit.ids}
        named = [ids[key] for key in self._order if key in ids]
        called = f"text:{hashlib.blake2b(hit.text.encode(), digest_size=6).hexdigest()}"
        own = called if hit.text.strip() else next(iter(ids.values()), called)
        name = named[0] if named else own
        if self._known is None or name in self._known.document_ids or not self._known.passages:
            return name
        other = next((name for name in named if name in self._known.document_ids), None)
        if other is not None:
            return other
        return self._known.place(hit.text, query, taken) or name


def _list_repetition_notes(
    by_query: Mapping[str, Sequence[EngineHit]], entries: Sequence[tuple[str, str, float]]
) -> Iterator[str]:
    """List notes on what stands in the answers more than once."""
    if again := sum(doc.endswith(REPEATS) for _, doc, _ in entries):
        yield (
            f"{again:,} of {len(entries):,} passages repeat an earlier result; repeats keep their rank and "
            "count as irrelevant"
        )
    if twice := sum(sum(hit.rank == 1 for hit in hits) > 1 for hits in by_query.values()):
        asked = f"{twice:,} question is" if twice == 1 else f"{twice:,} questions are"
        yield f"{asked} answered more than once: the later answer is appended to the first"


def _list_matching_notes(
    hits: Sequence[EngineHit], known: AnswerTextMatcher | None, matched: int, unmatched: int, ambiguous: int
) -> Iterator[str]:
    """List notes on how documents were matched; the numbers are the counts before."""
    if known is not None and (matches := known.matched - matched):
        yield f"{matches:,} of {len(hits):,} passages were matched to the corpus by their text"
    if known is not None and (lost := known.unmatched - unmatched):
        yield f"{lost:,} of {len(hits):,} passages are not in the corpus and count as unjudged"
    if known is not None and (several := known.ambiguous - ambiguous):
        yield (
            f"{several:,} of {len(hits):,} passages match several corpus passages equally well and count as "
            "unjudged (ids would distinguish them)"
        )
    if partial := len({hit.query for hit in hits if hit.is_partial}):
        yield f"{partial:,} answers are incomplete: the engine timed out, or shards failed"
    if (known is None or not known.passages) and any(not hit.ids and not hit.sources for hit in hits):
        yield "passages without an id are identified by their text; to match them to a corpus, add --corpus"
