"""Questions that a language model writes about the passages of a choice: commissioned, kept, and asked of systems."""

from __future__ import annotations

import json
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from embassay.data import Dataset
from embassay.data.documents import passage_places
from embassay.limits import WHOLE, read_bounded
from embassay.protocols.choose.options import ChoiceOptions
from embassay.protocols.kernel.tables import Column, ColumnTable
from embassay.protocols.questions.drafts import (
    KEPT,
    OUTCOMES,
    Draft,
    Drawn,
    Writer,
    decided,
    draw_passages,
    near_repeats,
    planned,
    prompt,
    waiting,
    writer_of,
)
from embassay.protocols.questions.options import QuestionsOptions
from embassay.systems.remote import Ledger

FILE = "model_questions.jsonl"
"""The file of a run with the questions that were kept."""
BY_MODEL = "model: "
"""What the names of families of such questions begin with; their kind follows."""


@dataclass(frozen=True)
class CellOptions(ChoiceOptions):
    """The options as cells get them, with the file of what a model has written (empty: nothing)."""

    written: str = ""


def cell_options(options: ChoiceOptions, written: str) -> CellOptions:
    """The options of a run for its cells."""
    return CellOptions(
        **{field.name: getattr(options, field.name) for field in fields(ChoiceOptions)}, written=written
    )


@dataclass(frozen=True)
class Posed:
    """A question by a model: its kind, and the id of the passage that it is about."""

    id: str
    kind: str
    text: str
    passage: str


@dataclass(frozen=True)
class Commission:
    """What a model is to write about the passages of one dataset."""

    dataset: str
    writer: Writer
    drawn: Drawn

    def lacks(self, drafts: Container[str]) -> bool:
        """Whether some question is not decided."""
        return bool(waiting(self.writer, self.drawn, drafts))

    def rows(self, drafts: Mapping[str, Draft]) -> list[dict[str, Any]]:
        """The questions that are kept, by kind in the order of the draw; of near repeats the first."""
        kept = [
            (f"{kind}-{number}", draft)
            for kind, some in decided(self.writer, self.drawn, drafts).items()
            for number, draft in enumerate(some, 1)
            if draft.kept
        ]
        gone = set(near_repeats([draft.question for _, draft in kept], self.writer.options.near))
        return [
            {
                "dataset": self.dataset,
                "id": key,
                "kind": draft.kind,
                "text": draft.question,
                "passage": draft.passage,
                "document": draft.document,
                "start": draft.start,
                "end": draft.end,
                "evidence": draft.evidence,
                "answer": draft.answer,
            }
            for place, (key, draft) in enumerate(kept)
            if place not in gone
        ]

    def counts(self, drafts: Mapping[str, Draft]) -> dict[str, dict[str, int]]:
        """Kind -> outcome -> drafts."""
        kept = {row["id"] for row in self.rows(drafts)}
        found: dict[str, dict[str, int]] = {}
        for kind, some in decided(self.writer, self.drawn, drafts).items():
            own = found.setdefault(kind, {})
            for number, draft in enumerate(some, 1):
                repeats = draft.kept and f"{kind}-{number}" not in kept
                name = "near-duplicate" if repeats else draft.outcome
                own[name] = own.get(name, 0) + 1
        return found


def open_writer(options: ChoiceOptions, seed: int, cache: Path | None, ledger: Ledger | None) -> Writer:
    """Who writes and who checks. ModelError for a model that cannot be opened, UsageError for one without a price where
    the cost is limited."""
    how = QuestionsOptions(n=options.written_per_kind, into=options.into)
    writer = writer_of(options.llm, options.checker, how, seed, cache, ledger)
    planned(options.llm, options.checker, writer, ledger)
    return writer


def commission(
    writer: Writer, kinds: Sequence[str], dataset: Dataset, name: str, searched: Container[str]
) -> Commission:
    """Draw passages of those that are `searched` (ids). DataError where none is long enough."""
    passages = [one for one in passage_places(dataset) if one.id in searched]
    return Commission(name, writer, draw_passages(passages, kinds, writer.options, writer.seed, name))


def read_posed(path: str, dataset: str) -> tuple[Posed, ...]:
    """The questions of a run's file about one dataset; none where there is no file."""
    if not path or not Path(path).is_file():
        return ()
    rows = [json.loads(line) for line in read_bounded(Path(path), WHOLE).splitlines() if line.strip()]
    return tuple(
        Posed(row["id"], row["kind"], row["text"], row["passage"])
        for row in rows
        if row["dataset"] == dataset
    )


def told_of(
    commissions: Sequence[Commission], drafts: Mapping[str, Draft], failed: Mapping[Any, str]
) -> dict[str, Any]:
    """What a manifest says of the questions: who wrote and checked them by which prompts, and what became of them."""
    if not commissions:
        return {}
    first = commissions[0]
    writer, options = first.writer, first.writer.options
    prompts = [prompt(kind, options.into).as_dict() for kind in (*first.drawn, "check")]
    return {
        "by": writer.chat.name, "identity": writer.chat.identity, "checker": writer.checker.name,
        "checker_identity": writer.checker.identity, "prompts": prompts,
        "kept": {one.dataset: len(one.rows(drafts)) for one in commissions},
        "wanted": {one.dataset: sum(map(len, one.drawn.values())) for one in commissions},
        "drafts": {one.dataset: one.counts(drafts) for one in commissions},
        "failed": {f"{kind} {passage}": reason for (kind, passage), reason in failed.items()},
    }  # fmt: skip


def draft_tables(commissions: Sequence[Commission], drafts: Mapping[str, Draft]) -> Iterator[ColumnTable]:
    """What became of the drafts."""
    for one in commissions:
        counts = one.counts(drafts)
        outcomes = [name for name in OUTCOMES if any(name in own for own in counts.values())]
        columns = (Column("Kind", "text"), *(Column(name.capitalize(), decimals=0) for name in outcomes))
        rows: tuple[tuple[Any, ...], ...] = tuple(
            (kind, *(own.get(name, 0) for name in outcomes)) for kind, own in counts.items()
        )
        said = "; ".join(f"{name}: {OUTCOMES[name]}" for name in outcomes if name != KEPT)
        yield ColumnTable(
            "choice_drafts", "What became of the questions that a model wrote", columns, rows, said
        )
