"""Pools and lists of graded documents as the worked examples write them."""

from __future__ import annotations

from collections import Counter


def pool_of(counts: str) -> dict[str, int]:
    """`2,4,10,14,20`, documents of grade 5, 4, 3, 2, 1 -> id -> grade."""
    sizes = zip((5, 4, 3, 2, 1), map(int, counts.split(",")), strict=True)
    return {f"g{grade}n{i}": grade for grade, size in sizes for i in range(size)}


def top_of(grades: str) -> list[str]:
    """`5 4x2 3`, the grades of a list in order -> ids, each new; `?` is a document without a grade."""
    seen: Counter[str] = Counter()
    ids = []
    for word in grades.split():
        grade, _, times = word.partition("x")
        for _ in range(int(times or 1)):
            ids.append(f"g{grade}n{seen[grade]}" if grade != "?" else f"unjudged{seen[grade]}")
            seen[grade] += 1
    return ids
