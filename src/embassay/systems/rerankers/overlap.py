"""A lexical reranker for sample data and baselines: how much of the query is found in a document."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

_WORD = re.compile(r"\w+")


class OverlapReranker:
    """The share of the query's words that a document has, each weighed by its rarity among the candidates.

    A word is a run of word characters (Unicode), in lower case; each counts once, however often it occurs.
    With N candidates of which d have a word, its weight is ln(1 + (N - d + 1/2) / (d + 1/2)), the idf of BM25
    within the list. Scores lie in [0, 1]: 1 where every word is found, 0 where none is.

    >>> OverlapReranker().score("red fox", ["a red fox", "a fox", "a red hen", "a hen"]).round(2).tolist()
    [1.0, 0.5, 0.5, 0.0]
    """

    name = "overlap"
    identity = f"overlap/1/unicode-{unicodedata.unidata_version}"
    pairwise = False  # rarity is counted among the candidates

    def score(self, query: str, documents: Sequence[str]) -> NDArray[np.float32]:
        """Shares of the query's weight, (n,), in [0, 1]; all 0 for a query without words."""
        terms = _word_set(query)
        shared = [terms & _word_set(document) for document in documents]
        having = Counter(word for words in shared for word in words)
        n = len(documents)
        # Summed in one order, so that documents with the same words have the same score to the bit.
        weights = {word: np.log1p((n - having[word] + 0.5) / (having[word] + 0.5)) for word in sorted(terms)}
        total = sum(weights.values()) or 1.0
        shares = [sum(weight for word, weight in weights.items() if word in words) for words in shared]
        return np.array([share / total for share in shares], dtype=np.float32)


def _word_set(text: str) -> set[str]:
    return set(_WORD.findall(text.casefold()))
