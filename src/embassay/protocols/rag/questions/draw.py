"""From a request to what is asked about: the corpus as passages, those drawn for each kind, and what they will cost."""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass
from pathlib import Path

from embassay.data import Dataset, open_dataset
from embassay.data.documents import Placed, passage_places
from embassay.data.intake import Intake
from embassay.data.tables import known_suffix, table
from embassay.data.views import Draw, Renamed
from embassay.errors import UsageError
from embassay.protocols.kernel.plan import Plan, PlannedDataset, PlannedTask
from embassay.protocols.questions import drafts
from embassay.protocols.questions.drafts import Writer, prompt
from embassay.protocols.questions.options import OF_MODELS
from embassay.protocols.rag.questions.options import QuestionsRequest, of_documents
from embassay.runs.folder import Cell, digest
from embassay.runs.forecast import Forecast, Forecasts
from embassay.systems.remote import Ledger

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
    by = DOCUMENTS if kind in of_documents() or writer is None else writer.chat.name
    made = [] if writer is None else [writer.chat.identity, writer.checker.identity, prompt("check").identity]
    key = digest([TASK, kind, dataset.fingerprint, made, request.options.as_dict(), request.seed])
    return Cell(TASK, dataset.name, by, key, 1, None, variant=kind)


def forecast(plan: QuestionsPlan, done: Container[str]) -> Forecasts:
    """Two calls for each draft that is not `done` (by key), as if the first attempt were kept."""
    found: list[Forecast] = []
    for cell in plan.cells:
        head = Forecast(f"{TASK}: {cell.variant}", cell.dataset, cell.system, 0, 0, 0)
        if cell.variant in OF_MODELS and plan.writer is not None:
            found += drafts.forecast(head, plan.writer, cell.variant, plan.drawn[cell.variant], done)
        else:
            found.append(head)
    return Forecasts(tuple(found))
