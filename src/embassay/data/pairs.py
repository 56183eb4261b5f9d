"""Comparisons from ranks: every two summaries of one group become one human choice."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

from embassay.data.cells import key_of, number_of
from embassay.data.rows import Row, missing_column
from embassay.data.views import View, distinct
from embassay.randomness import random_bytes


@dataclass(frozen=True)
class Paired(View):
    """Every two rows that agree on the `group` columns; the lower `rank` (1 = best) is preferred.

    Which summary is first is decided by a hash of the two ids, so neither position is favoured. Equal or
    missing ranks give a choice of None, which is dropped and counted where comparisons are read.
    """

    group: tuple[str, ...]
    rank: str

    def __post_init__(self) -> None:
        for column in (*self.group, self.rank, "id", "text", "summary"):
            if column not in self.source.columns():
                raise missing_column(self.source, column)

    def columns(self) -> tuple[str, ...]:
        """The columns of a comparison."""
        lang = ("lang",) if "lang" in self.source.columns() else ()
        return ("id", "text", "summary_1", "summary_2", "choice", *lang)

    def rows(self, columns: Sequence[str]) -> Iterator[Row]:
        """One row per pair, group by group in the order of first appearance."""
        lang = ("lang",) if "lang" in columns else ()
        groups: dict[tuple[str, ...], list[Row]] = {}
        for row in self.source.rows(distinct(("id", "text", "summary", *lang, *self.group, self.rank))):
            groups.setdefault(tuple(key_of(row, column) for column in self.group), []).append(row)
        for members in groups.values():
            for one, other in combinations(members, 2):
                yield self._compared(one, other)

    def _compared(self, one: Row, other: Row) -> Row:
        ids = key_of(one, "id"), key_of(other, "id")
        swapped = random_bytes(1, 0, "pairs", *ids)[0] & 1
        first, second = (other, one) if swapped else (one, other)
        cells = {
            **first.cells,
            "id": f"{key_of(first, 'id')} + {key_of(second, 'id')}",
            "summary_1": first.cells["summary"],
            "summary_2": second.cells["summary"],
            "choice": self._choice(first, second),
        }
        return Row(first.path, max(first.line, second.line), cells)

    def _choice(self, first: Row, second: Row) -> int | None:
        ranks = number_of(first, self.rank), number_of(second, self.rank)
        if ranks[0] is None or ranks[1] is None or ranks[0] == ranks[1]:
            return None
        return int(ranks[0] > ranks[1])
