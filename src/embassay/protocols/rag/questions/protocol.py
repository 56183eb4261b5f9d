"""Questions from request to finished folder: each draft is kept the moment it is decided, repeats are taken out, shares
counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from embassay.data import Dataset, open_dataset
from embassay.data.documents import PlacedPassage, read_corpus_passages_with_origin
from embassay.data.intake import SkipRecordingReader
from embassay.data.sources import prefer_path_over_catalogue
from embassay.data.tables import find_known_suffix, open_table_file
from embassay.data.views import RenamedColumnsView, SmallestHashSample
from embassay.errors import UsageError
from embassay.protocols.kernel.outcome import Run
from embassay.protocols.kernel.plan import Plan, PlannedDataset, PlannedTask
from embassay.protocols.kernel.protocol import EvaluationProtocol
from embassay.protocols.kernel.request import make_request_from_call
from embassay.protocols.kernel.session import RunAccounts, RunAttempt, SilentListener
from embassay.protocols.kernel.tables import (
    ColumnTable,
    RunTable,
    format_noun_count,
    make_percentage_point_column,
    text,
    whole_number_column,
    write_tables,
)
from embassay.protocols.questions import FAR, NEAR, NO_ANSWER, OF_MODELS, drafts
from embassay.protocols.questions.drafts import (
    DRAFTS,
    KEPT,
    OUTCOMES,
    QuestionDraftWithResult,
    QuestionWriterAndChecker,
    find_positions_of_near_duplicates,
    load_question_prompt,
    make_question_outcomes_table,
    read_question_drafts,
)
from embassay.protocols.rag.questions.options import QuestionsRequest
from embassay.records import ResultRow
from embassay.runs.execution import Workers
from embassay.runs.folder import CellRecord, RunCell, digest_json, write_file_atomically, write_json_lines
from embassay.runs.forecast import CellForecast, RunForecast
from embassay.search.bm25 import BM25Index
from embassay.stats import wilson
from embassay.systems.remote import Ledger
from embassay.text.questions import KINDS as OF_DOCUMENTS
from embassay.text.questions import PseudoQuestion, TitledPassage, make_pseudo_questions
from embassay.text.unanswerable import (
    GeneratedUnanswerableQuestions,
    PassageWordCoverage,
    QuestionWithChangedValue,
    draw_questions_unlike_passages,
    load_off_topic_questions,
    make_unanswerable_questions,
)

TASK = "questions"
DOCUMENTS = "documents"
"""Who asks the questions that no model writes."""


@dataclass(frozen=True)
class UserQuestion:
    """A question of a user, from a file."""

    id: str
    text: str


@dataclass(frozen=True, kw_only=True)
class QuestionSetPlan(Plan):
    """The passages, those drawn by kind, and the users' questions; `writer` is None where no model is asked."""

    passages: tuple[PlacedPassage, ...]
    drawn: Mapping[str, tuple[PlacedPassage, ...]]
    users: tuple[UserQuestion, ...]
    writer: QuestionWriterAndChecker | None


def make_plan(request: QuestionsRequest, cache: Path | None, ledger: Ledger | None) -> QuestionSetPlan:
    """Open the corpus, the models and the users' questions, and draw passages. UsageError, ModelError and DataError as
    openings raise them."""
    dataset = open_dataset(prefer_path_over_catalogue(request.corpus), mapping=request.mapping)
    passages = read_corpus_passages_with_origin(dataset)
    users = read_user_questions(request.queries) if request.queries else ()
    kinds = [kind for kind in request.chosen if kind in OF_MODELS]
    writer = (
        drafts.open_question_writer(request.llm, request.checker, request.options, request.seed, cache, ledger)
        if request.llm
        else None
    )
    if writer is not None and NEAR in request.no_answer:
        kinds.append(NEAR)
        writer = replace(writer, search=_make_passage_searcher(passages), corpus=dataset.fingerprint)
    drawn = drafts.draw_passages_by_kind(passages, kinds, request.options, request.seed, request.corpus)
    cells = tuple(
        _make_question_kind_run_cell(kind, dataset, request, writer) for kind in (*request.chosen, *request.no_answer)
    )
    task = PlannedTask(TASK, sum(map(len, drawn.values())), len(passages), dataset.skipped, dataset.notes)
    planned = PlannedDataset(request.corpus, dataset.name, dataset.lang, dataset.fingerprint, (task,))
    systems = (
        () if writer is None else drafts.list_writer_and_checker_models(request.llm, request.checker, writer, ledger)
    )
    return QuestionSetPlan(
        request, systems, (planned,), cells, cache=cache, passages=passages, drawn=drawn, users=users, writer=writer
    )  # fmt: skip


def _make_passage_searcher(passages: Sequence[PlacedPassage]) -> Callable[[str], Sequence[PlacedPassage]]:
    """Make a search for the passages that share most words with a question, beside its own."""
    by_id = {passage.id: passage for passage in passages}
    index = BM25Index.of(list(by_id), [f"{p.title} {p.body}" for p in by_id.values()])
    return lambda question: [by_id[hit.id] for hit in index.search(question, drafts.SEARCHED + 1)]


def read_user_questions(name: str) -> tuple[UserQuestion, ...]:
    """Read the questions of users from a table with `text`, and perhaps `id`."""
    path = Path(name).expanduser()
    if not path.is_file():
        raise UsageError(f"There is no file {name!r}.", mend="Check its name and folder.")
    if not find_known_suffix(path.name):
        raise UsageError(f"{name} is not a table.", mend="Give a .jsonl, .csv, .tsv, .txt or .parquet file.")
    intake = SkipRecordingReader()
    rows = intake.read(
        RenamedColumnsView(open_table_file(path)),
        ["text"],
        lambda row, key: intake.texts(row, key, "text"),
        SmallestHashSample(None, 0),
    )
    return tuple(UserQuestion(key, texts[0]) for key, texts in rows)


def _make_question_kind_run_cell(
    kind: str, dataset: Dataset, request: QuestionsRequest, writer: QuestionWriterAndChecker | None
) -> RunCell:
    by = DOCUMENTS if kind in (*OF_DOCUMENTS, FAR) or writer is None else writer.chat.name
    ids = (
        []
        if writer is None
        else [writer.chat.identity, writer.checker.identity, load_question_prompt("check").identity]
    )
    key = digest_json([TASK, kind, dataset.fingerprint, ids, request.options.as_dict(), request.seed])
    return RunCell(TASK, dataset.name, by, key, 1, None, variant=kind)


def forecast_question_draft_calls(plan: QuestionSetPlan, done: Mapping[str, QuestionDraftWithResult]) -> RunForecast:
    """The calls for each draft that is not `done` (by key), and between which sums they may come to lie."""
    work: list[CellForecast] = []
    for cell in plan.cells:
        head = CellForecast(f"{TASK}: {cell.variant}", cell.dataset, cell.system, 0, 0, 0)
        if cell.variant in plan.drawn and plan.writer is not None:
            work += drafts.forecast_writer_calls_for_drafts(
                head, plan.writer, cell.variant, plan.drawn[cell.variant], done
            )
        else:
            work.append(head)
    note = "" if plan.writer is None else drafts.describe_forecast_uncertainty(work, plan.writer, done)
    return RunForecast(tuple(work), (note,) if note else ())


USERS = "users"


@dataclass(frozen=True)
class QuestionSetEntry:
    """A question of the set: `source` is who asked it (`users`, the model, `documents`), `answers` the passages that
    are right, the first with the span that answers it; users' questions have none."""

    id: str
    text: str
    kind: str
    source: str
    answers: tuple[str, ...] = ()
    document: str = ""
    start: int | None = None
    end: int | None = None
    evidence: str = ""
    answer: str = ""
    lang: str = ""


@dataclass(frozen=True)
class QuestionSet:
    """The questions of the set, users' first; drafts by kind with their final outcomes; the passages to search, and
    what documents did not ask, by reason."""

    asked: tuple[QuestionSetEntry, ...]
    drafts: Mapping[str, Sequence[QuestionDraftWithResult]]
    passages: tuple[TitledPassage, ...]
    wanted: Mapping[str, int]
    rejected: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    repeated: Mapping[str, int] = field(default_factory=dict)
    """Source -> questions left out because they repeat an earlier one."""
    unanswered: Mapping[str, Sequence[QuestionWithChangedValue]] = field(default_factory=dict)
    """Kind -> questions that the documents don't answer."""

    def counts(self, kind: str) -> dict[str, int]:
        """Count a kind's drafts by outcome; of documents' kinds, what was asked and what not."""
        if kind in OF_DOCUMENTS:
            kept = sum(question.kind == kind for question in self.asked)
            return {KEPT: kept, **dict(self.rejected.get(kind, {}))}
        if kind in NO_ANSWER and kind not in self.drafts:
            return {KEPT: len(self.unanswered.get(kind, ())), **dict(self.rejected.get(kind, {}))}
        outcomes = Counter(draft.outcome for draft in self.drafts.get(kind, ()))
        return {name: outcomes[name] for name in OUTCOMES if outcomes[name]}

    def has_all_drafts(self, kind: str) -> bool:
        """Whether every passage drawn for a kind has its draft."""
        return len(self.drafts.get(kind, ())) == self.wanted.get(kind, 0)

    def count_questions_by_source(self) -> dict[str, dict[str, float]]:
        """Compute by source how many questions it asked, and their share of all."""
        tally = Counter(question.source for question in self.asked)
        return {name: {"questions": count, "share": count / len(self.asked)} for name, count in tally.items()}


def gather_question_set(plan: QuestionSetPlan, decided: Mapping[str, Sequence[QuestionDraftWithResult]]) -> QuestionSet:
    """Put together users' questions, the drafts that were kept and what documents ask, each once: of questions that
    nearly repeat each other the first stays, users' before all."""
    pseudo = _derive_document_questions(plan)
    users = [
        QuestionSetEntry(user.id, user.text, "user", USERS)
        for user in _prefix_clashing_user_question_ids(plan.users, plan.request.no_answer)
    ]
    written = [
        _turn_draft_into_question(plan, draft, number)
        for kind in OF_MODELS
        for number, draft in enumerate(decided.get(kind, ()), 1)
        if draft.is_kept
    ]
    every = [*users, *(question for question, _ in written), *pseudo.asked]
    repeats = find_positions_of_near_duplicates([question.text for question in every], plan.request.options.near)
    gone = {every[place].id for place in repeats}
    repeated = {id(draft) for asked, draft in written if asked.id in gone}

    def mark_repeated_draft_as_duplicate(draft: QuestionDraftWithResult) -> QuestionDraftWithResult:
        return replace(draft, outcome="near-duplicate") if id(draft) in repeated else draft

    final = {kind: [mark_repeated_draft_as_duplicate(draft) for draft in drafts] for kind, drafts in decided.items()}
    left_out = Counter(every[place].source for place in repeats)
    asked = tuple(question for question in every if question.id not in gone)
    unanswered = _make_unanswerable_questions(plan, asked, pseudo.passages, final)
    rejected = {**pseudo.rejected, **{kind: made.rejected for kind, made in unanswered.items()}}
    return QuestionSet(
        asked, final, pseudo.passages, {kind: len(drawn) for kind, drawn in plan.drawn.items()}, rejected,
        dict(left_out), {kind: made.questions for kind, made in unanswered.items()}
    )  # fmt: skip


def _make_unanswerable_questions(
    plan: QuestionSetPlan,
    asked: Sequence[QuestionSetEntry],
    passages: Sequence[TitledPassage],
    decided: Mapping[str, Sequence[QuestionDraftWithResult]],
) -> dict[str, GeneratedUnanswerableQuestions]:
    """Kind -> the questions that the documents don't answer: near ones of a model, or made of the questions asked."""
    request, made = plan.request, {}
    if not request.no_answer:
        return {}
    cover = PassageWordCoverage([passage.full_text for passage in passages])
    if NEAR in plan.drawn:
        kept = [draft for draft in decided.get(NEAR, ()) if draft.is_kept]
        made[NEAR] = GeneratedUnanswerableQuestions(
            tuple(
                QuestionWithChangedValue(draft.passage, draft.question, "", draft.evidence, draft.answer)
                for draft in kept
            )
        )
    elif NEAR in request.no_answer:
        made[NEAR] = make_unanswerable_questions(
            [(question.id, question.text) for question in asked], cover, request.options.n, request.seed
        )
    if FAR in request.no_answer:
        questions = (
            [user.text for user in read_user_questions(request.far)] if request.far else load_off_topic_questions()
        )
        made[FAR] = draw_questions_unlike_passages(questions, cover, request.options.n, request.seed)
    return made


def _prefix_clashing_user_question_ids(users: Sequence[UserQuestion], more: Sequence[str]) -> list[UserQuestion]:
    """Users' questions under ids that no kind of ours, nor one `more`, begins with."""
    ours = tuple(f"{kind}-" for kind in (*OF_MODELS, *OF_DOCUMENTS, *more))
    return [replace(user, id=f"user-{user.id}") if user.id.startswith(ours) else user for user in users]


def _turn_draft_into_question(
    plan: QuestionSetPlan, draft: QuestionDraftWithResult, number: int
) -> tuple[QuestionSetEntry, QuestionDraftWithResult]:
    assert plan.writer is not None
    by = plan.writer.chat.name
    lang = plan.request.options.into if draft.kind == "language" else ""
    return (
        QuestionSetEntry(
            f"{draft.kind}-{number}", draft.question, draft.kind, by, (draft.passage,), draft.document,
            draft.start, draft.end, draft.evidence, draft.answer, lang,
        ),
        draft
    )  # fmt: skip


@dataclass(frozen=True)
class _QuestionsFromDocuments:
    asked: tuple[QuestionSetEntry, ...]
    passages: tuple[TitledPassage, ...]
    rejected: Mapping[str, Mapping[str, int]]


def _derive_document_questions(plan: QuestionSetPlan) -> _QuestionsFromDocuments:
    """Derive the questions documents ask of themselves; a passage shown to a model loses nothing."""
    texts = [TitledPassage(passage.id, passage.body, passage.title, passage.document) for passage in plan.passages]
    kinds = [kind for kind in plan.request.chosen if kind in OF_DOCUMENTS]
    if not kinds:
        return _QuestionsFromDocuments((), tuple(texts), {})
    whole = {passage.id for drawn in plan.drawn.values() for passage in drawn}
    pseudo = make_pseudo_questions(
        texts, kinds=kinds, limit=plan.request.options.n, seed=plan.request.seed, whole=whole
    )
    sources = {passage.id: passage for passage in plan.passages}
    numbers = Counter[str]()
    asked = []
    for question in pseudo.questions:
        numbers[question.kind] += 1
        source = sources[question.answers[0]]
        asked.append(
            _make_question_set_entry(
                question, f"{question.kind}-{numbers[question.kind]}", source.document or source.id
            )
        )
    return _QuestionsFromDocuments(tuple(asked), pseudo.passages, pseudo.rejected)


def _make_question_set_entry(question: PseudoQuestion, key: str, document: str) -> QuestionSetEntry:
    return QuestionSetEntry(key, question.text, question.kind, DOCUMENTS, question.answers, document)


def export_question_set(folder: Path, plan: QuestionSetPlan, found: QuestionSet) -> None:
    """`corpus.jsonl`, `queries.jsonl` and `qrels.tsv`, which every command reads as a dataset, and `spans.jsonl`: where
    in the documents the evidence stands."""
    places = {passage.id: passage for passage in plan.passages}
    corpus = (
        {
            "id": passage.id, "title": passage.title, "text": passage.body, "document": passage.document or passage.id,
            "start": places[passage.id].start, "end": places[passage.id].start + len(places[passage.id].body),
        }
        for passage in found.passages
    )  # fmt: skip
    queries = (
        {
            "id": q.id, "text": q.text, "tags": [q.kind, *([q.lang] if q.lang else [])],
            "source": q.source, **({"answer": q.answer} if q.answer else {}),
        }
        for q in found.asked
    )  # fmt: skip
    spans = (
        {
            "query_id": q.id, "document": q.document, "start": q.start, "end": q.end, "relevance": 1,
            "text": q.evidence,
        }
        for q in found.asked
        if q.start is not None
    )  # fmt: skip
    qrels = "".join(f"{q.id}\t{doc}\t1\n" for q in found.asked for doc in q.answers)
    for name, rows in (("corpus", corpus), ("queries", queries), ("spans", spans)):
        write_json_lines(folder / f"{name}.jsonl", rows)
    write_file_atomically(folder / "qrels.tsv", f"query-id\tcorpus-id\tscore\n{qrels}")
    if plan.request.no_answer:
        unanswered = _list_unanswerable_question_rows(plan, found)
        write_json_lines(folder / "no_answer.jsonl", unanswered)


def _list_unanswerable_question_rows(plan: QuestionSetPlan, gathered: QuestionSet) -> Iterator[dict[str, Any]]:
    """As `calibrate --no-answer` reads them: id, text and kind, what it was made of, and what was changed."""
    by_model = plan.writer is not None and NEAR in plan.drawn
    for kind, questions in gathered.unanswered.items():
        for number, question in enumerate(questions, 1):
            row: dict[str, Any] = {"id": f"{kind}-{number}", "text": question.text, "kind": kind}
            if kind == NEAR:
                row |= {"of": question.of, "was": question.was, "now": question.now}
                row["changed"] = "by a model" if by_model else question.value
            yield row


def make_kept_draft_share_rows(plan: QuestionSetPlan, found: QuestionSet) -> list[ResultRow]:
    """The share of drafts that was kept, by kind, with Wilson's interval."""
    rows = []
    for cell in plan.cells:
        counts = found.counts(cell.variant)
        n, kept = sum(counts.values()), counts.get(KEPT, 0)
        where = ("rag", TASK, cell.dataset, "", plan.lang(cell.dataset), cell.variant, cell.system, "kept")
        if not n:
            rows.append(ResultRow(*where, None, 0, seed=plan.request.seed, reason="no question could be drafted"))
            continue
        ends = wilson(kept / n, n)
        rows.append(ResultRow(*where, kept / n, n, ends.low, ends.high, "Wilson over drafts", plan.request.seed))
    return rows


def build_question_set_tables(plan: QuestionSetPlan, found: QuestionSet) -> Iterator[RunTable]:
    """Build the tables of the questions' sources, of drafts' outcomes, and of what was not asked."""
    shares = found.count_questions_by_source()
    yield ColumnTable.of(
        "sources", "Sources of the questions", shares, text("Source", str),
        whole_number_column("Questions", lambda name: int(shares[name]["questions"])),
        make_percentage_point_column("Share (%)", lambda name: shares[name]["share"]),
        whole_number_column("Repeats left out", lambda name: found.repeated.get(name, 0)),
        note="Users' questions come first; later questions that repeat them are left out."
    )  # fmt: skip
    for name, title, kinds in (
        ("drafts", "Generated questions by outcome", OF_MODELS),
        ("documents", "Questions taken from the documents", OF_DOCUMENTS),
        ("no_answer", "Questions without an answer", NO_ANSWER),
    ):
        every = (*plan.request.chosen, *plan.request.no_answer)
        counts = {kind: found.counts(kind) for kind in every if kind in kinds}
        if counts:
            outcomes = list(dict.fromkeys(outcome for of_kind in counts.values() for outcome in of_kind))
            yield make_question_outcomes_table(name, title, counts, outcomes)


def questions(
    corpus: str | Path,
    *,
    out: str | Path,
    llm: str = "",
    cache: Path | None = None,
    listener: SilentListener | None = None,
    max_usd: float | None = None,
    **arguments: Any,
) -> Run:
    """Write questions about a `corpus` (a folder of documents, a table or a dataset), resuming what is unfinished in
    `out`.

    Further arguments are those of `QuestionsRequest`: checker, queries, kinds, mapping, seed (1337), options
    (`QuestionsOptions`). Without an `llm` the documents ask themselves. Raises UsageError when `out` holds questions of
    other arguments, BudgetExceeded at `max_usd`: what is finished is kept.
    """
    request = make_request_from_call(QuestionsRequest, questions, arguments, str(corpus), llm)
    return QuestionSetProtocol().carry_out(request, Path(out), cache=cache, listener=listener, max_usd=max_usd)


class QuestionSetProtocol(EvaluationProtocol):
    """One attempt at the questions of a corpus."""

    name = "rag"

    def plan_run(
        self, request: QuestionsRequest, cache: Path | None = None, ledger: Ledger | None = None
    ) -> QuestionSetPlan:
        """Open the corpus and the models, and draw passages; a cell is a kind of question."""
        return make_plan(request, cache, ledger)

    def forecast_cost(self, plan: QuestionSetPlan, *, measure: bool = True) -> RunForecast:
        """Forecast the cost: two calls for every draft that is not in the folder."""
        del measure
        return forecast_question_draft_calls(plan, read_question_drafts(self.folder.path / DRAFTS))

    def check_prices_known(self, plan: QuestionSetPlan, max_usd: float | None) -> None:
        """Check nothing more, as planning has already looked at the prices."""

    def format_python_call(self, request: QuestionsRequest, out: Path) -> str:
        """Format the call from Python that makes the run, for its manifest."""
        named = {"llm": request.llm, "checker": request.checker, "queries": request.queries}
        spelled = "".join(f", {name}={value!r}" for name, value in named.items() if value)
        kinds = f", kinds={list(request.kinds)!r}" if request.kinds else ""
        return f"embassay.rag.questions({request.corpus!r}{spelled}{kinds}, out={str(out)!r})"

    def start_run_attempt(
        self, plan: QuestionSetPlan, accounts: RunAccounts, workers: Workers, command: str
    ) -> QuestionSetRunAttempt:
        """All kinds together, at the pace of the model."""
        del workers
        return QuestionSetRunAttempt(self.folder, plan, self, accounts, command=command)


class QuestionSetRunAttempt(RunAttempt):
    """One attempt at questions; what earlier ones decided stands in `drafts.jsonl`."""

    plan: QuestionSetPlan

    def __init__(self, *inherited: Any, command: str) -> None:
        super().__init__(*inherited, command=command)
        self.drafts: dict[str, QuestionDraftWithResult] = {}
        self.done_now = 0
        self.found: QuestionSet | None = None
        self.failed: dict[tuple[str, str], str] = {}
        """Kind and passage -> why it has no draft: a call that failed, which the next attempt tries again."""

    def begin_run_attempt(self, listener: SilentListener) -> None:
        """Read the drafts that are there."""
        del listener
        self.drafts = read_question_drafts(self.folder.path / DRAFTS)
        if self.plan.writer is not None:
            self.forecast = self.previous.get("forecast") or self.protocol.forecast_cost(self.plan).as_dict()
        self.write_manifest("running")

    def do(self, listener: SilentListener) -> None:
        """Have every question written and checked that is not there."""
        writer = self.plan.writer
        if writer is None:
            return
        path = self.folder.path / DRAFTS
        before = len(self.drafts)
        ledger = self.accounts.ledger
        self.failed = drafts.draft_missing_questions(writer, self.plan.drawn, path, self.drafts, listener, ledger)
        self.done_now = len(self.drafts) - before

    def finish_run_attempt(self) -> None:
        """Put together what is there: export, rows and tables; whatever has happened."""
        plan = self.plan
        self.found = found = gather_question_set(plan, self.list_decided_drafts_by_kind())
        export_question_set(self.folder.path / "export", plan, found)
        self.folder.write_results(make_kept_draft_share_rows(plan, found))
        write_tables(self.folder.path, build_question_set_tables(plan, found))
        if plan.writer is not None:
            plan.writer.chat.cache.close()
        self.accounts.spending.close()
        self.records = {
            cell.key: record for cell in plan.cells if (record := self._make_question_kind_record(cell)) is not None
        }
        whole = [record for record in self.records.values() if record.done]
        self.write_manifest("finished" if len(whole) == len(plan.cells) else "partial")

    def _make_question_kind_record(self, cell: RunCell) -> CellRecord | None:
        """Make the record of a question kind; None where drafts are wanting only as the work stopped."""
        assert self.found is not None
        failed = [reason for (kind, _), reason in self.failed.items() if kind == cell.variant]
        if not failed and not self.found.has_all_drafts(cell.variant):
            return None
        reason = f"{format_noun_count(len(failed), 'call')} failed; the first: {failed[0]}" if failed else ""
        return CellRecord(
            cell.key, cell.task, cell.dataset, cell.system, "failed" if failed else "done", reason, 0.0, (), {},
            counts=self.found.counts(cell.variant), variant=cell.variant
        )  # fmt: skip

    def list_decided_drafts_by_kind(self) -> dict[str, list[QuestionDraftWithResult]]:
        """Collect by kind the drafts of its passages that are decided, in the order of the draw."""
        writer = self.plan.writer
        return {} if writer is None else drafts.group_decided_drafts_by_kind(writer, self.plan.drawn, self.drafts)

    def facts(self) -> dict[str, Any]:
        """Make the manifest's facts: what the set is made with, and where questions came from."""
        kinds = list(self.plan.drawn)
        into = self.plan.request.options.into
        prompts = [load_question_prompt(kind, into).as_dict() for kind in (*kinds, "check")] if kinds else []
        return {
            "kind": "questions",
            "prompts": prompts,
            "shares": {} if self.found is None else self.found.count_questions_by_source(),
            "failed": {f"{kind} {one}": reason for (kind, one), reason in self.failed.items()},
        }

    def counted(self) -> dict[str, Any]:
        """Count the drafts that were decided, for the attempt's entry in the manifest."""
        return {"drafts_done": self.done_now}
