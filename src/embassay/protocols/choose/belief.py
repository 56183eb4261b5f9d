"""What is believed of the systems: how likely each is the best, what choosing it would cost, and what labels would do.

A belief is a mixture of normal distributions of the systems' nDCG@10, one for each size that errors may have here;
only differences count.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from embassay.protocols.choose.prediction import NUGGET, Evidence, Values, Weights, contrasts
from embassay.randomness import generator

DRAWS = 20_000
SIZES = 12
"""Sizes of error that a belief is a mixture of."""
LABELLED = (10, 20, 40, 80, 160, 320, 640)
"""Numbers of judged questions that are tried."""
TRUSTED = 20
"""Judged questions from which on their own covariance counts as much as that of public collections."""


@dataclass(frozen=True)
class Belief:
    """Means (systems,) and, per size of error, a weight and a covariance of what differs between the systems; `seed`
    names the draws."""

    means: tuple[Values, ...]
    covariances: tuple[Values, ...]
    weights: Values
    seed: int = 1337

    @cached_property
    def draws(self) -> Values:
        """Values that the systems may have, (DRAWS, systems)."""
        rng = generator(self.seed, "choose", "belief")
        which = rng.choice(len(self.weights), DRAWS, p=self.weights)
        noise = rng.normal(size=(DRAWS, len(self.means[0])))
        drawn = np.empty_like(noise)
        for place, (mean, covariance) in enumerate(zip(self.means, self.covariances, strict=True)):
            rows = which == place
            drawn[rows] = mean + noise[rows] @ root(covariance).T
        return drawn

    @property
    def mean(self) -> Values:
        """What each system is expected to have, the mean of all being 0."""
        found = np.tensordot(self.weights, np.stack(self.means), 1)
        return np.asarray(found - found.mean())

    @property
    def covariance(self) -> Values:
        """Of the mixture."""
        means = np.stack(self.means)
        off = means - np.tensordot(self.weights, means, 1)
        within = np.tensordot(self.weights, np.stack(self.covariances), 1)
        return np.asarray(within + np.einsum("k,ki,kj->ij", self.weights, off, off))

    @cached_property
    def best(self) -> Values:
        """P(best) of each system."""
        return np.asarray(np.bincount(self.draws.argmax(axis=1), minlength=self.draws.shape[1]) / DRAWS)

    @cached_property
    def regret(self) -> Values:
        """How far below the best each is expected to lie."""
        return np.asarray((self.draws.max(axis=1, keepdims=True) - self.draws).mean(axis=0))

    def near(self, tolerance: float) -> Values:
        """P(at most `tolerance` below the best)."""
        gaps = self.draws.max(axis=1, keepdims=True) - self.draws
        return np.asarray((gaps <= tolerance).mean(axis=0))

    @property
    def pick(self) -> int:
        """The system with the least expected regret."""
        return int(np.argmin(self.regret))

    def interval(self, system: int, other: int) -> tuple[float, float]:
        """The 95% interval of a system's value minus another's."""
        low, high = np.quantile(self.draws[:, system] - self.draws[:, other], [0.025, 0.975])
        return float(low), float(high)


def believed(weights: Weights, evidence: Evidence, seed: int = 1337) -> Belief:
    """What the signals say."""
    from scipy.stats import chi2

    n = len(evidence.scores)
    centred = evidence.scores - evidence.scores.mean(axis=0)
    middle = np.eye(n) - 1 / n
    unit = (
        middle @ (evidence.agreement + NUGGET * np.eye(n) + centred @ weights.covariance @ centred.T) @ middle
    )
    places = (np.arange(SIZES) + 0.5) / SIZES
    sizes = weights.scale * weights.freedom / chi2.ppf(places, weights.freedom)
    mean = centred @ weights.weights
    return Belief((mean,) * SIZES, tuple(size * unit for size in sizes), np.full(SIZES, 1 / SIZES), seed)


def updated(belief: Belief, values: Values, noise: Values, bias: Values | None = None) -> Belief:
    """After questions whose passages are known: `values` (questions, systems) are their nDCG@10, `noise` the covariance
    of one question that public collections let expect, which their own replaces as they get more. `bias` is the
    covariance of what all of them may be off together, however many, where they are not the users' own."""
    n, systems = values.shape
    own = np.cov(values, rowvar=False) if n > 1 else np.zeros((systems, systems))
    each = (TRUSTED * noise + n * own) / (TRUSTED + n)
    basis = contrasts(systems)
    shared = 0.0 if bias is None else bias
    seen, error = basis.T @ values.mean(axis=0), basis.T @ (each / n + shared) @ basis
    means, covariances, logs = [], [], []
    for mean, covariance in zip(belief.means, belief.covariances, strict=True):
        before = basis.T @ covariance @ basis
        total = before + error
        gap = seen - basis.T @ mean
        gain = np.linalg.solve(total, before).T
        means.append(basis @ (basis.T @ mean + gain @ gap))
        covariances.append(basis @ (before - gain @ before) @ basis.T)
        logs.append(-0.5 * (np.linalg.slogdet(total)[1] + gap @ np.linalg.solve(total, gap)))
    weights = belief.weights * np.exp(np.array(logs) - max(logs))
    return Belief(tuple(means), tuple(covariances), weights / weights.sum(), belief.seed)


def labels_for(belief: Belief, noise: Values, tolerance: float) -> tuple[int | None, dict[int, float]]:
    """How many judged questions make the expected regret of the pick at most `tolerance`, None where 640 don't; and
    that regret by their number."""
    systems = len(belief.means[0])
    basis = contrasts(systems)
    before = basis.T @ belief.covariance @ basis
    centre = basis.T @ belief.mean
    truth = belief.draws[:4000]
    wobble = generator(belief.seed, "choose", "labels").normal(size=truth.shape)
    found: dict[int, float] = {}
    for n in LABELLED:
        error = basis.T @ noise @ basis / n
        seen = truth @ basis + wobble[:, : systems - 1] @ root(error).T
        gain = np.linalg.solve(before + error, before).T
        after = (centre + (seen - centre) @ gain.T) @ basis.T
        picked = truth[np.arange(len(truth)), after.argmax(axis=1)]
        found[n] = float((truth.max(axis=1) - picked).mean())
        if found[n] <= tolerance:
            return n, found
    return None, found


def root(covariance: Values) -> NDArray[np.float64]:
    """A square root of a covariance that may be singular."""
    values, vectors = np.linalg.eigh(covariance)
    return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0)))
