"""A board before its ranks: the runs of one version, who speaks for each system, and in which order they stand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from embassay.protocols.standings import CLASSICAL, REFERENCE
from embassay.web.leaderboard.cells import cell_of
from embassay.web.leaderboard.columns import columns_of, place_of
from embassay.web.leaderboard.contract import Cell, Column
from embassay.web.leaderboard.joining import Entrant, entrants
from embassay.web.leaderboard.reading import RunData
from embassay.web.leaderboard.replicates import At, Replicates
from embassay.web.leaderboard.versions import version_of

PEOPLE = "people"
_ORDER = {"": 0, CLASSICAL: 1, PEOPLE: 2, REFERENCE: 4}
_INCOMPLETE = 3


@dataclass(frozen=True)
class Member:
    """A system in its place: its group, its cells in the overview columns (by key), whether it is complete."""

    entrant: Entrant
    group: str
    kind: str
    cells: Mapping[str, Cell]
    complete: bool

    @property
    def name(self) -> str:
        """Whose it is."""
        return self.entrant.name


@dataclass(frozen=True)
class Joined:
    """All runs of one version; `runs` are newest first."""

    id: str
    kind: str
    version: str
    runs: tuple[RunData, ...]

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        """All columns, those of the overview first."""
        return columns_of(self.kind, self.runs)

    @cached_property
    def overview(self) -> tuple[Column, ...]:
        """The columns shown first."""
        return tuple(one for one in self.columns if one.overview)

    @cached_property
    def entrants(self) -> tuple[Entrant, ...]:
        """Every system once."""
        return entrants(self.runs)

    @cached_property
    def lead(self) -> Column | None:
        """The column that orders the board: overall where a system has it, else the first that any has; None without
        columns."""
        valued = (
            column
            for column in self.overview
            if any(cell_of(one, column).value is not None for one in self.entrants)
        )
        return next(valued, self.overview[0] if self.overview else None)

    def standings(self, replicates: Replicates, columns: Sequence[Column]) -> At:
        """Standings at some columns, each system's from the run that speaks for it."""
        places = frozenset(place_of(one) for one in columns)
        speaking: dict[str, set[str]] = {}
        for one in self.entrants:
            speaking.setdefault(one.run.name, set()).add(one.name)
        return {
            (place, system): standing
            for run in self.runs
            if run.name in speaking
            for (place, system), standing in replicates.at(run, places).items()
            if system in speaking[run.name]
        }

    def members(self, standings: At) -> tuple[Member, ...]:
        """The systems in their order: ranked ones best first, those ranked apart, people, incomplete ones,
        references."""
        groups = {system: one.group for (_, system), one in standings.items()}
        found = [self._member(one, groups.get(one.name)) for one in self.entrants]
        return tuple(sorted(found, key=self._order))

    def _member(self, entrant: Entrant, group: str | None) -> Member:
        cells = {column.key: cell_of(entrant, column) for column in self.overview}
        kind = str(entrant.described.get("kind") or ("person" if self.kind == "hume" else "stack"))
        if kind == "reference":
            group = REFERENCE
        elif kind == "person":
            group = PEOPLE
        leads = self.lead is not None and cells[self.lead.key].value is not None
        whole = all(one.state in ("done", "undefined", "none") for one in cells.values())
        return Member(entrant, group or "", kind, cells, leads and whole)

    def _order(self, one: Member) -> tuple[int, bool, float, str]:
        value = one.cells[self.lead.key].value if self.lead is not None else None
        place = _ORDER[one.group] if one.complete or one.group == REFERENCE else _INCOMPLETE
        sign = 1.0 if self.lead is not None and self.lead.higher_is_better else -1.0
        return place, value is None, -sign * (value or 0.0), one.name


def joined(runs: Sequence[RunData]) -> Joined:
    """The runs of one version as one board."""
    newest = sorted(runs, key=lambda run: (run.updated, run.name), reverse=True)
    version, kind = version_of(newest[0]), newest[0].kind
    return Joined(f"{kind}-{version}", kind, version, tuple(newest))
