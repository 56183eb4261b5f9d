"""What a thousand queries cost."""

from __future__ import annotations

_QUERIES = 1000


def reranking_cost(k: int, tokens: float, usd_per_million: float) -> float:
    """US dollars for reranking the `k` candidates of each of 1,000 queries.

    `tokens` are those of one candidate: the query, the passage and its metadata, for the query is read once per
    candidate. Source: spec rag 3.1.

    >>> reranking_cost(50, 500, 0.05)
    1.25
    """
    return _QUERIES * k * tokens * usd_per_million / 1e6


def generation_cost(passages: int, tokens: float, usd_per_million: float) -> float:
    """US dollars for the passages that a generator reads for each of 1,000 queries, each of so many `tokens`; what it
    writes is not counted. Source: spec rag 3.1.

    >>> generation_cost(10, 500, 1.25)
    6.25
    """
    return _QUERIES * passages * tokens * usd_per_million / 1e6
