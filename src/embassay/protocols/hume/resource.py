"""How much is written and labelled in a language: its resource class, and people and models by class.

The classes are those of Joshi, Santy, Budhiraja, Bali and Choudhury, "The State and Fate of Linguistic Diversity and
Inclusion in the NLP World" (ACL 2020), from 0 to 5 by labelled and unlabelled data; `resource.csv` holds those of the
languages that benchmarks are in, classes 2 to 5 in full, by ISO 639-3 with the codes of macrolanguages. High is 4 and
5, mid is 3, low is 0 to 2, as in Üstün et al., "Aya Model" (ACL 2024). A language that the file lacks is of no class.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from importlib.resources import files
from typing import Literal

import numpy as np

from embassay.protocols.hume.published.standings import percent_of_human
from embassay.protocols.hume.record import Beside, Summary, beside_models
from embassay.protocols.hume.tables import in_points
from embassay.protocols.kernel.tables import Column, ColumnTable, Value
from embassay.stats import bootstrap_ci

Level = Literal["high", "mid", "low", "not classified"]
LEVELS: tuple[Level, ...] = ("high", "mid", "low", "not classified")
_LEVEL: Mapping[int, Level] = {5: "high", 4: "high", 3: "mid", 2: "low", 1: "low", 0: "low"}
FEWEST_PAIRS = 10
"""Pairs from which on a mean over them gets an interval, as over all pairs."""


@lru_cache(maxsize=1)
def _read_languages() -> Mapping[str, tuple[int, str]]:
    text = (files("embassay.protocols.hume") / "resource.csv").read_text("utf-8")
    return {row["code"]: (int(row["class"]), row["name"]) for row in csv.DictReader(text.splitlines())}


def resource_class(lang: str) -> int | None:
    """The class of a language by its ISO 639-3 code, 0 to 5; None where it is not known.

    >>> resource_class("eng"), resource_class("nob"), resource_class("tlh")
    (5, 1, None)
    """
    row = _read_languages().get(lang)
    return row[0] if row else None


def resource_level(lang: str) -> Level:
    """Whether a language has high, mid or low resources.

    >>> [resource_level(lang) for lang in ("rus", "dan", "nob", "und")]
    ['high', 'mid', 'low', 'not classified']
    """
    number = resource_class(lang)
    return "not classified" if number is None else _LEVEL[number]


def language_name(lang: str) -> str:
    """The English name of a language, its code where it has none here.

    >>> language_name("dan"), language_name("tlh")
    ('Danish', 'tlh')
    """
    row = _read_languages().get(lang)
    return row[1] if row else lang


def resource_table(summary: Summary, seed: int) -> ColumnTable:
    """Table `hume_resources`: people and models by resource level, and by class within it.

    Means over the pairs of a level that have people and a model, with bootstrap intervals over pairs from ten on.
    """
    columns = (
        Column("level", "text"), Column("class", "text"), Column("languages", "text"), Column("pairs", decimals=0),
        Column("human", decimals=1), Column("human_low", decimals=1), Column("human_high", decimals=1),
        *(Column(name, decimals=1) for name in ("best", "median", "best_percent_of_human")),
        Column("gap", "signed", 1), Column("gap_low", "signed", 1), Column("gap_high", "signed", 1),
        Column("wins", decimals=0), Column("reason", "text")
    )  # fmt: skip
    models = [model for model in beside_models(summary) if model.pair.human.value is not None]
    note = (
        "Classes of Joshi et al. (2020): high is 4 and 5, mid 3, low 0 to 2. Best and median are of the ranked models "
        "of a pair; gap is people minus best, and wins are the pairs that people win against it."
    )
    return ColumnTable(
        "hume_resources", "HUME: people and models by the resources of a language", columns,
        tuple(_level_rows(models, seed)), note
    )  # fmt: skip


def _level_rows(models: Sequence[Beside], seed: int) -> Iterator[tuple[Value, ...]]:
    for level in LEVELS:
        of_level = [model for model in models if resource_level(model.pair.lang) == level]
        if not of_level:
            continue
        yield level, "all", *_level_means(of_level, seed)
        classes = {resource_class(model.pair.lang) for model in of_level}
        for number in sorted((number for number in classes if number is not None), reverse=True):
            of_class = [model for model in of_level if resource_class(model.pair.lang) == number]
            yield level, str(number), *_level_means(of_class, seed)


def _level_means(models: Sequence[Beside], seed: int) -> tuple[Value, ...]:
    human = [model.pair.human.value or 0.0 for model in models]
    beside = [model.standing for model in models if model.standing]
    gaps = [rank.gap() for rank in beside]
    best, median = [rank.best for rank in beside], [rank.median for rank in beside]
    few = "" if len(models) >= FEWEST_PAIRS else f"fewer than {FEWEST_PAIRS} pairs: no interval over pairs"
    shares = [percent_of_human(rank.best, rank.human) for rank in beside if rank.human > 0]
    return (
        ", ".join(sorted({model.pair.lang for model in models})), len(models), in_points(_mean_or_none(human)),
        *_mean_ends(human, seed), in_points(_mean_or_none(best)), in_points(_mean_or_none(median)),
        _mean_or_none([share for share in shares if share is not None]), in_points(_mean_or_none(gaps)),
        *_mean_ends(gaps, seed),
        sum(rank.human > rank.best for rank in beside) if beside else None, few
    )  # fmt: skip


def _mean_or_none(values: Sequence[float]) -> float | None:
    return float(np.mean(values)) if values else None


def _mean_ends(values: Sequence[float], seed: int) -> tuple[float | None, float | None]:
    if len(values) < FEWEST_PAIRS:
        return None, None
    estimate = bootstrap_ci(list(values), seed=seed)
    return (None, None) if math.isnan(estimate.low) else (in_points(estimate.low), in_points(estimate.high))
