"""Texts that are there twice: within a table, and on both sides of a split."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from embassay.data.check.near import Nearness, Pair, Sketches
from embassay.data.check.report import Alike, Overlap, Repeats

EXAMPLES = 20
_SHOWN = 200
_TRAINED = ("train", "training")
_TESTED = ("test", "testing")

Said = Callable[[str, int, int], None]
"""Told what is going on, how much of it is done, and of how much."""


@dataclass(frozen=True)
class Texts:
    """The rows of one table: id, text, the side (split) each is on, and what it is labelled as (empty: not)."""

    table: str
    ids: Sequence[str]
    texts: Sequence[str]
    sides: Sequence[str]
    labels: Sequence[str]


class Comparison:
    """The rows of a table by their text, white space aside, and the search for almost equal ones among them."""

    def __init__(self, texts: Texts, near: Nearness | None, say: Said) -> None:
        self._rows, self._say = texts, say
        self._first: dict[str, int] = {}
        self._same: list[int] = []
        """Row -> position of its text among the different ones."""
        for text in texts.texts:
            self._same.append(self._first.setdefault(" ".join(text.split()), len(self._first)))
        self._sketches = (
            Sketches(list(self._first), near, lambda done, total: say("hashing texts", done, total))
            if near is not None
            else None
        )

    def repeats(self, side: str | None = None) -> Repeats:
        """Rows that repeat an earlier one, of all or of one `side`."""
        own = [row for row, where in enumerate(self._rows.sides) if side in (None, where)]
        first: dict[int, int] = {}
        again = [(first[same], row) for row in own if first.setdefault(same := self._same[row], row) != row]
        labels = self._rows.labels
        mask = self._mask(own)
        near = self._near(mask, mask)
        return Repeats(
            self._rows.table,
            len(own),
            len(again),
            None if near is None else len(near),
            sum(labels[one] != labels[other] for one, other in again),
            self._examples(again, near, first, first),
        )

    def overlap(self, of: str, within: str) -> Overlap:
        """Rows of the side `of` that are also, or nearly, on the side `within`."""
        known, asked = self._firsts(within), self._firsts(of)
        rows = [row for row, side in enumerate(self._rows.sides) if side == of]
        same = [(known[self._same[row]], row) for row in rows if self._same[row] in known]
        alone = self._mask([row for text, row in asked.items() if text not in known])
        near = self._near(self._mask(list(known.values())), alone)
        nearly = None
        if near is not None:
            alike = {pair.second for pair in near}
            nearly = sum(self._same[row] in alike for row in rows)
        examples = self._examples(same, near, known, asked)
        return Overlap(self._rows.table, of, within, len(rows), len(same), nearly, examples)

    def overlaps(self) -> tuple[Overlap, ...]:
        """Every two sides: what is tested on against what is trained on, else the later against the earlier."""
        sides = sorted(dict.fromkeys(filter(None, self._rows.sides)), key=_order)
        return tuple(self.overlap(of, within) for within, of in combinations(sides, 2))

    def _near(self, earlier: NDArray[np.bool_], later: NDArray[np.bool_]) -> list[Pair] | None:
        if self._sketches is None:
            return None
        return self._sketches.pairs(
            earlier, later, lambda done, total: self._say("comparing texts", done, total)
        )

    def _mask(self, rows: Sequence[int]) -> NDArray[np.bool_]:
        mask = np.zeros(len(self._first), np.bool_)
        mask[[self._same[row] for row in rows]] = True
        return mask

    def _firsts(self, side: str) -> dict[int, int]:
        """Text -> the first row of the side that has it."""
        firsts: dict[int, int] = {}
        for row, where in enumerate(self._rows.sides):
            if where == side:
                firsts.setdefault(self._same[row], row)
        return firsts

    def _examples(
        self,
        same: Sequence[tuple[int, int]],
        near: Sequence[Pair] | None,
        known: dict[int, int],
        asked: dict[int, int],
    ) -> tuple[Alike, ...]:
        exact = [self._alike(one, other, 1.0, True) for one, other in same[:EXAMPLES]]
        alike = [
            self._alike(known[pair.first], asked[pair.second], pair.jaccard, False)
            for pair in (near or ())[:EXAMPLES]
        ]
        return (*exact, *alike)

    def _alike(self, one: int, other: int, jaccard: float, exact: bool) -> Alike:
        ids, texts = self._rows.ids, self._rows.texts
        shown = [" ".join(texts[row].split())[:_SHOWN] for row in (one, other)]
        return Alike(ids[one], ids[other], jaccard, exact, *shown)


def _order(side: str) -> int:
    """What is trained on first, what is tested on last."""
    return -1 if side.lower() in _TRAINED else int(side.lower() in _TESTED)
