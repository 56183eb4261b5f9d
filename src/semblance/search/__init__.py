"""How candidates are found."""

from semblance.search.exact import exact_search
from semblance.search.ranking import merge, top_k

__all__ = ["exact_search", "merge", "top_k"]
