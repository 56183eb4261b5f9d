"""Where a system stands among the people who annotated, and how little so few people can say of others."""

from __future__ import annotations

from collections.abc import Sequence

from embassay.errors import UsageError
from embassay.stats.intervals import Estimate, check_confidence, sample


def among_people(score: float, annotators: Sequence[float], *, confidence: float = 0.95) -> Estimate:
    """The share of annotators who score below a system, 0 to 1, equals counting half; `n` is how many there are.

    The interval is Clopper and Pearson's for the share among all people like these: it holds its level for any number
    of them, and so says how little two tell (both below: from .16 to 1). With ties the halves go into its quantiles.
    It takes the scores of people as they are; their own uncertainty over items is not in it.
    Source: Clopper and Pearson 1934. Raises UsageError for no annotators or scores that are not finite.

    >>> found = among_people(0.8, [0.7, 0.75])
    >>> found.estimate, round(found.low, 3), found.high
    (1.0, 0.158, 1.0)
    """
    people = sample(list(annotators), "annotators")
    if score != score:
        raise UsageError("The system has no score.", mend="Leave it out and say why.")
    below = float((people < score).sum() + (people == score).sum() / 2)
    return share_of_people(below / len(people), len(people), confidence=confidence)


def share_of_people(share: float, n: int, *, confidence: float = 0.95) -> Estimate:
    """A share found among `n` annotators with the interval of `among_people`: from a record, which keeps the share.

    Raises UsageError for a share outside 0 to 1 or no annotators.

    >>> round(share_of_people(0.0, 5).high, 3)
    0.522
    """
    from scipy.stats import beta

    check_confidence(confidence)
    if not 0 <= share <= 1 or n < 1:
        raise UsageError(
            f"A share of {share} of {n} annotators is none.", mend="Give 0 <= share <= 1, n >= 1."
        )
    below, tail = share * n, (1 - confidence) / 2
    low = float(beta.ppf(tail, below, n - below + 1)) if below > 0 else 0.0
    high = float(beta.ppf(1 - tail, below + 1, n - below)) if below < n else 1.0
    return Estimate(share, low, high, n, f"{confidence:.0%} Clopper-Pearson over {n} annotators")
