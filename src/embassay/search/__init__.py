"""How candidates are found."""

from embassay.search.exact import exact_search, exact_search_shards, merge, top_k
from embassay.search.fusion import Reranked, rerank

__all__ = ["Reranked", "exact_search", "exact_search_shards", "merge", "rerank", "top_k"]
