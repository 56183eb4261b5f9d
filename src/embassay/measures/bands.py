"""Agreement in words: the bands by which HUME reads kappas and correlations."""

from __future__ import annotations

import math
from typing import Literal

from embassay.errors import UsageError

Coefficient = Literal["kappa", "correlation", "ari"]

_KAPPA = ((0.8, "excellent"), (0.6, "substantial"), (0.4, "moderate"), (0.2, "fair"))
_BANDS = {
    "kappa": (*_KAPPA, (-math.inf, "poor")),
    "correlation": ((0.7, "strong"), (0.4, "moderate"), (-math.inf, "weak")),
    # The source has no bands for the ARI. Worse than chance is no grouping in common at all.
    "ari": (*_KAPPA, (-math.inf, "poor")),
}


def agreement_band(value: float, coefficient: Coefficient) -> str:
    """What `value` of a coefficient is called; "NA" for NaN.

    Kappa: above .8 excellent, .6 substantial, .4 moderate, .2 fair, else poor. Correlation: above .7 strong, .4
    moderate, else weak. The ARI is read as a kappa is, and below 0 as "none". A value on a limit is in the lower band.
    Source: HUME section 6 (the ARI is our own choice). Raises UsageError for another coefficient.

    >>> agreement_band(0.386155, "kappa"), agreement_band(0.751323, "correlation"), agreement_band(-0.001, "ari")
    ('fair', 'strong', 'none')
    """
    if coefficient not in _BANDS:
        raise UsageError(f"The coefficient is {coefficient!r}.", mend=f"Use one of {', '.join(_BANDS)}.")
    if math.isnan(value):
        return "NA"
    if coefficient == "ari" and value < 0:
        return "none"
    return next(name for limit, name in _BANDS[coefficient] if value > limit or limit == -math.inf)
