"""The datasets of a run (table 13), and whether more is lost in English or where the original score is high."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from embassay.measures import spearman
from embassay.protocols.pteb.analysis.drops import HEADLINES, Drop
from embassay.protocols.pteb.analysis.groups import SEED, Contrast, Group, contrast, grouped
from embassay.records import Result, Skipped


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
