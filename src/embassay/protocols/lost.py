"""Items that could not be evaluated because a system has no vector for one of their texts.

They are left out on both sides of every comparison and counted with their reason, and nothing stands in for them.
Over 5% of the items, there is no score.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embassay.contracts import Similarity
from embassay.protocols.estimates import Items, undefined
from embassay.records import Skipped, TaskOutcome

MOST_LOST = 0.05
"""Share of the items that may be lost; beyond it what is left is no fair sample."""
_EXAMPLES = 5


class Lost:
    """The lost ones among `ids`, which are `noun` (`documents`, `queries` ...)."""

    def __init__(self, system: Similarity, ids: Sequence[str], noun: str) -> None:
        self._system, self._ids, self._noun = system, ids, noun
        self._reasons: dict[int, str] = {}

    def __bool__(self) -> bool:
        return bool(self._reasons)

    @property
    def rows(self) -> list[int]:
        """The positions of the lost items, ascending."""
        return sorted(self._reasons)

    @property
    def mask(self) -> NDArray[np.bool_]:
        """Whether each item is lost, (n,)."""
        mask = np.zeros(len(self._ids), dtype=bool)
        mask[self.rows] = True
        return mask

    @property
    def skipped(self) -> tuple[Skipped, ...]:
        """The lost items by reason; reasons that differ only in numbers count as one."""
        groups: dict[str, list[int]] = {}
        for row in self.rows:
            groups.setdefault(re.sub(r"\d+", "0", self._reasons[row]), []).append(row)
        return tuple(
            Skipped(
                f"{self._noun} that could not be encoded: {self._reasons[rows[0]].rstrip('.')}",
                len(rows),
                tuple(self._ids[row] for row in rows[:_EXAMPLES]),
            )
            for rows in groups.values()
        )

    @property
    def too_many(self) -> str:
        """Why there can be no score; empty where few enough are lost."""
        if len(self._reasons) <= MOST_LOST * len(self._ids):
            return ""
        reason = self._reasons[self.rows[0]].rstrip(".")
        return (
            f"{len(self._reasons)} of {len(self._ids)} {self._noun} could not be encoded: {reason} "
            f"(over {MOST_LOST:.0%}, so no score)"
        )

    def see(self, similarity: NDArray[np.floating[Any]], *columns: Sequence[str]) -> None:
        """Note the items whose similarity is NaN, (n,); `columns` are the texts that it compares, (n,) each."""
        for row in np.flatnonzero(np.isnan(similarity)).tolist():
            texts = (column[row] for column in columns)
            self._note(row, texts, "its similarity is not a number")

    def see_texts(self, texts: Iterable[str], first: int = 0) -> None:
        """Note the items whose text could not be encoded; `first` is the row of the first of the texts."""
        failures = _failures(self._system)
        for row, text in enumerate(texts, first) if failures else ():
            if text in failures:
                self._note(row, (text,), "")

    def without_score(
        self, headline: str, items: Items, skipped: Iterable[Skipped] = (), *, reason: str = ""
    ) -> TaskOutcome:
        """The outcome of a task that lost too many."""
        reason = reason or self.too_many
        row = undefined(headline, len(self._ids) - len(self._reasons), reason)
        return TaskOutcome((row,), {}, items.columns, (*skipped, *self.skipped))

    def _note(self, row: int, texts: Iterable[str], otherwise: str) -> None:
        failures = _failures(self._system)
        reasons = (failures[text] for text in texts if text in failures)
        self._reasons.setdefault(row, next(reasons, otherwise))


def _failures(system: Similarity) -> dict[str, str]:
    """What the system could not encode so far; a lexical metric has no such thing."""
    return dict(getattr(system, "failures", {}))
