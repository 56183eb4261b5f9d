"""What a judge does: it grades one passage for a question, and it orders a few of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


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
    """The positions of the passages that were shown, best first: a permutation of range(n)."""

    order: tuple[int, ...]
    attempts: int = 1
    rejected: tuple[str, ...] = ()


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

    async def order(self, question: Question, passages: Sequence[Passage], *, draw: int = 0) -> Ordering:
        """The passages, shown in this order, best first."""
        ...
