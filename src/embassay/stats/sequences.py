"""Totals of a finite population from few of its values, valid at every look: draws with unequal chances, and bets.

A population has items of unknown values that lie between known bounds. Items are drawn one by one without replacement,
each with a known chance; after every draw somebody may look, stop, or change the chances of what is left. A test holds
at all looks together because it is a bet whose stake cannot grow in the mean where the hypothesis is true (Ville 1939).
Source: Waudby-Smith and Ramdas 2024 (betting), Shekhar et al. 2023 (unequal chances, foretold values).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from embassay.stats.intervals import Estimate

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

FRACTIONS = np.array([0.02, 0.05, 0.12, 0.3, 0.6, 0.9])
"""Parts of the largest stake that cannot be lost whole; the stake is spread evenly over them."""
HALVINGS = 24
"""Steps to the end of an interval."""
_TINY = 1e-12


@dataclass(frozen=True)
class SequentialDrawEstimates:
    """What was drawn, in order, for `k` totals at once.

    `known` (t, k): the sum of the values drawn before. `found` (t, k): an unbiased estimate of what was left then, of
    the draw alone; `low` and `high` (t, k) are the least and most that it could have been. `rest_low` and `rest_high`
    (t, k): the bounds of all that is left after the draw. `values` (t, k) are what was seen.
    """

    values: Floats
    known: Floats
    found: Floats
    low: Floats
    high: Floats
    rest_low: Floats
    rest_high: Floats

    def __len__(self) -> int:
        return len(self.values)

    def first(self, n: int) -> SequentialDrawEstimates:
        """As after `n` draws."""
        return SequentialDrawEstimates(*(getattr(self, name)[:n] for name in _NAMES))


_NAMES = ("values", "known", "found", "low", "high", "rest_low", "rest_high")


def join_sequential_draws(parts: Sequence[SequentialDrawEstimates]) -> SequentialDrawEstimates:
    """Draws of blocks, one after the other."""
    return SequentialDrawEstimates(*(np.concatenate([getattr(part, name) for part in parts]) for name in _NAMES))


@dataclass(frozen=True)
class PopulationBeforeBlock:
    """What is left of a population when a block begins: `low`, `high`, `foretold` (n, k) are bounds and guesses of the
    values, `weight` (n,) above 0 what the chances are proportional to. Guesses lie within the bounds."""

    low: Floats
    high: Floats
    foretold: Floats
    weight: Floats


def draw_weighted_item_order(weight: Floats, rng: np.random.Generator) -> Ints:
    """All items in the order in which successive draws with chances proportional to `weight` (n,) take them."""
    # Exponential clocks: the next to ring has a chance proportional to its rate (Efraimidis and Spirakis 2006).
    return np.argsort(rng.standard_exponential(len(weight)) / weight, kind="stable")


def make_sequential_draws_of_block(
    left: PopulationBeforeBlock, order: Ints, values: Floats, known: Floats
) -> SequentialDrawEstimates:
    """The draws of a block: `order` (t,) places in `left`, `values` (t, k) what was seen there, `known` (k,) the sum of
    all values drawn before the block."""
    t = len(order)
    weight = left.weight[order]
    left_over = np.ones(len(left.weight), dtype=bool)
    left_over[order] = False
    # The weight of all that is left at each draw, the item itself included.
    remaining = left.weight[left_over].sum() + _sum_rows_to_end(weight[:, None])[:, 0]
    chance = weight / remaining
    rest = left.foretold[left_over].sum(axis=0) + _sum_rows_to_end(left.foretold[order])
    # Unbiased for the sum of what is left: the forecast, and its error over the chance to be drawn.
    found = (values - left.foretold[order]) / chance[:, None] + rest
    least = ((left.low - left.foretold) / left.weight[:, None]).min(axis=0)
    most = ((left.high - left.foretold) / left.weight[:, None]).max(axis=0)
    before = known + np.concatenate([np.zeros((1, values.shape[1])), np.cumsum(values, axis=0)])[:t]
    low, high = left.low[order], left.high[order]
    return SequentialDrawEstimates(
        values,
        before,
        found,
        remaining[:, None] * least + rest,
        remaining[:, None] * most + rest,
        left.low[left_over].sum(axis=0) + _sum_rows_to_end(low) - low,
        left.high[left_over].sum(axis=0) + _sum_rows_to_end(high) - high,
    )


def _sum_rows_to_end(values: Floats) -> Floats:
    """Sums from each row to the last."""
    return np.asarray(np.cumsum(values[::-1], axis=0)[::-1])


def compute_log_bet_stakes(draws: SequentialDrawEstimates, at: Floats, *, above: bool) -> Floats:
    """The logarithm of the stake after each draw, (t, k), of a bet that the totals are `above` those of `at` (k,), or
    below them.

    Where the total is not, the stake exceeds 1 / alpha at any look with a chance of at most alpha.
    """
    sign = 1.0 if above else -1.0
    missing = at - draws.known
    gain = sign * (draws.found - missing)
    risk = sign * (missing - (draws.low if above else draws.high))
    # A risk of 0 or less: what is left cannot be so little, so any stake is safe.
    most = 1.0 / np.maximum(risk, _TINY)
    # No bet loses more than its stake, but for rounding.
    move = np.maximum(gain * most, -1.0)
    stakes = np.cumsum(np.log1p(FRACTIONS[:, None, None] * move), axis=1)
    # The mean of the stakes, whose own size no float may hold.
    top = stakes.max(axis=0)
    return np.asarray(top + np.log(np.exp(stakes - top).mean(axis=0)))


def compute_anytime_total_interval(
    draws: SequentialDrawEstimates, column: int, low: float, high: float, alpha: float
) -> Estimate:
    """The totals between `low` and `high` (the bounds before any draw) that no bet at any look has ruled out."""
    if not len(draws):
        return Estimate((low + high) / 2, low, high)
    own = SequentialDrawEstimates(*(getattr(draws, name)[:, [column]] for name in _NAMES))
    seen = own.known + own.values
    low, high = max(low, float((seen + own.rest_low).max())), min(high, float((seen + own.rest_high).min()))
    high = max(low, high)  # rounding, once all is drawn
    least, most = (_find_interval_end(own, low, high, alpha, above=above) for above in (True, False))
    least, most = min(least, most), max(least, most)
    return Estimate(min(max(estimate_totals_from_draws(own)[0], least), most), least, most)


def _find_interval_end(draws: SequentialDrawEstimates, low: float, high: float, alpha: float, *, above: bool) -> float:
    """The outermost total that the bet does not rule out, by halving: a stake falls as its total is harder to beat."""
    out, inside = (low, high) if above else (high, low)
    if not _is_total_rejected_by_bets(draws, out, alpha, above=above):
        return out
    for _ in range(HALVINGS):
        middle = (out + inside) / 2
        if _is_total_rejected_by_bets(draws, middle, alpha, above=above):
            out = middle
        else:
            inside = middle
    return out


def _is_total_rejected_by_bets(draws: SequentialDrawEstimates, total: float, alpha: float, *, above: bool) -> bool:
    # Two bets, one to each side, share alpha.
    return bool(compute_log_bet_stakes(draws, np.array([total]), above=above).max() >= math.log(2 / alpha))


def estimate_totals_from_draws(draws: SequentialDrawEstimates) -> Floats:
    """What the totals (k,) are thought to be: what is known with the estimates of what was left, a mean over draws in
    which those of less spread count more."""
    weight = np.maximum(draws.high - draws.low, _TINY) ** -2
    return np.asarray(np.average(draws.known + draws.found, axis=0, weights=weight))


@dataclass(frozen=True)
class DrawsUntilTotalDecided:
    """After how many draws each total (k,) was first known to be above or below its bar: -1 never. `certain` tells
    where no value that is left could change it."""

    above: Ints
    below: Ints
    certain: NDArray[np.bool_]


def decide_totals_against_bars(draws: SequentialDrawEstimates, bars: Floats, alpha: float) -> DrawsUntilTotalDecided:
    """Which totals are above or below `bars` (k,), with false ones in at most `alpha` (k,) or a number of all studies,
    whenever it is looked at."""
    k = len(bars)
    if not len(draws):
        return DrawsUntilTotalDecided(np.full(k, -1), np.full(k, -1), np.zeros(k, bool))
    # Two bets, one to each side, share alpha.
    limit = np.log(2 / np.broadcast_to(np.asarray(alpha, float), (k,)))
    seen = draws.known + draws.values
    sure_above, sure_below = seen + draws.rest_low > bars + _TINY, seen + draws.rest_high < bars - _TINY
    above = (compute_log_bet_stakes(draws, bars, above=True) >= limit) | sure_above
    below = (compute_log_bet_stakes(draws, bars, above=False) >= limit) | sure_below
    return DrawsUntilTotalDecided(
        _count_draws_until_true_by_column(above),
        _count_draws_until_true_by_column(below),
        np.asarray((sure_above | sure_below).any(axis=0)),
    )


def _count_draws_until_true_by_column(true: NDArray[np.bool_]) -> Ints:
    """How many draws it took, per column, -1 where it never came."""
    return np.where(true.any(axis=0), true.argmax(axis=0) + 1, -1)
