"""What a change of scores or grades does: to which passage comes first, and to the labels of a golden set."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from embassay.measures.judgements import RELEVANT
from embassay.protocols.watch.distances import Answers
from embassay.protocols.watch.fingerprint import Fingerprint
from embassay.protocols.watch.impact import estimate_share
from embassay.stats import Estimate, t_quantile

GRADES = 4.0
"""How far a grade can move."""


@dataclass(frozen=True)
class PanelEffect:
    """What has become of `values` scores or grades: their root mean squared difference from the recorded ones, `error`,
    beside that of the repeats, `noise`; and `first`, the share of items whose best passage is another one.

    Of a judge also the share of grades that crossed the line of relevance (`turned`: labels of a golden set that would
    be others), and the mean change of a grade (`shift`); None for other systems.
    """

    values: int
    error: float
    noise: float
    first: Estimate
    turned: Estimate | None = None
    shift: Estimate | None = None


def panel_effect(fingerprint: Fingerprint, rows: Sequence[int], now: Answers) -> PanelEffect:
    """Of answers (n, width) to the items in `rows` (n,), which have as many others at most."""
    then = fingerprint.values[list(rows)].astype(np.float64)
    counts = np.array([len(fingerprint.items[row].others) for row in rows])
    inside = np.arange(then.shape[1]) < counts[:, None]
    values = int(counts.sum())
    change = np.where(inside, now - then, 0.0)
    length = np.einsum("nd,nd->n", then, then)
    # A distance is half the squared difference over the squared length of what was recorded.
    squares = 2 * fingerprint.noise[list(rows)].mean(axis=1) * np.where(length > 0, length, 1.0)
    best_now, best_then = (np.where(inside, side, -np.inf).argmax(axis=1) for side in (now, then))
    first = estimate_share(int((best_now != best_then).sum()), len(counts))
    effect = PanelEffect(
        values, math.sqrt(float((change**2).sum()) / values), math.sqrt(float(squares.sum()) / values), first
    )
    if fingerprint.kind != "judge":
        return effect
    crossed = int((((now >= RELEVANT) != (then >= RELEVANT)) & inside).sum())
    means = change.sum(axis=1) / counts
    return PanelEffect(
        values, effect.error, effect.noise, first, estimate_share(crossed, values), _mean_of(means, values)
    )


def _mean_of(means: np.ndarray, n: int) -> Estimate:
    """The mean over questions by Student's t."""
    mean = float(means.mean())
    if len(means) < 2:
        return Estimate(mean, -GRADES, GRADES, n, "the whole range")
    half = t_quantile(0.975, len(means) - 1) * float(means.std(ddof=1)) / math.sqrt(len(means))
    return Estimate(mean, mean - half, mean + half, n, "Student's t over questions")
