"""What all systems of a run together say: the evidence, the belief that it gives, and rows and tables of both."""

from __future__ import annotations

import json
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, TypeVar

import numpy as np

from embassay.protocols.choose.belief import (
    NUGGET,
    RegretForecastByLabels,
    SignalWeightPosterior,
    SystemScoreBelief,
    SystemSignals,
    Values,
    build_system_signals,
    forecast_regret_by_label_count,
    form_belief_from_signals,
    update_belief_by_questions,
)
from embassay.protocols.choose.options import AS_GOOD, FEW, FOUND, UNLIKELY
from embassay.protocols.choose.questions import (
    BY_MODEL,
    FAMILIES,
    compute_ndcg_of_single_passage,
    compute_nearness_to_first_rank,
)
from embassay.protocols.kernel.tables import ColumnTable, format_percent, number_column, text
from embassay.records import ResultRow

T = TypeVar("T")
CANNOT = "cannot say"
K = 10
CONTENDERS = 4
"""Systems whose disagreement makes a question worth a label."""
MOST_GRADED = 20
"""Questions that are named for grading."""


@dataclass(frozen=True)
class ShippedWeightsWithFitData:
    """The shipped weights, with what they were fitted on."""

    weights: SignalWeightPosterior
    per_question: float
    """Variance of one question's nDCG@10 per unit of disagreement, on the public collections."""
    asked_scale: float
    """How far the nDCG@10 of questions of keywords, taken as it is, lies from that of people's questions: mean square
    per unit of disagreement. Questions by a model, of which nobody knows better, are trusted as little."""
    collections: tuple[str, ...]
    systems: int


@cache
def load_shipped_signal_weights() -> ShippedWeightsWithFitData:
    """The weights of the package: `weights.json`, made by benchmarks/choose_collections.py."""
    plain = json.loads((files("embassay.protocols.choose") / "weights.json").read_text("utf-8"))
    if tuple(plain["signals"]) != FAMILIES:
        raise AssertionError("weights.json was fitted on other signals: fit it again")
    weights = SignalWeightPosterior(
        np.array(plain["weights"]), np.array(plain["covariance"]), float(plain["scale"]), float(plain["freedom"])
    )
    return ShippedWeightsWithFitData(
        weights, float(plain["per_question"]), float(plain["asked_scale"]),
        tuple(plain["collections"]), int(plain["systems"])
    )  # fmt: skip


@dataclass(frozen=True)
class SystemAnswers:
    """What one system answered: the rank of the passage (0: not found) by family and question, nDCG@10 of the user's
    judged questions, and the first ten of every question."""

    ranks: Mapping[str, Mapping[str, int]]
    judged: Mapping[str, float]
    first: Mapping[str, Mapping[str, frozenset[str]]]

    def restrict_to_questions(self, asked: Mapping[str, Container[str]]) -> SystemAnswers:
        """Leave out the questions of these families that are not among those `asked`."""

        def keep_asked_answers(family: str, answers: Mapping[str, T]) -> dict[str, T]:
            return {key: own for key, own in answers.items() if family not in asked or key in asked[family]}

        ranks = {family: keep_asked_answers(family, own) for family, own in self.ranks.items()}
        first = {family: keep_asked_answers(family, own) for family, own in self.first.items()}
        return SystemAnswers(ranks, self.judged, first)

    def map_questions_to_passage_rank(self, families: Mapping[str, str]) -> dict[str, int]:
        """The rank of each question in its family, where it was asked."""
        asked = {question: self.ranks.get(family, {}) for question, family in families.items()}
        return {question: ranks[question] for question, ranks in asked.items() if question in ranks}


@dataclass(frozen=True)
class ChoiceConclusions:
    """All that is concluded on one corpus. `judged` are the user's judged questions, (questions, systems)."""

    dataset: str
    lang: str
    systems: tuple[str, ...]
    evidence: SystemSignals
    belief: SystemScoreBelief
    tolerance: float
    questions: int
    judged: Values
    written: Values
    """nDCG@10 of the questions that a model wrote, (questions, systems)."""
    labels: RegretForecastByLabels
    """What judged questions more would bring."""
    missing: tuple[str, ...] = ()

    @property
    def is_choice_sure(self) -> bool:
        """Whether the expected regret of the pick is within the tolerance, and enough was asked to say so."""
        return not self.lacking and bool(
            self.belief.expected_regrets[self.belief.least_regret_system] <= self.tolerance
        )

    @property
    def lacking(self) -> int:
        """How many more questions must be judged before what is believed can hold."""
        return count_questions_missing_to_minimum(self.evidence, self.questions, len(self.judged))

    @property
    def measure_best_system_recovery(self) -> float:
        """How near the first place the best system finds the passages that sentences were taken out of, 0 to 1."""
        return find_best_recovery_of_shortened_passages(self.evidence)


def find_best_recovery_of_shortened_passages(evidence: SystemSignals) -> float:
    """Of the system that finds the passages best that sentences were taken out of: how near the first place, 0 to 1."""
    return float(evidence.values[:, 0].max())


def count_questions_missing_to_minimum(evidence: SystemSignals, questions: int, judged: int) -> int:
    """How many questions are missing to `FEW`; those about passages count where some system finds these."""
    asked = questions if find_best_recovery_of_shortened_passages(evidence) >= FOUND else 0
    return max(0, FEW - asked - judged)


def measure_system_signals(answers: Sequence[SystemAnswers]) -> SystemSignals:
    """Signals of the systems, and how much these agree. A family that some system lacks, or that the documents don't
    allow, counts as the mean of the others."""
    asked = [_measure_nearness_of_own_passages([answer.ranks.get(name, {}) for answer in answers]) for name in FAMILIES]
    means = [estimate_system_means_despite_gaps(column) for column in asked if len(column)] or [np.zeros(len(answers))]
    signals = [
        estimate_system_means_despite_gaps(column) if len(column) else np.mean(means, axis=0) for column in asked
    ]
    return build_system_signals(signals, measure_top_ten_overlap([answer.first for answer in answers]))


def _measure_nearness_of_own_passages(places: Sequence[Mapping[str, int]]) -> Values:
    """How near the first place each system has the passage of each question, (questions, systems), NaN where it was not
    asked; no question where some system was asked none."""
    questions = dict.fromkeys(question for ranks in places for question in ranks) if all(places) else {}
    ranks = np.array([[own.get(question, -1) for own in places] for question in questions], dtype=int)
    # Without questions the array is flat; its second axis is still the systems.
    ranks = ranks.reshape(len(questions), len(places))
    return np.where(ranks < 0, np.nan, compute_nearness_to_first_rank(ranks))


def estimate_system_means_despite_gaps(values: Values) -> Values:
    """The mean of each system over all questions, (questions, systems) with NaN where one was not asked. What it would
    have had there is as much above or below the others as where it was asked: a system that was asked the easy ones
    alone gains nothing by it.

    >>> estimate_system_means_despite_gaps(np.array([[0.9, 0.8], [0.3, np.nan]])).round(2).tolist()
    [0.6, 0.5]
    """
    asked = ~np.isnan(values)
    level = np.nanmean(values, axis=1)
    above = np.where(asked, values - level[:, None], 0.0).sum(axis=0)
    share = asked / asked.sum(axis=1, keepdims=True)
    # Least squares of an effect for each system and one for each question, of which the latter drop out.
    effects = np.linalg.pinv(np.diag(asked.sum(axis=0)) - asked.T @ share) @ above
    return np.asarray(effects + np.mean(level - share @ effects))


def measure_top_ten_overlap(first: Sequence[Mapping[str, Mapping[str, frozenset[str]]]]) -> Values:
    """The share of the first ten that two systems have in common, over the questions that both were asked: (systems,
    systems), 1 on the diagonal, 0 where there is no such question."""
    n = len(first)
    share = np.eye(n)
    for a in range(n):
        for b in range(a):
            shares = [
                len(ten & other) / max(len(ten), len(other), 1)
                for name in FAMILIES
                for question, ten in first[a].get(name, {}).items()
                if (other := first[b].get(name, {}).get(question)) is not None
            ]
            share[a, b] = share[b, a] = np.mean(shares) if shares else 0.0
    return share


def conclude_best_system_choice(
    dataset: str,
    lang: str,
    answers: Mapping[str, SystemAnswers],
    tolerance: float,
    seed: int,
    missing: Sequence[str] = (),
) -> ChoiceConclusions:
    """What the answers of two systems or more say, with those to the user's judged questions."""
    systems, fit = tuple(answers), load_shipped_signal_weights()
    evidence = measure_system_signals(list(answers.values()))
    belief = form_belief_from_signals(fit.weights, evidence, seed)
    kernel = evidence.agreement + NUGGET * np.eye(len(systems))
    noise = fit.per_question * kernel
    written = _stack_answers_to_shared_questions(
        [_score_model_written_questions(answer) for answer in answers.values()]
    )
    if len(written):
        belief = update_belief_by_questions(belief, written, noise, fit.asked_scale * kernel)
    judged = _stack_answers_to_shared_questions([answer.judged for answer in answers.values()])
    if len(judged):
        belief = update_belief_by_questions(belief, judged, noise)
    questions = max(len(answer.ranks.get("sentence", {})) for answer in answers.values())
    labels = forecast_regret_by_label_count(
        belief, noise, tolerance, count_questions_missing_to_minimum(evidence, questions, len(judged))
    )
    return ChoiceConclusions(
        dataset, lang, systems, evidence, belief, tolerance, questions, judged, written, labels, tuple(missing)
    )


def describe_likely_best(standing: ChoiceConclusions, missing: Sequence[str]) -> str:
    """Describe who may be best of those that have answered, and who has not answered."""
    return f"So far: {_format_chances_of_being_best(standing)}. To come: {', '.join(missing)}."


def describe_further_question_round(standing: ChoiceConclusions, before: int, asked: int) -> str:
    """Announce who may be best after the first passages, and that these are asked about more."""
    chances = _format_chances_of_being_best(standing)
    return f"Undecided after {before} passages: {chances}. Testing the likeliest systems on {asked} passages."


def _format_chances_of_being_best(standing: ChoiceConclusions) -> str:
    order = np.argsort(-standing.belief.best, kind="stable").tolist()
    chances = (f"{standing.systems[row]} ({format_percent(standing.belief.best.item(row))})" for row in order)
    return ", ".join(chances)


def _stack_answers_to_shared_questions(answers: Sequence[Mapping[str, float]]) -> Values:
    """The values of the questions that all systems answered, (questions, systems)."""
    first, *rest = answers
    shared = [question for question in first if all(question in other for other in rest)]
    values = [[answer[question] for answer in answers] for question in shared]
    return np.array(values).reshape(len(shared), len(answers))


def _score_model_written_questions(answers: SystemAnswers) -> dict[str, float]:
    """nDCG@10 of the questions that a model wrote, each about one passage."""
    return {
        question: float(compute_ndcg_of_single_passage(np.array(place if place <= K else 0)))
        for family, places in answers.ranks.items()
        if family.startswith(BY_MODEL)
        for question, place in places.items()
    }


def make_choice_rows(one: ChoiceConclusions, seed: int) -> Iterator[ResultRow]:
    """P(best), P(near the best), expected regret and the difference to the pick of every system, as rows."""
    fit, belief = load_shipped_signal_weights(), one.belief
    near, pick = belief.near(one.tolerance), belief.least_regret_system
    method = f"weights fitted on {len(fit.collections)} public collections, questions from {one.questions} passages"
    if len(one.written):
        method += f", {len(one.written)} questions by a model"
    if len(one.judged):
        method += f", {len(one.judged)} judged questions"
    for place, system in enumerate(one.systems):
        where = ("choose", "choice", one.dataset, "", one.lang, "", system)
        gap = float(belief.mean[place] - belief.mean[pick])
        low, high = belief.interval(place, pick) if place != pick else (None, None)
        values = {
            "p_best": (belief.best[place], None, None),
            "p_near": (near[place], None, None),
            "expected_regret": (belief.expected_regrets[place], None, None),
            "against_pick": (gap, low, high),
        }
        for measure, (value, lower, upper) in values.items():
            yield ResultRow(*where, measure, float(value), one.questions, lower, upper, method, seed, "")


def make_choice_record(one: ChoiceConclusions) -> dict[str, Any]:
    """The choice as comparisons.json has it."""
    belief, pick = one.belief, one.belief.least_regret_system
    # As good as the pick: almost surely within the tolerance of the best.
    near = belief.near(one.tolerance)
    return {
        "pick": one.systems[pick],
        "as_good": [
            name
            for place, name in enumerate(one.systems)
            if place != pick and near[place] >= AS_GOOD and one.is_choice_sure
        ],
        "says": one.systems[pick] if one.is_choice_sure else CANNOT,
        "p_best": float(belief.best[pick]),
        "p_near": float(near[pick]),
        "expected_regret": float(belief.expected_regrets[pick]),
        "enough": not one.lacking,
        "found": one.measure_best_system_recovery,
        "regret_of_random": float(belief.expected_regrets.mean()),
        "tolerance": one.tolerance,
        "labels": one.labels.needed,
        "regret_with_labels": {str(n): value for n, value in one.labels.regrets.items()},
        "chance_with_labels": {str(n): value for n, value in one.labels.chances.items()},
        "judged": len(one.judged),
        "written": len(one.written),
        "questions": one.questions,
        "missing": list(one.missing),
        "trained_on": list(load_shipped_signal_weights().collections),
    }


def make_choice_tables(one: ChoiceConclusions) -> Iterator[ColumnTable]:
    """Make the tables of the systems, the likeliest first, and of what each signal says."""
    belief, near = one.belief, one.belief.near(one.tolerance)
    order = np.argsort(belief.expected_regrets, kind="stable").tolist()
    system = text("system", one.systems.__getitem__)
    ahead = belief.mean - belief.mean[belief.least_regret_system]
    yield ColumnTable.of(
        "choice", "Which system to use", order, system, number_column("P(best)", belief.best.item),
        number_column(f"P(within {one.tolerance:g})", near.item),
        number_column("expected regret", belief.expected_regrets.item, 3),
        number_column("against the pick", ahead.item, 3, "signed"),
        note="Regret is the expected distance below the best nDCG@10. "
        f"Judged questions: {len(one.judged)}."
    )  # fmt: skip
    others = (one.evidence.agreement.sum(axis=0) - 1) / (len(one.systems) - 1)
    signals = [
        number_column(name, values.item, 3) for name, values in zip(FAMILIES, one.evidence.values.T, strict=True)
    ]
    signals.append(number_column("agreement", others.item, 3))
    if len(one.written):
        signals.append(number_column("model's questions", one.written.mean(axis=0).item, 3))
    yield ColumnTable.of(
        "choice_signals", "Signals from the documents alone", order, system, *signals,
        note=("How high each question's passage ranks, from 0 to 1; the share of the top ten that other "
            "systems also retrieve (not used for the choice); and nDCG@10 on questions written by a model."),
    )  # fmt: skip


def find_possible_best_systems(standing: ChoiceConclusions) -> list[str]:
    """The systems that may be the best, the likeliest first: two or more."""
    order = np.argsort(standing.belief.expected_regrets, kind="stable").tolist()
    able = [place for place in order if standing.belief.best[place] >= UNLIKELY]
    return [standing.systems[place] for place in (able if len(able) > 1 else order[:2])]


def list_contending_systems(one: ChoiceConclusions) -> list[str]:
    """The systems whose disagreement makes a question worth a label, the likeliest first: two or more."""
    return find_possible_best_systems(one)[:CONTENDERS]


def rank_deciding_questions(
    answers: Mapping[str, SystemAnswers], one: ChoiceConclusions, readable: Container[str] = ()
) -> list[tuple[str, str, tuple[str, ...]]]:
    """The questions that would tell most: (family, question, passages), those first on which the contenders' first ten
    differ most. They are the user's own while some of them are not judged, else those of a model, else those of the
    documents, of these the `readable` ones (by the passage that asks) where there are any; the passages are the
    contenders'."""
    contenders = [answers[name] for name in list_contending_systems(one)]
    first, *rest = (other.first for other in contenders)
    families = [family for family in first if all(family in other for other in rest)]
    written = [family for family in families if family.startswith(BY_MODEL)]
    for group in (["queries"], written, ["sentence"]):
        ranked = [
            (
                *_measure_list_overlap_and_union([rankings.get(question, frozenset()) for rankings in tens]),
                family,
                question,
            )
            for family in group
            if family in families
            for tens in [[other.first[family] for other in contenders]]
            for question in tens[0]
            if question not in contenders[0].judged
            # Who is asked less has no list of the later ones; users' questions have no rank, and all are asked them.
            and all(question in own.ranks.get(family, tens[0]) for own in contenders)
        ]
        if group == ["sentence"]:
            # Where all find the same, nothing is told by a label.
            ranked = [entry for entry in ranked if entry[0] < 1]
            ranked = [entry for entry in ranked if entry[-1] in readable] or ranked
        if ranked:
            ranked.sort(key=lambda entry: (entry[0], entry[2:]))
            return [(family, question, passages) for _, passages, family, question in ranked[:MOST_GRADED]]
    return []


def _measure_list_overlap_and_union(tens: Sequence[frozenset[str]]) -> tuple[float, tuple[str, ...]]:
    """Measure the mean share of all that is found that each list has, and collect all of it."""
    union = frozenset[str]().union(*tens)
    return float(np.mean([len(ten) for ten in tens])) / max(len(union), 1), tuple(sorted(union))
