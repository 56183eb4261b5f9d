"""Where in an engine's answer the list of what it found stands: under any of many keys, in columns, or in a table."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from embassay.data.judged_runs.hits import is_document_score_pair, is_search_hit
from embassay.data.rows import parse_plain_number

_LISTS_IN_WORDS = """
    source_nodes nodes documents source_documents docs context retrieved_contexts contexts hits response results
    artifact body matches result points passages chunks data value items objects records rows sources candidates
    retrieved_documents neighbors
"""
LISTS = tuple(_LISTS_IN_WORDS.split())
"""Keys under which an answer stands."""
_LISTED = re.compile(
    r"node|doc|context|hit|respon|result|artifact|body|match|point|passage|chunk|data|value|item|object|record|row|"
    r"source|candidate|neighbo|retriev|rank|top_?k|found|snippet|children|output|_?ids$|search",
    re.IGNORECASE,
)
"""What a key is like that a list of hits stands under."""
_NONE = re.compile(
    r"^(?:_?shards|aggregations?|aggs|suggest(?:ions)?|facets?|facet_?counts|highlight\w*|spellcheck|profile|"
    r"relationships|inner_hits|messages|chat_?history|history|tool_?calls|usage|embeddings?|vectors?|metadatas?|meta|"
    r"param\w*|config\w*|settings|expected\w*|references?|reference_\w+|ground\w*|gold\w*|\w*truth\w*|labels?|positives?|"
    r"negatives?|qrels?|rubrics?|metrics?|metric_dict|token\w*|timing\w*|latenc\w*|filters?|tags|keywords|sort|explain\w*|"
    r"images?|query_\w+|_scroll_id|warnings?|errors?)$",
    re.IGNORECASE,
)
"""Keys under which no hits stand: what is expected, what was said before, and what is counted."""
_ID_COLUMN = re.compile(r"(?:^|_)(?:ids|doc_?ids|retrieved_\w*ids|\w+_ids|docnos|pids)$", re.IGNORECASE)
_TEXT_COLUMN = re.compile(r"^(?:retrieved_)?(?:documents|docs|texts|contexts|passages|chunks|contents)$", re.IGNORECASE)
_SCORE_COLUMN = re.compile(r"^(?:\w+_)?(?:scores?|distances|similarities)$", re.IGNORECASE)
_SCORED_UNDER = re.compile(r"^(?:results?|scores|docs|documents|run|ranking|retrieved\w*)$", re.IGNORECASE)
_DEEPEST = 7


@dataclass(frozen=True)
class HitListInEngineAnswer:
    """A list of hits in an answer and the keys that lead to it; `is_ordered` where its order is the engine's."""

    path: tuple[str, ...]
    items: Sequence[Any]
    is_ordered: bool = True

    @property
    def name(self) -> str:
        """Its path in words."""
        return ".".join(self.path) or "the list"


class AmbiguousQuestionLists(Exception):
    """Lists within a list: of several questions, of which nobody knows which is which."""


def find_hit_lists(answer: Any) -> list[HitListInEngineAnswer]:
    """The lists of hits in an answer, equal ones once. Usual keys hide unusual ones, and lists with hits empty ones."""
    if (
        isinstance(answer, dict)
        and not any(key in answer for key in LISTS)
        and (scored := read_document_score_mapping(answer))
    ):
        return [HitListInEngineAnswer((), scored, is_ordered=False)]
    lists = list(_find_hit_lists_in_value(answer, ()))
    listed = [hits for hits in lists if not hits.path or any(_LISTED.search(key) for key in hits.path)]
    if not listed:
        listed = [
            hits for hits in lists if all(isinstance(item, dict) or is_document_score_pair(item) for item in hits.items)
        ]
    listed = [hits for hits in listed if hits.items] or listed[:1]
    distinct = {
        json.dumps(_list_items_without_annotations(hits.items), sort_keys=True, default=str): hits
        for hits in reversed(listed)
    }
    return [hits for hits in listed if hits in distinct.values()]


def _list_items_without_annotations(items: Sequence[Any]) -> list[Any]:
    """List what tells a list from another: its items, without what is said of each."""
    plain = ("id", "_id", "id_", "doc_id", "text", "page_content", "content")
    return [
        {key: item[key] for key in plain if key in item} or item if isinstance(item, dict) else item for item in items
    ]


def _find_hit_lists_in_value(value: Any, path: tuple[str, ...]) -> Iterator[HitListInEngineAnswer]:
    if len(path) > _DEEPEST:
        return
    if isinstance(value, list):
        yield from _find_hit_lists_inside_list(value, path)
        return
    if not isinstance(value, dict):
        return
    if table := read_sql_answer_rows(value):
        yield HitListInEngineAnswer(path, table)
        return
    columns = _read_hits_from_columns(value)
    if columns:
        yield HitListInEngineAnswer((*path, columns[0]), columns[1])
    for key, part in value.items():
        if not _NONE.search(key) and not (columns and key in columns[2]):
            scored = read_document_score_mapping(part) if isinstance(part, dict) and _SCORED_UNDER.search(key) else []
            yield from (
                [HitListInEngineAnswer((*path, key), scored, is_ordered=False)]
                if scored
                else _find_hit_lists_in_value(part, (*path, key))
            )


def _find_hit_lists_inside_list(value: list[Any], path: tuple[str, ...]) -> Iterator[HitListInEngineAnswer]:
    items = _unnest_single_inner_list(value)
    if len(items) == 1 and isinstance(items[0], dict):
        within = [
            hits
            for hits in _find_hit_lists_in_value(items[0], path)
            if hits.items and any(map(_LISTED.search, hits.path[len(path) :]))
        ]
        objects = [hits for hits in within if all(isinstance(item, dict) for item in hits.items)]
        if objects:
            yield from objects
            return
    if all(map(is_search_hit, items)):
        yield HitListInEngineAnswer(path, items)


def _unnest_single_inner_list(value: list[Any]) -> list[Any]:
    """Unnest the one list in a list, as stores that answer several questions at once write it."""
    lists = [item for item in value if isinstance(item, list)]
    if not lists or all(is_document_score_pair(item) for item in lists):
        return value
    if len(value) > 1:
        raise AmbiguousQuestionLists
    return _unnest_single_inner_list(value[0])


def _read_hits_from_columns(answer: Mapping[str, Any]) -> tuple[str, list[Any], set[str]] | None:
    """The hits that stand in columns, ids in one list and texts or distances in others: a name, the hits, and the keys
    that are columns; None where there are none."""
    lists = {
        key: _unwrap_single_nested_list(value)
        for key, value in answer.items()
        if isinstance(value, list) and not _NONE.search(key)
    }
    ids = [key for key in lists if _ID_COLUMN.search(key) and _are_texts_or_integers(lists[key])]
    texts = [key for key in lists if _TEXT_COLUMN.search(key)]
    scores = [key for key in lists if _SCORE_COLUMN.search(key) and _are_numbers(lists[key])]
    if len(ids) > 1 or len(texts) > 1 or not (ids or (texts and scores)):
        return None
    first = (ids or texts)[0]
    n = len(lists[first])
    keys = [key for key in (*ids, *texts, *scores[:1]) if len(lists[key]) == n]
    extra = _unwrap_single_nested_list(answer["metadatas"]) if isinstance(answer.get("metadatas"), list) else []
    hits = [_make_hit_of_row({key: lists[key][row] for key in keys}) for row in range(n)]
    for hit, metadata in zip(hits, extra if len(extra) == n else (), strict=False):
        hit["metadata"] = metadata
    return first, hits, set(keys)


def _make_hit_of_row(row: Mapping[str, Any]) -> dict[str, Any]:
    hit: dict[str, Any] = {}
    for key, value in row.items():
        if _ID_COLUMN.search(key):
            hit["id"] = value
        elif _SCORE_COLUMN.search(key):
            hit["distance" if "dist" in key.lower() else "score"] = value
        else:
            hit["document" if isinstance(value, dict) else "text"] = value
    return hit


def _unwrap_single_nested_list(value: list[Any]) -> list[Any]:
    if value and all(isinstance(part, list) for part in value):
        if len(value) > 1:
            return []
        return _unwrap_single_nested_list(value[0])
    return value


def _are_texts_or_integers(values: Sequence[Any]) -> bool:
    return bool(values) and all(isinstance(value, str | int) and not isinstance(value, bool) for value in values)


def _are_numbers(values: Sequence[Any]) -> bool:
    return all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)


def read_sql_answer_rows(answer: Any) -> list[dict[str, Any]]:
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


def read_document_score_mapping(answer: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Read a mapping of document to score, as pytrec_eval, ranx and BEIR keep a run, else nothing."""
    try:
        # To Python a truth value is a number, but it is no score: as NaN it turns the answer down.
        scores = {
            key: math.nan if isinstance(score, bool) else parse_plain_number(score) for key, score in answer.items()
        }
    except (TypeError, ValueError, OverflowError):
        return []
    if not scores or not all(map(math.isfinite, scores.values())):
        return []
    return [{"id": key, "score": score} for key, score in scores.items()]
