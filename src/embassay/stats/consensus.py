"""One grade from several judges: the median, and the model of Dawid and Skene, which learns how each judge errs.

Source: Dawid and Skene, Maximum likelihood estimation of observer error-rates using the EM algorithm, 1979.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite

import numpy as np
from numpy.typing import ArrayLike, NDArray

from embassay.errors import UsageError

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
MISSING = -1
"""In votes: a judge said nothing of an item."""
ROUNDS = 200
ENOUGH = 1e-7
"""A rise of the log-likelihood per vote after which it has converged."""
SMOOTHING = 0.1
"""Votes that each judge is taken to have given of each class to each class: no rate is 0 for want of items."""


@dataclass(frozen=True)
class JudgeConsensus:
    """What several judges say together: `labels` (n,), their classes' probabilities `posterior` (n, k), and for a model
    the shares of classes `prior` (k,), each judge's `confusion` (judges, k, k; true class, then said class), `rounds`
    of it and whether it `converged`."""

    labels: Ints
    posterior: Floats
    prior: Floats
    confusion: Floats
    rounds: int
    converged: bool


def compute_median_votes(votes: ArrayLike) -> Ints:
    """The median of each row of votes (n, judges), the lower of two middle ones; MISSING where nobody voted.

    >>> compute_median_votes([[1, 2, 5], [4, 5, MISSING], [MISSING] * 3]).tolist()
    [2, 4, -1]
    """
    table = _check_votes(votes)
    # What nobody voted sorts last, so that the middle is that of the votes.
    ordered = np.sort(np.where(table == MISSING, np.iinfo(np.int64).max, table), axis=1)
    counts = (table != MISSING).sum(axis=1)
    middle = np.maximum(counts - 1, 0) // 2
    return np.where(counts > 0, ordered[np.arange(len(table)), middle], MISSING)


def estimate_dawid_skene_classes(votes: ArrayLike, classes: int, *, smoothing: float = SMOOTHING) -> JudgeConsensus:
    """The likeliest class of each item under judges who err independently, each in a way of its own, by EM.

    `votes` (n, judges) are classes from 0 to `classes` - 1, MISSING where a judge said nothing; an item without any
    vote has the prior's likeliest class. It begins at the shares of the votes, so it is the majority's answer unless
    judges are told apart; ties go to the lower class. With two judges it cannot tell who is right. UsageError for votes
    out of range, for no votes, and for fewer than two judges.

    >>> found = estimate_dawid_skene_classes([[0, 0, 1], [1, 1, 0], [0, 0, 0], [1, 1, 1]], 2)
    >>> found.labels.tolist()
    [0, 1, 0, 1]
    """
    table = _check_votes(votes)
    if table.shape[1] < 2 or not (table != MISSING).any() or table.max() >= classes or smoothing < 0:
        most = table.max(initial=MISSING)
        raise UsageError(
            f"Votes of shape {table.shape} with values up to {most} do not fit {classes} classes.",
            mend=f"Give votes of two or more judges, with classes from 0 to {classes - 1}.",
        )
    one_hot = _encode_votes_one_hot(table, classes)
    counts = one_hot.sum(axis=1)
    posterior = np.full((len(table), classes), 1.0 / classes)
    np.divide(counts, counts.sum(axis=1, keepdims=True), out=posterior, where=counts.sum(axis=1, keepdims=True) > 0)
    before, rounds, converged = -np.inf, 0, False
    enough = ENOUGH * float(counts.sum())
    while rounds < ROUNDS and not converged:
        prior, confusion = _estimate_class_shares_and_confusions(posterior, one_hot, smoothing)
        posterior, likelihood = _compute_class_probabilities(prior, confusion, one_hot)
        rounds += 1
        converged = isfinite(before) and likelihood - before <= enough
        before = likelihood
    return JudgeConsensus(posterior.argmax(axis=1), posterior, prior, confusion, rounds, converged)


def _check_votes(votes: ArrayLike) -> Ints:
    table = np.asarray(votes)
    if table.ndim != 2 or (table.size and (table != np.floor(table)).any()) or (table.size and table.min() < MISSING):
        raise UsageError("Votes must be a matrix of items by judges: whole numbers, or -1 for no vote.")
    return table.astype(np.int64)


def _encode_votes_one_hot(votes: Ints, classes: int) -> Floats:
    """(n, judges, classes): 1 where a judge said so."""
    return np.asarray(votes[:, :, None] == np.arange(classes), dtype=np.float64)


def _estimate_class_shares_and_confusions(
    posterior: Floats, one_hot: Floats, smoothing: float
) -> tuple[Floats, Floats]:
    """Estimate the shares of classes and how each judge answers to each (M step)."""
    prior = posterior.mean(axis=0)
    counts = np.einsum("nt,njs->jts", posterior, one_hot) + smoothing
    totals = counts.sum(axis=2, keepdims=True)
    uniform = np.full_like(counts, 1.0 / counts.shape[2])
    # Without smoothing a class may have no vote of a judge: then nothing is known of how he errs.
    return prior, np.divide(counts, totals, out=uniform, where=totals > 0)


def _compute_class_probabilities(prior: Floats, confusion: Floats, one_hot: Floats) -> tuple[Floats, float]:
    """Compute each item's class probabilities, and the log-likelihood of all votes (E step)."""
    with np.errstate(divide="ignore"):
        logs = np.log(prior) + np.einsum("njs,jts->nt", one_hot, np.log(np.maximum(confusion, 1e-300)))
    # Products of many small rates would be 0 as floats.
    most = logs.max(axis=1, keepdims=True)
    weights = np.exp(logs - most)
    totals = weights.sum(axis=1, keepdims=True)
    return weights / totals, float((most + np.log(totals)).sum())
