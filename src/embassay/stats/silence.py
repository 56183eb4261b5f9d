"""When to say nothing: the score from which to answer, so that questions without an answer get none.

Questions without an answer are of kinds (`near`, `far`), each a sample by itself. The threshold is an order statistic
of their scores, so its guarantee needs no assumption but independent draws, and does not depend on how many questions
of each kind there are. Whether a threshold is worth having shows in how many answerable questions it still answers.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom

from embassay.errors import UsageError
from embassay.stats.calibration import KINDS, choose_calibration_curve, compute_exact_share_bounds

Scores = NDArray[np.float64]
Verdict = Literal["works", "none works", "too few"]
MOST_TIMES = 50
"""How many times as many questions are tried to find how many would do."""


@dataclass(frozen=True)
class SilenceAims:
    """At least the share `silent` of the questions without an answer gets none, and at least the share `answered` of
    the others gets one, both with `confidence`. UsageError for a share that is not between 0 and 1."""

    silent: float = 0.9
    answered: float = 0.5
    confidence: float = 0.95

    def __post_init__(self) -> None:
        for name in ("silent", "answered", "confidence"):
            if not 0 < getattr(self, name) < 1:
                raise UsageError(
                    f"{name} is {getattr(self, name):g}.", mend="Use a share between 0 and 1, such as 0.9."
                )


@dataclass(frozen=True)
class ShareBounds:
    """`hits` of `n`, and the ends of the share's interval."""

    hits: int
    n: int
    low: float
    high: float

    @property
    def share(self) -> float:
        """The share in the sample."""
        return self.hits / self.n if self.n else math.nan


@dataclass(frozen=True)
class SilenceThreshold:
    """Answer where the score is `above` this, else say nothing; None where no threshold has the guarantee.

    `verdict`: "works" (both aims are kept), "none works" (shown for every threshold of this signal), "too few" (neither
    is shown). `silent` are the questions without an answer that get none at the threshold, `answered` the others that
    get one. `least` is how many questions without an answer any threshold takes, and `times` how many times as many
    questions like these would decide (None: not within `MOST_TIMES`).
    """

    verdict: Verdict
    above: float | None
    aims: SilenceAims
    silent: ShareBounds | None
    answered: ShareBounds | None
    least: int
    times: int | None = None


def find_silence_threshold(
    unanswerable: Scores, answerable: Scores, aims: SilenceAims, signals: int = 1, *, foresee: bool = True
) -> SilenceThreshold:
    """The lowest threshold that keeps silent on `unanswerable` questions of one kind, by their scores (n,), and how
    many of the `answerable` (m,) it leaves answered.

    A question with nothing retrieved scores -inf and is never answered. Of `signals` from which this one was chosen
    each has its part of the error, so that the choice costs no confidence. "None works" is shown, at the same error,
    where even the lowest threshold that the sample allows answers fewer than the aim. Without `foresee` nothing says
    how many questions would decide. UsageError for scores that are no numbers, and where a side is empty.
    """
    for scores in (unanswerable, answerable):
        if np.isnan(scores).any():
            raise UsageError("A score is not a number.", mend="Leave its question out.")
        if not len(scores):
            raise UsageError(
                "There is nothing to compare.", mend="Give questions with an answer, and questions without one."
            )
    alpha = _divide_error_over_signals(aims, signals)
    decided = _decide_no_answer_score_threshold(unanswerable, answerable, aims, alpha)
    if decided.verdict != "too few" or not foresee:
        return decided
    # The same scores again stand for more questions like these.
    for times in range(2, MOST_TIMES + 1):
        many = np.repeat(unanswerable, times), np.repeat(answerable, times)
        if _decide_no_answer_score_threshold(*many, aims, alpha).verdict != "too few":
            return replace(decided, times=times)
    return decided


def _divide_error_over_signals(aims: SilenceAims, signals: int) -> float:
    # Half for the questions without an answer, half for the others; as large a part for each signal.
    return (1 - aims.confidence) / (2 * signals)


def count_least_unanswerable(aims: SilenceAims, signals: int = 1) -> int:
    """Count how many questions without an answer any threshold takes at least.

    >>> count_least_unanswerable(SilenceAims()), count_least_unanswerable(SilenceAims(), signals=2)
    (36, 42)
    """
    return math.ceil(math.log(_divide_error_over_signals(aims, signals)) / math.log(aims.silent))


def _decide_no_answer_score_threshold(
    unanswerable: Scores, answerable: Scores, aims: SilenceAims, alpha: float
) -> SilenceThreshold:
    # The fewest questions with which silence on all is evidence: silent^n is at most alpha.
    least = math.ceil(math.log(alpha) / math.log(aims.silent))
    above = _find_upper_quantile_bound(unanswerable, aims.silent, alpha)
    lowest = _find_lower_quantile_bound(unanswerable, aims.silent, alpha)
    none_works = bound_true_share(answerable > lowest, alpha).high < aims.answered
    if above == math.inf:
        return SilenceThreshold("none works" if none_works else "too few", None, aims, None, None, least)
    silent, answered = (bound_true_share(unanswerable <= above, alpha), bound_true_share(answerable > above, alpha))
    verdict: Verdict = "works" if answered.low >= aims.answered else "too few"
    return SilenceThreshold("none works" if none_works else verdict, above, aims, silent, answered, least)


def _find_upper_quantile_bound(scores: Scores, share: float, alpha: float) -> float:
    """A score at or below which at least `share` of all lies, with 1 - `alpha`; inf where the sample is too small."""
    n = len(scores)
    place = int(binom.ppf(1 - alpha, n, share)) + 1
    return math.inf if place > n else float(np.sort(scores)[place - 1])


def _find_lower_quantile_bound(scores: Scores, share: float, alpha: float) -> float:
    """A score that every score with at least `share` at or below it reaches, with 1 - `alpha`; -inf if too few."""
    # The largest j for which at least j of n lie at or below the quantile so often.
    place = int(binom.isf(1 - alpha, len(scores), share))
    while place > 0 and binom.sf(place - 1, len(scores), share) < 1 - alpha:
        place -= 1
    return -math.inf if place < 1 else float(np.sort(scores)[place - 1])


def bound_true_share(hits: NDArray[np.bool_], alpha: float) -> ShareBounds:
    """The share of (n,) that is true, with exact bounds of which each fails in at most `alpha` of samples (Clopper and
    Pearson)."""
    n, count = len(hits), int(hits.sum())
    return ShareBounds(count, n, *compute_exact_share_bounds(count, n, alpha))


def compute_log_loss_of_silence_signals(
    signals: Mapping[str, tuple[Scores, Scores]], rng: np.random.Generator
) -> dict[str, float]:
    """Signal -> held-out log loss of telling answerable (m,) from unanswerable questions (n,), the best first.

    By cross-validation in five parts,
    of the better of two curves (`embassay.stats.calibration.choose_calibration_curve`).
    Scores of -inf, which no curve takes, become the lowest of the signal. Each signal sees the same parts.
    """
    seed = int(rng.integers(2**31))
    losses = {}
    for name, (answerable, unanswerable) in signals.items():
        scores = np.concatenate([answerable, unanswerable])
        finite = scores[np.isfinite(scores)]
        lowest = float(finite.min()) if len(finite) else 0.0
        same = np.arange(len(scores)) < len(answerable)
        plain = np.where(np.isfinite(scores), scores, lowest)
        choice = choose_calibration_curve(plain, same, None, np.random.Generator(np.random.PCG64(seed)))
        losses[name] = min(choice.losses[kind] for kind in KINDS)
    return dict(sorted(losses.items(), key=lambda pair: pair[1]))


def measure_top_score_and_margin(values: Sequence[float]) -> dict[str, float]:
    """What a list of scores, best first, tells of itself: its best `score`, and the `margin` to the second; -inf where
    there is none.

    >>> measure_top_score_and_margin([0.9, 0.7, 0.1])
    {'score': 0.9, 'margin': 0.2}
    """
    best = values[0] if values else -math.inf
    margin = round(values[0] - values[1], 12) if len(values) > 1 else -math.inf
    return {"score": best, "margin": margin}
