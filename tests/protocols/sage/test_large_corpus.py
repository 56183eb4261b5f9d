"""A run on a corpus that lies in a file: the same bytes, and only the texts that somebody may look at."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

import embassay as eb
from embassay.data import corpus as gathering
from embassay.protocols.kernel import evaluation
from embassay.protocols.kernel import inputs as opening
from embassay.report.items import ItemTextsByField
from embassay.runs.folder import RunFolder

WORDS = [
    *("corpus", "query", "search", "river", "stone", "bread"),
    *("light", "winter", "garden", "engine", "paper", "music"),
]


def _folder(folder: Path) -> Path:
    """60 documents, 6 queries with one relevant document each."""
    folder.mkdir()
    texts = [f"{WORDS[i % 12]} {WORDS[i * 5 % 11]} {WORDS[i * 7 % 12]} number {i}." for i in range(60)]
    rows = [{"_id": f"d{i}", "title": "", "text": text} for i, text in enumerate(texts)]
    queries = [{"_id": f"q{i}", "text": f"{WORDS[i]} number {i * 9}"} for i in range(6)]
    for name, given in (("corpus", rows), ("queries", queries)):
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in given))
    qrels = [f"q{i}\td{i * 9}\t1\n" for i in range(6)]
    (folder / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\n" + "".join(qrels))
    return folder


def _run(data: Path, out: Path) -> Path:
    opening.open_request_dataset.cache_clear()
    evaluation.load_task_dataset.cache_clear()
    options = eb.sage.SageOptions(resamples=50)
    run = eb.sage.run(["bm25"], datasets=[data], tasks=["retrieval"], out=out, tokenizer="words", options=options)
    return run.path


def test_same_run_with_few_texts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Results, items and keys of cells are those of the run in memory; every document that is shown has its text."""
    monkeypatch.setenv("EMBASSAY_CACHE", str(tmp_path / "cache"))
    data = _folder(tmp_path / "data")
    small = _run(data, tmp_path / "small")
    monkeypatch.setattr(gathering, "IN_MEMORY", 200)
    large = _run(data, tmp_path / "large")
    assert list((tmp_path / "cache" / "corpora").glob("*/texts"))
    for name in ("results.jsonl", "items", "cells", "tables", "texts"):
        ours = sorted(path.relative_to(small) for path in (small / name).rglob("*"))
        assert ours == sorted(path.relative_to(large) for path in (large / name).rglob("*"))
    for path in (small / "items").rglob("*.parquet"):
        assert path.read_bytes() == (large / path.relative_to(small)).read_bytes()
    assert (small / "results.jsonl").read_bytes() == (large / "results.jsonl").read_bytes()
    _check_texts(small, large)
    (large / "texts" / "retrieval" / "data.parquet").unlink()
    _run(data, tmp_path / "large")
    _check_texts(small, large)


def _check_texts(small: Path, large: Path) -> None:
    of_small, of_large = (ItemTextsByField(RunFolder(path), "retrieval", "data") for path in (small, large))
    ranked = pl.concat(map(pl.read_parquet, (large / "items").rglob("*.rankings.parquet")))
    shown = {*ranked["doc_id"], *(f"d{i * 9}" for i in range(6))}
    assert set(of_large.items("document")) == shown < set(of_small.items("document"))
    assert all(of_large.text("document", doc) == of_small.text("document", doc) for doc in shown)
    assert list(of_large.items("query")) == list(of_small.items("query"))
