"""Systems and language models beside people, item by item, on the items that count in the human score."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from embassay.contracts import Tokenizer
from embassay.errors import DataError
from embassay.parquet import read_parquet
from embassay.protocols.hume import models
from embassay.protocols.hume.ceiling import (
    SystemMinusPeople,
    SystemValues,
    compare_with_people,
    score_system_against_all_but_one,
    score_system_against_random_annotator,
    share_of_people_below,
)
from embassay.protocols.hume.collection import collect_study_annotations
from embassay.protocols.hume.llms.answers import (
    LLM_FAMILIES,
    AnswersOfOneLlm,
    LlmTaskScores,
    read_llm_answers,
    score_llm_answers,
)
from embassay.protocols.hume.models import (
    CORRECT,
    LABEL,
    SCORE,
    StudyTaskEvaluationSettings,
    estimate_cell_memory,
    fingerprint_training_data,
    list_texts_encoded_by_system,
)
from embassay.protocols.hume.options import VERSION, Aggregation, ApMode, StudyRequest
from embassay.protocols.hume.published.standings import percent_of_human
from embassay.protocols.hume.record import SystemKind, SystemScore
from embassay.protocols.hume.resampling import (
    CORRELATION,
    SHARE,
    Floats,
    PeopleAnswers,
    ResamplingSettings,
    arrange_people_rows,
    make_value_without_interval,
    resample_statistics,
    score_answer_row_per_resample,
)
from embassay.protocols.hume.scoring import (
    PeopleScores,
    ScoresByMeasure,
    human_score_interval,
    keep_annotators_by_coverage,
    score_people_answers,
)
from embassay.protocols.hume.study import (
    Annotation,
    Answers,
    Family,
    StudyFolder,
    StudyItem,
    StudyTask,
    Who,
    answers_by_annotator,
    read_study,
)
from embassay.protocols.kernel import plan as planning
from embassay.protocols.kernel.forecast import TaskCostForecaster, TaskWorkloadForForecast
from embassay.protocols.kernel.plan import PlannedDataset, PlannedSystem, PlannedTask, plan_systems
from embassay.protocols.kernel.request import convert_tuples_to_lists
from embassay.runs.folder import CellRecord, RunCell, RunFolder, digest_json
from embassay.runs.forecast import CellForecast, RunForecast, count_tokens_by_sample
from embassay.stats import Estimate
from embassay.systems.remote import Ledger
from embassay.text import open_tokenizer


@dataclass(frozen=True)
class AnnotatorWorkStatistics:
    """What is known of one annotator's work on a task: how many items were answered and flagged, and the median of the
    seconds an item took."""

    id: str
    kind: Who
    answered: int
    flagged: int
    seconds: float | None


@dataclass(frozen=True)
class AnsweredTask:
    """A task with its gold and what people answered; `workers` are in the order of their ids."""

    task: StudyTask
    items: tuple[str, ...]
    gold: dict[str, Any]
    answers: Answers
    workers: tuple[AnnotatorWorkStatistics, ...]
    words: float | None = None
    """Of an item, in the mean."""

    @property
    def unanswered_items(self) -> tuple[str, ...]:
        """The items that nobody answered."""
        seen = {item for given in self.answers.values() for item in given}
        return tuple(item for item in self.items if item not in seen)


def read_answered_tasks(
    folder: StudyFolder, tasks: Sequence[StudyTask], files: Sequence[Path] = (), *, anyone: bool = True
) -> tuple[AnsweredTask, ...]:
    """Every task with what people answered. Raises DataError for a wrong value, and where `anyone` has to have answered
    and nobody did."""
    every = collect_study_annotations(folder, files)
    by_item = {item.id: item.task for item in folder.items}
    found = []
    for task in tasks:
        annotations = [annotation for annotation in every if by_item[annotation.item_id] == task.name]
        gold = folder.gold(task.name)
        answers = answers_by_annotator(task.spec, gold, annotations)
        items = folder.select_task_items(task.name)
        ids, workers = tuple(item.id for item in items), tuple(_list_annotator_work(annotations, answers))
        found.append(AnsweredTask(task, ids, gold, answers, workers, _mean_item_word_count(items)))
    if anyone and not any(annotations for task in found for annotations in task.answers.values()):
        raise DataError(
            f"Nobody has annotated {folder.path}" + (f" ({', '.join(map(str, files))})." if files else "."),
            mend="Collect answers with `embassay hume serve`, import them with `embassay hume import`, or use a "
            "language model with `embassay hume annotate`.",
        )
    return tuple(found)


def _mean_item_word_count(items: Sequence[StudyItem]) -> float | None:
    """Words of the texts that people see of an item; None where there are no items."""
    counts = [len(text.split()) for item in items for text in _shown_texts(item.payload)]
    return sum(counts) / len(items) if items else None


def _shown_texts(shown: Any) -> Iterator[str]:
    if isinstance(shown, str):
        yield shown
    elif isinstance(shown, Mapping | list | tuple):
        for part in shown.values() if isinstance(shown, Mapping) else shown:
            yield from _shown_texts(part)


def answers_fingerprint(every: Iterable[AnsweredTask]) -> str:
    """A fingerprint of all answers: it changes as people go on."""
    return digest_json(
        [[task.task.name, {name: dict(given) for name, given in task.answers.items()}] for task in every]
    )


def _list_annotator_work(annotations: Sequence[Annotation], answers: Answers) -> Iterator[AnnotatorWorkStatistics]:
    for name, given in answers.items():
        rows = [annotation for annotation in annotations if annotation.annotator_id == name]
        times = [row.seconds for row in rows if row.seconds is not None]
        # Someone of whom a single answer is simulated is no person.
        kind: Who = "simulated" if any(row.kind == "simulated" for row in rows) else "person"
        yield AnnotatorWorkStatistics(
            name, kind, len(given), sum(bool(row.flag) for row in rows), median(times) if times else None
        )


@dataclass(frozen=True)
class TaskWithCountedAnswers:
    """A task that somebody answered, by the rules of a request."""

    of: AnsweredTask
    request: StudyRequest

    @property
    def aggregation_rule(self) -> Aggregation:
        """How several people make one score here."""
        return choose_aggregation_for_task_family(self.of.task.family, self.request.aggregation)

    @property
    def draws(self) -> ResamplingSettings:
        """How items are resampled."""
        return ResamplingSettings(n_resamples=self.request.resamples, seed=self.request.seed)

    @cached_property
    def answers(self) -> Answers:
        """The answers of those who answered enough: see `who_counts`."""
        return keep_annotators_by_coverage(self.of.answers, self.request.min_answered)

    @cached_property
    def collect_all_counted_answers(self) -> PeopleAnswers:
        """All who answered enough."""
        of = self.of
        return PeopleAnswers(of.task.spec, of.gold, self.answers, self.aggregation_rule, self.request.human_ap_mode)

    @cached_property
    def counted(self) -> PeopleAnswers:
        """Those whose answers make the human score: by the rule of the first annotator no others."""
        first = dict(list(self.collect_all_counted_answers.active_annotators.items())[:1])
        return (
            replace(self.collect_all_counted_answers, answers=first)
            if self.aggregation_rule == "first"
            else self.collect_all_counted_answers
        )

    @property
    def has_uncounted_items(self) -> bool:
        """Whether there are items that do not count in the human score, so that they must not in a system's."""
        return len(self.counted.items) < len(self.of.items)

    @cached_property
    def people(self) -> PeopleScores:
        """The scores of people, by every rule."""
        return self.by(self.request.human_ap_mode)

    @cached_property
    def human(self) -> Estimate:
        """The human score by the rule of the request, with its interval."""
        score, n = self.people.score(self.aggregation_rule), len(self.counted.items)
        scores = [score] if self.aggregation_rule == "first" else self.people.main_score_per_annotator()
        return human_score_interval(self.of.task.family, score, scores, n, one_annotator=self.request.one_annotator)

    def by(self, mode: ApMode) -> PeopleScores:
        """Score people with ties of marks read in this way."""
        return self._score_answers(self.answers, mode)

    @cached_property
    def left_out(self) -> Mapping[str, ScoresByMeasure]:
        """The scores of the annotators who answered too few items."""
        few = {name: given for name, given in self.of.answers.items() if given and name not in self.answers}
        return self._score_answers(few, self.request.human_ap_mode).annotators if few else {}

    def _score_answers(self, answers: Answers, mode: ApMode) -> PeopleScores:
        return score_people_answers(self.of.task.spec, self.of.gold, answers, human_ap_mode=mode)


def choose_aggregation_for_task_family(family: Family, aggregation: Aggregation) -> Aggregation:
    """The rule that a family follows: groups of several people cannot be pooled, so their scores are averaged."""
    return "mean" if family == "clustering" and aggregation == "pooled" else aggregation


_VALUE: Mapping[Family, str] = {
    "classification": CORRECT, "clustering": "cluster", "reranking": "ap", "sts": "similarity"
}  # fmt: skip
"""What an item is worth to the family's measure, as items files call it."""


@dataclass(frozen=True)
class SystemWithScore:
    """A system with its `score` over all items. `values` are what each item counts in the measure, `answers` what the
    system says of it as an annotator would; items it failed on are in neither."""

    system: str
    kind: SystemKind
    score: Estimate
    values: SystemValues = field(default_factory=dict)
    answers: Mapping[str, Any] = field(default_factory=dict)
    failed: int = 0
    notes: tuple[str, ...] = ()


def make_system_with_score_from_cell(
    record: CellRecord, kind: SystemKind, of: AnsweredTask, folder: RunFolder
) -> SystemWithScore:
    """A system by the record and the items of its cell."""
    if not record.done:
        return SystemWithScore(record.system, kind, make_empty_estimate(record.reason))
    headline = next(score for score in record.scores if not score.variant and not score.subset)
    score = Estimate(
        value=headline.value, low=headline.ci_low, high=headline.ci_high, n=headline.n,
        method=headline.method, reason=headline.reason
    )  # fmt: skip
    failed, notes = record.counts.get("texts_failed", 0), _list_cell_warnings(record)
    if headline.value is None:
        return SystemWithScore(record.system, kind, score, failed=failed, notes=notes)
    # The items file holds what each item counts, so that differences are paired without asking the system again.
    path = folder.locate_cell_items(record.task, record.dataset, record.system)
    rows = _read_item_values_by_measure(path)
    values = {item: value for item, _, value in rows.get(_VALUE[of.task.family], ())}
    return SystemWithScore(
        record.system, kind, score, values, _convert_rows_to_system_answers(of, rows, values), failed, notes
    )


def make_llm_with_score_from_answers(answers: AnswersOfOneLlm, of: AnsweredTask) -> SystemWithScore | None:
    """A language model by its answers to a task; None where it was not asked."""
    rows = answers.of(of.task.name)
    if not rows or of.task.family not in LLM_FAMILIES:
        return None
    name = llm_display_name(answers)
    llm = score_llm_answers(of.task.spec, of.gold, rows)
    n = max((run.items for run in llm.runs), default=0)
    if llm.reason:
        return SystemWithScore(name, "llm", make_empty_estimate(llm.reason, n), failed=llm.failed)
    given = _average_llm_ratings_per_item(llm) if of.task.family == "sts" else dict(llm.answers[0])
    values = given if of.task.family == "sts" else dict(llm.values)
    runs = len(llm.runs)
    method = "answers" + (f", mean of {runs} runs" if runs > 1 else "")
    if of.task.family == "reranking":
        method = ("order of all documents" if answers.mode == "ranking" else "marks") + method[len("answers") :]
    known = {item: value for item, value in given.items() if value is not None}
    return SystemWithScore(
        name,
        "llm",
        Estimate(value=llm.score, n=n, method=method),
        values,
        known,
        llm.failed,
        _describe_failed_answers(llm),
    )


def llm_display_name(answers: AnswersOfOneLlm) -> str:
    """What a language model is called: one that marked documents instead of ranking them says so."""
    return answers.model if answers.mode == "ranking" else f"{answers.model} ({answers.mode})"


def _convert_rows_to_system_answers(
    of: AnsweredTask, rows: Mapping[str, Any], values: Mapping[str, Any]
) -> dict[str, Any]:
    if of.task.family == "classification":
        labels = order_labels_of_classification_task(of)
        # A label that only training texts have is nobody's answer here.
        return {
            item: labels[int(value)] if int(value) < len(labels) else f"\0{int(value)}"
            for item, _, value in rows.get(LABEL, ())
        }
    if of.task.family == "reranking":
        ratings: dict[str, dict[int, float]] = {}
        for item, variant, value in rows.get(SCORE, ()):
            ratings.setdefault(item, {})[int(variant.partition("=")[2])] = value
        whole = {item: len(of.gold[item]) for item in ratings}
        return {
            item: tuple(by_run[place] for place in range(whole[item]))
            for item, by_run in ratings.items()
            # A query with a document that could not be scored has no order of all of them.
            if len(by_run) == whole[item]
        }
    return dict(values)


def order_labels_of_classification_task(of: AnsweredTask) -> tuple[Any, ...]:
    """The labels of a classification in the order by which its items files count them."""
    return of.task.spec.labels or tuple(sorted(set(of.gold.values()), key=str))


def _average_llm_ratings_per_item(llm: LlmTaskScores) -> dict[str, float]:
    items = sorted({item for run in llm.answers for item in run})
    return {item: float(np.mean([run[item] for run in llm.answers if item in run])) for item in items}


def _describe_failed_answers(llm: LlmTaskScores) -> tuple[str, ...]:
    statuses = {name: n for name, n in sorted(llm.statuses.items()) if name != "ok" and n}
    parts = [f"{n} answers {name}" for name, n in statuses.items()]
    return (*parts, *([f"{llm.missing} items not answered"] if llm.missing else []))


def _list_cell_warnings(record: CellRecord) -> tuple[str, ...]:
    return (*record.warnings, *(f"{skip.count} {skip.reason}" for skip in record.skipped))


def _read_item_values_by_measure(path: Any) -> dict[str, list[tuple[str, str, float]]]:
    """Measure -> item, variant and value of every row that has a value."""
    by_item: dict[str, list[tuple[str, str, float]]] = {}
    for row in read_parquet(path).iter_rows(named=True):
        if row["value"] is not None:
            by_item.setdefault(row["measure"], []).append((row["item_id"], row["variant"], row["value"]))
    return by_item


def select_systems_with_item_values(
    contestants: Sequence[SystemWithScore], items: Sequence[str]
) -> list[SystemWithScore]:
    """Those that have a value on any of these items."""
    wanted = set(items)
    return [contestant for contestant in contestants if wanted & contestant.values.keys()]


def compare_systems_with_people(
    counting: TaskWithCountedAnswers, contestants: Sequence[SystemWithScore]
) -> list[SystemScore]:
    """Every one of them: its score, whether it is outside the interval of people, the difference on the same items,
    and its score with people's answers for gold."""
    able = select_systems_with_item_values(contestants, counting.counted.items)
    values = {contestant.system: contestant.values for contestant in able}
    compared = compare_with_people(counting.counted, values, counting.draws)
    return [
        _make_system_score_compared_to_people(counting, contestant, compared.get(contestant.system))
        for contestant in contestants
    ]


def make_score_without_people(contestant: SystemWithScore) -> SystemScore:
    """A system where there is nobody to compare it with."""
    return SystemScore(
        system=contestant.system,
        kind=contestant.kind,
        score=contestant.score,
        failed=contestant.failed,
        notes=contestant.notes,
    )


def _make_system_score_compared_to_people(
    counting: TaskWithCountedAnswers, contestant: SystemWithScore, compared: SystemMinusPeople | None
) -> SystemScore:
    score = _score_contestant_on_counted_items(counting, contestant)
    if score.value is None or compared is None:
        return make_score_without_people(contestant).model_copy(update={"score": score})
    people = counting.people.main_score_per_annotator()
    return make_score_without_people(contestant).model_copy(
        update={
            "score": score,
            "outside": counting.human.excludes(score.value),
            "percent_of_human": percent_of_human(score.value, counting.human.point),
            "difference": convert_estimate_for_record(compared.difference),
            "p": nan_to_none(compared.difference.p),
            "among_people": share_of_people_below(score.value, people).point,
            "against_people": convert_estimate_for_record(
                score_system_against_all_but_one(
                    counting.collect_all_counted_answers, contestant.answers, counting.draws
                )
            ),
            "soft": convert_estimate_for_record(
                score_system_against_random_annotator(
                    counting.collect_all_counted_answers, contestant.answers, counting.draws
                )
            ),
        }
    )


def _score_contestant_on_counted_items(counting: TaskWithCountedAnswers, contestant: SystemWithScore) -> Estimate:
    """The score on the items that count: that of the cell, with its interval, where these are all."""
    if contestant.score.value is None or (contestant.kind != "llm" and not counting.has_uncounted_items):
        return contestant.score
    items = [item for item in counting.counted.items if item in contestant.values]
    if not items:
        return make_empty_estimate("no score on any item that people answered")
    spec, gold = counting.of.task.spec, arrange_people_rows(counting.counted, items).gold
    row = [contestant.values[item] for item in items]

    def score(counts: Floats) -> Floats:
        return score_answer_row_per_resample(spec, gold, row, counts)

    if spec.family == "clustering":
        estimate = make_value_without_interval(float(score(np.ones((1, len(items))))[0]), len(items), "")
    else:
        within = (CORRELATION if spec.family == "sts" else SHARE,)
        estimate = resample_statistics(score, len(items), counting.draws, within=within)[0]
    method = ", ".join(filter(None, (re.sub(", bootstrap over .*", "", contestant.score.method), estimate.method)))
    # Of several runs of a language model the score is the mean over runs, not that of mean answers.
    value = estimate.value if counting.has_uncounted_items else contestant.score.value
    reason = "" if value is not None else estimate.reason or "the value is undefined"
    return Estimate(value, estimate.low, estimate.high, len(items), method, reason)


def convert_estimate_for_record(estimate: Estimate) -> Estimate:
    """What a record keeps of an estimate; no value says why in `reason`.

    >>> from embassay.stats import wilson
    >>> convert_estimate_for_record(wilson(0.5, 10)).method
    '95% Wilson'
    """
    reason = estimate.reason
    if estimate.value is None and not reason:
        reason = estimate.method or "the value is undefined"
    return Estimate(estimate.value, estimate.low, estimate.high, estimate.n, estimate.method, reason)


def make_empty_estimate(reason: str, n: int = 0) -> Estimate:
    """No value, and why."""
    return Estimate(value=None, n=n, reason=reason)


def nan_to_none(value: float | None) -> float | None:
    """NaN as None."""
    return None if value is None or math.isnan(value) else value


@dataclass(frozen=True, kw_only=True)
class StudyEvaluationPlan(planning.Plan):
    """The cells of a study, and what people and language models answered."""

    request: StudyRequest
    folder: StudyFolder
    answered: tuple[AnsweredTask, ...]
    llms: tuple[AnswersOfOneLlm, ...]

    @property
    def manifest_settings(self) -> dict[str, Any]:
        """What only this manifest has: the study, and a fingerprint of what was answered."""
        study = self.folder.study
        return {
            "study": {
                "name": study.name, "content": study.content, "guidelines_version": study.guidelines_version,
                "answers": answers_fingerprint(self.answered),
                "annotators": sorted({name for task in self.answered for name in task.answers}),
                "simulated": sorted({
                    worker.id for task in self.answered for worker in task.workers if worker.kind == "simulated"
                }),
                "llms": [{"model": llm.model, "mode": llm.mode, "rows": len(llm.rows)} for llm in self.llms],
            }
        }  # fmt: skip


def make_plan(
    request: StudyRequest, cache: Path | None = None, ledger: Ledger | None = None, *, people: bool = True
) -> StudyEvaluationPlan:
    """Read the study and all answers to it, and open every system: before any work is done. Without `people`, systems
    alone.

    Raises DataError for a study, annotations or answers of language models that are not what they should be, and where
    neither people nor language models answered; UsageError for an unknown task or system; ModelError for a system that
    cannot be opened.
    """
    folder = read_study(Path(request.study))
    tasks = _requested_tasks(folder, request)
    llms = read_llm_answers(folder)
    files = [Path(answer) for answer in request.answers]
    # Answers of language models stand beside gold, with or without people.
    answers = read_answered_tasks(folder, tasks, files, anyone=not any(llm.rows for llm in llms)) if people else ()
    tokenizer = open_tokenizer(request.tokenizer)
    systems = _plan_systems_beside_people(request, tokenizer, ledger)
    settings = StudyTaskEvaluationSettings(request.samples_per_label, request.repeats, request.give_k)
    datasets, cells = [], []
    for task in tasks:
        data = models.load_task_data(folder.path, folder.study.content, task.name, settings)[0] if systems else None
        texts = list_texts_encoded_by_system(data) if systems else []
        datasets.append(_plan_dataset(folder, task, len(texts)))
        for system in systems:
            job = models.StudyCellJob(
                system.spec, request.seed, request.tokenizer, cache, folder.path, folder.study.content,
                task.name, settings, request.resamples, request.neighbours
            )  # fmt: skip
            key = _hash_cell_dependencies(job, system, folder, tokenizer, fingerprint_training_data(data))
            units = len(texts) if system.kind == "embedding" else 0
            cells.append(
                RunCell(task.family, task.name, system.name, key, units, job, remote=system.remote is not None)
            )
    return StudyEvaluationPlan(
        request=request, systems=systems, datasets=tuple(datasets), cells=tuple(cells),
        tokenizer_identity=tokenizer.identity, cache=cache, folder=folder, answered=answers, llms=llms
    )  # fmt: skip


def _requested_tasks(folder: StudyFolder, request: StudyRequest) -> list[StudyTask]:
    """The tasks that were asked for, in the order of the study."""
    wanted = {folder.task(name).name for name in request.tasks}
    return [task for task in folder.study.tasks if not wanted or task.name in wanted]


def _plan_systems_beside_people(
    request: StudyRequest, tokenizer: Tokenizer, ledger: Ledger | None
) -> tuple[PlannedSystem, ...]:
    """The systems that were named: people stand here in place of reference rows."""
    systems = plan_systems(request.systems, tokenizer, request.seed, ledger) if request.systems else []
    return tuple(system for system in systems if system.kind != "reference" or system.spec in request.systems)


def _plan_dataset(folder: StudyFolder, task: StudyTask, texts: int) -> PlannedDataset:
    items = folder.select_task_items(task.name)
    fingerprint = digest_json([folder.study.content, task.name, [item.id for item in items]])
    planned = PlannedTask(task.family, len(items), texts, (), tuple(task.notes))
    return PlannedDataset(task.source.dataset, task.name, task.lang, fingerprint, (planned,))


def _hash_cell_dependencies(
    job: models.StudyCellJob, system: PlannedSystem, folder: StudyFolder, tokenizer: Tokenizer, training: str
) -> str:
    """A digest of all that a score depends on. What people answered is no part of it: systems never see that."""
    items: Sequence[Any] = [[item.id, dict(item.payload)] for item in folder.select_task_items(job.task)]
    gold = convert_tuples_to_lists(folder.gold(job.task))
    family = folder.task(job.task).family
    return digest_json(
        {
            "protocol": "hume",
            "version": VERSION,
            "task": job.task,
            "family": family,
            "system": [system.name, system.identity],
            "items": items,
            "gold": gold,
            "labels": [str(label.value) for label in folder.task(job.task).labels],
            "training": [training, job.settings.per_label, job.settings.repeats],
            **({} if job.settings.give_k or family != "clustering" else {"finds_k": True}),
            "neighbours": job.neighbours,
            "tokenizer": tokenizer.identity,
            "seed": job.seed,
            "resamples": job.resamples,
        }
    )


TIMED = 4_000
"""Texts of a run from which its systems are timed before it begins: to time a system takes as long as a small run."""


def forecast_study_cell_costs(plan: StudyEvaluationPlan, *, measure: bool = True) -> RunForecast:
    """The cost of every cell. With `measure`, systems on this machine are timed on a few texts, for which they are
    loaded here."""
    return RunForecast(tuple(_iterate_study_cell_forecasts(plan, measure=measure)) if plan.systems else ())


def _iterate_study_cell_forecasts(plan: StudyEvaluationPlan, *, measure: bool) -> Iterator[CellForecast]:
    tokenizer = open_tokenizer(plan.request.tokenizer)
    forecaster = TaskCostForecaster(plan.systems, tokenizer, plan.request.seed, plan.cache, measure=measure)
    for dataset in plan.datasets:
        job: models.StudyCellJob = next(cell.job for cell in plan.cells if cell.dataset == dataset.name)
        data, family = models.load_task_data(job.study, job.content, job.task, job.settings)
        texts = list_texts_encoded_by_system(data)
        tokens, _ = count_tokens_by_sample(texts, tokenizer)
        wanted = TaskWorkloadForForecast(
            family, dataset.name, dataset.tasks[0].n, len(texts), tokens,
            partial(models.rehearse_cell_encoder_calls, job), texts,
            kind="distances" if family == "clustering" else "pairs",
            footprint=partial(estimate_cell_memory, data=data, resamples=job.resamples)
        )  # fmt: skip
        yield from forecaster.cells(wanted)
