"""Texts by their words: how many there are, how long they are, and whether drops go with length."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import fmean, median
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from embassay.errors import UsageError
from embassay.measures.resamples import counted_average_precision, counted_spearman
from embassay.protocols.pteb.analysis.groups import RESAMPLES, SEED
from embassay.protocols.pteb.judging.agreement import by_words
from embassay.randomness import generator
from embassay.stats import Estimate, percentile_interval
from embassay.stats.resampling import resampled_rows, row_counts


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


Floats = NDArray[np.float64]
Score = Literal["spearman", "average precision", "mean"]

SCORES: Mapping[str, Score] = {
    "sts": "spearman",
    "summarization": "spearman",
    "pair_classification": "average precision",
    "classification": "mean",
    "reranking": "mean",
    "retrieval": "mean",
}
"""Task -> how a score is made of its items' values. A clustering has no score per text."""

EDGES = (10, 20, 30, 50)
FEWEST = 10
_COUNTS = 1 << 22


@dataclass(frozen=True)
class LengthBin:
    """The items of one length. `original` is their score, `paraphrased` the mean over runs; `delta` is the mean over
    runs of paraphrased minus original on what was kept in that run, its interval over items.

    All are fractions; None with a `reason` where there are too few items or the measure is undefined. `lost` counts
    items without a value, over all runs.
    """

    label: str
    n: int
    original: float | None
    paraphrased: float | None
    delta: Estimate | None
    lost: int = 0
    reason: str = ""


def by_length(
    score: Score,
    words: Floats,
    original: Floats,
    runs: Sequence[Floats],
    gold: Floats | None = None,
    *,
    edges: Sequence[int] = EDGES,
    seed: int = SEED,
) -> tuple[LengthBin, ...]:
    """The score of the items in bins of their number of words.

    `words`, `original` and every run of `runs` have one value per item, (n,), in one order: a similarity, with `gold`
    its human score or 0/1 label, or a score of the item itself where `score` is their mean. NaN is a lost item: it
    counts on neither side of its run. Bins without items are left out, bins of under 10 show their n only.
    UsageError for lengths that differ.
    """
    columns = [words, original, *runs, *([] if gold is None else [gold])]
    if {len(column) for column in columns} != {len(words)} or not runs:
        raise UsageError(
            f"Columns of {[len(column) for column in columns]} items are not one table.",
            mend="Give one value per item in every column, and one run at least.",
        )
    bins = (one for one in by_words(words, edges) if one.members.any())
    return tuple(
        _bin(
            one.label,
            partial(_score, score, gold if gold is None else gold[one.members]),
            original[one.members],
            [run[one.members] for run in runs],
            seed,
        )
        for one in bins
    )


class _Missing(Exception):
    """There is no score, for this reason."""


def _bin(
    label: str, score: partial[Floats], original: Floats, runs: Sequence[Floats], seed: int
) -> LengthBin:
    kept = [~(np.isnan(run) | np.isnan(original)) for run in runs]
    lost = int(sum((~mask).sum() for mask in kept))
    n = len(original)
    try:
        everything = _value(score, original, ~np.isnan(original))
        after = [_value(score, run, mask) for run, mask in zip(runs, kept, strict=True)]
        before = [_value(score, original, mask) for mask in kept]
    except _Missing as reason:
        return LengthBin(label, n, None, None, None, lost, str(reason))
    value = float(np.mean(after) - np.mean(before))
    interval = percentile_interval(_replicates(score, original, runs, kept, seed))
    method = f"95% percentile bootstrap over items, {RESAMPLES} resamples"
    return LengthBin(label, n, everything, float(np.mean(after)), Estimate(value, *interval, n, method), lost)


def _value(score: partial[Floats], values: Floats, kept: NDArray[np.bool_]) -> float:
    if kept.sum() < FEWEST:
        raise _Missing(f"{int(kept.sum())} items are too few for a score")
    value = float(score(values, kept[None, :].astype(np.int64))[0])
    if np.isnan(value):
        raise _Missing("the measure is undefined on these items")
    return value


def _replicates(
    score: partial[Floats],
    original: Floats,
    runs: Sequence[Floats],
    kept: Sequence[NDArray[np.bool_]],
    seed: int,
) -> Floats:
    """The delta on resamples of the items, the same of all runs, (resamples,)."""
    rng, n = generator(seed, "bootstrap", "length"), len(original)
    parts = []
    for rows in resampled_rows(n, RESAMPLES, rng, most=_COUNTS // n):
        counts = row_counts(rows)
        # Runs that lost the same items, most often none, share the original's scores.
        before: dict[bytes, Floats] = {}
        deltas = []
        for run, mask in zip(runs, kept, strict=True):
            drawn = counts * mask
            if mask.tobytes() not in before:
                before[mask.tobytes()] = score(original, drawn)
            deltas.append(score(run, drawn) - before[mask.tobytes()])
        parts.append(np.mean(deltas, axis=0))
    return np.concatenate(parts)


def _score(score: Score, gold: Floats | None, values: Floats, counts: NDArray[np.int64]) -> Floats:
    """The score on resamples (b, n) of the items -> (b,); what is not drawn may be NaN."""
    if score == "mean":
        totals = counts.sum(axis=1)
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(counts @ np.nan_to_num(values) / totals)
    if gold is None:
        raise UsageError(f"The {score} of similarities needs gold values.", mend="Give gold.")
    if score == "spearman":
        return counted_spearman(values, gold, counts)
    return counted_average_precision(gold, values, counts)
