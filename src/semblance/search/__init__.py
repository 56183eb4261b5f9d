"""How candidates are found."""

from semblance.search.exact import exact_search
from semblance.search.ranking import merge, top_k
from semblance.search.reranking import Reranked, rerank

__all__ = ["Reranked", "exact_search", "merge", "rerank", "top_k"]
