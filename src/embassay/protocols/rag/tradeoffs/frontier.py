"""The Pareto frontier: the stacks that no other one beats on everything."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from embassay.errors import UsageError
from embassay.protocols.rag.tradeoffs.stack import ROUNDING, Stack

Axis = Literal["cost", "latency"]
Dominance = Literal["pareto", "strict"]


def frontier(
    stacks: Sequence[Stack],
    quality: Sequence[str],
    *,
    axes: Sequence[Axis] = ("cost", "latency"),
    dominance: Dominance = "pareto",
    slo_ms: float | None = None,
) -> list[Stack]:
    """The stacks that are not dominated, in the order given.

    Cost and latency (`axes`) are to be low, each measure of `quality` high. `pareto`: one stack dominates another that
    is no better anywhere and worse somewhere. `strict`: only one that is better everywhere (the paper's wording). Equal
    stacks all stay. With `slo_ms` only stacks of at most that latency take part. Jitter plays no part here. UsageError
    for no objective. Source: spec rag 3.5, ambiguity 10.

    >>> a, b, c = Stack("a", 1, 300, {"Q": 0.8}), Stack("b", 2, 400, {"Q": 0.7}), Stack("c", 2, 200, {"Q": 0.6})
    >>> [one.id for one in frontier([a, b, c], ["Q"])]
    ['a', 'c']
    """
    if dominance not in ("pareto", "strict") or not (quality or axes) or set(axes) - {"cost", "latency"}:
        raise UsageError(
            f"There is no frontier by {[*axes, *quality]} and {dominance!r}.",
            mend="Name cost, latency and measures; dominance is 'pareto' or 'strict'.",
        )
    running = [one for one in stacks if slo_ms is None or one.latency <= slo_ms]
    if not running:
        return []
    values = np.array(
        [[*(-getattr(one, axis) for axis in axes), *map(one.reaches, quality)] for one in running]
    )
    beaten = _beaten_strictly if dominance == "strict" else _beaten
    return [one for one, row in zip(running, values, strict=True) if not beaten(values, row)]


def _beaten(values: NDArray[np.float64], row: NDArray[np.float64]) -> bool:
    better, worse = values > row + ROUNDING, values < row - ROUNDING
    return bool((~worse.any(axis=1) & better.any(axis=1)).any())


def _beaten_strictly(values: NDArray[np.float64], row: NDArray[np.float64]) -> bool:
    return bool((values > row + ROUNDING).all(axis=1).any())
