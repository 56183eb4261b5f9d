"""How candidates are found."""

from semblance.search.exact import exact_search, exact_search_shards
from semblance.search.ranking import merge, top_k
from semblance.search.reranking import Reranked, rerank

__all__ = ["Reranked", "exact_search", "exact_search_shards", "merge", "rerank", "top_k"]
