"""Data of one's own in every shape, small, with the faults that real data have."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

TOPICS = ("bread", "trains", "rain", "chess", "wool", "bees", "glass", "tides")


def write_rows(path: Path, rows: list[dict[str, object]]) -> Path:
    """Rows as JSON Lines."""
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), "utf-8")
    return path


@pytest.fixture
def labelled(tmp_path: Path) -> Path:
    """8 topics, 12 texts each to test and to train; one test text is in both, one repeated, one with two labels."""
    rows: list[dict[str, object]] = []
    for split in ("train", "test"):
        for topic in TOPICS:
            rows += [
                {"id": f"{topic}-{split}-{k}", "text": f"{split} note {k} on {topic} and {topic} only, part {k}",
                 "label": topic, "split": split, "lang": "en"}
                for k in range(12)
            ]  # fmt: skip
    by_id = {row["id"]: row for row in rows}
    for k in range(12):
        by_id[f"bees-test-{k}"]["text"] = str(by_id[f"bees-train-{k}"]["text"]).upper()
    by_id["wool-test-1"]["text"] = by_id["wool-test-0"]["text"]
    by_id["glass-test-0"]["text"] = by_id["tides-test-0"]["text"] = "both glass and tides"
    return write_rows(tmp_path / "topics.jsonl", rows)


@pytest.fixture
def pairs(tmp_path: Path) -> Path:
    """60 pairs in two languages with scores 0 to 4, one pair there in both orders."""
    rows: list[dict[str, object]] = [
        {"id": f"{lang}{k}", "text": f"{lang} first {k}", "text2": f"{lang} second {k}",
         "score": (k % 9) / 2, "lang": lang}
        for lang in ("da", "arb_Arab")
        for k in range(30)
    ]  # fmt: skip
    rows.append({"id": "again", "text": "da second 3", "text2": "Da first 3", "score": 1.5, "lang": "da"})
    return write_rows(tmp_path / "pairs.jsonl", rows)


@pytest.fixture
def retrieval(tmp_path: Path) -> Path:
    """A folder in BEIR's layout: 12 questions, each answered by two to four of 60 notes, one note empty."""
    folder = tmp_path / "notes"
    (folder / "qrels").mkdir(parents=True)
    corpus = [
        {"_id": f"n{k}", "text": f"note {k} tells of {TOPICS[k % 6]} in the year {1900 + k} and of town {k // 6}"}
        for k in range(60)
    ]
    corpus[7]["text"] = ""
    write_rows(folder / "corpus.jsonl", corpus)  # type: ignore[arg-type]
    queries: list[dict[str, object]] = [
        {"_id": f"q{k}", "text": f"what of {TOPICS[k % 6]} in town {k % 10}"} for k in range(12)
    ]
    write_rows(folder / "queries.jsonl", queries)
    lines = ["query-id\tcorpus-id\tscore"]
    lines += [f"q{k}\tn{(k % 6) + 6 * j}\t{j + 1}" for k in range(12) for j in range(2 + k % 3)]
    (folder / "qrels" / "test.tsv").write_text("\n".join(lines) + "\n", "utf-8")
    return folder


@pytest.fixture
def rows_file() -> Callable[[Path, list[dict[str, object]]], Path]:
    """Writes rows of a test's own."""
    return write_rows
