"""BM25 scores of texts for each other, symmetric, block by block."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import partial
from math import inf
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from embassay.contracts import Kind, Ranked, Spread, Tokenizer
from embassay.errors import UsageError
from embassay.search.exact import blocks, condensed_blocks, cores, in_threads
from embassay.systems.lexical.bags import (
    SECONDS_PER_TOKEN,
    Bags,
    Rows,
    Sparse,
    accumulate,
    accumulate_pairs,
    check_pairs,
    invert,
    tokenise,
    unigrams,
)
from embassay.systems.lexical.bm25_shards import Reading, search_corpora, search_shards
from embassay.systems.lexical.bm25_weights import Collection, Weighting, saturated

_ROWS_PER_TASK = 64


@dataclass(frozen=True)
class MutualScores:
    """Scores of texts for each other, both ways, over the texts as their own collection."""

    bags: Bags
    floors: NDArray[np.float64]
    directions: tuple[tuple[Sparse, Sparse], ...]

    @classmethod
    def build(cls, weighting: Weighting, bags: Bags, vocabulary: int) -> MutualScores:
        """The scores of the rows of `bags`, whose terms are below `vocabulary`."""
        collection = Collection.of(weighting, bags, np.ones(len(bags), dtype=np.int64), vocabulary)
        weights = (
            collection.query_weights(bags),
            collection.document_weights(bags.counts, bags.sizes[bags.rows]),
        )
        terms = np.arange(vocabulary)
        rows, index = zip(
            *((Sparse(bags.starts, bags.terms, w, vocabulary), invert(bags, w, terms)) for w in weights),
            strict=True,
        )
        return cls(bags, collection.floors(bags, weights[0]), ((rows[0], index[1]), (rows[1], index[0])))

    def scores(self, rows: slice) -> NDArray[np.float64]:
        """(score(i, j) + score(j, i)) / 2 of the rows i and all j from `rows.start` on; valid for j > i."""
        there, back = (
            accumulate("products", *direction, rows, above_diagonal=True) for direction in self.directions
        )
        return np.asarray((there + back + self.floors[rows, None] + self.floors)[:, rows.start :] / 2)

    def bounds(self) -> tuple[float, float]:
        """The lowest and highest score of two different, non-empty rows; (0, 0) where there are none."""
        filled = self.bags.sizes > 0

        def extremes(rows: slice) -> tuple[float, float]:
            scores = self.scores(rows)
            left, right = np.arange(rows.start, rows.stop), np.arange(rows.start, len(self.bags))
            counted = (right > left[:, None]) & filled[rows, None] & filled[None, rows.start :]
            return scores.min(initial=np.inf, where=counted), scores.max(initial=-np.inf, where=counted)

        found = in_threads(extremes, list(blocks(len(self.bags), _ROWS_PER_TASK)), cores())
        low, high = min((f[0] for f in found), default=0.0), max((f[1] for f in found), default=0.0)
        return (low, high) if low <= high else (0.0, 0.0)


@dataclass(frozen=True, kw_only=True)
class BM25:
    """BM25+ over token ids; higher is more similar. The numbers are those of rank_bm25.

    score(q, d) = sum over the tokens of q, with repetition, of
    idf (delta + tf (k1 + 1) / (tf + k1 (1 - b + b |d| / mean |d|))), idf = ln((N + 1) / df); tokens in no
    document contribute nothing. `variant="okapi"` leaves delta out and takes idf = ln((N - df + 0.5) / (df +
    0.5)), negative ones replaced by a quarter of the mean idf.

    `search` gives raw scores, `pairs` and `distances` values in [0, 1]. Two texts are compared with the statistics
    of `corpus`: "batch", all candidates of the call, or "reference", the reference alone. Default: the protocol's
    `pair_corpus`; okapi, whose idf is negative in a corpus of one, takes the batch. Raises UsageError for
    parameters out of range or that do not go together. Source: SAGE, A.7 (BM25 Score), spec [A2], [A3].
    """

    tokenizer: Tokenizer
    name: str = "bm25"
    k1: float = 1.5
    b: float = 0.75
    delta: float = 1.0
    variant: str = "plus"
    normalise: str = "minmax"
    corpus: str = ""
    pair_corpus: str = "batch"
    seconds_per_token: ClassVar[float] = SECONDS_PER_TOKEN

    def __post_init__(self) -> None:
        _check_choice("variant", self.variant, ("plus", "okapi"))
        _check_choice("normalise", self.normalise, ("minmax", "self"))
        if self.corpus:
            _check_choice("corpus", self.corpus, ("batch", "reference"))
        if self.variant == "okapi" and self.corpus == "reference":
            raise UsageError(
                "BM25's variant okapi has no corpus of one text: the idf of every token in it is negative.",
                mend="Leave corpus=reference or variant=okapi out.",
            )
        if not (0 <= self.k1 < inf and 0 <= self.b <= 1 and 0 <= self.delta < inf):
            raise UsageError(
                f"BM25 cannot use k1={self.k1:g}, b={self.b:g}, delta={self.delta:g}.",
                mend="k1 and delta are finite and at least 0, b is in [0, 1].",
            )

    @property
    def identity(self) -> str:
        """All parameters and the tokenizer."""
        delta = f" delta={self.delta!r}" if self.variant == "plus" else ""
        corpus = " corpus=reference" if self._alone else ""
        return (
            f"bm25/1 variant={self.variant} k1={self.k1!r} b={self.b!r}{delta} normalise={self.normalise}{corpus} "
            f"tokenizer={self.tokenizer.identity}"
        )

    @property
    def kind(self) -> Kind:
        """A classical metric."""
        return "classical"

    @property
    def _alone(self) -> bool:
        """Whether a pair's corpus is its reference alone."""
        return self.variant == "plus" and (self.corpus or self.pair_corpus) == "reference"

    @property
    def _weighting(self) -> Weighting:
        okapi = self.variant == "okapi"
        return Weighting(k1=self.k1, b=self.b, delta=0.0 if okapi else self.delta, okapi=okapi)

    def pairs(self, a: Sequence[str], b: Sequence[str]) -> NDArray[np.float32]:
        """The normalised score of two texts each, shape (n,): of the document `b[i]` for the query `a[i]`, all of `b`
        being the corpus; or, with the reference as corpus, of the document `a[i]` for the query `b[i]`, idf being ln 2
        for the tokens of the reference and 0 for others.

        "minmax" maps the batch to [0, 1], and a batch of one single score to 1. "self" divides by the score
        of `a[i]` for itself with the same statistics, clipped to [0, 1]; 0 where that is not positive, 1 for equal
        texts. Pairs of two empty texts have 1, of one empty text 0, and stay out of the batch's range. Raises
        UsageError for unequal lengths.
        """
        check_pairs(a, b)
        tokens, (rows_a, rows_b) = tokenise(self.tokenizer, a, b)
        bags = unigrams(tokens)
        if self._alone:
            score = partial(_scores_alone, self._weighting, bags)
        else:
            copies = np.bincount(rows_b, minlength=len(bags))
            score = partial(_scores, Collection.of(self._weighting, bags, copies, tokens.vocabulary), bags)
        scores = score(rows_a, rows_b)
        empty_a, empty_b = bags.sizes[rows_a] == 0, bags.sizes[rows_b] == 0
        if self.normalise == "minmax":
            similar = _minmax(scores, ~(empty_a | empty_b))
        else:
            own = score(rows_a, rows_a)
            similar = np.clip(scores / np.where(own > 0, own, np.inf), 0, 1)
            similar[rows_a == rows_b] = 1
        similar[empty_a | empty_b] = (empty_a & empty_b)[empty_a | empty_b]
        return similar.astype(np.float32)

    def distances(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """1 - similarity of every two texts, condensed, whatever `normalise` says.

        Similarity is the mean of the scores of either text for the other, all texts being the collection,
        mapped to [0, 1] by the lowest and highest such mean; 1 for all where those are equal. Two empty texts
        have distance 0, one empty text 1, and stay out of that range. Source: SAGE spec, section 7.
        """
        tokens, (rows,) = tokenise(self.tokenizer, texts)
        mutual = MutualScores.build(self._weighting, unigrams(tokens.take(rows)), tokens.vocabulary)
        low, high = mutual.bounds()
        empty = mutual.bags.sizes == 0

        def block(part: slice) -> NDArray[np.float64]:
            distances = (high - mutual.scores(part)) / (high - low or 1.0)
            either = empty[part, None] | empty[None, part.start :]
            return np.where(either, empty[part, None] != empty[None, part.start :], distances)

        return condensed_blocks(block, len(texts), threads=cores())

    def search(self, queries: Sequence[str], corpus: Sequence[str], k: int) -> Ranked:
        """The k corpus texts with the highest raw score for each query."""
        return next(self.search_shards(queries, [corpus], k))

    def search_shards(
        self,
        queries: Sequence[str],
        shards: Sequence[Sequence[str]],
        k: int,
        *,
        spread: Spread | None = None,
    ) -> Iterator[Ranked]:
        """`search` in each shard, in order, with the statistics of all shards together."""
        reading = Reading(self.tokenizer, queries, all_terms=self.variant == "okapi")
        return search_shards(reading, self._weighting, shards, k, spread)

    def search_corpora(
        self,
        queries: Sequence[str],
        shards: Sequence[Sequence[str]],
        each: int,
        k: int,
        *,
        spread: Spread | None = None,
    ) -> Iterator[Ranked]:
        """`search` in each shard with the statistics of its own corpus, `each` shards in a row; then in each with those
        of all corpora together."""
        reading = Reading(self.tokenizer, queries, all_terms=self.variant == "okapi")
        return search_corpora(reading, self._weighting, shards, each, k, spread)


def _scores(collection: Collection, bags: Bags, queries: Rows, documents: Rows) -> NDArray[np.float64]:
    """The score of row `documents[i]` of `bags` for row `queries[i]`."""
    weights = collection.query_weights(bags), collection.document_weights(bags.counts, bags.sizes[bags.rows])
    floors = collection.floors(bags, weights[0])[queries]
    return np.asarray(floors + accumulate_pairs("products", bags, weights, queries, documents))


def _scores_alone(weighting: Weighting, bags: Bags, references: Rows, queries: Rows) -> NDArray[np.float64]:
    """The score of row `references[i]` of `bags` as a corpus of its own for row `queries[i]`."""
    # In a corpus of one text every length is the mean length, and ln((1 + 1) / 1) is the idf of each of its tokens.
    weights = bags.counts * np.log(2), weighting.delta + saturated(weighting.k1, bags.counts)
    return np.asarray(accumulate_pairs("products", bags, weights, queries, references))


def _minmax(scores: NDArray[np.float64], counted: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Scores mapped so that the counted ones span [0, 1]; all 1 where they are equal."""
    if not counted.any():
        return np.ones_like(scores)
    low, high = scores[counted].min(), scores[counted].max()
    return (scores - low) / (high - low) if high > low else np.ones_like(scores)


def _check_choice(what: str, value: str, known: tuple[str, ...]) -> None:
    if value not in known:
        near = get_close_matches(value, known, n=1)
        raise UsageError(
            f"BM25 has no {what} {value!r}.",
            mend=f"Did you mean {near[0]!r}?" if near else f"Known are {' and '.join(known)}.",
        )
