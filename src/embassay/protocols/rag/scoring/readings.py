"""What the ceilings say of each run: is it the pool or the ordering."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from embassay.protocols.rag.scoring.losses import loss_names
from embassay.protocols.rag.scoring.placed import Board, Placed
from embassay.protocols.rag.scoring.record import Evidence, Reading, RunFacts
from embassay.protocols.rag.scoring.resampled import Resampled
from embassay.protocols.rag.scoring.valued import interval
from embassay.protocols.rag.scoring.words import told

LITTLE = 0.05
"""A run that loses less than this of the ideal has little left to mend."""
MARGIN = 0.01
"""What is less than this of a score is nothing to act on."""

NEXT = {
    "pool": "Widen it next: hybrid retrieval (words and vectors fused), the index's recall, query rewriting.",
    "ordering": "Order better next: a reranker, near-duplicates removed, cleaner metadata, shorter chunks.",
}


def readings(
    board: Board, facts: Iterable[RunFacts], cutoffs: Iterable[int], resampled: Resampled
) -> tuple[Reading, ...]:
    """A reading for every run and cutoff."""
    pools = {one.name: one.pool for one in facts}
    ks = list(cutoffs)
    return tuple(_reading(run, k, pools[run.name], resampled) for run in board.runs for k in ks)


def evidence(resampled: Resampled, what: str, column: str, run: str) -> Evidence | None:
    """A quantity as evidence; None where it is undefined."""
    quantity = resampled.quantity(column, run)
    if not np.isfinite(quantity.value):
        return None
    ends = interval(quantity)
    return Evidence(what, quantity.value, *(ends or (None, None)))


def _reading(run: Placed, k: int, pool: str, resampled: Resampled) -> Reading:
    names = loss_names(k)
    titles = {
        "reached": f"RA-nWG@{k}", "ceiling": f"PROC@{k}", "share": f"%PROC@{k}", "pool": f"lost in the pool@{k}",
        "ordering": f"lost in the ordering@{k}", "excess": f"ordering less pool@{k}", "total": f"lost in all@{k}",
    }  # fmt: skip
    found = {name: evidence(resampled, titles[name], names[name], run.name) for name in titles}
    known = {name: one for name, one in found.items() if one is not None}
    if len(known) < len(titles):
        text = f"{run.name}@{k}: nothing can be said, no query has a document that is worth anything in its pool."
        return Reading(run.name, k, "untold", text, tuple(known.values()))
    if run.graded.pool is None and run.documents.shape[1] <= k:
        return Reading(run.name, k, "untold", _too_short(run, k, known["reached"]), (known["reached"],))
    finding = _finding(known)
    return Reading(run.name, k, finding, _sentence(run.name, k, finding, pool, known), tuple(known.values()))


def _finding(known: dict[str, Evidence]) -> str:
    """Which loss is larger, as far as the intervals hold it."""
    total, excess = known["total"], known["excess"]
    if total.low is None or total.high is None or excess.low is None or excess.high is None:
        return "open"
    if total.high < LITTLE:
        return "little"
    if excess.low > 0:
        return "ordering"
    if excess.high < 0:
        return "pool"
    sure = [one.low is not None and one.low > MARGIN for one in (known["pool"], known["ordering"])]
    return "both" if all(sure) else "open"


def _sentence(run: str, k: int, finding: str, pool: str, known: dict[str, Evidence]) -> str:
    heads = {
        "pool": f"{run}@{k}: the pool. A perfect order of {pool} would reach PROC {told(known['ceiling'])}; "
        f"the pool loses {told(known['pool'])}, the ordering {told(known['ordering'])}; "
        f"%PROC is {told(known['share'])}.",
        "ordering": f"{run}@{k}: the ordering. {_capital(pool)} could reach PROC {told(known['ceiling'])}, and "
        f"{told(known['reached'])} is reached, %PROC {told(known['share'])}: the ordering loses "
        f"{told(known['ordering'])}, the pool {told(known['pool'])}.",
        "both": f"{run}@{k}: both. The pool loses {told(known['pool'])} and the ordering {told(known['ordering'])}; "
        "which loses more cannot be told.",
        "little": f"{run}@{k}: little is left to mend, {told(known['total'])} of the ideal is lost.",
        "open": f"{run}@{k}: these queries do not tell. The pool loses {told(known['pool'])}, the ordering "
        f"{told(known['ordering'])}.",
    }
    return " ".join(filter(None, [heads[finding], NEXT.get(finding, "")]))


def _too_short(run: Placed, k: int, reached: Evidence) -> str:
    return (
        f"{run.name}@{k}: RA-nWG is {told(reached)}, but no list is longer than {k}, so its own list cannot tell the "
        "pool from the ordering. Score a deeper run, or give the candidates with --pool."
    )


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
