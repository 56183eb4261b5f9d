"""The source's advice to operators (spec rag 9), and what this sweep says of each line.

A line is tested only where the sweep has stacks that differ in just that. It `holds` where the whole interval says so,
`does not hold` where the whole interval says the opposite, and is `open` where the interval has both.
"""

from __future__ import annotations

from embassay.protocols.rag.sweep.findings import advice_on_search as search
from embassay.protocols.rag.sweep.findings import advice_on_stacks as stacks
from embassay.protocols.rag.sweep.findings.ground import Ground
from embassay.protocols.rag.sweep.findings.record import Advice

LINES = (
    search.hnsw, search.int8, search.dimensions, search.depth_10, search.depth_30, search.half_second,
    stacks.default_stack, stacks.lite, stacks.rewriting, stacks.nfc, stacks.deduplicate, stacks.trim, stacks.pool,
    stacks.ordering,
)  # fmt: skip


def guidance(ground: Ground) -> tuple[Advice, ...]:
    """Every line with its status and figures, in the order of the spec."""
    return tuple(line(ground) for line in LINES)
