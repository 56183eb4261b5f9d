"""The two baselines: the order of the grades, and the whole pool judged in one answer (spec rag 4.2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from embassay.protocols.rag.ranking.engines import (
    Call,
    Candidate,
    Ranker,
    Ranking,
    check_answers,
    order_by_grade,
    starting_scores,
)
from embassay.randomness import random_bytes
from embassay.spec import COLON, Spec


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


Shown = Literal["fusion", "grades", "shuffled"]


@dataclass(frozen=True)
class SingleShot:
    """One answer orders all candidates. `shown` is the order in which they stand in the prompt: by `fusion`, which
    says nothing of grades, by `grades`, or `shuffled` anew for each seed."""

    shown: Shown = "fusion"
    repair: ClassVar[bool] = True
    """An answer that leaves candidates out is mended: they come last, by grade."""

    @property
    def name(self) -> str:
        params = {} if self.shown == "fusion" else {"shown": self.shown}
        return COLON.format(Spec("single_shot", params=params))

    def start(self, candidates: Sequence[Candidate], *, query: str, top: int, seed: int) -> Ranker:  # noqa: ARG002
        return SingleShotRanker(self.name, tuple(candidates), self._order(candidates, query, seed))

    def share(self, rankers: Mapping[str, Ranker]) -> None:
        """There is nothing to share."""

    def _order(self, candidates: Sequence[Candidate], query: str, seed: int) -> tuple[int, ...]:
        if self.shown == "grades":
            return order_by_grade(candidates)
        if self.shown == "fusion":
            return tuple(sorted(range(len(candidates)), key=lambda i: (candidates[i].rank, candidates[i].id)))
        keys = {i: random_bytes(8, seed, "single_shot", query, str(i)) for i in range(len(candidates))}
        return tuple(sorted(keys, key=keys.__getitem__))


class SingleShotRanker:
    """The order of the grades until the one answer is there."""

    def __init__(self, name: str, candidates: tuple[Candidate, ...], shown: tuple[int, ...]) -> None:
        self._name, self._candidates = name, candidates
        self._proposals = (shown,) if len(shown) > 1 else ()
        self._order = order_by_grade(candidates)
        self._calls = 0

    def proposals(self) -> Sequence[tuple[int, ...]]:
        return self._proposals

    def learn(self, calls: Sequence[Call]) -> None:
        check_answers(self._proposals, calls)
        for call in calls:
            self._order, self._proposals, self._calls = call.order, (), 1

    def ranking(self) -> Ranking:
        n = len(self._candidates)
        scores = starting_scores(self._candidates)
        if self._calls:
            for place, position in enumerate(self._order):
                scores[position] = float(n - place)
        return Ranking(
            self._order, tuple(scores), (self._calls,) * n, (float(self._calls),) * n, self._stopped
        )

    def state(self) -> Mapping[str, Any]:
        return {"engine": self._name, "iteration": self._calls, "stopped": self._stopped}

    @property
    def _stopped(self) -> str:
        return "" if self._proposals else "once" if self._calls else "few"
