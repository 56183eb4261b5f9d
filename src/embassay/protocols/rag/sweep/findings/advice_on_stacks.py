"""The source's advice on what a stack is made of, judged on this sweep (spec rag 9)."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from embassay.protocols.rag.golden.summary import Figure
from embassay.protocols.rag.sweep.configuration import NONE
from embassay.protocols.rag.sweep.findings.families import Pairs, pairs_alike, values_of
from embassay.protocols.rag.sweep.findings.ground import Ground
from embassay.protocols.rag.sweep.findings.judging import (
    all_of,
    difference_of,
    has_ceiling,
    judged,
    opposite,
    points,
    reached_difference,
    status,
    strong_reranker,
    untested,
)
from embassay.protocols.rag.sweep.findings.record import Advice
from embassay.protocols.rag.sweep.findings.words import told, usd


def default_stack(ground: Ground) -> Advice:
    """Hybrid and reranked is better than the same without one of the two, and without both."""
    line = "Hybrid plus the strong reranker as the default stack"
    strong = strong_reranker(ground)
    pairs = _four(ground, strong) if strong else {}
    if strong is None or len(pairs) < 3:
        return untested(line, "needs dense and hybrid, each with and without a reranker")
    measure = ground.rules.measure
    gains = {name: difference_of(ground, measure, one) for name, one in pairs.items()}
    words = ", ".join(f"{told(gain, signed=True)} against {name}" for name, gain in gains.items())
    text = f"Hybrid with {strong}, {measure}: {words}."
    return judged(line, all_of(status(one) for one in gains.values()), text, *gains.values())


def _four(ground: Ground, strong: str) -> Mapping[str, Pairs]:
    """Hybrid and reranked stacks beside the same without one of the two, and without both."""
    places = {one: i for i, one in enumerate(ground.configurations)}
    found: dict[str, Pairs] = {}
    for one, i in places.items():
        if one.mode != "hybrid" or one.reranker != strong:
            continue
        for name, mode, reranker in (
            ("dense, reranked", "dense", strong), ("hybrid alone", "hybrid", NONE), ("dense alone", "dense", NONE),
        ):  # fmt: skip
            other = type(one)(**{**vars(one), "mode": mode, "reranker": reranker})
            if other in places:
                found.setdefault(name, []).append((i, places[other]))
    return found


def lite(ground: Ground) -> Advice:
    """The cheaper reranker is worse, and saves money."""
    line = "The lite reranker only for cost"
    strong = strong_reranker(ground)
    names = [one for one in values_of(ground, "reranker") if one not in (NONE, strong)]
    pairs = pairs_alike(ground, "reranker", names[0], strong) if names else []
    if not pairs:
        return untested(line, "needs two rerankers")
    measure = ground.rules.measure
    loss = difference_of(ground, measure, pairs)
    saved = float(np.mean([ground.cost[j] - ground.cost[i] for i, j in pairs]))
    text = f"{names[0]} less {strong}: {told(loss, signed=True)} of {measure}; it saves {usd(saved)} per 1,000 queries."
    return judged(line, opposite(status(loss)) if saved > 0 else "does not hold", text, loss, Figure(saved))


def rewriting(ground: Ground) -> Advice:
    """Rewritten queries find more."""
    return _switched(
        ground, "Rewriting by default", "rewrite", NONE, "needs queries with and without rewriting"
    )


def nfc(_: Ground) -> Advice:
    """Nothing can be compared: every text is normalised."""
    return untested("Unicode NFC by default", "all texts are normalised before they are embedded")


def deduplicate(ground: Ground) -> Advice:
    """Candidates without copies give better lists."""
    line = "Deduplicate before reranking"
    return _switched(ground, line, "deduplicate", 0.0, "needs candidates with and without their copies")


def trim(ground: Ground) -> Advice:
    """Documents cut into chunks give better lists."""
    line = "Trim before reranking: shorter chunks, less metadata"
    return _switched(ground, line, "chunk", NONE, "needs documents with and without chunking")


def _switched(ground: Ground, line: str, axis: str, off: object, needs: str) -> Advice:
    """An axis that is on against off."""
    values = [one for one in values_of(ground, axis) if one != off]
    pairs = [pair for value in values for pair in pairs_alike(ground, axis, value, off)]
    if not pairs:
        return untested(line, needs)
    gain = difference_of(ground, ground.rules.measure, pairs)
    text = f"{ground.rules.measure} with less without: {told(gain, signed=True)}."
    return judged(line, status(gain), text, gain)


def pool(ground: Ground) -> Advice:
    """A hybrid pool raises the ceiling, PROC."""
    line = "Low PROC: improve the pool"
    measure = ground.rules.measure
    pairs = pairs_alike(ground, "mode", "hybrid", "dense")
    if not pairs or not has_ceiling(ground, measure):
        return untested(line, "needs dense and hybrid, and PROC")
    gain = difference_of(ground, measure, pairs, ceiling=True)
    text = f"A hybrid pool changes PROC of {measure} by {told(gain, signed=True)}."
    return judged(line, status(gain), text, gain)


def ordering(ground: Ground) -> Advice:
    """A reranker, which cannot change the pool, raises %PROC."""
    line = "High PROC with low %PROC: improve the ordering"
    measure, strong = ground.rules.measure, strong_reranker(ground)
    pairs = pairs_alike(ground, "reranker", strong, NONE) if strong else []
    if not pairs or not has_ceiling(ground, measure):
        return untested(line, "needs stacks with and without a reranker, and PROC")
    gain = reached_difference(ground, measure, pairs)
    low, high = (0.0 if end is None else end for end in (gain.low, gain.high))
    text = f"{strong} changes %PROC of {measure} by {points(gain.value or 0.0)} ({points(low)} to {points(high)})."
    return judged(line, status(gain), text, gain)
