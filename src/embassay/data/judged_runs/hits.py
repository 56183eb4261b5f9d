"""A hit of an engine: the ids that it may be known under, its text, its scores and its place in a document.

Engines put these where they like: in the hit, in the document that it wraps, in metadata, a payload or a source. All
objects within a hit are looked at, the outer ones first.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

_DEEPEST = 4
"""Objects within objects that are looked at."""
_WRAPPERS_IN_WORDS = """
    node document doc kwargs __data__ segment datapoint chunk
"""
_WRAPPERS = tuple(_WRAPPERS_IN_WORDS.split())
"""What frameworks put the document itself into."""
_PASSED_OVER_IN_WORDS = """
    relationships inner_hits highlight _highlightResult _snippetResult _nested _ignored embedding embeddings vector
    vectors _explanation explanation explain
"""
_PASSED_OVER = frozenset(_PASSED_OVER_IN_WORDS.split())
"""Objects that speak of other documents, or of none."""
_IDS_IN_WORDS = """
    id docid documentid chunkid nodeid passageid pid docno corpusid objectid uuid datapointid refdocid recordid
    itemid fileid sourceid pk
"""
_IDS = tuple(_IDS_IN_WORDS.split())
"""What an id is called, without its signs between words, the likeliest first."""
_SUFFIXED = re.compile(r"(?:[_\-. ]id_?|[a-z]I[dD])$")
_NAMES_OF_SOURCES_IN_WORDS = """
    source url uri link path filepath filename file name title key
"""
_NAMES_OF_SOURCES = tuple(_NAMES_OF_SOURCES_IN_WORDS.split())
"""What may be an id where the judgements or the corpus say so."""
_TEXTS_IN_WORDS = """
    pagecontent text content body passage chunk document contents chunktext pagetext passagetext rawtext snippet
    excerpt context
"""
_TEXTS = tuple(_TEXTS_IN_WORDS.split())
_SCORES = ("score", "relevancescore", "similarity", "relevance", "certainty")
_SCORED = re.compile(r"score$|similarity$|certainty$|textmatch$")
_DISTANCE = re.compile(r"dist(?:ance)?s?$")
_MARK = re.compile(r"</?[a-z][^<>]{0,80}>")
"""What a _search puts around the words that it found."""
_LONGEST_ID = 200
"""Characters of a text without a blank up to which it may be an id."""

Levels = Sequence[tuple[str, Mapping[str, Any]]]
"""The objects of a hit, each with the path to it, such as `_source.metadata.`."""


@dataclass(frozen=True)
class EngineHit:
    """An item of an answer: the ids it may be known under, by where they stand, its text, scores and place in a
    document, as far as it says; `line` is that of its answer."""

    query: str
    ids: Mapping[str, str]
    text: str
    scores: Mapping[str, float]
    rank: int
    line: int
    sources: Mapping[str, str] = field(default_factory=dict)
    """What it calls its source, which may be an id where others say so."""
    document: str = ""
    start: int | None = None
    end: int | None = None
    is_partial: bool = False
    """Whether its engine says that the answer is not whole."""
    is_ordered: bool = True
    """Whether its place among the others is the engine's: not where documents are the keys of an object."""


def is_document_score_pair(item: Any) -> bool:
    """Whether it is a document with its score, as LangChain has it."""
    if not isinstance(item, list | tuple) or len(item) != 2:
        return False
    document, score = item
    is_document = isinstance(document, str | dict | int) and not isinstance(document, bool)
    return is_document and isinstance(score, int | float) and not isinstance(score, bool)


def is_search_hit(item: Any) -> bool:
    """Whether it is an id, a text, an object with either, or one of these with its score."""
    if is_document_score_pair(item):
        return is_search_hit(item[0])
    if isinstance(item, bool):
        return False
    if isinstance(item, str | int):
        return bool(str(item).strip())
    if not isinstance(item, dict) or "role" in item:
        return False
    levels = list_nested_hit_objects(item)
    return bool(_find_hit_ids(levels) or _find_source_fields_of_hit(levels) or find_hit_text(item, levels))


def read_search_hit(query: str, item: Any, rank: int, line: int, mapping: Mapping[str, str]) -> EngineHit:
    """The hit that `is_search_hit` says an item is."""
    scores: dict[str, float] = {}
    if is_document_score_pair(item):
        item, given = item
        scores = {"score": number} if (number := parse_finite_number(given)) is not None else {}
    if isinstance(item, str | int):
        text = replace_lone_surrogates(str(item))
        # One word may be an id; a text of the corpus is known by its text all the same.
        is_id = len(text) <= _LONGEST_ID and not re.search(r"\s", text.strip())
        return EngineHit(query, {"the text itself": text.strip()} if is_id else {}, text, scores, rank, line)
    levels = list_nested_hit_objects(item)
    scores = scores or _map_possible_score_fields_of_hit(levels, mapping.get("score"))
    text = find_hit_text(item, levels)
    ids = _find_hit_ids(levels)
    if "doc_id" in mapping and (chosen := _format_id(find_hit_value_by_dotted_key(levels, mapping["doc_id"]))):
        ids = {mapping["doc_id"]: chosen}
    return EngineHit(
        query, ids, text, scores, rank, line, _find_source_fields_of_hit(levels), *_find_hit_source_span(levels, text)
    )


def replace_lone_surrogates(text: str) -> str:
    """A text that every program can write: halves of signs (lone surrogates) are replaced."""
    return text.encode("utf-8", "replace").decode("utf-8")


def parse_finite_number(value: Any) -> float | None:
    """A finite number, None for what is none."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        return None
    try:
        number = float(value)
    except OverflowError:
        # JSON allows integers beyond the largest float.
        return None
    return number if math.isfinite(number) else None


def list_nested_hit_objects(item: Mapping[str, Any]) -> Levels:
    """The objects of a hit: the document that it wraps, itself, and what stands in them, the outer ones first."""
    inner, path = item, ""
    while (key := next((key for key in _WRAPPERS if isinstance(inner.get(key), dict)), "")) and len(path) < 40:
        inner, path = inner[key], f"{path}{key}."
    levels = [(path, inner)] if inner is not item else []
    waiting = [("", item)]
    for _ in range(_DEEPEST):
        levels += [level for level in waiting if level[1] is not inner or inner is item]
        waiting = [within for place, level in waiting for within in _list_inner_levels(place, level)]
    return levels


def _list_inner_levels(place: str, level: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for key, value in level.items():
        if isinstance(value, dict) and key not in _PASSED_OVER and "$oid" not in value:
            yield f"{place}{key}.", value


def normalise_key(key: str) -> str:
    """A key without the signs between its words: `_format_id`, `id_` and `@id` are `id`.

    >>> normalise_key("_source.doc_id"), normalise_key("chunkId"), normalise_key("@search.score")
    ('docid', 'chunkid', 'score')
    """
    return re.sub(r"[^a-z0-9]", "", key.rpartition(".")[2].lower())


def _unwrap_single_value(value: Any) -> Any:
    """What stands alone in a list, as Elasticsearch's `fields` and Solr have it, or in Mongo's `{"$oid": ...}`."""
    if isinstance(value, list) and len(value) == 1:
        return value[0]
    return value.get("$oid") if isinstance(value, dict) and len(value) == 1 else value


def _format_id(value: Any) -> str:
    value = _unwrap_single_value(value)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, str | int):
        return ""
    text = replace_lone_surrogates(str(value)).strip()
    return text if len(text) <= _LONGEST_ID else ""


def _collect_ids_by_key(levels: Levels, is_named: Callable[[str], bool]) -> dict[str, str]:
    named: dict[str, str] = {}
    for place, level in levels:
        for key, value in level.items():
            if is_named(key) and (value_id := _format_id(value)):
                named.setdefault(f"{place}{key}", value_id)
    return named


def _find_hit_ids(levels: Levels) -> dict[str, str]:
    """The ids of a hit by their paths, the likeliest first: outer ones before inner ones, usual names before others."""
    named: dict[str, str] = {}
    for level in levels:
        ids = _collect_ids_by_key([level], lambda key: normalise_key(key) in _IDS or bool(_SUFFIXED.search(key)))
        order = sorted(ids, key=lambda path: _find_id_column_priority(normalise_key(path)))
        named |= {path: ids[path] for path in order if path not in named}
    return named


def _find_id_column_priority(name: str) -> int:
    return _IDS.index(name) if name in _IDS else len(_IDS)


def _find_source_fields_of_hit(levels: Levels) -> dict[str, str]:
    return _collect_ids_by_key(levels, lambda key: normalise_key(key) in _NAMES_OF_SOURCES)


def find_hit_text(item: Mapping[str, Any], levels: Levels) -> str:
    """The text of a hit; of a _search that doesn't return it what it shows of it: its best inner hits, what is
    marked."""
    for name in _TEXTS:
        for _, level in levels[:2]:
            if text := _read_text_under_key(level, name):
                return replace_lone_surrogates(text)
    for _, level in levels[2:]:
        for name in _TEXTS:
            if text := _read_text_under_key(level, name):
                return replace_lone_surrogates(text)
    return replace_lone_surrogates(_find_highlighted_text(item))


def _read_text_under_key(level: Mapping[str, Any], name: str) -> str:
    for key, value in level.items():
        if normalise_key(key) == name and (text := _join_text_parts(value)).strip():
            return text
    return ""


def _join_text_parts(value: Any) -> str:
    """A text, or the texts of a list of parts."""
    if isinstance(value, str):
        return value
    if not isinstance(value, list):
        return ""
    parts = [part.get("text") if isinstance(part, dict) else part for part in value]
    texts = [part for part in parts if isinstance(part, str)]
    return "\n".join(texts) if len(texts) == len(parts) else ""


def _find_highlighted_text(item: Mapping[str, Any]) -> str:
    within = item.get("inner_hits")
    for value in within.values() if isinstance(within, dict) else ():
        hits = value.get("hits", {}).get("hits") if isinstance(value.get("hits"), dict) else None
        if isinstance(hits, list) and hits and isinstance(hits[0], dict):
            return find_hit_text(hits[0], list_nested_hit_objects(hits[0]))
    marked = item.get("highlight")
    parts = (
        next((parts for parts in marked.values() if isinstance(parts, list)), []) if isinstance(marked, dict) else []
    )
    return " ".join(_MARK.sub("", part) for part in parts if isinstance(part, str))


def _map_possible_score_fields_of_hit(levels: Levels, wanted: str | None) -> dict[str, float]:
    """The numbers of a hit that may be its score, the likeliest first; distances last."""
    if wanted is not None and (number := parse_finite_number(find_hit_value_by_dotted_key(levels, wanted))) is not None:
        return {wanted: number}
    numbers: dict[str, float] = {}
    for place, level in levels:
        for key, value in level.items():
            name, number = normalise_key(key), parse_finite_number(value)
            if number is not None and (name in _SCORES or _SCORED.search(name) or is_distance_name(name)):
                numbers.setdefault(f"{place}{key}", number)
    return dict(sorted(numbers.items(), key=lambda pair: is_distance_name(pair[0])))


def is_distance_name(path: str) -> bool:
    """Whether a number is called a distance."""
    return _DISTANCE.search(normalise_key(path)) is not None


def find_hit_value_by_dotted_key(levels: Levels, name: str) -> Any:
    """The value under a key, or under a path of keys: `metadata.path`."""
    for _, level in levels:
        value: Any = level
        for part in [name] if name in level else name.split("."):
            value = value.get(part) if isinstance(value, Mapping) else None
        if value is not None:
            return value
    return None


def _find_hit_source_span(levels: Levels, text: str) -> tuple[str, int | None, int | None]:
    """Find the document that an item is from, and its characters there; empty where it doesn't say."""

    def find_first_value(*names: str) -> Any:
        return next((level[name] for name in names for _, level in levels if level.get(name) is not None), None)

    document = find_first_value("document", "source", "file_path", "file_name", "path")
    start, end = (
        int(place) if isinstance(place, str) and place.isdecimal() else place
        for place in (
            find_first_value("start", "start_index", "start_char_idx"),
            find_first_value("end", "end_char_idx"),
        )
    )
    if not isinstance(document, str) or not isinstance(start, int):
        return (document if isinstance(document, str) else ""), None, None
    return document, start, end if isinstance(end, int) else start + len(text)
