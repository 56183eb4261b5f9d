"""From the cells and answers of a study to its record: a pair for every task, with people by every rule."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from embassay.protocols.hume.ceiling import items_needed, leave_one_out_human_ceiling
from embassay.protocols.hume.models import VECTORS
from embassay.protocols.hume.options import AP_MODES, StudyRequest
from embassay.protocols.hume.published.paper import ENGLISH_ONLY, MULTILINGUAL
from embassay.protocols.hume.published.standings import (
    ADVICE,
    HUMAN,
    agreement_trust_level,
    name_pair_difficulty_for_people,
)
from embassay.protocols.hume.record import (
    AnnotatorAgreement,
    AnnotatorScore,
    DatasetLanguageRecord,
    SeparationSampleSize,
    Summary,
    SystemKind,
    SystemScore,
)
from embassay.protocols.hume.resampling import agreement_intervals
from embassay.protocols.hume.results.conclusions import (
    ComparedSystem,
    build_human_score_matrix,
    convert_spearman_to_estimate_or_reason,
    correlate_agreement_with_gap,
    count_people_wins,
    rank_systems_by_mean,
)
from embassay.protocols.hume.results.contestants import (
    AnsweredTask,
    StudyEvaluationPlan,
    SystemWithScore,
    TaskWithCountedAnswers,
    choose_aggregation_for_task_family,
    compare_systems_with_people,
    convert_estimate_for_record,
    llm_display_name,
    make_empty_estimate,
    make_llm_with_score_from_answers,
    make_score_without_people,
    make_system_with_score_from_cell,
    nan_to_none,
)
from embassay.protocols.hume.scoring import MAIN, ScoresByMeasure, keep_annotators_by_coverage, people_agreement
from embassay.protocols.hume.study import Answers, StudyTask, Who
from embassay.protocols.hume.tables import find_most_disputed_items
from embassay.protocols.kernel.outcome import make_manifest_of_file_based_run
from embassay.protocols.kernel.tables import RunTable, write_tables
from embassay.records import ResultRow
from embassay.runs.folder import CellRecord, RunFolder, write_json
from embassay.stats import Estimate

PROTOCOL, OVERALL = "hume", "overall"
AGREEMENT = "agreement"
"""The variant of the rows that say how people agree: a coefficient may be called as a measure is."""
_UNDEFINED = "not defined for this family"


def published_result_rows(summary: Summary) -> Iterator[ResultRow]:
    """All rows of published results, datasets by their names."""
    for pair in summary.pairs:
        rows = _ResultRowsOfPair(pair, pair.dataset, summary.seed)
        yield from rows.iterate_human_result_rows()
        for score in (*pair.models, *pair.llms):
            yield rows.row(score.system, "", pair.measure, score.score)
    yield from _overall_mean_rows(summary)


def study_rows_beyond_cells(summary: Summary) -> Iterator[ResultRow]:
    """The rows of a study besides those of its cells; a pair goes by the name of its task, as cells do."""
    for pair in summary.pairs:
        rows = _ResultRowsOfPair(pair, pair.task, summary.seed)
        yield from rows.iterate_human_result_rows()
        for score in pair.llms:
            yield rows.row(score.system, "", pair.measure, score.score)
        for score in (*pair.models, *pair.llms):
            yield from rows.iterate_result_rows_of_system_score(score)
    yield from _overall_mean_rows(summary)


@dataclass(frozen=True)
class _ResultRowsOfPair:
    """The rows of one pair."""

    pair: DatasetLanguageRecord
    dataset: str
    seed: int

    def iterate_human_result_rows(self) -> Iterator[ResultRow]:
        """The headline, each annotator and convention, agreement and ceiling."""
        pair, measure = self.pair, self.pair.measure
        yield self.row(HUMAN, "", measure, pair.human)
        for person in pair.annotators:
            bar = Estimate(value=person.score, n=person.items)
            yield self.row(HUMAN, f"annotator={person.id}", measure, bar, {person.kind})
        for name, value in pair.conventions.items():
            yield self.row(HUMAN, f"convention={name}", measure, _wrap_value_as_estimate(value, pair.human.n))
        if pair.agreement:
            yield self.row(HUMAN, AGREEMENT, pair.agreement.coefficient, pair.agreement.value)
            for name, value in pair.agreement.extras.items():
                yield self.row(HUMAN, AGREEMENT, name, _wrap_value_as_estimate(value, pair.agreement.items))
        if pair.ceiling:
            yield self.row(HUMAN, "ceiling", measure, pair.ceiling)

    def iterate_result_rows_of_system_score(self, score: SystemScore) -> Iterator[ResultRow]:
        """The score on what people answered, the difference there, and people as gold."""
        measure = self.pair.measure
        if score.difference:
            yield self.row(score.system, "answered_items", measure, score.score)
            yield self.row(score.system, "minus_human", measure, score.difference)
        if score.against_people:
            yield self.row(score.system, "against_people", measure, score.against_people)
        if score.soft:
            yield self.row(score.system, "soft", measure, score.soft)
        if score.among_people is not None:
            share = Estimate(
                value=score.among_people, n=len(self.pair.annotators), method="share of annotators who score lower"
            )
            yield self.row(score.system, "among_people", measure, share)

    def row(
        self, system: str, variant: str, measure: str, bar: Estimate, by: Collection[Who] | None = None
    ) -> ResultRow:
        """Make a result row of a pair's value; `by` are the kinds of annotators behind it."""
        pair = self.pair
        # A score that scripts stood in for says so in its method, since rows are read without the record.
        kinds = {annotator.kind for annotator in pair.annotators} if by is None else set(by)
        method = ", ".join(filter(None, (bar.method, _describe_simulated_annotators(kinds) if system == HUMAN else "")))
        return ResultRow(
            PROTOCOL, pair.family, self.dataset, "", pair.lang, variant, system, measure, bar.value, bar.n,
            bar.low, bar.high, method, self.seed, bar.reason if bar.value is None else ""
        )  # fmt: skip


def _describe_simulated_annotators(kinds: Collection[Who]) -> str:
    """Name the kinds of annotators, which says whether scripts stand in for people."""
    if "simulated" not in kinds:
        return ""
    return "simulated annotators" if len(kinds) == 1 else "partly simulated annotators"


def _overall_mean_rows(summary: Summary) -> Iterator[ResultRow]:
    """The mean of every system, and of people, over all pairs."""
    for place in summary.places:
        mean = place.mean
        yield ResultRow(
            PROTOCOL, OVERALL, "", "", "", "", place.system, OVERALL, mean.value, mean.n, mean.low, mean.high,
            mean.method, summary.seed, mean.reason if mean.value is None else ""
        )  # fmt: skip


def _wrap_value_as_estimate(value: float | None, n: int) -> Estimate:
    return Estimate(value=value, n=n, reason="" if value is not None else _UNDEFINED)


def write_finished_run(
    folder: RunFolder,
    *,
    request: Any,
    command: str,
    rows: Sequence[ResultRow],
    tables: Iterable[RunTable],
    systems: Sequence[dict[str, Any]],
    datasets: Sequence[dict[str, Any]],
    extra: dict[str, Any],
) -> None:
    """Write all but the record of a run that is done in one go; once more writes it anew."""
    write_tables(folder.path, tables)
    folder.write_results(rows)
    write_json(folder.path / "comparisons.json", {"scopes": {}})
    done = make_manifest_of_file_based_run(
        folder, "hume", command, request.as_dict(), systems=systems, datasets=datasets
    )
    folder.write_manifest({**done, **extra})


OTHER_METHOD = (
    "not ranked with embedding models, because classification and clustering without vectors use a different method"
)
LLM = "language models are compared with people on the pairs they answered"


def make_study_summary_with_systems(
    plan: StudyEvaluationPlan, records: Sequence[CellRecord], folder: RunFolder
) -> tuple[Summary, tuple[ComparedSystem, ...]]:
    """The record of a study as far as its cells have ended, and its systems."""
    entered = list_study_contenders(plan)
    ranked = [contender.system for contender in entered if contender.ranked]
    kinds: Mapping[str, SystemKind] = {contender.system: contender.kind for contender in entered}
    names = map_tasks_to_datasets(plan.folder.study.tasks)
    by_task: dict[str, list[SystemWithScore]] = {task.task.name: [] for task in plan.answered}
    tasks = {task.task.name: task for task in plan.answered}
    for record in records:
        by_task[record.dataset].append(
            make_system_with_score_from_cell(record, kinds[record.system], tasks[record.dataset], folder)
        )
    for of in plan.answered:
        by_task[of.task.name] += [
            contestant
            for answers in plan.llms
            if (contestant := make_llm_with_score_from_answers(answers, of)) is not None
        ]
    pairs = tuple(
        summarise_task_for_dataset_language(
            of, plan.request, by_task[of.task.name], ranked, names[of.task.name]
        ).model_copy(
            update={
                "disputed": find_most_disputed_items(
                    of.task.family,
                    plan.folder.select_task_items(of.task.name),
                    of.gold,
                    keep_annotators_by_coverage(of.answers, plan.request.min_answered),
                )
            }
        )
        for of in plan.answered
    )
    matrix = build_human_score_matrix(pairs, entered)
    gap = correlate_agreement_with_gap(matrix)
    summary = Summary(
        title=f"HUME, {plan.folder.study.name}", source="study", seed=plan.request.seed, pairs=pairs,
        places=rank_systems_by_mean(pairs, entered, plan.request.seed), wins=count_people_wins(matrix),
        agreement_against_gap=convert_spearman_to_estimate_or_reason(gap), agreement_against_gap_p=gap.p,
        notes=tuple(_list_study_result_notes(plan, pairs, entered))
    )  # fmt: skip
    return summary, entered


def list_study_contenders(plan: StudyEvaluationPlan) -> tuple[ComparedSystem, ...]:
    """The systems, and the language models that annotated.

    Systems without vectors are ranked with the others only where no task takes vectors; where there are no others, they
    are ranked among themselves.
    """
    embedding = [system for system in plan.systems if system.kind == "embedding"]
    apart = bool(embedding) and any(task.task.family in VECTORS for task in plan.answered)
    of_systems = [
        ComparedSystem(system.name, "embedding")
        if system.kind == "embedding"
        else ComparedSystem(system.name, "classical", None, not apart, OTHER_METHOD if apart else "")
        for system in plan.systems
    ]
    return (*of_systems, *(ComparedSystem(llm_display_name(llm), "llm", None, False, LLM) for llm in plan.llms))


def _list_study_result_notes(
    plan: StudyEvaluationPlan, pairs: Sequence[DatasetLanguageRecord], entered: Sequence[ComparedSystem]
) -> list[str]:
    notes = []
    nobody = [pair.name for pair in pairs if pair.human.value is None]
    if nobody:
        notes.append(f"Not annotated, so excluded from means, ranks and wins: {', '.join(nobody)}.")
    if plan.request.aggregation == "pooled" and any(
        choose_aggregation_for_task_family(pair.family, "pooled") != "pooled" for pair in pairs
    ):
        notes.append("Clusterings by several people cannot be pooled, so clustering shows the mean over annotators.")
    apart = [contender.system for contender in entered if contender.why_not == OTHER_METHOD]
    if apart:
        notes.append(f"{', '.join(apart)}: {OTHER_METHOD}.")
    return notes


NOBODY = "nobody annotated it"
TOO_FEW = ", too few to count in the human score or the agreement"


def summarise_task_for_dataset_language(
    of: AnsweredTask,
    request: StudyRequest,
    contestants: Sequence[SystemWithScore],
    ranked: Sequence[str],
    name: DatasetNameAndLanguageGroup,
) -> DatasetLanguageRecord:
    """The pair of a task; `ranked` are the systems among which the best is looked for."""
    task = of.task
    head = DatasetLanguageRecord(
        task=task.name, dataset=name.dataset, lang=task.lang, family=task.family, measure=MAIN[task.family],
        group=name.group, n=len(of.items), words=of.words, human=make_empty_estimate(NOBODY),
        flags=_list_dataset_language_notes(of, keep_annotators_by_coverage(of.answers, request.min_answered)),
        models=tuple(make_score_without_people(contestant) for contestant in contestants if contestant.kind != "llm"),
        llms=tuple(make_score_without_people(contestant) for contestant in contestants if contestant.kind == "llm")
    )  # fmt: skip
    if not any(of.answers.values()):
        return head
    return _add_scores_to_dataset_record(TaskWithCountedAnswers(of, request), head, contestants, ranked)


def _add_scores_to_dataset_record(
    counting: TaskWithCountedAnswers,
    head: DatasetLanguageRecord,
    contestants: Sequence[SystemWithScore],
    ranked: Sequence[str],
) -> DatasetLanguageRecord:
    human, agreement = counting.human, _pair_agreement(counting)
    level = agreement_trust_level(head.family, agreement.value.value if agreement else None)
    systems = compare_systems_with_people(counting, contestants)
    best = max(
        (system for system in systems if system.system in ranked and system.score.value is not None),
        key=lambda score: score.score.value or 0, default=None
    )  # fmt: skip
    return head.model_copy(
        update={
            "human": convert_estimate_for_record(human),
            "annotators": _make_annotator_scores(counting, counting.people.annotators),
            "left_out": _make_annotator_scores(counting, counting.left_out),
            "conventions": _list_human_scores_by_rule(counting),
            "agreement": agreement,
            "ceiling": convert_estimate_for_record(
                leave_one_out_human_ceiling(counting.collect_all_counted_answers, counting.draws).value
            ),
            "models": tuple(system for system in systems if system.kind != "llm"),
            "llms": tuple(system for system in systems if system.kind == "llm"),
            "difficulty": name_pair_difficulty_for_people(human.point),
            "trust": level,
            "superhuman_on_noise": level == "low" and best is not None and _is_above_people_interval(best, human),
            "advice": ADVICE if level == "low" else "",
            "need": _estimate_separation_need(counting, best, contestants),
        }
    )


def _make_annotator_scores(
    counting: TaskWithCountedAnswers, scored: Mapping[str, ScoresByMeasure]
) -> tuple[AnnotatorScore, ...]:
    main = MAIN[counting.of.task.family]
    workers = {worker.id: worker for worker in counting.of.workers}
    return tuple(
        AnnotatorScore(
            id=name, kind=workers[name].kind, score=own.scores[main], items=own.items,
            seconds=workers[name].seconds, flagged=workers[name].flagged,
        )
        for name, own in scored.items()
    )  # fmt: skip


def _list_human_scores_by_rule(counting: TaskWithCountedAnswers) -> dict[str, float | None]:
    people = counting.people
    scores: dict[str, float | None] = {
        "paper": people.score("paper"), "pooled": None if people.pooled is None else people.score("pooled"),
        "mean": people.score("mean"), "first": people.score("first")
    }  # fmt: skip
    if counting.of.task.family == "reranking":
        scores |= {mode: counting.by(mode).score(counting.aggregation_rule) for mode in AP_MODES}
    return scores


def _pair_agreement(counting: TaskWithCountedAnswers) -> AnnotatorAgreement | None:
    family, answers, least = counting.of.task.family, counting.answers, counting.request.min_shared
    agreement = people_agreement(family, answers, min_shared=least)
    if agreement.annotators < 2:
        return None
    intervals = agreement_intervals(family, answers, counting.draws, min_shared=least)
    own = intervals.pop(agreement.coefficient, Estimate(None))
    reason = agreement.reason or own.reason
    value = Estimate(agreement.value, own.low, own.high, agreement.items, own.method, reason)
    return AnnotatorAgreement(
        coefficient=agreement.coefficient, value=value, band=agreement.band, annotators=agreement.annotators,
        items=agreement.items, annotations=agreement.annotations,
        extras={name: nan_to_none(extra) for name, extra in agreement.extras.items()},
        intervals={name: convert_estimate_for_record(interval) for name, interval in intervals.items()}
    )  # fmt: skip


def _estimate_separation_need(
    counting: TaskWithCountedAnswers, best: SystemScore | None, contestants: Sequence[SystemWithScore]
) -> SeparationSampleSize | None:
    values = {contestant.system: contestant.values for contestant in contestants}
    if best is None or not values[best.system]:
        return None
    need = items_needed(counting.counted, values[best.system])
    return SeparationSampleSize(
        system=best.system, items=need.items, annotators=need.annotators, smallest=nan_to_none(need.smallest),
        note=need.note
    )  # fmt: skip


def _is_above_people_interval(best: SystemScore, human: Estimate) -> bool:
    return (best.score.value or 0.0) > human.ends[1]


def _list_dataset_language_notes(of: AnsweredTask, counted: Answers) -> tuple[str, ...]:
    n, open_items = len(of.items), len(of.unanswered_items)
    flags = list(of.task.notes)
    if 0 < open_items < n:
        flags.append(f"{open_items} of {n} items have no answers and are also left out for systems")
    flags += [
        f"{worker.id} answered {worker.answered} of {n} items" + ("" if worker.id in counted else TOO_FEW)
        for worker in of.workers
        if worker.answered < n - open_items
    ]
    return tuple(flags)


@dataclass(frozen=True)
class DatasetNameAndLanguageGroup:
    """The dataset of a task, and whether that has other languages than English in the study."""

    dataset: str
    group: str


def map_tasks_to_datasets(tasks: Sequence[StudyTask]) -> Mapping[str, DatasetNameAndLanguageGroup]:
    """Name of a task -> its dataset: the task's name without its language, where that tells all tasks apart."""
    short = {task.name: strip_language_suffix(task.name, task.lang) for task in tasks}
    counts = Counter((short[task.name], task.lang) for task in tasks)
    families = {name: {task.family for task in tasks if short[task.name] == name} for name in short.values()}
    dataset = {
        task.name: short[task.name]
        if counts[short[task.name], task.lang] == 1 and len(families[short[task.name]]) == 1
        else task.name
        for task in tasks
    }
    langs: dict[str, set[str]] = {}
    for task in tasks:
        langs.setdefault(dataset[task.name], set()).add(task.lang)
    return {
        name: DatasetNameAndLanguageGroup(of_name, MULTILINGUAL if langs[of_name] - {"eng"} else ENGLISH_ONLY)
        for name, of_name in dataset.items()
    }


def strip_language_suffix(name: str, lang: str) -> str:
    """The name without a language at its end.

    >>> (strip_language_suffix("sib200-dan", "dan"), strip_language_suffix("sib200", "dan"),
    ... strip_language_suffix("dan", "dan"))
    ('sib200', 'sib200', 'dan')
    """
    short = name.removesuffix(lang).rstrip("-_.")
    return short if name.endswith(lang) and short and short != name.removesuffix(lang) else name
