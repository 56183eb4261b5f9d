"""Scoring a study, or own systems beside the paper's people, from request to finished folder.

The items are those of the suite `hume`, taken whole into a study of nobody's answers; the run over it resumes, is
priced and keeps its cells as every run. What comes of it are evaluations as result files hold them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from embassay.data.catalogue.suites import read_all_suites
from embassay.errors import DataError, UsageError
from embassay.protocols.hume import models
from embassay.protocols.hume.options import PublishedRequest, StudyRequest
from embassay.protocols.hume.profiles import read_annotator_profiles, scores_by_profile_table
from embassay.protocols.hume.published.paper import (
    PaperDataset,
    PublishedEvaluation,
    PublishedStudy,
    load_hume_paper_study,
)
from embassay.protocols.hume.published.protocol import EvaluatedSystems, write_published_run
from embassay.protocols.hume.record import (
    Summary,
    read_tasks_divided_with_llm,
    write_summary,
    write_tasks_divided_with_llm,
)
from embassay.protocols.hume.results.conclusions import compare_systems, list_system_headlines_per_task
from embassay.protocols.hume.results.contestants import TIMED, StudyEvaluationPlan, forecast_study_cell_costs, make_plan
from embassay.protocols.hume.results.markdown import write_markdown_report
from embassay.protocols.hume.results.summary import PROTOCOL, make_study_summary_with_systems, study_rows_beyond_cells
from embassay.protocols.hume.results.tables import (
    note_simulated_annotators_in_table,
    study_tables,
    task_conditions_table,
)
from embassay.protocols.hume.sampling import draw_study, replace_absent_datasets_by_miniatures
from embassay.protocols.hume.sampling.options import make_task_config_of_suite_member, parse_sampling_config
from embassay.protocols.hume.scoring import MAIN
from embassay.protocols.hume.study import StudyTask, read_study, write_study
from embassay.protocols.kernel.absentees import describe_datasets_sized_by_catalogue
from embassay.protocols.kernel.outcome import Run
from embassay.protocols.kernel.protocol import EvaluationProtocol
from embassay.protocols.kernel.request import make_request_from_call
from embassay.protocols.kernel.session import RunConclusions
from embassay.protocols.kernel.tables import ColumnTable
from embassay.records import ResultRow
from embassay.runs.execution import Workers
from embassay.runs.folder import CellRecord, RunFolder
from embassay.runs.forecast import RunForecast
from embassay.systems.remote import Ledger


class StudyScoringProtocol(EvaluationProtocol):
    """Systems on the items of a study, each cell once; then people, as they have answered by now."""

    name = PROTOCOL
    reads_folder = True
    evaluate = staticmethod(models.evaluate_cell)

    def plan_run(
        self, request: StudyRequest, cache: Path | None = None, ledger: Ledger | None = None
    ) -> StudyEvaluationPlan:
        """Plan every task of the study with every system."""
        return make_plan(request, cache, ledger)

    def forecast_cost(self, plan: StudyEvaluationPlan, *, measure: bool = True) -> RunForecast:
        """The cost of every cell; a small run is done sooner than its systems are timed."""
        return forecast_study_cell_costs(plan, measure=measure and sum(cell.units for cell in plan.cells) >= TIMED)

    def headline(self, plan: StudyEvaluationPlan, record: CellRecord) -> str:
        """Choose the main measure of the task's family."""
        return MAIN[plan.folder.task(record.dataset).family]

    def format_python_call(self, request: StudyRequest, out: Path) -> str:
        """Format the call of `embassay.hume.score` that makes the run."""
        return f"embassay.hume.score({request.study!r}, {list(request.systems)!r}, out={str(out)!r})"

    def list_own_manifest_fields(self, plan: StudyEvaluationPlan) -> dict[str, Any]:
        """The study."""
        return plan.manifest_settings

    def draw_conclusions(
        self, plan: StudyEvaluationPlan, records: Sequence[CellRecord], rows: Sequence[ResultRow]
    ) -> RunConclusions:
        """Draw a run's conclusions: people beside systems, in one record for pages and tables."""
        del rows  # of the cells: the record has them beside people's
        summary, entered = make_study_summary_with_systems(plan, records, self.folder)
        write_summary(self.folder.path, summary)
        write_tasks_divided_with_llm(self.folder.path, read_tasks_divided_with_llm(plan.folder.path))
        write_markdown_report(self.folder.path, summary)
        tables = (*study_tables(summary, entered), *self._build_extra_tables(plan, summary))
        every = list_system_headlines_per_task(plan, records, entered)
        return RunConclusions(tuple(study_rows_beyond_cells(summary)), compare_systems(every), tables, every)

    def _build_extra_tables(self, plan: StudyEvaluationPlan, summary: Summary) -> Iterator[ColumnTable]:
        """Build the tables beyond the record: conditions, and groups of annotators."""
        request, study = plan.request, plan.folder.study
        told = task_conditions_table([task.task for task in plan.answered], plan.llms, give_k=request.give_k)
        yield note_simulated_annotators_in_table(told, summary)
        if study.profile:
            table = scores_by_profile_table(
                study, summary.pairs, read_annotator_profiles(plan.folder), request.smallest_group
            )
            yield note_simulated_annotators_in_table(table, summary)


Paths = str | Path | Sequence[str | Path]


def score(
    study: str | Path | None = None,
    systems: Sequence[str] = (),
    *,
    out: str | Path,
    from_mteb: Paths = (),
    llm_scores: Paths = (),
    workers: Workers = 1,
    cache: Path | None = None,
    max_usd: float | None = None,
    **arguments: Any,
) -> Run:
    """Score people, systems and language models on the same items, into the folder `out`; returns the run.

    From the folder of a `study`, further arguments are those of `StudyRequest`: tasks, answers, aggregation ("paper"),
    human_ap_mode ("tie_aware"), one_annotator ("wilson"), samples_per_label, resamples (10,000), seed (1337),
    tokenizer ("cl100k"), min_answered (0.5), min_shared (10), repeats (10), neighbours (10), give_k (True),
    smallest_group (5). Or from published results
    (`from_mteb`, files or folders, and `llm_scores`), those of `PublishedRequest`: `systems` are then evaluated on
    HUME's own items and placed among its people and models. Resumes what is unfinished in `out`, and scores people
    anew.

    UsageError when `out` holds a run of other arguments, DataError for a study or files that are not what they should
    be or that nobody annotated, BudgetExceeded at `max_usd`: what is finished is kept. `read_summary(run.path)` reads
    the record.
    """
    results, llms = _list_paths_as_strings(from_mteb), _list_paths_as_strings(llm_scores)
    if (study is None) == (not results):
        raise UsageError("Score either a study or published results.", mend="Pass exactly one of the two.")
    plain = _convert_to_hashable_arguments(arguments)
    if results:
        settings = {"systems": tuple(systems), "tokenizer": plain.pop("tokenizer", "cl100k")} if systems else {}
        published = make_request_from_call(PublishedRequest, score, plain, results, llms, **settings)
        if not systems:
            return write_published_run(published, Path(out))

        found = evaluate_systems(published, Path(out), workers=workers, cache=cache, max_usd=max_usd)
        return write_published_run(published, Path(out), own=found)
    request = make_request_from_call(StudyRequest, score, plain, str(study), tuple(systems))
    return StudyScoringProtocol().carry_out(request, Path(out), workers=workers, cache=cache, max_usd=max_usd)


def _list_paths_as_strings(paths: Paths) -> tuple[str, ...]:
    return (str(paths),) if isinstance(paths, str | Path) else tuple(map(str, paths))


def _convert_to_hashable_arguments(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Lists as tuples, paths as text: a request is a value."""
    return {
        name: _list_paths_as_strings(value) if name in ("tasks", "answers") else value
        for name, value in arguments.items()
    }


SUITE = "hume"
ITEMS, RUN = "items", "own"
"""The folders of a published run: the study of the items, and the run of systems on it."""


class SystemsOnlyScoringProtocol(StudyScoringProtocol):
    """Systems on the items of a study; people have no part in it."""

    def plan_run(
        self, request: StudyRequest, cache: Path | None = None, ledger: Ledger | None = None
    ) -> StudyEvaluationPlan:
        """Every task of the study with every system."""
        return make_plan(request, cache, ledger, people=False)

    def draw_conclusions(
        self, plan: StudyEvaluationPlan, records: Sequence[CellRecord], rows: Sequence[ResultRow]
    ) -> RunConclusions:
        """Draw no conclusions beyond the cells' rows; the comparison with people follows later."""
        del plan, records, rows
        return RunConclusions()


def write_study_of_annotated_items(out: Path, planned: Path | None = None) -> list[str]:
    """Write the items that people answered into `out`, a study, as far as they are here; what is left out, and why.
    For a plan, miniatures in the folder `planned` stand in for sets that are not here.

    The same items once more are left as they are. DataError where none are here, UsageError for a folder that holds
    others: the sets have changed since, and scores of the two would not compare.
    """
    tasks = [
        {**make_task_config_of_suite_member(member, SUITE), "whole": True, "practice": 0}
        for member in read_all_suites()[SUITE].members
    ]
    request = parse_sampling_config({"name": SUITE, "tasks": tasks})
    absent: list[str] = []
    if planned is not None:
        request, absent = replace_absent_datasets_by_miniatures(request, planned)
    drawn = draw_study(request)
    if (out / "study.json").exists():
        if read_study(out).study.content != drawn.study.content:
            raise UsageError(
                f"{out} contains {SUITE} items that differ from the current ones.",
                mend="Choose another --out, because scores on different items are not comparable.",
            )
    else:
        write_study(out, drawn.study, drawn.items, drawn.gold)
    notes = [f"own systems, {left}" for left in drawn.left_out]
    if absent:
        notes.append(describe_datasets_sized_by_catalogue(absent))
    return notes


def evaluate_systems(request: PublishedRequest, out: Path, **arguments: Any) -> EvaluatedSystems:
    """The systems of a request on the items that people answered, resuming what is unfinished in `out`; `arguments` are
    those of `Protocol.carry_out`."""
    items = out / ITEMS
    notes = write_study_of_annotated_items(items)
    run = SystemsOnlyScoringProtocol().carry_out(
        make_study_request_from_published(request, items), out / RUN, **arguments
    )
    return read_evaluated_systems(run, items, notes)


def make_study_request_from_published(request: PublishedRequest, items: Path) -> StudyRequest:
    """The request to evaluate the systems of a published one on the items."""
    return StudyRequest(
        str(items), request.systems, samples_per_label=request.samples_per_label, resamples=request.resamples,
        seed=request.seed, tokenizer=request.tokenizer, repeats=request.repeats, neighbours=request.neighbours
    )  # fmt: skip


def read_evaluated_systems(run: Run, items: Path, notes: Sequence[str]) -> EvaluatedSystems:
    """What a run over the items says of its systems; pairs that failed have no evaluation."""
    tasks = {task.name: task for task in read_study(items).study.tasks}
    headline = {name: MAIN[task.family] for name, task in tasks.items()}
    evaluations = [
        _convert_row_to_published_evaluation(row, tasks[row.dataset])
        for row in RunFolder(run.path).read_results()
        if row.value is not None
        and not (row.variant or row.subset)
        and row.dataset in tasks
        and row.measure == headline[row.dataset]
    ]
    systems = {system["name"]: (system["kind"], system["identity"]) for system in run.manifest["systems"]}
    return EvaluatedSystems(systems, tuple(evaluations), (*notes, *_warn_of_other_item_counts(tasks.values())))


def _convert_row_to_published_evaluation(row: ResultRow, task: StudyTask) -> PublishedEvaluation:
    assert row.value is not None
    name = _find_paper_dataset_of_task(task).name
    return PublishedEvaluation(row.system, "", name, task.lang, task.lang, row.value, {row.measure: row.value})


def _warn_of_other_item_counts(tasks: Iterable[StudyTask]) -> Iterator[str]:
    """That the items here cannot be those of people, where they are not as many."""
    sizes = []
    for task in tasks:
        pair = load_hume_paper_study().pair(_find_paper_dataset_of_task(task).name, task.lang)
        if pair is not None and pair.n_items != task.n:
            sizes.append(f"{task.name} {task.n}, not {pair.n_items}")
    if sizes:
        more = f" and {len(sizes) - 3} more" if len(sizes) > 3 else ""
        yield (
            f"Some tasks have a different number of items from those that people annotated: {', '.join(sizes[:3])}"
            f"{more}. Systems cannot be compared with people on them; fetch the published datasets."
        )


def _find_paper_dataset_of_task(task: StudyTask) -> PaperDataset:
    """The study's dataset that a task is the items of."""
    dataset = _index_datasets_by_suite_member(load_hume_paper_study()).get(task.source.dataset.partition("?")[0])
    if dataset is None:
        raise DataError(
            f"{task.source.dataset!r} is not one of HUME's datasets.", mend="Pass the study of the hume suite."
        )
    return dataset


def _index_datasets_by_suite_member(study: PublishedStudy) -> Mapping[str, PaperDataset]:
    """Member of the suite -> the study's dataset, which the suite calls by one of its names."""
    titled = {member.dataset: study.dataset(member.title) for member in read_all_suites()[SUITE].members}
    return {name: dataset for name, dataset in titled.items() if dataset is not None}
