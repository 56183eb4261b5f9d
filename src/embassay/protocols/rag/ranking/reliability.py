"""What the answers of a judge say of the judge itself, whatever engine asked for them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from math import lgamma
from statistics import median

import numpy as np
from numpy.typing import NDArray

from embassay.errors import UsageError
from embassay.protocols.rag.ranking.engines import JudgeOrderAnswer, PoolPassage, convert_grades_to_scores
from embassay.randomness import make_seeded_generator
from embassay.stats import Estimate, percentile_interval, resample_means
from embassay.stats.resampling import draw_all_resample_rows


@dataclass(frozen=True)
class RepeatedOrderAgreement:
    """Of R orders of one pool, the means over pairs of them: `discordance`, the share of pairs of candidates that one
    puts the other way (0 to 1, the source reports .03 to .05), and `overlap`, the share of the first `top` that both
    have. `tau` is the mean of Kendall's tau with a reference order, None where there is none. Per order: `calls` of
    the judge, `passages` that it read in them, and `tokens` where they were counted."""

    runs: int
    discordance: float
    overlap: float
    tau: float | None = None
    calls: float = 0.0
    passages: float = 0.0
    tokens: float | None = None


def compare_repeated_orders(
    orders: Sequence[Sequence[int]],
    *,
    top: int = 20,
    reference: Sequence[int] | None = None,
    shown: Sequence[Sequence[int]] = (),
    tokens: Sequence[float] = (),
) -> RepeatedOrderAgreement:
    """Compare orders of one pool, each a permutation of the same positions, best first.

    `shown[r]` are the sizes of the batches that run r had judged, `tokens[r]` what they came to. Raises UsageError for
    fewer than two orders, or for ones that are not of the same positions.

    >>> compare_repeated_orders([(0, 1, 2, 3), (3, 2, 1, 0)], top=2).discordance
    1.0
    """
    if len(orders) < 2 or any(sorted(order) != list(range(len(orders[0]))) for order in orders):
        raise UsageError(
            f"{len(orders)} orders cannot be compared.", mend="Give at least two orders of the same positions."
        )
    places = [_invert_order(order) for order in orders]
    size = min(top, len(orders[0]))
    discordances, overlaps = [], []
    for a, b in combinations(range(len(orders)), 2):
        # (1 - tau) / 2 is the share of pairs that the two orders put the other way round.
        discordances.append((1 - _compute_kendall_tau_without_ties(places[a], places[b])) / 2)
        overlaps.append(len(set(orders[a][:size]) & set(orders[b][:size])) / size if size else 1.0)
    tau = None
    if reference is not None:
        tau = float(np.mean([_compute_kendall_tau_without_ties(_invert_order(reference), order) for order in places]))
    return RepeatedOrderAgreement(
        len(orders),
        float(np.mean(discordances)),
        float(np.mean(overlaps)),
        tau,
        mean_or_none([len(batches) for batches in shown]) or 0.0,
        mean_or_none([sum(batches) for batches in shown]) or 0.0,
        mean_or_none(tokens),
    )


def _invert_order(order: Sequence[int]) -> NDArray[np.int64]:
    places = np.empty(len(order), dtype=np.int64)
    places[list(order)] = np.arange(len(order))
    return places


def _compute_kendall_tau_without_ties(first: NDArray[np.int64], second: NDArray[np.int64]) -> float:
    """Kendall's tau of two orders without ties; 1 for fewer than two items."""
    n = len(first)
    if n < 2:
        return 1.0
    agree = np.sign(first[:, None] - first) * np.sign(second[:, None] - second)
    return float(agree.sum() / (n * (n - 1)))


def mean_or_none(values: Sequence[float]) -> float | None:
    """Compute the mean of the values; None where there are none."""
    return float(np.mean(values)) if len(values) else None


RESAMPLES = 2000
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class QueryOrderAnswers:
    """A query's candidates and all answers about them."""

    candidates: tuple[PoolPassage, ...]
    calls: tuple[JudgeOrderAnswer, ...]

    def count_pairwise_wins(self) -> NDArray[np.int64]:
        """How often candidate i was put before candidate j, (n, n)."""
        wins = np.zeros((len(self.candidates), len(self.candidates)), dtype=np.int64)
        for call in self.calls:
            order = np.array(call.order, dtype=np.intp)
            above, below = np.triu_indices(len(order), 1)
            wins[order[above], order[below]] += 1
        return wins


def bootstrap_over_queries(
    columns: Sequence[Sequence[float]], statistic: Callable[[Floats], Floats], n: int, name: str, seed: int
) -> Estimate:
    """Bootstrap a smooth function of column sums (queries, columns) by resampling queries (rows).

    `statistic` maps means of columns (..., columns) to values (...); `n` is the number of items behind the estimate.
    """
    rows = np.asarray(columns, dtype=np.float64)
    value = float(statistic(rows.mean(axis=0)))
    if len(rows) < 2:
        return Estimate(value, n=n, method="no interval from one query")
    rng = make_seeded_generator(seed, "ranking report", name)
    replicates = np.asarray(statistic(resample_means(rows, n_resamples=RESAMPLES, rng=rng)))
    return Estimate(value, *percentile_interval(replicates), n, "bootstrap over queries")


def divide_first_by_second_column(columns: Floats) -> Floats:
    """The first column over the second, (..., 2) -> (...); NaN where the second is 0."""
    above, below = columns[..., 0], columns[..., 1]
    return np.asarray(np.divide(above, below, out=np.full(np.shape(below), np.nan), where=below > 0))


@dataclass(frozen=True)
class JudgeConsistency:
    """Of `pairs` shown together twice or more, `contradicted` were put both ways: `share` of them. Of `triads`, three
    candidates each pair of which was shown and has a majority, `circles` go round (a over b over c over a): `circular`
    is their share. Both shares are 0 for a judge without noise, and None where there is nothing to count.

    Engines show together what is hard to tell apart, so a share compares judges within one engine only.
    """

    pairs: int
    contradicted: int
    share: Estimate | None
    triads: int
    circles: int
    circular: Estimate | None


def count_contradictions_and_circles(queries: Sequence[QueryOrderAnswers], *, seed: int = 0) -> JudgeConsistency:
    """Count contradicted pairs and circular triads over all queries; intervals resample queries."""
    pairs, triads = [], []
    for query in queries:
        wins = query.count_pairwise_wins()
        pairs.append(_count_contradicted_and_repeated_pairs(wins))
        triads.append(_count_circular_and_decided_triads(wins))
    counts = [(sum(bad for bad, _ in rows), sum(all_ for _, all_ in rows), rows) for rows in (pairs, triads)]
    estimates = [
        bootstrap_over_queries(rows, divide_first_by_second_column, total, name, seed) if total else None
        for (_, total, rows), name in zip(counts, ("pairs", "triads"), strict=True)
    ]
    (contradicted, repeated, _), (circles, complete, _) = counts
    return JudgeConsistency(repeated, contradicted, estimates[0], complete, circles, estimates[1])


def _count_contradicted_and_repeated_pairs(wins: NDArray[np.int64]) -> tuple[int, int]:
    """Pairs put both ways, and pairs shown together twice or more."""
    upper = np.triu_indices(len(wins), 1)
    ahead, behind = wins[upper], wins.T[upper]
    return int(np.count_nonzero((ahead > 0) & (behind > 0))), int(np.count_nonzero(ahead + behind > 1))


def _count_circular_and_decided_triads(wins: NDArray[np.int64]) -> tuple[int, int]:
    """Threes of candidates that go round, and threes of which every pair has a majority."""
    over = (wins > wins.T).astype(np.int64)
    either = over + over.T
    return int(np.trace(over @ over @ over)) // 3, int(np.trace(either @ either @ either)) // 6


@dataclass(frozen=True)
class CandidateExposureSummary:
    """Times that a candidate was shown, over those of all queries: the least, the median, the most; and how many were
    `never` shown: their place is by grade alone."""

    least: int
    median: float
    most: int
    never: int


def count_candidate_exposure(queries: Sequence[QueryOrderAnswers]) -> CandidateExposureSummary | None:
    """Count how often candidates were shown; None where there is no candidate."""
    counts: list[int] = []
    for query in queries:
        shown = [0] * len(query.candidates)
        for call in query.calls:
            for position in call.shown:
                shown[position] += 1
        counts += shown
    return (
        CandidateExposureSummary(min(counts), float(median(counts)), max(counts), counts.count(0)) if counts else None
    )


Orders = NDArray[np.int64]
_STEPS, _HALVINGS, _NEAR = 40, 12, 1e-3


@dataclass(frozen=True)
class GaussianPosteriors:
    """Gaussian posteriors: `modes` (points, n) and precision matrices (points, n, n)."""

    modes: Floats
    precisions: Floats

    def draws(self, normal: Floats) -> Floats:
        """Draw scores (points, draws, n) by standard normal numbers (draws, n)."""
        lower = np.linalg.cholesky(self.precisions)
        spread = np.linalg.solve(np.swapaxes(lower, 1, 2), np.broadcast_to(normal.T, (len(lower), *normal.T.shape)))
        return np.asarray(self.modes[:, None, :] + np.swapaxes(spread, 1, 2))


def compute_answer_log_likelihoods(scores: Floats, orders: Orders) -> Floats:
    """The log probability of each answer (calls, m), best first, at scores (..., n): (..., calls)."""
    shown = scores[..., orders]
    return np.asarray((shown - _compute_suffix_log_sum_exps(shown)).sum(axis=-1))


def fit_item_score_posteriors(orders: Orders, means: Floats, precisions: Floats) -> GaussianPosteriors:
    """The posteriors of scores given answers (calls, m), for priors N(means, 1 / precisions): (points, n), (points,).

    By Newton's method; a step that makes things worse is halved. The posterior is concave, so there is one mode.
    """
    modes = means.copy()
    value = _compute_log_posterior(modes, orders, means, precisions)
    for _ in range(_STEPS):
        gradient, curvature = _compute_posterior_gradient_and_hessian(modes, orders, means, precisions)
        step = np.linalg.solve(curvature, gradient[..., None])[..., 0]
        size = np.ones(len(modes))
        for _ in range(_HALVINGS):
            tried = _compute_log_posterior(modes + size[:, None] * step, orders, means, precisions)
            # Near the mode a step changes the value by rounding only, which is not worse.
            worse = tried < value - 1e-9 * np.abs(value)
            if not worse.any():
                break
            size[worse] /= 2
        # Halved to the end and still worse: this point stays where it is.
        size[worse] = 0
        modes = modes + size[:, None] * step
        value = np.where(worse, value, tried)
        if np.abs(size[:, None] * step).max() < _NEAR:
            break
    return GaussianPosteriors(modes, _compute_posterior_gradient_and_hessian(modes, orders, means, precisions)[1])


def _compute_log_posterior(scores: Floats, orders: Orders, means: Floats, precisions: Floats) -> Floats:
    prior = 0.5 * precisions * ((scores - means) ** 2).sum(axis=1)
    return np.asarray(compute_answer_log_likelihoods(scores, orders).sum(axis=-1) - prior)


def _compute_posterior_gradient_and_hessian(
    scores: Floats, orders: Orders, means: Floats, precisions: Floats
) -> tuple[Floats, Floats]:
    """Gradient (points, n) and negative Hessian (points, n, n) of the log posterior."""
    points, n = scores.shape
    m = orders.shape[1]
    shown = scores[:, orders]
    # share[k, j]: the chance of the j-th to be the best of those from the k-th on.
    share = np.exp(np.minimum(shown[..., None, :] - _compute_suffix_log_sum_exps(shown)[..., None], 0.0)) * np.triu(
        np.ones((m, m))
    )
    total = share.sum(axis=-2)
    bends = -np.swapaxes(share, -1, -2) @ share
    bends[..., np.arange(m), np.arange(m)] += total
    pairs = (orders[:, :, None] * n + orders[:, None, :]).ravel()
    curvature = np.array([np.bincount(pairs, bend.ravel(), n * n) for bend in bends]).reshape(points, n, n)
    curvature[:, np.arange(n), np.arange(n)] += precisions[:, None]
    pulls = np.array([np.bincount(orders.ravel(), pull.ravel(), n) for pull in 1 - total])
    return pulls - precisions[:, None] * (scores - means), curvature


def _compute_suffix_log_sum_exps(scores: Floats) -> Floats:
    """log sum exp of each suffix of the last axis, from the tail."""
    sums = scores.copy()
    for k in range(scores.shape[-1] - 2, -1, -1):
        sums[..., k] = np.logaddexp(sums[..., k], sums[..., k + 1])
    return sums


SHARPNESS: Floats = 0.5 * 2 ** (np.arange(14) / 2)
"""One standard deviation of utility in units of the judge's Gumbel noise: from hardly any order to hardly any noise."""
RELIABILITY: Floats = np.array([0.4, 0.85])
"""Correlations of grade and utility that are tried."""
RANDOM = 0.02
"""Share of answers that are thought to be any order at all."""
FOLDS, DRAWS = 5, 64
LEAST_CALLS, MOST_QUERIES = 10, 60


def estimate_judge_noise(queries: Sequence[QueryOrderAnswers], *, seed: int = 0) -> Estimate | None:
    """The share of all pairs of a pool that one answer of the judge would put against its own order without noise,
    whatever engine asked; None where no query has 10 answers to batches of one size.

    The sharpness of the judge is the one at which Plackett-Luce predicts answers best from the others of their query
    (by the posterior of scores with a prior by grades, in five folds), over all queries; the share is what it makes of
    pairs at scores that are probable then. The interval resamples queries, of which 60 are drawn where there are more.
    Only noise that is drawn anew in every answer shows: what a judge always gets wrong counts as its own order.
    """
    chosen = _sample_answered_queries(queries, seed)
    if not chosen:
        return None
    rng = make_seeded_generator(seed, "ranking report", "noise")
    logs, shares = map(np.array, zip(*(_score_held_out_answers_over_grid(query, rng) for query in chosen), strict=True))
    value = _interpolate_share_at_best_likelihood(logs.sum(axis=0), shares.mean(axis=0))
    if len(chosen) == 1:
        return Estimate(value, n=1, method="no interval from one query")
    rows = draw_all_resample_rows(len(chosen), RESAMPLES, rng)
    replicates = [
        _interpolate_share_at_best_likelihood(logs[row].sum(axis=0), shares[row].mean(axis=0)) for row in rows
    ]
    return Estimate(value, *percentile_interval(replicates), len(chosen), "bootstrap over queries")


def _sample_answered_queries(queries: Sequence[QueryOrderAnswers], seed: int) -> list[QueryOrderAnswers]:
    """The queries with enough answers, all of one size; 60 at most."""
    fits = [
        query
        for query in queries
        if len(query.calls) >= LEAST_CALLS and len({len(call.shown) for call in query.calls}) == 1
    ]
    if len(fits) <= MOST_QUERIES:
        return fits
    chosen = make_seeded_generator(seed, "ranking report", "noise queries").permutation(len(fits))[:MOST_QUERIES]
    return [fits[i] for i in sorted(chosen)]


def _score_held_out_answers_over_grid(query: QueryOrderAnswers, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """For every point of the grid (reliability, sharpness): the log probability of answers predicted from the others,
    and the share of pairs misordered, both of that shape."""
    orders = np.array([call.order for call in query.calls], dtype=np.int64)
    means, precisions = _make_prior_from_grades(query)
    shape, n = (len(RELIABILITY), len(SHARPNESS)), len(query.candidates)
    normal = rng.standard_normal((DRAWS, n))
    # In turn and not in blocks: early and late answers are asked about other passages.
    fold = np.arange(len(orders)) % FOLDS
    logs = np.zeros(means.shape[0])
    for number in range(FOLDS):
        scores = fit_item_score_posteriors(orders[fold != number], means, precisions).draws(normal)
        logs += _compute_log_prediction(scores, orders[fold == number])
    scores = fit_item_score_posteriors(orders, means, precisions).draws(normal)
    above, below = np.triu_indices(n, 1)
    gaps = np.abs(scores[..., above] - scores[..., below])
    shares = (1 / (1 + np.exp(np.minimum(gaps, 700.0)))).mean(axis=(1, 2))
    return logs.reshape(shape), shares.reshape(shape)


def _make_prior_from_grades(query: QueryOrderAnswers) -> tuple[Floats, Floats]:
    """Means (points, n) and precisions (points,) of the scores by the grades."""
    grades = np.array(convert_grades_to_scores(query.candidates))
    spread = grades.std()
    standard = (grades - grades.mean()) / spread if spread > 0 else np.zeros(len(grades))
    reliability, sharpness = (axis.ravel() for axis in np.meshgrid(RELIABILITY, SHARPNESS, indexing="ij"))
    trusted = reliability if spread > 0 else 0 * reliability
    return np.outer(sharpness * trusted, standard), 1 / (sharpness**2 * (1 - trusted**2))


def _compute_log_prediction(scores: Floats, orders: NDArray[np.int64]) -> Floats:
    """The log probability of answers (calls, m), each the mean over draws of scores (points, draws, n): (points,)."""
    by_draw = np.exp(compute_answer_log_likelihoods(scores, orders))
    # An answer at random has the probability 1 / m!.
    random = RANDOM / np.exp(lgamma(orders.shape[1] + 1))
    return np.asarray(np.log((1 - RANDOM) * by_draw.mean(axis=1) + random).sum(axis=-1))


def _interpolate_share_at_best_likelihood(logs: Floats, shares: Floats) -> float:
    """The share at the best of `said`, both (reliability, sharpness); between points by a parabola."""
    row, best = np.unravel_index(int(logs.argmax()), logs.shape)
    if not 0 < best < logs.shape[1] - 1:
        return float(shares[row, best])
    # The vertex of the parabola through the best point and its two neighbours.
    left, middle, right = logs[row, best - 1 : best + 2]
    bend = left - 2 * middle + right
    shift = 0.5 * (left - right) / bend if bend < 0 else 0.0
    return float(np.exp(np.interp(best + shift, np.arange(logs.shape[1]), np.log(shares[row]))))


@dataclass(frozen=True)
class ShownPlaceGains:
    """By how many places of the answer a passage does better (above 0) than the grades have it, by the place at which
    it is shown: `gains` of the first place, the second ...; they sum to 0. `lift` is what the first place gains over
    the last along the straight line through all: 0 for a judge that does not care. Over `calls` of `batch` passages.

    A bias shows only where the order shown is random, as `locks` and `bayes` have it.
    """

    batch: int
    calls: int
    gains: tuple[Estimate, ...]
    lift: Estimate


def estimate_place_gains(queries: Sequence[QueryOrderAnswers], *, seed: int = 0) -> ShownPlaceGains | None:
    """Estimate the gains from the answers to batches of the commonest size; None where there are no answers, or where
    most of them show passages by fusion rank or by grade: then a place says something of what stands there.

    Intervals resample queries; those of a single query its answers.
    """
    sizes = Counter(len(call.shown) for query in queries for call in query.calls)
    if not sizes:
        return None
    batch = max(sizes, key=lambda size: (sizes[size], size))
    sorted_ = [
        _are_passages_shown_by_rank_or_grade(call, query.candidates) for query in queries for call in query.calls
    ]
    if 2 * sum(sorted_) > len(sorted_):
        return None
    by_query = [
        [_compute_place_gains_of_shown_passages(call, scores) for call in query.calls if len(call.shown) == batch]
        for query in queries
        for scores in [np.array(convert_grades_to_scores(query.candidates))]
    ]
    groups = by_query if len(queries) > 1 else [[gains] for gains in by_query[0]]
    rows = [[*np.sum(gains, axis=0), len(gains)] for gains in groups if gains]
    calls = sizes[batch]
    weights = [*np.eye(batch), _make_slope_weights(batch)]
    *gains, lift = (
        bootstrap_over_queries(
            rows, partial(_compute_weighted_gain_per_answer, weights=weight), calls, f"place {place}", seed
        )
        for place, weight in enumerate(weights)
    )
    return ShownPlaceGains(batch, calls, tuple(gains), lift)


def _compute_weighted_gain_per_answer(means: Floats, weights: Floats) -> Floats:
    """A weighted sum of the gains per answer, (..., batch + 1) -> (...); the last column counts answers."""
    return np.asarray(means[..., :-1] @ weights / means[..., -1])


def _are_passages_shown_by_rank_or_grade(call: JudgeOrderAnswer, candidates: Sequence[PoolPassage]) -> bool:
    """Whether passages were shown by fusion rank, or from the best grade to the worst."""
    ranks = [candidates[position].rank for position in call.shown]
    grades = [candidates[position].grade for position in call.shown]
    graded = [grade for grade in grades if grade is not None]
    varied = len(graded) == len(grades) and len(set(graded)) > 1
    return ranks == sorted(ranks) or (varied and graded == sorted(graded, reverse=True))


def _compute_place_gains_of_shown_passages(call: JudgeOrderAnswer, scores: Floats) -> Floats:
    """What each passage shown gains over its expected place, in the order shown, (batch,)."""
    shown = scores[list(call.shown)]
    above, below = shown[None, :] > shown[:, None], shown[None, :] < shown[:, None]
    expected = (above.sum(axis=1) + len(shown) - 1 - below.sum(axis=1)) / 2
    place = {position: number for number, position in enumerate(call.order)}
    return np.asarray(expected - np.array([place[position] for position in call.shown]))


def _make_slope_weights(batch: int) -> Floats:
    """Weights (batch,) that make of gains what a straight line through them falls from the first place to the last."""
    centred = (batch - 1) / 2 - np.arange(batch)
    return np.asarray(centred * (batch - 1) / max(1.0, float(centred @ centred)))


def list_notes_on_judge_position_bias(queries: Sequence[QueryOrderAnswers], *, seed: int = 0) -> tuple[str, ...]:
    """A sentence each on favour for a place, circles of three and how often passages were shown; none of these where
    nothing was judged."""
    if not any(query.calls for query in queries):
        return ()
    notes = (
        _describe_position_bias(estimate_place_gains(queries, seed=seed)),
        _describe_circular_triads(count_contradictions_and_circles(queries, seed=seed)),
        _note_passage_exposure(count_candidate_exposure(queries)),
    )
    return tuple(note for note in notes if note)


def _describe_position_bias(places: ShownPlaceGains | None) -> str:
    if places is None or places.lift.low is None:
        return ""
    lift, (low, high) = places.lift.point, places.lift.ends
    if places.lift.contains(0):
        verdict = "No position bias is detected"
    else:
        verdict = f"The judge favours passages shown {'first' if lift > 0 else 'last'}"
    return (
        f"{verdict}: passages shown first rank {lift:+.2f} places better than those shown last "
        f"[{low:+.2f}, {high:+.2f}]."
    )


def _describe_circular_triads(counts: JudgeConsistency) -> str:
    if not counts.circles:
        return ""
    return (
        f"In {counts.circles:,} of {counts.triads:,} triples of passages, the answers form a cycle "
        f"({counts.circles / counts.triads:.1%})."
    )


def _note_passage_exposure(shown: CandidateExposureSummary | None) -> str:
    if shown is None:
        return ""
    never = f"; {shown.never:,} were never shown and are ranked by grade" if shown.never else ""
    return f"Passages were shown {shown.least} to {shown.most} times (median {shown.median:g}){never}."
