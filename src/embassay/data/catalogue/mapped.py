"""A dataset's own columns under canonical names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from embassay.data.rows import Row
from embassay.data.shapes import RETRIEVAL_PARTS
from embassay.data.views import ALIASES, View, distinct


@dataclass(frozen=True)
class Mapped(View):
    """Canonical names: `paths` is target -> where it may be, a dot leading into a nested cell.

    The first place that holds something counts, row by row; then a column called like the target, in the tables
    of a retrieval set also like BEIR's name for it. A flat table's own ids are not used unless they are mapped:
    on a hub nobody promises that they are there once, and numbers are the same for the hub and a mirror of it.
    """

    paths: Mapping[str, tuple[str, ...]]
    part: str = ""

    def columns(self) -> tuple[str, ...]:
        """The targets that can be read, and the source's own columns."""
        own = self.source.columns()
        targets = distinct((*self.paths, *(ALIASES if self._is_of_a_set else ())))
        found = tuple(target for target in targets if self._roots(target, own))
        hidden = set() if self._is_of_a_set or "id" in self.paths else {"id"}
        return tuple(name for name in distinct((*found, *own)) if name not in hidden)

    def rows(self, columns: Sequence[str]) -> Iterator[Row]:
        """The rows under canonical names."""
        own = self.source.columns()
        roots = distinct(root for target in columns for root in self._roots(target, own))
        places = {target: self._places(target) for target in columns}
        for path, line, cells in self.source.rows(roots):
            yield Row(path, line, {target: _first(cells, where) for target, where in places.items()})

    @property
    def _is_of_a_set(self) -> bool:
        return self.part in RETRIEVAL_PARTS or self.part == "top_ranked"

    def _places(self, target: str) -> tuple[str, ...]:
        alias = (ALIASES[target],) if self._is_of_a_set and target in ALIASES else ()
        return (*self.paths.get(target, ()), target, *alias)

    def _roots(self, target: str, own: Sequence[str]) -> tuple[str, ...]:
        roots = (place if place in own else place.partition(".")[0] for place in self._places(target))
        return tuple(root for root in roots if root in own)


def _first(cells: Mapping[str, Any], places: tuple[str, ...]) -> Any:
    for place in places:
        value = cells[place] if place in cells else _inside(cells, place)
        if value is not None and value != "":
            return value
    return None


def _inside(cell: Any, place: str) -> Any:
    """What `place` leads to in nested cells, None where it leads nowhere.

    >>> _inside({"info": {"tags": ["a", "b"]}}, "info.tags.1")
    'b'
    """
    for step in place.split("."):
        if isinstance(cell, Mapping):
            cell = cell.get(step)
        elif isinstance(cell, list) and step.isdigit() and int(step) < len(cell):
            cell = cell[int(step)]
        else:
            return None
    return cell
