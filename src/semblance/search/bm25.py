"""BM25 over words, for finding candidates in any language: on the library bm25s, with ties by document id.

It differs from the system `bm25` in what it is for: that one is a similarity under test and counts the tokens of the
run's tokenizer; this one finds passages, so it counts words without regard to case.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from semblance.errors import UsageError

_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
"""Thai, Lao, Burmese, Khmer, kana and Han are written without spaces: each sign is a word of its own."""


@dataclass(frozen=True)
class Hit:
    """A document that shares a word with the query, and its score."""

    id: str
    score: float


def words(text: str) -> list[str]:
    """The words of a text: runs of letters with their marks, digits and underscores of any script, or single signs of
    one that has no spaces; composed (NFC) and case-folded.

    >>> words("Die Straße, ΣΊΣΥΦΟΣ! हिन्दी 日本")
    ['die', 'strasse', 'σίσυφοσ', 'हिन्दी', '日', '本']
    """
    folded = unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).casefold())
    return _word().findall(folded)


@cache
def _word() -> re.Pattern[str]:
    # Python's \w lacks the vowel signs of Indic scripts and the points of Hebrew and Arabic.
    marks = "".join(sign for sign in map(chr, range(0x300, 0x10000)) if unicodedata.category(sign)[0] == "M")
    return re.compile(rf"[{_UNSPACED}]|(?:(?![{_UNSPACED}])[\w{marks}])+")


@dataclass(frozen=True)
class BM25Index:
    """Documents to be found by words. No stop words, no stems: it knows no language.

    score(q, d) = sum over the words of q, with repetition, of idf tf / (tf + k1 (1 - b + b |d| / mean |d|)),
    idf = ln(1 + (N - df + 0.5) / (df + 0.5)): Lucene's BM25, `k1` and `b` with its defaults. UsageError for parameters
    out of range and ids that are there twice.
    """

    ids: tuple[str, ...]
    k1: float = 1.2
    b: float = 0.75
    _index: Any = field(default=None, repr=False, compare=False)

    @classmethod
    def of(cls, ids: Sequence[str], texts: Sequence[str], k1: float = 1.2, b: float = 0.75) -> BM25Index:
        """The index of `texts`, which are called `ids`."""
        from bm25s import BM25

        if not (k1 >= 0 and 0 <= b <= 1):
            raise UsageError(f"BM25 cannot use k1={k1:g}, b={b:g}.", mend="k1 is at least 0, b is in [0, 1].")
        if len(set(ids)) != len(ids):
            raise UsageError("Two documents have one id.", mend="Give every document an id of its own.")
        # In the order of ids, so that the tie rule of a search by columns is that of ids.
        order = sorted(range(len(ids)), key=lambda place: ids[place])
        found = [words(texts[place]) for place in order]
        index = None
        if any(found):
            index = BM25(k1=k1, b=b, method="lucene", dtype="float64")
            index.index(found, show_progress=False)
        return cls(tuple(ids[place] for place in order), k1, b, index)

    def search(self, query: str, k: int) -> list[Hit]:
        """The k documents that score highest, best first, ties by id; fewer where fewer share a word with the query."""
        scores = self._scores(words(query))
        found = np.flatnonzero(scores > 0)
        best = found[np.lexsort((found, -scores[found]))[:k]]
        return [Hit(self.ids[place], float(scores[place])) for place in best]

    def scores(self, query: str, ids: Sequence[str]) -> NDArray[np.float64]:
        """The scores of the documents `ids`, (n,), 0 where one shares no word with the query. UsageError for an id that
        is not there."""
        places = [bisect_left(self.ids, one) for one in ids]
        for place, one in zip(places, ids, strict=True):
            if self.ids[place : place + 1] != (one,):
                raise UsageError(f"The index of words holds no document {one!r}.")
        return self._scores(words(query))[np.array(places, dtype=np.int64)]

    def _scores(self, query: Sequence[str]) -> NDArray[np.float64]:
        """The score of every document, (n,)."""
        known = [word for word in query if self._index is not None and word in self._index.vocab_dict]
        if not known:
            return np.zeros(len(self.ids))
        return np.asarray(self._index.get_scores(known), dtype=np.float64)
