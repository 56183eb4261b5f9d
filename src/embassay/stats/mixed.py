"""The mean of a table whose rows and columns are both samples: how far it holds for other rows and columns."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from embassay.errors import UsageError
from embassay.stats.intervals import Estimate, check_confidence, convert_to_finite_sample_array, t_quantile

Floats = NDArray[np.float64]

# Relative to the largest value: what sums in another order may differ by.
_ROUNDING = 1e-12


@dataclass(frozen=True, kw_only=True)
class MixedMean(Estimate):
    """A mean with its interval, the standard deviations it comes from, and the degrees of freedom of its t.

    `sd_rows`, `sd_columns` and `sd_residual` are in the unit of the values: 0 where the data show no such effect, NaN
    where they cannot (one row, one column, or nothing left to tell it from the residual).
    """

    sd_rows: float
    sd_columns: float
    sd_residual: float
    df: float


def mixed_mean(
    y: ArrayLike,
    rows: Sequence[Hashable],
    columns: Sequence[Hashable],
    *,
    weights: ArrayLike | None = None,
    confidence: float = 0.95,
) -> MixedMean:
    """Mean of `y` (n,) with an interval that applies to new rows and columns, such as datasets and runs.

    The model is y = mean + row + column + residual, all three normal and independent. `rows` and `columns` (n,)
    label the values, at most one per pair; pairs may be missing. The estimate is the sum of `weights` (n,),
    which sum to 1, times `y`; by default the unweighted mean over rows of each row's mean.

    Variance components by fitting constants (Henderson 1953, method 3); a negative one is dropped and the rest
    fitted again. The interval is t with Satterthwaite's degrees of freedom (1946), in the unit of `y`; NaN for
    one value.
    Raises UsageError for no values, values that are not finite, labels or weights that do not fit, or a pair twice.

    >>> drops = [-0.05, -0.06, -0.05, -0.02, -0.02, -0.03, -0.08, -0.09, -0.08]
    >>> mean = mixed_mean(drops, [d for d in "abc" for _ in range(3)], [1, 2, 3] * 3)
    >>> round(mean.value, 4), round(mean.low, 3), round(mean.high, 3), round(mean.df, 1)
    (-0.0533, -0.128, 0.021, 2.0)
    """
    check_confidence(confidence)
    values = convert_to_finite_sample_array(y, "y")
    design = {
        "rows": _build_indicator_matrix(rows, len(values)),
        "columns": _build_indicator_matrix(columns, len(values)),
    }
    _check_cells_are_unique(rows, columns)
    shares = _choose_or_check_weights(weights, design["rows"])
    estimate = float(shares @ values)
    # Values that differ in the last bits would have variances that are rounding.
    if np.ptp(values) <= _ROUNDING * np.abs(values).max():
        values = np.full_like(values, estimate)
    if len(values) == 1:
        unknown: Any = dict.fromkeys(("sd_rows", "sd_columns", "sd_residual", "df"), float("nan"))
        return MixedMean(estimate, n=1, method="no interval from one value", **unknown)
    fit = _fit_variances(values - estimate, design)  # no form depends on the mean
    low, high, df = _satterthwaite_interval(estimate, fit, shares, confidence)
    method = f"mixed effects of row and column, t with {df:.1f} degrees of freedom (Satterthwaite)"
    if not fit.variances.any():
        method = "mixed effects of row and column: no variation"
    spread = {name: float(np.sqrt(variance)) for name, variance in zip(fit.names, fit.variances, strict=True)}
    spread = fit.absent | spread
    return MixedMean(
        *(estimate, low, high, len(values), method),
        sd_rows=spread["rows"],
        sd_columns=spread["columns"],
        sd_residual=spread["residual"],
        df=df,
    )


@dataclass(frozen=True)
class _VarianceComponentFit:
    """Variances (k,) of the effects in the model, the last being the residual. `covariances` (k, n, n) are those of the
    values per unit of each, `forms` (k, n, n) the quadratic forms that estimate them: variance = y' form y."""

    names: tuple[str, ...]
    variances: Floats
    covariances: Floats
    forms: Floats
    absent: dict[str, float]


def _fit_variances(values: Floats, design: dict[str, Floats]) -> _VarianceComponentFit:
    """The largest model whose components can be estimated and are not negative."""
    absent: dict[str, float] = {}
    names = ["rows", "columns"]
    while True:
        forms, covariances = _make_sum_of_squares_matrices([design[name] for name in names], len(values))
        freedom = np.trace(forms, axis1=1, axis2=2)
        # What has no degree of freedom of its own cannot be estimated; without any left for the residual, the columns
        # (runs) are what it cannot be told from.
        unknown = [name for name, df in zip([*names, *names[-1:]], freedom, strict=False) if df < 0.5]
        if unknown:
            names.remove(unknown[0])
            absent[unknown[0]] = float("nan")
            continue
        expected = np.einsum("kij,lji->kl", forms, covariances)
        solved = np.tensordot(np.linalg.inv(expected), forms, axes=1)
        variances = np.einsum("i,kij,j->k", values, solved, values)
        smallest = int(np.argmin(variances[:-1])) if names else -1
        if smallest < 0 or variances[smallest] >= 0:
            break
        absent[names.pop(smallest)] = 0.0
    return _VarianceComponentFit((*names, "residual"), np.maximum(variances, 0), covariances, solved, absent)


def _make_sum_of_squares_matrices(effects: list[Floats], n: int) -> tuple[Floats, Floats]:
    """The sums of squares of each effect, adjusted for the others, and of the residual, as matrices (k, n, n); and the
    covariance of the values per unit of each variance, (k, n, n)."""
    everything = _build_projection_matrix(effects, n)
    adjusted = [everything - _build_projection_matrix(effects[:i] + effects[i + 1 :], n) for i in range(len(effects))]
    identity = np.eye(n)
    return np.stack([*adjusted, identity - everything]), np.stack([*(z @ z.T for z in effects), identity])


def _build_projection_matrix(effects: list[Floats], n: int) -> Floats:
    """Build the projection matrix onto the space of the mean and the effects, (n, n)."""
    directions, sizes, _ = np.linalg.svd(np.column_stack([np.ones(n), *effects]), full_matrices=False)
    # Indicators overlap, as rows and columns both sum to 1: no solve takes such a matrix.
    basis = directions[:, sizes > 1e-9 * sizes[0]]
    return np.asarray(basis @ basis.T)


def _satterthwaite_interval(
    estimate: float, fit: _VarianceComponentFit, shares: Floats, confidence: float
) -> tuple[float, float, float]:
    """Lower and upper end, and Satterthwaite's degrees of freedom 2 V^2 / var(V) of V = var(shares y)."""
    loads = np.einsum("i,kij,j->k", shares, fit.covariances, shares)
    variance = float(loads @ fit.variances)
    if variance <= 0:
        return estimate, estimate, float("nan")
    estimator = np.tensordot(loads, fit.forms, axes=1) @ np.tensordot(fit.variances, fit.covariances, axes=1)
    df = variance**2 / float((estimator * estimator.T).sum())
    reach = t_quantile(0.5 + confidence / 2, df) * variance**0.5  # `df` is fractional
    return estimate - reach, estimate + reach, df


def _build_indicator_matrix(labels: Sequence[Hashable], n: int) -> Floats:
    if len(labels) != n:
        raise UsageError(f"There are {n} values and {len(labels)} labels.", mend="Give one label per value.")
    columns_of = {label: number for number, label in enumerate(dict.fromkeys(labels))}
    indicators = np.zeros((n, len(columns_of)))
    indicators[np.arange(n), [columns_of[label] for label in labels]] = 1
    return indicators


def _check_cells_are_unique(rows: Sequence[Hashable], columns: Sequence[Hashable]) -> None:
    pairs = set()
    for pair in zip(rows, columns, strict=True):
        if pair in pairs:
            raise UsageError(f"There are two values for {pair}.", mend="Average them first.")
        pairs.add(pair)


def _choose_or_check_weights(weights: ArrayLike | None, rows: Floats) -> Floats:
    if weights is None:
        return np.asarray((rows / rows.sum(axis=0)).sum(axis=1) / rows.shape[1])
    shares = convert_to_finite_sample_array(weights, "weights")
    if len(shares) != len(rows) or abs(shares.sum() - 1) > 1e-9:
        raise UsageError(
            f"{len(shares)} weights for {len(rows)} values sum to {shares.sum():g}.",
            mend="Give one weight per value, with a sum of 1.",
        )
    return shares
