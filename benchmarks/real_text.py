"""Distinct real texts for the benchmarks."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
DATA = ROOT.parent / "shared" / "data"
SAMPLE = ROOT / "src" / "embassay" / "data" / "sample"
_SHORTEST = 20


def real_texts(n: int, data: Path = DATA, *, longest: int | None = None) -> list[str]:
    """`n` distinct texts, documents and single sentences alike, of at most `longest` characters: those of the
    JSON Lines files under `data`, one of each file in turn, or of the sample data where there is no such
    folder; numbered copies when there are too few."""
    files = sorted(path for path in (data if data.is_dir() else SAMPLE).rglob("*") if ".jsonl" in path.name)
    texts: dict[str, None] = {}
    for text in _in_turn([_strings(file) for file in files]):
        if longest is None or len(text) <= longest:
            texts[text] = None
        if len(texts) == n:
            return list(texts)
    found = list(texts)
    return [f"{found[i % len(found)]} {i // len(found) or ''}".strip() for i in range(n)]


def _in_turn(sources: list[Iterator[str]]) -> Iterator[str]:
    end = object()
    while sources:
        heads = [next(source, end) for source in sources]
        yield from (head for head in heads if isinstance(head, str))
        sources = [source for source, head in zip(sources, heads, strict=True) if head is not end]


def _strings(file: Path) -> Iterator[str]:
    content = file.read_bytes()
    if file.suffix == ".gz":
        content = gzip.decompress(content)
    for line in content.decode("utf-8").strip().split("\n"):
        yield from _leaves(json.loads(line))


def _leaves(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        if len(value) >= _SHORTEST and " " in value:
            yield value
    elif isinstance(value, dict):
        for part in value.values():
            yield from _leaves(part)
    elif isinstance(value, list):
        for part in value:
            yield from _leaves(part)
