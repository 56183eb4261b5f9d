"""How alike the orders are that an engine finds when it is let loose on the same pools again (spec rag 4.2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from embassay.errors import UsageError


@dataclass(frozen=True)
class Repeats:
    """Of R orders of one pool, the means over pairs of them: `discordance`, the share of pairs of candidates that one
    puts the other way (0 to 1, the source reports .03 to .05), and `overlap`, the share of the first `top` that both
    have. `tau` is the mean of Kendall's tau with a reference order, None where there is none. Per order: `calls` of
    the judge, `passages` that it read in them, and `tokens` where they were counted."""

    runs: int
    discordance: float
    overlap: float
    tau: float | None = None
    calls: float = 0.0
    passages: float = 0.0
    tokens: float | None = None


def compare_repeats(
    orders: Sequence[Sequence[int]],
    *,
    top: int = 20,
    reference: Sequence[int] | None = None,
    shown: Sequence[Sequence[int]] = (),
    tokens: Sequence[float] = (),
) -> Repeats:
    """Compare orders of one pool, each a permutation of the same positions, best first.

    `shown[r]` are the sizes of the batches that run r had judged, `tokens[r]` what they came to. Raises UsageError for
    fewer than two orders, or for ones that are not of the same positions.

    >>> compare_repeats([(0, 1, 2, 3), (3, 2, 1, 0)], top=2).discordance
    1.0
    """
    if len(orders) < 2 or any(sorted(order) != list(range(len(orders[0]))) for order in orders):
        raise UsageError(
            f"{len(orders)} orders cannot be compared.", mend="Give two or more, all of the same positions."
        )
    places = [_places(order) for order in orders]
    size = min(top, len(orders[0]))
    discordances, overlaps = [], []
    for one, other in combinations(range(len(orders)), 2):
        discordances.append((1 - _tau(places[one], places[other])) / 2)
        overlaps.append(len(set(orders[one][:size]) & set(orders[other][:size])) / size if size else 1.0)
    tau = None
    if reference is not None:
        tau = float(np.mean([_tau(_places(reference), one) for one in places]))
    return Repeats(
        len(orders),
        float(np.mean(discordances)),
        float(np.mean(overlaps)),
        tau,
        _mean([len(batches) for batches in shown]) or 0.0,
        _mean([sum(batches) for batches in shown]) or 0.0,
        _mean(tokens),
    )


def mean_of(repeats: Sequence[Repeats]) -> Repeats:
    """The means over pools; UsageError for none, or for pools with different numbers of runs."""
    if len({one.runs for one in repeats}) != 1:
        raise UsageError("Repeats of no pool, or of unequal numbers, have no mean.", mend="Repeat all alike.")

    def over(name: str) -> float | None:
        values = [getattr(one, name) for one in repeats]
        return None if None in values else _mean(values)

    return Repeats(
        repeats[0].runs, over("discordance") or 0.0, over("overlap") or 0.0, over("tau"), over("calls") or 0.0,
        over("passages") or 0.0, over("tokens"),
    )  # fmt: skip


def _places(order: Sequence[int]) -> NDArray[np.int64]:
    places = np.empty(len(order), dtype=np.int64)
    places[list(order)] = np.arange(len(order))
    return places


def _tau(one: NDArray[np.int64], other: NDArray[np.int64]) -> float:
    """Kendall's tau of two orders without ties; 1 for fewer than two items."""
    n = len(one)
    if n < 2:
        return 1.0
    agree = np.sign(one[:, None] - one) * np.sign(other[:, None] - other)
    return float(agree.sum() / (n * (n - 1)))


def _mean(values: Sequence[float]) -> float | None:
    return float(np.mean(values)) if len(values) else None
