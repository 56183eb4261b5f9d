"""How much of what exact search finds an index finds, and how wide it must search for that (rag 3.4)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite

import numpy as np
from numpy.typing import NDArray

from embassay.contracts import Ranked
from embassay.errors import UsageError


def recalls(found: Ranked, exact: Ranked, k: int) -> NDArray[np.float64]:
    """The share of each query's first k of exact search that are among its first k found, (q,), 0 to 1.

    By number: of vectors that tie at place k, the one that exact search keeps counts. Where there are fewer than k to
    find, those are all; where there are none, 1. UsageError for another number of queries, and for rankings shorter
    than k. Source: spec rag 3.4, index quality check.
    """
    q, depth = exact.indices.shape
    if len(found.indices) != q or k < 1 or min(depth, found.indices.shape[1]) < k:
        raise UsageError(
            f"Cannot compare the first {k} of rankings {found.indices.shape} and {exact.indices.shape}.",
            mend="Search the same queries, both to at least k.",
        )
    wanted = exact.indices[:, :k]
    # One pair of a query and a number is one integer.
    most = max(int(wanted.max(initial=0)), int(found.indices.max(initial=0))) + 2
    offsets = np.arange(q)[:, None] * most + 1
    hit = np.isin(wanted + offsets, found.indices[:, :k] + offsets) & (wanted >= 0)
    there = np.count_nonzero(wanted >= 0, axis=1)
    return np.where(there == 0, 1.0, np.count_nonzero(hit, axis=1) / np.maximum(there, 1))


def recall(found: Ranked, exact: Ranked, k: int) -> float:
    """The mean of `recalls`. UsageError without queries.

    >>> one = Ranked(np.array([[4, 7]]), np.array([[0.9, 0.8]]))
    >>> other = Ranked(np.array([[7, 5]]), np.array([[0.8, 0.7]]))
    >>> recall(other, one, 2)
    0.5
    """
    each = recalls(found, exact, k)
    if not len(each):
        raise UsageError("There is no recall without queries.", mend="Search at least one.")
    return float(each.mean())


LADDER = (16, 32, 64, 128, 256, 512)
GAP = 0.02


@dataclass(frozen=True)
class Step:
    """A search width that was tried: each metric's value, and how far it is below flat's as a share of that (negative
    where it is above)."""

    ef: int
    values: Mapping[str, float]
    gaps: Mapping[str, float]

    @property
    def worst(self) -> float:
        """The largest gap."""
        return max(self.gaps.values())


@dataclass(frozen=True)
class Tuned:
    """The smallest width of the ladder whose metrics are all within `gap` of flat's, None if none is; what was tried,
    in order, ends with it."""

    ef: int | None
    gap: float
    flat: Mapping[str, float]
    steps: tuple[Step, ...]


def tuned(
    values_at: Callable[[int], Mapping[str, float]],
    flat: Mapping[str, float],
    *,
    ladder: Sequence[int] = LADDER,
    gap: float = GAP,
) -> Tuned:
    """Raise the search width until no metric is more than `gap` (a share, 0.01 to 0.02) below its value with flat.

    `values_at(ef)` measures the index at that width, `flat` has the same metrics of exact search; higher is better, as
    for RA-nWG@10 and @30. Wider searches are not tried once one is near enough. A metric that flat has at 0 has no gap
    unless it is below. UsageError for an empty or descending ladder, a negative gap, and metrics that are not the same
    or no numbers. Source: spec rag 3.4.

    >>> found = tuned(lambda ef: {"RA-nWG@10": 0.8 * (1 - 1 / ef)}, {"RA-nWG@10": 0.8}, gap=0.02)
    >>> found.ef, [round(step.worst, 2) for step in found.steps]
    (64, [0.06, 0.03, 0.02])
    """
    if not ladder or sorted(set(ladder)) != list(ladder) or ladder[0] < 1 or gap < 0 or not flat:
        raise UsageError(
            f"Cannot tune over the widths {list(ladder)} to a gap of {gap} in {len(flat)} metrics.",
            mend="Give ascending widths from 1, a gap from 0, and at least one metric.",
        )
    steps: list[Step] = []
    for ef in ladder:
        steps.append(_step(ef, values_at(ef), flat))
        if steps[-1].worst <= gap:
            return Tuned(ef, gap, flat, tuple(steps))
    return Tuned(None, gap, flat, tuple(steps))


def _step(ef: int, values: Mapping[str, float], flat: Mapping[str, float]) -> Step:
    if values.keys() != flat.keys():
        raise UsageError(
            f"At ef={ef} there are {', '.join(sorted(values)) or 'no metrics'}, with flat {', '.join(sorted(flat))}.",
            mend="Measure the same metrics.",
        )
    undefined = [name for name in flat if not (isfinite(values[name]) and isfinite(flat[name]))]
    if undefined:
        raise UsageError(
            f"{undefined[0]} is no number at ef={ef} or with flat.", mend="Leave it out of the rule."
        )
    return Step(ef, values, {name: _gap(value, flat[name]) for name, value in values.items()})


def _gap(value: float, reference: float) -> float:
    lost = reference - value
    if reference:
        return lost / abs(reference)
    return 0.0 if lost <= 0 else float("inf")
