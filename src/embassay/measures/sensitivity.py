"""How much RA-nWG hangs on its settings: its macro scores over a grid of alpha and caps. Source: spec rag 1.8."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from embassay.errors import UsageError
from embassay.measures.graded import Floats, Graded, Ints, Unjudged, retrieved_counts, treat_unjudged
from embassay.measures.lists import tau_b
from embassay.measures.rarity import DEFAULT, Weighting, best_sum, weights
from embassay.measures.set_measures import over
from embassay.measures.summary import SAME, macro

ALPHAS = (0.0, 0.5, 1.0, 2.0)
CAP4S = (0.75, 1.0)
CAP3S = (0.20, 0.25, 0.33)


@dataclass(frozen=True)
class Cell:
    """One setting: the macro score of each system, the systems best first, and how the order agrees with the default's.

    `tau` is Kendall's tau-b, NaN with fewer than two systems or where all are equal. `n_valid` is how many queries each
    mean is of.
    """

    alpha: float
    cap4: float
    cap3: float
    scores: Mapping[str, float]
    order: tuple[str, ...]
    tau: float
    n_valid: Mapping[str, int]


@dataclass(frozen=True)
class Sensitivity:
    """The grid: its cells, which of them is the default, and what changes most.

    `largest_change` is the largest absolute difference of a system's score from the default cell's, by `system` in the
    cell `where`; `lowest_tau` the worst agreement of an order with the default's.
    """

    k: int
    cells: tuple[Cell, ...]
    default: int
    largest_change: float
    system: str
    where: int
    lowest_tau: float


def sensitivity_grid(
    systems: Mapping[str, Graded],
    k: int,
    *,
    alphas: Sequence[float] = ALPHAS,
    cap4s: Sequence[float] = CAP4S,
    cap3s: Sequence[float] = CAP3S,
    weighting: Weighting = DEFAULT,
    unjudged: Unjudged = "zero",
) -> Sensitivity:
    """RA-nWG@k of every system, name -> what it retrieved, in every cell of the grid (24 unless told otherwise).

    `weighting` is the default cell, whose other settings all cells share; it must be on the grid. Systems that differ
    by no more than 1e-9 are equal: one place in the order, named in the order given.
    Raises UsageError for no systems or a grid without the default.
    """
    grid = list(product(alphas, cap4s, cap3s))
    default = (weighting.alpha, weighting.cap4, weighting.cap3)
    if not systems or default not in grid:
        raise UsageError(
            "There is nothing to vary." if not systems else f"The grid lacks the default {default}.",
            mend="Give one system at least, and a grid that has alpha, cap4 and cap3 of the weighting.",
        )
    found = {
        name: (graded.counts, retrieved_counts(treat_unjudged(graded, unjudged, k), k))
        for name, graded in systems.items()
    }
    settings = [replace(weighting, alpha=alpha, cap4=cap4, cap3=cap3) for alpha, cap4, cap3 in grid]
    means = [[macro(_values(*one, k, setting)) for one in found.values()] for setting in settings]
    scores = np.array([[one.mean for one in row] for row in means])
    at = grid.index(default)
    places = np.stack([_places(row) for row in scores])
    taus = tau_b(places, np.broadcast_to(places[at], places.shape))
    cells = tuple(
        Cell(
            *grid[i],
            dict(zip(systems, scores[i].tolist(), strict=True)),
            tuple(np.array(list(systems))[np.argsort(places[i], kind="stable")].tolist()),
            float(taus[i]),
            {name: one.n_valid for name, one in zip(systems, means[i], strict=True)},
        )
        for i in range(len(grid))
    )
    return _summed_up(k, cells, at, np.abs(scores - scores[at]), list(systems), taus)


def _summed_up(
    k: int, cells: tuple[Cell, ...], default: int, changes: Floats, systems: list[str], taus: Floats
) -> Sensitivity:
    known = ~np.isnan(changes)
    where, which = np.unravel_index(np.argmax(np.where(known, changes, -1.0)), changes.shape)
    return Sensitivity(
        k,
        cells,
        default,
        float(changes[where, which]),
        systems[which],
        int(where),
        float(np.nanmin(taus)) if (~np.isnan(taus)).any() else float("nan"),
    )


def _values(counts: Ints, found: Ints, k: int, weighting: Weighting) -> Floats:
    weight = weights(counts, weighting)
    return over((weight * found).sum(axis=1), best_sum(weight, counts, k))


def _places(scores: Floats) -> Floats:
    """The place of each system, 1 = best; those that are equal but for rounding share one, undefined ones are last."""
    order = np.argsort(-scores, kind="stable")
    falls = -np.diff(scores[order])
    steps = (falls > SAME) | (np.isnan(falls) & ~np.isnan(scores[order][:-1]))
    places = np.empty(len(scores))
    places[order] = np.concatenate([[1], 1 + np.cumsum(steps)])
    return places
