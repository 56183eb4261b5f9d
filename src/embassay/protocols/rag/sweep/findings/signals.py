"""When a query asks for more candidates: signals, their thresholds, and the halves that set and judge them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from embassay.protocols.rag.sweep.findings.ground import Floats
from embassay.protocols.rag.sweep.findings.record import Threshold
from embassay.randomness import generator

Mask = NDArray[np.bool_]

BELOW: Mapping[str, bool] = {"margin": True, "entropy": False, "noise": True}
"""A small margin, an even spread of scores and a query far from its clean self ask for more (spec rag 3.5)."""
QUARTER = 25.0
ANY = "any"


@dataclass(frozen=True)
class Halves:
    """Which queries set thresholds, and which judge them: places, disjoint, together all."""

    calibration: NDArray[np.int64]
    evaluation: NDArray[np.int64]


def halves(n: int, seed: int, dataset: str) -> Halves:
    """Half of the queries (the smaller one where n is odd) to calibrate, drawn by seed, and the others.

    >>> parts = halves(5, 1, "sea")
    >>> len(parts.calibration), len(parts.evaluation)
    (2, 3)
    """
    order = generator(seed, "sweep", "routing", dataset).permutation(n)
    return Halves(np.sort(order[: n // 2]), np.sort(order[n // 2 :]))


def entropy(scores: Floats) -> float:
    """Entropy of the softmax (temperature 1) of a reranker's scores over its largest possible value: 0 where one
    candidate has it all, 1 where all are alike. Source: spec rag 3.5.

    >>> round(entropy(np.array([2.0, 1.0, 0.0, 0.0])), 6)
    0.756481
    """
    if len(scores) < 2:
        return 0.0
    shares = np.exp(scores - np.max(scores))
    shares = shares / shares.sum()
    known = shares[shares > 0]
    return float(-(known * np.log(known)).sum() / np.log(len(scores)))


def threshold(dataset: str, signal: str, values: Floats) -> Threshold | None:
    """From where on a signal fires: under the lowest quarter or above the highest of the calibration queries; None
    where it is undefined for all of them."""
    known = values[~np.isnan(values)]
    if not len(known):
        return None
    below = BELOW[signal]
    return Threshold(dataset, signal, float(np.percentile(known, QUARTER if below else 100 - QUARTER)), below)


def fires(limit: Threshold, values: Floats) -> Mask:
    """Which queries ask for more; one whose signal is undefined does not."""
    with np.errstate(invalid="ignore"):
        return np.asarray(values < limit.value if limit.below else values > limit.value)


def any_of(masks: Iterable[Mask]) -> Mask:
    """Which queries at least one signal asks for."""
    return np.asarray(np.logical_or.reduce(list(masks)))
