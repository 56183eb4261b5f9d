"""`locks`: the published refinement (spec rag 4.1). Pairs that were confirmed are locked into a partial order, scores
move by a Plackett-Luce step, and it stops when the top has stayed the same for some turns."""

from embassay.protocols.rag.ranking.locks.engine import Locks, LocksRanker

__all__ = ["Locks", "LocksRanker"]
