"""Texts by their words: how many there are, how long they are, and whether drops go with length."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import fmean, median
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from embassay.data.sampling import draw
from embassay.errors import UsageError
from embassay.measures import edit_distances, spearman
from embassay.measures.summary import counted_average_precision, counted_spearman
from embassay.protocols.pteb.analysis.drops import RESAMPLES, SEED, drops, is_run, source_of
from embassay.protocols.pteb.judging.agreement import by_words
from embassay.protocols.pteb.paraphrasing.records import Outcome, Paraphrase
from embassay.randomness import generator
from embassay.records import Result, Skipped
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


@dataclass(frozen=True)
class DistancePoint:
    """One system on one dataset with one paraphraser or prompt.

    `source` is as in variants (`by=NAME`, `prompt=NAME`; empty where the run has one), `edit_distance` the mean over
    the distinct texts and runs (0 to 1), `delta` the mean over runs as a fraction, with its interval where the run
    has one. `distances` is how many wordings are behind the edit distance.
    """

    source: str
    task: str
    dataset: str
    system: str
    edit_distance: float
    distances: int
    delta: float
    ci_low: float | None
    ci_high: float | None


@dataclass(frozen=True)
class AgainstDistance:
    """The points of figure 8, and per system Spearman's correlation of edit distance and delta over its points (NaN
    where it is undefined)."""

    points: tuple[DistancePoint, ...]
    correlations: tuple[tuple[str, float, int], ...]
    missing: tuple[Skipped, ...]


def against_distance(rows: Iterable[Result]) -> AgainstDistance:
    """The drop of every system, dataset and source against the source's edit distance there.

    The distances are the rows of the task `paraphrases`; languages count by their texts. What has no distance or no
    drop is counted.
    """
    rows = list(rows)
    distances = _distances(rows)
    intervals = {
        (row.variant, row.task, row.dataset, row.system): (row.ci_low, row.ci_high)
        for row in rows
        if row.measure == "delta" and not is_run(row.variant) and not row.subset
    }
    points, without = [], []
    missing: list[Skipped] = []
    for source in dict.fromkeys(source_of(row.variant) for row in rows if is_run(row.variant)):
        found = drops(rows, source=source)
        missing += found.missing
        for drop in found.rows:
            if (distance := distances.get((source, drop.dataset))) is None:
                without.append(f"{drop.system} {drop.place} {source}".strip())
                continue
            low, high = intervals.get((source, drop.task, drop.dataset, drop.system), (None, None))
            points.append(
                DistancePoint(source, drop.task, drop.dataset, drop.system, *distance, drop.delta, low, high)
            )
    if without:
        missing.append(Skipped("no edit distance", len(without), tuple(without[:5])))
    return AgainstDistance(tuple(points), _correlations(points), tuple(missing))


def _distances(rows: Sequence[Result]) -> dict[tuple[str, str], tuple[float, int]]:
    """(source, dataset) -> mean edit distance and the wordings behind it."""
    sums: dict[tuple[str, str], list[float]] = {}
    for row in rows:
        if row.task == "paraphrases" and row.measure == "edit_distance" and is_run(row.variant):
            if row.value is None or not row.dataset:
                continue
            total = sums.setdefault((source_of(row.variant), row.dataset), [0.0, 0.0])
            total[0] += row.value * row.n
            total[1] += row.n
    return {key: (total / n, int(n)) for key, (total, n) in sums.items() if n}


def _correlations(points: Sequence[DistancePoint]) -> tuple[tuple[str, float, int], ...]:
    found = []
    for system in dict.fromkeys(point.system for point in points):
        own = [point for point in points if point.system == system]
        value = spearman([point.edit_distance for point in own], [point.delta for point in own])
        found.append((system, float(value), len(own)))
    return tuple(found)


SHOWN_SEED, COUNT = 1337, 6
WORDS = (4, 40)


@dataclass(frozen=True)
class Wording:
    """The text in one run: `wording` is empty where the `outcome` is not usable, and then there is no distance."""

    seed: int
    wording: str
    outcome: Outcome
    edit_distance: float | None


@dataclass(frozen=True)
class SideBySide:
    """A text and what became of it in every run, in the order of the runs."""

    text: str
    lang: str
    wordings: tuple[Wording, ...]

    @property
    def distinct(self) -> int:
        """How many different wordings the runs gave."""
        return len({one.wording for one in self.wordings if one.wording})


def side_by_side(
    runs: Mapping[int, Iterable[Paraphrase]], *, count: int = COUNT, seed: int = SHOWN_SEED
) -> tuple[SideBySide, ...]:
    """`count` texts drawn with `seed` from those that every run asked for (seed of the run -> its paraphrases).

    Texts of 4 to 40 words come before others, so that they can be read beside each other; a text that failed in a run
    may be drawn, and shows it. Of several places of one text the first counts. In the order of the data.
    """
    tables = {run: _by_text(paraphrases) for run, paraphrases in runs.items()}
    first, *others = tables.values() or [{}]
    shared = [key for key in first if key[0].strip() and all(key in table for table in others)]
    drawn = _drawn(shared, count, seed)
    return tuple(SideBySide(*key, _wordings(key, tables)) for key in shared if key in drawn)


def _by_text(paraphrases: Iterable[Paraphrase]) -> dict[tuple[str, str], Paraphrase]:
    table: dict[tuple[str, str], Paraphrase] = {}
    for one in paraphrases:
        table.setdefault((one.text, one.lang), one)
    return table


def _drawn(texts: Sequence[tuple[str, str]], count: int, seed: int) -> set[tuple[str, str]]:
    low, high = WORDS
    readable = [key for key in texts if low <= words(key[0]) <= high]
    others = [key for key in texts if not low <= words(key[0]) <= high]
    chosen = [readable[place] for place in draw(["\n".join(key) for key in readable], count, seed)]
    if left := count - len(chosen):
        chosen += [others[place] for place in draw(["\n".join(key) for key in others], left, seed)]
    return set(chosen)


def _wordings(
    key: tuple[str, str], tables: Mapping[int, Mapping[tuple[str, str], Paraphrase]]
) -> tuple[Wording, ...]:
    each = [(run, table[key]) for run, table in tables.items()]
    distances = edit_distances([key[0]] * len(each), [one.wording for _, one in each]).tolist()
    return tuple(
        Wording(run, one.wording, one.outcome, distance if one.usable else None)
        for (run, one), distance in zip(each, distances, strict=True)
    )
