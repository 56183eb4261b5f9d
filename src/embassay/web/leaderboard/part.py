"""Columns with their cells, ranks and tests: the part of a board that is sent for the columns asked for."""

from __future__ import annotations

import hashlib
import json
import math
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from threading import Lock
from typing import Any

from embassay.protocols.standings import REFERENCE
from embassay.web.leaderboard.cells import cell_of
from embassay.web.leaderboard.columns import place_of
from embassay.web.leaderboard.contract import Cell, Column, Part, as_plain
from embassay.web.leaderboard.joined import Joined, Member
from embassay.web.leaderboard.ranking import UNTESTED, Pairs, Tested, told_apart
from embassay.web.leaderboard.replicates import At

_DIGITS = 8
_MOST_TESTS = 2_000
LATER = "the tests of this column are being made"


class Tests:
    """Tests of columns, done once while the runs behind them stay the same."""

    def __init__(self) -> None:
        self._known: OrderedDict[tuple[object, ...], Tested] = OrderedDict()
        self._pairs: dict[tuple[str, str], dict[str, Pairs]] = {}
        self._lock = Lock()

    def of(
        self, board: Joined, column: Column, standings: At, ranked: frozenset[str], *, make: bool = True
    ) -> Tested:
        """The tests of one column among the `ranked` systems. Incomplete systems take no part, and references
        only where they reach the leader. Where tests are not known yet and `make` is false, there are none for now."""
        place = place_of(column)
        behind = {
            one.name: (one.run.name, one.run.folder.stamp[:3])
            for one in board.entrants
            if one.name in ranked and (place, one.name) in standings
        }
        key = (board.id, column.key, frozenset(behind.items()))
        with self._lock:
            if key in self._known:
                self._known.move_to_end(key)
                return self._known[key]
        if board.kind in UNTESTED:
            return Tested(reason=UNTESTED[board.kind])
        if not make:
            return Tested(reason=LATER)
        pairs = self._pairs.setdefault((board.id, column.key), {})
        found = told_apart(
            [standings[place, name] for name in sorted(behind)],
            higher=column.higher_is_better, origins=behind, known=pairs,
        )  # fmt: skip
        with self._lock:
            self._known[key] = found
            while len(self._known) > _MOST_TESTS:
                self._known.popitem(last=False)
        return found


def part_of(
    board: Joined,
    members: Sequence[Member],
    columns: Sequence[Column],
    standings: At,
    tests: Tests,
    *,
    alike: Sequence[str],
    stamp: str = "",
    later: bool = False,
) -> tuple[Part, Mapping[str, Tested]]:
    """The columns as a part of the board, systems in the order of `members`; and what the tests said by key. `alike`
    are the keys for which all that cannot be told apart are listed; with `later` no other columns are tested now."""
    place = {one.name: i for i, one in enumerate(members)}
    ranked = frozenset(one.name for one in members if one.complete or one.group == REFERENCE)
    said = {
        one.key: tests.of(board, one, standings, ranked, make=not later or one.key in alike)
        for one in columns
    }
    cells = {one.key: tuple(_cell(m, one, standings) for m in members) for one in columns}
    part = Part(
        stamp,
        cells,
        {key: tuple(found.ranks.get(m.name) for m in members) for key, found in said.items()},
        {key: tuple(_share(found.best.get(m.name)) for m in members) for key, found in said.items()},
        {key: tuple(sorted(place[name] for name in found.top)) for key, found in said.items()},
        {
            key: tuple(
                tuple(sorted(place[name] for name in said[key].alike[m.name]))
                if m.name in said[key].alike
                else None
                for m in members
            )
            for key in alike
            if key in said
        },
    )
    return (part if stamp else replace(part, stamp=stamp_of(part))), said


def with_counts(columns: Sequence[Column], cells: Mapping[str, Sequence[Cell]]) -> tuple[Column, ...]:
    """The columns with the largest number of items of their cells, where these are given."""
    return tuple(
        replace(one, n=max((cell.n for cell in cells[one.key]), default=0)) if one.key in cells else one
        for one in columns
    )


def rounded(cell: Cell) -> Cell:
    """Eight digits: more than a score has. Order, ranks and downloads are from all of them."""
    return cell._replace(value=_short(cell.value), low=_short(cell.low), high=_short(cell.high))


def _cell(member: Member, column: Column, standings: At) -> Cell:
    """The cell, with the interval of its replicates where the row was written without one."""
    cell = member.cells.get(column.key) or cell_of(member.entrant, column)
    found = standings.get((place_of(column), member.name))
    if cell.value is not None and cell.low is None and found is not None:
        low, high = found.headline.interval
        cell = cell._replace(low=low, high=high)
    return rounded(cell)


def stamp_of(record: Any) -> str:
    """A digest of a record's content."""
    plain = json.dumps(as_plain(record), ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(plain.encode("utf-8", "replace")).hexdigest()[:16]


def _short(value: float | None) -> float | None:
    """What JSON cannot say is no value."""
    return float(f"{value:.{_DIGITS}g}") if value is not None and math.isfinite(value) else None


def _share(value: float | None) -> float | None:
    return None if value is None else round(value, 4)
