"""Views of a source: renamed, filtered, joined with another file, combined with others."""

from __future__ import annotations

import heapq
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from embassay.data.rows import (
    MISSING,
    RowOrigin,
    RowSource,
    SourceRow,
    make_missing_column_error,
    normalise_value_to_plain_text,
    read_number_cell,
    read_row_id,
    read_text_cell,
)
from embassay.errors import DataError, UsageError
from embassay.randomness import draw_random_bytes

T = TypeVar("T")


class SmallestHashSample(Generic[T]):
    """The `limit` offered items whose ids have the smallest keyed hashes; all of them without a limit.

    `required` ids are always drawn; they count towards the limit and may exceed it. Holds at most `limit`
    items besides the required ones, and the draw of a smaller limit is part of the draw of a larger one.
    """

    def __init__(self, limit: int | None, seed: int, required: Container[str] = ()) -> None:
        check_item_limit_is_positive(limit)
        self._limit = limit
        self._seed = seed
        self._required = required
        self._offered = 0
        self._kept: list[tuple[int, T]] = []
        # Entries are compared up to their number, which no two share: items themselves need not be comparable.
        self._others: list[tuple[int, int, T]] = []

    def offer_item(self, key: str, item: T) -> None:
        """Consider `item`, whose id is `key`."""
        self._offered += 1
        if self._limit is None or key in self._required:
            self._kept.append((self._offered, item))
            return
        # Negated, so that the heap's smallest entry is the largest hash held, the one to give way.
        entry = (-_hash_draw_rank(key, self._seed), self._offered, item)
        if len(self._others) < self._limit:
            heapq.heappush(self._others, entry)
        elif entry[0] > self._others[0][0]:
            heapq.heapreplace(self._others, entry)

    def list_drawn_items(self) -> list[T]:
        """The drawn items, in the order they were offered."""
        room = max((self._limit or 0) - len(self._kept), 0)
        rest = [(at, item) for _, at, item in heapq.nlargest(room, self._others, key=lambda e: e[:2])]
        # In the order of the file, so that a limit as large as the data changes nothing.
        return [item for _, item in sorted((*self._kept, *rest), key=lambda entry: entry[0])]


def draw(ids: Sequence[str], limit: int | None, seed: int) -> list[int]:
    """Positions of `limit` of the ids, ascending: the same ids are drawn whatever their order."""
    chosen = SmallestHashSample[int](limit, seed)
    for position, key in enumerate(ids):
        chosen.offer_item(key, position)
    return chosen.list_drawn_items()


def draw_seeded_positions(
    ids: Sequence[str], limit: int, seed: int, required: Container[str] = ()
) -> NDArray[np.int64]:
    """Positions of what `SmallestHashSample` takes of the ids, ascending, in 9 bytes an id."""
    check_item_limit_is_positive(limit)
    ranks, is_required = np.empty(len(ids), np.uint64), np.zeros(len(ids), np.bool_)
    for i, key in enumerate(ids):
        ranks[i], is_required[i] = _hash_draw_rank(key, seed), key in required
    room = max(limit - int(is_required.sum()), 0)
    rest = np.flatnonzero(~is_required)
    if room < len(rest):
        # Of equal ranks the first: a stable order.
        rest = rest[np.argsort(ranks[rest], kind="stable")[:room]]
    return np.sort(np.concatenate([np.flatnonzero(is_required), rest]))


def draw_stratified(ids: Sequence[str], labels: Sequence[str], limit: int | None, seed: int) -> list[int]:
    """Positions of `limit` of the ids, ascending, with every label represented in proportion to its size.

    Each label gets at least one place while there are places; the rest is shared by largest remainder, ties
    by a keyed hash of the label. With fewer places than labels, those with the smallest hashes get them.
    """
    check_item_limit_is_positive(limit)
    strata: dict[str, list[int]] = {}
    for position, label in enumerate(labels):
        strata.setdefault(label, []).append(position)
    if limit is None or limit >= len(ids):
        return list(range(len(ids)))
    places = _split_limit_by_size({label: len(members) for label, members in strata.items()}, limit, seed)
    return sorted(
        members[position]
        for label, members in strata.items()
        if places[label]
        for position in draw([ids[member] for member in members], places[label], seed)
    )


def check_item_limit_is_positive(limit: int | None) -> None:
    """UsageError unless there is no limit or it is at least 1."""
    if limit is not None and limit < 1:
        raise UsageError(
            f"The limit is {limit}, but it must be at least 1.", mend="Leave --limit out to use all items."
        )


def _split_limit_by_size(sizes: dict[str, int], limit: int, seed: int) -> dict[str, int]:
    # By hash: which labels get a last place must not depend on the order of the file.
    order = sorted(sizes, key=lambda label: _hash_draw_rank(label, seed))
    if limit <= len(sizes):
        return {label: int(position < limit) for position, label in enumerate(order)}
    # One place each first; what is left is shared in proportion to what each label still has.
    spare = {label: size - 1 for label, size in sizes.items()}
    spare_places, total = limit - len(sizes), sum(spare.values())
    places = {label: 1 + spare_places * spare[label] // total for label in sizes}
    remainders = {label: spare_places * spare[label] % total for label in sizes}
    neediest = sorted(order, key=lambda label: -remainders[label])
    for label in neediest[: limit - sum(places.values())]:
        places[label] += 1
    return places


def _hash_draw_rank(key: str, seed: int) -> int:
    # Of the id alone, so that a row keeps its rank whatever rows are added, left out or moved.
    return int.from_bytes(draw_random_bytes(8, seed, "limit", key), "big")


ALIASES: Mapping[str, str] = {
    "id": "_id",
    "query_id": "query-id",
    "doc_id": "corpus-id",
    "doc_ids": "corpus-ids",
    "relevance": "score",
}
"""Canonical column -> the name BEIR gives it."""


# The names of views are in the key of a corpus that is kept on disk: see `corpus`.
@dataclass(frozen=True)
class SourceView:
    """A source seen through another: the same file and columns unless the view says otherwise."""

    source: RowSource

    @property
    def path(self) -> Path:
        """The file that errors name."""
        return self.source.path

    def list_origins(self) -> tuple[RowOrigin, ...]:
        """All that is read."""
        return self.source.list_origins()

    def columns(self) -> tuple[str, ...]:
        """The columns that can be asked for."""
        return self.source.columns()

    def rows(self, columns: Sequence[str]) -> Iterator[SourceRow]:
        """The rows of the source."""
        return self.source.rows(columns)


@dataclass(frozen=True)
class RenamedColumnsView(SourceView):
    """Canonical names: `mapping` is target -> source column; it wins over a column called like its target. A target
    that is mapped to nothing is not there."""

    mapping: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for target, column in self.mapping.items():
            if column and column not in self.source.columns():
                raise make_missing_column_error(self.source, column, target=target)

    def columns(self) -> tuple[str, ...]:
        """The mapped targets, the source's own columns, and canonical names of BEIR's."""
        names = self.source.columns()
        aliased = (target for target, alias in ALIASES.items() if alias in names)
        gone = {target for target, column in self.mapping.items() if not column}
        return tuple(name for name in drop_repeated_columns((*self.mapping, *names, *aliased)) if name not in gone)

    def rows(self, columns: Sequence[str]) -> Iterator[SourceRow]:
        """The rows under these names."""
        names = {column: self._find_source_column_name(column) for column in columns}
        if all(column == name for column, name in names.items()):  # no row is copied in vain
            return self.source.rows(columns)
        return self._read_renamed_rows(names)

    def _read_renamed_rows(self, names: Mapping[str, str]) -> Iterator[SourceRow]:
        for path, line, cells in self.source.rows(drop_repeated_columns(names.values())):
            yield SourceRow(path, line, {column: cells.get(name) for column, name in names.items()})

    def _find_source_column_name(self, column: str) -> str:
        usual = column if column in self.source.columns() else ALIASES.get(column, column)
        return self.mapping.get(column, usual)


@dataclass(frozen=True)
class FilteredRowsView(SourceView):
    """The rows whose cells, as text, are among the allowed values of every named column."""

    allowed: Mapping[str, frozenset[str]]

    def __post_init__(self) -> None:
        for column in self.allowed:
            if column not in self.source.columns():
                raise make_missing_column_error(self.source, column)

    def rows(self, columns: Sequence[str]) -> Iterator[SourceRow]:
        """The rows that pass; DataError with values that were found when none does."""
        passed, seen = False, set[str]()
        for row in self.source.rows(drop_repeated_columns((*columns, *self.allowed))):
            values = {column: normalise_value_to_plain_text(row.cells.get(column)) for column in self.allowed}
            if all(value in self.allowed[column] for column, value in values.items()):
                passed = True
                yield row
            elif len(seen) < 8:  # a few are shown; every row would be held
                seen.update(f"{column}={value}" for column, value in values.items())
        if not passed:
            text = ", ".join(f"{name}={'|'.join(sorted(values))}" for name, values in self.allowed.items())
            raise DataError(
                "no row passes the filter",
                path=self.path,
                expected=text,
                found=", ".join(sorted(seen)),
                mend="Choose values that occur in the data.",
            )


@dataclass(frozen=True)
class JoinedColumnsView(SourceView):
    """Each row with the `added` columns of the one row of `other` with the same `on`; None without one."""

    other: RowSource
    on: str
    added: tuple[str, ...]

    def __post_init__(self) -> None:
        for side, columns in ((self.source, (self.on,)), (self.other, (self.on, *self.added))):
            for column in columns:
                if column not in side.columns():
                    raise make_missing_column_error(side, column)
        if taken := sorted(set(self.added) & set(self.source.columns())):
            raise DataError(
                f"the joined column {taken[0]!r} is also a column of {self.source.path.name}.",
                path=self.other.path,
                mend="Remove it from the join's columns.",
            )

    def list_origins(self) -> tuple[RowOrigin, ...]:
        """What is read for both sides."""
        return (*self.source.list_origins(), *self.other.list_origins())

    def columns(self) -> tuple[str, ...]:
        """The columns of the source, then the joined ones."""
        return (*self.source.columns(), *self.added)

    def rows(self, columns: Sequence[str]) -> Iterator[SourceRow]:
        """The rows of the source, each with its partner's cells."""
        added = tuple(column for column in columns if column in self.added)
        # The other file is not even read where none of its columns is asked for.
        partners = self._index_joined_rows_by_key(added) if added else {}
        for row in self.source.rows(drop_repeated_columns((*(c for c in columns if c not in added), self.on))):
            partner = partners.get(read_row_id(row, self.on))
            yield row if partner is None else SourceRow(row.path, row.line, {**row.cells, **partner.cells})

    def _index_joined_rows_by_key(self, columns: tuple[str, ...]) -> dict[str, SourceRow]:
        partners: dict[str, SourceRow] = {}
        for row in self.other.rows((self.on, *columns)):
            key = read_row_id(row, self.on)
            if key in partners:
                raise make_repeated_row_key_error(row, self.on, key, partners[key].line)
            partners[key] = row
        return partners


@dataclass(frozen=True)
class SelectedColumnsView(SourceView):
    """Only these columns, where the source has them."""

    names: tuple[str, ...]

    def columns(self) -> tuple[str, ...]:
        """The columns that are left."""
        return tuple(name for name in self.names if name in self.source.columns())


@dataclass(frozen=True)
class TitlePrependedView(SourceView):
    """`text` = title + " " + text, either alone where the other is blank (spec sage 8)."""

    def rows(self, columns: Sequence[str]) -> Iterator[SourceRow]:
        """The rows with the joined text."""
        for row in self.source.rows(drop_repeated_columns((*columns, "title", "text"))):
            # An article often lacks a title, and a stub its text.
            parts = (read_text_cell(row, "title"), read_text_cell(row, "text"))
            text = " ".join(part for part in parts if part is not None)
            yield SourceRow(row.path, row.line, {**row.cells, "text": text})


def make_repeated_row_key_error(row: SourceRow, column: str, key: str, first_line: int) -> DataError:
    """The error for a key that appears twice."""
    return DataError(
        f"{column} {key!r} appears twice, first on line {first_line}.",
        path=row.path,
        line=row.line,
        mend=f"Give every row its own {column}" + (", or number the rows: --map id=." if column == "id" else "."),
    )


def drop_repeated_columns(columns: Iterable[str]) -> tuple[str, ...]:
    """The columns without repeats, in order."""
    return tuple(dict.fromkeys(columns))


_KEYS = ("id", "query_id", "doc_id", "doc_ids")


@dataclass(frozen=True)
class ChainedSourcesView:
    """Sources one after the other; the columns are those that all have."""

    sources: tuple[RowSource, ...]

    @property
    def path(self) -> Path:
        """The file of the first."""
        return self.sources[0].path

    def list_origins(self) -> tuple[RowOrigin, ...]:
        """All that is read."""
        return tuple(origin for source in self.sources for origin in source.list_origins())

    def columns(self) -> tuple[str, ...]:
        """The columns that every source has."""
        shared = set(self.sources[0].columns()).intersection(*(s.columns() for s in self.sources[1:]))
        return tuple(column for column in self.sources[0].columns() if column in shared)

    def rows(self, columns: Sequence[str]) -> Iterator[SourceRow]:
        """The rows of all, in order."""
        for source in self.sources:
            yield from source.rows(columns)


@dataclass(frozen=True)
class ConstantCellsView(SourceView):
    """The same cells in every row, besides its own."""

    cells: Mapping[str, Any]

    def columns(self) -> tuple[str, ...]:
        """Those of the source, and the stated ones."""
        return drop_repeated_columns((*self.source.columns(), *self.cells))

    def rows(self, columns: Sequence[str]) -> Iterator[SourceRow]:
        """The rows with the stated cells."""
        for path, line, cells in self.source.rows([name for name in columns if name not in self.cells]):
            yield SourceRow(path, line, {**cells, **self.cells})


@dataclass(frozen=True)
class PrefixedKeysView(SourceView):
    """Keys with `prefix/` before them, so that those of several sources cannot be mistaken for each other."""

    prefix: str

    def rows(self, columns: Sequence[str]) -> Iterator[SourceRow]:
        """The rows under these keys."""
        for path, line, cells in self.source.rows(columns):
            keys = {key: self._prefix_key(cells[key]) for key in _KEYS if cells.get(key) is not None}
            yield SourceRow(path, line, {**cells, **keys})

    def _prefix_key(self, key: Any) -> Any:
        return [self._prefix_key(part) for part in key] if isinstance(key, list) else f"{self.prefix}/{key}"


OTHER = "other label"
"""The cell with a label that is not the one asked for."""


@dataclass(frozen=True)
class BinarizedLabelView(SourceView):
    """`label` is 1 where it is `value`, as text and in any case, 0 where it is another; None where there is none.
    `OTHER` is what the row has where that is another."""

    value: str

    def rows(self, columns: Sequence[str]) -> Iterator[SourceRow]:
        """The rows with their label."""
        for row in self.source.rows(columns):
            if "label" not in row.cells:
                yield row
                continue
            value = row.cells["label"]
            label = (
                [self._binarize_label(item) for item in value]
                if isinstance(value, list)
                else self._binarize_label(value)
            )
            other = {OTHER: normalise_value_to_plain_text(value).strip()} if label == 0 else {}
            yield SourceRow(row.path, row.line, {**row.cells, "label": label, **other})

    def _binarize_label(self, value: Any) -> int | None:
        text, same = (
            "" if item is None else normalise_value_to_plain_text(item).strip().lower() for item in (value, self.value)
        )
        return int(text == same) if text == same or text not in MISSING - {"none"} else None


@dataclass(frozen=True)
class ThresholdLabelView(SourceView):
    """`label` is 1 where the number in the column `by` is at least `least`, else 0; None where there is none."""

    by: str
    least: float

    def columns(self) -> tuple[str, ...]:
        """Those of the source, and the label."""
        return drop_repeated_columns((*self.source.columns(), "label"))

    def rows(self, columns: Sequence[str]) -> Iterator[SourceRow]:
        """The rows with their label."""
        names = [name for name in columns if name != "label"]
        for row in self.source.rows(drop_repeated_columns((*names, self.by))):
            number = read_number_cell(row, self.by)
            label = None if number is None else int(number >= self.least)
            yield SourceRow(row.path, row.line, {**row.cells, "label": label})
