"""Agreement of raters who mark documents as relevant or not: query by query, on vectors of 0 and 1."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from embassay.errors import UsageError
from embassay.measures.correlation import spearman
from embassay.measures.kappa import cohen_kappa

Marks = Mapping[str, Sequence[int]]
"""Of each query, by id: 1 for a marked document and 0 for another, in one order for all raters."""


@dataclass(frozen=True)
class MarksAgreement:
    """Means over comparisons, each of two raters on one query.

    `spearman` (on vectors of 0 and 1 also Kendall's tau-b and the phi coefficient: they are equal there) with its
    population standard deviation `spearman_sd`, over `comparisons`; a comparison in which a vector is constant has
    none and is only counted, in `skipped`. `kappa` is Cohen's over `kappa_comparisons`: undefined only where both
    vectors are the same constant. NaN where there is no comparison left.
    """

    spearman: float
    spearman_sd: float
    kappa: float
    comparisons: int
    skipped: int
    kappa_comparisons: int

    @property
    def kendall(self) -> float:
        """Kendall's tau-b: Spearman's, as the values are only 0 and 1."""
        return self.spearman


def marks_agreement(raters: Sequence[Marks], *, min_shared: int = 1) -> MarksAgreement:
    """How well two or more raters agree on what is relevant, over the queries that each two share; two that share fewer
    than `min_shared` queries are not compared.

    Source: HUME section 6. Raises UsageError for fewer than two raters, vectors of different lengths for one query,
    or marks other than 0 and 1.

    >>> round(marks_agreement([{"q": [1, 1, 1, 0, 0, 0, 0]}, {"q": [1, 1, 0, 1, 0, 0, 0]}]).spearman, 6)
    0.416667
    """
    if len(raters) < 2:
        raise UsageError(
            "One rater agrees with nobody.", mend="Give two raters or more, or report the agreement as NA."
        )
    pairs = [
        (_checked(query, one[query]), _checked(query, other[query]))
        for one, other in combinations(raters, 2)
        if len(one.keys() & other.keys()) >= min_shared
        for query in sorted(one.keys() & other.keys())
    ]
    correlations = [_correlation(*pair) for pair in pairs]
    defined = [value for value in correlations if not math.isnan(value)]
    kappas = [value for pair in pairs if not math.isnan(value := cohen_kappa(*pair))]
    return MarksAgreement(
        spearman=_mean(defined),
        spearman_sd=float(np.std(defined)) if defined else math.nan,
        kappa=_mean(kappas),
        comparisons=len(defined),
        skipped=len(pairs) - len(defined),
        kappa_comparisons=len(kappas),
    )


def _correlation(one: Sequence[int], other: Sequence[int]) -> float:
    if len(one) != len(other):
        raise UsageError(
            f"Marks for {len(one)} and for {len(other)} documents of one query cannot be compared.",
            mend="Give one mark per document, in one order for all raters.",
        )
    return float(spearman(one, other))


def _checked(query: str, marks: Sequence[int]) -> Sequence[int]:
    if any(mark not in (0, 1) for mark in marks):
        raise UsageError(f"The marks of query {query} are {list(marks)}.", mend="Use 0 and 1.")
    return marks


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values) if values else math.nan
