"""The source's advice to operators, and what these files say of it: holds, does not, open, or not tested.

Advice is called tested only where runs or pools here differ in just that, and holds only where its whole interval does.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations

import numpy as np

from semblance.protocols.rag.scoring.losses import DEPTHS, Union, depth_name, same_documents
from semblance.protocols.rag.scoring.placed import Board
from semblance.protocols.rag.scoring.readings import MARGIN, evidence
from semblance.protocols.rag.scoring.record import Evidence, Guidance
from semblance.protocols.rag.scoring.resampled import Resampled
from semblance.protocols.rag.scoring.valued import interval
from semblance.protocols.rag.scoring.words import told
from semblance.stats import percentile_interval

UNTESTED = (
    ("ANN index", "pool", "an HNSW index within 1-2% of a flat one: compare a run from each."),
    ("rewriting", "pool", "rewriting queries and normalising to Unicode NFC: compare a run with and without."),
    ("near-duplicates", "ordering", "removing near-duplicates and trimming before reranking: compare both runs."),
    ("shorter chunks", "ordering", "shorter chunks and cleaner metadata: they change the documents themselves."),
    ("int8", "cost", "int8 vectors only under hard memory limits, after looking at %PROC again."),
    ("dimensions", "cost", "1024 dimensions, 2048 only for a deep K: compare a run from each."),
)  # fmt: skip


def guidance(
    board: Board, cutoffs: Sequence[int], made: Sequence[Union], resampled: Resampled
) -> tuple[Guidance, ...]:
    """Every piece of advice with its status and numbers."""
    tested = [
        *_hybrid(made, resampled),
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


def _hybrid(made: Sequence[Union], resampled: Resampled) -> Iterable[Guidance]:
    """The best union at every cutoff; its interval is widened for having been chosen among all."""
    for k in dict.fromkeys(one.cutoff for one in made):
        here = [one for one in made if one.cutoff == k]
        best = max(here, key=lambda one: resampled.quantity(one.gain, one.a).value)
        ceiling = evidence(resampled, f"PROC@{k}", best.ceiling, best.a)
        quantity = resampled.quantity(best.gain, best.a)
        if ceiling is None or not np.isfinite(quantity.value):
            continue
        low, high = percentile_interval(quantity.replicates, 1 - 0.05 / len(here))
        gain = Evidence(f"gain in PROC@{k}", quantity.value, low, high)
        status = status_of(gain)
        text = (
            f"A hybrid pool, the first {best.depth // 2} of {best.a} and of {best.b}, has PROC@{k} {told(ceiling)}: "
            f"{told(gain)} more than the better one's first {best.depth}. {_meaning(status)}"
        )
        yield Guidance("hybrid", "pool", status, text, (ceiling, gain))


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
            text = (
                f"{b.name} orders the documents of {a.name} anew: {told(gain)} RA-nWG@{k}. {_meaning(status)}"
            )
            yield Guidance("reranker", "ordering", status, text, (gain,))


def _meaning(status: str) -> str:
    return {"holds": "It helps.", "does not hold": "It does not help.", "open": "These queries do not tell."}[
        status
    ]


def _untested(knob: str, finding: str, what: str) -> Guidance:
    return Guidance(knob, finding, "not tested", f"Not tested on this data: {what}")
