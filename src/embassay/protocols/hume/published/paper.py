"""The study of the paper: its datasets, its 26 pairs of dataset and language, its 13 models, and how it rounds."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from functools import cache
from importlib.resources import files
from typing import cast

from embassay.protocols.hume.study import Family

MULTILINGUAL, ENGLISH_ONLY = "multilingual datasets", "English-only datasets"


@dataclass(frozen=True)
class Pair:
    """A dataset in one language, the unit of all means: `n_items` were annotated, by `n_annotators` people each.

    `group` says whether the dataset has other languages than English; the English part of one that has counts as
    multilingual (spec hume, ambiguity 8). `flags` are what else is known of its items (spec hume, T11).
    """

    dataset: str
    lang: str
    family: Family
    n_items: int
    n_annotators: int
    group: str = ENGLISH_ONLY
    flags: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """As in messages: `STS22 (ara)`."""
        return f"{self.dataset} ({self.lang})"


@dataclass(frozen=True)
class Dataset:
    """One of the sixteen; `metrics` begin with the primary one, `aliases` are its names in other tables."""

    name: str
    task: str
    family: Family
    metrics: tuple[str, ...]
    pairs: tuple[Pair, ...]
    aliases: tuple[str, ...] = ()


@dataclass(frozen=True)
class Model:
    """An embedding model by its full name; parameters in millions, None where the paper does not say."""

    name: str
    parameters_millions: float | None = None

    @property
    def short(self) -> str:
        """The name without its owner, as the tables write it."""
        return self.name.rpartition("/")[2]


@dataclass(frozen=True)
class Study:
    """All of it; `human` is the system name of the people in result files, in the revision that the paper used."""

    datasets: tuple[Dataset, ...]
    models: tuple[Model, ...]
    human: str
    human_revision: str
    source: str

    @property
    def pairs(self) -> tuple[Pair, ...]:
        """The 26 pairs, in the order of table 8."""
        return tuple(pair for dataset in self.datasets for pair in dataset.pairs)

    def dataset(self, name: str) -> Dataset | None:
        """The dataset of this name, task name or alias, in any case; None where the study has no such one."""
        return _by_name(self).get(name.strip().lower())

    def pair(self, name: str, lang: str) -> Pair | None:
        """The pair of a dataset (by any of its names) and a language (ISO 639-3)."""
        dataset = self.dataset(name)
        return next((pair for pair in dataset.pairs if pair.lang == lang), None) if dataset else None


@cache
def paper_study() -> Study:
    """The study of the HUME paper.

    >>> len(paper_study().datasets), len(paper_study().pairs), len(paper_study().models)
    (16, 26, 13)
    """
    import tomllib

    text = files(__package__ or "").joinpath("study.toml").read_text("utf-8")
    table = tomllib.loads(text)
    return Study(
        datasets=tuple(_dataset(row) for row in table["dataset"]),
        models=tuple(Model(**row) for row in table["model"]),
        human=table["human"],
        human_revision=table["human_revision"],
        source=table["source"],
    )


def _dataset(row: Mapping[str, object]) -> Dataset:
    items = cast(Mapping[str, int], row["items"])
    family, name = cast(Family, row["family"]), str(row["name"])
    group = MULTILINGUAL if set(items) - {"eng"} else ENGLISH_ONLY
    return Dataset(
        name=name,
        task=str(row["task"]),
        family=family,
        metrics=tuple(cast(list[str], row["metrics"])),
        # Two people read every English item, one every other: spec hume, section 3.
        pairs=tuple(
            Pair(name, lang, family, n, 2 if lang == "eng" else 1, group, _flags(row, lang))
            for lang, n in sorted(items.items())
        ),
        aliases=tuple(cast(list[str], row.get("aliases", []))),
    )


def _flags(row: Mapping[str, object], lang: str) -> tuple[str, ...]:
    found = (*cast(list[str], row.get("flags", [])), *cast(list[str], row.get(f"flags_{lang}", [])))
    return tuple(found)


@cache
def _by_name(study: Study) -> Mapping[str, Dataset]:
    return {
        name.lower(): dataset
        for dataset in study.datasets
        for name in (*dataset.aliases, dataset.task, dataset.name)
    }


_AS_IN_THE_STUDY = {"arb": "ara", "cmn": "zho", "no": "nob", "nor": "nob"}


def iso_639_3(code: str) -> str:
    """The three letters of ISO 639-3 that HUME's tables use; a script or region behind the code is left out.

    Arabic is always `ara` (also where a file says `arb`, its standard form), Norwegian always `nob`: the study's
    Norwegian is Bokmål. A code that is not known stays as it is, in small letters. Source: spec hume, trap T9.

    >>> [iso_639_3(code) for code in ("no", "nor", "arb_Arab", "eng-Latn", "da", "RU", "swa")]
    ['nob', 'nob', 'ara', 'eng', 'dan', 'rus', 'swa']
    """
    from langcodes import Language

    first = re.split(r"[-_]", code.strip())[0].lower()
    try:
        return _AS_IN_THE_STUDY.get(first) or Language.make(language=first).to_alpha3()
    except LookupError:
        return first


def plain(score: float) -> float:
    """Once (tables 2, 4-7 and 10-12).

    >>> plain(0.6805146)
    68.1
    """
    return float(f"{score * 100:.1f}")


def fraction_first(score: float) -> float:
    """The fraction to four decimals, then the points to one (table 1), so that 68.0515 becomes 68.0 by way of 68.05.

    >>> fraction_first(0.680515), fraction_first(0.92254)
    (68.0, 92.2)
    """
    return float(f"{round(score, 4) * 100:.1f}")


def percent_first(score: float) -> float:
    """The points to two decimals, then half up to one (table 8).

    >>> percent_first(0.67545), percent_first(0.8125)
    (67.6, 81.3)
    """
    points = Decimal(str(round(score * 100, 2)))
    return float(points.quantize(Decimal("0.1"), rounding=ROUND_HALF_UP))
