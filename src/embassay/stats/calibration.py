"""From a score to a probability: curves through labelled scores, how good and how sure they are, and thresholds.

A curve is beta calibration (Kull, Silva Filho and Flach 2017; logistic calibration is a case of it) or isotonic
regression (Zadrozny and Elkan 2002); which one, held-out log loss decides. Neither falls as the score rises.

A threshold's promise holds for the one chosen, and not only in the sample it was chosen in. Precision is promised by a
test in a fixed order of hypotheses, from strict thresholds to lax ones, each by an exact binomial bound (Angelopoulos
et al. 2021, "Learn then test"). Recall is promised by an order statistic of the scores of what should be accepted. Both
hold for pairs drawn independently from where later ones come from; precision takes it besides that the probability
never falls as the score rises (docs/calibration.md: what happens where it does).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import isotonic_regression, minimize
from scipy.special import expit
from scipy.stats import beta, binom, nbinom

from embassay.errors import UsageError
from embassay.stats.few_labels import MoreLabelsOutlook

Values = NDArray[np.float64]
Labels = NDArray[np.bool_]
Groups = NDArray[np.int64] | None
Kind = Literal["beta", "isotonic"]

KINDS: tuple[Kind, ...] = ("beta", "isotonic")
FOLDS = 5
GRID = 201
"""Points of a saved curve."""
_RIDGE = 1e-3
"""So little that it shows only where a curve would be a step between the two labels."""


class CalibrationCurve(Protocol):
    """A fitted curve: scores (n,) -> probabilities (n,)."""

    def __call__(self, scores: Values) -> Values: ...


@dataclass(frozen=True)
class BetaCalibrationCurve:
    """logit p = a log u - b log(1 - u) + c with a, b >= 0, where u is the score's place on a logistic scale."""

    middle: float
    scale: float
    weights: Values
    """a, b and c."""

    @classmethod
    def fit_to_labels(cls, scores: Values, same: Labels) -> BetaCalibrationCurve:
        """By maximum likelihood."""
        middle = float(np.median(scores))
        scale = float(scores.std()) or 1.0  # scores that are all equal
        up, down = _compute_log_sigmoid_and_complement(scores, middle, scale)
        signs = np.where(same, 1.0, -1.0)

        def loss(weights: Values) -> tuple[float, Values]:
            a, b, c = weights
            margin = signs * (a * up + b * down + c)
            slope = -signs * expit(-margin)
            gradient = np.array([slope @ up, slope @ down, slope.sum()])
            ridge = _RIDGE * np.array([a, b, 0.0])
            return float(np.logaddexp(0.0, -margin).sum() + ridge @ weights / 2), gradient + ridge

        # Begins at the odds of all pairs; a half more on each side, as one label may be missing.
        base = math.log((same.sum() + 0.5) / ((~same).sum() + 0.5))
        fitted = minimize(
            loss, np.array([1.0, 1.0, base]), jac=True, method="L-BFGS-B",
            bounds=[(0.0, None), (0.0, None), (None, None)], options={"maxiter": 500}
        )  # fmt: skip
        return cls(middle, scale, fitted.x)

    def __call__(self, scores: Values) -> Values:
        up, down = _compute_log_sigmoid_and_complement(scores, self.middle, self.scale)
        a, b, c = self.weights
        return np.asarray(expit(a * up + b * down + c))


def _compute_log_sigmoid_and_complement(scores: Values, middle: float, scale: float) -> tuple[Values, Values]:
    """log u and -log(1 - u) of u = expit of the standardised score."""
    standardised = (scores - middle) / scale
    return -np.logaddexp(0.0, -standardised), np.logaddexp(0.0, standardised)


@dataclass(frozen=True)
class IsotonicCalibrationCurve:
    """The rising steps that lie nearest to the labels, with straight lines between what was seen."""

    knots: Values
    levels: Values

    @classmethod
    def fit_to_labels(cls, scores: Values, same: Labels) -> IsotonicCalibrationCurve:
        """Equal scores have one level; none is 0 or 1, which no sample shows."""
        knots, place, counts = np.unique(scores, return_inverse=True, return_counts=True)
        shares = np.bincount(place, weights=same) / counts
        levels = isotonic_regression(shares, weights=counts).x
        # Half a pair of one more than there are: no level comes closer to 0 and 1.
        end = 0.5 / (len(scores) + 1)
        return cls(knots, np.clip(levels, end, 1 - end))

    def __call__(self, scores: Values) -> Values:
        return np.asarray(np.interp(scores, self.knots, self.levels))


def fit_probability_calibration(kind: Kind, scores: Values, same: Labels) -> CalibrationCurve:
    """The curve of a kind through scores (n,) and whether each pair is the same (n,)."""
    return (BetaCalibrationCurve if kind == "beta" else IsotonicCalibrationCurve).fit_to_labels(scores, same)


@dataclass(frozen=True)
class CalibrationCurveChoice:
    """The kind of curve that foretells best, the probability of each pair by curves that were fitted without it (n,),
    and the mean log loss of each kind."""

    kind: Kind
    held_out: Values
    losses: dict[Kind, float]


def choose_calibration_curve(
    scores: Values, same: Labels, groups: Groups, rng: np.random.Generator
) -> CalibrationCurveChoice:
    """By cross-validation in `FOLDS` parts; pairs of one group (n,) are in one part."""
    units = np.arange(len(scores)) if groups is None else groups
    part = (rng.permutation(int(units.max()) + 1) % FOLDS)[units]
    foretold = {kind: np.empty(len(scores)) for kind in KINDS}
    for fold in range(FOLDS):
        out = part == fold
        for kind in KINDS:
            foretold[kind][out] = fit_probability_calibration(kind, scores[~out], same[~out])(scores[out])
    losses = {kind: float(compute_log_losses(foretold[kind], same).mean()) for kind in KINDS}
    # Of equal losses the first kind: beta, which is smooth.
    kind = min(KINDS, key=lambda kind: losses[kind])
    return CalibrationCurveChoice(kind, foretold[kind], losses)


def compute_log_losses(probability: Values, same: Labels) -> Values:
    """-log of the probability of what was the case, (n,), in nats."""
    return np.asarray(-np.log(np.where(same, probability, 1 - probability).clip(1e-12)))


@dataclass(frozen=True)
class CalibrationBin:
    """Pairs of like probability: what was foretold, and what came true, with its exact 95% interval."""

    n: int
    foretold: float
    came: float
    low: float
    high: float


def bin_pairs_by_probability(probability: Values, same: Labels, count: int = 10) -> Iterator[CalibrationBin]:
    """As many pairs in each; equal probabilities may fall into two, in the order of the pairs."""
    # The last digits of a fit are the machine's, and would order what is equal.
    order = np.argsort(probability.round(9), kind="stable")
    for rows in np.array_split(order, min(count, len(order))):
        hits = int(same[rows].sum())
        low, high = compute_clopper_pearson(hits, len(rows), 0.95)
        yield CalibrationBin(len(rows), float(probability[rows].mean()), hits / len(rows), low, high)


def compute_calibration_error(probability: Values, same: Labels, count: int = 10) -> float:
    """Mean distance of what was foretold from what came true, over bins of as many pairs (ECE)."""
    return sum(
        part.n * abs(part.foretold - part.came) for part in bin_pairs_by_probability(probability, same, count)
    ) / len(same)


def compute_clopper_pearson(hits: float, n: int, confidence: float) -> tuple[float, float]:
    """The interval of a share by Clopper and Pearson; `hits` may be an expected number.

    >>> low, high = compute_clopper_pearson(9, 10, 0.95)
    >>> round(low, 3), round(high, 3)
    (0.555, 0.997)
    """
    return compute_exact_share_bounds(hits, n, (1 - confidence) / 2)


def compute_exact_share_bounds(hits: float, n: int, alpha: float) -> tuple[float, float]:
    """The exact bounds of a share, of which each fails in at most `alpha` of samples."""
    low = float(beta.ppf(alpha, hits, n - hits + 1)) if hits else 0.0
    high = float(beta.ppf(1 - alpha, hits + 1, n - hits)) if hits < n else 1.0
    return low, high


def compute_probability_band(
    at: Values, scores: Values, same: Labels, confidence: float = 0.95
) -> tuple[Values, Values]:
    """Low and high ends (m,) of the probability at the scores `at` (m,).

    The probability at a score is at least that of the pairs that score less, and at most that of those that score more:
    each end is the exact bound of a fixed number of nearest ones. So each point alone holds its confidence for any
    curve that never falls, whatever was fitted. (A normal interval around the fitted curve held in 41% of draws where
    the truth has a kink, at n 800.)
    """
    n = len(scores)
    order = np.argsort(scores, kind="stable")
    ranked, right = scores[order], np.concatenate([[0], np.cumsum(same[order])])
    near = max(1, min(n, round(1.5 * n**0.5)))
    tail = (1 - confidence) / 2
    below, above = np.searchsorted(ranked, at, "right"), np.searchsorted(ranked, at, "left")
    low, high = np.zeros(len(at)), np.ones(len(at))
    hits = right[below] - right[(below - near).clip(0)]
    enough = (below >= near) & (hits > 0)
    # The exact bound of Clopper and Pearson.
    low[enough] = beta.ppf(tail, hits[enough], near - hits[enough] + 1)
    hits = right[(above + near).clip(None, n)] - right[above]
    enough = (above + near <= n) & (hits < near)
    high[enough] = beta.ppf(1 - tail, hits[enough] + 1, near - hits[enough])
    return low, high


Scores = NDArray[np.float64]

POWER = 0.8
"""How often the number of labels that is asked for would be enough."""
STEPS = 50
"""Thresholds that are tried, from the strictest to the laxest."""
NEAR = 0.9
"""Where the pairs below a start are right in so much of the aim, the test begins there; else at a stricter one."""
MOST_LABELS = 1_000_000
"""Above so many more labels no number is told."""
BANDS = 20
"""Draws by which the width of intervals is foretold."""


@dataclass(frozen=True)
class AcceptanceThreshold:
    """Accept what scores `value` or more. `value` is None where no threshold keeps the promise; then `labels` is about
    how many labels would do (None: no number, by the curve), `best` the highest precision of the curve,
    `most` what the pairs at the top may have at most, and `ahead` what more labels would buy: half of the interval of a
    probability, and the chance of a threshold.

    `n` are the labels, `accepted` how many of them the threshold accepts, `right` how many of these are the same;
    `positives` how many there are at all. `chance` is how often labels like these give a threshold: where it is small,
    one that was found is withheld, for those found by luck are mostly wrong.
    """

    measure: str
    aim: float
    confidence: float
    value: float | None
    n: int
    positives: int
    accepted: int = 0
    right: int = 0
    labels: int | None = None
    best: float | None = None
    most: float | None = None
    ahead: tuple[MoreLabelsOutlook, ...] = ()
    chance: float | None = None

    @property
    def is_threshold_withheld_as_lucky(self) -> bool:
        """Whether one was found, and luck is the likelier reason."""
        return self.value is None and self.chance is not None

    @property
    def sample_precision(self) -> float | None:
        """The precision in the sample; None where nothing is accepted."""
        return self.right / self.accepted if self.accepted else None

    @property
    def recall(self) -> float | None:
        """The recall in the sample; None where nothing should be accepted."""
        return self.right / self.positives if self.positives else None


def find_threshold_for_precision(
    scores: Scores, same: Labels, aim: float, confidence: float, rng: np.random.Generator
) -> AcceptanceThreshold:
    """The laxest threshold above which at least `aim` of all pairs are the same, with `confidence`.

    `scores` and `same` (n,) are of independent pairs; `rng` breaks ties. Each threshold tried is the score of a pair,
    which is itself left out of the count, so that the count is binomial.

    The test begins at a tenth of the pairs, or, where those below are poor, at a half, a quarter ... of that, down to
    as few as can show the aim: so positives may be rarer than a tenth. That choice costs no confidence. Let N be how
    many pairs score at least t, the score above which precision just is the aim: a promise is broken only where more
    are accepted, and the first such threshold tried has passed. Beyond a tenth N tells which that is. Up to a tenth it
    is a start, and which one N and labels below it tell, since a start is chosen by labels below it. Whatever these
    are, the N pairs above are right with the aim, and the rest with no more: it passes in at most 1 - confidence.
    """
    _check_aim(aim, confidence)
    n, alpha = len(scores), 1 - confidence
    # Equal scores in a drawn order: that of a file may tell the labels.
    order = np.lexsort((rng.permutation(n), -scores))
    ranked, right = scores[order], np.cumsum(same[order], dtype=np.int64)
    last = np.flatnonzero(np.append(ranked[1:] != ranked[:-1], True))  # of one score, all are accepted or none
    starts, later = _plan_accepted_pair_counts_to_test(n, aim, alpha)
    sizes = np.append(starts[_find_threshold_test_start(right, last, starts, aim) :], later)
    ends = last[np.searchsorted(last, sizes)]
    # The pair at place `ends` sets the threshold and is not counted: `ends` pairs lie before it.
    failed = np.flatnonzero(binom.sf(right[ends - 1] - 1, ends, aim) > alpha)
    # The first that fails ends the test: trying on would spend the confidence twice.
    kept = ends[: failed[0]] if len(failed) else ends
    threshold = AcceptanceThreshold("precision", aim, confidence, None, n, int(same.sum()))
    return _recount_threshold_at_value(threshold, float(ranked[kept[-1]]), scores, same) if len(kept) else threshold


LEAST_CHANCE = 0.3
"""How often labels like these have to give a threshold, or none is given. Of those given where fewer than 3 of 10
samples give one, a quarter were broken (17 of 65, of real pairs), and 3 of 8 stay; where more do, 3% are broken."""
TRIES = 100
"""Samples of labels by which that is found."""


def withhold_unlikely_threshold(
    threshold: AcceptanceThreshold, scores: Scores, probability: Values, rng: np.random.Generator
) -> AcceptanceThreshold:
    """A threshold of `find_threshold_for_precision` with the chance of one, withheld where it is below `LEAST_CHANCE`.

    The promise is broken in at most 1 - confidence of all samples of labels. Where hardly a sample gives a threshold,
    most of those given may be the broken ones. New samples have scores (n,) like these, and are the same with a
    `probability` (n,) by a smooth curve: the steps of another have the luck of this sample in them.
    """
    if threshold.value is None:
        return threshold
    given, n = 0, len(scores)
    for _ in range(TRIES):
        rows = rng.integers(0, n, n)
        same = rng.random(n) < probability[rows]
        given += (
            find_threshold_for_precision(scores[rows], same, threshold.aim, threshold.confidence, rng).value is not None
        )
    chance = given / TRIES
    if chance >= LEAST_CHANCE:
        return replace(threshold, chance=chance)
    return replace(threshold, value=None, accepted=0, right=0, chance=chance)


def _find_threshold_test_start(
    right: NDArray[np.int64], last: NDArray[np.int64], starts: NDArray[np.int64], aim: float
) -> int:
    """At which of the `starts` the test begins: the laxest below which as many pairs again are `NEAR` the aim. `right`
    (n,) counts from the highest score on, and scores end at the places `last`."""
    for start in range(len(starts) - 1, 0, -1):
        end, beyond = last[np.searchsorted(last, starts[start])], min(2 * starts[start], len(right) - 1)
        if beyond > end and right[beyond] - right[end] >= NEAR * aim * (beyond - end):
            return start
    return 0


def _plan_accepted_pair_counts_to_test(n: int, aim: float, alpha: float) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Where the test may begin, and what is tried after: how many pairs are accepted, from few to many; it depends on
    nothing but n."""
    starts = np.array(_list_pair_counts_for_first_threshold(n, aim, alpha), dtype=np.int64)
    if not len(starts):
        return starts, starts
    return starts, np.append(np.arange(starts[-1], n - 1, max(1, n // STEPS)), n - 1)[1:]


def _count_pairs_to_show_aim(aim: float, alpha: float) -> int:
    """Pairs that show the aim if all are right."""
    return math.ceil(math.log(alpha) / math.log(aim))


@lru_cache(maxsize=1_000)
def _list_pair_counts_for_first_threshold(n: int, aim: float, alpha: float) -> tuple[int, ...]:
    """Pairs that the first threshold may accept, of n, from few to many: as few as show the aim, and twice, four times
    ... as many, up to a tenth, where mistakes can be borne; of the sizes that bear as many the smallest, or some labels
    more would make the promise harder to keep. Empty where n are too few."""
    size, fewest = n // 10, _count_pairs_to_show_aim(aim, alpha)
    sizes = {fewest}
    while size > fewest:
        sizes.add(size)
        size //= 2
    allowed = set()
    for count in sizes:
        mistakes = count - 1 - int(binom.isf(alpha, count, aim))
        allowed.add(mistakes + 1 + int(nbinom.isf(alpha, mistakes + 1, 1 - aim)))
    return tuple(sorted(allowed)) if max(allowed) < n else ()


def find_threshold_for_recall(scores: Scores, same: Labels, aim: float, confidence: float) -> AcceptanceThreshold:
    """The strictest threshold that accepts at least `aim` of all that is the same, with `confidence`.

    `scores` and `same` (n,) are of independent pairs; no assumption on how the probability runs is needed.
    """
    _check_aim(aim, confidence)
    positives = np.sort(scores[same])
    missed = int(binom.ppf(1 - confidence, len(positives), 1 - aim))
    # The j-th smallest is safe where at least j of them fall below the true quantile with that confidence.
    while missed > 0 and binom.sf(missed - 1, len(positives), 1 - aim) < confidence:
        missed -= 1
    threshold = AcceptanceThreshold("recall", aim, confidence, None, len(scores), len(positives))
    if missed == 0:
        return threshold
    return _recount_threshold_at_value(threshold, float(positives[missed - 1]), scores, same)


@dataclass(frozen=True)
class CheapestThreshold:
    """Accept what scores `value` or more (None: accept nothing): mistakes cost `mean` per pair in the half that did not
    choose it, and at most `most` with the confidence; `always` and `never` are the costs of accepting all and nothing
    there."""

    value: float | None
    wrong: float
    missed: float
    confidence: float
    n: int
    mean: float
    most: float
    always: float
    never: float


def find_cheapest_threshold(
    scores: Scores, same: Labels, wrong: float, missed: float, confidence: float, rng: np.random.Generator
) -> CheapestThreshold:
    """The threshold at which mistakes cost least, chosen on half of the pairs; what they cost is told of the others.

    `wrong` is the cost of accepting what is not the same, `missed` that of refusing what is.
    """
    if wrong < 0 or missed < 0 or wrong + missed == 0:
        raise UsageError("A cost is negative, or both are 0.", mend="Write, for example, wrong=5,missed=1.")
    half = np.zeros(len(scores), dtype=bool)
    half[rng.permutation(len(scores))[: len(scores) // 2]] = True
    ranked = np.unique(scores[half])
    edges = np.append(ranked, np.inf)  # the last: accept nothing
    accepted_wrong = (~same[half] & (scores[half] >= edges[:, None])).sum(axis=1)
    refused = (same[half] & (scores[half] < edges[:, None])).sum(axis=1)
    # Of equal costs the lowest threshold.
    value = float(edges[np.argmin(wrong * accepted_wrong + missed * refused)])
    rest, right = scores[~half], same[~half]
    n = len(rest)
    mistakes = int((~right & (rest >= value)).sum()), int((right & (rest < value)).sum())
    # Two bounds hold together where each may fail half as often.
    alpha = (1 - confidence) / 2
    upper = [float(beta.ppf(1 - alpha, k + 1, n - k)) if k < n else 1.0 for k in mistakes]
    return CheapestThreshold(
        value if math.isfinite(value) else None, wrong, missed, confidence, n,
        (wrong * mistakes[0] + missed * mistakes[1]) / n, wrong * upper[0] + missed * upper[1],
        wrong * float((~right).mean()), missed * float(right.mean())
    )  # fmt: skip


def count_labels_for_chance(chance: Callable[[int], float]) -> int | None:
    """How many more labels there have to be for a `chance` (more labels -> share) of `POWER`; None above
    `MOST_LABELS`."""
    # Doubling finds a number that is enough, halving the smallest one.
    high = 1
    while chance(high) < POWER:
        high *= 2
        if high > MOST_LABELS:
            return None
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if chance(middle) >= POWER else (middle, high)
    return high


def count_fewest_pairs_to_accept(n: int, aim: float, confidence: float) -> int:
    """How many pairs, of n, a threshold has to accept at least: as many as show the aim if all are right, but no more
    than a tenth, for with many labels a tenth is enough.

    >>> count_fewest_pairs_to_accept(1_000, 0.9, 0.95), count_fewest_pairs_to_accept(84, 0.9, 0.95)
    (29, 9)
    """
    return min(_count_pairs_to_show_aim(aim, 1 - confidence), math.ceil(n / 10))


def compute_mean_probability_of_top_pairs(probability: Values, aim: float, confidence: float) -> float:
    """The mean probability of the pairs at the top, of those with a `probability` (n,): hardly a threshold that
    `find_threshold_for_precision` tries has a higher precision, with many labels."""
    n = len(probability)
    return float(np.sort(probability)[::-1][: count_fewest_pairs_to_accept(n, aim, confidence)].mean())


def make_recall_threshold_chance_function(
    positives: int, n: int, aim: float, confidence: float
) -> Callable[[int], float]:
    """The chance that `find_threshold_for_recall` finds a threshold, by how many labels there are beside the `n` of
    which `positives` are the same; as many of the new ones are taken to be."""
    # From so many positives on the lowest of them is a threshold.
    needed = math.ceil(math.log(1 - confidence) / math.log(aim))
    return lambda more: float(binom.sf(needed - positives - 1, more, positives / n))


class ThresholdChanceWithMoreLabels:
    """The chance that `find_threshold_for_precision` finds a threshold with some more labels beside those there are.

    It finds one where its first test is passed. `scores` and `same` (n,) are kept; new pairs have scores like them, and
    are the same with a `probability` (n,) that rises with the score: by a smooth curve, for a step of a few right pairs
    would promise too much.
    """

    def __init__(self, scores: Scores, same: Labels, probability: Values, aim: float, confidence: float) -> None:
        self._aim, self._alpha = aim, 1 - confidence
        order = np.argsort(-scores, kind="stable")
        ranked, n = scores[order], len(scores)
        self._right = np.append(0, np.cumsum(same[order]))
        self._sum = np.append(0.0, np.cumsum(probability[order]))
        # Of each place the first and last of its score, from 1 on.
        _, first, counts = np.unique(-ranked, return_index=True, return_counts=True)
        self._first, self._last = np.repeat(first, counts) + 1, np.repeat(first + counts, counts)
        self._n = n

    def __call__(self, more: int) -> float:
        """Over the starts, the laxest first: the chance that the test begins there, and that it passes."""
        total, unspent = 0.0, 1.0
        starts = _list_pair_counts_for_first_threshold(self._n + more, self._aim, self._alpha)
        for begin in reversed(starts):
            chance = self._compute_chance_to_reach_aim_from_start(begin, more) if begin > starts[0] else 1.0
            # A start that is hardly reached is not worth its sum.
            if unspent * chance > 1e-6:
                total += unspent * chance * self._compute_threshold_pass_chance(begin, more)
            unspent *= 1 - chance
        return total

    def _compute_chance_to_reach_aim_from_start(self, begin: int, more: int) -> float:
        """The chance that pairs below a start, as many again, are near enough to the aim."""
        n = self._n
        ends = np.array([begin, min(2 * begin, n + more)]) / (n + more)
        old = np.rint(ends * n).astype(np.int64)
        right, size = (int(self._right[old[1]] - self._right[old[0]]), round((n + more) * (ends[1] - ends[0])))
        mean = float(np.diff(np.interp(ends, np.arange(n + 1) / n, self._sum / n))[0] / (ends[1] - ends[0]))
        missing = math.ceil(NEAR * self._aim * size) - right
        return float(binom.sf(missing - 1, max(size - int(old[1] - old[0]), 0), min(mean, 1.0)))

    def _compute_threshold_pass_chance(self, begin: int, more: int) -> float:
        """Compute the chance that the first pairs accepted pass, by how many kept ones are among them."""
        n = self._n
        counts = np.arange(min(n, begin) + 1)
        # At least j kept ones are among the first, where at most begin - j new ones score more than the j-th.
        least = np.append(binom.cdf(begin - counts[1:], more, (counts[1:] - 0.5) / n), 0.0)
        odds = np.append(1.0, least[:-1]) - least
        # The tails of the sum are below any digit that is shown.
        counts, odds = counts[odds > 1e-9], odds[odds > 1e-9]
        share = np.clip((begin - counts) / max(more, 1), (counts - 0.5).clip(0) / n, (counts + 0.5).clip(None, n) / n)
        accepted, old, share = self._count_accepted_pairs_with_ties(begin, more, counts, share)
        new = accepted - old
        precision = np.interp(share, np.arange(n + 1) / n, self._sum / n) / share.clip(1e-12)
        missing = binom.isf(self._alpha, accepted, self._aim) + 1 - self._right[old]
        return float(odds @ binom.sf(missing - 1, new, precision.clip(0, 1)))

    def _count_accepted_pairs_with_ties(
        self, begin: int, more: int, kept: NDArray[np.int64], share: Values
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], Values]:
        """How many pairs are accepted, how many kept ones are among them, and down to which share of all pairs: with
        all of the score at which the first `begin` end, apart from one."""
        n = self._n
        rank = np.ceil(share * n).astype(np.int64).clip(1, n) - 1
        tied = self._last[rank] > self._first[rank]
        end = np.where(tied, self._last[rank] / n, share)
        new = begin - kept
        beyond = np.where(tied, (more - new) * (end - share) / (1 - share).clip(1e-12), 0.0)
        old = np.where(tied, self._last[rank].clip(kept), kept)
        accepted = np.where(tied, np.rint(old + new + beyond).astype(np.int64) - 1, begin).clip(begin)
        return accepted, np.minimum(old, accepted), end


def compute_mean_band_half_width(scores: Scores, probability: Values, n: int, rng: np.random.Generator) -> float:
    """Half of the interval of a probability, as `compute_probability_band` would have it of `n` labels: the mean over
    the pairs (m,), whose scores and fitted probabilities are drawn from."""
    at, total = np.quantile(scores, (np.arange(GRID) + 0.5) / GRID), 0.0
    for _ in range(BANDS):
        # Scores first, then labels: the order decides what a seed gives.
        rows = rng.integers(0, len(scores), n)
        low, high = compute_probability_band(at, scores[rows], rng.random(n) < probability[rows])
        total += float((high - low).mean()) / 2
    return total / BANDS


def _recount_threshold_at_value(
    threshold: AcceptanceThreshold, value: float, scores: Scores, same: Labels
) -> AcceptanceThreshold:
    accepted = scores >= value
    return replace(threshold, value=value, accepted=int(accepted.sum()), right=int((accepted & same).sum()))


def _check_aim(aim: float, confidence: float) -> None:
    for name, value in (("aim", aim), ("confidence", confidence)):
        if not 0 < value < 1:
            raise UsageError(f"The {name} is {value:g}.", mend="Use a share between 0 and 1, such as 0.9.")
