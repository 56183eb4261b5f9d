"""Judgements of spans of documents, and runs held against them: evidence that survives another way of cutting.

A line of judgements is {"query_id": "q1", "document": "guide.md", "start": 120, "end": 310, "relevance": 5}. A passage
that was found has the evidence that it overlaps with.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from embassay.data.judged_runs.content import find_first_nonblank_line, read_unpacked_bytes, split_nonblank_lines
from embassay.data.judged_runs.engines import REPEATS
from embassay.data.judged_runs.runs import RunOrQrelsEntries
from embassay.data.rows import format_value_for_error
from embassay.errors import DataError
from embassay.limits import parse_bounded_json

KEYS = ("query_id", "document", "start", "end")
OVERLAP = 0.5
"""Share of the shorter of passage and evidence that both must have in common."""


@dataclass(frozen=True)
class EvidenceSpan:
    """Characters `start` to `end` of a document, with what it is worth for a question; `quote` are their words, where
    the file has them."""

    query: str
    document: str
    start: int
    end: int
    value: float
    quote: str = ""

    @property
    def name(self) -> str:
        """What it is called where documents are named."""
        return f"{self.document}[{self.start}:{self.end}]"


Place = tuple[str, int, int]
"""Document, start and end of a passage."""


def is_span_judgement_file(path: Path) -> bool:
    """Whether a file of judgements is of spans."""
    if path.is_dir() or not path.exists():
        return False
    try:
        first = parse_bounded_json(find_first_nonblank_line(read_unpacked_bytes(path)))
    except (DataError, ValueError):
        return False
    return isinstance(first, dict) and set(KEYS) <= first.keys()


def read_evidence_spans(path: Path) -> list[EvidenceSpan]:
    """The judgements of a file; DataError with its line for one that is none."""
    spans = []
    for number, line in split_nonblank_lines(path, read_unpacked_bytes(path)):
        try:
            fields = parse_bounded_json(line)
            spans.append(_read_span(fields))
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise DataError(
                "the line is not a span judgement", path=path, line=number,
                expected="query_id, document, start, end and relevance",
                found=format_value_for_error(line.decode("utf-8", "replace")),
                mend="Correct it, or leave it out."
            ) from error  # fmt: skip
    return spans


def _read_span(fields: Mapping[str, Any]) -> EvidenceSpan:
    start, end, value = fields["start"], fields["end"], fields.get("relevance", fields.get("grade", 1))
    whole = [type(end) is int for end in (start, end)]
    if not all(whole) or not 0 <= start < end or isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError("no span")
    quote = fields.get("text", "")
    if not isinstance(quote, str):
        raise ValueError("no quotation")
    return EvidenceSpan(str(fields["query_id"]), str(fields["document"]), start, end, float(value), quote)


def convert_spans_to_document_qrels(spans: Sequence[EvidenceSpan], path: Path) -> RunOrQrelsEntries:
    """The judgements as those of documents, each span one under its name; of equal spans the best counts."""
    import polars as pl

    best: dict[tuple[str, str], float] = {}
    for span in spans:
        key = span.query, span.name
        best[key] = max(span.value, best.get(key, span.value))
    rows = [(query, doc, value) for (query, doc), value in best.items()]
    return RunOrQrelsEntries(str(path), "spans", _make_run_frame(pl, rows))


@dataclass(frozen=True)
class RunMatchedByEvidence:
    """A run by the evidence it found: how many of its entries have some, none, or no known place in a document."""

    run: RunOrQrelsEntries
    matched: int
    unmatched: int
    unplaced: int


def rename_passages_by_evidence(
    run: RunOrQrelsEntries, spans: Sequence[EvidenceSpan], places: Mapping[str, Place]
) -> RunMatchedByEvidence:
    """The run with each passage under the name of the evidence that it overlaps with most, the best where several are
    as much; a second passage with the same evidence is one without, and what has none keeps its name.

    `places` is where passages are from. Ranks and scores stay as they are.
    """
    import polars as pl

    by_document: dict[tuple[str, str], list[EvidenceSpan]] = {}
    for span in spans:
        by_document.setdefault((span.query, span.document), []).append(span)
    # Best first, ties as in the file: the first passage with an evidence claims it.
    ordered = run.frame.with_row_index("row").sort(["query", "value", "row"], descending=[False, True, False])
    named: dict[int, str] = {}
    claimed: set[tuple[str, str]] = set()
    counts = {"matched": 0, "unmatched": 0, "unplaced": 0}
    for row, query, doc in ordered.select("row", "query", "doc").iter_rows():
        place = places.get(doc)
        overlaps = (
            [] if place is None else _find_evidence_spans_in_passage(by_document.get((query, place[0]), ()), place)
        )
        free = [span for span in overlaps if (query, span.name) not in claimed]
        counts["unplaced" if place is None else "matched" if overlaps else "unmatched"] += 1
        named[row] = free[0].name if free else f"{doc}{REPEATS}" if overlaps else doc
        if free:
            claimed.add((query, free[0].name))
    rows = [
        (query, named[row], value)
        for row, query, value in run.frame.with_row_index("row").select("row", "query", "value").iter_rows()
    ]
    return RunMatchedByEvidence(replace(run, frame=_make_run_frame(pl, rows)), **counts)


def _find_evidence_spans_in_passage(spans: Iterable[EvidenceSpan], place: Place) -> list[EvidenceSpan]:
    """Find the evidence in a passage: most in common first, then worth most."""
    _, start, end = place
    overlaps = []
    for span in spans:
        common = min(end, span.end) - max(start, span.start)
        if common > 0 and common >= OVERLAP * min(end - start, span.end - span.start):
            overlaps.append((-common, -span.value, span.start, span))
    return [span for *_, span in sorted(overlaps, key=lambda overlap: overlap[:3])]


def _make_run_frame(pl: Any, rows: Sequence[tuple[str, str, float]]) -> Any:
    schema = {"query": pl.String, "doc": pl.String, "value": pl.Float64}
    return pl.DataFrame(list(rows), schema=schema, orient="row")
