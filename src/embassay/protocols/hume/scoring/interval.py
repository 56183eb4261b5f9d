"""The interval of a human score, chosen as the paper does, and whether a model is outside it (spec hume 7)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

from embassay.errors import UsageError
from embassay.protocols.hume.scoring.marked import ApMode, marked_ap
from embassay.protocols.hume.study import FAMILIES, Answers, Family, Gold
from embassay.stats import Estimate, bootstrap_ci, fisher_z, observed_range, wilson

OneAnnotator = Literal["wilson", "none"]
_LEAST_PAIRS = 4


def human_interval(
    family: Family,
    score: float,
    annotators: Sequence[float],
    n: int,
    *,
    one_annotator: OneAnnotator = "wilson",
    error: Literal["fisher", "bonett-wright"] = "fisher",
    confidence: float = 0.95,
) -> Estimate:
    """The paper's interval of a human `score` over `n` items, from the score of every one of `annotators`.

    Classification: Wilson's, with n items however many annotations. STS: Fisher's, or Bonett and Wright's by `error`.
    Clustering and reranking: from the lowest to the highest annotator, which is no confidence interval; for one
    annotator Wilson's as if the score were a share (what was done in the paper), or by `one_annotator` "none" NaN.
    Also NaN for ratings of fewer than 4 items. `method` says which it is. For reranking
    `query_bootstrap` is the better one.
    Source: spec hume 7; HUME table 8. Raises UsageError for another family or option, no annotators, no items or a
    score out of range.

    >>> human_interval("clustering", 0.4921545, [0.631687, 0.352622], 30).low
    0.352622
    """
    _check(family, annotators, n, one_annotator)
    if family == "classification":
        return wilson(score, n, confidence=confidence)
    if family == "sts":
        if n < _LEAST_PAIRS:
            return _none(score, n, f"none: fewer than {_LEAST_PAIRS} items")
        return fisher_z(score, n, confidence=confidence, error=error)
    if len(annotators) > 1:
        found = observed_range(annotators, n, "annotators")
        return Estimate(score, found.low, found.high, n, found.method)
    if one_annotator == "none":
        return _none(score, n, "none: one annotator")
    return wilson(score, n, confidence=confidence)


def query_bootstrap(
    gold: Gold, answers: Answers, *, human_ap_mode: ApMode = "tie_aware", seed: int = 1337
) -> Estimate:
    """The MAP of people on a reranking task, with a bootstrap interval over queries: what other queries could have
    given. A query's value is the mean over its annotators, so with gaps the MAP may differ from the paper's.

    Source: spec hume 7 (the option for reranking). Raises UsageError where nobody answered.

    >>> query_bootstrap({"q": (1, 0), "r": (0, 1)}, {"a": {"q": (1, 0), "r": (1, 0)}}).estimate
    0.75
    """
    queries = sorted({query for own in answers.values() for query in own})
    if not queries:
        raise UsageError("Nobody answered a query.", mend="Give the annotations of this task.")
    every = [
        [
            marked_ap(gold[query], own[query], human_ap_mode=human_ap_mode)
            for own in answers.values()
            if query in own
        ]
        for query in queries
    ]
    return bootstrap_ci([math.fsum(values) / len(values) for values in every], seed=seed)


def is_outside(value: float, interval: Estimate) -> bool | None:
    """Whether a model's score is strictly below or above a human interval; None where there is no interval.

    Not a test of significance: it knows nothing of the model's own uncertainty nor of shared items.
    """
    if math.isnan(interval.low) or math.isnan(interval.high):
        return None
    return not interval.low <= value <= interval.high


def _none(score: float, n: int, why: str) -> Estimate:
    return Estimate(score, math.nan, math.nan, n, why)


def _check(family: str, annotators: Sequence[float], n: int, one_annotator: str) -> None:
    if family not in FAMILIES:
        raise UsageError(f"The family is {family!r}.", mend=f"Use one of {', '.join(FAMILIES)}.")
    if one_annotator not in ("wilson", "none"):
        raise UsageError(f"one_annotator is {one_annotator!r}.", mend="Use wilson or none.")
    if not len(annotators) or n < 1:
        raise UsageError(
            f"{len(annotators)} annotators and {n} items have no score.", mend="Give at least one of each."
        )
