"""The source's advice to operators, and what these files say of it: holds, does not, open, or not tested.

Advice is called tested only where runs or pools here differ in just that, and holds only where its whole interval does.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations

import numpy as np

from embassay.protocols.rag.scoring.losses import DEPTHS, Beside, Union, depth_name, same_documents
from embassay.protocols.rag.scoring.placed import Board
from embassay.protocols.rag.scoring.readings import MARGIN, evidence
from embassay.protocols.rag.scoring.record import Evidence, Guidance
from embassay.protocols.rag.scoring.resampled import Resampled
from embassay.protocols.rag.scoring.valued import interval
from embassay.protocols.rag.scoring.words import told
from embassay.stats import percentile_interval

_MEANING = {
    "holds": "It helps.", "does not hold": "It does not help.", "open": "These queries do not tell.",
}  # fmt: skip
UNTESTED = (
    ("ANN index", "pool", "an HNSW index within 1-2% of a flat one: compare a run from each."),
    ("rewriting", "pool", "rewriting queries and normalising to Unicode NFC: compare a run with and without."),
    ("near-duplicates", "ordering", "removing near-duplicates and trimming before reranking: compare both runs."),
    ("shorter chunks", "ordering", "shorter chunks and cleaner metadata: they change the documents themselves."),
    ("int8", "cost", "int8 vectors only under hard memory limits, after looking at %PROC again."),
    ("dimensions", "cost", "1024 dimensions, 2048 only for a deep K: compare a run from each."),
)  # fmt: skip


def guidance(
    board: Board, cutoffs: Sequence[int], extra: Beside, resampled: Resampled
) -> tuple[Guidance, ...]:
    """Every piece of advice with its status and numbers."""
    tested = [
        *_hybrid(extra, resampled),
        *_depths(board, cutoffs, resampled),
        *_rerankings(board, cutoffs, resampled),
    ]
    knobs = {one.knob for one in tested}
    missing = [] if "hybrid" in knobs else [
        ("hybrid", "pool", "a pool from two retrievers: score runs of both, deeper than 2K, without --pool.")
    ]  # fmt: skip
    missing += [] if "depth" in knobs else [
        ("depth", "pool", "50 candidates for @10 and 100 for @30: score a deeper run.")
    ]  # fmt: skip
    missing += [] if "reranker" in knobs else [
        ("reranker", "ordering", "a strong reranker: score a run and its reranking, with the same documents.")
    ]  # fmt: skip
    return (*tested, *(_untested(*one) for one in (*missing, *UNTESTED)))


def status_of(gain: Evidence, least: float = 0.0) -> str:
    """Whether a gain of more than `least` holds with its whole interval, is excluded by it, or is open."""
    if gain.low is None or gain.high is None:
        return "open"
    if gain.low > least:
        return "holds"
    return "does not hold" if gain.high <= max(least, MARGIN) else "open"


def _hybrid(extra: Beside, resampled: Resampled) -> Iterable[Guidance]:
    """Runs that are fusions of two others, against the better of the two; without one, the best pool that two
    lists in turn make. Its interval is widened for having been chosen among several."""
    for k in dict.fromkeys(one.cutoff for one in extra.unions):
        here = [one for one in extra.unions if one.cutoff == k]
        best = max(here, key=lambda one: resampled.quantity(one.ceiling, one.a).value)
        ceiling = evidence(resampled, f"PROC@{k}", best.ceiling, best.a)
        quantity = resampled.quantity(best.gain, best.a)
        if ceiling is None or not np.isfinite(quantity.value):
            continue
        ends = percentile_interval(quantity.replicates, 1 - 0.05 / len(here))
        low, high = (None if np.isnan(end) else end for end in ends)
        gain = Evidence(f"gain in PROC@{k}", quantity.value, low, high)
        status = status_of(gain)
        told_gain = f"{_more(gain)} than the better one alone"
        text = f"{_made_of(best)}, PROC@{k} {told(ceiling)}: {told_gain}. {_MEANING[status]}"
        size = Evidence("distinct documents", best.depth)
        yield Guidance("hybrid", "pool", status, text, (ceiling, gain, *([] if best.fused else [size])))


def _made_of(union: Union) -> str:
    if union.fused:
        return f"{union.fused} joins {union.a} and {union.b}"
    return f"A hybrid pool of {union.depth} distinct documents, of {union.a} and {union.b} in turn"


def _more(gain: Evidence) -> str:
    """A gain as a number with more or less."""
    if gain.value >= 0:
        return f"{told(gain)} more"
    turned = [None if end is None else -end for end in (gain.high, gain.low)]
    return f"{told(Evidence(gain.what, -gain.value, turned[0], turned[1]))} less"


def _depths(board: Board, cutoffs: Iterable[int], resampled: Resampled) -> Iterable[Guidance]:
    """The depth that the source advises, for the runs that go deeper."""
    for k in cutoffs:
        for run in board.runs:
            if k not in DEPTHS or run.graded.pool is not None or run.documents.shape[1] <= DEPTHS[k]:
                continue
            lost = evidence(resampled, f"lost in PROC@{k}", depth_name(k), run.name)
            if lost is None or lost.high is None or lost.low is None:
                continue
            status = "holds" if lost.high < MARGIN else "does not hold" if lost.low > MARGIN else "open"
            text = (
                f"{DEPTHS[k]} candidates for @{k}: cutting {run.name} there loses {told(lost)} of PROC@{k}. "
                + {"holds": "Enough.", "does not hold": "Fetch more.", "open": "These queries do not tell."}[
                    status
                ]
            )
            yield Guidance("depth", "pool", status, text, (lost,))


def _rerankings(board: Board, cutoffs: Iterable[int], resampled: Resampled) -> Iterable[Guidance]:
    """Pairs of runs with the same documents in another order."""
    pairs = [(a, b) for a, b in combinations(board.runs, 2) if same_documents(a, b)]
    for k in cutoffs:
        for a, b in pairs:
            quantity = resampled.difference(f"reading reached@{k}", b.name, a.name)
            ends = interval(quantity)
            if ends is None:
                continue
            gain = Evidence(f"gain in RA-nWG@{k}", quantity.value, *ends)
            status = status_of(gain)
            text = f"{b.name} orders the documents of {a.name} anew: RA-nWG@{k} is {_more(gain)}. {_MEANING[status]}"
            yield Guidance("reranker", "ordering", status, text, (gain,))


def _untested(knob: str, finding: str, what: str) -> Guidance:
    return Guidance(knob, finding, "not tested", f"Not tested on this data: {what}")
