"""What follows from all pairs together: places, wins, and the headlines that comparisons and gates take."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, get_args

import numpy as np

from embassay.protocols.hume.published.standings import (
    HUMAN,
    ModelAndPeopleScores,
    PeopleAmongModelsOnPair,
    SpearmanCorrelation,
    agreement_against_gap,
    count_people_wins_by_group,
    rank_people_on_every_pair,
)
from embassay.protocols.hume.published.standings import rank_models_by_mean_score as ranked_places
from embassay.protocols.hume.record import By, DatasetLanguageRecord, PeopleWinCount, SystemKind, SystemMeanAndRank
from embassay.protocols.hume.results.contestants import StudyEvaluationPlan, make_empty_estimate
from embassay.protocols.hume.scoring import MAIN
from embassay.protocols.hume.study import FAMILIES
from embassay.protocols.kernel.comparisons import (
    ALPHA,
    CLASSICAL,
    CORRECTION,
    METHOD,
    OVERALL,
    RANKED,
    SystemHeadlineValue,
    SystemStanding,
    average_headline_components,
    compare_headlines_of_all_systems,
)
from embassay.runs.folder import CellRecord
from embassay.stats import Estimate, bootstrap_ci

__all__ = [
    "ComparedSystem",
    "build_human_score_matrix",
    "convert_spearman_to_estimate_or_reason",
    "correlate_agreement_with_gap",
    "count_people_wins",
    "has_score_on_every_pair",
    "keep_pairs_with_human_score",
    "rank_systems_by_mean",
]

FEWEST_PAIRS = 10
"""Pairs from which on a mean over them gets an interval."""


@dataclass(frozen=True)
class ComparedSystem:
    """A system of the run. Those that are `ranked` are compared with people in places, wins, best and median; the
    others stand beside, for the reason in `why_not`."""

    system: str
    kind: SystemKind
    parameters_millions: float | None = None
    ranked: bool = True
    why_not: str = ""


def keep_pairs_with_human_score(pairs: Sequence[DatasetLanguageRecord]) -> tuple[DatasetLanguageRecord, ...]:
    """The pairs that have a human score."""
    return tuple(pair for pair in pairs if pair.human.value is not None)


def has_score_on_every_pair(pairs: Sequence[DatasetLanguageRecord], system: str) -> bool:
    """Whether the system has a score on every pair that people have one on."""
    return None not in [_find_score_on_pair(pair, system) for pair in keep_pairs_with_human_score(pairs)]


def build_human_score_matrix(
    pairs: Sequence[DatasetLanguageRecord], contenders: Sequence[ComparedSystem]
) -> ModelAndPeopleScores:
    """People and the ranked systems that are whole, over the pairs with a human score."""
    held = keep_pairs_with_human_score(pairs)
    names = tuple(row.system for row in contenders if row.ranked and has_score_on_every_pair(pairs, row.system))
    values = np.array([[_find_score_on_pair(pair, name) for pair in held] for name in names], dtype=np.float64)
    human = np.array([pair.human.value for pair in held], dtype=np.float64)
    return ModelAndPeopleScores(held, names, values.reshape(len(names), len(held)), human)


def rank_systems_by_mean(
    pairs: Sequence[DatasetLanguageRecord], contenders: Sequence[ComparedSystem], seed: int
) -> tuple[SystemMeanAndRank, ...]:
    """People and systems by their mean over the pairs with a human score, best first; then the others, unranked."""
    held = keep_pairs_with_human_score(pairs)
    if not held:
        return ()
    matrix = build_human_score_matrix(pairs, contenders)
    rows = {HUMAN: matrix.human} | dict(zip(matrix.models, matrix.values, strict=True))
    by_name = {contender.system: contender for contender in contenders}
    first = [
        SystemMeanAndRank(
            system=place.system, kind=by_name[place.system].kind if place.system in by_name else "human",
            mean=_estimate_mean_with_interval(rows[place.system].tolist(), seed), rank=place.rank,
            parameters_millions=by_name[place.system].parameters_millions if place.system in by_name else None,
        )
        for place in ranked_places(matrix)
    ]  # fmt: skip
    rest = [_make_unranked_place(held, contender, seed) for contender in contenders if contender.system not in rows]
    return (*first, *sorted(rest, key=lambda place: -(place.mean.value if place.mean.value is not None else -9)))


def count_people_wins(matrix: ModelAndPeopleScores) -> tuple[PeopleWinCount, ...]:
    """In how many pairs people are strictly above the models' best, median and mean; empty without a model."""
    ranks = _rank_people_if_models(matrix)
    return tuple(wins for by in get_args(By) for wins in count_people_wins_by_group(ranks, by))


def correlate_agreement_with_gap(matrix: ModelAndPeopleScores) -> SpearmanCorrelation:
    """Spearman's correlation of people's agreement and best model minus people, over the pairs that have both."""
    return agreement_against_gap(_rank_people_if_models(matrix))


def _rank_people_if_models(matrix: ModelAndPeopleScores) -> tuple[PeopleAmongModelsOnPair, ...]:
    return rank_people_on_every_pair(matrix) if matrix.models else ()


def convert_spearman_to_estimate_or_reason(correlation: SpearmanCorrelation) -> Estimate:
    """A correlation over pairs; why there is none."""
    if correlation.rho is None:
        few = "fewer than three pairs have both an agreement value and a model"
        return make_empty_estimate(few if correlation.n < 3 else "agreement or lead does not vary", correlation.n)
    return Estimate(value=correlation.rho, n=correlation.n, method="Spearman over pairs, p by the t approximation")


def _estimate_mean_with_interval(values: Sequence[float], seed: int) -> Estimate:
    mean = math.fsum(values) / len(values)
    if len(values) < FEWEST_PAIRS:
        return Estimate(value=mean, n=len(values), method=f"mean over {len(values)} pairs")
    estimate = bootstrap_ci(list(values), seed=seed)
    if estimate.low is None:
        return Estimate(value=mean, n=len(values), method=f"mean; {estimate.method}")
    return Estimate(
        value=mean, low=estimate.low, high=estimate.high, n=len(values), method="mean, bootstrap over pairs"
    )


def _make_unranked_place(
    held: Sequence[DatasetLanguageRecord], contender: ComparedSystem, seed: int
) -> SystemMeanAndRank:
    values = [value for value in (_find_score_on_pair(pair, contender.system) for pair in held) if value is not None]
    lacking = len(held) - len(values)
    reason = f"no score on {lacking} of {len(held)} pairs" if lacking else contender.why_not
    mean = (
        make_empty_estimate(reason, len(values))
        if lacking
        else replace(_estimate_mean_with_interval(values, seed), reason=reason)
    )
    return SystemMeanAndRank(
        system=contender.system,
        kind=contender.kind,
        mean=mean,
        rank=None,
        parameters_millions=contender.parameters_millions,
    )


def _find_score_on_pair(pair: DatasetLanguageRecord, system: str) -> float | None:
    row = pair.find_system_score(system)
    return None if row is None else row.score.value


def list_system_headlines_per_task(
    plan: StudyEvaluationPlan, records: Sequence[CellRecord], contenders: Sequence[ComparedSystem]
) -> tuple[SystemStanding, ...]:
    """Every system's headline on each task, over the tasks of a family, and over all that people annotated."""
    return tuple(
        _list_headlines_by_family(plan, records, [contender for contender in contenders if contender.kind != "llm"])
    )


def compare_systems(every: Sequence[SystemStanding]) -> dict[str, Any]:
    """Which systems the items tell apart, overall and by family, as in comparisons.json.

    Those that another method scored have a scope `NAME:classical` of their own.
    """
    scopes: dict[str, list[SystemHeadlineValue]] = {}
    for standing in every:
        if not standing.dataset:
            name = standing.task if standing.group == RANKED else f"{standing.task}:{standing.group}"
            scopes.setdefault(name, []).append(standing.headline)
    return {
        "alpha": ALPHA, "correction": CORRECTION, "method": METHOD,
        "scopes": {name: compare_headlines_of_all_systems(headlines) for name, headlines in scopes.items()}
    }  # fmt: skip


def _list_headlines_by_family(
    plan: StudyEvaluationPlan, records: Sequence[CellRecord], systems: Sequence[ComparedSystem]
) -> Iterator[SystemStanding]:
    held = {(record.dataset, record.system): record for record in records}
    tasks = [task.task for task in plan.answered if any(task.answers.values())]
    for system in systems:
        group = RANKED if system.ranked else CLASSICAL
        held_ = {
            task.name: _make_headline_value_of_cell(held.get((task.name, system.system)), system.system)
            for task in tasks
        }
        yield SystemStanding(OVERALL, "", OVERALL, _average_headlines_over_tasks(system.system, held_), group)
        for family in FAMILIES:
            of_family = {task.name: held_[task.name] for task in tasks if task.family == family}
            if of_family:
                yield SystemStanding(
                    family, "", MAIN[family], _average_headlines_over_tasks(system.system, of_family), group
                )
            if len(of_family) > 1:
                yield from (
                    SystemStanding(family, name, MAIN[family], headline, group) for name, headline in of_family.items()
                )


def _make_headline_value_of_cell(record: CellRecord | None, system: str) -> SystemHeadlineValue:
    if record is None or not record.done:
        return SystemHeadlineValue.none(system, (record.reason if record else "") or "not run yet")
    headline = record.scores[0]
    component = record.components.get(headline.measure)
    if component is None or component.value is None:
        return SystemHeadlineValue.none(system, headline.reason)
    return SystemHeadlineValue.of(system, component, headline.method)


def _average_headlines_over_tasks(system: str, headlines: Mapping[str, SystemHeadlineValue]) -> SystemHeadlineValue:
    """The mean over tasks; without a value where one of them has none, or where no person has answered any."""
    if not headlines:
        return SystemHeadlineValue.none(system, "no task was answered by a person")
    for name, headline in headlines.items():
        if headline.value is None:
            return SystemHeadlineValue.none(system, f"{name}: {headline.reason}")
    if len(headlines) == 1:
        return next(iter(headlines.values()))
    mean = average_headline_components([headline.component for headline in headlines.values()])
    method = f"mean over {len(headlines)} tasks"
    return SystemHeadlineValue.of(system, mean, method)
