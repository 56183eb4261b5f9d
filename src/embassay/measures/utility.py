"""UDCG: what the first documents are worth to a model that reads them all at once, less how they distract it.

Source: Trappolini, Cuconasu, Filice, Maarek and Silvestri 2025, arXiv 2510.21440, and the formula of their code.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from embassay.errors import UsageError
from embassay.measures.judgements import (
    RELEVANT,
    Floats,
    Graded,
    One,
    Pools,
    Unjudged,
    Values,
    grade,
    retrieved_counts,
    retrieved_sizes,
    treat_unjudged,
)
from embassay.measures.registry import measure
from embassay.measures.sets import check_grade, over

UDCG_SOURCE = "Trappolini and others 2025, arXiv 2510.21440"


@measure(
    "UDCG",
    direction="higher",
    range="[0.4174297935376853, 0.7310585786300049]",
    needs="grades, ranking",
    undefined="nothing was retrieved",
    source=f"{UDCG_SOURCE}; the distraction of a grade is our assumption",
)
def udcg_of(
    graded: Graded,
    *,
    cutoff: int,
    rel: int = RELEVANT,
    gamma: float = 1 / 3,
    third: float = 1.0,
    second: float = 0.5,
    unjudged: Unjudged = "zero",
) -> Floats:
    """Utility of the first documents less their distraction, between the two ends of a logistic curve.

    The logistic function of the mean over them of 1 for a relevant one and of -gamma times its distraction for another.
    In the source utility and distraction are how surely a model answers from that passage alone. Where that was not
    measured grades stand in: relevant is 1; of the others grade 3 distracts by `third`, grade 2 by `second`, grade 1
    and no grade not at all. `measured_udcg` takes measured ones. As there, the order of the first does not matter.

    >>> from embassay.measures import evaluate_graded, grade
    >>> found = grade({"q": {"a": 5, "b": 3, "c": 1}}, {"q": ["a", "b", "c"]})
    >>> evaluate_graded(["UDCG@3"], found)["UDCG@3"].round(6).tolist()
    [0.555328]
    """
    check_grade(rel)
    seen = treat_unjudged(graded, unjudged, cutoff)
    found, sizes = retrieved_counts(seen, cutoff), retrieved_sizes(seen, cutoff)
    distraction = np.array([0.0, second, third, third, third])
    gains = np.where(np.arange(1, 6) >= rel, 1.0, -gamma * distraction)
    return 1 / (1 + np.exp(-over(found @ gains, sizes)))


def measured_udcg(relevant: ArrayLike, answered: ArrayLike, *, gamma: float = 1 / 3) -> float:
    """UDCG of one query from what a model does with each passage alone: `relevant` (k,) are truth values,
    `answered` (k,) how surely it answers at all (1 less the probability that it abstains). UsageError for other shapes,
    and for what is no probability; NaN for no passages.

    >>> round(measured_udcg([True, False], [0.9, 0.6]), 6)
    0.586618
    """
    is_relevant, sure = np.asarray(relevant, dtype=bool), np.asarray(answered, dtype=np.float64)
    if is_relevant.ndim != 1 or is_relevant.shape != sure.shape or not ((sure >= 0) & (sure <= 1)).all():
        raise UsageError(
            f"UDCG takes a truth value and a probability per passage, not {is_relevant.shape} and {sure.shape}.",
            mend="Give two lists of one length.",
        )
    if not len(sure):
        return float("nan")
    return float(1 / (1 + np.exp(-np.where(is_relevant, sure, -gamma * sure).mean())))


def udcg(grades: Pools, retrieved: One, k: int, gamma: float = 1 / 3, unjudged: Unjudged = "zero") -> Values:
    """UDCG@k: what the first `k` are worth to a model that reads them all, less how they distract it.

    Range 0.417 to 0.731, higher is better, NaN where nothing was retrieved. See `udcg_of`, of the measure `UDCG`, for
    what grades stand for, and `measured_udcg` for values of a model.

    >>> round(float(udcg({"a": 5, "b": 3, "c": 1}, ["a", "b", "c"], 3)), 6)
    0.555328
    """
    graded = grade(grades, retrieved)
    return graded.answer(udcg_of(graded, cutoff=k, gamma=gamma, unjudged=unjudged))
