"""What an answer would tell: its mutual information with the scores, and its mean Fisher information. Compiled.

For windows of up to `LISTED` candidates every answer is listed. A set of m has 2^m subsets, and whichever order is
answered, its probability is a product of choices "i, first of the subset that is left": so the choices are computed
once per subset, the probabilities of all orders come from them as a tree, and the entropy of the order and its Fisher
information are sums over subsets, weighted by how probable it is that just they are left. All this is exact given the
scores; only the scores are drawn. For longer windows see `squashed_log_det`.
"""

from __future__ import annotations

import math
from functools import lru_cache
from itertools import permutations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from embassay.compiled import compiled
from embassay.protocols.rag.ranking.bayes.likelihood import Floats, Positions

LISTED = 5
"""The longest window whose orders are listed; six would have 720 of them."""
FISHER_EVERY = 4
"""Of the draws, one in so many is used for the Fisher information, which varies little from draw to draw."""
LOWEST = -600.0
"""Scores this far below the best of their window count as no lower: exp() stays above zero."""


class Tree(NamedTuple):
    """Orders of m items as a tree of choices, level by level: the node a node continues (-1: none), and what is chosen
    at it as subset * m + item. The last m! nodes are the orders, without their last item."""

    parents: Positions
    choices: Positions


@lru_cache
def tree_of_orders(m: int) -> Tree:
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
    return Tree(np.array(parents, dtype=np.int64), np.array(choices, dtype=np.int64))


def listed(scores: Floats, windows: Positions) -> tuple[Floats, Floats]:
    """Mutual information (windows,) in nats of the answers to `windows` (windows, m) with the scores, of which
    `scores` (draws, n) are draws, and the Fisher information (windows, m, m) of an answer, its mean over draws."""
    tree = tree_of_orders(windows.shape[1])
    information, fisher = _listed(scores, windows, tree.parents, tree.choices)
    return information, fisher / len(scores[::FISHER_EVERY])


@compiled
def _listed(
    scores: Floats, windows: Positions, parents: Positions, choices: Positions
) -> tuple[Floats, Floats]:
    """As `listed`, but the Fisher information is a sum."""
    count, m = windows.shape
    draws, subsets = len(scores), 1 << m
    orders = round(math.gamma(m + 1.0))
    information, fisher = np.zeros(count), np.zeros((count, m, m))
    share, reached = np.empty((subsets, m)), np.empty(subsets)
    node, mean, score = np.empty(len(parents)), np.empty(orders), np.empty(m)
    first_order = len(parents) - orders
    for window in range(count):
        given = 0.0
        for order in range(orders):
            mean[order] = 0.0
        for draw in range(draws):
            for i in range(m):
                score[i] = scores[draw, windows[window, i]]
            given += _subsets(score, share, reached)
            if draw % FISHER_EVERY == 0:
                _add_fisher(share, reached, fisher[window])
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
        information[window] = max(0.0, entropy - given / draws)
    return information, fisher


@compiled
def _subsets(score: Floats, share: Floats, reached: Floats) -> float:
    """Write the chance of each item to be first of each subset, and of each subset to be what is left at some time;
    return the entropy of an answer in nats."""
    m = len(score)
    full = len(reached) - 1
    best = score[0]
    for i in range(1, m):
        best = max(best, score[i])
    weight = np.empty(m)
    for i in range(m):
        score[i] = max(score[i] - best, LOWEST)
        weight[i] = math.exp(score[i])
    for subset in range(full):
        reached[subset] = 0.0
    reached[full] = 1.0
    entropy = 0.0
    for subset in range(full, 0, -1):
        total, weighted = 0.0, 0.0
        for i in range(m):
            if subset >> i & 1:
                total += weight[i]
                weighted += weight[i] * score[i]
        chance = reached[subset]
        entropy += chance * (math.log(total) - weighted / total)
        for i in range(m):
            if subset >> i & 1:
                share[subset, i] = weight[i] / total
                reached[subset - (1 << i)] += chance * share[subset, i]
            else:
                share[subset, i] = 0.0
    return entropy


@compiled
def _add_fisher(share: Floats, reached: Floats, fisher: Floats) -> None:
    """Add the Fisher information of an answer: of each choice among a subset, as often as it has to be made."""
    m = len(fisher)
    for subset in range(1, len(reached)):
        chance, one = reached[subset], share[subset]
        for i in range(m):
            mass = chance * one[i]
            fisher[i, i] += mass
            for j in range(m):
                fisher[i, j] -= mass * one[j]


@compiled
def sampled(scores: Floats, windows: Positions, noise: Floats) -> Floats:
    """As the Fisher information of `listed`, from one simulated answer per draw: `noise` (draws, m) is standard Gumbel,
    and scores with such noise, put in order, are a Plackett-Luce answer."""
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
            for k in range(m - 1, -1, -1):
                total += weight[order[k]]
                for i in range(k, m):
                    mine = weight[order[i]] / total
                    fisher[window, order[i], order[i]] += mine
                    for j in range(k, m):
                        fisher[window, order[i], order[j]] -= mine * weight[order[j]] / total
    return fisher / len(scores)


def squashed_log_det(fisher: Floats, covariance: Floats) -> Floats:
    """1/2 log |I + F S|, the information (windows,) of Gaussian answers with Fisher information F (windows, m, m) about
    scores with covariance S (windows, m, m), bent so that it stays below log m!, which no order can exceed."""
    m = fisher.shape[1]
    linear = 0.5 * np.linalg.slogdet(np.eye(m) + fisher @ covariance)[1]
    most = math.lgamma(m + 1)
    return np.asarray(most * -np.expm1(-linear / most), dtype=np.float64)


def contiguous(order: NDArray[np.intp], m: int) -> Positions:
    """All windows of m neighbours in an order (n,), as positions (n - m + 1, m)."""
    return np.lib.stride_tricks.sliding_window_view(order.astype(np.int64), m).copy()
