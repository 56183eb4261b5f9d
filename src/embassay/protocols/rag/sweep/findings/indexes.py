"""How near each index comes to exact search (spec rag 3.4): recall, change of measures and times, and size."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from embassay.protocols.rag.sweep.configuration import NONE
from embassay.protocols.rag.sweep.findings import timing
from embassay.protocols.rag.sweep.findings.facts import memory_of
from embassay.protocols.rag.sweep.findings.families import Pairs, pairs_alike, usual_measures, values_of
from embassay.protocols.rag.sweep.findings.ground import Ground, defined_means
from embassay.protocols.rag.sweep.findings.record import IndexQuality
from embassay.protocols.rag.sweep.measured import Measured

NEAR = -2.0
"""Percent that an index may lose against flat search at most."""


def indexes(ground: Ground) -> Iterator[IndexQuality]:
    """Every index but the flat one, for each encoder and number of dimensions.

    Where stacks by vectors alone were measured (dense, no reranker) it is judged on them, for other steps hide what
    it loses; else on all.
    """
    flat = next((one for one in values_of(ground, "index") if one.partition("?")[0] == "flat"), None)
    if flat is None:
        return
    for encoder in values_of(ground, "encoder"):
        for dims in values_of(ground, "dims"):
            for index in values_of(ground, "index"):
                pairs = [
                    pair for pair in pairs_alike(ground, "index", index, flat)
                    if (ground.configurations[pair[0]].encoder, ground.configurations[pair[0]].dims) == (encoder, dims)
                ]  # fmt: skip
                if index != flat and pairs:
                    yield _quality(ground, index, _bare(ground, pairs) or pairs)


def _bare(ground: Ground, pairs: Pairs) -> Pairs:
    found = [(pair, ground.configurations[pair[0]]) for pair in pairs]
    return [pair for pair, one in found if one.mode == "dense" and one.reranker == NONE]


def _quality(ground: Ground, index: str, pairs: Pairs) -> IndexQuality:
    changes = {
        name: change
        for name in usual_measures(ground)
        if (change := _change(ground, name, pairs)) is not None
    }
    first, second = pairs[0]
    rows = [ground.rows[name][first] for name in ground.datasets]
    flat = [ground.rows[name][second] for name in ground.datasets]
    return IndexQuality(
        encoder=rows[0].configuration.encoder,
        dims=rows[0].configuration.dims,
        index=index,
        pairs=len(pairs),
        recall={str(k): float(np.mean([one.recall[k] for one in rows])) for k in rows[0].recall},
        changes=changes,
        retrieve_ms=_retrieval(ground, [i for i, _ in pairs]),
        retrieve_ms_flat=_retrieval(ground, [j for _, j in pairs]),
        memory=memory_of(rows),
        flat_memory=memory_of(flat),
        build_seconds=sum(one.index.build_seconds for one in rows),
        within=all(change >= NEAR for change in changes.values()),
    )


def _change(ground: Ground, measure: str, pairs: Pairs) -> float | None:
    """Percent by which the mean over stacks changes; None where the flat one has nothing to lose."""
    means = np.mean([defined_means(one) for one in ground.columns(measure).values()], axis=0)
    now, before = (float(np.mean(means[[pair[side] for pair in pairs]])) for side in (0, 1))
    return 100 * (now / before - 1) if before > 0 else None


def _retrieval(ground: Ground, places: list[int]) -> float:
    rows: list[Measured] = [ground.rows[name][i] for name in ground.datasets for i in places]
    found = [
        timing.percentile_of(one.times.stages["retrieve"], 50.0)
        for one in rows
        if "retrieve" in one.times.stages
    ]
    return float(np.mean(found)) if found else 0.0
