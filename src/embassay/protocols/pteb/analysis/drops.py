"""What paraphrasing did to every system on every dataset, from the rows of a run."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean

import numpy as np
from numpy.typing import NDArray

from embassay.measures import spearman
from embassay.randomness import generator
from embassay.records import Result, Skipped
from embassay.stats import Estimate, percentile_interval, resample_means

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
class Drop:
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
class Drops:
    """The drops of a run, and what has none, counted by reason."""

    rows: tuple[Drop, ...]
    missing: tuple[Skipped, ...]


def drops(rows: Iterable[Result], *, by_language: bool = False, source: str | None = None) -> Drops:
    """The drop of every system on every dataset.

    `by_language` gives the languages of a dataset that has several, each by itself, and no row of all of them.
    `source` keeps the runs of one paraphraser or prompt (`by=NAME`, `prompt=NAME`); otherwise the mean is over the
    runs of all. A cell with a run without a score has no drop, and is counted.
    """
    cells: dict[tuple[str, ...], list[Result]] = {}
    originals: dict[tuple[str, ...], Result] = {}
    divided: set[tuple[str, ...]] = set()
    for row in rows:
        if row.protocol != "pteb" or not row.dataset or row.task not in HEADLINES:
            continue
        key = (row.task, row.dataset, row.subset, row.lang, row.system)
        if row.subset:
            divided.add((row.task, row.dataset))
        if row.variant == "original" and row.measure == HEADLINES[row.task]:
            originals[key] = row
        elif row.measure == "delta" and _is_of(row.variant, source):
            cells.setdefault(key, []).append(row)
    kept = {
        key: deltas for key, deltas in cells.items() if bool(key[2]) == (by_language and key[:2] in divided)
    }
    return _means(kept, originals)


def source_of(variant: str) -> str:
    """The paraphraser or prompt of a variant of a cell; empty where a run has one.

    >>> source_of("paraphrase:by=ollama:gemma3:27b,seed=1337")
    'by=ollama:gemma3:27b'
    """
    return variant.removeprefix(_PREFIX).rpartition(_SEED)[0].rstrip(",")


def is_run(variant: str) -> bool:
    """Whether the variant is that of a run on paraphrases."""
    return variant.startswith(_PREFIX) and _SEED in variant


def _is_of(variant: str, source: str | None) -> bool:
    return is_run(variant) and source in (None, source_of(variant))


def _means(
    cells: Mapping[tuple[str, ...], list[Result]], originals: Mapping[tuple[str, ...], Result]
) -> Drops:
    found: list[Drop] = []
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
            found.append(Drop(task, dataset, lang, system, original.value, fmean(values), len(values)))
    counted = (Skipped(reason, len(cells), tuple(cells[:5])) for reason, cells in missing.items())
    return Drops(tuple(found), tuple(counted))


SEED, RESAMPLES = 1337, 1000
METHOD = f"95% percentile bootstrap over datasets, {RESAMPLES} resamples"
FEWEST = 5
"""Datasets that an interval needs: resamples of two or three are two or three values."""


@dataclass(frozen=True)
class Group:
    """The mean delta of a group of cells (system x dataset), every cell alike.

    `delta.n` counts cells and `datasets` the datasets they are of; the interval draws datasets, with all their
    cells, and is NaN for fewer than five.
    """

    name: str
    delta: Estimate
    datasets: int


@dataclass(frozen=True)
class Contrast:
    """Two groups and the difference of their mean deltas, first minus second; both sides are drawn together.

    The difference is None where a group is empty.
    """

    first: Group | None
    second: Group | None
    difference: Estimate | None


def grouped(
    drops: Sequence[Drop], name: Callable[[Drop], str | None], order: Sequence[str], *, seed: int = SEED
) -> tuple[Group, ...]:
    """The groups that `name` gives the drops (None: in none), in `order`; empty ones are left out."""
    return tuple(
        _group(one, members, seed)
        for one in order
        if (members := [drop for drop in drops if name(drop) == one])
    )


def contrast(
    drops: Sequence[Drop], name: Callable[[Drop], str | None], first: str, second: str, *, seed: int = SEED
) -> Contrast:
    """The groups `first` and `second` of `grouped`, and their difference."""
    sides = {one: [drop for drop in drops if name(drop) == one] for one in (first, second)}
    groups = [_group(one, members, seed) if members else None for one, members in sides.items()]
    if None in groups:
        return Contrast(groups[0], groups[1], None)
    left, right = sides[first], sides[second]
    value = _mean(left) - _mean(right)
    places = list(dict.fromkeys(drop.place for drop in (*left, *right)))
    sums = np.hstack([_sums(left, places), _sums(right, places)])
    means = _resampled(sums, seed)
    with np.errstate(invalid="ignore"):
        draws = means[:, 0] / means[:, 1] - means[:, 2] / means[:, 3]
    return Contrast(groups[0], groups[1], _estimate(value, draws, len(left) + len(right), len(places)))


def _group(name: str, members: Sequence[Drop], seed: int) -> Group:
    places = list(dict.fromkeys(drop.place for drop in members))
    means = _resampled(_sums(members, places), seed)
    return Group(
        name, _estimate(_mean(members), means[:, 0] / means[:, 1], len(members), len(places)), len(places)
    )


def _resampled(sums: NDArray[np.float64], seed: int) -> NDArray[np.float64]:
    return resample_means(sums, n_resamples=RESAMPLES, rng=generator(seed, "bootstrap", "drops"))


def _sums(members: Sequence[Drop], places: Sequence[str]) -> NDArray[np.float64]:
    """Sum and count of the deltas of every place, (places, 2)."""
    rows = {place: row for row, place in enumerate(places)}
    sums = np.zeros((len(places), 2))
    for drop in members:
        sums[rows[drop.place]] += drop.delta, 1
    return sums


def _mean(members: Sequence[Drop]) -> float:
    return float(np.mean([drop.delta for drop in members]))


def _estimate(value: float, draws: NDArray[np.float64], n: int, places: int) -> Estimate:
    if places < FEWEST:
        told = f"no interval: {places} dataset{'' if places == 1 else 's'}, fewer than {FEWEST}"
        return Estimate(value, float("nan"), float("nan"), n, told)
    return Estimate(value, *percentile_interval(draws), n, METHOD)


@dataclass(frozen=True)
class DatasetUsed:
    """One dataset in one task, with the languages that were scored (`und`: not stated)."""

    task: str
    dataset: str
    languages: tuple[str, ...]
    measure: str


def datasets_used(rows: Iterable[Result]) -> tuple[DatasetUsed, ...]:
    """The datasets of the rows, tasks in the protocol's order, datasets in that of the run."""
    whole: dict[tuple[str, str], set[str]] = {}
    parts: dict[tuple[str, str], set[str]] = {}
    for row in rows:
        if row.protocol == "pteb" and row.dataset and row.task in HEADLINES:
            whole.setdefault((row.task, row.dataset), set()).add(row.lang)
            if row.subset:
                parts.setdefault((row.task, row.dataset), set()).add(row.lang)
    return tuple(
        DatasetUsed(task, dataset, tuple(sorted(parts.get(key, langs))), HEADLINES[task])
        for task in HEADLINES
        for key, langs in whole.items()
        if key[0] == task
        for dataset in key[1:]
    )


ENGLISH, OTHER, BOTH = "English", "other languages", "English and another"
_ENGLISH = {"en", "eng"}
_UNKNOWN = {"", "und", "mul"}


@dataclass(frozen=True)
class ByLanguage:
    """Mean drops per language, of English, of other languages and of pairs across the two, and English minus other.

    `same_datasets` is the same difference within the datasets that have English and another language: what differs
    between datasets is not in it. `missing` counts cells whose language is not known.
    """

    languages: tuple[Group, ...]
    groups: tuple[Group, ...]
    difference: Contrast
    same_datasets: Contrast
    missing: tuple[Skipped, ...]


def by_language(drops: Sequence[Drop], *, seed: int = SEED) -> ByLanguage:
    """The drops of `drops(rows, by_language=True)` by language."""
    known = [drop for drop in drops if group_of(drop.lang)]
    unknown = [f"{drop.system} {drop.place}" for drop in drops if not group_of(drop.lang)]
    groups = {
        place: {group_of(drop.lang) for drop in known if drop.place == place} for place in _places(known)
    }
    shared = [drop for drop in known if {ENGLISH, OTHER} <= groups[drop.place]]
    return ByLanguage(
        grouped(known, lambda drop: drop.lang, sorted({drop.lang for drop in known}), seed=seed),
        grouped(known, lambda drop: group_of(drop.lang), (ENGLISH, OTHER, BOTH), seed=seed),
        contrast(known, lambda drop: group_of(drop.lang), ENGLISH, OTHER, seed=seed),
        contrast(shared, lambda drop: group_of(drop.lang), ENGLISH, OTHER, seed=seed),
        (Skipped("language not known", len(unknown), tuple(unknown[:5])),) if unknown else (),
    )


def group_of(lang: str) -> str | None:
    """English, other languages, or a pair of the two (`ara-eng`); None where the language is not known.

    >>> group_of("en-US"), group_of("pt-BR"), group_of("ara-eng"), group_of("mul")
    ('English', 'other languages', 'English and another', None)
    """
    if lang in _UNKNOWN:
        return None
    first, *more = re.split(r"[-_]", lang)
    # A region is written in capitals and a script with one: neither is a second language.
    langs = {first.lower(), *(part for part in more if part.islower() and len(part) < 4)}
    if langs <= _ENGLISH:
        return ENGLISH
    return BOTH if langs & _ENGLISH else OTHER


def _places(drops: Sequence[Drop]) -> set[str]:
    return {drop.place for drop in drops}


HIGH = 0.8
EDGES = (-1.0, 0.2, 0.4, 0.6, 0.8, 1.0)
CAUTION = (
    "A high score has more room to fall, and the original score is a part of the drop: "
    "the two are related even where paraphrasing does the same to all."
)


@dataclass(frozen=True)
class AgainstOriginal:
    """The drops as points (`original`, `delta`), in bins of the original score, and above against not above `high`.

    `correlation` is Spearman's of original score and delta over all `points`; NaN where it is undefined. `caution` says
    what the relation does not mean.
    """

    points: tuple[Drop, ...]
    bins: tuple[Group, ...]
    high: float
    above: Contrast
    correlation: float
    caution: str = CAUTION


def against_original(
    drops: Sequence[Drop], *, high: float = HIGH, edges: Sequence[float] = EDGES, seed: int = SEED
) -> AgainstOriginal:
    """Drops against original scores, both as fractions; bins are [low, high), the last one closed."""
    names = [f"{max(low, 0) * 100:g} to {top * 100:g}" for low, top in pairwise(edges)]
    names[0] = f"under {edges[1] * 100:g}"

    def bin_of(drop: Drop) -> str:
        place = int(np.searchsorted(edges, drop.original, side="right")) - 1
        return names[min(max(place, 0), len(names) - 1)]

    def side(drop: Drop) -> str:
        return "above" if drop.original > high else "not above"

    correlation = spearman([drop.original for drop in drops], [drop.delta for drop in drops])
    return AgainstOriginal(
        tuple(drops),
        grouped(drops, bin_of, names, seed=seed),
        high,
        contrast(drops, side, "above", "not above", seed=seed),
        float(correlation),
    )
