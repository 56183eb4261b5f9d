"""How much is written and labelled in a language: its resource class, and people and models by class.

The classes are those of Joshi, Santy, Budhiraja, Bali and Choudhury, "The State and Fate of Linguistic Diversity and
Inclusion in the NLP World" (ACL 2020), from 0 to 5 by labelled and unlabelled data; `resource.csv` holds those of the
languages that benchmarks are in, classes 2 to 5 in full, by ISO 639-3 with the codes of macrolanguages. High is 4 and
5, mid is 3, low is 0 to 2, as in Üstün et al., "Aya Model" (ACL 2024). A language that the file lacks is of no class.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import Literal

import numpy as np

from embassay.protocols.hume.published.standings import PairWithPeopleRank, compare_people_with_models
from embassay.protocols.hume.record import Summary
from embassay.protocols.kernel.tables import (
    ColumnTable,
    interval_columns,
    make_percentage_point_column,
    number_column,
    text,
    whole_number_column,
)
from embassay.stats import Estimate, bootstrap_ci

Level = Literal["high", "mid", "low", "not classified"]
LEVELS: tuple[Level, ...] = ("high", "mid", "low", "not classified")
_LEVEL: Mapping[int, Level] = {5: "high", 4: "high", 3: "mid", 2: "low", 1: "low", 0: "low"}
FEWEST_PAIRS = 10
"""Pairs from which on a mean over them gets an interval, as over all pairs."""


@lru_cache(maxsize=1)
def _read_language_resource_classes() -> Mapping[str, tuple[int, str]]:
    text = (files("embassay.protocols.hume") / "resource.csv").read_text("utf-8")
    return {row["code"]: (int(row["class"]), row["name"]) for row in csv.DictReader(text.splitlines())}


def language_resource_class(lang: str) -> int | None:
    """The class of a language by its ISO 639-3 code, 0 to 5; None where it is not known.

    >>> language_resource_class("eng"), language_resource_class("nob"), language_resource_class("tlh")
    (5, 1, None)
    """
    row = _read_language_resource_classes().get(lang)
    return row[0] if row else None


def language_resource_level(lang: str) -> Level:
    """Whether a language has high, mid or low resources.

    >>> [language_resource_level(lang) for lang in ("rus", "dan", "nob", "und")]
    ['high', 'mid', 'low', 'not classified']
    """
    number = language_resource_class(lang)
    return "not classified" if number is None else _LEVEL[number]


def language_name(lang: str) -> str:
    """The English name of a language, its code where it has none here.

    >>> language_name("dan"), language_name("tlh")
    ('Danish', 'tlh')
    """
    row = _read_language_resource_classes().get(lang)
    return row[1] if row else lang


@dataclass(frozen=True)
class ResourceLevelMeans:
    """Means over the pairs of a resource level, or of a class of it, that have people and a model, fractions; `gap` is
    people minus the best model, `percent` the best model's share of people's score."""

    level: Level
    resource_class: str
    languages: str
    pairs: int
    human: Estimate
    best: float | None
    median: float | None
    percent: float | None
    gap: Estimate
    wins: int | None

    @property
    def missing_interval_reason(self) -> str:
        """Empty where there is one."""
        few = f"no interval over fewer than {FEWEST_PAIRS} pairs"
        return few if self.pairs < FEWEST_PAIRS else ""


def resource_table(summary: Summary, seed: int) -> ColumnTable:
    """Table `hume_resources`: people and models by resource level, and by class within it.

    Means over the pairs of a level that have people and a model, with bootstrap intervals over pairs from ten on.
    """
    models = [model for model in compare_people_with_models(summary) if model.pair.human.value is not None]
    return ColumnTable.of(
        "hume_resources", "HUME: people and models by language resource level",
        _average_by_resource_level(models, seed),
        text("level"), text("class", "resource_class"), text("languages"), whole_number_column("pairs"),
        *interval_columns("human", ("human", "human_low", "human_high")), make_percentage_point_column("best"),
        make_percentage_point_column("median"),
        number_column("best_percent_of_human", "percent", 1),
        *interval_columns("gap", ("gap", "gap_low", "gap_high"), "signed"), whole_number_column("wins"),
        text("reason", "missing_interval_reason"),
        note=("Classes follow Joshi et al. (2020): high is 4-5, mid is 3 and low is 0-2. Best and median are over a "
            "pair's ranked models; gap is people minus best, and wins counts pairs where people beat the best."),
    )  # fmt: skip


def _average_by_resource_level(models: Sequence[PairWithPeopleRank], seed: int) -> Iterator[ResourceLevelMeans]:
    for level in LEVELS:
        of_level = [model for model in models if language_resource_level(model.pair.lang) == level]
        if not of_level:
            continue
        yield _average_resource_level(level, "all", of_level, seed)
        classes = {language_resource_class(model.pair.lang) for model in of_level}
        for place in sorted((place for place in classes if place is not None), reverse=True):
            of_class = [model for model in of_level if language_resource_class(model.pair.lang) == place]
            yield _average_resource_level(level, str(place), of_class, seed)


def _average_resource_level(
    level: Level, resource_class: str, models: Sequence[PairWithPeopleRank], seed: int
) -> ResourceLevelMeans:
    ranks = [model.standing for model in models if model.standing]
    shares = [rank.best_percent_of_human for rank in ranks]
    people = [model.pair.human.value or 0.0 for model in models]
    wins = [rank.people_beat_models() for rank in ranks]
    return ResourceLevelMeans(
        level=level,
        resource_class=resource_class,
        languages=", ".join(sorted({model.pair.lang for model in models})),
        pairs=len(models),
        human=_estimate_mean_over_pairs(people, seed),
        best=_mean_or_none([rank.best for rank in ranks]),
        median=_mean_or_none([rank.median for rank in ranks]),
        percent=_mean_or_none([share for share in shares if share is not None]),
        gap=_estimate_mean_over_pairs([rank.gap() for rank in ranks], seed),
        wins=sum(wins) if wins else None,
    )


def _mean_or_none(values: Sequence[float]) -> float | None:
    return float(np.mean(values)) if values else None


def _estimate_mean_over_pairs(values: Sequence[float], seed: int) -> Estimate:
    """The mean, with an interval over pairs where there are enough."""
    mean = _mean_or_none(values)
    if len(values) < FEWEST_PAIRS:
        return Estimate(value=mean)
    return Estimate(mean, *bootstrap_ci(list(values), seed=seed).ends)
