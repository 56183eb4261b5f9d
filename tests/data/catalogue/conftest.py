"""Small mirrors and repositories, written from the records of the catalogue."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from embassay.data.catalogue.entries import EntryRecord, TableRecord
from embassay.data.catalogue.hub import Place, _loaded

SIZE = 4
"""Rows per table, of two labels."""


@pytest.fixture
def mirror(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty mirror that is in force."""
    monkeypatch.setenv("EMBASSAY_DATA", str(tmp_path))
    return tmp_path


@pytest.fixture
def write_mirror(mirror: Path) -> Callable[[EntryRecord], Path]:
    """Writes a record's folder of the mirror."""
    return lambda record: _write_mirror(record, mirror)


def _write_mirror(record: EntryRecord, root: Path) -> Path:
    """The folder of `record` under `root`, with every table in the dataset's own columns."""
    folder = root / record.name
    written: dict[Path, list[dict[str, Any]]] = {}
    for table in record.all_tables:
        for lang in record.langs or [""]:
            path = folder / table.part / f"{lang}.jsonl" if lang else folder / f"{table.part}.jsonl"
            rows = list(_own_rows(table))
            before = written.get(path, [{} for _ in rows])
            written[path] = [{**old, **new} for old, new in zip(before, rows, strict=True)]
    for path, rows in written.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder


def _own_rows(table: TableRecord) -> Iterator[dict[str, Any]]:
    """The rows of one table under the names that the hub gives its columns, nested and in lists as there."""
    rows = [dict(_cells(table, number)) for number in range(SIZE)]
    if table.nested and "summaries" not in table.shapes:
        columns = {name: [row[name] for row in rows] for name in rows[0]}
        rows = [columns, columns]
    for row in rows:
        own: dict[str, Any] = {}
        for target, value in row.items():
            _put(own, table.map.get(target, [target])[0], value)
        yield own


def _cells(table: TableRecord, number: int) -> Iterator[tuple[str, Any]]:
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
    "corpus": lambda n: {"id": f"d{n}", "title": f"title {n}", "text": f"text {n}"},
    "queries": lambda n: {"id": f"q{n}", "text": f"query {n}"},
    "qrels": lambda n: {"query_id": f"q{n}", "doc_id": f"d{n}", "relevance": 1},
    "top_ranked": lambda n: {"query_id": f"q{n}", "doc_ids": [f"d{n}", f"d{(n + 1) % SIZE}"]},
    "summaries": lambda n: {"text": f"text {n}", "references": [f"ours {n}", f"theirs {n}"],
                            "summaries": [f"machine {n}", f"other {n}"], "relevance": [1.5, 4.0]},
}  # fmt: skip


@dataclass(frozen=True)
class Repositories:
    """A folder that stands in for the hub: one repository per dataset, with the hub's own way of naming its parts."""

    root: Path

    def add(self, record: EntryRecord, copies: int = 1) -> Path:
        """Write the record's repository, the rows of every table `copies` times over."""
        folder = self.root / record.hub
        configs: dict[str, dict[str, str]] = {}
        for table in record.all_tables:
            for lang in record.langs or [""]:
                config = (record.config(table, lang) or ("default",))[0]
                for split in table.splits:
                    path = folder / config / f"{split}.jsonl"
                    path.parent.mkdir(parents=True, exist_ok=True)
                    lines = [json.dumps(row) + "\n" for row in _own_rows(table)]
                    path.write_text("".join(lines * copies))
                    configs.setdefault(config, {})[split] = f"{config}/{split}.jsonl"
        about = [
            {
                "config_name": name,
                "data_files": [{"split": split, "path": path} for split, path in files.items()],
            }
            for name, files in configs.items()
        ]
        (folder / "README.md").write_text(f"---\n{yaml.safe_dump({'configs': about})}---\n")
        return folder


@pytest.fixture
def repositories(tmp_path_factory: pytest.TempPathFactory) -> Repositories:
    """An empty stand-in, which nothing reads yet."""
    return Repositories(tmp_path_factory.mktemp("repositories"))


@pytest.fixture
def hub(
    repositories: Repositories, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> Repositories:
    """The stand-in, which `datasets` reads in the place of the hub."""
    datasets = pytest.importorskip("datasets")
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path_factory.mktemp("cache"))

    def local(place: Place, *, streamed: bool) -> list[Any]:
        if not (repositories.root / place.repo).is_dir():
            raise ConnectionError(f"no {place.repo}")
        return _loaded(datasets, replace(place, repo=str(repositories.root / place.repo)), streamed)

    monkeypatch.setattr("embassay.data.catalogue.hub.hub_splits", local)
    datasets.disable_progress_bars()
    return repositories
