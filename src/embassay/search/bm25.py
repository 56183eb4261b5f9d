"""BM25 over words, for finding candidates in any language: on the library bm25s, with ties by document id.

It differs from the system `bm25` in what it is for: that one is a similarity under test and counts the tokens of the
run's tokenizer; this one finds passages, so it counts words without regard to case.
"""

from __future__ import annotations

import re
import unicodedata
from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embassay.errors import UsageError

Hear = Callable[[str, int, int], None]
_TOLD = 10_000
_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
"""Thai, Lao, Burmese, Khmer, kana and Han are written without spaces: each sign is a word of its own."""
_SIGN = re.compile(f"[{_UNSPACED}]")


@dataclass(frozen=True)
class WordSearchHit:
    """A document that shares a word with the query, and its score."""

    id: str
    score: float


def split_words(text: str) -> list[str]:
    """The words of a text: runs of letters with their marks, digits and underscores of any script, or single signs of
    one that has no spaces; composed (NFC) and case-folded.

    >>> split_words("Die Straße, ΣΊΣΥΦΟΣ! हिन्दी 日本")
    ['die', 'strasse', 'σίσυφοσ', 'हिन्दी', '日', '本']
    """
    folded = unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).casefold())
    return _word_pattern().findall(folded)


def is_unspaced_sign(word: str) -> bool:
    """Whether a word is a sign of a script without spaces.

    >>> is_unspaced_sign("港"), is_unspaced_sign("a")
    (True, False)
    """
    return _SIGN.fullmatch(word) is not None


@cache
def _word_pattern() -> re.Pattern[str]:
    # Python's \w lacks the vowel signs of Indic scripts and the points of Hebrew and Arabic.
    marks = "".join(sign for sign in map(chr, range(0x300, 0x10000)) if unicodedata.category(sign)[0] == "M")
    return re.compile(rf"[{_UNSPACED}]|(?:(?![{_UNSPACED}])[\w{marks}])+")


class _WordIdsOfDocuments(Sequence[Sequence[int]]):
    """The words of each document as numbers, in the order of `places`: 4 bytes a word. `vocab` has them by word; a
    word beside those `asked` about counts as "", so that a document stays as long as it is."""

    def __init__(
        self, texts: Sequence[str], places: NDArray[np.int64], asked: frozenset[str] | None, hear: Hear | None
    ) -> None:
        self.vocab: dict[str, int] = {"": 0}
        self._words, self._ends = array("i"), array("q", [0])
        for done, place in enumerate(places):
            if hear is not None and not done % _TOLD:
                hear("words", done, len(places))
            terms = split_words(texts[int(place)])
            for word in terms:
                term = word if asked is None or word in asked else ""
                self._words.append(self.vocab.setdefault(term, len(self.vocab)))
            self._ends.append(len(self._words))

    def __len__(self) -> int:
        return len(self._ends) - 1

    def __getitem__(self, row: int) -> list[int]:  # type: ignore[override]
        return self._words[self._ends[row] : self._ends[row + 1]].tolist()

    def __iter__(self) -> Iterator[list[int]]:
        return (self[row] for row in range(len(self)))

    @property
    def ids(self) -> _WordIdsOfDocuments:
        """The words as numbers, which the library calls ids: the sequence itself."""
        return self

    @property
    def has_words(self) -> bool:
        """Whether there is any word."""
        return len(self._words) > 0


@dataclass(frozen=True)
class BM25Index:
    """Documents to be found by words. No stop words, no stems: it knows no language.

    score(q, d) = sum over the words of q, with repetition, of idf tf / (tf + k1 (1 - b + b |d| / mean |d|)),
    idf = ln(1 + (N - df + 0.5) / (df + 0.5)): Lucene's BM25, `k1` and `b` with its defaults. UsageError for parameters
    out of range and ids that appear twice.

    An index made for the queries that are to be `asked` has only their words, which takes a fraction of the memory and
    gives the same scores; UsageError for another query then.
    """

    ids: tuple[str, ...]
    k1: float = 1.2
    b: float = 0.75
    asked: frozenset[str] | None = None
    _index: Any = field(default=None, repr=False, compare=False)
    _order: NDArray[np.int64] | None = field(default=None, repr=False, compare=False)

    @classmethod
    def of(
        cls,
        ids: Sequence[str],
        texts: Sequence[str],
        k1: float = 1.2,
        b: float = 0.75,
        *,
        asked: Iterable[str] | None = None,
        hear: Hear | None = None,
    ) -> BM25Index:
        """The index of `texts`, which are called `ids`; for the queries `asked` alone where these are given. `hear` is
        told ("words", documents, of so many)."""
        from bm25s import BM25

        if not (k1 >= 0 and 0 <= b <= 1):
            raise UsageError(f"BM25 cannot use k1={k1:g}, b={b:g}.", mend="Use k1 >= 0 and b from 0 to 1.")
        ids = tuple(ids)
        if len(set(ids)) != len(ids):
            raise UsageError("Two documents have the same id.", mend="Give every document its own id.")
        # In the order of ids, so that the tie rule of a search by columns is that of ids.
        order = np.array(sorted(range(len(ids)), key=ids.__getitem__), dtype=np.int64)
        kept = None if asked is None else frozenset(word for query in asked for word in split_words(query))
        rows = _WordIdsOfDocuments(texts, order, kept, hear)
        index = None
        if rows.has_words:
            index = BM25(k1=k1, b=b, method="lucene", dtype="float64")
            index.index(rows, show_progress=False)
        return cls(tuple(ids[place] for place in order), k1, b, kept, index, order)

    def search(self, query: str, k: int) -> list[WordSearchHit]:
        """The k documents that score highest, best first, ties by id; fewer where fewer share a word with the query."""
        scores = self._score_all_documents(split_words(query))
        places = np.flatnonzero(scores > 0)
        best = places[np.lexsort((places, -scores[places]))[:k]]
        return [WordSearchHit(self.ids[place], float(scores[place])) for place in best]

    def scores(self, query: str, ids: Sequence[str]) -> NDArray[np.float64]:
        """The scores of the documents `ids`, (n,), 0 where one shares no word with the query. UsageError for an id that
        is not there."""
        return self._score_all_documents(split_words(query))[
            np.array([self._find_document_row(id) for id in ids], dtype=np.int64)
        ]

    def place(self, one: str) -> int:
        """Where the document called `one` stands among those that the index was made of. UsageError where it is not
        there."""
        row = self._find_document_row(one)
        return row if self._order is None else int(self._order[row])

    def _find_document_row(self, id: str) -> int:
        row = bisect_left(self.ids, id)
        if self.ids[row : row + 1] != (id,):
            raise UsageError(f"The lexical index contains no document {id!r}.")
        return row

    def _score_all_documents(self, query: Sequence[str]) -> NDArray[np.float64]:
        """The score of every document, (n,)."""
        if self.asked is not None and (other := next((word for word in query if word not in self.asked), "")):
            raise UsageError(f"The index was built for queries that do not contain the word {other!r}.")
        terms = [word for word in query if self._index is not None and word in self._index.vocab_dict]
        if not terms:
            return np.zeros(len(self.ids))
        return np.asarray(self._index.get_scores(terms), dtype=np.float64)
