"""Which runs can be told apart, by which measure: paired tests over queries, corrected over the pairs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np

from embassay.protocols.rag.scoring.measured import Asked, Measured
from embassay.protocols.rag.scoring.record import Comparison, Pair
from embassay.protocols.rag.scoring.resampled import Quantity, Resampled
from embassay.protocols.rag.scoring.valued import interval
from embassay.randomness import generator
from embassay.stats.masked import sign_flip_p
from embassay.stats.ranks import corrected_pairs, not_meeting

ALPHA = 0.05
TESTS = {
    "bootstrap": "paired bootstrap over queries: twice the share of resampled differences on the other side of 0",
    "randomization": "paired randomisation test: random signs of the queries' differences",
}
"""What `p` is of."""
Ends = tuple[float | None, float | None]

Tests = Mapping[tuple[str, str, str], float]


def compared(
    resampled: Resampled, runs: Sequence[str], asked: Asked, tests: Tests | None = None
) -> Comparison:
    """Every pair of runs by one measure, and the ranks that the tests allow each run.

    A run's best rank is 1 + the number of runs that beat it, its worst their number less those that it beats; one beats
    another where Holm's p over the pairs is under 0.05. p is of the paired bootstrap, or from `tests` (measure, a, b).
    `reason` says why there is no comparison.
    """
    lower = asked.facts.direction == "lower"
    known = {run: resampled.quantity(asked.name, run).value for run in runs}
    ranked = sorted(
        (run for run in runs if np.isfinite(known[run])), key=lambda run: known[run] * (1 if lower else -1)
    )
    if len(ranked) < 2:
        return Comparison(asked.name, tuple(ranked), reason="fewer than two runs with a value")
    if tests is not None and asked.is_ratio:
        return Comparison(
            asked.name, tuple(ranked), reason="the randomisation test compares means, not ratios"
        )
    pairs = [_pair(resampled, asked.name, *two, tests) for two in combinations(ranked, 2)]
    if any(pair is None for pair in pairs):
        return Comparison(asked.name, tuple(ranked), reason="too few queries where both are defined")
    own = {run: interval(resampled.quantity(asked.name, run)) or (None, None) for run in ranked}
    tested = _adjusted([pair for pair in pairs if pair is not None], lower, own)
    low = [
        1 + sum(pair.better not in ("", run) and run in (pair.a, pair.b) for pair in tested) for run in ranked
    ]
    high = [len(ranked) - sum(pair.better == run for pair in tested) for run in ranked]
    return Comparison(asked.name, tuple(ranked), tuple(low), tuple(high), tested)


def randomized(
    measured: Sequence[Measured], measures: Sequence[Asked], *, n_resamples: int, seed: int
) -> Tests:
    """p of the paired randomisation test for each measure that is a mean and each pair of runs, both ways round."""
    keys, columns = [], []
    for one in measures:
        for a, b in combinations(measured, 2) if not one.is_ratio else ():
            keys.append((one.name, a.run, b.run))
            columns.append(a.columns[one.name].value - b.columns[one.name].value)
    if not columns:
        return {}
    rng = generator(seed, "randomization")
    found = sign_flip_p(np.column_stack(columns), n_resamples=n_resamples, rng=rng)
    both = zip(keys, found.tolist(), strict=True)
    return {key: p for (name, a, b), p in both for key in ((name, a, b), (name, b, a))}


def two_sided(difference: Quantity) -> float:
    """Twice the share of resampled differences on the other side of 0, one added to count and number, at most 1."""
    replicates = difference.replicates[np.isfinite(difference.replicates)]
    smaller = min(int((replicates <= 0).sum()), int((replicates >= 0).sum()))
    return min(1.0, 2 * (smaller + 1) / (len(replicates) + 1))


def _pair(resampled: Resampled, measure: str, a: str, b: str, tests: Tests | None) -> Pair | None:
    difference = resampled.difference(measure, a, b)
    ends = interval(difference)
    if ends is None:
        return None
    p = two_sided(difference) if tests is None else tests[measure, a, b]
    return Pair(a, b, difference.value, *ends, p, p, difference.n)


def _adjusted(pairs: Sequence[Pair], lower: bool, own: Mapping[str, Ends]) -> tuple[Pair, ...]:
    """Corrected by Holm over those that differ on some query; two whose own intervals do not meet are tested alone."""
    made = []
    disjoint = [not_meeting(own[pair.a], own[pair.b]) for pair in pairs]
    differ = [pair.difference != 0 or pair.low != pair.high for pair in pairs]
    for pair, p in zip(pairs, corrected_pairs([pair.p for pair in pairs], disjoint, differ), strict=True):
        first = (pair.difference < 0) == lower
        better = (pair.a if first else pair.b) if p < ALPHA and pair.difference else ""
        made.append(replace(pair, p_adjusted=p, better=better))
    return tuple(made)
