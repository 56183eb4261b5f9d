"""Cost, latency and quality weighed against each other: pure functions on what was measured (spec rag 3)."""

from embassay.protocols.rag.tradeoffs.costs import generation_cost, reranking_cost
from embassay.protocols.rag.tradeoffs.efficiency import average_performance, efficiency
from embassay.protocols.rag.tradeoffs.frontier import frontier
from embassay.protocols.rag.tradeoffs.gains import Gain, marginal_gain
from embassay.protocols.rag.tradeoffs.memory import graph_bytes, product_bytes, vector_bytes
from embassay.protocols.rag.tradeoffs.rules import Choice, Limits, choose
from embassay.protocols.rag.tradeoffs.stack import Stack

__all__ = [
    "Choice",
    "Gain",
    "Limits",
    "Stack",
    "average_performance",
    "choose",
    "efficiency",
    "frontier",
    "generation_cost",
    "graph_bytes",
    "marginal_gain",
    "product_bytes",
    "reranking_cost",
    "vector_bytes",
]
