"""Several rankings made one: reciprocal rank fusion, a share of the words' score, and a reranker's order."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embassay.contracts import Reranker
from embassay.errors import ModelError, UsageError
from embassay.search.bm25 import split_words

Shingle = tuple[str, ...]


@dataclass(frozen=True)
class DistinctPositions:
    """Positions of the candidates that stay, in order, and for each that was dropped (`copies`) the position of the
    kept one that it is most similar to, the earliest of equals."""

    kept: tuple[int, ...]
    copies: Mapping[int, int]


def keep_distinct(texts: Sequence[str], threshold: float, size: int = 3) -> DistinctPositions:
    """Keep the first of near copies: a text goes whose similarity with an earlier kept one is at least `threshold`.

    Similarity is `jaccard` of word shingles, in [0, 1], so a threshold above 1 drops none. UsageError for a threshold
    that is not above 0 and a size below 1. Source: RAG spec, section 9 (near-duplicate removal before reranking); it
    names no measure, this is Broder's resemblance (Compression and Complexity of Sequences, 1997).

    >>> keep_distinct(["a b c d", "e f g h", "a b c d!"], 0.8)
    DistinctPositions(kept=(0, 1), copies={2: 0})
    """
    if not threshold > 0 or size < 1:
        raise UsageError(
            f"Near-duplicates cannot be found with the threshold {threshold:g} and runs of {size} words.",
            mend="The threshold is a similarity above 0, at most 1; a run has 1 word or more.",
        )
    sizes: dict[int, int] = {}
    copies: dict[int, int] = {}
    having: dict[Shingle, list[int]] = defaultdict(list)
    for position, text in enumerate(texts):
        grams = shingles(text, size)
        similarity, earlier = _nearest_kept(grams, having, sizes)
        if similarity >= threshold:
            copies[position] = earlier
            continue
        sizes[position] = len(grams)
        for shingle in grams:
            having[shingle].append(position)
    return DistinctPositions(tuple(sizes), copies)


def jaccard(a: str, b: str, size: int = 3) -> float:
    """Common shingles over all shingles of two texts, in [0, 1]; 1 for two texts without words.

    >>> jaccard("the cat sat down", "The cat sat up.")
    0.3333333333333333
    """
    first, other = shingles(a, size), shingles(b, size)
    return len(first & other) / len(first | other)


def shingles(text: str, size: int = 3) -> frozenset[Shingle]:
    """The runs of `size` consecutive words of a text, as a set; of a shorter text, all its words as one run.

    Words are those of our BM25: case and punctuation make no difference. A text without words has one empty run.
    """
    terms = split_words(text)
    return frozenset(tuple(terms[start : start + size]) for start in range(max(1, len(terms) - size + 1)))


def _nearest_kept(
    grams: frozenset[Shingle], having: Mapping[Shingle, Sequence[int]], sizes: Mapping[int, int]
) -> tuple[float, int]:
    """The highest similarity with a kept text and which one it is; (-inf, -1) where none has a shingle in common."""
    common = Counter(position for shingle in grams for position in having.get(shingle, ()))
    best = (-math.inf, -1)
    for position in sorted(common):
        similarity = common[position] / (len(grams) + sizes[position] - common[position])
        if similarity > best[0]:
            best = similarity, position
    return best


MISSING = 1_000_000_000
"""The rank, among ties, of what a list does not hold."""


@dataclass(frozen=True)
class Fused:
    """A document, its fused score, and its rank (from 1) in each list, None where that does not hold it."""

    id: str
    score: float
    ranks: tuple[int | None, ...]


def fuse_by_reciprocal_rank(rankings: Sequence[Sequence[str]], c: float = 60.0) -> list[Fused]:
    """The union of rankings (best first, ids) by the sum of 1 / (c + rank), ranks from 1, 0 for a list without it.

    Ties go to the better rank in the first list, then in the second, and so on, then to the lower id. An id that a list
    holds twice counts once, where it stands first. UsageError for a `c` that is negative or no number. Source: Cormack,
    Clarke and Büttcher (SIGIR 2009); tie order of the RAG spec, 3.4 and 4.

    >>> [(one.id, round(one.score, 6)) for one in fuse_by_reciprocal_rank([["a", "b"], ["b"]])]
    [('b', 0.032522), ('a', 0.016393)]
    """
    if not (c >= 0 and math.isfinite(c)):
        raise UsageError(f"The constant of RRF is {c}.", mend="Use a number from 0, usually 60.")
    places = [_rank_ids(ranking) for ranking in rankings]
    ids = dict.fromkeys(key for ranking in rankings for key in ranking)
    fused = [Fused(key, 0.0, tuple(ranks.get(key) for ranks in places)) for key in ids]
    # One exact sum: the order of the lists must not decide what ties.
    scored = [
        Fused(hit.id, math.fsum(1 / (c + rank) for rank in hit.ranks if rank), hit.ranks) for hit in fused
    ]
    return sorted(scored, key=lambda hit: (-hit.score, *(rank or MISSING for rank in hit.ranks), hit.id))


def _rank_ids(ranking: Sequence[str]) -> dict[str, int]:
    return {key: rank for rank, key in enumerate(dict.fromkeys(ranking), start=1)}


Scores = NDArray[np.float64]


def boost_scores(
    scores: NDArray[np.floating[Any]], words: NDArray[np.floating[Any]], weight: float
) -> Scores:
    """`standardised(scores) + weight * standardised(words)` over one query's candidates, (n,), in [0, 1 + weight].

    `scores` are a reranker's or inner products, higher is better; `words` is the BM25 score of each candidate, 0 where
    it shares no word with the query (`BM25Index.scores`). A weight of 0 gives `scores` back as they are. UsageError for
    a weight that is negative or no number and lists that are not as long, ModelError for scores that are not finite.
    Source: RAG spec, section 9 (BM25 feature added to rerank scores); how both are brought to one scale is ours.

    >>> boost_scores(np.array([2.0, 4.0, 3.0]), np.array([9.0, 0.0, 0.0]), 0.5).tolist()
    [0.5, 1.0, 0.5]
    """
    if not (weight >= 0 and math.isfinite(weight)):
        raise UsageError(f"The weight of the words' score is {weight}.", mend="Use a number from 0.")
    if scores.ndim != 1 or scores.shape != words.shape:
        raise UsageError(
            f"Cannot add the words' scores {words.shape} to scores {scores.shape}.",
            mend="Both have one score for each candidate.",
        )
    if not (np.isfinite(scores).all() and np.isfinite(words).all()):
        raise ModelError("The scores of candidates are not all finite.")
    if weight == 0:
        return np.asarray(scores, dtype=np.float64)
    return np.asarray(standardise_scores(scores) + weight * standardise_scores(words), dtype=np.float64)


def standardise_scores(scores: NDArray[np.floating[Any]]) -> Scores:
    """Scores from 0 (the list's lowest) to 1 (its highest), linearly; all 0 where they are all equal.

    A list without differences says nothing of which candidate is better, so it must not move any.

    >>> standardise_scores(np.array([3.0, 5.0, 4.0])).tolist()
    [0.0, 1.0, 0.5]
    """
    values = np.asarray(scores, dtype=np.float64)
    if not values.size or values.min() == values.max():
        return np.zeros(len(values))
    low, high = values.min(), values.max()
    return np.asarray((values - low) / (high - low))


@dataclass(frozen=True)
class Reranked:
    """Ids, best first, with their scores."""

    ids: tuple[str, ...]
    scores: tuple[float, ...]


def rerank(
    reranker: Reranker, query: str, ids: Sequence[str], texts: Sequence[str], k: int | None = None
) -> Reranked:
    """The best k (by default all) of the documents `ids` with these `texts`, by the reranker's scores.

    Equal scores keep the order in which the documents were found. UsageError when ids and texts are not as
    many or k is below 1, ModelError for scores that are not one finite number for each document.
    """
    if len(ids) != len(texts) or (k is not None and k < 1):
        raise UsageError(
            f"Cannot rerank {len(ids)} ids with {len(texts)} texts to the best {k}.",
            mend="Give one text for each id, and a k of at least 1.",
        )
    scores = np.asarray(reranker.score(query, texts), dtype=np.float64)
    if scores.shape != (len(ids),) or not np.isfinite(scores).all():
        raise ModelError(
            f"The reranker {reranker.name!r} did not give one finite score for each of {len(ids)} documents."
        )
    order = np.argsort(-scores, kind="stable")[:k]
    return Reranked(tuple(ids[i] for i in order), tuple(scores[order].tolist()))
