"""S5: the best whole buckets of grades, until there are enough passages to order (spec rag 4).

A bucket is never cut, since nothing in its grade says which of its passages are better: far more than the minimum may
be kept.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from embassay.measures.graded import GRADES

MINIMUM = 35


@dataclass(frozen=True)
class Pruned:
    """The rows that are kept, best grade first and by place of fusion within a grade; `cut_stage` is the lowest grade
    whose bucket was taken, `cut_size` how many rows are kept."""

    rows: tuple[Mapping[str, Any], ...]
    cut_stage: int

    @property
    def cut_size(self) -> int:
        """How many rows are kept."""
        return len(self.rows)


def prune(rows: Sequence[Mapping[str, Any]], minimum: int = MINIMUM) -> Pruned:
    """The rows (each with `grade`, 1 to 5, and `rank_rrf`) of the buckets 5, 4, 3, 2, 1, each taken whole while fewer
    than `minimum` are kept; all rows where there are no more.

    >>> counts = {5: 4, 4: 4, 3: 20, 2: 30, 1: 9}
    >>> rows = [{"grade": grade, "rank_rrf": i} for grade, n in counts.items() for i in range(n)]
    >>> found = prune(rows)
    >>> found.cut_size, found.cut_stage
    (58, 2)
    """
    kept: list[Mapping[str, Any]] = []
    stage = max(GRADES)
    for grade in sorted(GRADES, reverse=True):
        if len(kept) >= minimum:
            break
        bucket = [row for row in rows if row["grade"] == grade]
        kept += sorted(bucket, key=lambda row: (row["rank_rrf"], str(row.get("doc_id", ""))))
        stage = grade if bucket else stage
    return Pruned(tuple(kept), stage)


def pruned_rows(pruned: Pruned, ts: str) -> list[dict[str, Any]]:
    """The lines of S5's artefact: those of S4 with where the cut was made."""
    cut = {"cut_stage": pruned.cut_stage, "cut_size": pruned.cut_size, "cut_ts": ts}
    return [{**row, **cut} for row in pruned.rows]
