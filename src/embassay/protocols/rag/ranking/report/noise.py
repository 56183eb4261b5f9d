"""How noisy the judge is: the share of a pool's pairs that one answer puts the wrong way."""

from __future__ import annotations

from collections.abc import Sequence
from math import lgamma

import numpy as np
from numpy.typing import NDArray

from embassay.protocols.rag.ranking.report.judged import RESAMPLES, Floats, Judged
from embassay.protocols.rag.ranking.report.plackett_luce import fit, log_likelihoods
from embassay.protocols.rag.ranking.starting import starting_scores
from embassay.randomness import generator
from embassay.stats import Estimate, percentile_interval

SHARPNESS: Floats = 0.5 * 2 ** (np.arange(14) / 2)
"""One standard deviation of utility in units of the judge's Gumbel noise: from hardly any order to hardly any noise."""
RELIABILITY: Floats = np.array([0.4, 0.85])
"""Correlations of grade and utility that are tried."""
RANDOM = 0.02
"""Share of answers that are thought to be any order at all."""
FOLDS, DRAWS = 5, 64
LEAST_CALLS, MOST_QUERIES = 10, 60


def judge_noise(queries: Sequence[Judged], *, seed: int = 0) -> Estimate | None:
    """The share of all pairs of a pool that one answer of the judge would put against its own order without noise,
    whatever engine asked; None where no query has 10 answers to batches of one size.

    The sharpness of the judge is the one at which Plackett-Luce predicts answers best from the others of their query
    (by the posterior of scores with a prior by grades, in five folds), over all queries; the share is what it makes of
    pairs at scores that are probable then. The interval resamples queries, of which 60 are drawn where there are more.
    Only noise that is drawn anew in every answer shows: what a judge always gets wrong counts as its own order.
    """
    chosen = _sample(queries, seed)
    if not chosen:
        return None
    rng = generator(seed, "ranking report", "noise")
    said, shares = map(np.array, zip(*(_query(query, rng) for query in chosen), strict=True))
    value = _at_best(said.sum(axis=0), shares.mean(axis=0))
    if len(chosen) == 1:
        return Estimate(value, float("nan"), float("nan"), 1, "no interval from one query")
    rows = rng.integers(0, len(chosen), (RESAMPLES, len(chosen)))
    replicates = [_at_best(said[row].sum(axis=0), shares[row].mean(axis=0)) for row in rows]
    return Estimate(value, *percentile_interval(replicates), len(chosen), "bootstrap over queries")


def _sample(queries: Sequence[Judged], seed: int) -> list[Judged]:
    """The queries with enough answers, all of one size; 60 at most."""
    fits = [
        query
        for query in queries
        if len(query.calls) >= LEAST_CALLS and len({len(call.shown) for call in query.calls}) == 1
    ]
    if len(fits) <= MOST_QUERIES:
        return fits
    chosen = generator(seed, "ranking report", "noise queries").permutation(len(fits))[:MOST_QUERIES]
    return [fits[i] for i in sorted(chosen)]


def _query(query: Judged, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """For every point of the grid (reliability, sharpness): the log probability of answers predicted from the others,
    and the share of pairs misordered, both of that shape."""
    orders = np.array([call.order for call in query.calls], dtype=np.int64)
    means, precisions = _prior(query)
    shape, n = (len(RELIABILITY), len(SHARPNESS)), len(query.candidates)
    normal = rng.standard_normal((DRAWS, n))
    fold = np.arange(len(orders)) % FOLDS
    said = np.zeros(means.shape[0])
    for number in range(FOLDS):
        scores = fit(orders[fold != number], means, precisions).draws(normal)
        said += _log_prediction(scores, orders[fold == number])
    scores = fit(orders, means, precisions).draws(normal)
    above, below = np.triu_indices(n, 1)
    gaps = np.abs(scores[..., above] - scores[..., below])
    shares = (1 / (1 + np.exp(np.minimum(gaps, 700.0)))).mean(axis=(1, 2))
    return said.reshape(shape), shares.reshape(shape)


def _prior(query: Judged) -> tuple[Floats, Floats]:
    """Means (points, n) and precisions (points,) of the scores by the grades."""
    grades = np.array(starting_scores(query.candidates))
    spread = grades.std()
    standard = (grades - grades.mean()) / spread if spread > 0 else np.zeros(len(grades))
    reliability, sharpness = (one.ravel() for one in np.meshgrid(RELIABILITY, SHARPNESS, indexing="ij"))
    known = reliability if spread > 0 else 0 * reliability
    return np.outer(sharpness * known, standard), 1 / (sharpness**2 * (1 - known**2))


def _log_prediction(scores: Floats, orders: NDArray[np.int64]) -> Floats:
    """The log probability of answers (calls, m), each the mean over draws of scores (points, draws, n): (points,)."""
    by_draw = np.exp(log_likelihoods(scores, orders))
    random = RANDOM / np.exp(lgamma(orders.shape[1] + 1))
    return np.asarray(np.log((1 - RANDOM) * by_draw.mean(axis=1) + random).sum(axis=-1))


def _at_best(said: Floats, shares: Floats) -> float:
    """The share at the best of `said`, both (reliability, sharpness); between points by a parabola."""
    row, best = np.unravel_index(int(said.argmax()), said.shape)
    if not 0 < best < said.shape[1] - 1:
        return float(shares[row, best])
    left, middle, right = said[row, best - 1 : best + 2]
    bend = left - 2 * middle + right
    shift = 0.5 * (left - right) / bend if bend < 0 else 0.0
    return float(np.exp(np.interp(best + shift, np.arange(said.shape[1]), np.log(shares[row]))))
