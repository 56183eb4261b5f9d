"""One table of a run: a row for each system, a column for each thing that it was scored on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, partial

from embassay.interchange.runs import APART, Run
from embassay.protocols.standings import OVERALL
from embassay.records import Result

_UNGROUPED = (9, 0)


@dataclass(frozen=True)
class Column:
    """What a column is of: the mean over tasks, a task over its datasets (`dataset` empty), or one dataset."""

    task: str
    dataset: str
    lang: str
    measure: str

    @property
    def title(self) -> str:
        """Its name: what is needed to tell it from others.

        >>> Column("clustering", "", "", "v_measure").title, Column("overall", "", "", "overall").title
        ('clustering v_measure', 'overall')
        """
        parts = [self.task, self.dataset, self.lang, self.measure]
        return " ".join(dict.fromkeys(part for part in parts if part))


@dataclass(frozen=True)
class Wide:
    """The table: `cells[i][j]` is the row behind system i in column j, None where the run has none.

    `ranks` are the places that the tests allow a system on the first column, within its group: those compared with each
    other, then those that another method scored, then those not compared. `first` are the systems that may be first in
    each column.
    """

    run: Run
    columns: tuple[Column, ...]
    systems: tuple[str, ...]
    cells: tuple[tuple[Result | None, ...], ...]
    ranks: tuple[tuple[int, int] | None, ...]
    groups: tuple[int, ...]
    first: tuple[frozenset[str], ...]

    @cached_property
    def over_datasets(self) -> tuple[int, ...]:
        """The columns over all tasks or datasets, by their places; all columns where there are none such."""
        found = tuple(i for i, column in enumerate(self.columns) if not column.dataset)
        return found or tuple(range(len(self.columns)))


def wide_of(run: Run) -> Wide:
    """The table of a run. Headlines alone where its tasks have one, else every measure; variants are not in it."""
    rows = [row for row in run.rows if not row.variant and not row.subset]
    rows = [row for row in rows if run.headline_of(row.task) in (None, row.measure)]
    spoken: dict[tuple[str, str], set[str]] = {}
    for row in rows:
        spoken.setdefault((row.task, row.dataset), set()).add(row.lang)
    by_place: dict[Column, dict[str, Result]] = {}
    for row in rows:
        lang = row.lang if row.dataset and len(spoken[row.task, row.dataset]) > 1 else ""
        by_place.setdefault(Column(row.task, row.dataset, lang, row.measure), {})[row.system] = row
    columns = tuple(sorted(by_place, key=lambda column: (column.task != OVERALL, bool(column.dataset))))
    lead = by_place[columns[0]] if columns else {}
    groups = _groups(run, columns[0]) if columns else {}
    systems = [name for name in run.systems if any(name in cells for cells in by_place.values())]
    systems.sort(key=partial(_order, groups, lead))
    return Wide(
        run, columns, tuple(systems),
        tuple(tuple(by_place[column].get(name) for column in columns) for name in systems),
        tuple(_rank(run, columns[0], name) if columns else None for name in systems),
        tuple(groups.get(name, _UNGROUPED)[0] for name in systems),
        tuple(_first(run, column) for column in columns),
    )  # fmt: skip


def _groups(run: Run, column: Column) -> dict[str, tuple[int, int]]:
    """System -> its group and its place there, as the comparisons have them."""
    found: dict[str, tuple[int, int]] = {}
    for number, scope in enumerate(_scopes(run, column)):
        for place, name in enumerate(scope["systems"]):
            found.setdefault(str(name), (number, place))
    return found


def _order(
    groups: Mapping[str, tuple[int, int]], lead: Mapping[str, Result], name: str
) -> tuple[tuple[int, int], bool, float]:
    row = lead.get(name)
    value = row.value if row is not None else None
    return groups.get(name, _UNGROUPED), value is None, -(value or 0.0)


def _scopes(run: Run, column: Column) -> list[dict[str, list[object]]]:
    """The comparisons behind a column, if there are any: of its task, or of its measure (`rag score`)."""
    names = [column.task] if not column.dataset else []
    names += [column.measure] if run.headline_of(column.task) is None else []
    return [dict(run.scopes[key]) for name in names for key in (name, name + APART) if key in run.scopes]


def _rank(run: Run, column: Column, system: str) -> tuple[int, int] | None:
    for scope in _scopes(run, column):
        for name, low, high in zip(scope["systems"], scope["rank_low"], scope["rank_high"], strict=False):
            if name == system:
                return int(str(low)), int(str(high))
    return None


def _first(run: Run, column: Column) -> frozenset[str]:
    return frozenset(str(name) for scope in _scopes(run, column) for name in scope["best"])
