"""Sources combined with others, or with what their rows do not say."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from embassay.data.cells import number_of
from embassay.data.rows import Origin, Row, Source
from embassay.data.views import View, distinct

_KEYS = ("id", "query_id", "doc_id", "doc_ids")


@dataclass(frozen=True)
class Chained:
    """Sources one after the other; the columns are those that all have."""

    sources: tuple[Source, ...]

    @property
    def path(self) -> Path:
        """The file of the first."""
        return self.sources[0].path

    def origins(self) -> tuple[Origin, ...]:
        """All that is read."""
        return tuple(origin for source in self.sources for origin in source.origins())

    def columns(self) -> tuple[str, ...]:
        """The columns that every source has."""
        shared = set(self.sources[0].columns()).intersection(*(s.columns() for s in self.sources[1:]))
        return tuple(column for column in self.sources[0].columns() if column in shared)

    def rows(self, columns: Sequence[str]) -> Iterator[Row]:
        """The rows of all, in order."""
        for source in self.sources:
            yield from source.rows(columns)


@dataclass(frozen=True)
class Stated(View):
    """The same cells in every row, besides its own."""

    cells: Mapping[str, Any]

    def columns(self) -> tuple[str, ...]:
        """Those of the source, and the stated ones."""
        return distinct((*self.source.columns(), *self.cells))

    def rows(self, columns: Sequence[str]) -> Iterator[Row]:
        """The rows with the stated cells."""
        for path, line, cells in self.source.rows([name for name in columns if name not in self.cells]):
            yield Row(path, line, {**cells, **self.cells})


@dataclass(frozen=True)
class Prefixed(View):
    """Keys with `prefix/` before them, so that those of several sources cannot be mistaken for each other."""

    prefix: str

    def rows(self, columns: Sequence[str]) -> Iterator[Row]:
        """The rows under these keys."""
        for path, line, cells in self.source.rows(columns):
            keys = {key: self._own(cells[key]) for key in _KEYS if cells.get(key) is not None}
            yield Row(path, line, {**cells, **keys})

    def _own(self, key: Any) -> Any:
        return [self._own(one) for one in key] if isinstance(key, list) else f"{self.prefix}/{key}"


@dataclass(frozen=True)
class Labelled(View):
    """`label` is 1 where the number in the column `by` is at least `least`, else 0; None where there is none."""

    by: str
    least: float

    def columns(self) -> tuple[str, ...]:
        """Those of the source, and the label."""
        return distinct((*self.source.columns(), "label"))

    def rows(self, columns: Sequence[str]) -> Iterator[Row]:
        """The rows with their label."""
        own = [name for name in columns if name != "label"]
        for row in self.source.rows(distinct((*own, self.by))):
            number = number_of(row, self.by)
            label = None if number is None else int(number >= self.least)
            yield Row(row.path, row.line, {**row.cells, "label": label})
