"""What an axis does, averaged over all stacks that differ in nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

import numpy as np

from embassay.protocols.rag.golden.summary import Figure
from embassay.protocols.rag.sweep.findings.certainty import said
from embassay.protocols.rag.sweep.findings.families import (
    AXES,
    Pairs,
    pairs_alike,
    usual_measures,
    values_of,
)
from embassay.protocols.rag.sweep.findings.ground import Floats, Ground, figure
from embassay.protocols.rag.sweep.findings.record import Effect

MOST_VALUES = 6


def effects(ground: Ground) -> Iterator[Effect]:
    """Every two values of every axis (of those with up to six), the later less the earlier, for the usual measures."""
    found = [
        (axis, value, other, pairs)
        for axis in AXES
        for other, value in combinations(values_of(ground, axis)[:MOST_VALUES], 2)
        if (pairs := pairs_alike(ground, axis, value, other))
    ]
    if not found:
        return
    for measure in usual_measures(ground):
        columns = ground.columns(measure)
        averaged = {
            name: np.column_stack([mean_difference(one, pairs) for *_, pairs in found])
            for name, one in columns.items()
        }
        for (axis, value, other, pairs), quality in zip(found, ground.figures(averaged), strict=True):
            yield Effect(
                axis, said(axis, value), said(axis, other), len(pairs), measure, quality, milliseconds(ground, pairs),
                float(np.mean([ground.cost[i] - ground.cost[j] for i, j in pairs])),
            )  # fmt: skip


def mean_difference(columns: Floats, pairs: Pairs) -> Floats:
    """Of each query the mean over pairs of the first stack's value less the second's: (queries,); NaN where it is
    undefined in one of them, as it then is in all (a query without relevant passages)."""
    first, second = np.array(pairs).T
    return np.asarray((columns[:, first] - columns[:, second]).mean(axis=1))


def milliseconds(ground: Ground, pairs: Pairs) -> Figure:
    """The mean difference of latencies, with the interval over timed queries."""
    first, second = np.array(pairs).T
    timed = min(rows[0].times.total.shape[1] for rows in ground.rows.values())
    value = float((ground.latency[first] - ground.latency[second]).mean())
    replicates = (ground.latency_replicates[:, first] - ground.latency_replicates[:, second]).mean(axis=1)
    return figure(value, replicates, timed)
