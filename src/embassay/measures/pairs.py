"""How well a similarity tells pairs that belong together from pairs that do not."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from embassay.errors import UsageError
from embassay.measures.registry import measure


@measure(
    "PairAP",
    direction="higher",
    range="[0, 1]",
    needs="labels of 0 and 1, numbers",
    undefined="no label is 1",
    source="scikit-learn average_precision_score; the measure of pair classification in MTEB and PTEB",
)
def pair_average_precision(labels: ArrayLike, scores: ArrayLike) -> float:
    """Average precision of `labels` (n,), 0 or 1, by `scores` (n,), higher first, over all pairs as one ranking.

    The sum over distinct scores of the gain in recall there times the precision there: pairs of one score come
    together, so their order does not count. Range 0 to 1, higher is better; chance is the share of label 1. NaN
    where no label is 1. Source: scikit-learn, average_precision_score.
    Raises UsageError for shapes that differ, scores that are not finite or labels other than 0 and 1.

    >>> round(pair_average_precision([1, 0, 1], [0.9, 0.5, 0.1]), 4)
    0.8333
    """
    from embassay.measures.counted import counted_average_precision

    known = np.asarray(labels)
    if not np.isin(known, (0, 1)).all():
        raise UsageError(
            "A label is neither 0 nor 1.", mend="Give 1 to pairs that belong together, 0 to others."
        )
    return float(counted_average_precision(known, scores, np.ones((1, known.size), dtype=np.int64))[0])
