"""A choice as a declaration: one task over documents, and what all systems together say of which to use."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar

from embassay.contracts import Similarity
from embassay.errors import UsageError
from embassay.parquet import read_parquet
from embassay.protocols.choose.conclusions import (
    ChoiceConclusions,
    SystemAnswers,
    conclude_best_system_choice,
    describe_further_question_round,
    describe_likely_best,
    find_possible_best_systems,
    list_contending_systems,
    make_choice_record,
    make_choice_rows,
    make_choice_tables,
    rank_deciding_questions,
)
from embassay.protocols.choose.lists import LABELS, iterate_questions_with_known_passages, read_first_passages
from embassay.protocols.choose.options import ChoiceOptions, ChoiceRequest, plan_passage_draw_sizes
from embassay.protocols.choose.questions import (
    FAMILIES,
    FILE,
    ChooseProtocolCellOptions,
    QuestionWritingTask,
    SearchedPassages,
    TitledPassages,
    build_written_questions_record,
    draw_searched_passages,
    make_choice_cell_options,
    make_draft_outcome_tables,
    make_question_commission,
    open_choice_question_writer,
    read_user_questions,
    read_written_questions,
)
from embassay.protocols.choose.studies import write_grading_study
from embassay.protocols.choose.task import TASK, TASKS, ChoiceContext, make_system_choice_task
from embassay.protocols.kernel import inputs
from embassay.protocols.kernel.evaluation import Task
from embassay.protocols.kernel.outcome import Run
from embassay.protocols.kernel.plan import Plan
from embassay.protocols.kernel.session import CellRunAttempt, RunConclusions, SilentListener
from embassay.protocols.live.systems import RetrieverProtocol
from embassay.protocols.questions import drafts
from embassay.protocols.questions.drafts import (
    DRAFTS,
    QuestionDraftWithResult,
    QuestionWriterAndChecker,
    read_question_drafts,
)
from embassay.records import ResultRow
from embassay.runs.execution import Workers
from embassay.runs.folder import (
    CellRecord,
    RunCell,
    digest_json,
    format_json_lines,
    write_file_atomically,
    write_json_lines,
)
from embassay.runs.forecast import CellForecast, RunForecast
from embassay.runs.matrix import QuestionMatrix, build_question_matrix, write_question_matrices
from embassay.systems.remote import Ledger

TO_GRADE = "to_grade.jsonl"
"""The file of a run that names the questions to judge next."""
CONTENDERS = "contenders"
"""The folder of a run with what the likeliest systems found for them."""


class SystemChoiceProtocol(RetrieverProtocol):
    """The protocol that chooses a system for documents without labels."""

    name = "choose"
    version = 5
    tasks = TASKS
    paper = (TASK,)
    context = ChoiceContext
    options = ChoiceOptions
    request = ChoiceRequest
    kinds: ClassVar = {TASK: "search"}
    compared = "own"
    cheapest_first = True

    def __init__(self) -> None:
        self.commissions: tuple[QuestionWritingTask, ...] = ()
        """What a model is to write, by dataset; none without a model."""
        self.drafts: dict[str, QuestionDraftWithResult] = {}
        self.failed: dict[tuple[str, str], str] = {}
        self.written: str | None = ""
        """The questions that a model wrote, as a file; None where they are not all there yet."""
        self.asked: dict[tuple[str, str], int] = {}
        """How many passages a system is asked about, by dataset and system, where it is more than at first."""

    def texts(self, task: Task, data: TitledPassages, options: ChoiceOptions) -> int:
        """Count the passages that are searched, and the questions in their wordings."""
        del task
        searched = min(len(data), options.passages)
        return searched + len(FAMILIES) * min(searched, options.questions)

    def needed(self, task: str, system: Similarity, data: Any, fields: Any, options: Any) -> Any:
        """Estimate the memory that a cell needs for the passages that are searched."""
        few = TitledPassages(*(column[: options.passages] for column in (data.ids, data.texts, data.titles)))
        del fields
        return super().needed(task, system, few, {"text": (few.ids, few.texts)}, options)

    def list_extra_key_fields(self, system: Any, task: Any) -> dict[str, Any]:
        """List what else the values depend on: question and judgement files, and what a model wrote."""
        del system, task
        return {**self.files, **({"written": digest_json(self.written)} if self.written else {})}

    def plan_run(self, request: Any, cache: Path | None = None, ledger: Ledger | None = None) -> Plan:
        """Plan a run; UsageError also where there is nothing to choose between."""
        options = request.options
        self.files = {}
        self.written = None if options.llm else ""
        if options.queries or options.labels:
            asked = read_user_questions(make_choice_cell_options(options, ""))
            self.files = {"users": digest_json([asked.queries, asked.qrels])}
        writer = open_choice_question_writer(options, request.seed, cache, ledger) if options.llm else None
        plan = super().plan_run(request, cache, ledger)
        if sum(system.kind != "reference" for system in plan.systems) < 2:
            raise UsageError(
                "A choice needs at least two systems.", mend="Name two or more: -s bm25 -s wordllama -s minilm."
            )
        for dataset in plan.datasets if options.labels else ():
            self._draw_searched_passages(plan, dataset.source)
        if writer is None:
            return plan
        self.drafts = read_question_drafts(self.folder.path / DRAFTS)
        self.commissions = tuple(self._draw_passages_for_question_writers(plan, writer))
        if not any(job.has_undecided_questions(self.drafts) for job in self.commissions):
            self.written = self._format_kept_questions_as_json_lines()
        return replace(plan, cells=tuple(self._plan_cells(plan)))

    def _draw_passages_for_question_writers(
        self, plan: Plan, writer: QuestionWriterAndChecker
    ) -> Iterator[QuestionWritingTask]:
        request = plan.request
        for planned_dataset in plan.datasets:
            drawn = self._draw_searched_passages(plan, planned_dataset.source)
            dataset = inputs.open_request_dataset(request.dataset(planned_dataset.source))
            kinds = request.options.written_question_kinds
            yield make_question_commission(writer, kinds, dataset, planned_dataset.name, frozenset(drawn.ids))

    def _format_kept_questions_as_json_lines(self) -> str:
        return format_json_lines(row for job in self.commissions for row in job.rows(self.drafts))

    def _plan_cells(self, plan: Plan) -> Iterator[RunCell]:
        """Plan the cells, none before all that a model is to write is there."""
        path = str(self.folder.path / FILE) if self.written else ""
        for cell in super()._plan_cells(plan) if self.written is not None else ():
            job: Any = cell.job
            asked = self._count_asked_passages(plan, cell.dataset, cell.system)
            key = digest_json([cell.key, asked]) if asked < job.options.questions else cell.key
            yield replace(cell, key=key, job=replace(job, options=make_choice_cell_options(job.options, path, asked)))

    def _count_asked_passages(self, plan: Plan, dataset: str, system: str) -> int:
        """How many passages the system is asked about, so far."""
        return self.asked.get((dataset, system), plan_passage_draw_sizes(plan.request.options.questions)[0])

    def forecast_cost(self, plan: Plan, *, measure: bool = True) -> RunForecast:
        """Forecast the cost of what a model is to write, and then of the cells."""
        heads = (
            (job, CellForecast(f"questions: {kind}", job.dataset, "", 0, 0, 0), kind, drawn)
            for job in self.commissions
            for kind, drawn in job.drawn.items()
        )
        written = [
            forecast
            for job, head, kind, drawn in heads
            for forecast in drafts.forecast_writer_calls_for_drafts(head, job.writer, kind, drawn, self.drafts)
        ]
        cells = super().forecast_cost(plan, measure=measure)
        note = drafts.describe_forecast_uncertainty(written, self.commissions[0].writer, self.drafts) if written else ""
        notes = (*([note] if note else []), *cells.notes)
        return replace(cells, cells=(*written, *cells.cells), notes=notes)

    def list_own_manifest_fields(self, plan: Plan) -> dict[str, Any]:
        """What became of the questions that a model was to write."""
        del plan
        questions = build_written_questions_record(self.commissions, self.drafts, self.failed)
        return {"questions": questions} if questions else {}

    def list_closing_manifest_fields(self, session: CellRunAttempt) -> Mapping[str, Any]:
        """List the closing manifest fields: what became of the questions once they are written."""
        return {**super().list_closing_manifest_fields(session), **self.list_own_manifest_fields(session.plan)}

    def choose_cell_options(self, plan: Plan) -> ChooseProtocolCellOptions:
        """Choose the options of the cells, with the questions that a model wrote."""
        return make_choice_cell_options(plan.request.options, str(self.folder.path / FILE) if self.written else "")

    def run_cells(self, session: CellRunAttempt, listener: SilentListener) -> None:
        """What a model writes, the cells, and then the questions whose judgements would tell most, with the passages
        to grade and the rankings of the likeliest systems."""
        if self.written is None:
            session.whole = False
            self._draft_questions_with_models(listener, session.accounts.ledger)
            session.plan = replace(session.plan, cells=tuple(self._plan_cells(session.plan)))
            session.whole = not self.failed
        if self.written:
            write_file_atomically(self.folder.path / FILE, self.written)
        self._ask_systems_in_rounds(session, listener)
        plan, matrices = session.plan, []
        for dataset in plan.datasets:
            answers = self._read_answers_by_contender(plan, dataset.name, session.list_ended_cells())
            if len(answers) > 1:
                result = self._make_choice_conclusions_of_dataset(plan, dataset.name, answers)
                rows = self._list_questions_to_grade(plan, dataset.source, answers, result)
                if rows:
                    write_json_lines(self.folder.path / TO_GRADE, rows)
                named = {(row["asked by"], row["id"]) for row in rows}
                lists = self._collect_rankings_of_contending_systems(dataset.name, named, result)
                write_grading_study(self.folder.path, rows, lists, plan.request.seed)
                matrices.append(self._build_question_matrix(plan, dataset.source, dataset.name, answers))
        write_question_matrices(self.folder.path, matrices)

    def _ask_systems_in_rounds(self, session: CellRunAttempt, listener: SilentListener) -> None:
        """Ask systems about a few passages first, and about more where that does not decide."""
        known = set(session.records)
        super().run_cells(session, listener)
        for before, asked in pairwise(plan_passage_draw_sizes(session.plan.request.options.questions)):
            contending: dict[tuple[str, str], int] = {}
            for standing in self._list_undecided_conclusions(session, before):
                contending |= {(standing.dataset, name): asked for name in find_possible_best_systems(standing)}
                listener.interim(describe_further_question_round(standing, before, asked))
            if not contending:
                break
            is_fresh = not known.issuperset(session.records)
            self.asked |= contending
            session.plan = replace(session.plan, cells=tuple(self._plan_cells(session.plan)))
            for cell in session.plan.cells:
                # Who has just been asked about a few has lost what it said of more.
                if is_fresh and (cell.dataset, cell.system) in contending:
                    self.folder.get_cell_record_path(cell).unlink(missing_ok=True)
            # Retrievers were asked about all draws at once.
            session.do(listener)

    def _list_undecided_conclusions(self, session: CellRunAttempt, asked: int) -> Iterator[ChoiceConclusions]:
        """What is concluded on the datasets where that is not enough to name one system, and more passages than were
        asked about could ask."""
        plan, ended = session.plan, session.list_ended_cells()
        for dataset in plan.datasets:
            answers = self._read_answers_by_contender(plan, dataset.name, ended)
            able = len(self._draw_searched_passages(plan, dataset.source).probe.questions.get("sentence", ()))
            if len(answers) > 1 and able > asked:
                standing = self._make_choice_conclusions_of_dataset(plan, dataset.name, answers)
                if not standing.is_choice_sure:
                    yield standing

    def _draw_searched_passages(self, plan: Plan, source: str) -> SearchedPassages:
        request = plan.request
        return draw_searched_passages(self.load_task_data(request, source, TASK).data, request.options, request.seed)

    def report_interim_results(self, session: CellRunAttempt, listener: SilentListener) -> None:
        """Report who may be best of the systems that have answered, while others are to come."""
        if self.asked:
            return
        plan, ended = session.plan, session.list_ended_cells()
        for dataset in plan.datasets:
            answers = self._read_answers_by_contender(plan, dataset.name, ended)
            missing = [name for name in _list_contender_names(plan) if name not in answers]
            if len(answers) > 1 and missing:
                listener.interim(
                    describe_likely_best(self._make_choice_conclusions_of_dataset(plan, dataset.name, answers), missing)
                )

    def _draft_questions_with_models(self, listener: SilentListener, ledger: Ledger) -> None:
        for job in self.commissions:
            path = self.folder.path / DRAFTS
            self.failed |= drafts.draft_missing_questions(job.writer, job.drawn, path, self.drafts, listener, ledger)
            job.writer.chat.cache.close()
        self.written = self._format_kept_questions_as_json_lines()

    def _collect_rankings_of_contending_systems(
        self, dataset: str, questions: Container[tuple[str, str]], result: ChoiceConclusions
    ) -> dict[str, list[list[str]]]:
        """What the likeliest systems found for the questions to grade, as runs that `rag golden` adds to its pools; and
        by question."""
        lists: dict[str, list[list[str]]] = {}
        for name in list_contending_systems(result):
            path = self.folder.locate_cell_items(TASK, dataset, name, ".rankings")
            by_question: dict[str, list[dict[str, str]]] = {}
            columns = ["version", "query_id", "doc_id"]
            for family, query, doc in read_parquet(path, columns).iter_rows():
                if (family, query) in questions:
                    by_question.setdefault(query, []).append({"id": doc})
            write_json_lines(
                self.folder.path / CONTENDERS / f"{path.name.split('.')[0]}.jsonl",
                ({"query_id": query, "documents": docs} for query, docs in by_question.items()),
            )
            for query, docs in by_question.items():
                lists.setdefault(query, []).append([doc["id"] for doc in docs])
        return lists

    def _list_questions_to_grade(
        self, plan: Plan, source: str, answers: Mapping[str, SystemAnswers], result: ChoiceConclusions
    ) -> list[dict[str, Any]]:
        options, drawn = plan.request.options, self._draw_searched_passages(plan, source)
        places = {doc: row for row, doc in enumerate(drawn.ids)}
        posed = {drawn.ids[question.row]: question.text for question in drawn.probe.questions.get("sentence", ())}
        readable = frozenset(drawn.ids[row] for row in drawn.probe.readable)
        posed |= {item.id: item.text for item in read_written_questions(str(self.folder.path / FILE), result.dataset)}
        posed |= read_user_questions(make_choice_cell_options(options, "")).queries
        return [
            {
                "id": question, "text": posed[question], "asked by": family,
                # The passage that a sentence was taken from is shown as it was searched.
                "passages": [
                    {"id": doc, "text": drawn.format_passage_for_people(places[doc], asked=doc == question)}
                    for doc in passages
                ],
            }
            for family, question, passages in rank_deciding_questions(answers, result, readable)
        ]  # fmt: skip

    def _build_question_matrix(
        self, plan: Plan, source: str, dataset: str, answers: Mapping[str, SystemAnswers]
    ) -> QuestionMatrix:
        """The user's judged questions, a model's, and the sentences of the documents, by what each system has first."""
        options, drawn = plan.request.options, self._draw_searched_passages(plan, source)
        asked = min(self._count_asked_passages(plan, dataset, name) for name in answers)
        questions = dict(
            iterate_questions_with_known_passages(drawn, options, str(self.folder.path / FILE), dataset, asked)
        )
        families = {question.id: family for question, family in questions.items()}
        lists, ranks = {}, {}
        for name, own in answers.items():
            path = self.folder.locate_cell_items(TASK, dataset, name, ".rankings")
            lists[name] = read_first_passages(path, families)
            ranks[name] = own.map_questions_to_passage_rank(families)
        texts = {doc: drawn.format_passage_for_people(row) for row, doc in enumerate(drawn.ids)}
        return build_question_matrix(dataset, questions, lists, texts, ranks)

    def format_python_call(self, request: Any, out: Path) -> str:
        """The call from Python that makes the run, for its manifest."""
        return f"embassay.choose({list(request.systems)!r}, {request.datasets[0]!r}, out={str(out)!r})"

    def draw_conclusions(self, plan: Plan, records: Sequence[CellRecord], rows: Sequence[ResultRow]) -> RunConclusions:
        """Conclude who finds what, P(best), expected regret, and what labels would decide."""
        before = super().draw_conclusions(plan, records, rows)
        answered = {
            dataset.name: self._read_answers_by_contender(plan, dataset.name, records) for dataset in plan.datasets
        }
        settled = [
            self._make_choice_conclusions_of_dataset(plan, name, heard)
            for name, heard in answered.items()
            if len(heard) > 1
        ]
        more = [row for result in settled for row in make_choice_rows(result, plan.request.seed)]
        tables = [table for result in settled for table in make_choice_tables(result)]
        tables += make_draft_outcome_tables(self.commissions, self.drafts)
        choices = {result.dataset: make_choice_record(result) for result in settled}
        return replace(
            before, rows=[*before.rows, *more], tables=[*before.tables, *tables],
            comparisons={**before.comparisons, "choice": choices}
        )  # fmt: skip

    def _read_answers_by_contender(
        self, plan: Plan, dataset: str, records: Sequence[CellRecord]
    ) -> dict[str, SystemAnswers]:
        done = {record.system for record in records if record.done and record.dataset == dataset}
        return {
            name: answers
            for name in _list_contender_names(plan)
            if name in done and (answers := self._read_system_answers(plan, dataset, name)) is not None
        }

    def _make_choice_conclusions_of_dataset(
        self, plan: Plan, dataset: str, answers: Mapping[str, SystemAnswers]
    ) -> ChoiceConclusions:
        missing = [name for name in _list_contender_names(plan) if name not in answers]
        options = plan.request.options
        return conclude_best_system_choice(
            dataset, plan.lang(dataset), answers, options.tolerance, plan.request.seed, missing
        )

    def _read_system_answers(self, plan: Plan, dataset: str, system: str) -> SystemAnswers | None:
        """What the system answered, as far as it has been asked by now: a run that goes on decides as it did before,
        whatever it was asked later."""
        paths = [self.folder.locate_cell_items(TASK, dataset, system, suffix) for suffix in ("", ".rankings")]
        answers = read_cell_answers(*paths) if all(path.exists() for path in paths) else None
        asked = self._count_asked_passages(plan, dataset, system)
        if answers is None or asked >= plan.request.options.questions:
            return answers
        drawn = self._draw_searched_passages(
            plan, next(planned.source for planned in plan.datasets if planned.name == dataset)
        )
        posed = drawn.probe.list_questions_of_first_passages(asked)
        return answers.restrict_to_questions(
            {name: {drawn.ids[own.row] for own in group} for name, group in posed.items()}
        )


def _list_contender_names(plan: Plan) -> list[str]:
    return [system.name for system in plan.systems if system.kind != "reference"]


def read_cell_answers(items: Path, rankings: Path) -> SystemAnswers | None:
    """Read a system's answers from the files of a cell; None where it has no questions."""
    places: dict[str, dict[str, int]] = {}
    judged: dict[str, float] = {}
    columns = ["item_id", "variant", "measure", "value"]
    for item, variant, measure, value in read_parquet(items, columns).iter_rows():
        if measure == "rank":
            places.setdefault(variant, {})[item] = int(value)
        elif variant == LABELS and value is not None:
            judged[item] = value
    first: dict[str, dict[str, set[str]]] = {}
    for query, version, doc in read_parquet(rankings, ["query_id", "version", "doc_id"]).iter_rows():
        first.setdefault(version, {}).setdefault(query, set()).add(doc)
    frozen = {name: {key: frozenset(docs) for key, docs in hits.items()} for name, hits in first.items()}
    return SystemAnswers(places, judged, frozen) if places else None


@dataclass(frozen=True)
class PassageWithOwnQuestion:
    """A passage as it is searched, and the question that it asks of itself (empty: none)."""

    id: str
    text: str
    question: str


def list_first_searched_passages(request: ChoiceRequest, n: int) -> list[PassageWithOwnQuestion]:
    """The first `n` of the passages that a choice would search, in their order. DataError where the documents cannot be
    read."""
    dataset = inputs.open_request_dataset(request.dataset(request.datasets[0]))
    data = make_system_choice_task().load(dataset, request.limit, request.seed).data
    drawn = draw_searched_passages(data, request.options, request.seed)
    asked = {question.row: question.text for question in drawn.probe.questions.get("sentence", ())}
    places = range(min(n, len(drawn.ids)))
    return [
        PassageWithOwnQuestion(drawn.ids[row], drawn.format_passage_for_people(row), asked.get(row, ""))
        for row in places
    ]


def choose(
    systems: Sequence[Any] | Mapping[str, Any],
    corpus: Any,
    *,
    out: str | Path | None = None,
    workers: Workers = 1,
    cache: Path | None = None,
    listener: SilentListener | None = None,
    max_usd: float | None = None,
    **arguments: Any,
) -> Run:
    """Choose among two systems or more for a corpus without labels, resuming what is unfinished in `out`; the run.

    `corpus` is a folder of documents, a table with a column `text`, a name of the catalogue, a frame or a list of
    dictionaries. Further arguments are those of `TaskProtocol.run`, `tokenizer` being "words" where it isn't given;
    `options` are `ChoiceOptions`. `run.table("choice")` has the systems, the likeliest first.
    """
    arguments.setdefault("tokenizer", "words")
    return SystemChoiceProtocol().run(
        systems, datasets=[corpus], out=out, workers=workers, cache=cache, listener=listener, max_usd=max_usd,
        **arguments
    )  # fmt: skip
