"""The ranking of one pool in the making: posterior, choice of the next batches, and when to stop."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embassay.protocols.rag.ranking.answers import check_answers
from embassay.protocols.rag.ranking.bayes.checks import Answers, Checks
from embassay.protocols.rag.ranking.bayes.choice import propose
from embassay.protocols.rag.ranking.bayes.claims import Claims, claims
from embassay.protocols.rag.ranking.bayes.likelihood import Floats
from embassay.protocols.rag.ranking.bayes.options import Options
from embassay.protocols.rag.ranking.bayes.posterior import Component, Posterior, draw
from embassay.protocols.rag.ranking.bayes.prior import spread_of_grades
from embassay.protocols.rag.ranking.engine import Call, Candidate, Ranking
from embassay.randomness import generator

LOOK_EVERY, LOOKS = 2, 2
"""Calls between two looks at whether to stop, and how many in a row must say so."""


class View:
    """What the posterior says as it stands: mixture, draws, order."""

    def __init__(self, posterior: Posterior, n: int, draws: int, rng: np.random.Generator) -> None:
        self.components = posterior.components()
        self.both = draw(self.components, rng.standard_normal((n + 1, draws)))
        self.scores = np.ascontiguousarray(self.both[:, :n])
        # Equal scores keep the order of candidates; rounding must not tell them apart.
        self.order = np.argsort(-np.round(self.best.mode[:n] / self.best.sharpness, 9), kind="stable")

    @property
    def best(self) -> Component:
        """The point of the grid with the largest weight."""
        return self.components[0]


class BayesRanker:
    """See `Ranker`. Inside, candidates stand by grade, fusion rank and id, whatever order they were given in."""

    def __init__(
        self, candidates: Sequence[Candidate], *, query: str, top: int, seed: int, options: Options
    ) -> None:
        self._options, self._top = options, max(1, min(top, len(candidates)))
        self._names = (seed, "ranking", "bayes", query)
        self._given = np.array(
            sorted(range(len(candidates)), key=lambda i: _standing(candidates[i])), dtype=np.intp
        )
        self._inside = np.argsort(self._given)
        spread = spread_of_grades([candidates[i].grade for i in self._given])
        self._limits = options.limits(len(candidates), graded=not spread.says_little)
        self._borders = spread.borders(self._top)
        self.posterior = Posterior(
            spread, options.batch, random=options.random, bias=options.bias, gamma=options.gamma
        )
        self._answers = Answers(len(candidates), options.random)
        self.others = Checks()
        self.calls = 0
        self._exposures = np.zeros(len(candidates), dtype=np.int64)
        self._view: View | None = None
        self._claims: Claims | None = None
        self._proposed: list[tuple[int, ...]] | None = None
        self._looked, self._sure = 0, 0
        self._stopped = "" if len(candidates) >= options.batch else "too few to judge"

    def proposals(self) -> Sequence[tuple[int, ...]]:
        """Batches to be judged now; none once it has stopped."""
        if self._proposed is None:
            self._look()
            self._proposed = [] if self._stopped else self._choose()
        return self._proposed

    def learn(self, answers: Sequence[Call]) -> None:
        """The answers to all proposals."""
        check_answers(self.proposals(), answers)
        if not answers:
            return
        orders = np.array([[self._inside[i] for i in call.order] for call in answers], dtype=np.int64)
        places = np.array([[call.shown.index(i) for i in call.order] for call in answers], dtype=np.float64)
        places = 2 * places / (orders.shape[1] - 1) - 1
        for order, place in zip(orders, places, strict=True):
            self._answers.add(order, place, self._seen().both)
        self.posterior.learn(orders, places)
        np.add.at(self._exposures, orders.ravel(), 1)
        self.calls += len(answers)
        self.refresh()

    def checks(self) -> Checks:
        """What this pool's own answers say of the model; `others` is what those of other pools do."""
        return self._answers.checks()

    def refresh(self) -> None:
        """Forget what was worked out: the posterior has changed."""
        self._view = self._claims = self._proposed = None

    def ranking(self) -> Ranking:
        """The order at the best point of the grid; scores in standard deviations of utility, `info` their precision."""
        view, n = self._seen(), len(self._given)
        sharpness = view.best.sharpness
        precision = sharpness**2 / np.diagonal(view.best.covariance())[:n]
        return Ranking(
            order=tuple(int(i) for i in self._given[view.order]),
            scores=_floats((view.best.mode[:n] / sharpness)[self._inside]),
            exposures=tuple(int(i) for i in self._exposures[self._inside]),
            info=_floats(precision[self._inside]),
            stopped=self._stopped,
            claims=self._told(),
            doubts=self._doubts(),
        )

    def state(self) -> Mapping[str, Any]:
        """Calls, the mixture's mean sharpness, reliability and bias for places, the checks, and the claims."""
        parts = self._seen().components
        both = self._seen().both
        sharpness = self._sharpness()
        return {
            "calls": self.calls,
            "cap": self._limits.cap,
            "sharpness": sharpness,
            "reliability": sum(part.weight * part.reliability for part in parts),
            "bias": self._favour(),
            "bias_sd": float(both[:, -1].std()) / sharpness,
            "components": len(parts),
            "looks_in_a_row": self._sure,
            "stopped": self._stopped,
            **(self.checks() + self.others).figures(self._favour()),
            "doubts": list(self._doubts()),
            **self._told(),
        }

    def _choose(self) -> list[tuple[int, ...]]:
        options, view = self._options, self._seen()
        count = min(options.at_once, self._limits.cap - self.calls)
        batches = propose(
            view.best, view.scores, view.order, self._borders, m=options.batch, count=count,
            border=options.border, rng=self._rng("choice"),
        )  # fmt: skip
        return [tuple(int(self._given[i]) for i in batch) for batch in batches]

    def _look(self) -> None:
        """Stop at the cap, or when the claims have been good enough at two looks in a row."""
        if self._stopped:
            return
        due = self.calls >= self._limits.first_look and self.calls >= self._looked + LOOK_EVERY
        if self._options.stop and self.calls and due:
            self._looked = self.calls
            self._sure = self._sure + 1 if self._good_enough() else 0
        if self._sure >= LOOKS:
            self._stopped = "sure"
        elif self.calls >= self._limits.cap:
            self._stopped = "cap"

    def _good_enough(self) -> bool:
        said, wanted = self._claimed(), self._options
        return (
            not self._doubts()
            and said.set_errors_at_most_1 >= wanted.surely
            and said.overlap >= wanted.overlap
            and said.tau >= wanted.tau
        )

    def _seen(self) -> View:
        if self._view is None:
            self._view = View(self.posterior, len(self._given), self._options.draws, self._rng("draws"))
        return self._view

    def _claimed(self) -> Claims:
        if self._claims is None:
            self._claims = claims(self._seen().scores, self._seen().order, self._top)
        return self._claims

    def _told(self) -> Mapping[str, float]:
        """The claims, none while no answer is there or the answers are not such as the model expects."""
        return self._claimed().as_mapping() if self.calls and not self._doubts() else {}

    def _doubts(self) -> tuple[str, ...]:
        return (self.checks() + self.others).doubts(self._favour()) if self.calls else ()

    def _favour(self) -> float:
        """The bias for places in standard deviations of utility."""
        return float(self._seen().both[:, -1].mean()) / self._sharpness()

    def _sharpness(self) -> float:
        return float(np.exp(sum(part.weight * np.log(part.sharpness) for part in self._seen().components)))

    def _rng(self, name: str) -> np.random.Generator:
        seed, *names = self._names
        return generator(int(seed), *map(str, names), name, str(self.calls))


def _standing(candidate: Candidate) -> tuple[int, int, str]:
    return (-(candidate.grade or 0), candidate.rank, candidate.id)


def _floats(values: Floats | NDArray[np.float64]) -> tuple[float, ...]:
    return tuple(float(value) for value in values)
