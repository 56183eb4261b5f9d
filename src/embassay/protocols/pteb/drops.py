"""What paraphrasing did to every system on every dataset, and what the drops go with: original score, length, language,
edit distance; and what stands beside them (tables 1 and 13, figure 5), from the rows, items and wordings of a run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from statistics import fmean, median
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from embassay.data.views import draw
from embassay.errors import UsageError
from embassay.measures import edit_distances, spearman
from embassay.measures.summary import resample_average_precision, resample_spearman
from embassay.protocols.pteb.ratings import bin_by_word_count
from embassay.protocols.wordings.records import (
    BOTH,
    ENGLISH,
    OTHER,
    Outcome,
    ParaphraseOutcome,
    classify_language_as_english_or_other,
)
from embassay.randomness import make_seeded_generator
from embassay.records import ResultRow, SkippedItems
from embassay.stats import Estimate, percentile_interval, resample_means
from embassay.stats.resampling import count_draws_of_each_row, iterate_resample_row_blocks

HEADLINES: Mapping[str, str] = {
    "sts": "spearman",
    "classification": "accuracy",
    "clustering": "v_measure",
    "pair_classification": "average_precision",
    "reranking": "map",
    "retrieval": "ndcg@10",
    "summarization": "spearman",
}
"""Task -> the measure that its score is."""

_PREFIX, _SEED = "paraphrase:", "seed="


@dataclass(frozen=True)
class ScoreDrop:
    """One system on one dataset: its `original` score and what was added by paraphrasing, `delta` (negative: points
    were lost), the mean over `runs` runs. Both are fractions."""

    task: str
    dataset: str
    lang: str
    system: str
    original: float
    delta: float
    runs: int

    @property
    def place(self) -> str:
        """The task and the dataset: what bootstrap resamples draw as one."""
        return f"{self.task}/{self.dataset}"


@dataclass(frozen=True)
class RunScoreDrops:
    """The drops of a run, and what has none, counted by reason."""

    rows: tuple[ScoreDrop, ...]
    missing: tuple[SkippedItems, ...]


def measure_score_drops(
    rows: Iterable[ResultRow], *, by_language: bool = False, source: str | None = None
) -> RunScoreDrops:
    """The drop of every system on every dataset.

    `analyse_drops_by_language` gives the languages of a dataset that has several, each by itself,
    and no row of all of them.
    `source` keeps the runs of one paraphraser or prompt (`by=NAME`, `prompt=NAME`); otherwise the mean is over the
    runs of all. A cell with a run without a score has no drop, and is counted.
    """
    cells: dict[tuple[str, ...], list[ResultRow]] = {}
    originals: dict[tuple[str, ...], ResultRow] = {}
    divided: set[tuple[str, ...]] = set()
    for row in rows:
        if row.protocol != "pteb" or not row.dataset or row.task not in HEADLINES:
            continue
        key = (row.task, row.dataset, row.subset, row.lang, row.system)
        if row.subset:
            divided.add((row.task, row.dataset))
        if row.variant == "original" and row.measure == HEADLINES[row.task]:
            originals[key] = row
        elif row.measure == "delta" and _is_paraphrase_variant_of_source(row.variant, source):
            cells.setdefault(key, []).append(row)
    kept = {key: rows for key, rows in cells.items() if bool(key[2]) == (by_language and key[:2] in divided)}
    return _average_drops(kept, originals)


def parse_source_from_variant(variant: str) -> str:
    """The paraphraser or prompt of a variant of a cell; empty where a run has one.

    >>> parse_source_from_variant("paraphrase:by=ollama:gemma3:27b,seed=1337")
    'by=ollama:gemma3:27b'
    """
    return variant.removeprefix(_PREFIX).rpartition(_SEED)[0].rstrip(",")


def is_paraphrase_run_variant(variant: str) -> bool:
    """Whether the variant is that of a run on paraphrases."""
    return variant.startswith(_PREFIX) and _SEED in variant


def _is_paraphrase_variant_of_source(variant: str, source: str | None) -> bool:
    return is_paraphrase_run_variant(variant) and source in (None, parse_source_from_variant(variant))


def _average_drops(
    cells: Mapping[tuple[str, ...], list[ResultRow]], originals: Mapping[tuple[str, ...], ResultRow]
) -> RunScoreDrops:
    means: list[ScoreDrop] = []
    missing: dict[str, list[str]] = {}
    for (task, dataset, subset, lang, system), deltas in cells.items():
        original = originals.get((task, dataset, subset, lang, system))
        values = [row.value for row in deltas if row.value is not None]
        reason = ""
        if original is None or original.value is None:
            reason = "no original score"
        elif len(values) < len(deltas):
            reason = "a run without a score"
        if reason or original is None or original.value is None:
            missing.setdefault(reason, []).append(" ".join(filter(None, (system, task, dataset, subset))))
        else:
            means.append(ScoreDrop(task, dataset, lang, system, original.value, fmean(values), len(values)))
    counted = (SkippedItems(reason, len(cells), tuple(cells[:5])) for reason, cells in missing.items())
    return RunScoreDrops(tuple(means), tuple(counted))


SEED, RESAMPLES = 1337, 1000
METHOD = f"95% percentile bootstrap over datasets, {RESAMPLES} resamples"
FEWEST_PLACES = 5
"""Datasets that an interval needs: resamples of two or three are two or three values."""


@dataclass(frozen=True)
class MeanDropOfGroup:
    """The mean delta of a group of cells (system x dataset), every cell alike.

    `delta.n` counts cells and `datasets` the datasets they are of; the interval draws datasets, with all their
    cells, and is NaN for fewer than five.
    """

    name: str
    delta: Estimate
    datasets: int


@dataclass(frozen=True)
class DropGroupContrast:
    """Two groups and the difference of their mean deltas, first minus second; both sides are drawn together.

    The difference is None where a group is empty.
    """

    first: MeanDropOfGroup | None
    second: MeanDropOfGroup | None
    difference: Estimate | None


def group_score_drops(
    drops: Sequence[ScoreDrop], name: Callable[[ScoreDrop], str | None], order: Sequence[str], *, seed: int = SEED
) -> tuple[MeanDropOfGroup, ...]:
    """The groups that `name` gives the drops (None: in none), in `order`; empty ones are left out."""
    return tuple(
        _average_drop_group(part, members, seed)
        for part in order
        if (members := [drop for drop in drops if name(drop) == part])
    )


def contrast_drop_groups(
    drops: Sequence[ScoreDrop], name: Callable[[ScoreDrop], str | None], first: str, second: str, *, seed: int = SEED
) -> DropGroupContrast:
    """The groups `first` and `second` of `group_score_drops`, and their difference."""
    sides = {side: [drop for drop in drops if name(drop) == side] for side in (first, second)}
    groups = [_average_drop_group(side, members, seed) if members else None for side, members in sides.items()]
    if None in groups:
        return DropGroupContrast(groups[0], groups[1], None)
    left, right = sides[first], sides[second]
    value = _average_delta(left) - _average_delta(right)
    # Datasets of both sides are drawn together, so that the difference is paired where they share them.
    places = list(dict.fromkeys(drop.place for drop in (*left, *right)))
    # Sums and counts, not means: a resample draws datasets, which may have cells in one group or both.
    sums = np.hstack([_sum_deltas_by_task_and_dataset(left, places), _sum_deltas_by_task_and_dataset(right, places)])
    means = _bootstrap_means_of_drop_sums(sums, seed)
    with np.errstate(invalid="ignore"):
        draws = means[:, 0] / means[:, 1] - means[:, 2] / means[:, 3]
    return DropGroupContrast(
        groups[0], groups[1], _make_delta_estimate(value, draws, len(left) + len(right), len(places))
    )


def _average_drop_group(name: str, members: Sequence[ScoreDrop], seed: int) -> MeanDropOfGroup:
    places = list(dict.fromkeys(drop.place for drop in members))
    means = _bootstrap_means_of_drop_sums(_sum_deltas_by_task_and_dataset(members, places), seed)
    return MeanDropOfGroup(
        name,
        _make_delta_estimate(_average_delta(members), means[:, 0] / means[:, 1], len(members), len(places)),
        len(places),
    )


def _bootstrap_means_of_drop_sums(sums: NDArray[np.float64], seed: int) -> NDArray[np.float64]:
    return resample_means(sums, n_resamples=RESAMPLES, rng=make_seeded_generator(seed, "bootstrap", "drops"))


def _sum_deltas_by_task_and_dataset(members: Sequence[ScoreDrop], places: Sequence[str]) -> NDArray[np.float64]:
    """Sum and count of the deltas of every place, (places, 2)."""
    rows = {place: row for row, place in enumerate(places)}
    sums = np.zeros((len(places), 2))
    for drop in members:
        sums[rows[drop.place]] += drop.delta, 1
    return sums


def _average_delta(members: Sequence[ScoreDrop]) -> float:
    return float(np.mean([drop.delta for drop in members]))


def _make_delta_estimate(value: float, draws: NDArray[np.float64], n: int, places: int) -> Estimate:
    if places < FEWEST_PLACES:
        told = f"no interval: {places} dataset{'' if places == 1 else 's'}, but at least {FEWEST_PLACES} are needed"
        return Estimate(value, float("nan"), float("nan"), n, told)
    return Estimate(value, *percentile_interval(draws), n, METHOD)


@dataclass(frozen=True)
class DatasetInTask:
    """One dataset in one task, with the languages that were scored (`und`: not stated)."""

    task: str
    dataset: str
    languages: tuple[str, ...]
    measure: str


def list_used_datasets(rows: Iterable[ResultRow]) -> tuple[DatasetInTask, ...]:
    """The datasets of the rows, tasks in the protocol's order, datasets in that of the run."""
    whole: dict[tuple[str, str], set[str]] = {}
    parts: dict[tuple[str, str], set[str]] = {}
    for row in rows:
        if row.protocol == "pteb" and row.dataset and row.task in HEADLINES:
            whole.setdefault((row.task, row.dataset), set()).add(row.lang)
            if row.subset:
                parts.setdefault((row.task, row.dataset), set()).add(row.lang)
    return tuple(
        DatasetInTask(task, dataset, tuple(sorted(parts.get(key, langs))), HEADLINES[task])
        for task in HEADLINES
        for key, langs in whole.items()
        if key[0] == task
        for dataset in key[1:]
    )


@dataclass(frozen=True)
class DropsByLanguage:
    """Mean drops per language, of English, of other languages and of pairs across the two, and English minus other.

    `same_datasets` is the same difference within the datasets that have English and another language: what differs
    between datasets is not in it. `missing` counts cells whose language is not known.
    """

    languages: tuple[MeanDropOfGroup, ...]
    groups: tuple[MeanDropOfGroup, ...]
    difference: DropGroupContrast
    same_datasets: DropGroupContrast
    missing: tuple[SkippedItems, ...]


def analyse_drops_by_language(drops: Sequence[ScoreDrop], *, seed: int = SEED) -> DropsByLanguage:
    """The drops of `measure_score_drops(rows, by_language=True)` by language."""
    stated = [drop for drop in drops if classify_language_as_english_or_other(drop.lang)]
    unknown = [f"{drop.system} {drop.place}" for drop in drops if not classify_language_as_english_or_other(drop.lang)]
    groups = {
        place: {classify_language_as_english_or_other(drop.lang) for drop in stated if drop.place == place}
        for place in {drop.place for drop in stated}
    }
    shared = [drop for drop in stated if {ENGLISH, OTHER} <= groups[drop.place]]
    return DropsByLanguage(
        group_score_drops(stated, lambda drop: drop.lang, sorted({drop.lang for drop in stated}), seed=seed),
        group_score_drops(
            stated, lambda drop: classify_language_as_english_or_other(drop.lang), (ENGLISH, OTHER, BOTH), seed=seed
        ),
        contrast_drop_groups(
            stated, lambda drop: classify_language_as_english_or_other(drop.lang), ENGLISH, OTHER, seed=seed
        ),
        contrast_drop_groups(
            shared, lambda drop: classify_language_as_english_or_other(drop.lang), ENGLISH, OTHER, seed=seed
        ),
        (SkippedItems("language not known", len(unknown), tuple(unknown[:5])),) if unknown else (),
    )


HIGH = 0.8
DISTANCE_EDGES = (-1.0, 0.2, 0.4, 0.6, 0.8, 1.0)
CAUTION = (
    "A high score has more room to fall, and the original score is part of the drop, so the two are "
    "correlated even if paraphrasing affects all systems equally."
)


@dataclass(frozen=True)
class DropsAgainstOriginal:
    """The drops as points (`original`, `delta`), in bins of the original score, and above against not above `high`.

    `correlation` is Spearman's of original score and delta over all `points`; NaN where it is undefined. `caution` says
    what the relation does not mean.
    """

    points: tuple[ScoreDrop, ...]
    bins: tuple[MeanDropOfGroup, ...]
    high: float
    above: DropGroupContrast
    correlation: float
    caution: str = CAUTION


def relate_drops_to_original_scores(
    drops: Sequence[ScoreDrop], *, high: float = HIGH, edges: Sequence[float] = DISTANCE_EDGES, seed: int = SEED
) -> DropsAgainstOriginal:
    """Drops against original scores, both as fractions; bins are [low, high), the last one closed."""
    names = [f"{max(low, 0) * 100:g} to {top * 100:g}" for low, top in pairwise(edges)]
    # Correlations below 0 are in the first bin too.
    names[0] = f"under {edges[1] * 100:g}"

    def name_score_bin(drop: ScoreDrop) -> str:
        place = int(np.searchsorted(edges, drop.original, side="right")) - 1
        return names[min(max(place, 0), len(names) - 1)]

    def describe_side_of_original_score(drop: ScoreDrop) -> str:
        return "above" if drop.original > high else "not above"

    correlation = spearman([drop.original for drop in drops], [drop.delta for drop in drops])
    return DropsAgainstOriginal(
        tuple(drops),
        group_score_drops(drops, name_score_bin, names, seed=seed),
        high,
        contrast_drop_groups(drops, describe_side_of_original_score, "above", "not above", seed=seed),
        float(correlation),
    )


@dataclass(frozen=True)
class DatasetWordStatistics:
    """White-space words per text of one dataset; every text counts as often as it stands there."""

    dataset: str
    texts: int
    mean: float
    median: float
    most: int


def summarise_words_per_text_by_dataset(texts: Mapping[str, Sequence[str]]) -> tuple[DatasetWordStatistics, ...]:
    """Table 1 from the texts of every dataset; a dataset without texts is left out."""
    rows = []
    for dataset, its in texts.items():
        counts = [count_words(text) for text in its]
        if counts:
            rows.append(DatasetWordStatistics(dataset, len(counts), fmean(counts), median(counts), max(counts)))
    return tuple(rows)


def average_words_over_datasets(counts: Sequence[DatasetWordStatistics]) -> float | None:
    """The last row of table 1: the plain mean over datasets; None where there is none."""
    return fmean(count.mean for count in counts) if counts else None


def count_words(text: str) -> int:
    """The words of a text, cut at white space."""
    return len(text.split())


def average_item_words(items: Sequence[Sequence[str]]) -> NDArray[np.float64]:
    """The mean number of words of the texts of every item (both sentences of a pair), (n,)."""
    return np.array([fmean(map(count_words, texts)) if texts else np.nan for texts in items], dtype=np.float64)


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

# The upper ends of the bins of spec pteb 6, in words.
LENGTH_EDGES = (10, 20, 30, 50)
FEWEST_TEXTS = 10
# Counts of a block of resamples: 32 MB of them at a time.
_COUNTS = 1 << 22


@dataclass(frozen=True)
class ScoresInLengthBin:
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


def score_original_and_runs_by_length(
    score: Score,
    words: Floats,
    original: Floats,
    runs: Sequence[Floats],
    gold: Floats | None = None,
    *,
    edges: Sequence[int] = LENGTH_EDGES,
    seed: int = SEED,
) -> tuple[ScoresInLengthBin, ...]:
    """The score of the items in bins of their number of words.

    `words`, `original` and every run of `runs` have one value per item, (n,), in one order: a similarity, with
    `gold` its human score or 0/1 label, or a score of the item itself where `score` is their mean. NaN is a lost item:
    it counts on neither side of its run. Bins without items are left out, bins of under 10 show their n only.
    UsageError for lengths that differ.
    """
    columns = [words, original, *runs, *([] if gold is None else [gold])]
    if {len(column) for column in columns} != {len(words)} or not runs:
        raise UsageError(
            f"The columns have {[len(column) for column in columns]} items and there are {len(runs)} runs.",
            mend="Pass one value per item in every column, and at least one run.",
        )
    bins = (word for word in bin_by_word_count(words, edges) if word.members.any())
    return tuple(
        _make_length_bin(
            part.label,
            partial(score_resamples, score, gold if gold is None else gold[part.members]),
            original[part.members],
            [run[part.members] for run in runs],
            seed,
        )
        for part in bins
    )


class _MissingScoreError(Exception):
    """The error that there is no score, for the reason given."""


def _make_length_bin(
    label: str, score: partial[Floats], original: Floats, runs: Sequence[Floats], seed: int
) -> ScoresInLengthBin:
    kept = [~(np.isnan(run) | np.isnan(original)) for run in runs]
    lost = int(sum((~mask).sum() for mask in kept))
    n = len(original)
    try:
        everything = _score_kept_items(score, original, ~np.isnan(original))
        after = [_score_kept_items(score, run, mask) for run, mask in zip(runs, kept, strict=True)]
        before = [_score_kept_items(score, original, mask) for mask in kept]
    except _MissingScoreError as reason:
        return ScoresInLengthBin(label, n, None, None, None, lost, str(reason))
    value = float(np.mean(after) - np.mean(before))
    interval = percentile_interval(resample_deltas(score, original, runs, kept, seed))
    method = f"95% percentile bootstrap over items, {RESAMPLES} resamples"
    return ScoresInLengthBin(label, n, everything, float(np.mean(after)), Estimate(value, *interval, n, method), lost)


def _score_kept_items(score: partial[Floats], values: Floats, kept: NDArray[np.bool_]) -> float:
    if kept.sum() < FEWEST_TEXTS:
        raise _MissingScoreError(f"{int(kept.sum())} items are too few for a score")
    value = float(score(values, kept[None, :].astype(np.int64))[0])
    if np.isnan(value):
        raise _MissingScoreError("the measure is undefined on these items")
    return value


def resample_deltas(
    score: partial[Floats], original: Floats, runs: Sequence[Floats], kept: Sequence[NDArray[np.bool_]], seed: int
) -> Floats:
    """The delta on resamples of the items, the same of all runs, (resamples,)."""
    rng, n = make_seeded_generator(seed, "bootstrap", "length"), len(original)
    parts = []
    for rows in iterate_resample_row_blocks(n, RESAMPLES, rng, most=_COUNTS // n):
        counts = count_draws_of_each_row(rows)
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


def score_resamples(score: Score, gold: Floats | None, values: Floats, counts: NDArray[np.int64]) -> Floats:
    """The score on resamples (b, n) of the items -> (b,); what is not drawn may be NaN."""
    if score == "mean":
        totals = counts.sum(axis=1)
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(counts @ np.nan_to_num(values) / totals)
    if gold is None:
        raise UsageError(f"Computing {score} from similarities needs gold values.", mend="Pass gold.")
    if score == "spearman":
        return resample_spearman(values, gold, counts)
    return resample_average_precision(gold, values, counts)


@dataclass(frozen=True)
class DropAtEditDistance:
    """The drop of a system on a dataset at the edit distance of one paraphraser or prompt.

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
class DropsAgainstDistance:
    """The points of figure 8, and per system Spearman's correlation of edit distance and delta over its points (NaN
    where it is undefined)."""

    points: tuple[DropAtEditDistance, ...]
    correlations: tuple[tuple[str, float, int], ...]
    missing: tuple[SkippedItems, ...]


def pair_drops_with_edit_distances(rows: Iterable[ResultRow]) -> DropsAgainstDistance:
    """The drop of every system, dataset and source against the source's edit distance there.

    The distances are the rows of the task `paraphrases`; languages count by their texts. What has no distance or no
    drop is counted.
    """
    rows = list(rows)
    distances = _average_edit_distances(rows)
    intervals = {
        (row.variant, row.task, row.dataset, row.system): (row.ci_low, row.ci_high)
        for row in rows
        if row.measure == "delta" and not is_paraphrase_run_variant(row.variant) and not row.subset
    }
    points, without = [], []
    missing: list[SkippedItems] = []
    for source in dict.fromkeys(
        parse_source_from_variant(row.variant) for row in rows if is_paraphrase_run_variant(row.variant)
    ):
        by_item = measure_score_drops(rows, source=source)
        missing += by_item.missing
        for drop in by_item.rows:
            if (distance := distances.get((source, drop.dataset))) is None:
                without.append(f"{drop.system} {drop.place} {source}".strip())
                continue
            low, high = intervals.get((source, drop.task, drop.dataset, drop.system), (None, None))
            points.append(
                DropAtEditDistance(source, drop.task, drop.dataset, drop.system, *distance, drop.delta, low, high)
            )
    if without:
        missing.append(SkippedItems("no edit distance", len(without), tuple(without[:5])))
    return DropsAgainstDistance(tuple(points), _correlate_drop_with_distance_by_system(points), tuple(missing))


def _average_edit_distances(rows: Sequence[ResultRow]) -> dict[tuple[str, str], tuple[float, int]]:
    """(source, dataset) -> mean edit distance and the wordings behind it."""
    sums: dict[tuple[str, str], list[float]] = {}
    for row in rows:
        if row.task == "paraphrases" and row.measure == "edit_distance" and is_paraphrase_run_variant(row.variant):
            if row.value is None or not row.dataset:
                continue
            total = sums.setdefault((parse_source_from_variant(row.variant), row.dataset), [0.0, 0.0])
            total[0] += row.value * row.n
            total[1] += row.n
    return {key: (total / n, int(n)) for key, (total, n) in sums.items() if n}


def _correlate_drop_with_distance_by_system(points: Sequence[DropAtEditDistance]) -> tuple[tuple[str, float, int], ...]:
    correlations = []
    for system in dict.fromkeys(point.system for point in points):
        of_system = [point for point in points if point.system == system]
        value = spearman([point.edit_distance for point in of_system], [point.delta for point in of_system])
        correlations.append((system, float(value), len(of_system)))
    return tuple(correlations)


SHOWN_SEED, COUNT = 1337, 6
WORDS = (4, 40)


@dataclass(frozen=True)
class WordingInRun:
    """The text in one run: `wording` is empty where the `outcome` is not usable, and then there is no distance."""

    seed: int
    wording: str
    outcome: Outcome
    edit_distance: float | None


@dataclass(frozen=True)
class TextWithWordings:
    """A text and what became of it in every run, in the order of the runs."""

    text: str
    lang: str
    wordings: tuple[WordingInRun, ...]

    @property
    def distinct_wording_count(self) -> int:
        """How many different wordings the runs gave."""
        return len({wording.wording for wording in self.wordings if wording.wording})


def draw_texts_with_wordings(
    runs: Mapping[int, Iterable[ParaphraseOutcome]], *, count: int = COUNT, seed: int = SHOWN_SEED
) -> tuple[TextWithWordings, ...]:
    """`count` texts drawn with `seed` from those that every run asked for (seed of the run -> its paraphrases).

    Texts of 4 to 40 words come before others, so that they can be read beside each other; a text that failed in a run
    may be drawn, and shows it. Of several places of one text the first counts. In the order of the data.
    """
    tables = {run: _index_paraphrases_by_text(paraphrases) for run, paraphrases in runs.items()}
    first, *others = tables.values() or [{}]
    shared = [key for key in first if key[0].strip() and all(key in table for table in others)]
    drawn = _draw_texts_preferring_readable(shared, count, seed)
    return tuple(
        TextWithWordings(*key, _list_wordings_with_edit_distances(key, tables)) for key in shared if key in drawn
    )


def _index_paraphrases_by_text(paraphrases: Iterable[ParaphraseOutcome]) -> dict[tuple[str, str], ParaphraseOutcome]:
    table: dict[tuple[str, str], ParaphraseOutcome] = {}
    for paraphrase in paraphrases:
        table.setdefault((paraphrase.text, paraphrase.lang), paraphrase)
    return table


def _draw_texts_preferring_readable(texts: Sequence[tuple[str, str]], count: int, seed: int) -> set[tuple[str, str]]:
    low, high = WORDS
    readable = [key for key in texts if low <= count_words(key[0]) <= high]
    others = [key for key in texts if not low <= count_words(key[0]) <= high]
    chosen = [readable[place] for place in draw(["\n".join(key) for key in readable], count, seed)]
    if left := count - len(chosen):
        chosen += [others[place] for place in draw(["\n".join(key) for key in others], left, seed)]
    return set(chosen)


def _list_wordings_with_edit_distances(
    key: tuple[str, str], tables: Mapping[int, Mapping[tuple[str, str], ParaphraseOutcome]]
) -> tuple[WordingInRun, ...]:
    in_runs = [(run, table[key]) for run, table in tables.items()]
    distances = edit_distances([key[0]] * len(in_runs), [paraphrase.wording for _, paraphrase in in_runs]).tolist()
    return tuple(
        WordingInRun(run, paraphrase.wording, paraphrase.outcome, distance if paraphrase.usable else None)
        for (run, paraphrase), distance in zip(in_runs, distances, strict=True)
    )
