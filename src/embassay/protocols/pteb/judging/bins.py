"""Bins of pairs: by gold score for the error, by length for the correlation (figures 3 and 4)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from embassay.errors import DataError
from embassay.protocols.pteb.judging.rating import HIGHEST, LOWEST

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Bin:
    """A range of values by its label, and which items are in it, (n,)."""

    label: str
    members: NDArray[np.bool_]


def on_common_scale(gold: Floats, low: float, high: float) -> Floats:
    """Gold scores (n,) of the range `low` to `high` on the judge's scale, 0 to 5; DataError for one outside.

    >>> on_common_scale(np.array([1.0, 3.0, 5.0]), 1, 5).tolist()
    [0.0, 2.5, 5.0]
    """
    outside = (gold < low) | (gold > high)
    if outside.any():
        raise DataError(
            f"{int(outside.sum())} gold scores are outside their range",
            expected=f"{low:g} to {high:g}",
            found=f"{gold[outside][0]:g}",
            mend="Say the range with --gold LOW-HIGH.",
        )
    return np.asarray(LOWEST + (HIGHEST - LOWEST) * (gold - low) / (high - low), dtype=np.float64)


def by_gold(gold: Floats, edges: Sequence[float] = (1, 2, 3, 4)) -> list[Bin]:
    """Gold scores on 0 to 5 cut at the edges; an edge begins a bin, and 5 is in the last.

    >>> [(one.label, int(one.members.sum())) for one in by_gold(np.array([0.0, 1.0, 1.5, 5.0]))]
    [('[0,1)', 1), ('[1,2)', 2), ('[2,3)', 0), ('[3,4)', 0), ('[4,5]', 1)]
    """
    ends = [f"{edge:g}" for edge in (LOWEST, *edges, HIGHEST)]
    labels = [f"[{a},{b}{']' if b == ends[-1] else ')'}" for a, b in pairwise(ends)]
    return _bins(labels, np.searchsorted(np.asarray(edges), gold, side="right"))


def by_words(words: Floats, edges: Sequence[int] = (10, 20, 30, 50)) -> list[Bin]:
    """Mean word counts cut after the edges: a pair of 10.5 words on average is in `11-20`.

    >>> [(one.label, int(one.members.sum())) for one in by_words(np.array([1.0, 10.0, 10.5, 99.0]))]
    [('1-10', 2), ('11-20', 1), ('21-30', 0), ('31-50', 0), ('over 50', 1)]
    """
    starts = [1, *(edge + 1 for edge in edges)]
    labels = [f"{a}-{b}" for a, b in zip(starts, edges, strict=False)] + [f"over {edges[-1]}"]
    return _bins(labels, np.searchsorted(np.asarray(edges), words, side="left"))


def words_per_text(first: Sequence[str], second: Sequence[str]) -> Floats:
    """Mean number of words, between blanks, of the two texts of each pair, (n,)."""
    return np.array([(len(a.split()) + len(b.split())) / 2 for a, b in zip(first, second, strict=True)])


def _bins(labels: Sequence[str], places: NDArray[np.intp]) -> list[Bin]:
    return [Bin(label, np.asarray(places == place)) for place, label in enumerate(labels)]
