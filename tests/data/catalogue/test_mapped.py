"""A dataset's own columns under canonical names."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from embassay.data.catalogue.hub import RowSourceWithCanonicalColumns
from embassay.data.tables import JsonLinesTable


def _source(path: Path, *rows: dict[str, Any]) -> JsonLinesTable:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return JsonLinesTable(path)


def test_nested_cells_and_second_choices(tmp_path: Path) -> None:
    """The first place that holds something counts, row by row; a path that leads nowhere holds nothing."""
    source = _source(
        tmp_path / "x.jsonl",
        {"info": {"post": "p", "article": "a"}, "summaries": [{"text": "s"}, {"text": "t"}]},
        {"info": {"post": "", "article": "a"}, "summaries": [{"text": "s"}]},
        {"info": None, "summaries": []},
    )
    mapped = RowSourceWithCanonicalColumns(
        source, {"text": ("info.post", "info.article"), "summary_2": ("summaries.1.text",)}
    )
    assert mapped.columns() == ("text", "summary_2", "info", "summaries")
    rows = [row.cells for row in mapped.rows(("text", "summary_2"))]
    assert rows == [
        {"text": "p", "summary_2": "t"},
        {"text": "a", "summary_2": None},
        {"text": None, "summary_2": None},
    ]


def test_our_names_and_those_of_beir(tmp_path: Path) -> None:
    """A canonical column may be there already; BEIR's names count in the tables of a retrieval set only."""
    source = _source(tmp_path / "x.jsonl", {"_id": "1", "text": "a", "score": 2})
    assert next(RowSourceWithCanonicalColumns(source, {}, "corpus").rows(("id", "text"))).cells == {
        "id": "1",
        "text": "a",
    }
    flat = RowSourceWithCanonicalColumns(source, {"text": ("sentence1",)}, "test")
    assert flat.columns() == ("text", "_id", "score")
    assert next(flat.rows(("text", "score"))).cells == {"text": "a", "score": 2}


def test_ids_of_flat_tables_are_not_used(tmp_path: Path) -> None:
    """Unless the record maps them: nobody promises that they are there once."""
    source = _source(tmp_path / "x.jsonl", {"id": "1", "text": "a"})
    assert "id" not in RowSourceWithCanonicalColumns(source, {}, "test").columns()
    assert "id" in RowSourceWithCanonicalColumns(source, {"id": ("id",)}, "test").columns()
