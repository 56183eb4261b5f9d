"""Rows that hold lists, as rows of single values: how MTEB stores sets to cluster and pairs to classify."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from embassay.data.cells import key_of, label_of, wrong
from embassay.data.faults import fault
from embassay.data.rows import Row, Source
from embassay.data.views import View, distinct
from embassay.errors import DataError


def unrolled(source: Source, lists: tuple[str, ...]) -> Source:
    """`source`, unrolled if its first row holds lists in the columns `lists`."""
    first = next(iter(source.rows(lists)), None)
    if first is None or not isinstance(first.cells.get(lists[0]), list):
        return source
    return Unrolled(source, lists)


@dataclass(frozen=True)
class Unrolled(View):
    """One row per place of the lists, `id` = row#place; the rows made of one row are a `set`, within its own."""

    lists: tuple[str, ...]

    def columns(self) -> tuple[str, ...]:
        """Those of the source, an id and a set."""
        return distinct((*self.source.columns(), "id", "set"))

    def rows(self, columns: Sequence[str]) -> Iterator[Row]:
        """The rows of every row."""
        own = [name for name in ("id", "set") if name in self.source.columns()]
        for number, row in enumerate(self.source.rows(distinct((*columns, *self.lists, *own))), 1):
            try:
                key = key_of(row, "id") if "id" in own else str(number)
                group = f"{outer}/{key}" if "set" in own and (outer := label_of(row, "set")) else key
                values = self._values(row)
            except DataError as error:
                fault(error)
                continue
            for place, cells in enumerate(values, 1):
                added = {**cells, "id": f"{key}#{place}", "set": group}
                yield Row(row.path, row.line, {**row.cells, **added})

    def _values(self, row: Row) -> list[dict[str, Any]]:
        length = None
        for name in self.lists:
            cell = row.cells.get(name)
            if not isinstance(cell, list):
                raise wrong(row, name, "a list, as in the first row")
            length = len(cell) if length is None else length
            if len(cell) != length:
                raise DataError(
                    f"the lists in {', '.join(self.lists)} differ in length",
                    path=row.path, line=row.line, expected=f"{length} in {name!r}", found=str(len(cell)),
                    mend="Correct it, or leave the row out.",
                )  # fmt: skip
        places = zip(*(row.cells[name] for name in self.lists), strict=True)
        return [dict(zip(self.lists, values, strict=True)) for values in places]
