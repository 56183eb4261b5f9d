"""The baseline that asks nobody: the order of the grades."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from embassay.protocols.rag.ranking.answers import check_answers
from embassay.protocols.rag.ranking.engine import Call, Candidate, Ranker, Ranking
from embassay.protocols.rag.ranking.starting import order_by_grade, starting_scores


@dataclass(frozen=True)
class Grades:
    """By grade, then by place by fusion, then by id; nothing is judged."""

    @property
    def name(self) -> str:
        return "grades"

    def start(self, candidates: Sequence[Candidate], *, query: str, top: int, seed: int) -> Ranker:  # noqa: ARG002
        return GradesRanker(tuple(candidates))

    def share(self, rankers: Mapping[str, Ranker]) -> None:
        """There is nothing to share."""


@dataclass(frozen=True)
class GradesRanker:
    """The ranking is there from the beginning."""

    candidates: tuple[Candidate, ...]

    def proposals(self) -> Sequence[tuple[int, ...]]:
        return ()

    def learn(self, calls: Sequence[Call]) -> None:
        check_answers((), calls)

    def ranking(self) -> Ranking:
        n = len(self.candidates)
        scores = tuple(starting_scores(self.candidates))
        return Ranking(order_by_grade(self.candidates), scores, (0,) * n, (0.0,) * n, "grades")

    def state(self) -> Mapping[str, Any]:
        return {"engine": "grades", "iteration": 0, "stopped": "grades"}
