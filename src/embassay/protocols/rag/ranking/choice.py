"""Which windows of an order to have judged next, by what their answers should tell, and what may be claimed of it.

For windows of up to `LISTED` candidates every answer is listed. A set of m has 2^m subsets, and whichever order is
answered, its probability is a product of choices "i, first of the subset that is left": so the choices are computed
once per subset, the probabilities of all orders come from them as a tree, and the entropy of the order and its Fisher
information are sums over subsets, weighted by how probable it is that just they are left. All this is exact given the
scores; only the scores are drawn. For longer windows see `bound_log_det_information`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import permutations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from embassay.machine import compile_with_numba_on_first_call
from embassay.protocols.rag.ranking.posterior import Floats, Positions, RankingPosteriorMixturePoint

LISTED = 5
"""The longest window whose orders are listed; six would have 720 of them."""
FISHER_EVERY = 4
"""Of the draws, one in so many is used for the Fisher information, which varies little from draw to draw."""
LOWEST = -600.0
"""Scores this far below the best of their window count as no lower: exp() stays above zero."""


class OrderChoiceTree(NamedTuple):
    """Orders of m items as a tree of choices, level by level: the node a node continues (-1: none), and what is chosen
    at it as subset * m + item. The last m! nodes are the orders, without their last item."""

    parents: Positions
    choices: Positions


@lru_cache
def build_permutation_choice_tree(m: int) -> OrderChoiceTree:
    """The tree for m items; subsets are bit masks of what is left before the choice."""
    nodes: dict[tuple[int, ...], int] = {}
    parents: list[int] = []
    choices: list[int] = []
    for length in range(1, m):
        for chosen in permutations(range(m), length):
            left = (1 << m) - 1 - sum(1 << item for item in chosen[:-1])
            nodes[chosen] = len(parents)
            parents.append(nodes.get(chosen[:-1], -1))
            choices.append(left * m + chosen[-1])
    return OrderChoiceTree(np.array(parents, dtype=np.int64), np.array(choices, dtype=np.int64))


def measure_window_and_fisher_information(scores: Floats, windows: Positions) -> tuple[Floats, Floats]:
    """Mutual information (windows,) in nats of the answers to `windows` (windows, m) with the scores, of which
    `scores` (draws, n) are draws, and the Fisher information (windows, m, m) of an answer, its mean over draws."""
    tree = build_permutation_choice_tree(windows.shape[1])
    information, fisher = _sum_window_and_fisher_information(scores, windows, tree.parents, tree.choices)
    return information, fisher / len(scores[::FISHER_EVERY])


@compile_with_numba_on_first_call
def _sum_window_and_fisher_information(
    scores: Floats, windows: Positions, parents: Positions, choices: Positions
) -> tuple[Floats, Floats]:
    """As `measure_window_and_fisher_information`, but the Fisher information is a sum."""
    count, m = windows.shape
    draws, subsets = len(scores), 1 << m
    orders = round(math.gamma(m + 1.0))
    information, fisher = np.zeros(count), np.zeros((count, m, m))
    share, reached = np.empty((subsets, m)), np.empty(subsets)
    node, mean, score = np.empty(len(parents)), np.empty(orders), np.empty(m)
    first_order = len(parents) - orders
    for window in range(count):
        within = 0.0
        for order in range(orders):
            mean[order] = 0.0
        for draw in range(draws):
            for i in range(m):
                score[i] = scores[draw, windows[window, i]]
            within += _fill_subset_chances_and_get_entropy(score, share, reached)
            if draw % FISHER_EVERY == 0:
                _add_fisher(share, reached, fisher[window])
            # The chance of a node is its own choice's times its parent's, which comes before it.
            for at in range(len(parents)):
                before = parents[at]
                node[at] = share[choices[at] // m, choices[at] % m] * (node[before] if before >= 0 else 1.0)
            for order in range(orders):
                mean[order] += node[first_order + order]
        entropy = 0.0
        for order in range(orders):
            probability = mean[order] / draws
            if probability > 0.0:
                entropy -= probability * math.log(probability)
        information[window] = max(0.0, entropy - within / draws)
    return information, fisher


@compile_with_numba_on_first_call
def _fill_subset_chances_and_get_entropy(score: Floats, share: Floats, reached: Floats) -> float:
    """Write the chance of each item to be first of each subset, and of each subset to be what is left at some time;
    return the entropy of an answer in nats."""
    m = len(score)
    full = len(reached) - 1
    best = score[0]
    for i in range(1, m):
        best = max(best, score[i])
    weight = np.empty(m)
    for i in range(m):
        # Less the best score: exp cannot overflow.
        score[i] = max(score[i] - best, LOWEST)
        weight[i] = math.exp(score[i])
    for subset in range(full):
        reached[subset] = 0.0
    reached[full] = 1.0
    entropy = 0.0
    # From the full set down: a subset is complete before it passes its chance on.
    for subset in range(full, 0, -1):
        total, weighted = 0.0, 0.0
        for i in range(m):
            if subset >> i & 1:
                total += weight[i]
                weighted += weight[i] * score[i]
        chance = reached[subset]
        # The entropy -sum p log p, where p is weight / total and score is log weight.
        entropy += chance * (math.log(total) - weighted / total)
        for i in range(m):
            if subset >> i & 1:
                share[subset, i] = weight[i] / total
                reached[subset - (1 << i)] += chance * share[subset, i]
            else:
                share[subset, i] = 0.0
    return entropy


@compile_with_numba_on_first_call
def _add_fisher(share: Floats, reached: Floats, fisher: Floats) -> None:
    """Add the Fisher information of an answer: of each choice among a subset, as often as it has to be made."""
    m = len(fisher)
    for subset in range(1, len(reached)):
        chance, row = reached[subset], share[subset]
        for i in range(m):
            mass = chance * row[i]
            fisher[i, i] += mass
            for j in range(m):
                fisher[i, j] -= mass * row[j]


@compile_with_numba_on_first_call
def sample_fisher_information(scores: Floats, windows: Positions, noise: Floats) -> Floats:
    """As the Fisher information of `measure_window_and_fisher_information`, from one simulated answer per draw:
    `noise` (draws, m) is standard Gumbel, and scores with such noise, put in order, are a Plackett-Luce answer."""
    count, m = windows.shape
    fisher = np.zeros((count, m, m))
    score, weight = np.empty(m), np.empty(m)
    for window in range(count):
        for draw in range(len(scores)):
            for i in range(m):
                score[i] = scores[draw, windows[window, i]]
            order = np.argsort(-(score + noise[draw]))
            best = score.max()
            for i in range(m):
                weight[i] = math.exp(max(score[i] - best, LOWEST))
            total = 0.0
            # From the last stage to the first, so that what is left grows by one weight at a time.
            for k in range(m - 1, -1, -1):
                total += weight[order[k]]
                for i in range(k, m):
                    mine = weight[order[i]] / total
                    fisher[window, order[i], order[i]] += mine
                    for j in range(k, m):
                        fisher[window, order[i], order[j]] -= mine * weight[order[j]] / total
    return fisher / len(scores)


def bound_log_det_information(fisher: Floats, covariance: Floats) -> Floats:
    """1/2 log |I + F S|, the information (windows,) of Gaussian answers with Fisher information F (windows, m, m) about
    scores with covariance S (windows, m, m), bent so that it stays below log m!, which no order can exceed."""
    m = fisher.shape[1]
    linear = 0.5 * np.linalg.slogdet(np.eye(m) + fisher @ covariance)[1]
    most = math.lgamma(m + 1)
    return np.asarray(most * -np.expm1(-linear / most), dtype=np.float64)


def list_neighbour_windows(order: NDArray[np.intp], m: int) -> Positions:
    """All windows of m neighbours in an order (n,), as positions (n - m + 1, m)."""
    return np.lib.stride_tricks.sliding_window_view(order.astype(np.int64), m).copy()


@dataclass(frozen=True)
class ExpectedOrderAgreement:
    """Expected Kendall tau of the order with the judge's own, expected share of the top set that is right, and the
    probabilities that at most 0, 1 and 2 of its members are wrong."""

    tau: float
    overlap: float
    set_errors_at_most_0: float
    set_errors_at_most_1: float
    set_errors_at_most_2: float

    def as_dict(self) -> Mapping[str, float]:
        """By name, as a `CandidateRanking` carries them."""
        return dict(vars(self))


def estimate_agreement_of_draws_with_order(scores: Floats, order: NDArray[np.intp], top: int) -> ExpectedOrderAgreement:
    """What draws of the scores (draws, n) say of `order` (n,) and the set of its first `top`."""
    n, draws = len(order), len(scores)
    size = min(top, n)
    drawn = np.ascontiguousarray(scores[:, order])
    wrong = size - np.count_nonzero(_mark_top_of_each_draw(drawn, size)[:, :size], axis=1)
    tau = 4.0 * _count_draw_pairs_in_stated_order(drawn) / (draws * n * (n - 1)) - 1.0 if n > 1 else 1.0
    return ExpectedOrderAgreement(
        float(tau), float(1.0 - wrong.mean() / size), *(float(np.mean(wrong <= errors)) for errors in (0, 1, 2))
    )


def estimate_chance_in_top(scores: Floats, top: int) -> Floats:
    """Estimate how probably each candidate is among the best `top`, (n,)."""
    return np.asarray(_mark_top_of_each_draw(scores, top).mean(axis=0))


def _mark_top_of_each_draw(scores: Floats, top: int) -> NDArray[np.bool_]:
    """Whether each candidate is among the best `top` of each draw (draws, n); draws have no ties."""
    n = scores.shape[1]
    if top >= n:
        return np.ones(scores.shape, dtype=np.bool_)
    return np.asarray(scores >= np.partition(scores, n - top, axis=1)[:, n - top, None])


@compile_with_numba_on_first_call
def _count_draw_pairs_in_stated_order(drawn: Floats) -> int:
    """In how many pairs, over all draws, the one that stands first has the higher score."""
    agreeing = 0
    for draw in range(drawn.shape[0]):
        for i in range(drawn.shape[1]):
            for j in range(i + 1, drawn.shape[1]):
                agreeing += drawn[draw, i] > drawn[draw, j]
    return agreeing


DRAWS = 64
SIMULATED = 24
"""Of the draws, so many are used for the information of windows, or for simulated answers to longer ones."""
NODES: Floats = np.polynomial.hermite_e.hermegauss(7)[0]
WEIGHTS: Floats = np.polynomial.hermite_e.hermegauss(7)[1] / math.sqrt(2 * math.pi)
DOUBTFUL = 0.005
"""A pair that is wrong with less than this probability is left out."""


def estimate_window_values(
    best: RankingPosteriorMixturePoint,
    scores: Floats,
    order: NDArray[np.intp],
    borders: Sequence[int],
    windows: Positions,
    border: float,
    rng: np.random.Generator,
) -> Floats:
    """What an answer to each of `windows` (windows, m) is worth: its information as a share of log m!, and `border`
    times the drop it should bring in wrong pairs across each of the `borders`, places of `order`, on average; `scores`
    are draws."""
    n, m = len(order), windows.shape[1]
    covariance = best.compute_score_covariance()[:n, :n]
    if m <= LISTED:
        information, fisher = measure_window_and_fisher_information(_thin_draws(scores, DRAWS), windows)
    else:
        # Too many orders to list: one answer is simulated per draw instead.
        drawn = _thin_draws(scores, SIMULATED)
        fisher = sample_fisher_information(drawn, windows, rng.gumbel(size=(len(drawn), m)))
        information = bound_log_det_information(fisher, covariance[windows[:, :, None], windows[:, None, :]])
    worth = information / math.lgamma(m + 1)
    for top in borders:
        if border and top < n:
            in_top = estimate_chance_in_top(scores, top)
            drop = estimate_border_error_drop(best.mode[:n], covariance, in_top, order, top, windows, fisher)
            worth += border / len(borders) * drop
    return np.asarray(worth)


def choose_disjoint_windows(worth: Floats, m: int, count: int) -> list[int]:
    """The `count` best windows of which no two overlap, by where they begin; the best first, the earlier of equals."""
    left = worth.copy()
    chosen: list[int] = []
    while len(chosen) < count and np.isfinite(left).any():
        start = int(np.argmax(left))
        chosen.append(start)
        # Windows that begin less than m apart overlap.
        left[max(0, start - m + 1) : start + m] = -np.inf
    return chosen


def propose_disjoint_windows(
    best: RankingPosteriorMixturePoint,
    scores: Floats,
    order: NDArray[np.intp],
    borders: Sequence[int],
    *,
    m: int,
    count: int,
    border: float,
    rng: np.random.Generator,
) -> list[Positions]:
    """Up to `count` disjoint windows of m neighbours in `order`, each shuffled, which spreads a bias for places."""
    windows = list_neighbour_windows(order, m)
    worth = estimate_window_values(best, scores, order, borders, windows, border, rng)
    return [rng.permutation(windows[start]) for start in choose_disjoint_windows(worth, m, count)]


def _thin_draws(scores: Floats, count: int) -> Floats:
    """`count` of the draws, evenly over the components they come from."""
    chosen = (np.arange(count) + 0.5) * len(scores) / count
    return np.ascontiguousarray(scores[chosen.astype(np.intp)])


def estimate_border_error_drop(
    mean: Floats, covariance: Floats, in_top: Floats, order: Positions, top: int, windows: Positions, fisher: Floats
) -> Floats:
    """For each of `windows` (windows, m) the expected drop in pairs of `order` (n,) on the wrong side of its place
    `top`, were the window judged with Fisher information `fisher` (windows, m, m).

    `mean` (n,) and `covariance` (n, n) are those of the scores; a pair counts by the chance that the border runs
    between its two, of which `in_top` (n,) are the chances to be above.
    """
    m = windows.shape[1]
    inner = covariance[windows[:, :, None], windows[:, None, :]]
    # S' = S - S[:, w] M S[w, :] is the covariance after the answer.
    update = np.asarray(np.linalg.solve(np.eye(m) + fisher @ inner, fisher), dtype=np.float64)
    return _estimate_border_error_drop_of_windows(
        mean, covariance, in_top, order.astype(np.int64), top, windows, update
    )


@compile_with_numba_on_first_call
def _estimate_border_error_drop_of_windows(
    mean: Floats, covariance: Floats, in_top: Floats, order: Positions, top: int, windows: Positions, update: Floats
) -> Floats:
    count, m = windows.shape
    drops = np.zeros(count)
    gap = np.empty(m)
    for above in order[:top]:
        for below in order[top:]:
            before = covariance[above, above] + covariance[below, below] - 2 * covariance[above, below]
            distance = abs(mean[above] - mean[below])
            wrong = _normal_upper_tail(distance / math.sqrt(before))
            if wrong < DOUBTFUL:
                continue
            weight = in_top[above] * (1 - in_top[below]) + in_top[below] * (1 - in_top[above])
            for window in range(count):
                for i in range(m):
                    item = windows[window, i]
                    gap[i] = covariance[item, above] - covariance[item, below]
                learned = 0.0
                for i in range(m):
                    for j in range(m):
                        learned += gap[i] * update[window, i, j] * gap[j]
                # Rounding may leave nothing or less of the variance.
                after = max(before - learned, 1e-12 * before)
                if learned > 1e-9 * before:
                    drops[window] += weight * (
                        wrong - _expect_wrong_order_chance_after_answer(distance, learned, after)
                    )
    return drops


@compile_with_numba_on_first_call
def _expect_wrong_order_chance_after_answer(distance: float, learned: float, after: float) -> float:
    """How probably a pair is wrong once an answer has moved its difference by N(0, learned) and left it N(., after),
    the pair being put in the order that then looks right: by Gauss-Hermite quadrature."""
    moved, left = math.sqrt(learned), math.sqrt(after)
    expected = 0.0
    for k in range(len(NODES)):
        expected += WEIGHTS[k] * _normal_upper_tail(abs(distance + moved * NODES[k]) / left)
    return expected


@compile_with_numba_on_first_call
def _normal_upper_tail(x: float) -> float:
    """The chance of a standard normal to exceed x."""
    return 0.5 * math.erfc(x / math.sqrt(2.0))
