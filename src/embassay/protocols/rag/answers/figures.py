"""What the answers from a run come to: how many are right, and what distractors change, paired over questions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from embassay.protocols.kernel.estimates import Estimate, Items, make_undefined_score
from embassay.protocols.kernel.groups import Labels, describe_bootstrap_units
from embassay.protocols.rag.answers.answerer import ModelAnswer
from embassay.protocols.rag.answers.options import AnswerRequest
from embassay.protocols.rag.answers.prompts import HARMFUL, USEFUL, QuestionWithPassages
from embassay.protocols.rag.sweep.collection import SweepCollection
from embassay.randomness import make_seeded_generator
from embassay.records import RetrievalSet, Score, SkippedItems, TaskOutcome
from embassay.runs.execution import CallFailure
from embassay.stats.resampling import count_effective_groups, resample_defined_means

Floats = NDArray[np.float64]
TASK = "answer"
HEADLINE = "accuracy"
CHANGE, PER_DISTRACTOR = "change by distractors", "accuracy per distractor"
DISTRACTED = "distracted"
UNKNOWN = "there is no reference answer"
"""Why a question is not asked: no passage of grade 4 or 5, and no answer by people."""
EQUAL = "the number of distractors per prompt never varies within a question"


@dataclass(frozen=True)
class AnswerWithCorrectness:
    """An answer and whether it is right."""

    answer: ModelAnswer
    right: bool


Outcomes = Mapping[str, Sequence[AnswerWithCorrectness | CallFailure]]
"""The answers to the questions of each kind of prompt, in their order."""


@dataclass(frozen=True)
class AnswerMeasureByQuestion:
    """A measure under a variant: its value for every question, (q,), NaN where there is none; or two columns (q, 2),
    the mean of the first over that of the second being the value."""

    measure: str
    variant: str
    values: Floats

    @property
    def name(self) -> str:
        """How items call it."""
        return f"{self.measure} {self.variant}".rstrip()


@dataclass(frozen=True)
class AnswerOutcomesByQuestion:
    """Of one kind of prompt, for every question, (q,), NaN where there is none: whether the answer is right, or an
    abstention; whether all useful passages are shown; the share of useless ones; and how many were planted."""

    right: Floats
    abstained: Floats
    hit: Floats
    harm: Floats
    planted: Floats

    @property
    def get_rightness_where_all_evidence_shown(self) -> Floats:
        """Whether answers are right where all useful passages are shown, NaN elsewhere."""
        return np.asarray(np.where(self.hit == 1, self.right, np.nan))

    def list_answer_measures(self, k: int, variant: str) -> Iterator[AnswerMeasureByQuestion]:
        """List the outcomes as measures of prompts of `k` passages."""
        yield AnswerMeasureByQuestion(HEADLINE, variant, self.right)
        yield AnswerMeasureByQuestion("abstained", variant, self.abstained)
        yield AnswerMeasureByQuestion(f"Hit@{k}", variant, self.hit)
        yield AnswerMeasureByQuestion(f"Harm@{k}", variant, self.harm)
        yield AnswerMeasureByQuestion(f"Acc|Hit@{k}", variant, self.get_rightness_where_all_evidence_shown)


def collect_answer_outcomes(
    collection: SweepCollection,
    prompts: Sequence[QuestionWithPassages],
    outcomes: Sequence[AnswerWithCorrectness | CallFailure],
    k: int,
) -> AnswerOutcomesByQuestion:
    """What the answers to one kind of prompt are, over all questions of the collection."""
    n = len(collection.query_ids)
    levels = AnswerOutcomesByQuestion(*(np.full(n, np.nan) for _ in range(5)))
    for prompt, outcome in zip(prompts, outcomes, strict=True):
        grades, row = collection.grades[prompt.row], prompt.row
        useful = {place for place, grade in grades.items() if grade >= USEFUL}
        levels.hit[row] = float(useful <= set(prompt.places)) if useful else np.nan
        # Only grades of 1 and 2 harm: a passage without a grade does not.
        levels.harm[row] = sum(grades.get(place, 0) in (1, HARMFUL) for place in prompt.places) / k
        levels.planted[row] = prompt.planted
        if not isinstance(outcome, CallFailure):
            levels.right[row] = outcome.right
            levels.abstained[row] = outcome.answer.is_abstention
    return levels


def make_answer_task_outcome(
    request: AnswerRequest,
    collection: SweepCollection,
    kinds: Mapping[str, Sequence[QuestionWithPassages]],
    outcomes: Outcomes,
    calls: Mapping[str, int],
) -> TaskOutcome:
    """The outcome of the answers from a run; of the `kinds` of prompt the one without a name is the run's own."""
    levels = {
        kind: collect_answer_outcomes(collection, prompts, outcomes[kind], request.k) for kind, prompts in kinds.items()
    }
    figures = [figure for kind, own in levels.items() for figure in own.list_answer_measures(request.k, kind)]
    figures += measure_distractor_effects(request, levels)
    items, scores, components = Items(), [], {}
    for figure in figures:
        estimate = _estimate_answer_measure(figure, request, collection.query_groups)
        scores.append(_make_answer_measure_score(figure, estimate))
        if figure.name == HEADLINE:
            components[HEADLINE] = estimate.component()
        # A slope is of all questions together: none has one of its own.
        if figure.values.ndim == 1:
            items.add(list(collection.query_ids), figure.values, figure.name)
    return TaskOutcome(
        tuple(scores), components, items.columns, _list_skipped_questions(collection, kinds[""], outcomes),
        counts={**calls, "questions": len(kinds[""]), **_count_contentless_answers(outcomes)}
    )  # fmt: skip


def measure_distractor_effects(
    request: AnswerRequest, levels: Mapping[str, AnswerOutcomesByQuestion]
) -> Iterator[AnswerMeasureByQuestion]:
    """What distractors change, each against the same question without them: by planting, per distractor of each
    nearness, by nearness for the same number, and per share of useless passages."""
    plain = levels[""]
    for kind, own in levels.items():
        # The run as it is has no name, and nothing to be compared with.
        if kind:
            variant = "" if kind == DISTRACTED else kind
            yield AnswerMeasureByQuestion(CHANGE, variant, own.right - plain.right)
            yield AnswerMeasureByQuestion(
                f"Acc|Hit@{request.k} {CHANGE}",
                variant,
                own.get_rightness_where_all_evidence_shown - plain.get_rightness_where_all_evidence_shown,
            )
    if request.plants_once or not request.plantings:
        return
    for nearness in dict.fromkeys(request.nearness):
        alike = [levels[planting.name] for planting in request.plantings if planting.nearness == nearness]
        series = [plain, *alike]
        planted = np.stack([own.planted for own in series])
        yield AnswerMeasureByQuestion(
            PER_DISTRACTOR, nearness, _compute_question_slope_parts(planted, _stack_right_answers(series))
        )
    for near, drawn in _list_plantings_with_random_counterpart(request):
        difference = levels[near].right - levels[drawn].right
        yield AnswerMeasureByQuestion("change by nearness", f"{near} against random", difference)
    every = list(levels.values())
    harm = np.stack([own.harm for own in every])
    yield AnswerMeasureByQuestion(
        f"accuracy per Harm@{request.k}", "", _compute_question_slope_parts(harm, _stack_right_answers(every))
    )


def _stack_right_answers(series: Sequence[AnswerOutcomesByQuestion]) -> Floats:
    return np.stack([own.right for own in series])


def _list_plantings_with_random_counterpart(request: AnswerRequest) -> Iterator[tuple[str, str]]:
    """The plantings that share words with the question, each with the random one of the same number."""
    names = {planting.name for planting in request.plantings}
    for planting in request.plantings:
        drawn = f"{planting.number} random"
        if planting.nearness != "random" and drawn in names:
            yield planting.name, drawn


def _compute_question_slope_parts(x: Floats, y: Floats) -> Floats:
    """The parts of a slope within questions, (q, 2): how x and y (kinds, q) vary together around the question's own
    means, and how x varies. NaN for a question that lacks a value anywhere."""
    apart = x - x.mean(axis=0)
    together = (apart * (y - y.mean(axis=0))).sum(axis=0)
    spread = np.where(np.isnan(together), np.nan, (apart**2).sum(axis=0))
    return np.column_stack([together, spread])


def _estimate_answer_measure(
    figure: AnswerMeasureByQuestion, request: AnswerRequest, groups: Labels | None
) -> Estimate:
    table = figure.values.reshape(len(figure.values), -1)
    has_value = ~np.isnan(table).any(axis=1)
    n, method = int(has_value.sum()), describe_bootstrap_units("questions", RetrievalSet, groups)
    if not n:
        return Estimate(float("nan"), 0, np.empty(0), "")
    stream = make_seeded_generator(request.seed, TASK, "questions")
    drawn = resample_defined_means(table, n_resamples=request.resamples, rng=stream, groups=groups)
    units = None if groups is None else count_effective_groups(groups[has_value])
    means = table[has_value].mean(axis=0)
    if len(means) == 1:
        is_share = groups is None and not figure.measure.startswith("Harm") and "change" not in figure.measure
        return Estimate(float(means[0]), n, drawn[:, 0], method, is_share, units)
    # The mean product over the mean square is the least-squares slope: the counts cancel out.
    with np.errstate(invalid="ignore", divide="ignore"):
        slope, slopes = means[0] / means[1], drawn[:, 0] / drawn[:, 1]
    return Estimate(float(slope), n, slopes, method, units=units)


def _make_answer_measure_score(figure: AnswerMeasureByQuestion, estimate: Estimate) -> Score:
    """As a row of results; a slope has none where its x never varies."""
    if figure.values.ndim > 1 and estimate.n and estimate.reason:
        return make_undefined_score(figure.measure, estimate.n, EQUAL, variant=figure.variant, method=estimate.method)
    return estimate.score(figure.measure, variant=figure.variant)


def _count_contentless_answers(outcomes: Outcomes) -> dict[str, int]:
    """How many answers speak of an answer and give none; nothing where all give one."""
    void = sum(
        not isinstance(graded, CallFailure) and graded.answer.is_contentless
        for every in outcomes.values()
        for graded in every
    )
    return {"void": void} if void else {}


def _list_skipped_questions(
    collection: SweepCollection, asked: Sequence[QuestionWithPassages], outcomes: Outcomes
) -> tuple[SkippedItems, ...]:
    """Questions without a reference, and those that a model failed, by reason."""
    rows = {prompt.row for prompt in asked}
    without = [key for row, key in enumerate(collection.query_ids) if row not in rows]
    reasons: dict[str, list[str]] = {UNKNOWN: without} if without else {}
    for kind, of_kind in outcomes.items():
        for prompt, outcome in zip(asked, of_kind, strict=True):
            if isinstance(outcome, CallFailure):
                reasons.setdefault(f"{kind or 'plain'}: {outcome.reason}", []).append(prompt.question.id)
    return tuple(SkippedItems(reason, len(ids), tuple(ids[:3])) for reason, ids in reasons.items())
