"""Whether the answers that came are such as the model expects. Claims hold for noise that is fresh in every answer; a
judge whose errors are fixed, or who does not read, makes a posterior sure of what is not so.

Every answer is compared with what was predicted before it came (one step ahead), by pairs: under Plackett-Luce i is put
before j with the logistic of the difference of their scores, whatever else is shown. The limits were set on simulated
judges and tried on others: `benchmarks/bench_golden_ranking.py --reliability`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from embassay.protocols.rag.ranking.bayes.likelihood import Floats

STEADY, CIRCULAR = 0.4, 0.004
"""Fixed errors: pairs shown again stay as they were by more than this (excess over its variance, a shift in logits),
and yet more than this share of threes goes round in a circle. A sharp judge has the first without the second, fresh
noise the second without the first."""
AS_SHOWN = 0.05
"""The order shown comes back as the answer in more than this share of answers beyond chance."""
FAVOUR = 0.4
"""A bias for places above this, in standard deviations of utility."""
SURPRISE = 0.3
"""Pairs shown again were less probable than predicted by more than this (nats beyond their expectation, over its
variance)."""
FEW = {"spread": 3.0, "triads": 50.0, "answers": 10.0, "doubt": 30.0}
"""Added to what each figure is divided by, so that a few answers raise no alarm."""


@dataclass(frozen=True)
class Checks:
    """Sums over answers, which add up over queries. Of pairs shown before: `stayed`, how many more than expected were
    put as before, and `spread`, the variance of that; `surprise`, the log loss beyond what was expected, and `doubt`,
    its variance. Of `triads`, threes with a majority for each pair, `circles` go round. Of `answers`, `as_shown` more
    than expected are the order shown."""

    answers: float = 0.0
    stayed: float = 0.0
    spread: float = 0.0
    surprise: float = 0.0
    doubt: float = 0.0
    circles: float = 0.0
    triads: float = 0.0
    as_shown: float = 0.0

    def __add__(self, other: Checks) -> Checks:
        return Checks(**{name: value + getattr(other, name) for name, value in vars(self).items()})

    def __sub__(self, other: Checks) -> Checks:
        return Checks(**{name: value - getattr(other, name) for name, value in vars(self).items()})

    def figures(self, favour: float) -> Mapping[str, float]:
        """What is held against the limits, with the bias for places `favour`."""
        return {
            "steadiness": self.stayed / (self.spread + FEW["spread"]),
            "circular": self.circles / (self.triads + FEW["triads"]),
            "as_shown": self.as_shown / (self.answers + FEW["answers"]),
            "favour": favour,
            "surprise": self.surprise / (self.doubt + FEW["doubt"]),
        }

    def doubts(self, favour: float) -> tuple[str, ...]:
        """Why nothing should be claimed: `fixed errors`, `order shown`, `places`, `surprises`; none if all is well."""
        said = self.figures(favour)
        found = {
            "fixed errors": said["steadiness"] > STEADY and said["circular"] > CIRCULAR,
            "order shown": said["as_shown"] > AS_SHOWN,
            "places": abs(favour) > FAVOUR,
            "surprises": said["surprise"] > SURPRISE,
        }
        return tuple(name for name, holds in found.items() if holds)


class Answers:
    """The answers about one pool of n as they come, with their checks."""

    def __init__(self, n: int, random: float) -> None:
        self._wins, self._random = np.zeros((n, n), dtype=np.int64), random
        self._sums = Checks()

    def add(self, order: NDArray[np.int64], place: Floats, both: Floats) -> None:
        """An answer `order` (m,), shown at `place` (m,) in -1 .. 1, where `both` (draws, n + 1) were draws of the
        scores and the bias before it came."""
        scores = both[:, order] - place * both[:, -1:]
        above, below = np.triu_indices(len(order), 1)
        chance = (1 / (1 + np.exp(scores[:, below] - scores[:, above]))).mean(axis=0)
        chance = (1 - self._random) * chance + self._random / 2
        before = self._wins[order[above], order[below]] - self._wins[order[below], order[above]]
        again = self._wins[order[above], order[below]] + self._wins[order[below], order[above]] > 0
        self._sums += Checks(
            1.0, *_stayed(chance[before != 0], before[before != 0] > 0), *_surprise(chance[again]),
            as_shown=float((np.diff(place) > 0).all()) - self._as_shown(scores[:, np.argsort(place)]),
        )  # fmt: skip
        self._wins[order[above], order[below]] += 1

    def checks(self) -> Checks:
        """The sums, with the circles that there are now."""
        over = (self._wins > self._wins.T).astype(np.int64)
        either = over + over.T
        circles, triads = np.trace(over @ over @ over) / 3, np.trace(either @ either @ either) / 6
        return self._sums + Checks(circles=float(circles), triads=float(triads))

    def _as_shown(self, scores: Floats) -> float:
        """How probable it is that an answer is the order in which `scores` (draws, m) stand."""
        tails = np.logaddexp.accumulate(scores[:, ::-1], axis=1)[:, ::-1]
        real = float(np.exp((scores - tails).sum(axis=1)).mean())
        return (1 - self._random) * real + self._random / math.factorial(scores.shape[1])


def _stayed(chance: Floats, as_before: NDArray[np.bool_]) -> tuple[float, float]:
    """Of pairs that were put so with `chance`, how many more than expected are as before, and the variance."""
    expected = np.where(as_before, chance, 1 - chance)
    return float((as_before - expected).sum()), float((chance * (1 - chance)).sum())


def _surprise(chance: Floats) -> tuple[float, float]:
    """The log loss of pairs that were put so with `chance` beyond its expectation, and its variance."""
    odds = np.log(chance / (1 - chance))
    return float((-(1 - chance) * odds).sum()), float((chance * (1 - chance) * odds**2).sum())
