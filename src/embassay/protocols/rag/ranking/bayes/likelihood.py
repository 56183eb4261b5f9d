"""How probable an answer is under given scores, with the slope and the curvature of its logarithm. Compiled.

An answer is the order of m of the candidates, best first. Under Plackett-Luce its probability is the product over
places k of exp(s_k) / sum over j >= k of exp(s_j) (Plackett 1975; Luce 1959), where s is the score of the candidate at
that place of the answer; a judge answers at random with probability `random`, any order alike. The vector x of
unknowns holds the n scores and, last, the bias for places: a candidate shown at place z in -1 .. 1 has the score
x[i] - z x[n] for this answer, so that a positive bias favours what is shown first.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from embassay.compiled import compiled

Floats = NDArray[np.float64]
Positions = NDArray[np.int64]


@compiled
def add_answers(
    x: Floats, orders: Positions, places: Floats, random: float, slope: Floats, curvature: Floats
) -> float:
    """The log likelihood of all answers `orders` (calls, m), shown at `places` (calls, m), both in the order of the
    answers. Its gradient is added to `slope` (n + 1,), and to `curvature` (n + 1, n + 1) the negative Hessian of each
    answer's Plackett-Luce part, weighted by the chance that the answer is a real one (its weight held fixed, which
    keeps the sum positive definite: a generalised Gauss-Newton matrix)."""
    calls, m = orders.shape
    bias = len(x) - 1
    score, tail, share = np.empty(m), np.empty(m), np.empty(m)
    guess = -math.lgamma(m + 1.0)
    total = 0.0
    for call in range(calls):
        log_probability = _stages(x, orders[call], places[call], score, tail)
        weight = 1.0
        if random > 0.0:
            real, other = math.log1p(-random) + log_probability, math.log(random) + guess
            high = max(real, other)
            mixed = high + math.log(math.exp(real - high) + math.exp(other - high))
            weight = math.exp(real - mixed)
            total += mixed
        else:
            total += log_probability
        for k in range(m - 1):
            mean_place, square_place = 0.0, 0.0
            for j in range(k, m):
                share[j] = math.exp(score[j] - tail[k])
                mean_place += share[j] * places[call, j]
                square_place += share[j] * places[call, j] * places[call, j]
            slope[orders[call, k]] += weight
            slope[bias] += weight * (mean_place - places[call, k])
            curvature[bias, bias] += weight * (square_place - mean_place * mean_place)
            for j in range(k, m):
                one, mass = orders[call, j], weight * share[j]
                slope[one] -= mass
                curvature[one, one] += mass
                across = mass * (mean_place - places[call, j])
                curvature[one, bias] += across
                curvature[bias, one] += across
                for i in range(k, m):
                    curvature[one, orders[call, i]] -= mass * share[i]
    return total


@compiled
def log_likelihood(x: Floats, orders: Positions, places: Floats, random: float) -> float:
    """The log likelihood of all answers: what `add_answers` returns, without the slopes."""
    calls, m = orders.shape
    score, tail = np.empty(m), np.empty(m)
    guess = -math.lgamma(m + 1.0)
    total = 0.0
    for call in range(calls):
        real = _stages(x, orders[call], places[call], score, tail)
        if random > 0.0:
            real, other = math.log1p(-random) + real, math.log(random) + guess
            high = max(real, other)
            real = high + math.log(math.exp(real - high) + math.exp(other - high))
        total += real
    return total


@compiled
def _stages(x: Floats, order: Positions, place: Floats, score: Floats, tail: Floats) -> float:
    """The log probability of one answer. Written: the scores, and the log-sum-exp of each place's score and later ones
    (summed from the tail, so that scores of hundreds neither overflow nor vanish)."""
    m = len(order)
    bias = x[len(x) - 1]
    for k in range(m):
        score[k] = x[order[k]] - place[k] * bias
    tail[m - 1] = score[m - 1]
    total = 0.0
    for k in range(m - 2, -1, -1):
        high, low = max(score[k], tail[k + 1]), min(score[k], tail[k + 1])
        tail[k] = high + math.log1p(math.exp(low - high))
        total += score[k] - tail[k]
    return total
