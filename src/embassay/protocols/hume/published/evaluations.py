"""What result files say of one system on one subset of one dataset."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from embassay.protocols.hume.published.study import Study

if TYPE_CHECKING:
    import polars as pl

MAIN = "main_score"
_PRIMARY = ("accuracy", "v_measure", "map", "spearman")
_AGREEMENT = ("value", "mean_spearman")


@dataclass(frozen=True)
class Evaluation:
    """The scores of a system, fractions 0 to 1 (correlations -1 to 1; NaN where a file says so).

    `dataset` is the study's name, or the task's where it is not of the study. `experiments` are the metrics of single
    annotators (people) or of single repeats (models). `agreement` holds the numbers of the agreement block, and
    `agreement_metric` their name where the file gives one. `simulated`: scripts stood in for people.
    """

    system: str
    revision: str
    dataset: str
    lang: str
    subset: str
    main_score: float
    metrics: Mapping[str, float] = field(default_factory=dict)
    experiments: tuple[Mapping[str, float], ...] = ()
    agreement: Mapping[str, float] = field(default_factory=dict)
    agreement_metric: str = ""
    simulated: bool = False

    @property
    def short(self) -> str:
        """The system's name without its owner."""
        return self.system.rpartition("/")[2]

    @property
    def headline_agreement(self) -> float | None:
        """Kappa, ARI or the mean Spearman between annotators; None where one person annotated."""
        return next((self.agreement[name] for name in _AGREEMENT if name in self.agreement), None)

    @property
    def per_experiment(self) -> tuple[float, ...]:
        """The primary metric of every annotator or repeat."""
        found = (
            next((one[name] for name in (MAIN, *_PRIMARY) if name in one), None) for one in self.experiments
        )
        return tuple(value for value in found if value is not None)


def of_human(evaluations: Iterable[Evaluation], study: Study) -> list[Evaluation]:
    """The evaluations of people in the revision that the paper used."""
    return [one for one in evaluations if (one.system, one.revision) == (study.human, study.human_revision)]


def long_frame(evaluations: Iterable[Evaluation]) -> pl.DataFrame:
    """One row per number: system, revision, dataset, subset, lang, kind, experiment, metric, value.

    `kind` is score, experiment (an annotator or a repeat, numbered from 0 in `experiment`) or agreement. NaN is null.
    """
    import polars as pl

    schema = {
        **dict.fromkeys(("system", "revision", "dataset", "subset", "lang", "kind"), pl.String),
        "experiment": pl.Int64, "metric": pl.String, "value": pl.Float64,
    }  # fmt: skip
    rows = [row for one in evaluations for row in _rows(one)]
    return pl.DataFrame(rows, schema=schema, orient="row")


def _rows(one: Evaluation) -> Iterable[tuple[str | int | float | None, ...]]:
    key = (one.system, one.revision, one.dataset, one.subset, one.lang)
    parts: list[tuple[str, int | None, Mapping[str, float]]] = [
        ("score", None, {**one.metrics, MAIN: one.main_score}),
        *(("experiment", i, metrics) for i, metrics in enumerate(one.experiments)),
        ("agreement", None, one.agreement),
    ]
    for kind, number, metrics in parts:
        for metric, value in metrics.items():
            yield (*key, kind, number, metric, None if math.isnan(value) else value)
