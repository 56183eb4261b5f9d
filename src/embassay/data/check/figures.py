"""Numbers about the records of a shape: spreads, balances of labels, judgements per query."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from embassay.data.check.report import Balance, Spread
from embassay.records import (
    Classification,
    Comparisons,
    JudgedSummaries,
    LabelledPairs,
    LabelledTexts,
    Paraphrases,
    Ratings,
    RerankingSet,
    RetrievalSet,
    ScoredPairs,
)

Figures = Mapping[str, Spread | Balance]
SCALES = ((0, 1), (-1, 1), (1, 5), (0, 5), (0, 10), (0, 100))
"""Scales that people rate on."""


def spread(values: ArrayLike) -> Spread:
    """Least, median, 95th percentile, greatest and mean of at least one number; NaN does not count.

    >>> spread([1, 2, 3, float("nan")]).median
    2.0
    """
    numbers = np.asarray(values, np.float64)
    numbers = numbers[~np.isnan(numbers)]
    low, median, high, top = np.quantile(numbers, [0, 0.5, 0.95, 1]).tolist()
    return Spread(len(numbers), low, median, high, top, float(numbers.mean()))


def balance(values: Iterable[object]) -> Balance:
    """How often each value is there.

    >>> balance(["b", "a", "b"]).counts
    {'b': 2, 'a': 1}
    """
    return Balance(dict(Counter(map(_plain, values)).most_common()))


def figures(data: Any) -> Figures:
    """Name -> spread or balance, by what kind of record `data` is; empty where there is nothing but texts."""
    make = _FIGURES.get(type(data))
    return make(data) if make else {}


def off_scale(scores: ArrayLike) -> tuple[tuple[int, int], int] | None:
    """The smallest usual scale that holds 95% of the scores but not all, and how many are off it.

    >>> off_scale([0.5] * 30 + [40.0])
    ((0, 1), 1)
    """
    numbers = np.asarray(scores, np.float64)
    numbers = numbers[~np.isnan(numbers)]
    if not len(numbers):
        return None
    for low, high in sorted(SCALES, key=lambda scale: scale[1] - scale[0]):
        off = int(((numbers < low) | (numbers > high)).sum())
        if off <= 0.05 * len(numbers):
            return ((low, high), off) if off else None
    return None


def odd_scores(data: Any) -> Iterator[str]:
    """What is odd about the scores of pairs and the ratings of summaries."""
    columns: Mapping[str, ArrayLike] = (
        {"score": data.scores} if isinstance(data, ScoredPairs) else getattr(data, "axes", {})
    )
    for name, values in columns.items():
        if off := off_scale(values):
            (low, high), count = off
            most = spread(values)
            yield (
                f"{name}: {count:,} of {most.n:,} values lie outside {low} to {high}, where the others are; they go "
                f"from {most.least:g} to {most.most:g}."
            )


def _labelled(data: LabelledTexts) -> Figures:
    sets = {"texts per set": spread(list(Counter(data.sets).values()))} if len(set(data.sets)) > 1 else {}
    return {"labels": balance(data.labels), **sets}


def _classification(data: Classification) -> Figures:
    return {"labels to train on": balance(data.train.labels), "labels to test on": balance(data.test.labels)}


def _retrieval(data: RetrievalSet) -> Figures:
    gains = [gain for grades in data.qrels.values() for gain in grades.values()]
    return {
        "judgements per query": spread([len(grades) for grades in data.qrels.values()]),
        "relevant documents per query": spread(
            [sum(gain > 0 for gain in grades.values()) for grades in data.qrels.values()]
        ),
        "gains": balance(gains),
    }


def _reranking(data: RerankingSet) -> Figures:
    return {
        "candidates per query": spread([len(row) for row in data.relevance]),
        "relevant candidates per query": spread([int((row > 0).sum()) for row in data.relevance]),
        "gains": balance(np.concatenate(data.relevance).tolist()),
    }


def _summaries(data: JudgedSummaries) -> Figures:
    return {
        "people's summaries per text": spread([len(row) for row in data.references]),
        "rated summaries per text": spread([len(row) for row in data.summaries]),
        "relevance": spread(np.concatenate(data.relevance)),
    }


_FIGURES: Mapping[type, Callable[[Any], Figures]] = {
    LabelledTexts: _labelled,
    Classification: _classification,
    LabelledPairs: lambda data: {"labels": balance(data.labels.tolist())},
    Comparisons: lambda data: {"choices": balance(data.choice.tolist())},
    ScoredPairs: lambda data: {"score": spread(data.scores)},
    Ratings: lambda data: {
        axis: spread(values) for axis, values in data.axes.items() if not np.isnan(values).all()
    },
    RetrievalSet: _retrieval,
    RerankingSet: _reranking,
    JudgedSummaries: _summaries,
    Paraphrases: lambda data: {"paraphrases per text": spread([len(row) for row in data.wordings])},
}


def _plain(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
