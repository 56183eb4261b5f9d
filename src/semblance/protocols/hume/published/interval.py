"""The interval that table 8 prints beside the human score of a pair."""

from __future__ import annotations

from collections.abc import Sequence

from semblance.protocols.hume.published.study import Pair
from semblance.stats import fisher_z, wilson
from semblance.stats.estimate import Estimate


def human_interval(pair: Pair, score: float, annotators: Sequence[float]) -> Estimate:
    """By family: Wilson of n items (classification), Fisher z (sts), the range of `annotators` (clustering, reranking).

    With fewer than two annotators there is no range: the paper then takes Wilson's interval as if a V-measure or MAP
    were a share of the items. A range is no 95% interval. Source: spec hume, section 7; FINDINGS, HUME 5.

    >>> pair = Pair("ArXiv", "eng", "clustering", 30, 2)
    >>> human_interval(pair, 0.49, [0.63, 0.35]).low
    0.35
    """
    if pair.family == "sts":
        return fisher_z(score, pair.n_items)
    if pair.family == "classification" or len(annotators) < 2:
        return wilson(score, pair.n_items)
    return Estimate(score, min(annotators), max(annotators), pair.n_items, "range of the annotators")


def outside(score: float, interval: Estimate) -> bool:
    """Whether a model's score lies strictly below or above the interval; the paper's star."""
    return not interval.low <= score <= interval.high
