"""Where people stand among the models: per pair, in groups of pairs, and overall."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from embassay.errors import DataError, UsageError
from embassay.protocols.hume.published.paper import (
    PaperDatasetInOneLanguage,
    PublishedEvaluation,
    PublishedStudy,
    load_hume_paper_study,
    select_human_evaluations_by_revision,
)
from embassay.protocols.hume.record import (
    By,
    DatasetLanguageRecord,
    Difficulty,
    PeopleWinCount,
    Reference,
    Summary,
    Trust,
)
from embassay.protocols.hume.study import Family

AnyPair = PaperDatasetInOneLanguage | DatasetLanguageRecord
"""A dataset in one language, as result files or as a record have it."""
REFERENCES: tuple[Reference, ...] = ("best", "median", "mean")
Weighting = Literal["pairs", "datasets"]
# Spec hume 8: easy for people from 0.7 on, hard below 0.5.
EASY, HARD = 0.7, 0.5
ROUNDING = 1e-12
"""What the mean of equal scores can differ by from each of them: less is a tie."""


@dataclass(frozen=True)
class PeopleAmongModelsOnPair:
    """People beside the models on one pair, all fractions. `best_model` is the first of equals in the study's order,
    `rank` is 1 + the models strictly above; `sd` is the models' standard deviation (population)."""

    pair: AnyPair
    human: float
    best: float
    best_model: str
    median: float
    mean: float
    worst: float
    sd: float
    rank: int
    n_models: int

    def gap(self, reference: Reference = "best") -> float:
        """People's score minus the models' best, median or mean: above 0 people are better."""
        return self.human - float(getattr(self, reference))

    def people_beat_models(self, reference: Reference = "best") -> bool:
        """Whether people win: they score strictly above the models; a tie is no win."""
        return self.gap(reference) > ROUNDING

    @property
    def spread(self) -> float:
        """The best minus the worst model's score: the higher, the less consistent the models."""
        return self.best - self.worst

    @property
    def position(self) -> float | None:
        """People's place between the models: 0 as the worst, 1 as the best; None if all are equal."""
        return (self.human - self.worst) / self.spread if self.spread else None

    @property
    def best_percent_of_human(self) -> float | None:
        """100 x best model / human; None where people scored 0 or below."""
        return percent_of_human(self.best, self.human)

    @property
    def people_difficulty(self) -> Difficulty:
        """How hard the pair is for people, by `name_pair_difficulty_for_people`."""
        return name_pair_difficulty_for_people(self.human)

    @property
    def people_agreement(self) -> float | None:
        """How well people agree, by the record of the pair; None where that is not known."""
        return self.pair.agreement_value if isinstance(self.pair, DatasetLanguageRecord) else None


@dataclass(frozen=True)
class SystemRankByMean:
    """A system, or Human, by its mean over pairs or datasets; `rank` is 1 + those strictly above."""

    system: str
    overall: float
    rank: int


def rank_people_on_every_pair(matrix: ModelAndPeopleScores) -> tuple[PeopleAmongModelsOnPair, ...]:
    """People beside the models, pair by pair. UsageError for no model. Source: spec hume, section 8."""
    if not matrix.models:
        raise UsageError("There is no model to compare people with.", mend="Pass results of at least one model.")
    columns = zip(matrix.pairs, matrix.human.tolist(), matrix.values.T.tolist(), strict=True)
    return tuple(
        rank_people_on_pair(pair, human, dict(zip(matrix.models, scores, strict=True)))
        for pair, human, scores in columns
    )


def rank_people_on_pair(pair: AnyPair, human: float, scores: Mapping[str, float]) -> PeopleAmongModelsOnPair:
    """People beside the `scores` of the models on a pair."""
    x = np.array(list(scores.values()))
    return PeopleAmongModelsOnPair(
        pair=pair, human=human, best=float(x.max()),
        # `max` takes the first of equals, which is in the study's order.
        best_model=max(scores, key=scores.__getitem__), median=float(np.median(x)), mean=float(x.mean()),
        worst=float(x.min()), sd=float(x.std()), rank=1 + int((x > human + ROUNDING).sum()), n_models=len(x),
    )  # fmt: skip


@dataclass(frozen=True)
class PairWithPeopleRank:
    """A pair of the record and people among its models; `standing` is None where people or all models lack a score."""

    pair: DatasetLanguageRecord
    standing: PeopleAmongModelsOnPair | None


def compare_people_with_models(summary: Summary) -> tuple[PairWithPeopleRank, ...]:
    """Compare people with the models on every pair, in the order of the record.

    The models are those that have a rank among the places of the record, which are also those that its wins are
    counted against; all of a pair where the record ranks none.
    """
    ranked = {place.system for place in summary.places if place.rank is not None and place.kind != "human"}
    return tuple(PairWithPeopleRank(pair, _rank_people_among_models(pair, ranked)) for pair in summary.pairs)


def _rank_people_among_models(pair: DatasetLanguageRecord, ranked: Collection[str]) -> PeopleAmongModelsOnPair | None:
    # Who has no rank stands beside: people are not held against it.
    entered = [row for row in pair.list_model_and_llm_scores if row.system in ranked] if ranked else pair.models
    scores = {row.system: row.score.value for row in entered if row.score.value is not None}
    human = pair.human.value
    return rank_people_on_pair(pair, human, scores) if scores and human is not None else None


def count_people_wins_by_group(ranks: Sequence[PeopleAmongModelsOnPair], by: By = "all") -> tuple[PeopleWinCount, ...]:
    """Wins against best, median and mean in every group of the pairs, groups as first met.

    Source: spec hume, section 8; figure 12.
    """
    groups: dict[str, list[PeopleAmongModelsOnPair]] = {}
    for rank in ranks:
        groups.setdefault("all" if by == "all" else getattr(rank.pair, by), []).append(rank)
    rates = []
    for group, own in groups.items():
        for reference in REFERENCES:
            wins = sum(rank.people_beat_models(reference) for rank in own)
            rates.append(PeopleWinCount(by=by, group=group, reference=reference, wins=wins, pairs=len(own)))
    return tuple(rates)


def rank_models_by_mean_score(
    matrix: ModelAndPeopleScores, weighting: Weighting = "pairs"
) -> tuple[SystemRankByMean, ...]:
    """Models and Human by their mean, best first; equals share a rank.

    Over all `pairs`, as the paper; or over `datasets`, each first over its languages, which ranks people lower.
    Source: spec hume, section 8 and ambiguity 14.
    """
    means = matrix.average_scores_over_pairs() if weighting == "pairs" else _average_dataset_means_by_system(matrix)
    ranked = sorted(means.items(), key=lambda item: -item[1])
    return tuple(
        SystemRankByMean(system, mean, 1 + sum(other > mean + ROUNDING for other in means.values()))
        for system, mean in ranked
    )


def _average_dataset_means_by_system(matrix: ModelAndPeopleScores) -> dict[str, float]:
    names = dict.fromkeys(pair.dataset for pair in matrix.pairs)
    by_dataset = [matrix.average_scores_over_pairs(_make_dataset_filter(name)) for name in names]
    return {system: float(np.mean([means[system] for means in by_dataset])) for system in by_dataset[0]}


def _make_dataset_filter(name: str) -> Callable[[AnyPair], bool]:
    return lambda pair: pair.dataset == name


def name_pair_difficulty_for_people(human: float) -> Difficulty:
    """Name a pair's difficulty for people: easy from 0.7, hard below 0.5, else moderate.

    >>> name_pair_difficulty_for_people(0.7), name_pair_difficulty_for_people(
    ...     0.5), name_pair_difficulty_for_people(0.49)
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
class ModelAndPeopleScores:
    """The scores of models (models, pairs) and of people (pairs,), as fractions."""

    pairs: Sequence[AnyPair]
    models: tuple[str, ...]
    values: NDArray[np.float64]
    human: NDArray[np.float64]

    def where(self, wanted: Callable[[AnyPair], bool]) -> NDArray[np.int64]:
        """The positions of the pairs that a condition selects."""
        return np.array([i for i, pair in enumerate(self.pairs) if wanted(pair)], dtype=np.int64)

    def average_scores_over_pairs(self, wanted: Callable[[AnyPair], bool] = lambda _: True) -> dict[str, float]:
        """Average every model's and last people's scores over the wanted pairs; NaN over none."""
        # A mean over no pair is not 0.
        at = self.where(wanted)
        if not len(at):
            return dict.fromkeys((*self.models, HUMAN), math.nan)
        every = np.vstack([self.values, self.human])[:, at].mean(axis=1)
        return dict(zip((*self.models, HUMAN), every.tolist(), strict=True))

    def add_models_to_score_matrix(self, rows: Mapping[str, Sequence[float]]) -> ModelAndPeopleScores:
        """Add the scores of further models to the matrix."""
        values = np.vstack([self.values, *(np.array([row]) for row in rows.values())])
        return replace(self, models=(*self.models, *rows), values=values)


def build_score_matrix(
    evaluations: Iterable[PublishedEvaluation], study: PublishedStudy | None = None
) -> ModelAndPeopleScores:
    """The main scores of the study's models and people over its pairs; other systems and subsets are left out.

    DataError where a model of the study, or the people in the paper's revision, lack a pair or have it twice: a mean
    over fewer pairs would not compare. Source: spec hume 5 and 13.
    """
    study, every = study or load_hume_paper_study(), list(evaluations)
    groups = {
        model.short: [evaluation for evaluation in every if evaluation.system == model.name] for model in study.models
    }
    groups[HUMAN] = select_human_evaluations_by_revision(every, study)
    rows = {name: _list_system_scores_on_all_pairs(name, own, study.pairs) for name, own in groups.items()}
    human = rows.pop(HUMAN)
    values = np.array(list(rows.values())).reshape(len(rows), len(study.pairs))
    return ModelAndPeopleScores(study.pairs, tuple(rows), values, np.array(human))


def list_systems_outside_study(
    evaluations: Iterable[PublishedEvaluation], study: PublishedStudy | None = None
) -> list[str]:
    """The systems that are not of the study, which never take part in best, median, mean or rank; sorted."""
    study = study or load_hume_paper_study()
    named = {study.human, *(model.name for model in study.models)}
    return sorted({evaluation.system for evaluation in evaluations} - named)


def index_evaluations_by_pair(
    evaluations: Iterable[PublishedEvaluation],
) -> Mapping[tuple[str, str], PublishedEvaluation]:
    """Evaluations of one system by dataset and language. DataError where two are of the same pair."""
    pairs: dict[tuple[str, str], PublishedEvaluation] = {}
    for evaluation in evaluations:
        earlier = pairs.setdefault((evaluation.dataset, evaluation.lang), evaluation)
        if earlier is not evaluation:
            raise DataError(
                f"{evaluation.system} has two results for {evaluation.dataset} ({evaluation.lang})",
                found=f"revisions {earlier.revision} and {evaluation.revision}",
                mend="Keep the results of only one revision.",
            )
    return pairs


def _list_system_scores_on_all_pairs(
    name: str, evaluations: Sequence[PublishedEvaluation], pairs: Sequence[PaperDatasetInOneLanguage]
) -> list[float]:
    scores = {key: evaluation.main_score for key, evaluation in index_evaluations_by_pair(evaluations).items()}
    missing = [pair.name for pair in pairs if math.isnan(scores.get((pair.dataset, pair.lang), math.nan))]
    if missing:
        raise DataError(
            f"{name} has no score for {len(missing)} of {len(pairs)} pairs (first: {missing[0]})",
            mend="Pass results that cover every pair in the study.",
        )
    return [scores[pair.dataset, pair.lang] for pair in pairs]


@dataclass(frozen=True)
class SpearmanCorrelation:
    """Spearman's correlation over `n` pairs, -1 to 1, with the two-sided p of the t approximation; both None where
    either series is constant or there are fewer than three pairs."""

    rho: float | None
    p: float | None
    n: int


def compute_spearman_correlation(
    x: Sequence[float] | NDArray[np.float64], y: Sequence[float] | NDArray[np.float64]
) -> SpearmanCorrelation:
    """Spearman's correlation of two series of equal length, ties sharing the mean of their ranks.

    >>> compute_spearman_correlation([1, 2, 3, 4], [2, 4, 6, 9]).rho
    1.0
    """
    # Imported here, because scipy.stats is slow to load; it has the p that `measures.spearman` does not.
    from scipy.stats import spearmanr

    if len(x) < 3 or np.ptp(x) == 0 or np.ptp(y) == 0:
        return SpearmanCorrelation(None, None, len(x))
    test = spearmanr(x, y)
    return SpearmanCorrelation(float(test.statistic), float(test.pvalue), len(x))


def agreement_against_gap(ranks: Sequence[PeopleAmongModelsOnPair]) -> SpearmanCorrelation:
    """Spearman's correlation of people's agreement with best model minus people, over pairs.

    Below 0: models are above people where people agree least. Ours, not the paper's. Source: spec hume, section 8.
    """
    known = [(rank.people_agreement, -rank.gap()) for rank in ranks if rank.people_agreement is not None]
    return compute_spearman_correlation([agreement for agreement, _ in known], [lead for _, lead in known])


AGREEMENT_METRIC: dict[Family, str] = {
    "classification": "kappa", "clustering": "ARI", "reranking": "rho", "sts": "rho"
}  # fmt: skip
_LIMITS: dict[Family, tuple[float, float]] = {
    "classification": (0.4, 0.6), "clustering": (0.4, 0.6), "reranking": (0.6, 0.7), "sts": (0.6, 0.7)
}  # fmt: skip
"""Below the first agreement is low, above the second high. Those of ARI are ours (spec hume, section 8)."""
ADVICE = "Improve the task or drop it."


def agreement_trust_level(family: Family, agreement: float | None) -> Trust | None:
    """How far an agreement can be trusted, low, medium or high, by the family's coefficient.

    None where there is no agreement. Source: spec hume, section 8.

    >>> (agreement_trust_level("classification", 0.39), agreement_trust_level("sts", 0.58),
    ... agreement_trust_level("reranking", 0.7))
    ('low', 'low', 'medium')
    >>> agreement_trust_level("sts", None)
    """
    if agreement is None:
        return None
    low, high = _LIMITS[family]
    return "low" if agreement < low else "high" if agreement > high else "medium"
