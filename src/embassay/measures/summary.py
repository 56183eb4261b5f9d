"""Values per query -> one value: means that say how many they are of, shares of a ceiling, accuracy where all was
found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from embassay.errors import UsageError
from embassay.measures.judgements import Floats


def resample_spearman(x: ArrayLike, y: ArrayLike, counts: ArrayLike) -> NDArray[np.float64]:
    """Spearman's correlation of `x` and `y`, (n,), on resamples `counts` (b, n) -> (b,).

    As `spearman` of the items repeated so often: equal values, copies too, share the mean of their ranks. NaN where
    what was drawn does not vary. Range -1 to 1. Raises UsageError for shapes that do not fit or values that are not
    finite; an item that no resample draws may have any value.

    >>> resample_spearman([1, 2, 3], [1, 3, 2], [[1, 1, 1], [1, 0, 3], [0, 0, 3]]).round(4).tolist()
    [0.5, 1.0, nan]
    """
    from embassay.measures.kernels import compute_spearman_of_resamples

    drawn = _convert_to_resample_counts(counts)
    left, right = _zero_undrawn_values(x, drawn), _zero_undrawn_values(y, drawn)
    if not drawn.size:
        return np.full(len(drawn), np.nan)
    return np.clip(
        compute_spearman_of_resamples(_rank_distinct_values(left), _rank_distinct_values(right), drawn), -1.0, 1.0
    )


def resample_average_precision(labels: ArrayLike, scores: ArrayLike, counts: ArrayLike) -> NDArray[np.float64]:
    """Average precision of `labels` (0 or 1) by `scores`, both (n,), on resamples `counts` (b, n) -> (b,).

    As `pair_average_precision` of the items repeated so often. NaN where nothing that was drawn has the label 1.
    Raises UsageError for shapes that do not fit or scores that are not finite, but for items that no resample draws.

    >>> resample_average_precision([1, 0, 1], [.9, .5, .1], [[1, 1, 1], [1, 2, 0], [0, 1, 0]]).round(4).tolist()
    [0.8333, 1.0, nan]
    """
    from embassay.measures.kernels import compute_average_precision_of_resamples

    drawn = _convert_to_resample_counts(counts)
    ranked, relevant = _zero_undrawn_values(scores, drawn), _zero_undrawn_values(labels, drawn) > 0
    if not drawn.size:
        return np.full(len(drawn), np.nan)
    # The order is the same in every resample: only counts change.
    order = np.argsort(-ranked, kind="stable")
    last = np.append(ranked[order][1:] != ranked[order][:-1], True)
    return np.asarray(compute_average_precision_of_resamples(order, last, relevant, drawn))


def _convert_to_resample_counts(counts: ArrayLike) -> NDArray[np.int64]:
    drawn = np.ascontiguousarray(counts, dtype=np.int64)
    if drawn.ndim != 2 or drawn.min(initial=0) < 0:
        raise UsageError(
            f"Counts of shape {drawn.shape} are not valid resamples.",
            mend="Pass one row per resample, with one count of 0 or more per item.",
        )
    return drawn


def _zero_undrawn_values(values: ArrayLike, counts: NDArray[np.int64]) -> NDArray[np.float64]:
    """The values, 0 for items that are never drawn."""
    column = np.asarray(values, dtype=np.float64)
    if column.shape != counts.shape[1:]:
        raise UsageError(
            f"Values of shape {column.shape} do not match counts of shape {counts.shape}.",
            mend="Pass one value per item.",
        )
    unknown = ~np.isfinite(column)
    if unknown.any():
        if counts[:, unknown].any():
            raise UsageError(
                "The value of a resampled item is not finite.",
                mend="Remove undefined items from both sides, and count them.",
            )
        column = np.where(unknown, 0.0, column)
    return column


def _rank_distinct_values(column: NDArray[np.float64]) -> NDArray[np.int64]:
    """The place of each value among the distinct ones, ascending."""
    return np.unique(column, return_inverse=True)[1].astype(np.int64)


NAN = float("nan")
SAME = 1e-9
"""Sums of weights that differ by no more are equal."""


class Macro(NamedTuple):
    """A mean over the queries where a measure is defined, of how many, out of how many."""

    mean: float
    n_valid: int
    n_total: int


def macro(values: ArrayLike) -> Macro:
    """The mean of those `values` (q,) that are not NaN; NaN if there are none.

    >>> macro([0.5, 1.0, float("nan")])
    Macro(mean=0.75, n_valid=2, n_total=3)
    """
    per_query = _convert_to_query_value_column(values)
    valid = per_query[~np.isnan(per_query)]
    return Macro(float(valid.mean()) if len(valid) else NAN, len(valid), len(per_query))


@dataclass(frozen=True)
class PercentProc:
    """The share of a ceiling that was reached (0.85 is 85%), over `n_valid` of `n_total` queries.

    `n_over` queries are above their own ceiling: then the pool is not one that the list was drawn from.
    """

    share: float
    n_valid: int
    n_total: int
    n_over: int


def percent_proc(actual: ArrayLike, proc: ArrayLike, *, per_query_mean: bool = False) -> PercentProc:
    """%PROC: the value reached divided by the value that the pool allowed, both (q,) or single numbers.

    The ratio of the two means over the queries where both are defined. With `per_query_mean` the mean of the queries'
    own ratios, over those with a ceiling above 0. NaN where there is no such query or the mean ceiling is 0.
    Source: spec rag 1.6.

    >>> percent_proc([0.4, float("nan"), 0.6], [0.8, 0.9, 1.0]).share
    0.5555555555555556
    >>> percent_proc([0.4, float("nan"), 0.6], [0.8, 0.9, 1.0], per_query_mean=True).share
    0.55
    """
    reached, ceiling = _convert_to_query_value_column(actual), _convert_to_query_value_column(proc)
    if len(reached) != len(ceiling):
        raise UsageError(
            f"There are {len(reached)} values and {len(ceiling)} ceilings.", mend="Pass one of each per query."
        )
    valid = ~(np.isnan(reached) | np.isnan(ceiling))
    if per_query_mean:
        valid &= ceiling > 0
    total, (reached, ceiling) = len(reached), (reached[valid], ceiling[valid])
    above = int((reached > ceiling + SAME).sum())
    if not ceiling.sum() > 0:
        share = NAN
    else:
        share = float((reached / ceiling).mean() if per_query_mean else reached.sum() / ceiling.sum())
    return PercentProc(share, len(reached), total, above)


@dataclass(frozen=True)
class HitAccuracy:
    """How often the answer is right where everything needed was found.

    `accuracy` is the mean over the `n_hits` queries whose `Hit` is 1 and whose answer was judged. `hit_rate` is over
    the `n` queries where `Hit` is defined; `hit_rate_feasible` and `accuracy_feasible` over the `n_feasible` of them
    whose good documents fit among the first K, so that it could be 1 (`n_hits_feasible` hits with an answer).
    """

    accuracy: float
    n_hits: int
    hit_rate: float
    n: int
    accuracy_feasible: float
    n_hits_feasible: int
    hit_rate_feasible: float
    n_feasible: int


def accuracy_given_hit(hits: ArrayLike, correct: ArrayLike, feasible: ArrayLike | None = None) -> HitAccuracy:
    """Acc|Hit@K: mean of `correct` (q,), from 0 to 1, over the queries whose `hits` (q,) are 1.

    NaN in `correct` is an answer that nobody judged, NaN in `hits` a query without a good document. `feasible` (q,)
    says where a hit is possible (all, if not given). NaN where there is no such query. Source: spec rag 1.4.

    >>> found = accuracy_given_hit([1, 1, 0, float("nan")], [1, 0.5, 1, 1], [True, True, False, True])
    >>> found.accuracy, found.n_hits, found.hit_rate_feasible
    (0.75, 2, 1.0)
    """
    hit, right = _convert_to_query_value_column(hits), _convert_to_query_value_column(correct)
    possible = np.ones(len(hit), dtype=bool) if feasible is None else np.asarray(feasible, dtype=bool)
    if not len(hit) == len(right) == len(possible):
        raise UsageError(
            f"There are {len(hit)} hits, {len(right)} answers and {len(possible)} feasibility flags.",
            mend="Pass one of each per query.",
        )
    if ((right < 0) | (right > 1)).any():
        raise UsageError("An answer's correctness is not from 0 (wrong) to 1 (right).", mend="Rescale it.")
    right_of_hits = np.where(hit == 1, right, np.nan)
    every, fitting = macro(right_of_hits), macro(right_of_hits[possible])
    rate, rate_fitting = macro(hit), macro(hit[possible])
    return HitAccuracy(
        every.mean,
        every.n_valid,
        rate.mean,
        rate.n_valid,
        fitting.mean,
        fitting.n_valid,
        rate_fitting.mean,
        rate_fitting.n_valid,
    )


def count_over_one(values: ArrayLike) -> int:
    """The number of values above 1, which occur if the pool lacks documents that were counted."""
    return int((_convert_to_query_value_column(values) > 1 + SAME).sum())


def _convert_to_query_value_column(values: ArrayLike) -> Floats:
    column = np.atleast_1d(np.asarray(values, dtype=np.float64))
    if column.ndim != 1:
        raise UsageError(f"The values have the shape {column.shape}.", mend="Pass one number per query.")
    return column
