"""A golden set from request to finished folder, stage by stage, resuming what is there."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import starmap
from pathlib import Path
from statistics import mean
from typing import TYPE_CHECKING, Any

from embassay.contracts import ChatMessage
from embassay.data.judged_runs import AnswerTextMatcher, rank_passages_by_question, read_run_entries
from embassay.errors import DataError, UsageError
from embassay.protocols.kernel.forecast import TaskCostForecaster, TaskWorkloadForForecast
from embassay.protocols.kernel.outcome import Run, format_current_utc_time
from embassay.protocols.kernel.plan import Plan, PlannedDataset, PlannedSystem, PlannedTask
from embassay.protocols.kernel.protocol import EvaluationProtocol
from embassay.protocols.kernel.request import make_request_from_call
from embassay.protocols.kernel.session import RunAccounts, RunAttempt, SilentListener, make_unknown_price_error
from embassay.protocols.kernel.tables import write_tables
from embassay.protocols.live.runs import QuestionsToAsk, ask_retrievers_for_runs
from embassay.protocols.rag.golden import conclusions, stages
from embassay.protocols.rag.golden.checks import (
    count_checked_questions,
    measure_repeatability_on_sample,
    read_human_checks_of_current_lists,
    write_sampled_lists_for_human_check,
)
from embassay.protocols.rag.golden.conclusions import (
    QueryProgress,
    build_golden_tables,
    gather_query_progress,
    make_golden_result_rows,
)
from embassay.protocols.rag.golden.corpus import GoldenRunResources, estimate_search_memory, read_golden_inputs
from embassay.protocols.rag.golden.final_lists import FinishedGoldenQuestion, RetrievablePassage, export_golden_set
from embassay.protocols.rag.golden.options import (
    GoldenRequest,
    HumanCheckSampling,
    Settings,
    check_golden_set_resumable,
    list_settings_for_manifest,
)
from embassay.protocols.rag.golden.stages import (
    STAGES,
    QueriesDoneByStage,
    QueryStatusWithLastStage,
    QueryWithFolder,
    States,
    make_query_stage_statuses,
    read_json_line_rows,
)
from embassay.protocols.rag.golden.summary import GoldenRunRecord, JudgeRepeatability, write_golden_record
from embassay.protocols.rag.golden.trust import measure_grade_agreement_with_fused_rank
from embassay.protocols.rag.judges import Passage, Question
from embassay.protocols.rag.judges.chat import build_grading_messages, build_ordering_messages
from embassay.protocols.rag.ranking.engines import ENGINES, estimate_engine_calls
from embassay.protocols.rag.scoring.inputs import parse_named_path
from embassay.runs.execution import Workers
from embassay.runs.folder import CellRecord, RunCell, RunFolder, digest_json, write_json, write_json_lines
from embassay.runs.forecast import CellForecast, RunForecast, estimate_server_seconds, find_remote_encoder
from embassay.runs.memory import PeakMemory
from embassay.systems.remote import Ledger
from embassay.systems.remote.ledger import TokenPrice, estimate_server_tokens

if TYPE_CHECKING:
    from embassay.protocols.rag.golden.stages import GoldenStage


ANSWER_TOKENS = {"grade": 12, "order": 25, "rewrite": 40}
"""Of answers in JSON; a model that thinks writes more."""
_SAMPLE = 50
_BATCH = 5
_ROW_BYTES = 1_200
"""Of an artefact's row besides its text."""


@dataclass(frozen=True)
class QueryPoolCounts:
    """Passages of a query: in its pool, and left to order."""

    pool: int
    kept: int


def forecast_golden_cost(work: GoldenRunResources) -> RunForecast:
    """The cost of what is not done yet, a cell per stage and system."""
    systems = open_planned_systems(work)
    states = make_query_stage_statuses(work.queries, {})
    sizes = {state.id: _estimate_candidate_counts_of_query(work, state) for state in states}
    return RunForecast(
        (*_forecast_rewriting_and_embedding(work, systems[0], states), *_forecast_judging(work, states, sizes))
    )


def _forecast_rewriting_and_embedding(
    work: GoldenRunResources, encoder: PlannedSystem, states: Sequence[QueryStatusWithLastStage]
) -> list[CellForecast]:
    """S1 and S2: the texts that the encoder has not seen."""
    cells = [_forecast_rewriting(work, states)] if hasattr(work.question_rewriter, "model") else []
    forecaster = TaskCostForecaster([encoder], work.tokenizer, work.request.seed, None, measure=True)
    questions, passages = [question.text for question in work.read.questions], list(work.passages.texts)
    tasks = (("S1 vectors", questions, "query", "S1"), ("S2 vectors", passages, "document", "S2"))
    for task, texts, role, stage in tasks:
        if all(state.is_stage_done(stage) for state in states):
            cells.append(CellForecast(task, work.read.name, encoder.name, len(texts), 0, 0))
            continue

        # Bound now: the loop goes on before it is called.
        def rehearse_encoding(hear: Any, texts: list[str] = texts, role: str = role) -> bool:
            hear(texts, role)
            return True

        held = partial(estimate_search_memory, passages=passages, queries=questions, depth=work.request.options.depth)
        cells += forecaster.cells(
            TaskWorkloadForForecast(
                task,
                work.read.name,
                len(texts),
                len(texts),
                0,
                rehearse_encoding,
                texts,
                footprint=held if stage == "S2" else None,
            )
        )
    return cells


def _forecast_rewriting(work: GoldenRunResources, states: Sequence[QueryStatusWithLastStage]) -> CellForecast:
    waiting = {state.id for state in states if not state.is_stage_done("S1")}
    asked = [question for question in work.read.questions if question.rewrite is None and question.id in waiting]
    from embassay.protocols.rag.rewriters import build_rewriting_messages

    read = sum(_count_message_tokens(build_rewriting_messages(question.text)) for question in asked)
    head = CellForecast("S1 rewrite", work.read.name, work.question_rewriter.name, len(work.queries), 0, 0)
    return _add_model_call_cost(head, work.question_rewriter, len(asked), read, "rewrite")


def _forecast_judging(
    work: GoldenRunResources, states: Sequence[QueryStatusWithLastStage], sizes: dict[str, QueryPoolCounts]
) -> list[CellForecast]:
    """S4, S6 and the repeats: calls of the judge, at the mean length of some passages."""
    questions = [Question(question.id, question.text) for question in work.read.questions]
    # Spread over the whole corpus: the first passages alone may come from one document.
    texts = work.passages.texts[:: max(1, len(work.passages) // _SAMPLE)][:_SAMPLE]
    passages = [Passage(str(number), text) for number, text in enumerate(texts)]
    pairs = [(questions[i % len(questions)], passage) for i, passage in enumerate(passages)]
    per_grade = mean(_count_message_tokens(build_grading_messages(*pair)) for pair in pairs)
    batch = work.request.options.batch or _BATCH
    length = mean(estimate_server_tokens([passage.text]) for passage in passages)
    alone = mean(_count_message_tokens(build_ordering_messages(question, [])) for question in questions[:_SAMPLE])
    grades = sum(sizes[state.id].pool for state in states if not state.is_stage_done("S4"))
    pools = [sizes[state.id].kept for state in states if not state.is_stage_done("S6")]
    orders = sum(estimate_engine_calls(work.request.ranking_engine_spec, pool) for pool in pools)
    shown = max(pools, default=0) if work.request.ranking_engine_spec.startswith("single_shot") else batch
    per_order = alone + shown * length
    head = CellForecast("", work.read.name, work.judge.name, len(states), 0, 0)
    disk = sum(size.pool for size in sizes.values()) * 6 * int(_ROW_BYTES + mean(map(len, texts)))
    cells = [
        replace(
            _add_model_call_cost(
                replace(head, task="S4 grade"), work.judge, grades, round(grades * per_grade), "grade"
            ),
            disk_bytes=disk,
        ),
        _add_model_call_cost(replace(head, task="S6 order"), work.judge, orders, round(orders * per_order), "order"),
    ]
    if items := work.request.options.repeat:
        more = replace(head, task="repeat")
        read = items * per_grade + max(1, items // 5) * per_order
        cells.append(_add_model_call_cost(more, work.judge, items + max(1, items // 5), round(read), "grade"))
    return cells


def _estimate_candidate_counts_of_query(work: GoldenRunResources, state: QueryStatusWithLastStage) -> QueryPoolCounts:
    """What is known of a query's passages, else the most there can be."""
    options = work.request.options
    # The searches by vectors and by words may find nothing in common.
    pool = state.counts.get("candidates", min(2 * options.depth, len(work.passages)))
    return QueryPoolCounts(pool, state.counts.get("kept", pool))


def _add_model_call_cost(head: CellForecast, asker: Any, requests: int, read: int, kind: str) -> CellForecast:
    """`head` with so many calls that read so many tokens; calls of what is no model cost nothing."""
    model = getattr(asker, "model", None)
    if model is None:
        return replace(head, texts=requests)
    written = ANSWER_TOKENS[kind] * requests
    price = getattr(model, "price", None)
    return replace(
        head,
        texts=requests,
        tokens=read + written,
        requests=requests,
        usd=None if price is None else price.usd(read, written),
        seconds=estimate_server_seconds(model, requests, read + written, written),
        assumed=True,
    )


def _count_message_tokens(messages: Sequence[ChatMessage]) -> int:
    return estimate_server_tokens([message.content for message in messages])


def open_planned_systems(work: GoldenRunResources) -> tuple[PlannedSystem, ...]:
    """The systems of a run, opened. UsageError for a spec that is none, and for a model whose price is not known where
    the cost is limited; ModelError for one that cannot be had."""
    encoder = work.encoder
    with work.charge_calls_to("S1", encoder.name):
        facts = encoder.about
    remote = find_remote_encoder(encoder.system)
    if remote is not None:
        facts["usd_per_million_tokens"] = remote.price
    models = [PlannedSystem(work.request.encoder, encoder.name, encoder.identity, "embedding", facts, remote)]
    models.append(_make_planned_golden_set_model(work, work.request.judge, work.judge, "grades and orders passages"))
    if hasattr(work.question_rewriter, "model"):
        models.append(
            _make_planned_golden_set_model(
                work, work.request.rewriter, work.question_rewriter, "rewrites questions for the search"
            )
        )
    return tuple(models)


def _make_planned_golden_set_model(work: GoldenRunResources, spec: str, model: Any, role: str) -> PlannedSystem:
    asked = getattr(model, "model", None)
    price = getattr(asked, "price", None)
    if asked is not None and price is None and work.ledger.max_usd is not None:
        raise make_unknown_price_error(model.name)
    about: Mapping[str, Any] = getattr(model, "about", dict)()
    facts: dict[str, Any] = {"summary": role, "about": dict(about)}
    if isinstance(price, TokenPrice):
        facts["usd_per_million_input"] = price.usd_per_million_input
        facts["usd_per_million_output"] = price.usd_per_million_output
    return PlannedSystem(spec, model.name, model.identity, "llm", facts)


def write_runs_of_asked_retrievers(
    retrievers: Sequence[str], work: GoldenRunResources, folder: Path, listener: SilentListener
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Ask retrievers all questions, and write down what they found as of runs; with how they answered. Questions that
    failed add nothing to their pools. Answers are kept in the run's `folder`: none is asked again that has one."""
    if not retrievers:
        return
    with ask_retrievers_for_runs(
        retrievers, collect_asked_questions(work), folder, listener=listener, ledger=work.ledger
    ) as live:
        for run in live:
            name, counts = add_run_to_pools(run.name, run.path, work)
            work.warnings += [f"{name}: {note}" for note in (*run.failures(), *run.changes())]
            yield name, {**counts, "live": run.facts}


def collect_asked_questions(work: GoldenRunResources) -> QuestionsToAsk:
    """The questions as they are, for as many passages as each search gives to a pool."""
    texts = {question.id: question.text for question in work.read.questions}
    return QuestionsToAsk(texts, work.request.options.depth, work.request.seed)


def make_engine_answer_matcher(work: GoldenRunResources) -> AnswerTextMatcher:
    """What the answers of engines are held against."""
    return AnswerTextMatcher(
        dict(zip(work.passages.ids, work.passages.texts, strict=True)),
        {question.id: question.text for question in work.read.questions},
    )


def add_run_to_pools(name: str, path: Path, work: GoldenRunResources) -> tuple[str, dict[str, int]]:
    """Write down, question by question, what a run found among its first `depth`; its name, and how many passages that
    are, of how many questions, and what could not be taken. DataError for what is no run, and where nothing of it
    belongs to this set."""
    run = read_run_entries(path, {}, make_engine_answer_matcher(work))
    counts = {"passages": 0, "questions": 0, "not in the corpus": 0, "other questions": 0}
    hits = rank_passages_by_question(run)
    folders = {run_query.id: run_query.folder for run_query in work.queries}
    counts["other questions"] = len(hits.keys() - folders.keys())
    for query, scored in hits.items():
        if query not in folders:
            continue
        best = [doc for doc, _ in scored[: work.request.options.depth]]
        present = [doc for doc in best if doc in work.place_by_passage_id]
        counts["not in the corpus"] += len(best) - len(present)
        counts["passages"] += len(present)
        counts["questions"] += bool(present)
        path_of = folders[query].passages_from_runs_path
        before = [row for row in (read_json_line_rows(path_of) if path_of.exists() else []) if row["run"] != name]
        rows = [{"run": name, "doc_id": doc, "rank": rank} for rank, doc in enumerate(present, 1)]
        write_json_lines(path_of, [*before, *rows])
    if not counts["passages"]:
        raise DataError(
            "the run has no passage from this golden set", path=path,
            expected=f"questions such as {next(iter(folders))!r}, passages such as {work.passages.ids[0]!r}",
            found=f"{len(hits):,} questions", mend="Check that the run uses the same corpus and questions."
        )  # fmt: skip
    return name, counts


def make_golden_stages(work: GoldenRunResources) -> list[GoldenStage]:
    """Make the stages S1 to S6 of a run."""
    from embassay.protocols.rag.golden.candidates import FusionStage, GoldenCandidateSearchStage, QuestionRewritingStage
    from embassay.protocols.rag.golden.grades import PassageGradingStage, PassageOrderingStage, PruningStage

    return [
        QuestionRewritingStage(work),
        GoldenCandidateSearchStage(work),
        FusionStage(work),
        PassageGradingStage(work),
        PruningStage(work),
        PassageOrderingStage(work),
    ]


CHECK = "human_check.csv"


def write_golden_conclusions(
    folder: RunFolder,
    work: GoldenRunResources,
    queries: Sequence[QueryProgress],
    told: Mapping[str, Mapping[str, Any]],
    *,
    profile: str = "",
    repeated: JudgeRepeatability | None = None,
) -> GoldenRunRecord:
    """Write everything that follows from the queries that are done. `told` is what each stage took."""
    done = any(query.is_in_golden_set for query in queries)
    labels = conclusions.summarise_golden_set_labels(queries, count_checked_questions(folder.path) if done else 0)
    exports = _export_finished_questions(folder, work, queries)
    golden = GoldenRunRecord(
        settings=conclusions.summarise_golden_settings(work, profile),
        queries=tuple(map(conclusions.make_golden_query_summary, queries)),
        stages=conclusions.summarise_golden_stages(told, queries),
        judge=conclusions.summarise_judge_calls_and_cost(work, queries, told),
        ranking=conclusions.summarise_pool_orders_and_judge(
            work.request.ranking_engine_spec, queries, work.request.seed
        ),
        labels=labels,
        tokens=conclusions.summarise_candidate_tokens(queries, work.request.tokenizer),
        repeated=repeated,
        rank_agreement=measure_grade_agreement_with_fused_rank(queries, seed=work.request.seed) if done else None,
        human=read_human_checks_of_current_lists(folder.path) if done else (),
        exports={name: f"export/{path}" for name, path in exports.items()},
        notes=conclusions.list_golden_notes(work, queries),
        verdict=conclusions.phrase_golden_verdict(queries, labels),
    )
    write_golden_record(folder.path / "golden.json", golden)
    folder.write_results(make_golden_result_rows(golden, work.read.name, work.read.lang))
    write_tables(folder.path, build_golden_tables(golden))
    return golden


def write_lists_for_human_check(folder: RunFolder, work: GoldenRunResources) -> None:
    """Write the lists of some questions for a person to edit, unless the file is there already: it may be edited."""
    path, share = folder.path / CHECK, work.request.options.human
    if share and not path.exists() and any(query.folder.stage_success_path("S6").exists() for query in work.queries):
        write_sampled_lists_for_human_check(folder.path, path, HumanCheckSampling(share, seed=work.request.seed))


def _export_finished_questions(
    folder: RunFolder, work: GoldenRunResources, queries: Sequence[QueryProgress]
) -> dict[str, str]:
    finished = [
        FinishedGoldenQuestion(
            query.state.id, query.state.text, query.rewrite, [row for row in query.rows if row["grade"] is not None]
        )
        for query in queries
        if query.is_in_golden_set
    ]
    about = {
        "questions": work.request.queries or work.request.dataset,
        "corpus": work.request.corpus or work.request.dataset,
        "encoder": work.encoder.name,
        "judge": work.judge.name,
        "ranking": work.request.ranking_engine_spec,
        "seed": work.request.seed,
    }
    return export_golden_set(
        folder.path / "export", finished, _list_exportable_passages(work), about, map_passages_to_document_spans(work)
    )


def map_passages_to_document_spans(work: GoldenRunResources) -> dict[str, tuple[str, int, int]]:
    """Document, start and end of the passages that say them: chunks, and those of a folder of documents."""
    places = {}
    for key, about in zip(work.passages.ids, work.passages.metadata, strict=True):
        document, start, end = (about.get("source") or about.get("document"), about.get("start"), about.get("end"))
        if isinstance(document, str) and isinstance(start, int) and isinstance(end, int) and start < end:
            places[key] = (document, start, end)
    return places


def _list_exportable_passages(work: GoldenRunResources) -> list[RetrievablePassage]:
    if work.request.options.chunk is None:
        return [RetrievablePassage(document.id, document.text, document.title) for document in work.read.documents]
    return list(starmap(RetrievablePassage, zip(work.passages.ids, work.passages.texts, strict=True)))


TASK = "golden"


def golden(  # noqa: PLR0913 - the arguments of a user
    encoder: str,
    judge: str,
    *,
    out: str | Path,
    dataset: str | Path = "",
    corpus: str | Path = "",
    queries: str | Path = "",
    from_stage: str | None = None,
    force: bool = False,
    add_runs: Sequence[str | Path] = (),
    retrievers: Sequence[str] = (),
    listener: SilentListener | None = None,
    max_usd: float | None = None,
    **arguments: Any,
) -> Run:
    """Make a golden set of the questions of a `dataset`, or of two files, resuming what is unfinished in `out`.

    Further arguments are those of `GoldenRequest`: mapping, split, limit, seed (1337), rewriter ("identity"), ranking,
    tokenizer ("words"), options (`GoldenOptions`). `from_stage` ("S1" to "S6") redoes that stage and all later ones,
    `force` all. What `add_runs` (files of runs) and `retrievers` (asked now) found among their first `depth` joins the
    pools and is graded; nothing is graded twice. Raises UsageError when `out` holds a golden set of other arguments,
    BudgetExceeded at `max_usd`: what is finished is kept. Questions that failed are `failed` in the manifest's cells;
    the same call repeats them.
    """
    request = make_request_from_call(
        GoldenRequest, golden, arguments, encoder, judge,
        corpus=str(corpus), queries=str(queries), dataset=str(dataset)
    )  # fmt: skip
    making = GoldenSetProtocol(
        redo="S1" if force else from_stage, add_runs=tuple(map(str, add_runs)), retrievers=retrievers
    )
    return making.carry_out(request, Path(out), listener=listener, max_usd=max_usd)


@dataclass(frozen=True, kw_only=True)
class GoldenSetPlan(Plan):
    """A golden set as manifests know it, a cell a question; `work` has its inputs and models."""

    work: GoldenRunResources


class GoldenSetProtocol(EvaluationProtocol):
    """One attempt at a golden set. `settings` say where the request's values are from; the stage `redo` and all later
    ones are done again; passages of `add_runs` (files) and of `retrievers`, which are asked, join the pools."""

    name = "rag"

    def __init__(
        self,
        settings: Settings | None = None,
        redo: str | None = None,
        add_runs: Sequence[str] = (),
        retrievers: Sequence[str] = (),
    ) -> None:
        self.settings, self.redo = settings, redo
        self.add_runs, self.retrievers = tuple(add_runs), tuple(retrievers)

    def check(self, folder: RunFolder, request: GoldenRequest) -> None:
        """UsageError if the folder holds a run that this one cannot go on with, or the stage is none."""
        if self.redo is not None and self.redo not in STAGES:
            raise UsageError(f"There is no stage {self.redo!r}.", mend=f"Use one of {', '.join(STAGES)}.")
        check_golden_set_resumable(folder, request, redo=self.redo)

    def plan_run(
        self, request: GoldenRequest, cache: Path | None = None, ledger: Ledger | None = None
    ) -> GoldenSetPlan:
        """Open the encoder, the judge and the inputs, and make a cell of each question."""
        del cache
        work = GoldenRunResources(
            request, read_golden_inputs(request), self.folder.path, ledger or Ledger(), self.listener
        )
        systems = open_planned_systems(work)
        # Only for its refusal, before anything is paid for.
        ENGINES.build(request.ranking_engine_spec)
        read, judge = work.read, next(system for system in systems if system.kind == "llm")
        task = PlannedTask(TASK, len(work.queries), len(read.documents), read.skipped, read.warnings)
        cells = tuple(
            RunCell(TASK, read.name, judge.name, digest_json([TASK, asked.id]), 1, None, variant=asked.id)
            for asked in work.queries
        )
        source = request.dataset or request.corpus
        dataset = PlannedDataset(source, read.name, read.lang, read.fingerprint, (task,))
        return GoldenSetPlan(request, tuple(systems), (dataset,), cells, work.tokenizer.identity, work=work)

    def forecast_cost(self, plan: GoldenSetPlan, *, measure: bool = True) -> RunForecast:
        """Forecast the cost of the stages that are not done."""
        del measure
        return forecast_golden_cost(plan.work)

    def format_python_call(self, request: GoldenRequest, out: Path) -> str:
        """The call from Python that makes the run, for its manifest."""
        named = {"dataset": request.dataset, "corpus": request.corpus, "queries": request.queries}
        read = ", ".join(f"{name}={value!r}" for name, value in named.items() if value)
        return f"embassay.rag.golden({request.encoder!r}, {request.judge!r}, {read}, out={str(out)!r})"

    def start_run_attempt(
        self, plan: GoldenSetPlan, accounts: RunAccounts, workers: Workers, command: str
    ) -> GoldenSetRunAttempt:
        """Stage by stage, for all questions together."""
        del workers
        config = list_settings_for_manifest(self.settings) if self.settings else {}
        return GoldenSetRunAttempt(
            self.folder, plan, self, accounts, command=command, redo=self.redo, config=config,
            add_runs=self.add_runs, retrievers=self.retrievers
        )  # fmt: skip


class GoldenSetRunAttempt(RunAttempt):
    """One attempt at a golden set."""

    plan: GoldenSetPlan

    def __init__(
        self,
        *inherited: Any,
        command: str,
        redo: str | None,
        config: Mapping[str, Any],
        add_runs: Sequence[str] = (),
        retrievers: Sequence[str] = (),
    ) -> None:
        super().__init__(*inherited, command=command)
        self.add_runs, self.retrievers = add_runs, retrievers
        self.added: dict[str, Any] = dict(self.previous.get("added_runs", {}))
        """Run -> what it brought."""
        self.work, self.redo = self.plan.work, redo
        self.config = config or self.previous.get("config", {})
        self.run_id = self.previous.get("run_id") or self.folder.path.resolve().name
        self.stages: dict[str, dict[str, Any]] = dict(self.previous.get("stages", {}))
        self.repeated: JudgeRepeatability | None = None
        self.failed: dict[str, tuple[str, str]] = {}
        """Query id -> stage and reason."""
        self.done_now = 0

    def begin_run_attempt(self, listener: SilentListener) -> None:
        """Undo what is to be redone, and write down what is asked."""
        if self.redo is not None:
            for asked in self.work.queries:
                stages.delete_stages_from(asked.folder, self.redo)
            # Which questions set out together is decided anew with what they set out with.
            (self.folder.path / "refinement.json").unlink(missing_ok=True)
            check = self.folder.path / CHECK
            if check.exists():
                # It may be edited, and then it is of the old lists.
                check.replace(check.with_stem(f"{check.stem}.until-{format_current_utc_time().replace(':', '')[:17]}"))
        for run in self.add_runs:
            name, counts = add_run_to_pools(*parse_named_path(run), self.work)
            self.added[name] = counts
        for name, counts in write_runs_of_asked_retrievers(self.retrievers, self.work, self.folder.path, listener):
            self.added[name] = counts
        questions = {
            "run_id": self.run_id,
            "pack": self.work.request.queries or self.work.request.dataset,
            "count": len(self.work.queries),
            "selected": [asked.id for asked in self.work.queries],
            "folders": {asked.id: asked.folder.name for asked in self.work.queries},
            "texts": {asked.id: asked.text for asked in self.work.queries},
        }
        write_json(self.folder.path / "questions_manifest.json", questions)
        self.write_manifest("running")

    def do(self, listener: SilentListener) -> None:
        """Do all stages, each for the queries that came through the ones before."""
        del listener
        going: Sequence[QueryWithFolder] = self.work.queries
        for step in make_golden_stages(self.work):
            began, memory = time.perf_counter(), PeakMemory()
            outcome = None
            try:
                outcome = stages.run_stage_for_unfinished_queries(step, going, self.run_id)
            finally:
                self._note_stage_costs(step.stage, outcome, time.perf_counter() - began, memory.bytes)
            self.failed |= {key: (step.stage, reason) for key, reason in outcome.failed.items()}
            through = {*outcome.done, *outcome.kept}
            self.done_now += len(outcome.done) if step.stage == "S6" else 0
            going = [asked for asked in going if asked.id in through]
            self.write_manifest("running")
        write_lists_for_human_check(self.folder, self.work)
        if items := self.work.request.options.repeat:
            self.repeated = measure_repeatability_on_sample(
                self.work, gather_query_progress(self.make_states_of_all_queries(), self.work.request.options), items
            )

    def finish_run_attempt(self) -> None:
        """Write what follows from all that is done, whatever has happened."""
        states = self.make_states_of_all_queries()
        write_golden_conclusions(
            self.folder, self.work, gather_query_progress(states, self.work.request.options), self.stages,
            profile=self._find_settings_profile_name(), repeated=self.repeated
        )  # fmt: skip
        for model in (self.work.judge, self.work.question_rewriter):
            getattr(model, "close", lambda: None)()
        self.accounts.spending.close()
        finished = all(state.status == "done" for state in states)
        self.write_manifest("finished" if finished else "partial")

    def _find_settings_profile_name(self) -> str:
        origins = [str(setting["from"]) for setting in self.config.values()]
        return next((origin.removeprefix("profile ") for origin in origins if origin.startswith("profile ")), "")

    def make_states_of_all_queries(self) -> States:
        """How far every query has come."""
        return make_query_stage_statuses(self.work.queries, self.failed)

    def facts(self) -> dict[str, Any]:
        """Collect what the run is made of, and what its stages took, for the manifest."""
        return {
            "kind": "golden",
            "run_id": self.run_id,
            "config": dict(self.config),
            "seeds": {"run": self.work.request.seed},
            "inputs": {
                part: [{"path": file.path, "sha256": file.sha256} for file in files]
                for part, files in self.work.read.files.items()
            },
            "stages": self.stages,
            **({"added_runs": self.added} if self.added else {}),
        }

    def manifest(self, status: str) -> dict[str, Any]:
        """Build the manifest, with how far each question has come."""
        states = self.make_states_of_all_queries()
        self.extra = {"warnings": list(self.work.warnings)}
        self.records = {
            cell.key: record
            for cell, state in zip(self.plan.cells, states, strict=True)
            if (record := _make_golden_query_cell_record(cell, state)) is not None
        }
        manifest = super().manifest(status)
        for cell, state in zip(manifest["cells"], states, strict=True):
            cell |= {"query_id": state.id, "folder": state.folder.name, "stage": state.stage}
        return manifest

    def counted(self) -> dict[str, Any]:
        """Count the questions that came to their end."""
        return {"queries_done": self.done_now}

    def _note_stage_costs(
        self, stage: str, outcome: QueriesDoneByStage | None, seconds: float, peak: int | None
    ) -> None:
        """Add what a stage took to what earlier sessions took."""
        before = self.stages.get(stage, {})
        calls = {name: before.get("calls", {}).get(name, 0) for name in before.get("calls", {})}
        for name, count in self.work.calls.pop(stage, {}).items():
            calls[name] = calls.get(name, 0) + count
        self.stages[stage] = {
            "seconds": round(before.get("seconds", 0.0) + seconds, 3),
            "peak_bytes": max(peak or 0, before.get("peak_bytes") or 0) or None,
            "done": len(outcome.done) if outcome else 0,
            "kept": len(outcome.kept) if outcome else 0,
            "failed": len(outcome.failed) if outcome else 0,
            "calls": calls,
        }


def _make_golden_query_cell_record(cell: RunCell, state: QueryStatusWithLastStage) -> CellRecord | None:
    if state.status == "not run":
        return None
    return CellRecord(
        cell.key, cell.task, cell.dataset, cell.system, state.status, state.reason, 0.0, (), {},
        counts=state.counts, variant=cell.variant
    )  # fmt: skip
