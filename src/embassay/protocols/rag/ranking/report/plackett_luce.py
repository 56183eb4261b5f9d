"""Plackett-Luce scores of answers at the highest posterior, for many priors at a time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from embassay.protocols.rag.ranking.report.judged import Floats

Orders = NDArray[np.int64]
_STEPS, _HALVINGS, _NEAR = 40, 12, 1e-3


@dataclass(frozen=True)
class Fit:
    """Gaussian posteriors: `modes` (points, n) and precision matrices (points, n, n)."""

    modes: Floats
    precisions: Floats

    def draws(self, normal: Floats) -> Floats:
        """Scores (points, draws, n), of standard normal numbers (draws, n)."""
        lower = np.linalg.cholesky(self.precisions)
        spread = np.linalg.solve(
            np.swapaxes(lower, 1, 2), np.broadcast_to(normal.T, (len(lower), *normal.T.shape))
        )
        return np.asarray(self.modes[:, None, :] + np.swapaxes(spread, 1, 2))


def log_likelihoods(scores: Floats, orders: Orders) -> Floats:
    """The log probability of each answer (calls, m), best first, at scores (..., n): (..., calls)."""
    seen = scores[..., orders]
    return np.asarray((seen - _suffixes(seen)).sum(axis=-1))


def fit(orders: Orders, means: Floats, precisions: Floats) -> Fit:
    """The posteriors of scores given answers (calls, m), for priors N(means, 1 / precisions): (points, n), (points,).

    By Newton's method; a step that makes things worse is halved. The posterior is concave, so there is one mode.
    """
    modes = means.copy()
    value = _objective(modes, orders, means, precisions)
    for _ in range(_STEPS):
        gradient, curvature = _derivatives(modes, orders, means, precisions)
        step = np.linalg.solve(curvature, gradient[..., None])[..., 0]
        size = np.ones(len(modes))
        for _ in range(_HALVINGS):
            found = _objective(modes + size[:, None] * step, orders, means, precisions)
            worse = found < value - 1e-9 * np.abs(value)
            if not worse.any():
                break
            size[worse] /= 2
        size[worse] = 0
        modes = modes + size[:, None] * step
        value = np.where(worse, value, found)
        if np.abs(size[:, None] * step).max() < _NEAR:
            break
    return Fit(modes, _derivatives(modes, orders, means, precisions)[1])


def _objective(scores: Floats, orders: Orders, means: Floats, precisions: Floats) -> Floats:
    prior = 0.5 * precisions * ((scores - means) ** 2).sum(axis=1)
    return np.asarray(log_likelihoods(scores, orders).sum(axis=-1) - prior)


def _derivatives(scores: Floats, orders: Orders, means: Floats, precisions: Floats) -> tuple[Floats, Floats]:
    """Gradient (points, n) and negative Hessian (points, n, n) of the log posterior."""
    points, n = scores.shape
    m = orders.shape[1]
    seen = scores[:, orders]
    # share[k, j]: the chance of the j-th to be the best of those from the k-th on.
    share = np.exp(np.minimum(seen[..., None, :] - _suffixes(seen)[..., None], 0.0)) * np.triu(
        np.ones((m, m))
    )
    total = share.sum(axis=-2)
    bends = -np.swapaxes(share, -1, -2) @ share
    bends[..., np.arange(m), np.arange(m)] += total
    pairs = (orders[:, :, None] * n + orders[:, None, :]).ravel()
    curvature = np.array([np.bincount(pairs, one.ravel(), n * n) for one in bends]).reshape(points, n, n)
    curvature[:, np.arange(n), np.arange(n)] += precisions[:, None]
    pulls = np.array([np.bincount(orders.ravel(), one.ravel(), n) for one in 1 - total])
    return pulls - precisions[:, None] * (scores - means), curvature


def _suffixes(seen: Floats) -> Floats:
    """log sum exp of each suffix of the last axis, from the tail."""
    found = seen.copy()
    for k in range(seen.shape[-1] - 2, -1, -1):
        found[..., k] = np.logaddexp(found[..., k], found[..., k + 1])
    return found
