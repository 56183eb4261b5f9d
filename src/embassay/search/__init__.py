"""How candidates are found."""

from embassay.search.exact import exact_search, exact_search_shards
from embassay.search.fusion import Reranked, rerank
from embassay.search.ranking import merge, top_k

__all__ = ["Reranked", "exact_search", "exact_search_shards", "merge", "rerank", "top_k"]
