"""Where people stand among the models: per pair, in groups of pairs, and overall."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from embassay.errors import DataError, UsageError
from embassay.protocols.hume.options import OneAnnotator
from embassay.protocols.hume.published.paper import Evaluation, Pair, Study, of_human, paper_study
from embassay.protocols.hume.scoring import human_interval, is_outside
from embassay.protocols.hume.study import Family
from embassay.protocols.kernel.tables import Column, ColumnTable
from embassay.stats.intervals import Estimate

Reference = Literal["best", "median", "mean"]
REFERENCES: tuple[Reference, ...] = ("best", "median", "mean")
Weighting = Literal["pairs", "datasets"]
Difficulty = Literal["easy", "moderate", "hard"]
EASY, HARD = 0.7, 0.5
ROUNDING = 1e-12
"""What the mean of equal scores can differ by from each of them: less is a tie."""


@dataclass(frozen=True)
class PeopleRank:
    """People beside the models on one pair, all fractions. `rank` is 1 + the models strictly above; `sd` is the
    models' standard deviation (population)."""

    pair: Pair
    human: float
    best: float
    best_model: str
    median: float
    mean: float
    worst: float
    sd: float
    rank: int
    n_models: int

    def reference(self, name: Reference) -> float:
        """The models' best, median or mean."""
        return {"best": self.best, "median": self.median, "mean": self.mean}[name]

    def gap(self, name: Reference = "best") -> float:
        """Human minus the reference: above 0 people are better."""
        return self.human - self.reference(name)

    def wins(self, name: Reference = "best") -> bool:
        """Whether people are strictly better; a tie is no win."""
        return self.gap(name) > ROUNDING

    @property
    def spread(self) -> float:
        """Best minus worst model: the higher, the less consistent the models are."""
        return self.best - self.worst

    @property
    def position(self) -> float | None:
        """(human - worst) / (best - worst): 0 as the worst model, 1 as the best; None where all models are equal."""
        return (self.human - self.worst) / self.spread if self.spread else None

    @property
    def best_percent_of_human(self) -> float | None:
        """100 x best model / human; None where people scored 0 or below."""
        return percent_of_human(self.best, self.human)

    @property
    def difficulty(self) -> Difficulty:
        """For people: see `pair_difficulty`."""
        return pair_difficulty(self.human)


@dataclass(frozen=True)
class Wins:
    """How many of `pairs` pairs of a group people win against a reference."""

    group: str
    against: Reference
    wins: int
    pairs: int

    @property
    def rate(self) -> float:
        """Share of the pairs won."""
        return self.wins / self.pairs


@dataclass(frozen=True)
class Place:
    """A system, or Human, by its mean over pairs or datasets; `rank` is 1 + those strictly above."""

    system: str
    overall: float
    rank: int


def people_ranks(matrix: Matrix) -> tuple[PeopleRank, ...]:
    """People beside the models, pair by pair. UsageError for no model. Source: spec hume, section 8.

    The best model is the first of equals in the study's order.
    """
    if not matrix.models:
        raise UsageError("There is no model to compare people with.", mend="Give results of a model.")
    return tuple(
        PeopleRank(
            pair=pair,
            human=float(human),
            best=float(x.max()),
            # `argmax` takes the first of equals, which is in the study's order.
            best_model=matrix.models[int(x.argmax())],
            median=float(np.median(x)),
            mean=float(x.mean()),
            worst=float(x.min()),
            sd=float(x.std()),
            rank=1 + int((x > human + ROUNDING).sum()),
            n_models=len(x),
        )
        for pair, human, x in zip(matrix.pairs, matrix.human, matrix.values.T, strict=True)
    )


def win_rates(
    standings: Sequence[PeopleRank], by: Callable[[Pair], str] = lambda _: "all"
) -> tuple[Wins, ...]:
    """Wins against best, median and mean in every group that `by` makes of the pairs, groups as first met.

    Source: spec hume, section 8; figure 12.
    """
    groups = dict.fromkeys(by(standing.pair) for standing in standings)
    return tuple(
        Wins(group, name, sum(rank.wins(name) for rank in of_group), len(of_group))
        for group in groups
        for of_group in ([standing for standing in standings if by(standing.pair) == group],)
        for name in REFERENCES
    )


def rank_places(matrix: Matrix, weighting: Weighting = "pairs") -> tuple[Place, ...]:
    """Models and Human by their mean, best first; equals share a rank.

    Over all `pairs`, as the paper; or over `datasets`, each first over its languages, which ranks people lower.
    Source: spec hume, section 8 and ambiguity 14.
    """
    means = matrix.means() if weighting == "pairs" else _means_of_datasets(matrix)
    ranked = sorted(means.items(), key=lambda item: -item[1])
    return tuple(
        Place(system, mean, 1 + sum(other > mean + ROUNDING for other in means.values()))
        for system, mean in ranked
    )


def _means_of_datasets(matrix: Matrix) -> dict[str, float]:
    names = dict.fromkeys(pair.dataset for pair in matrix.pairs)
    by_dataset = [matrix.means(_of_dataset(name)) for name in names]
    return {system: float(np.mean([means[system] for means in by_dataset])) for system in by_dataset[0]}


def _of_dataset(name: str) -> Callable[[Pair], bool]:
    return lambda pair: pair.dataset == name


def pair_difficulty(human: float) -> Difficulty:
    """Easy from 0.7, hard below 0.5, moderate between. Source: spec hume, section 8 and ambiguity 19.

    >>> pair_difficulty(0.7), pair_difficulty(0.5), pair_difficulty(0.49)
    ('easy', 'moderate', 'hard')
    """
    return "easy" if human >= EASY else "moderate" if human >= HARD else "hard"


def percent_of_human(score: float, human: float) -> float | None:
    """100 x score / human; None where people scored 0 or below, and a share means nothing.

    >>> round(percent_of_human(0.85, 22 / 48), 1)
    185.5
    """
    return 100 * score / human if human > 0 else None


HUMAN = "Human"


@dataclass(frozen=True)
class Matrix:
    """`values` (models, pairs) and `human` (pairs,), fractions. Models go by short names; people are none of them."""

    pairs: tuple[Pair, ...]
    models: tuple[str, ...]
    values: NDArray[np.float64]
    human: NDArray[np.float64]

    def where(self, wanted: Callable[[Pair], bool]) -> NDArray[np.int64]:
        """The positions of the pairs that are wanted."""
        return np.array([i for i, pair in enumerate(self.pairs) if wanted(pair)], dtype=np.int64)

    def means(self, wanted: Callable[[Pair], bool] = lambda _: True) -> dict[str, float]:
        """The unweighted mean over the wanted pairs of every model, and of Human last; NaN over none."""
        # A mean over no pair is not 0.
        at = self.where(wanted)
        if not len(at):
            return dict.fromkeys((*self.models, HUMAN), math.nan)
        every = np.vstack([self.values, self.human])[:, at].mean(axis=1)
        return dict(zip((*self.models, HUMAN), every.tolist(), strict=True))


def score_matrix(evaluations: Iterable[Evaluation], study: Study | None = None) -> Matrix:
    """The main scores of the study's models and people over its pairs; other systems and subsets are left out.

    DataError where a model of the study, or the people in the paper's revision, lack a pair or have it twice: a mean
    over fewer pairs would not compare. Source: spec hume 5 and 13.
    """
    study, every = study or paper_study(), list(evaluations)
    groups = {
        model.short: [evaluation for evaluation in every if evaluation.system == model.name]
        for model in study.models
    }
    groups[HUMAN] = of_human(every, study)
    rows = {name: _matrix_row(name, own, study.pairs) for name, own in groups.items()}
    human = rows.pop(HUMAN)
    values = np.array(list(rows.values())).reshape(len(rows), len(study.pairs))
    return Matrix(study.pairs, tuple(rows), values, np.array(human))


def other_systems(evaluations: Iterable[Evaluation], study: Study | None = None) -> list[str]:
    """The systems that are not of the study, which never take part in best, median, mean or rank; sorted."""
    study = study or paper_study()
    named = {study.human, *(model.name for model in study.models)}
    return sorted({evaluation.system for evaluation in evaluations} - named)


def by_pair(evaluations: Iterable[Evaluation]) -> Mapping[tuple[str, str], Evaluation]:
    """Evaluations of one system by dataset and language. DataError where two are of the same pair."""
    pairs: dict[tuple[str, str], Evaluation] = {}
    for evaluation in evaluations:
        earlier = pairs.setdefault((evaluation.dataset, evaluation.lang), evaluation)
        if earlier is not evaluation:
            raise DataError(
                f"{evaluation.system} has two results for {evaluation.dataset} ({evaluation.lang})",
                found=f"revisions {earlier.revision} and {evaluation.revision}",
                mend="Keep the results of one revision.",
            )
    return pairs


def _matrix_row(name: str, evaluations: Sequence[Evaluation], pairs: Sequence[Pair]) -> list[float]:
    scores = {key: evaluation.main_score for key, evaluation in by_pair(evaluations).items()}
    missing = [pair.name for pair in pairs if math.isnan(scores.get((pair.dataset, pair.lang), math.nan))]
    if missing:
        raise DataError(
            f"{name} has no score for {len(missing)} of {len(pairs)} pairs, the first {missing[0]}",
            mend="Give results that hold every pair of the study.",
        )
    return [scores[pair.dataset, pair.lang] for pair in pairs]


@dataclass(frozen=True)
class Correlation:
    """Spearman's correlation over `n` pairs, -1 to 1, with the two-sided p of the t approximation; both None where
    either series is constant or there are fewer than three pairs."""

    rho: float | None
    p: float | None
    n: int


def correlate_series(
    x: Sequence[float] | NDArray[np.float64], y: Sequence[float] | NDArray[np.float64]
) -> Correlation:
    """Spearman's correlation of two series of equal length, ties sharing the mean of their ranks.

    >>> correlate_series([1, 2, 3, 4], [2, 4, 6, 9]).rho
    1.0
    """
    # Imported here, because scipy.stats is slow to load; it has the p that `measures.spearman` does not.
    from scipy.stats import spearmanr

    if len(x) < 3 or np.ptp(x) == 0 or np.ptp(y) == 0:
        return Correlation(None, None, len(x))
    test = spearmanr(x, y)
    return Correlation(float(test.statistic), float(test.pvalue), len(x))


AGREEMENT_METRIC: dict[Family, str] = {
    "classification": "kappa", "clustering": "ARI", "reranking": "rho", "sts": "rho"
}  # fmt: skip


@dataclass(frozen=True)
class PairSummary:
    """`annotators` are the scores of single people (one: the pair's own score), `agreement` None for one annotator.

    `outside` says whether the best model lies outside the interval, on unrounded values; None without an interval. The
    paper prints it as p < .05; it is not a test: the model's uncertainty plays no part (spec hume, ambiguity 13).
    """

    standing: PeopleRank
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
        _summarize_pair(standing, human[standing.pair.dataset, standing.pair.lang], one_annotator)
        for standing in people_ranks(score_matrix(every, study))
    )


def agreement_against_gap(summaries: Sequence[PairSummary]) -> Correlation:
    """Agreement of people against best model minus people, over the pairs that have an agreement.

    Below 0: models stand above people where people agree least. Ours, not the paper's. Source: spec hume, section 8.
    """
    known = [(row.agreement, -row.standing.gap()) for row in summaries if row.agreement is not None]
    return correlate_series([agreement for agreement, _ in known], [lead for _, lead in known])


def _summarize_pair(standing: PeopleRank, human: Evaluation, one_annotator: OneAnnotator) -> PairSummary:
    # A file lists annotators only where there are several.
    annotators = human.per_experiment if len(human.per_experiment) > 1 else (standing.human,)
    interval = _pair_interval(standing, annotators, one_annotator)
    agreement = human.headline_agreement
    return PairSummary(
        standing=standing,
        interval=interval,
        annotators=annotators,
        agreement=agreement,
        agreement_metric=AGREEMENT_METRIC[standing.pair.family] if agreement is not None else "",
        outside=is_outside(standing.best, interval),
    )


def _pair_interval(
    standing: PeopleRank, annotators: Sequence[float], one_annotator: OneAnnotator
) -> Estimate:
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


def trust_level(family: Family, agreement: float | None) -> Trust | None:
    """Kappa and ARI: low below 0.4, high above 0.6. Correlations: low below 0.6, high above 0.7. Else medium.

    None where there is no agreement. Source: spec hume, section 8.

    >>> trust_level("classification", 0.39), trust_level("sts", 0.58), trust_level("reranking", 0.7)
    ('low', 'low', 'medium')
    >>> trust_level("sts", None)
    """
    if agreement is None:
        return None
    low, high = _LIMITS[family]
    return "low" if agreement < low else "high" if agreement > high else "medium"


def pair_qualities(summaries: Sequence[PairSummary]) -> tuple[Quality, ...]:
    """The quality of every pair, in order."""
    return tuple(_pair_quality(summary) for summary in summaries)


def _pair_quality(summary: PairSummary) -> Quality:
    level = trust_level(summary.pair.family, summary.agreement)
    return Quality(summary, level, level == "low" and summary.standing.best > summary.interval.high)


def quality_table(qualities: Sequence[Quality]) -> ColumnTable:
    """Table `quality_flags`: agreement in words, models above people who disagree, and what to do."""
    rows = tuple(
        (
            quality.summary.pair.family, quality.summary.pair.dataset, quality.summary.pair.lang,
            quality.summary.agreement_metric, quality.summary.agreement, quality.trust or "",
            int(quality.superhuman_on_noise), ADVICE if quality.trust == "low" else "",
        )
        for quality in qualities
    )  # fmt: skip
    columns = (
        *(Column(name, "text") for name in ("family", "dataset", "lang", "iaa_metric")), Column("iaa"),
        Column("agreement", "text"), Column("superhuman_on_noise", decimals=0), Column("advice", "text")
    )  # fmt: skip
    note = "Agreement takes two annotators; it is empty for one."
    return ColumnTable("quality_flags", "HUME: how far scores can be trusted", columns, rows, note)
