"""Traces of a running system as questions, runs and sessions, which every other command reads."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from embassay.data.check.figures import NearDuplicateRule, TextMinHashSignatures
from embassay.data.judged_runs.traces import (
    TracedDocument,
    TracedSearch,
    mask_personal_data_of_search,
    read_masked_words_pattern,
    read_searches_from_traces,
)
from embassay.errors import UsageError
from embassay.randomness import draw_random_bytes
from embassay.runs.folder import slugify_name, write_json, write_json_lines

QUERIES, SESSIONS, CORPUS, FACTS = "queries.jsonl", "sessions.jsonl", "corpus.jsonl", "traces.json"


@dataclass(frozen=True)
class TraceImportSummary:
    """What traces became: `questions` after `merged` repeats, `runs` (stack -> lists) of traces with one search,
    `sessions` of `several` and of one, `passages` whose texts were traced; `failed` searches, and those left out."""

    folder: str
    spans: int
    searches: int
    questions: int
    merged: int
    runs: Mapping[str, int]
    sessions: int
    several: int
    passages: int
    failed: int
    without_query: int
    without_documents: int
    masked: bool

    def notes(self) -> Iterator[str]:
        """The notes on an import: what is to be known of the traces."""
        for count, why in (
            (self.merged, "duplicate or near-duplicate questions were merged"),
            (self.several, f"traces contain several searches; they are only in {SESSIONS}, for rag score --sessions"),
            (self.failed, "searches failed, so their traces have no result list"),
            (self.without_query, "searches have no query text and were left out"),
            (self.without_documents, "searches do not list their results and were left out"),
        ):
            if count:
                yield f"{count:,} {why}"
        if not self.masked:
            yield "nothing was masked, but users' questions can contain personal data; to mask it, use --mask"


@dataclass(frozen=True)
class _TraceSearches:
    """The searches of one trace, and the id of its question."""

    key: str
    text: str
    searches: tuple[TracedSearch, ...]


def import_search_traces_as_runs(
    paths: Sequence[Path],
    out: Path,
    *,
    mask: bool = False,
    mask_words: Path | None = None,
    near: float = 0.9,
    limit: int | None = None,
    seed: int = 1337,
) -> TraceImportSummary:
    """Write the questions, runs and sessions of traces into the folder `out`, in which a run is `runs/STACK.jsonl`.

    Questions that are equal but for case and spaces, or have a Jaccard index of `near` or more, are one, that of the
    first trace. At most `limit` questions are drawn by `seed`, of each stack as many. With `mask` personal data are
    masked (`mask_text`), with `mask_words` also the words of this file. UsageError where `out` holds
    files, DataError as `read_searches_from_traces` raises it.
    """
    if not 0.3 <= near <= 1:
        raise UsageError(f"--near is {near:g}.", mend="Use a number from 0.3 to 1.")
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise UsageError(f"{out} is not empty.", mend="Name a new folder.")
    read = read_searches_from_traces(paths)
    words = read_masked_words_pattern(mask_words) if mask_words else None
    mask = mask or words is not None
    searches = [mask_personal_data_of_search(search, words) if mask else search for search in read.searches]
    traces = list(_group_searches_by_trace(searches))
    kept, merged = _merge_traces_of_repeated_questions(traces, near)
    drawn = _sample_traces_per_stack(kept, limit, seed)
    whole = [trace for trace in drawn if not any(search.is_failed for search in trace.searches)]
    runs = _collect_query_lines_by_stack(whole)
    corpus = {key: text for trace in whole for key, text in _list_document_texts(trace) if text}
    times = Counter(merged.values())
    queries = [{"id": trace.key, "text": trace.text, "times": 1 + times[trace.key]} for trace in drawn]
    write_json_lines(out / QUERIES, queries)
    for name, rows in runs.items():
        write_json_lines(out / "runs" / f"{slugify_name(name)}.jsonl", rows)
    write_json_lines(out / SESSIONS, [row for trace in whole for row in _make_session_rows(trace)])
    if corpus:
        write_json_lines(out / CORPUS, [{"id": key, "text": text} for key, text in sorted(corpus.items())])
    done = TraceImportSummary(
        str(out), read.spans, len(read.searches), len(drawn), len(merged),
        {name: len(rows) for name, rows in runs.items()}, len(whole),
        sum(_has_several_searches(trace) for trace in whole), len(corpus),
        sum(search.is_failed for search in searches), read.without_query, read.without_documents, mask
    )  # fmt: skip
    write_json(out / FACTS, asdict(done))
    return done


def _group_searches_by_trace(searches: Sequence[TracedSearch]) -> Iterator[_TraceSearches]:
    """Group searches by trace, in order of time; a search without a trace is one by itself."""
    groups: dict[str, list[TracedSearch]] = {}
    for place, search in enumerate(searches):
        groups.setdefault(search.trace or f" {place}", []).append(search)
    for number, group in enumerate(groups.values(), 1):
        text = next((search.question for search in group if search.question), group[0].query)
        yield _TraceSearches(f"q{number}", text, tuple(group))


def _merge_traces_of_repeated_questions(
    traces: Sequence[_TraceSearches], near: float
) -> tuple[list[_TraceSearches], dict[str, str]]:
    """Merge traces of repeated questions, and map their ids to those that they repeat."""
    first: dict[str, _TraceSearches] = {}
    merged: dict[str, str] = {}
    kept: list[_TraceSearches] = []
    for trace in traces:
        same = first.setdefault(" ".join(trace.text.casefold().split()), trace)
        if same is trace:
            kept.append(trace)
        else:
            merged[trace.key] = same.key
    if near < 1 and len(kept) > 1:
        for pair in sorted(TextMinHashSignatures([trace.text for trace in kept], NearDuplicateRule(near)).pairs()):
            earlier = kept[pair.first].key
            merged[kept[pair.second].key] = merged.get(earlier, earlier)
        # Those merged before into one that is merged now follow it.
        merged = {key: merged.get(other, other) for key, other in merged.items()}
    return [trace for trace in kept if trace.key not in merged], merged


def _sample_traces_per_stack(traces: Sequence[_TraceSearches], limit: int | None, seed: int) -> list[_TraceSearches]:
    """Draw up to `limit` traces of each stack, in the order of time."""
    if limit is None or len(traces) <= limit:
        return list(traces)
    strata: dict[str, list[_TraceSearches]] = {}
    for trace in sorted(traces, key=lambda trace: draw_random_bytes(8, seed, "traces", trace.text)):
        strata.setdefault(trace.searches[-1].stack, []).append(trace)
    longest = max(map(len, strata.values()))
    turns = [group[turn] for turn in range(longest) for group in strata.values() if turn < len(group)]
    chosen = {trace.key for trace in turns[:limit]}
    return [trace for trace in traces if trace.key in chosen]


def _has_several_searches(trace: _TraceSearches) -> bool:
    return sum(not search.is_reranker for search in trace.searches) > 1


def _collect_query_lines_by_stack(traces: Sequence[_TraceSearches]) -> dict[str, list[dict[str, Any]]]:
    """Stack -> a line for each question that it was asked once, as a run."""
    runs: dict[str, list[dict[str, Any]]] = {}
    for trace in traces:
        if _has_several_searches(trace):
            continue
        for search in trace.searches:
            documents = [
                {"id": key, **({} if document.score is None else {"score": document.score})}
                for key, document in _list_distinct_documents(search)
            ]
            seconds = {} if search.seconds is None else {"seconds": search.seconds}
            runs.setdefault(search.stack, []).append({"query_id": trace.key, **seconds, "documents": documents})
    return runs


def _make_session_rows(trace: _TraceSearches) -> Iterator[dict[str, Any]]:
    for number, search in enumerate(trace.searches, 1):
        effort = {"seconds": search.seconds, "cost": search.usd}
        yield {
            "query_id": trace.key, "call": number, "query": search.query, "stack": search.stack,
            "documents": [key for key, _ in _list_distinct_documents(search)],
            **{name: value for name, value in effort.items() if value is not None},
        }  # fmt: skip


def _list_distinct_documents(search: TracedSearch) -> Iterator[tuple[str, TracedDocument]]:
    """The documents with their ids, the first of equal ones."""
    seen: set[str] = set()
    for document in search.documents:
        key = _make_document_id(document)
        if key and key not in seen:
            seen.add(key)
            yield key, document


def _make_document_id(document: TracedDocument) -> str:
    """Make the id of a document: its own, or one made of its text."""
    if document.id or not document.text:
        return document.id
    return f"text-{hashlib.blake2b(document.text.encode('utf-8', 'surrogatepass'), digest_size=8).hexdigest()}"


def _list_document_texts(trace: _TraceSearches) -> Iterator[tuple[str, str]]:
    for search in trace.searches:
        yield from ((key, document.text) for key, document in _list_distinct_documents(search))
