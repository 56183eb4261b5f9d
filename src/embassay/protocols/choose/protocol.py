"""A choice as a declaration: one task over documents, and what all systems together say of which to use."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from embassay.contracts import Similarity
from embassay.data import Dataset
from embassay.errors import UsageError
from embassay.measures import ndcg
from embassay.parquet import read_parquet
from embassay.protocols.choose.conclusions import (
    ChoiceStanding,
    SystemAnswers,
    choice_record,
    choice_tables,
    concluded_rows,
    deciding_questions,
    describe_so_far,
    find_contenders,
    make_standing,
)
from embassay.protocols.choose.lists import LABELS, QUERIES, list_asked, read_lists
from embassay.protocols.choose.options import FEW, ChoiceOptions, ChoiceRequest
from embassay.protocols.choose.questions import (
    BY_MODEL,
    DEPTH,
    FILE,
    CellOptions,
    ModelQuestion,
    QuestionCommission,
    SearchedPassages,
    TitledPassages,
    UserQuestions,
    cell_options,
    cut_at_ties,
    describe_questions,
    draft_tables,
    draw_commission,
    draw_probes,
    is_unspaced,
    open_writer,
    passage_gains,
    passage_ranks,
    read_posed,
    read_user_questions,
)
from embassay.protocols.choose.studies import write_grading_study
from embassay.protocols.kernel import evaluation, inputs
from embassay.protocols.kernel.estimates import Estimate, Items, Lost, estimate
from embassay.protocols.kernel.evaluation import Fields, Task
from embassay.protocols.kernel.outcome import Run
from embassay.protocols.kernel.plan import Plan
from embassay.protocols.kernel.session import Conclusion, Session, SilentListener
from embassay.protocols.live.systems import RetrieverProtocol
from embassay.protocols.questions import drafts
from embassay.protocols.questions.drafts import DRAFTS, Draft, QuestionWriter, read_drafts
from embassay.protocols.tasks.task import make_outcome
from embassay.records import Loaded, Result, Score, TaskOutcome
from embassay.registry import Registry
from embassay.runs.execution import Workers
from embassay.runs.folder import Cell, CellRecord, digest_json, to_json, write_atomic
from embassay.runs.forecast import Forecast, Forecasts
from embassay.runs.matrix import Matrix, make_matrix, write_matrices
from embassay.systems.remote import Ledger

TASK, HEADLINE = "choice", "found"
K = 10
TO_GRADE = "to_grade.jsonl"
"""The file of a run that names the questions to judge next."""
CONTENDERS = "contenders"
"""The folder of a run with what the likeliest systems found for them."""


@dataclass(frozen=True)
class ChoiceContext(evaluation.Context):
    """With the options of a choice."""

    options: CellOptions = field(default_factory=CellOptions)

    def __post_init__(self) -> None:
        # Where nothing is evaluated for a run, nothing is written for it either.
        if not isinstance(self.options, CellOptions):
            object.__setattr__(self, "options", cell_options(self.options, ""))


def evaluate_system(system: Similarity, data: TitledPassages, context: ChoiceContext) -> TaskOutcome:
    """What one system finds: items are nDCG@100 of every question by its family, rankings the first ten of each."""
    drawn, options = draw_probes(data, context.options, context.seed), context.options
    families = [(name, question) for name, asked in drawn.probe.questions.items() for question in asked]
    items = Items()
    if not families:
        reason = f"none of {len(drawn.ids):,} passages has enough words to be asked about"
        return make_outcome(HEADLINE, reason, items, n=0, counts={"documents": len(drawn.ids)})
    top = _search_places(system, [question.text for _, question in families], drawn.probe.texts)
    documents = Lost(system, drawn.ids, "documents")
    documents.see_texts(drawn.probe.texts)
    missed = Lost(system, [f"{name} {drawn.ids[question.row]}" for name, question in families], "questions")
    missed.see_texts(question.text for _, question in families)
    for lost in (documents, missed):
        if lost.too_many:
            return lost.without_score(HEADLINE, items)
    places = passage_ranks(top, np.array([question.row for _, question in families]))
    values = passage_gains(places)
    rankings = _Rankings(drawn.ids)
    by_passage: dict[str, list[float]] = {}
    scores = []
    is_missed = missed.mask
    for name in drawn.probe.questions:
        # A question that failed has no answer, which is not a wrong one.
        rows = [
            place for place, (family, _) in enumerate(families) if family == name and not is_missed[place]
        ]
        ids = [drawn.ids[families[place][1].row] for place in rows]
        items.add(ids, values[rows], HEADLINE, name)
        # The rank itself too: `conclusions` makes nearness of it.
        items.add(ids, places[rows], "rank", name)
        scores.append(_mean_estimate(values[rows], context, name).score(HEADLINE, variant=name))
        rankings.add(name, ids, top[rows, :K])
        for passage, value in zip(ids, values[rows].tolist(), strict=True):
            by_passage.setdefault(passage, []).append(value)
    scores += _search_written(system, drawn, context, items, rankings)
    if options.queries or options.labels:
        _search_asked(system, drawn, read_user_questions(options), items, rankings)
    means = np.array([np.mean(scored) for scored in by_passage.values()])
    result = make_outcome(
        HEADLINE, _mean_estimate(means, context, "passages"), items, n=len(means), scores=scores,
        skipped=(*documents.skipped, *missed.skipped),
        warnings=_choice_warnings(data, drawn, len(means)),
        counts={"documents": len(drawn.ids), "questions": len(families)}
    )  # fmt: skip
    return replace(result, rankings=rankings.columns)


def _search_places(
    system: Similarity, questions: Sequence[str], passages: Sequence[str]
) -> NDArray[np.int64]:
    """The places of the passages that are found, (questions, DEPTH), -1 where there is none."""
    ranked = system.search(questions, passages, DEPTH)
    # The places of a retriever's list are its own, and a list may end early.
    return ranked.indices if system.kind == "run" else cut_at_ties(ranked)


def _choice_warnings(data: TitledPassages, drawn: SearchedPassages, asked: int) -> Iterator[str]:
    """What makes the questions worth less."""
    if len(drawn.ids) < len(data):
        yield f"{len(drawn.ids):,} of {len(data):,} passages were drawn: among more, the right one is harder to find"
    if 2 * drawn.probe.halved > asked:
        yield (
            f"{drawn.probe.halved:,} of {asked:,} passages have a single sentence and give half of "
            "its words as the question, which tells less"
        )
    if drawn.probe.unasked:
        yield (
            f"{drawn.probe.unasked:,} passages were drawn and give no question: they are too short, "
            "or code, headings, lists, tables, templates or addresses"
        )
    if 2 * sum(map(is_unspaced, drawn.texts)) > len(drawn.texts):
        yield (
            "most passages have no spaces between words: on the one public collection like that, the "
            "choice was half as far below the best as a random one"
        )
    if asked < FEW:
        yield f"{asked:,} passages could be asked about: P(best) holds for {FEW} or more"


def _mean_estimate(values: NDArray[np.float64], context: ChoiceContext, purpose: str) -> Estimate:
    return estimate(values[:, None], lambda means: means[..., 0], context, purpose, "bootstrap over passages")


def _search_written(
    system: Similarity,
    drawn: SearchedPassages,
    context: ChoiceContext,
    items: Items,
    rankings: _Rankings,
) -> Iterator[Score]:
    """What a model asked, over the passages as they are: the sentences that hold the answers are in them."""
    places = {doc: row for row, doc in enumerate(drawn.ids)}
    by_kind: dict[str, list[ModelQuestion]] = {}
    for question in read_posed(context.options.written, context.dataset):
        by_kind.setdefault(f"{BY_MODEL}{question.kind}", []).append(question)
    for family, questions in by_kind.items():
        ids = [question.id for question in questions]
        top = _search_places(system, [question.text for question in questions], drawn.texts)
        ranked = passage_ranks(top, np.array([places[question.passage] for question in questions]))
        items.add(ids, passage_gains(ranked), HEADLINE, family)
        items.add(ids, ranked, "rank", family)
        rankings.add(family, ids, top[:, :K])
        yield _mean_estimate(passage_gains(ranked), context, family).score(HEADLINE, variant=family)


def _search_asked(
    system: Similarity,
    drawn: SearchedPassages,
    asked: UserQuestions,
    items: Items,
    rankings: _Rankings,
) -> None:
    """The user's questions, over the passages as they are; sentences of the documents, over these without them."""
    ids = list(asked.queries)
    without, own = drawn.without_sentences(asked.queries)
    top = np.empty((len(ids), K), dtype=np.int64)
    for texts, of_documents in ((drawn.texts, False), (without, True)):
        rows = [row for row, query in enumerate(ids) if (query in own) is of_documents]
        if rows:
            ranked = system.search([asked.queries[ids[row]] for row in rows], texts, K).indices
            # Of fewer passages than are looked at, rankings are shorter.
            top[rows] = np.pad(ranked, ((0, 0), (0, K - ranked.shape[1])), constant_values=-1)
    rankings.add(QUERIES, ids, top)
    places = {query: place for place, query in enumerate(ids)}
    judged = drawn.searched_judgements(asked)
    listed = {query: [drawn.ids[row] for row in top[places[query]].tolist() if row >= 0] for query in judged}
    if judged:
        items.add(list(judged), np.asarray(ndcg(judged, listed, K)), "ndcg@10", LABELS)


class _Rankings:
    """The first ten of every question, as columns."""

    def __init__(self, ids: Sequence[str]) -> None:
        self.columns: dict[str, list[Any]] = {"query_id": [], "version": [], "rank": [], "doc_id": []}
        self._ids = ids

    def add(self, version: str, ids: Sequence[str], top: NDArray[np.int64]) -> None:
        for query, rows in zip(ids, top.tolist(), strict=True):
            for rank, row in enumerate(rows, 1):
                if row >= 0:
                    for name, value in zip(self.columns, (query, version, rank, self._ids[row]), strict=True):
                        self.columns[name].append(value)


def choice_task() -> Task:
    """Which system finds what the documents ask of themselves?"""

    def load(dataset: Dataset, limit: int | None, seed: int) -> Loaded[Any]:
        documents = _corpus_as_documents(dataset)
        loaded: Loaded[Any] = documents.load("documents", limit=limit, seed=seed)
        titles = _passage_titles(documents) if "title" in documents.parts["documents"].columns() else {}
        data = loaded.data
        return replace(
            loaded, data=TitledPassages(data.ids, data.texts, [titles.get(doc, "") for doc in data.ids])
        )

    def fields(data: TitledPassages) -> Fields:
        return {"text": (data.ids, data.texts)}

    return Task(TASK, "Choice", ("documents", "retrieval"), HEADLINE, 2, evaluate_system, load, fields)


def _corpus_as_documents(dataset: Dataset) -> Dataset:
    """A retrieval set described table by table as documents: those of its corpus."""
    if "documents" in dataset.parts:
        return dataset
    return replace(dataset, parts={**dataset.parts, "documents": dataset.parts["corpus"]})


def _passage_titles(dataset: Dataset) -> dict[str, str]:
    rows = dataset.parts["documents"].rows(("id", "title"))
    return {str(row.cells.get("id")): str(row.cells.get("title") or "") for row in rows}


TASKS: Registry[Task] = Registry("task", makes=[("name", "headline")])
TASKS.add(TASK, "embassay.protocols.choose.protocol:choice_task", "which system to use, without labels")


class Choices(RetrieverProtocol):
    """Which system to use on documents without labels: P(best), expected regret, and what labels would decide."""

    name = "choose"
    version = 4
    tasks = TASKS
    paper = (TASK,)
    context = ChoiceContext
    options = ChoiceOptions
    request = ChoiceRequest
    kinds: ClassVar = {TASK: "search"}
    compared = "own"
    cheapest_first = True

    def __init__(self) -> None:
        self.commissions: tuple[QuestionCommission, ...] = ()
        """What a model is to write, by dataset; none without a model."""
        self.drafts: dict[str, Draft] = {}
        self.failed: dict[tuple[str, str], str] = {}
        self.written: str | None = ""
        """The questions that a model wrote, as a file; None where they are not all there yet."""

    def texts(self, task: Task, data: TitledPassages, options: ChoiceOptions) -> int:
        """Passages that are searched, and questions in their wordings."""
        del task
        searched = min(len(data), options.passages)
        return searched + 6 * min(searched, options.questions)

    def needed(self, task: str, system: Similarity, data: Any, fields: Any, options: Any) -> Any:
        """Of the passages that are searched."""
        few = TitledPassages(*(column[: options.passages] for column in (data.ids, data.texts, data.titles)))
        del fields
        return super().needed(task, system, few, {"text": (few.ids, few.texts)}, options)

    def own_key(self, system: Any, task: Any) -> dict[str, Any]:
        """What the files of questions and judgements hold, and what a model wrote."""
        del system, task
        return {**self.files, **({"written": digest_json(self.written)} if self.written else {})}

    def plan(self, request: Any, cache: Path | None = None, ledger: Ledger | None = None) -> Plan:
        """UsageError besides where there is nothing to choose between."""
        options = request.options
        self.files = {}
        self.written = None if options.llm else ""
        if options.queries or options.labels:
            asked = read_user_questions(cell_options(options, ""))
            self.files = {"users": digest_json([asked.queries, asked.qrels])}
        writer = open_writer(options, request.seed, cache, ledger) if options.llm else None
        plan = super().plan(request, cache, ledger)
        if sum(system.kind != "reference" for system in plan.systems) < 2:
            raise UsageError(
                "There is nothing to choose between.",
                mend="Name two systems or more: -s bm25 -s wordllama -s minilm.",
            )
        for dataset in plan.datasets if options.labels else ():
            draw_probes(self.loaded(request, dataset.source, TASK).data, options, request.seed)
        if writer is None:
            return plan
        self.drafts = read_drafts(self.folder.path / DRAFTS)
        self.commissions = tuple(self._commissions(plan, writer))
        if not any(job.lacks(self.drafts) for job in self.commissions):
            self.written = self._questions()
        return replace(plan, cells=tuple(self._cells(plan)))

    def _commissions(self, plan: Plan, writer: QuestionWriter) -> Iterator[QuestionCommission]:
        request = plan.request
        for planned_dataset in plan.datasets:
            drawn = draw_probes(
                self.loaded(request, planned_dataset.source, TASK).data, request.options, request.seed
            )
            dataset = inputs.open_request_dataset(request.dataset(planned_dataset.source))
            kinds = request.options.asked_kinds
            yield draw_commission(writer, kinds, dataset, planned_dataset.name, frozenset(drawn.ids))

    def _questions(self) -> str:
        return "".join(to_json(row) + "\n" for job in self.commissions for row in job.rows(self.drafts))

    def _cells(self, plan: Plan) -> Iterator[Cell]:
        """None before all that a model is to write is there: what cells are asked is part of what they are."""
        path = str(self.folder.path / FILE) if self.written else ""
        for cell in super()._cells(plan) if self.written is not None else ():
            job: Any = cell.job
            yield replace(cell, job=replace(job, options=cell_options(job.options, path)))

    def forecast(self, plan: Plan, *, measure: bool = True) -> Forecasts:
        """What a model is to write, and then the cells."""
        heads = (
            (job, Forecast(f"questions: {kind}", job.dataset, "", 0, 0, 0), kind, drawn)
            for job in self.commissions
            for kind, drawn in job.drawn.items()
        )
        written = [
            forecast
            for job, head, kind, drawn in heads
            for forecast in drafts.forecast_drafts(head, job.writer, kind, drawn, self.drafts)
        ]
        cells = super().forecast(plan, measure=measure)
        note = drafts.describe_total(written, self.commissions[0].writer, self.drafts) if written else ""
        notes = (*([note] if note else []), *cells.notes)
        return replace(cells, cells=(*written, *cells.cells), notes=notes)

    def describe_run(self, plan: Plan) -> dict[str, Any]:
        """What became of the questions that a model was to write."""
        del plan
        questions = describe_questions(self.commissions, self.drafts, self.failed)
        return {"questions": questions} if questions else {}

    def told_at_the_end(self, session: Session) -> Mapping[str, Any]:
        """The same once they are written."""
        return {**super().told_at_the_end(session), **self.describe_run(session.plan)}

    def cell_options(self, plan: Plan) -> CellOptions:
        """With the questions that a model wrote."""
        return cell_options(plan.request.options, str(self.folder.path / FILE) if self.written else "")

    def work(self, session: Session, listener: SilentListener) -> None:
        """What a model writes, the cells, and then the questions whose judgements would tell most, with the passages
        to grade and the rankings of the likeliest systems."""
        if self.written is None:
            session.whole = False
            self._write(listener, session.accounts.ledger)
            session.plan = replace(session.plan, cells=tuple(self._cells(session.plan)))
            session.whole = not self.failed
        if self.written:
            write_atomic(self.folder.path / FILE, self.written)
        super().work(session, listener)
        plan, matrices = session.plan, []
        for dataset in plan.datasets:
            answers = self._answered(plan, dataset.name, session.ended())
            if len(answers) > 1:
                result = self._concluded(plan, dataset.name, answers)
                rows = self._to_grade(plan, dataset.source, answers, result)
                if rows:
                    write_atomic(self.folder.path / TO_GRADE, "".join(to_json(row) + "\n" for row in rows))
                named = {(row["asked by"], row["id"]) for row in rows}
                lists = self._rankings(dataset.name, named, result)
                write_grading_study(self.folder.path, rows, lists, plan.request.seed)
                matrices.append(self._matrix(plan, dataset.source, dataset.name, answers))
        write_matrices(self.folder.path, matrices)

    def tell_so_far(self, session: Session, listener: SilentListener) -> None:
        """Who may be best of the systems that have answered, while others are still to come."""
        plan, ended = session.plan, session.ended()
        for dataset in plan.datasets:
            answers = self._answered(plan, dataset.name, ended)
            missing = [name for name in _contender_names(plan) if name not in answers]
            if len(answers) > 1 and missing:
                listener.interim(describe_so_far(self._concluded(plan, dataset.name, answers), missing))

    def _write(self, listener: SilentListener, ledger: Ledger) -> None:
        for job in self.commissions:
            path = self.folder.path / DRAFTS
            self.failed |= drafts.write_drafts(job.writer, job.drawn, path, self.drafts, listener, ledger)
            job.writer.chat.cache.close()
        self.written = self._questions()

    def _rankings(
        self, dataset: str, questions: Container[tuple[str, str]], result: ChoiceStanding
    ) -> dict[str, list[list[str]]]:
        """What the likeliest systems found for the questions to grade, as runs that `rag golden` adds to its pools; and
        by question."""
        lists: dict[str, list[list[str]]] = {}
        for name in find_contenders(result):
            path = self.folder.items_path(TASK, dataset, name, ".rankings")
            by_question: dict[str, list[dict[str, str]]] = {}
            columns = ["version", "query_id", "doc_id"]
            for family, query, doc in read_parquet(path, columns).iter_rows():
                if (family, query) in questions:
                    by_question.setdefault(query, []).append({"id": doc})
            lines = (
                to_json({"query_id": query, "documents": docs}) + "\n" for query, docs in by_question.items()
            )
            write_atomic(self.folder.path / CONTENDERS / f"{path.name.split('.')[0]}.jsonl", "".join(lines))
            for query, docs in by_question.items():
                lists.setdefault(query, []).append([doc["id"] for doc in docs])
        return lists

    def _to_grade(
        self, plan: Plan, source: str, answers: Mapping[str, SystemAnswers], result: ChoiceStanding
    ) -> list[dict[str, Any]]:
        options = plan.request.options
        drawn = draw_probes(self.loaded(plan.request, source, TASK).data, options, plan.request.seed)
        places = {doc: row for row, doc in enumerate(drawn.ids)}
        posed = {
            drawn.ids[question.row]: question.text for question in drawn.probe.questions.get("sentence", ())
        }
        readable = frozenset(drawn.ids[row] for row in drawn.probe.readable)
        posed |= {item.id: item.text for item in read_posed(str(self.folder.path / FILE), result.dataset)}
        posed |= read_user_questions(cell_options(options, "")).queries
        return [
            {
                "id": question, "text": posed[question], "asked by": family,
                # The passage that a sentence was taken from is shown as it was searched.
                "passages": [
                    {"id": doc, "text": drawn.read_by_people(places[doc], asked=doc == question)}
                    for doc in passages
                ],
            }
            for family, question, passages in deciding_questions(answers, result, readable)
        ]  # fmt: skip

    def _matrix(self, plan: Plan, source: str, dataset: str, answers: Mapping[str, SystemAnswers]) -> Matrix:
        """The user's judged questions, a model's, and the sentences of the documents, by what each system has first."""
        options = plan.request.options
        drawn = draw_probes(self.loaded(plan.request, source, TASK).data, options, plan.request.seed)
        questions = dict(list_asked(drawn, options, str(self.folder.path / FILE), dataset))
        families = {question.id: family for question, family in questions.items()}
        lists, ranks = {}, {}
        for name, own in answers.items():
            path = self.folder.items_path(TASK, dataset, name, ".rankings")
            lists[name] = read_lists(path, families)
            ranks[name] = own.ranks_in(families)
        texts = {doc: drawn.read_by_people(row) for row, doc in enumerate(drawn.ids)}
        return make_matrix(dataset, questions, lists, texts, ranks)

    def call(self, request: Any, out: Path) -> str:
        """The call from Python that makes the run, for its manifest."""
        return f"embassay.choose({list(request.systems)!r}, {request.datasets[0]!r}, out={str(out)!r})"

    def conclude(self, plan: Plan, records: Sequence[CellRecord], rows: Sequence[Result]) -> Conclusion:
        """Besides who finds what: P(best), expected regret, and what labels would decide."""
        before = super().conclude(plan, records, rows)
        answered = {dataset.name: self._answered(plan, dataset.name, records) for dataset in plan.datasets}
        settled = [self._concluded(plan, name, heard) for name, heard in answered.items() if len(heard) > 1]
        more = [row for result in settled for row in concluded_rows(result, plan.request.seed)]
        tables = [table for result in settled for table in choice_tables(result)]
        tables += draft_tables(self.commissions, self.drafts)
        choices = {result.dataset: choice_record(result) for result in settled}
        return replace(
            before, rows=[*before.rows, *more], tables=[*before.tables, *tables],
            comparisons={**before.comparisons, "choice": choices}
        )  # fmt: skip

    def _answered(self, plan: Plan, dataset: str, records: Sequence[CellRecord]) -> dict[str, SystemAnswers]:
        done = {record.system for record in records if record.done and record.dataset == dataset}
        return {
            name: answers
            for name in _contender_names(plan)
            if name in done and (answers := self._answers(dataset, name)) is not None
        }

    def _concluded(self, plan: Plan, dataset: str, answers: Mapping[str, SystemAnswers]) -> ChoiceStanding:
        missing = [name for name in _contender_names(plan) if name not in answers]
        options = plan.request.options
        return make_standing(
            dataset, plan.lang(dataset), answers, options.tolerance, plan.request.seed, missing
        )

    def _answers(self, dataset: str, system: str) -> SystemAnswers | None:
        paths = [self.folder.items_path(TASK, dataset, system, suffix) for suffix in ("", ".rankings")]
        return read_answers(*paths) if all(path.exists() for path in paths) else None


def _contender_names(plan: Plan) -> list[str]:
    return [system.name for system in plan.systems if system.kind != "reference"]


def read_answers(items: Path, rankings: Path) -> SystemAnswers | None:
    """Of the files of a cell; None where it has no questions."""
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
class ShownPassage:
    """A passage as it is searched, and the question that it asks of itself (empty: none)."""

    id: str
    text: str
    question: str


def show_passages(request: ChoiceRequest, n: int) -> list[ShownPassage]:
    """The first `n` of the passages that a choice would search, in their order. DataError where the documents cannot be
    read."""
    dataset = inputs.open_request_dataset(request.dataset(request.datasets[0]))
    data = choice_task().load(dataset, request.limit, request.seed).data
    drawn = draw_probes(data, request.options, request.seed)
    asked = {question.row: question.text for question in drawn.probe.questions.get("sentence", ())}
    places = range(min(n, len(drawn.ids)))
    return [ShownPassage(drawn.ids[row], drawn.read_by_people(row), asked.get(row, "")) for row in places]


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
    return Choices().run(
        systems, datasets=[corpus], out=out, workers=workers, cache=cache, listener=listener, max_usd=max_usd,
        **arguments
    )  # fmt: skip
