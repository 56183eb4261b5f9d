"""Small mirrors of the catalogue, written from its records: every table in the dataset's own columns."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from embassay.data.catalogue.entries import CatalogueDatasetRecord, CatalogueTableRecord

SIZE = 4
"""Rows per table, of two labels."""
TEXTS = {"text", "text2", "summary", "summary_1", "summary_2", "references", "summaries", "query", "positive"}
TEXTS |= {"negative"}
WORDS = [
    "river",
    "stone",
    "copper",
    "lantern",
    "market",
    "evening",
    "paper",
    "winter",
    "bridge",
    "garden",
    "engine",
    "harbour",
    "signal",
    "forest",
    "window",
    "teacher",
    "morning",
    "silver",
    "island",
    "ticket",
]
Told = Callable[[str], str]


def sentences(text: str) -> str:
    """Two sentences of twelve words that stand for a text: the same for the same, and no two alike."""
    digest = hashlib.sha256(text.encode()).digest()
    words = [WORDS[byte % len(WORDS)] for byte in digest[:12]]
    return f"The {' '.join(words[:6])} is {text}. A {' '.join(words[6:])} was not."


def write_mirror(record: CatalogueDatasetRecord, root: Path, *, size: int = SIZE, told: Told = str) -> Path:
    """The folder of `record` under `root`; `told` makes the texts of their names."""
    folder = root / record.name
    written: dict[Path, list[dict[str, Any]]] = {}
    for table in record.all_tables:
        for lang in record.langs or [""]:
            path = folder / table.part / f"{lang}.jsonl" if lang else folder / f"{table.part}.jsonl"
            rows = list(own_rows(table, size, told))
            before = written.get(path, [{} for _ in rows])
            written[path] = [{**old, **new} for old, new in zip(before, rows, strict=True)]
    for path, rows in written.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder


def own_rows(table: CatalogueTableRecord, size: int = SIZE, told: Told = str) -> Iterator[dict[str, Any]]:
    """The rows of one table under the names that the hub gives its columns, nested and in lists as there."""
    rows = [{name: _told(name, value, told) for name, value in _cells(table, number)} for number in range(size)]
    if table.nested and not {"summaries", "reranking"} & set(table.shapes):
        columns = {name: [row[name] for row in rows] for name in rows[0]}
        rows = [columns, columns]
    for row in rows:
        own: dict[str, Any] = {}
        for target, value in row.items():
            _put(own, table.map.get(target, [target])[0], value)
        yield own


def _told(name: str, value: Any, told: Told) -> Any:
    if name not in TEXTS:
        return value
    return [told(one) for one in value] if isinstance(value, list) else told(value)


def _cells(table: CatalogueTableRecord, number: int) -> Iterator[tuple[str, Any]]:
    for shape in table.shapes:
        yield from _CELLS[shape](number).items()
    yield from ((target, f"{target} {number}") for target in table.map if target == "title")


def _put(own: dict[str, Any], place: str, value: Any) -> None:
    *steps, last = place.split(".")
    cell: Any = own
    for step, following in zip(steps, [*steps, last][1:], strict=True):
        new: Any = [None, None, None] if following.isdigit() else {}
        if isinstance(cell, list):
            cell[int(step)] = cell[int(step)] or new
            cell = cell[int(step)]
        else:
            cell = cell.setdefault(step, new)
    cell[int(last) if isinstance(cell, list) else last] = value


def _text(number: int) -> Mapping[str, Any]:
    return {"text": f"text {number}", "label": number % 2}


_CELLS: Mapping[str, Any] = {
    "documents": _text,
    "summarised": lambda n: {"text": f"text {n}", "summary": f"summary {n}"},
    "comparisons": lambda n: {"text": f"text {n}", "summary_1": f"a {n}", "summary_2": f"b {n}", "choice": n % 2},
    "ratings": lambda n: {"text": f"text {n}", "summary": f"summary {n}", "overall": n, "accuracy": n,
                          "coverage": n, "coherence": n},
    "labelled": _text,
    "train": lambda n: {"text": f"train {n}", "label": n % 2},
    "test": _text,
    "pairs": lambda n: {"text": f"text {n}", "text2": f"other {n}", "score": n},
    "labelled_pairs": lambda n: {"text": f"text {n}", "text2": f"other {n}", "label": n % 2},
    "reranking": lambda n: {"query": f"query {n}", "positive": [f"answer {n}"], "negative": [f"text {n}", f"a {n}"]},
    "corpus": lambda n: {"id": f"d{n}", "title": f"title {n}", "text": f"text {n}"},
    "queries": lambda n: {"id": f"q{n}", "text": f"query {n}"},
    "qrels": lambda n: {"query_id": f"q{n}", "doc_id": f"d{n}", "relevance": 1},
    "top_ranked": lambda n: {"query_id": f"q{n}", "doc_ids": [f"d{n}", f"d{(n + 1) % SIZE}"]},
    "summaries": lambda n: {"text": f"text {n}", "references": [f"ours {n}", f"theirs {n}"],
                            "summaries": [f"machine {n}", f"other {n}"], "relevance": [1.5, 4.0]},
}  # fmt: skip
