"""From a request to what is asked about: the corpus as passages, those drawn for each kind, and what they will cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from embassay.contracts import ChatModel
from embassay.data import Dataset, open_dataset
from embassay.data.documents import Placed, passage_places
from embassay.data.intake import Intake
from embassay.data.tables import known_suffix, table
from embassay.data.views import Draw, Renamed
from embassay.errors import DataError, UsageError
from embassay.protocols.kernel.plan import Plan, PlannedDataset, PlannedSystem, PlannedTask
from embassay.protocols.kernel.session import unknown_price
from embassay.protocols.rag.questions.drafts import (
    Draft,
    Writer,
    check_messages,
    prompt,
    write_messages,
)
from embassay.protocols.rag.questions.options import OF_DOCUMENTS, OF_MODELS, QuestionsRequest
from embassay.randomness import random_bytes
from embassay.runs.folder import Cell, digest
from embassay.runs.forecast import Forecast, Forecasts, remote_seconds
from embassay.runs.store import AnswerCache, CachedChat
from embassay.systems.chat import open_chat
from embassay.systems.remote import Ledger
from embassay.systems.remote.ledger import likely_tokens

TASK = "questions"
DOCUMENTS = "documents"
"""Who asks the questions that no model writes."""
_ANSWER = 700
"""Tokens that an answer may have."""
_WRITTEN, _CHECKED = 70, 35
"""Tokens of usual answers."""


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
    writer = _writer(request, cache, ledger) if request.llm else None
    drawn = draw_passages(passages, request)
    cells = tuple(_cell(kind, dataset, request, writer) for kind in request.chosen)
    task = PlannedTask(TASK, sum(map(len, drawn.values())), len(passages), dataset.skipped, dataset.notes)
    planned = PlannedDataset(request.corpus, dataset.name, dataset.lang, dataset.fingerprint, (task,))
    systems = () if writer is None else _systems(request, writer, ledger)
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


def draw_passages(passages: Sequence[Placed], request: QuestionsRequest) -> dict[str, tuple[Placed, ...]]:
    """Kind -> the passages that a model is to ask about, drawn by id and seed; none twice while there are others."""
    fit = [one for one in passages if len(one.body.split()) >= request.options.words]
    used: dict[str, int] = {}
    drawn = {}
    for kind in request.chosen:
        if kind in OF_DOCUMENTS:
            continue
        ranked = sorted(
            fit, key=lambda one: (used.get(one.id, 0), random_bytes(8, request.seed, TASK, kind, one.id))
        )
        drawn[kind] = tuple(ranked[: request.options.n])
        used |= {one.id: used.get(one.id, 0) + 1 for one in drawn[kind]}
    if drawn and not fit:
        raise DataError(
            f"no passage has {request.options.words} words", path=request.corpus,
            mend="Ask about shorter ones: --words 10.",
        )  # fmt: skip
    return drawn


def _writer(request: QuestionsRequest, cache: Path | None, ledger: Ledger | None) -> Writer:
    answers = AnswerCache.open(cache)
    chat = CachedChat(_opened(request.llm, ledger), answers)
    checker = CachedChat(_opened(request.checker, ledger), answers) if request.checker else chat
    return Writer(chat, checker, request.options, request.seed)


def _opened(spec: str, ledger: Ledger | None) -> ChatModel:
    chat = open_chat(spec, ledger=ledger)
    suit = getattr(chat, "suited", None)
    return chat if suit is None else suit(tokens=_ANSWER + 4_000, think=False)


def _cell(kind: str, dataset: Dataset, request: QuestionsRequest, writer: Writer | None) -> Cell:
    by = DOCUMENTS if kind in OF_DOCUMENTS or writer is None else writer.chat.name
    made = [] if writer is None else [writer.chat.identity, writer.checker.identity, prompt("check").identity]
    key = digest([TASK, kind, dataset.fingerprint, made, request.options.as_dict(), request.seed])
    return Cell(TASK, dataset.name, by, key, 1, None, variant=kind)


def _systems(request: QuestionsRequest, writer: Writer, ledger: Ledger | None) -> tuple[PlannedSystem, ...]:
    roles = [(request.llm, writer.chat, "writes questions")]
    if request.checker:
        roles.append((request.checker, writer.checker, "checks that its passage answers a question"))
    found = []
    for spec, chat, role in roles:
        price = getattr(chat.model, "price", None)
        if price is None and ledger is not None and ledger.max_usd is not None:
            raise unknown_price(chat.name)
        facts: dict[str, Any] = {"summary": role}
        if price is not None:
            facts["usd_per_million_input"] = price.usd_per_million_input
            facts["usd_per_million_output"] = price.usd_per_million_output
        found.append(PlannedSystem(spec, chat.name, chat.identity, "llm", facts))
    return tuple(found)


def forecast(plan: QuestionsPlan, done: Mapping[str, Draft]) -> Forecasts:
    """Two calls for each draft that is not `done` (by key), as if the first attempt were kept."""
    found = []
    for cell in plan.cells:
        kind = cell.variant
        head = Forecast(f"{TASK}: {kind}", cell.dataset, cell.system, 0, 0, 0)
        if kind not in OF_MODELS or plan.writer is None:
            found.append(head)
            continue
        asked = [one for one in plan.drawn[kind] if plan.writer.key(kind, one) not in done]
        into = plan.request.options.into
        writer = plan.writer
        sent = [(writer.chat, [write_messages(kind, one, into) for one in asked], _WRITTEN)]
        sent.append((writer.checker, [check_messages("?" * 60, one) for one in asked], _CHECKED))
        for chat, calls, written in sent:
            model: Any = chat.model
            price, out = getattr(model, "price", None), written * len(asked)
            read = sum(likely_tokens([message.content for message in call]) for call in calls)
            found.append(
                replace(
                    head, system=chat.name, items=len(asked), texts=len(asked), tokens=read + out,
                    requests=len(asked), usd=None if price is None else price.usd(read, out),
                    seconds=remote_seconds(model, len(asked), read + out), assumed=True,
                )
            )  # fmt: skip
    return Forecasts(tuple(found))
