"""How similarity to what is meant falls with noise, and how much of that rewriting brings back (spec rag 5.4)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from embassay.errors import UsageError

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Drop:
    """From the clean question to the noisiest: absolute, and as a share of the clean cosine (NaN where that is 0)."""

    absolute: float
    share: float


def share_lost(clean: Floats, noisy: Floats) -> Floats:
    """1 - noisy / clean, value by value; NaN where the clean cosine is 0."""
    return np.asarray(1 - noisy / np.where(clean == 0, np.nan, clean))


def recovery(clean: Floats, noisy: Floats, rewritten: Floats) -> Floats:
    """(rewritten - noisy) / (clean - noisy), value by value; NaN where noise cost nothing."""
    return np.asarray((rewritten - noisy) / np.where(clean > noisy, clean - noisy, np.nan))


def drop(clean: float, noisy: float) -> Drop:
    """What is lost between two mean cosines.

    >>> result = drop(0.818, 0.522)
    >>> round(result.absolute, 3), round(100 * result.share, 1)
    (0.296, 36.2)
    """
    lost = clean - noisy
    return Drop(lost, float(share_lost(np.array(clean), np.array(noisy))))


def recovered(clean: Floats, noisy: Floats, rewritten: Floats) -> float:
    """The share of the loss that rewriting brings back: of the means over the questions, each (n,).

    1: as good as the clean question, 0: nothing gained, below 0: made worse. NaN where noise cost nothing. UsageError
    for unequal lengths.

    >>> round(recovered(np.array([0.9]), np.array([0.5]), np.array([0.8])), 6)
    0.75
    """
    sides = [np.asarray(side, dtype=np.float64) for side in (clean, noisy, rewritten)]
    if len({side.shape for side in sides}) != 1 or not sides[0].size:
        raise UsageError(
            "The three sides are not of the same questions.", mend="Give one cosine each of every question."
        )
    return float(recovery(*(side.mean() for side in sides)))
