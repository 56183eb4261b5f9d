"""One row of table 8 per pair: people with interval and agreement, the best model, and whether it lies outside."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from embassay.protocols.hume.published.correlated import Correlation, correlated
from embassay.protocols.hume.published.evaluations import Evaluation, of_human
from embassay.protocols.hume.published.matrix import by_pair, score_matrix
from embassay.protocols.hume.published.standing import Standing, standings
from embassay.protocols.hume.published.study import Pair, Study, paper_study
from embassay.protocols.hume.scoring.interval import OneAnnotator, human_interval, is_outside
from embassay.protocols.hume.study import Family
from embassay.stats.intervals import Estimate

AGREEMENT_METRIC: dict[Family, str] = {
    "classification": "kappa", "clustering": "ARI", "reranking": "rho", "sts": "rho"
}  # fmt: skip


@dataclass(frozen=True)
class PairSummary:
    """`annotators` are the scores of single people (one: the pair's own score), `agreement` None for one annotator.

    `outside` says whether the best model lies outside the interval, on unrounded values; None without an interval. The
    paper prints it as p < .05; it is no test, as the model's own uncertainty plays no part (spec hume, ambiguity 13).
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
