"""What a judge does: it grades one passage for a question, and it orders a few of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from embassay.errors import Unanswered, Why


@dataclass(frozen=True)
class Question:
    """A question as the user asks it, never its rewriting (spec rag, ambiguity 24)."""

    id: str
    text: str


@dataclass(frozen=True)
class Passage:
    """A candidate: its id, and its text as a reader sees it, with the breadcrumb of a chunk."""

    id: str
    text: str


@dataclass(frozen=True)
class Verdict:
    """A grade from 1 to 5 after so many `attempts`; `rejected` are the answers before it that were none, in words."""

    grade: int
    attempts: int = 1
    rejected: tuple[str, ...] = ()


@dataclass(frozen=True)
class Ordering:
    """The positions of the passages that were shown, best first: a permutation of range(n).

    Where a repair was allowed, the last `missing` of them are those that the answer left out, as they were shown, and
    `unknown` labels of it stood for nothing or for a second time.
    """

    order: tuple[int, ...]
    attempts: int = 1
    rejected: tuple[str, ...] = ()
    missing: int = 0
    unknown: int = 0


class NoVerdict(Unanswered):
    """No attempt brought an answer that is one; `rejected` says what was wrong with each, in words whose part before
    the colon is the kind of the fault."""

    def __init__(self, message: str, rejected: Sequence[str], why: Why = "empty") -> None:
        super().__init__(message, why)
        self.rejected = tuple(rejected)


UNREADABLE = "no answer that can be read"


def unreadable(name: str, rejected: Sequence[str], why: Why = "empty") -> NoVerdict:
    """The error of a judge whose answers were all rejected."""
    return NoVerdict(
        f"{name} gave {UNREADABLE} in {len(rejected)} attempts, the last: {rejected[-1].rstrip('.')}.",
        rejected,
        why,
    )


class Judge(Protocol):
    """Judges passages for a question. Equal calls have equal answers; `draw` tells repeats of one call apart.

    Both methods raise `Unanswered` when no attempt (6 by default) brought an answer that is one, another ModelError
    when the judge cannot be had, BudgetExceeded at the limit of cost. What is bought is kept.
    """

    @property
    def name(self) -> str:
        """The canonical spec string, as in result files."""
        ...

    @property
    def identity(self) -> str:
        """Everything its answers depend on: model, prompts, sampling."""
        ...

    async def grade(self, question: Question, passage: Passage, *, draw: int = 0) -> Verdict:
        """How well the passage answers the question, 1 to 5 (spec rag 1.1)."""
        ...

    async def order(
        self, question: Question, passages: Sequence[Passage], *, draw: int = 0, repair: bool = False
    ) -> Ordering:
        """The passages, shown in this order, best first. With `repair` an answer that leaves passages out or names
        others is mended (spec rag 4.2, single-shot) in place of asking again."""
        ...
