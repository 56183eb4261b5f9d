"""What follows from all pairs together: places, wins, and whether models lead where people disagree."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from embassay.protocols.hume.published.correlated import Correlation, correlated
from embassay.protocols.hume.published.matrix import HUMAN, Matrix
from embassay.protocols.hume.published.standing import REFERENCES, standings, win_rates
from embassay.protocols.hume.published.standing import places as ranked_places
from embassay.protocols.hume.published.study import Pair
from embassay.protocols.hume.results.bars import no_bar
from embassay.protocols.hume.summary.record import Bar, PairRecord, Place, SystemKind, SystemScore, Wins
from embassay.stats import bootstrap_ci

FEWEST_PAIRS = 10
"""Pairs from which on a mean over them gets an interval."""
_BY: Mapping[Literal["all", "family", "lang", "group"], Callable[[Pair], str]] = {
    "all": lambda _: "all", "family": lambda one: one.family, "lang": lambda one: one.lang,
    "group": lambda one: one.group,
}  # fmt: skip


@dataclass(frozen=True)
class Contender:
    """A system of the run. Those that are `ranked` are compared with people in places, wins, best and median; the
    others stand beside, for the reason in `why_not`."""

    system: str
    kind: SystemKind
    parameters_millions: float | None = None
    ranked: bool = True
    why_not: str = ""


def scored_pairs(pairs: Sequence[PairRecord]) -> tuple[PairRecord, ...]:
    """The pairs that have a human score."""
    return tuple(one for one in pairs if one.human.value is not None)


def whole(pairs: Sequence[PairRecord], system: str) -> bool:
    """Whether the system has a score on every pair that people have one on."""
    return None not in [_value(one, system) for one in scored_pairs(pairs)]


def matrix_of(pairs: Sequence[PairRecord], contenders: Sequence[Contender]) -> Matrix:
    """People and the ranked systems that are whole, over the pairs with a human score."""
    held = scored_pairs(pairs)
    names = tuple(one.system for one in contenders if one.ranked and whole(pairs, one.system))
    values = np.array([[_value(pair, name) for pair in held] for name in names], dtype=np.float64)
    human = np.array([pair.human.value for pair in held], dtype=np.float64)
    return Matrix(tuple(map(_pair, held)), names, values.reshape(len(names), len(held)), human)


def places(pairs: Sequence[PairRecord], contenders: Sequence[Contender], seed: int) -> tuple[Place, ...]:
    """People and systems by their mean over the pairs with a human score, best first; then the others, unranked."""
    held = scored_pairs(pairs)
    if not held:
        return ()
    matrix = matrix_of(pairs, contenders)
    rows = {HUMAN: matrix.human} | dict(zip(matrix.models, matrix.values, strict=True))
    known = {one.system: one for one in contenders}
    first = [
        Place(
            system=one.system, kind=known[one.system].kind if one.system in known else "human",
            mean=_mean(rows[one.system].tolist(), seed), rank=one.rank,
            parameters_millions=known[one.system].parameters_millions if one.system in known else None,
        )
        for one in ranked_places(matrix)
    ]  # fmt: skip
    rest = [_unranked(held, one, seed) for one in contenders if one.system not in rows]
    return (*first, *sorted(rest, key=lambda one: -(one.mean.value if one.mean.value is not None else -9)))


def wins(matrix: Matrix) -> tuple[Wins, ...]:
    """In how many pairs people are strictly above the models' best, median and mean; empty without a model."""
    if not matrix.models:
        return ()
    every = standings(matrix)
    return tuple(
        Wins(by=by, group=one.group, reference=one.against, wins=one.wins, pairs=one.pairs)
        for by, group in _BY.items()
        for one in win_rates(every, group)
    )


def against_gap(pairs: Sequence[PairRecord], matrix: Matrix) -> Correlation:
    """Spearman's correlation of people's agreement and best model minus people, over the pairs that have both."""
    agreement = {(one.dataset, one.lang): one.agreement.value.value for one in pairs if one.agreement}
    both = [
        (found, -one.gap())
        for one in (standings(matrix) if matrix.models else ())
        if (found := agreement.get((one.pair.dataset, one.pair.lang))) is not None
    ]
    return correlated([agreed for agreed, _ in both], [lead for _, lead in both])


def correlation_bar(found: Correlation) -> Bar:
    """A correlation over pairs; why there is none."""
    if found.rho is None:
        few = "fewer than three pairs have an agreement and a model"
        return no_bar(few if found.n < 3 else "agreement or lead does not vary", found.n)
    return Bar(value=found.rho, n=found.n, method="Spearman over pairs, p by the t approximation")


def _mean(values: Sequence[float], seed: int) -> Bar:
    mean = math.fsum(values) / len(values)
    if len(values) < FEWEST_PAIRS:
        return Bar(value=mean, n=len(values), method=f"mean over {len(values)} pairs")
    found = bootstrap_ci(list(values), seed=seed)
    return Bar(value=mean, low=found.low, high=found.high, n=len(values), method="mean, bootstrap over pairs")


def _unranked(held: Sequence[PairRecord], one: Contender, seed: int) -> Place:
    values = [value for value in (_value(pair, one.system) for pair in held) if value is not None]
    lacking = len(held) - len(values)
    reason = f"no score on {lacking} of {len(held)} pairs" if lacking else one.why_not
    mean = (
        no_bar(reason, len(values)) if lacking else _mean(values, seed).model_copy(update={"reason": reason})
    )
    return Place(
        system=one.system, kind=one.kind, mean=mean, rank=None, parameters_millions=one.parameters_millions
    )


def _value(pair: PairRecord, system: str) -> float | None:
    return next((one.score.value for one in _scores(pair) if one.system == system), None)


def _scores(pair: PairRecord) -> Iterator[SystemScore]:
    yield from pair.models
    yield from pair.llms


def _pair(one: PairRecord) -> Pair:
    return Pair(one.dataset, one.lang, one.family, one.n, len(one.annotators), one.group, one.flags)


__all__ = [
    "REFERENCES", "Contender", "against_gap", "correlation_bar", "matrix_of", "places", "scored_pairs", "whole", "wins",
]  # fmt: skip
