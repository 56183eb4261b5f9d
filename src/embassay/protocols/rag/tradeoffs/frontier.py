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
    cost_share: float = 0.0,
    jitter_ms: float = 0.0,
) -> list[Stack]:
    """The stacks that are not dominated, in the order given.

    Cost and latency (`axes`) are to be low, each measure of `quality` high. `pareto`: one stack dominates another that
    is no better anywhere and worse somewhere. `strict`: only one that is better everywhere (the paper's wording). Equal
    stacks all stay. With `slo_ms` only stacks of at most that latency take part. Costs within `cost_share` of the
    larger and latencies within `jitter_ms` are equal. UsageError for no objective. Source: spec rag 3.5, ambiguity 10.

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
    share = np.array([cost_share if axis == "cost" else 0.0 for axis in (*axes, *quality)])
    least = np.array([jitter_ms if axis == "latency" else 0.0 for axis in (*axes, *quality)])
    return [
        one for one, row in zip(running, values, strict=True)
        if not beaten(values, row, ROUNDING + least + share * np.maximum(np.abs(values), np.abs(row)))
    ]  # fmt: skip


Floats = NDArray[np.float64]


def _beaten(values: Floats, row: Floats, equal: Floats) -> bool:
    better, worse = values > row + equal, values < row - equal
    return bool((~worse.any(axis=1) & better.any(axis=1)).any())


def _beaten_strictly(values: Floats, row: Floats, equal: Floats) -> bool:
    return bool((values > row + equal).all(axis=1).any())
