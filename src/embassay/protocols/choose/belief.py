"""What is believed of the systems: how likely each is the best, what choosing it would cost, and what labels would do.

A belief is a mixture of normal distributions of the systems' nDCG@10, one for each size that errors may have here;
only differences count.

The difference of two systems' nDCG@10 is predicted by that of their scores, the mean of the signals. A score is of one
system alone: whoever else is there, and in how many variants, changes nothing. How far it is off depends on how much
systems disagree: two that find the same passages cannot differ. So errors have the covariance of the systems'
agreement, times a scale that is another one for every collection; the belief is a multivariate Student t. Labels, where
there are some, update it as an observation of the same differences.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from embassay.randomness import make_seeded_generator

Values = NDArray[np.float64]
NUGGET = 0.02
"""Added to the diagonal of the agreement: what two systems with the same first ten may still differ by."""


@dataclass(frozen=True)
class SystemSignals:
    """What is known of the systems of one collection: signals (systems, signals), the share of the first ten passages
    that two systems have in common, (systems, systems), and the scores that weights are for, (systems, scores)."""

    values: Values
    agreement: Values
    scores: Values


def build_system_signals(signals: Sequence[Values], agreement: Values) -> SystemSignals:
    """Combine signals (systems,), and the share of the first ten that two systems have in common."""
    values = np.column_stack(signals)
    return SystemSignals(values, agreement, values.mean(axis=1)[:, None])


@dataclass(frozen=True)
class SignalWeightPosterior:
    """Weights of the scores (d,), their covariance (d, d) in units of the error's scale, that scale (nDCG squared per
    unit of disagreement) and the degrees of freedom with which it varies between collections."""

    weights: Values
    covariance: Values
    scale: float
    freedom: float


def make_contrast_basis(n: int) -> Values:
    """An orthonormal basis of the differences between n values, (n, n - 1)."""
    basis = np.zeros((n, n - 1))
    for place in range(n - 1):
        basis[: place + 1, place] = 1 / (place + 1)
        basis[place + 1, place] = -1
    return np.asarray(basis / np.linalg.norm(basis, axis=0))


DRAWS = 20_000
SIZES = 12
"""Sizes of error that a belief is a mixture of."""
LABELLED = (10, 20, 40, 80, 160, 320, 640)
"""Numbers of judged questions that are tried."""
TRUSTED = 20
"""Judged questions from which on their own covariance counts as much as that of public collections."""


@dataclass(frozen=True)
class SystemScoreBelief:
    """Means (systems,) and, per size of error, a weight and a covariance of what differs between the systems; `seed`
    names the draws."""

    means: tuple[Values, ...]
    covariances: tuple[Values, ...]
    weights: Values
    seed: int = 1337

    @cached_property
    def draws(self) -> Values:
        """Draws of the values that the systems may have, (DRAWS, systems)."""
        rng = make_seeded_generator(self.seed, "choose", "belief")
        which = rng.choice(len(self.weights), DRAWS, p=self.weights)
        noise = rng.normal(size=(DRAWS, len(self.means[0])))
        drawn = np.empty_like(noise)
        for place, (mean, covariance) in enumerate(zip(self.means, self.covariances, strict=True)):
            rows = which == place
            drawn[rows] = mean + noise[rows] @ compute_covariance_root(covariance).T
        return drawn

    @property
    def mean(self) -> Values:
        """What each system is expected to have, the mean of all being 0."""
        mean = np.tensordot(self.weights, np.stack(self.means), 1)
        return np.asarray(mean - mean.mean())

    @property
    def mixture_covariance(self) -> Values:
        """Of the mixture."""
        means = np.stack(self.means)
        off = means - np.tensordot(self.weights, means, 1)
        within = np.tensordot(self.weights, np.stack(self.covariances), 1)
        return np.asarray(within + np.einsum("k,ki,kj->ij", self.weights, off, off))

    @cached_property
    def best(self) -> Values:
        """The probability of each system to be the best."""
        return np.asarray(np.bincount(self.draws.argmax(axis=1), minlength=self.draws.shape[1]) / DRAWS)

    @cached_property
    def expected_regrets(self) -> Values:
        """How far below the best each is expected to lie."""
        return np.asarray((self.draws.max(axis=1, keepdims=True) - self.draws).mean(axis=0))

    def near(self, tolerance: float) -> Values:
        """The probability of each system to lie at most `tolerance` below the best."""
        gaps = self.draws.max(axis=1, keepdims=True) - self.draws
        return np.asarray((gaps <= tolerance).mean(axis=0))

    @property
    def least_regret_system(self) -> int:
        """The system with the least expected regret."""
        return int(np.argmin(self.expected_regrets))

    def interval(self, system: int, other: int) -> tuple[float, float]:
        """The 95% interval of a system's value minus another's."""
        low, high = np.quantile(self.draws[:, system] - self.draws[:, other], [0.025, 0.975])
        return float(low), float(high)


def form_belief_from_signals(
    weights: SignalWeightPosterior, evidence: SystemSignals, seed: int = 1337
) -> SystemScoreBelief:
    """Form the belief about the systems' scores that the signals support."""
    from scipy.stats import chi2

    n = len(evidence.scores)
    centred = evidence.scores - evidence.scores.mean(axis=0)
    middle = np.eye(n) - 1 / n
    unit = middle @ (evidence.agreement + NUGGET * np.eye(n) + centred @ weights.covariance @ centred.T) @ middle
    # The middles of equally likely parts: a mixture of so many normals stands for the Student t.
    places = (np.arange(SIZES) + 0.5) / SIZES
    sizes = weights.scale * weights.freedom / chi2.ppf(places, weights.freedom)
    mean = centred @ weights.weights
    return SystemScoreBelief((mean,) * SIZES, tuple(size * unit for size in sizes), np.full(SIZES, 1 / SIZES), seed)


def update_belief_by_questions(
    belief: SystemScoreBelief, values: Values, noise: Values, bias: Values | None = None
) -> SystemScoreBelief:
    """After questions whose passages are known: `values` (questions, systems) are their nDCG@10, `noise` the covariance
    of one question that public collections let expect, which their own replaces as they get more. `bias` is the
    covariance of what all of them may be off together, however many, where they are not the users' own."""
    n, systems = values.shape
    sample = np.cov(values, rowvar=False) if n > 1 else np.zeros((systems, systems))
    blended = (TRUSTED * noise + n * sample) / (TRUSTED + n)
    basis = make_contrast_basis(systems)
    shared = 0.0 if bias is None else bias
    observed, error = basis.T @ values.mean(axis=0), basis.T @ (blended / n + shared) @ basis
    means, covariances, logs = [], [], []
    for mean, covariance in zip(belief.means, belief.covariances, strict=True):
        before = basis.T @ covariance @ basis
        total = before + error
        gap = observed - basis.T @ mean
        gain = np.linalg.solve(total, before).T
        means.append(basis @ (basis.T @ mean + gain @ gap))
        covariances.append(basis @ (before - gain @ before) @ basis.T)
        # In the basis of differences the covariance can be inverted: what all systems share is taken out.
        logs.append(-0.5 * (np.linalg.slogdet(total)[1] + gap @ np.linalg.solve(total, gap)))
    weights = belief.weights * np.exp(np.array(logs) - max(logs))
    return SystemScoreBelief(tuple(means), tuple(covariances), weights / weights.sum(), belief.seed)


LIKELY = 0.8
"""The chance from which a number of labels is told to decide."""
OUTCOMES, CHECKED = 400, 500
"""What labels may show, as often drawn, and the draws by which each outcome's regret is judged."""


@dataclass(frozen=True)
class RegretForecastByLabels:
    """By number of judged questions: the chance that the pick's expected regret is then within the tolerance, and what
    that regret is in the mean. `needed` is the first number whose chance is `LIKELY`, None where none is."""

    needed: int | None
    chances: dict[int, float]
    regrets: dict[int, float]


def forecast_regret_by_label_count(
    belief: SystemScoreBelief, noise: Values, tolerance: float, least: int = 0
) -> RegretForecastByLabels:
    """What judged questions would achieve, `least` of them or more, up to the number that is likely to decide."""
    systems = len(belief.means[0])
    basis = make_contrast_basis(systems)
    before = basis.T @ belief.mixture_covariance @ basis
    centre = basis.T @ belief.mean
    # A share to compute with; draws come in no order, so the first are as good as any.
    truth = belief.draws[:4000]
    wobble = make_seeded_generator(belief.seed, "choose", "labels").normal(size=truth.shape)
    chances: dict[int, float] = {}
    regrets: dict[int, float] = {}
    for n in (n for n in LABELLED if n >= min(least, LABELLED[-1])):
        error = basis.T @ noise @ basis / n
        observed = truth @ basis + wobble[:, : systems - 1] @ compute_covariance_root(error).T
        gain = np.linalg.solve(before + error, before).T
        after = (centre + (observed - centre) @ gain.T) @ basis.T
        picked = truth[np.arange(len(truth)), after.argmax(axis=1)]
        regrets[n] = float((truth.max(axis=1) - picked).mean())
        left = compute_covariance_root(before - gain @ before) @ wobble[-CHECKED:, : systems - 1].T
        chances[n] = _compute_share_of_decided_outcomes(after[:OUTCOMES], left.T @ basis.T, tolerance)
        if chances[n] >= LIKELY:
            return RegretForecastByLabels(n, chances, regrets)
    return RegretForecastByLabels(None, chances, regrets)


def _compute_share_of_decided_outcomes(means: Values, off: Values, tolerance: float) -> float:
    """Of outcomes with such means (outcomes, systems), each off by as much as `off` (draws, systems): the share whose
    pick has an expected regret within the tolerance."""
    decided = 0
    for mean in means:
        values = mean + off
        decided += bool((values.max(axis=1) - values[:, mean.argmax()]).mean() <= tolerance)
    return decided / len(means)


def compute_covariance_root(covariance: Values) -> NDArray[np.float64]:
    """A square root of a covariance that may be singular."""
    values, vectors = np.linalg.eigh(covariance)
    # Not Cholesky: a covariance of differences is singular, and rounding makes a 0 negative.
    return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0)))
