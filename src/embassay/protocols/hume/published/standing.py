"""Where people stand among the models: per pair, in groups of pairs, and overall."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from embassay.errors import UsageError
from embassay.protocols.hume.published.matrix import Matrix
from embassay.protocols.hume.published.study import Pair

Reference = Literal["best", "median", "mean"]
REFERENCES: tuple[Reference, ...] = ("best", "median", "mean")
Weighting = Literal["pairs", "datasets"]
Difficulty = Literal["easy", "moderate", "hard"]
EASY, HARD = 0.7, 0.5
ROUNDING = 1e-12
"""What the mean of equal scores can differ by from each of them: less is a tie."""


@dataclass(frozen=True)
class Standing:
    """People beside the models on one pair, all fractions. `rank` is 1 + the models strictly above; `sd` is the
    models' standard deviation (population)."""

    pair: Pair
    human: float
    best: float
    best_model: str
    median: float
    mean: float
    worst: float
    sd: float
    rank: int
    n_models: int

    def reference(self, name: Reference) -> float:
        """The models' best, median or mean."""
        return {"best": self.best, "median": self.median, "mean": self.mean}[name]

    def gap(self, name: Reference = "best") -> float:
        """Human minus the reference: above 0 people are better."""
        return self.human - self.reference(name)

    def wins(self, name: Reference = "best") -> bool:
        """Whether people are strictly better; a tie is no win."""
        return self.gap(name) > ROUNDING

    @property
    def spread(self) -> float:
        """Best minus worst model: the higher, the less consistent the models are."""
        return self.best - self.worst

    @property
    def position(self) -> float | None:
        """(human - worst) / (best - worst): 0 as the worst model, 1 as the best; None where all models are equal."""
        return (self.human - self.worst) / self.spread if self.spread else None

    @property
    def best_percent_of_human(self) -> float | None:
        """100 x best model / human; None where people scored 0 or below."""
        return percent_of_human(self.best, self.human)

    @property
    def difficulty(self) -> Difficulty:
        """For people: see `difficulty`."""
        return difficulty(self.human)


@dataclass(frozen=True)
class Wins:
    """How many of `pairs` pairs of a group people win against a reference."""

    group: str
    against: Reference
    wins: int
    pairs: int

    @property
    def rate(self) -> float:
        """Share of the pairs won."""
        return self.wins / self.pairs


@dataclass(frozen=True)
class Place:
    """A system, or Human, by its mean over pairs or datasets; `rank` is 1 + those strictly above."""

    system: str
    overall: float
    rank: int


def standings(matrix: Matrix) -> tuple[Standing, ...]:
    """People beside the models, pair by pair. UsageError for no model. Source: spec hume, section 8.

    The best model is the first of equals in the study's order.
    """
    if not matrix.models:
        raise UsageError("There is no model to compare people with.", mend="Give results of a model.")
    return tuple(
        Standing(
            pair=pair,
            human=float(human),
            best=float(x.max()),
            best_model=matrix.models[int(x.argmax())],
            median=float(np.median(x)),
            mean=float(x.mean()),
            worst=float(x.min()),
            sd=float(x.std()),
            rank=1 + int((x > human).sum()),
            n_models=len(x),
        )
        for pair, human, x in zip(matrix.pairs, matrix.human, matrix.values.T, strict=True)
    )


def win_rates(standings: Sequence[Standing], by: Callable[[Pair], str] = lambda _: "all") -> tuple[Wins, ...]:
    """Wins against best, median and mean in every group that `by` makes of the pairs, groups as first met.

    Source: spec hume, section 8; figure 12.
    """
    groups = dict.fromkeys(by(one.pair) for one in standings)
    return tuple(
        Wins(group, name, sum(one.wins(name) for one in own), len(own))
        for group in groups
        for own in ([one for one in standings if by(one.pair) == group],)
        for name in REFERENCES
    )


def places(matrix: Matrix, weighting: Weighting = "pairs") -> tuple[Place, ...]:
    """Models and Human by their mean, best first; equals share a rank.

    Over all `pairs`, as the paper; or over `datasets`, each first over its languages, which ranks people lower.
    Source: spec hume, section 8 and ambiguity 14.
    """
    means = matrix.means() if weighting == "pairs" else _means_of_datasets(matrix)
    ranked = sorted(means.items(), key=lambda item: -item[1])
    return tuple(
        Place(system, mean, 1 + sum(other > mean for other in means.values())) for system, mean in ranked
    )


def _means_of_datasets(matrix: Matrix) -> dict[str, float]:
    names = dict.fromkeys(pair.dataset for pair in matrix.pairs)
    each = [matrix.means(_of_dataset(name)) for name in names]
    return {system: float(np.mean([means[system] for means in each])) for system in each[0]}


def _of_dataset(name: str) -> Callable[[Pair], bool]:
    return lambda pair: pair.dataset == name


def difficulty(human: float) -> Difficulty:
    """Easy from 0.7, hard below 0.5, moderate between. Source: spec hume, section 8 and ambiguity 19.

    >>> difficulty(0.7), difficulty(0.5), difficulty(0.49)
    ('easy', 'moderate', 'hard')
    """
    return "easy" if human >= EASY else "moderate" if human >= HARD else "hard"


def percent_of_human(score: float, human: float) -> float | None:
    """100 x score / human; None where people scored 0 or below, and a share means nothing.

    >>> round(percent_of_human(0.85, 22 / 48), 1)
    185.5
    """
    return 100 * score / human if human > 0 else None
