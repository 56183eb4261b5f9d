"""One row per pair: people with interval, the best model, and how far the scores can be trusted."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from embassay.protocols.hume.published.paper import Pair, Study, paper_study
from embassay.protocols.hume.published.result_files import Evaluation, of_human
from embassay.protocols.hume.published.standings import (
    Correlation,
    Standing,
    by_pair,
    correlated,
    score_matrix,
    standings,
)
from embassay.protocols.hume.scoring.people import OneAnnotator, human_interval, is_outside
from embassay.protocols.hume.study import Family
from embassay.protocols.kernel.tables import Column, ColumnTable
from embassay.stats.intervals import Estimate

AGREEMENT_METRIC: dict[Family, str] = {
    "classification": "kappa", "clustering": "ARI", "reranking": "rho", "sts": "rho"
}  # fmt: skip


@dataclass(frozen=True)
class PairSummary:
    """`annotators` are the scores of single people (one: the pair's own score), `agreement` None for one annotator.

    `outside` says whether the best model lies outside the interval, on unrounded values; None without an interval. The
    paper prints it as p < .05; it is not a test: the model's uncertainty plays no part (spec hume, ambiguity 13).
    """

    standing: Standing
    interval: Estimate
    annotators: tuple[float, ...]
    agreement: float | None
    agreement_metric: str
    outside: bool | None

    @property
    def pair(self) -> Pair:
        """The pair it is of."""
        return self.standing.pair

    @property
    def total_annotations(self) -> int:
        """Items times annotators."""
        return self.pair.n_items * len(self.annotators)


def pair_summaries(
    evaluations: Iterable[Evaluation], study: Study | None = None, *, one_annotator: OneAnnotator = "wilson"
) -> tuple[PairSummary, ...]:
    """The rows of table 8, in its order; `one_annotator` as `human_interval` takes it.

    DataError as `score_matrix`. Source: spec hume 7; FINDINGS, HUME 5 and 6.
    """
    study, every = study or paper_study(), list(evaluations)
    human = by_pair(of_human(every, study))
    return tuple(
        _summary(standing, human[standing.pair.dataset, standing.pair.lang], one_annotator)
        for standing in standings(score_matrix(every, study))
    )


def agreement_against_gap(summaries: Sequence[PairSummary]) -> Correlation:
    """Agreement of people against best model minus people, over the pairs that have an agreement.

    Below 0: models stand above people where people agree least. Ours, not the paper's. Source: spec hume, section 8.
    """
    known = [(one.agreement, -one.standing.gap()) for one in summaries if one.agreement is not None]
    return correlated([agreement for agreement, _ in known], [lead for _, lead in known])


def _summary(standing: Standing, human: Evaluation, one_annotator: OneAnnotator) -> PairSummary:
    # A file lists annotators only where there are several.
    annotators = human.per_experiment if len(human.per_experiment) > 1 else (standing.human,)
    interval = _interval(standing, annotators, one_annotator)
    agreement = human.headline_agreement
    return PairSummary(
        standing=standing,
        interval=interval,
        annotators=annotators,
        agreement=agreement,
        agreement_metric=AGREEMENT_METRIC[standing.pair.family] if agreement is not None else "",
        outside=is_outside(standing.best, interval),
    )


def _interval(standing: Standing, annotators: Sequence[float], one_annotator: OneAnnotator) -> Estimate:
    pair = standing.pair
    if pair.n_items < 1:
        return Estimate(standing.human, math.nan, math.nan, 0, "none: the number of items is not known")
    return human_interval(pair.family, standing.human, annotators, pair.n_items, one_annotator=one_annotator)


Trust = Literal["low", "medium", "high"]
_LIMITS: dict[Family, tuple[float, float]] = {
    "classification": (0.4, 0.6), "clustering": (0.4, 0.6), "reranking": (0.6, 0.7), "sts": (0.6, 0.7)
}  # fmt: skip
"""Below the first agreement is low, above the second high. Those of ARI are ours (spec hume, section 8)."""
ADVICE = "Improve the task or drop it."


@dataclass(frozen=True)
class Quality:
    """`trust` is None for one annotator. `superhuman_on_noise`: agreement is low and the best model is above the
    interval of people, so that it may have learned labels that people do not share."""

    summary: PairSummary
    trust: Trust | None
    superhuman_on_noise: bool


def trust(family: Family, agreement: float | None) -> Trust | None:
    """Kappa and ARI: low below 0.4, high above 0.6. Correlations: low below 0.6, high above 0.7. Else medium.

    None where there is no agreement. Source: spec hume, section 8.

    >>> trust("classification", 0.39), trust("sts", 0.58), trust("reranking", 0.7), trust("sts", None)
    ('low', 'low', 'medium', None)
    """
    if agreement is None:
        return None
    low, high = _LIMITS[family]
    return "low" if agreement < low else "high" if agreement > high else "medium"


def qualities(summaries: Sequence[PairSummary]) -> tuple[Quality, ...]:
    """The quality of every pair, in order."""
    return tuple(_quality(one) for one in summaries)


def _quality(one: PairSummary) -> Quality:
    found = trust(one.pair.family, one.agreement)
    return Quality(one, found, found == "low" and one.standing.best > one.interval.high)


def quality_table(qualities: Sequence[Quality]) -> ColumnTable:
    """Table `quality_flags`: agreement in words, models above people who disagree, and what to do."""
    rows = tuple(
        (
            one.summary.pair.family, one.summary.pair.dataset, one.summary.pair.lang, one.summary.agreement_metric,
            one.summary.agreement, one.trust or "", int(one.superhuman_on_noise), ADVICE if one.trust == "low" else "",
        )
        for one in qualities
    )  # fmt: skip
    columns = (
        *(Column(name, "text") for name in ("family", "dataset", "lang", "iaa_metric")), Column("iaa"),
        Column("agreement", "text"), Column("superhuman_on_noise", decimals=0), Column("advice", "text"),
    )  # fmt: skip
    note = "Agreement takes two annotators; it is empty for one."
    return ColumnTable("quality_flags", "HUME: how far scores can be trusted", columns, rows, note)
