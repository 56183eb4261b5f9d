"""What S6 orders for one query: its question, and the passages that S5 kept, each once."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from embassay.protocols.rag.judges import Passage, Question
from embassay.protocols.rag.ranking import Candidate
from embassay.runs.files import digest


@dataclass(frozen=True)
class RankingPool:
    """A question with its `candidates` and, in the same order, their `passages`; no id twice."""

    question: Question
    candidates: tuple[Candidate, ...]
    passages: tuple[Passage, ...]

    @classmethod
    def of(cls, question: Question, rows: Iterable[tuple[Candidate, Passage]]) -> RankingPool:
        """The pool of these rows; of several with one id the first counts.

        >>> twice = [(Candidate("a", grade, 1), Passage("a", "text")) for grade in (4, 5)]
        >>> RankingPool.of(Question("q", "?"), twice).candidates
        (Candidate(id='a', grade=4, rank=1),)
        """
        first: dict[str, tuple[Candidate, Passage]] = {}
        for candidate, passage in rows:
            first.setdefault(candidate.id, (candidate, passage))
        candidates, passages = zip(*first.values(), strict=True) if first else ((), ())
        return cls(question, tuple(candidates), tuple(passages))

    @cached_property
    def ids(self) -> tuple[str, ...]:
        """The candidates' ids."""
        return tuple(candidate.id for candidate in self.candidates)

    @cached_property
    def digest(self) -> str:
        """A fingerprint of all that a ranking of the pool depends on: question, grades, places and texts."""
        rows = [
            [candidate.id, candidate.grade, candidate.rank, passage.text]
            for candidate, passage in zip(self.candidates, self.passages, strict=True)
        ]
        return digest([self.question.id, self.question.text, rows])
