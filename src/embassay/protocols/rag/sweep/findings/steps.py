"""What the next larger K brings, stack by stack, and what it takes (spec rag 3.5)."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from embassay.protocols import numbers
from embassay.protocols.rag.golden.summary import Figure
from embassay.protocols.rag.sweep.findings.families import family_of, usual_measures
from embassay.protocols.rag.sweep.findings.ground import Ground
from embassay.protocols.rag.sweep.findings.recommending import told_apart
from embassay.protocols.rag.sweep.findings.record import Step
from embassay.protocols.rag.sweep.findings.words import dollars_more, ms_more
from embassay.protocols.rag.tradeoffs import Stack, marginal_gain


def steps(ground: Ground) -> Iterator[Step]:
    """Every step from a K to the next one of its family, for the usual measures."""
    families: dict[str, list[int]] = {}
    for i, one in enumerate(ground.configurations):
        families.setdefault(family_of(one), []).append(i)
    pairs = [
        (less, more)
        for places in families.values()
        for less, more in pairwise(sorted(places, key=lambda i: ground.configurations[i].k))
    ]
    if not pairs:
        return
    for measure in usual_measures(ground):
        less, more = np.array(pairs).T
        columns = {name: one[:, more] - one[:, less] for name, one in ground.columns(measure).items()}
        for (i, j), gain in zip(pairs, ground.figures(columns), strict=True):
            if gain.value is not None:
                yield _step(ground, i, j, measure, gain)


def _step(ground: Ground, i: int, j: int, measure: str, gain: Figure) -> Step:
    less, more = (
        Stack(ground.ids[at], float(ground.cost[at]), float(ground.latency[at]), {measure: value})
        for at, value in ((i, 0.0), (j, gain.value or 0.0))
    )
    found = marginal_gain(less, more, measure, jitter_ms=ground.jitter_ms)
    return Step(
        family=family_of(ground.configurations[i]), less=less.id, more=more.id,
        k=ground.configurations[i].k, next_k=ground.configurations[j].k, measure=measure, gain=gain,
        milliseconds=found.milliseconds, usd=found.usd, per_ms=found.per_ms, kind=found.kind,
        text=_in_words(gain, found.milliseconds, found.usd, ground.jitter_ms),
    )  # fmt: skip


def _in_words(gain: Figure, milliseconds: float, usd: float, jitter_ms: float) -> str:
    """What is gained, for how much; what cannot be told from nothing is called so."""
    value = gain.value or 0.0
    if gain.low == gain.high == value == 0:
        quality = "nothing"
    else:
        quality = numbers.change(value) if told_apart(gain) else "not told from 0"
    time = "within jitter" if abs(milliseconds) <= jitter_ms else ms_more(milliseconds)
    return f"{quality}; {time}; {dollars_more(usd)}"
