"""How long texts are, in words (table 1)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, median

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class WordCount:
    """White-space words per text of one dataset; every text counts as often as it stands there."""

    dataset: str
    texts: int
    mean: float
    median: float
    most: int


def word_counts(texts: Mapping[str, Sequence[str]]) -> tuple[WordCount, ...]:
    """Table 1 from the texts of every dataset; a dataset without texts is left out."""
    rows = []
    for dataset, its in texts.items():
        counts = [words(text) for text in its]
        if counts:
            rows.append(WordCount(dataset, len(counts), fmean(counts), median(counts), max(counts)))
    return tuple(rows)


def average(counts: Sequence[WordCount]) -> float | None:
    """The last row of table 1: the plain mean over datasets; None where there is none."""
    return fmean(count.mean for count in counts) if counts else None


def words(text: str) -> int:
    """The words of a text, cut at white space."""
    return len(text.split())


def item_words(items: Sequence[Sequence[str]]) -> NDArray[np.float64]:
    """The mean number of words of the texts of every item (both sentences of a pair), (n,)."""
    return np.array([fmean(map(words, texts)) if texts else np.nan for texts in items], dtype=np.float64)
