"""What a run of questions asks about, and the dataset that comes of it: repeats taken out, shares counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from embassay.data import Dataset, open_dataset
from embassay.data.documents import Placed, passage_places
from embassay.data.intake import Intake
from embassay.data.tables import known_suffix, table
from embassay.data.views import Draw, Renamed
from embassay.errors import UsageError
from embassay.protocols.kernel.plan import Plan, PlannedDataset, PlannedTask
from embassay.protocols.kernel.tables import Column, ColumnTable, RunTable
from embassay.protocols.questions import drafts
from embassay.protocols.questions.drafts import KEPT, OUTCOMES, Draft, Writer, near_repeats, prompt
from embassay.protocols.questions.options import OF_MODELS
from embassay.protocols.rag.questions.options import QuestionsRequest
from embassay.records import Result
from embassay.runs.folder import Cell, digest, to_json, write_atomic
from embassay.runs.forecast import Forecast, Forecasts
from embassay.stats import wilson
from embassay.systems.remote import Ledger
from embassay.text.questions import KINDS as OF_DOCUMENTS
from embassay.text.questions import PseudoQuestion, Text, pseudo_questions

TASK = "questions"
DOCUMENTS = "documents"
"""Who asks the questions that no model writes."""


@dataclass(frozen=True)
class User:
    """A question of a user, from a file."""

    id: str
    text: str


@dataclass(frozen=True, kw_only=True)
class QuestionsPlan(Plan):
    """The passages, those drawn by kind, and the users' questions; `writer` is None where no model is asked."""

    passages: tuple[Placed, ...]
    drawn: Mapping[str, tuple[Placed, ...]]
    users: tuple[User, ...]
    writer: Writer | None


def make_plan(request: QuestionsRequest, cache: Path | None, ledger: Ledger | None) -> QuestionsPlan:
    """Open the corpus, the models and the users' questions, and draw passages. UsageError, ModelError and DataError as
    openings raise them."""
    dataset = open_dataset(request.corpus, mapping=request.mapping)
    passages = passage_places(dataset)
    users = read_users(request.queries) if request.queries else ()
    kinds = [kind for kind in request.chosen if kind in OF_MODELS]
    writer = (
        drafts.writer_of(request.llm, request.checker, request.options, request.seed, cache, ledger)
        if request.llm
        else None
    )
    drawn = drafts.draw_passages(passages, kinds, request.options, request.seed, request.corpus)
    cells = tuple(_cell(kind, dataset, request, writer) for kind in request.chosen)
    task = PlannedTask(TASK, sum(map(len, drawn.values())), len(passages), dataset.skipped, dataset.notes)
    planned = PlannedDataset(request.corpus, dataset.name, dataset.lang, dataset.fingerprint, (task,))
    systems = () if writer is None else drafts.planned(request.llm, request.checker, writer, ledger)
    return QuestionsPlan(
        request, systems, (planned,), cells, cache=cache, passages=passages, drawn=drawn, users=users, writer=writer
    )  # fmt: skip


def read_users(name: str) -> tuple[User, ...]:
    """The users' questions: a table with `text`, and perhaps `id`."""
    path = Path(name).expanduser()
    if not path.is_file():
        raise UsageError(f"There is no file {name!r}.", mend="Check its name and folder.")
    if not known_suffix(path.name):
        raise UsageError(f"{name} is not a table.", mend="Give a .jsonl, .csv, .tsv, .txt or .parquet file.")
    intake = Intake()
    rows = intake.read(
        Renamed(table(path)), ["text"], lambda row, key: intake.texts(row, key, "text"), Draw(None, 0)
    )
    return tuple(User(key, texts[0]) for key, texts in rows)


def _cell(kind: str, dataset: Dataset, request: QuestionsRequest, writer: Writer | None) -> Cell:
    by = DOCUMENTS if kind in OF_DOCUMENTS or writer is None else writer.chat.name
    made = [] if writer is None else [writer.chat.identity, writer.checker.identity, prompt("check").identity]
    key = digest([TASK, kind, dataset.fingerprint, made, request.options.as_dict(), request.seed])
    return Cell(TASK, dataset.name, by, key, 1, None, variant=kind)


def forecast(plan: QuestionsPlan, done: Mapping[str, Draft]) -> Forecasts:
    """The calls for each draft that is not `done` (by key), and between which sums they may come to lie."""
    found: list[Forecast] = []
    for cell in plan.cells:
        head = Forecast(f"{TASK}: {cell.variant}", cell.dataset, cell.system, 0, 0, 0)
        if cell.variant in OF_MODELS and plan.writer is not None:
            found += drafts.forecast(head, plan.writer, cell.variant, plan.drawn[cell.variant], done)
        else:
            found.append(head)
    said = "" if plan.writer is None else drafts.in_all(found, plan.writer, done)
    return Forecasts(tuple(found), (said,) if said else ())


USERS = "users"


@dataclass(frozen=True)
class Asked:
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
class Gathered:
    """The questions of the set, users' first; drafts by kind with their final outcomes; the passages to search, and
    what documents did not ask, by reason."""

    asked: tuple[Asked, ...]
    drafts: Mapping[str, Sequence[Draft]]
    passages: tuple[Text, ...]
    wanted: Mapping[str, int]
    rejected: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    repeated: Mapping[str, int] = field(default_factory=dict)
    """Source -> questions left out because they repeat an earlier one."""

    def counts(self, kind: str) -> dict[str, int]:
        """Outcome -> drafts of a kind, in the order of OUTCOMES; of documents' kinds what was asked and what not."""
        if kind in OF_DOCUMENTS:
            kept = sum(one.kind == kind for one in self.asked)
            return {KEPT: kept, **dict(self.rejected.get(kind, {}))}
        found = Counter(draft.outcome for draft in self.drafts.get(kind, ()))
        return {name: found[name] for name in OUTCOMES if found[name]}

    def is_whole(self, kind: str) -> bool:
        """Whether every passage drawn for a kind has its draft."""
        return len(self.drafts.get(kind, ())) == self.wanted.get(kind, 0)

    def shares(self) -> dict[str, dict[str, float]]:
        """Source -> its questions and their share of all."""
        found = Counter(one.source for one in self.asked)
        return {name: {"questions": count, "share": count / len(self.asked)} for name, count in found.items()}


def gathered(plan: QuestionsPlan, decided: Mapping[str, Sequence[Draft]]) -> Gathered:
    """Put together users' questions, the drafts that were kept and what documents ask, each once: of questions that
    nearly repeat each other the first stays, users' before all."""
    pseudo = _of_documents(plan)
    users = [Asked(user.id, user.text, "user", USERS) for user in _unmistaken(plan.users)]
    written = [
        _of_draft(plan, draft, number)
        for kind in OF_MODELS
        for number, draft in enumerate(decided.get(kind, ()), 1)
        if draft.kept
    ]
    every = [*users, *(one for one, _ in written), *pseudo.asked]
    repeats = near_repeats([one.text for one in every], plan.request.options.near)
    gone = {every[place].id for place in repeats}
    final = {
        kind: [
            replace(one, outcome="near-duplicate")
            if any(draft is one and asked.id in gone for asked, draft in written)
            else one
            for one in drafts
        ]
        for kind, drafts in decided.items()
    }
    left_out = Counter(every[place].source for place in repeats)
    return Gathered(
        tuple(one for one in every if one.id not in gone), final, pseudo.passages,
        {kind: len(drawn) for kind, drawn in plan.drawn.items()}, pseudo.rejected, dict(left_out),
    )  # fmt: skip


def _unmistaken(users: Sequence[User]) -> list[User]:
    """Users' questions under ids that no kind of ours begins with."""
    ours = tuple(f"{kind}-" for kind in (*OF_MODELS, *OF_DOCUMENTS))
    return [replace(user, id=f"user-{user.id}") if user.id.startswith(ours) else user for user in users]


def _of_draft(plan: QuestionsPlan, draft: Draft, number: int) -> tuple[Asked, Draft]:
    assert plan.writer is not None
    by = plan.writer.chat.name
    lang = plan.request.options.into if draft.kind == "language" else ""
    return (
        Asked(
            f"{draft.kind}-{number}", draft.question, draft.kind, by, (draft.passage,), draft.document,
            draft.start, draft.end, draft.evidence, draft.answer, lang,
        ),
        draft,
    )  # fmt: skip


@dataclass(frozen=True)
class _Pseudo:
    asked: tuple[Asked, ...]
    passages: tuple[Text, ...]
    rejected: Mapping[str, Mapping[str, int]]


def _of_documents(plan: QuestionsPlan) -> _Pseudo:
    """What documents ask of themselves; nothing is taken out of a passage that a model was shown."""
    texts = [Text(passage.id, passage.body, passage.title, passage.document) for passage in plan.passages]
    kinds = [kind for kind in plan.request.chosen if kind in OF_DOCUMENTS]
    if not kinds:
        return _Pseudo((), tuple(texts), {})
    whole = {one.id for drawn in plan.drawn.values() for one in drawn}
    found = pseudo_questions(
        texts, kinds=kinds, limit=plan.request.options.n, seed=plan.request.seed, whole=whole
    )
    sources = {passage.id: passage for passage in plan.passages}
    numbers = Counter[str]()
    asked = []
    for question in found.questions:
        numbers[question.kind] += 1
        source = sources[question.answers[0]]
        asked.append(
            _asked(question, f"{question.kind}-{numbers[question.kind]}", source.document or source.id)
        )
    return _Pseudo(tuple(asked), found.passages, found.rejected)


def _asked(question: PseudoQuestion, key: str, document: str) -> Asked:
    return Asked(key, question.text, question.kind, DOCUMENTS, question.answers, document)


def write_export(folder: Path, plan: QuestionsPlan, found: Gathered) -> None:
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
            "id": one.id, "text": one.text, "tags": [one.kind, *([one.lang] if one.lang else [])],
            "source": one.source, **({"answer": one.answer} if one.answer else {}),
        }
        for one in found.asked
    )  # fmt: skip
    spans = (
        {
            "query_id": one.id, "document": one.document, "start": one.start, "end": one.end, "relevance": 1,
            "text": one.evidence,
        }
        for one in found.asked
        if one.start is not None
    )  # fmt: skip
    qrels = "".join(f"{one.id}\t{doc}\t1\n" for one in found.asked for doc in one.answers)
    for name, rows in (("corpus", corpus), ("queries", queries), ("spans", spans)):
        write_atomic(folder / f"{name}.jsonl", "".join(to_json(row) + "\n" for row in rows))
    write_atomic(folder / "qrels.tsv", f"query-id\tcorpus-id\tscore\n{qrels}")


def rows_of(plan: QuestionsPlan, found: Gathered) -> list[Result]:
    """The share of drafts that was kept, by kind, with Wilson's interval."""
    rows = []
    for cell in plan.cells:
        counts = found.counts(cell.variant)
        n, kept = sum(counts.values()), counts.get(KEPT, 0)
        where = ("rag", TASK, cell.dataset, "", plan.lang(cell.dataset), cell.variant, cell.system, "kept")
        if not n:
            rows.append(Result(*where, None, 0, seed=plan.request.seed, reason="nothing could be asked"))
            continue
        ends = wilson(kept / n, n)
        rows.append(Result(*where, kept / n, n, ends.low, ends.high, "Wilson over drafts", plan.request.seed))
    return rows


def tables(plan: QuestionsPlan, found: Gathered) -> Iterator[RunTable]:
    """Where the questions came from, what became of the drafts, and what documents could not ask."""
    shares = found.shares()
    asked = tuple(
        (name, int(share["questions"]), 100 * share["share"], found.repeated.get(name, 0))
        for name, share in shares.items()
    )
    yield ColumnTable(
        "sources", "Where the questions came from",
        (Column("Source", "text"), Column("Questions", decimals=0), Column("Share (%)", decimals=1),
         Column("Repeats left out", decimals=0)), asked,
        "Users' questions come first: what repeats one of them is left out.",
    )  # fmt: skip
    for name, title, kinds in (
        ("drafts", "What became of the questions that a model wrote", OF_MODELS),
        ("documents", "What documents asked of themselves", OF_DOCUMENTS),
    ):
        chosen = [kind for kind in plan.request.chosen if kind in kinds]
        outcomes = list(dict.fromkeys(count for kind in chosen for count in found.counts(kind)))
        if chosen:
            columns = (
                Column("Kind", "text"),
                *(Column(outcome.capitalize(), decimals=0) for outcome in outcomes),
            )
            rows = tuple(
                (kind, *(found.counts(kind).get(outcome, 0) for outcome in outcomes)) for kind in chosen
            )
            yield ColumnTable(name, title, columns, rows, _notes(outcomes))


def _notes(outcomes: Sequence[str]) -> str:
    said: dict[str, Any] = {
        outcome: OUTCOMES[outcome] for outcome in outcomes if outcome in OUTCOMES and outcome != KEPT
    }
    return "; ".join(f"{name}: {why}" for name, why in said.items())
