"""Putting other wordings in the place of texts, and leaving out, before and after, what has none."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from embassay.protocols.pteb.tasks.task import Reworded, Wording
from embassay.records import Skipped

T = TypeVar("T")
WITHOUT_WORDING = "without another wording"
_EXAMPLES = 5

Place = tuple[str, str]
"""A place and its text."""


def places(kind: str, ids: Sequence[str], texts: Sequence[str]) -> Iterator[Place]:
    """The place `KIND:ID` of each text."""
    return ((f"{kind}:{one}", text) for one, text in zip(ids, texts, strict=True))


def several_places(kind: str, ids: Sequence[str], texts: Sequence[Sequence[str]]) -> Iterator[Place]:
    """The place `KIND:ID:NUMBER` of each of the texts that an item has."""
    for one, group in zip(ids, texts, strict=True):
        yield from ((f"{kind}:{one}:{number}", text) for number, text in enumerate(group))


def numbered(ids: Sequence[str], texts: Sequence[Sequence[str]]) -> list[str]:
    """`ID:NUMBER` of each of the texts that an item has."""
    return [f"{one}:{number}" for one, group in zip(ids, texts, strict=True) for number in range(len(group))]


def reworded(place: Iterable[Place], wording: Wording) -> list[str | None]:
    """The other wording of every text."""
    return [wording(where, text) for where, text in place]


@dataclass(frozen=True)
class Groups:
    """The texts of every item, and their other wordings where they have one."""

    noun: str
    ids: Sequence[str]
    before: Sequence[Sequence[str]]
    after: Sequence[Sequence[str | None]]

    @classmethod
    def of(
        cls, kind: str, noun: str, ids: Sequence[str], texts: Sequence[Sequence[str]], wording: Wording
    ) -> Groups:
        """The texts at the places `KIND:ID:NUMBER`, called `noun` in the plural, with their wordings."""
        said = [
            reworded(several_places(kind, (one,), (group,)), wording)
            for one, group in zip(ids, texts, strict=True)
        ]
        return cls(noun, ids, texts, said)

    @property
    def kept(self) -> list[list[int]]:
        """The numbers of the texts of each item that have another wording."""
        return [[i for i, text in enumerate(group) if text is not None] for group in self.after]

    def lost(self) -> tuple[Skipped, ...]:
        """The texts without one, as left out."""
        flat = [text for group in self.after for text in group]
        kept = [row for row, text in enumerate(flat) if text is not None]
        return without_wording(self.noun, numbered(self.ids, self.before), kept)


def reworded_pairs(data: Any, wording: Wording) -> Reworded:
    """Pairs (`ids`, `first`, `second` and one array more) with both texts in other words; a pair needs both."""
    first = reworded(places("first", data.ids, data.first), wording)
    second = reworded(places("second", data.ids, data.second), wording)
    rows = [row for row, pair in enumerate(zip(first, second, strict=True)) if None not in pair]
    return rows_reworded(data, {"first": first, "second": second}, rows, "pairs")


def rows_reworded(data: Any, texts: dict[str, list[str | None]], rows: Sequence[int], noun: str) -> Reworded:
    """These rows of a record of columns, with `texts` in place of the columns so called."""
    whole = len(rows) == len(data)
    original = data if whole else rows_of(data, rows)
    said = {name: tuple(column[row] for row in rows) for name, column in texts.items()}
    lost = without_wording(noun, data.ids, rows)
    return Reworded(original, replace(original, **said), len(rows), len(data), lost)


def rows_of(data: Any, rows: Sequence[int]) -> Any:
    """These rows of a record whose fields are tuples or arrays of one length, or None."""
    return replace(data, **{name: _taken(column, rows) for name, column in vars(data).items()})


def without_wording(noun: str, ids: Sequence[str], kept: Iterable[int]) -> tuple[Skipped, ...]:
    """The rows that are not kept, as left out for want of a wording."""
    return left_out(f"{noun} {WITHOUT_WORDING}", ids, kept)


def left_out(reason: str, ids: Sequence[str], kept: Iterable[int]) -> tuple[Skipped, ...]:
    """The rows that are not kept, as left out for a reason; nothing where all are."""
    known = set(kept)
    gone = [one for row, one in enumerate(ids) if row not in known]
    return (Skipped(reason, len(gone), tuple(gone[:_EXAMPLES])),) if gone else ()


def _taken(column: Any, rows: Sequence[int]) -> Any:
    if isinstance(column, np.ndarray):
        return column[list(rows)]
    return None if column is None else tuple(column[row] for row in rows)
