"""BM25 scores of texts for each other, symmetric, block by block."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property, partial
from math import inf
from tempfile import SpooledTemporaryFile
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from embassay.contracts import CellPartExecutor, Kind, RankedCandidates, ShardedCorpusSearcher, Tokenizer
from embassay.errors import UsageError
from embassay.machine import count_cores
from embassay.search import exact as blockwise
from embassay.search.exact import (
    compute_condensed_distances,
    cut_range_into_blocks,
    iterate_results_of_shards,
    merge,
    rank_scores_in_blocks,
    run_in_threads,
)
from embassay.search.sparse import SparseMatrix, sum_overlaps_of_rows_with_index
from embassay.systems.lexical.bags import (
    SECONDS_PER_TOKEN,
    Rows,
    TermBags,
    TokenIdNumbering,
    TokenIdRows,
    check_equal_text_counts,
    count_unigrams,
    invert_bags,
    make_weighted_term_matrix,
    sum_shared_term_weights_of_pairs,
    tokenise_distinct_texts,
)
from embassay.systems.lexical.terms import TERMS

_OKAPI_EPSILON = 0.25
"""Share of the mean idf that replaces a negative one, as in rank_bm25's BM25Okapi."""


@dataclass(frozen=True)
class Weighting:
    """The free parameters: `k1` >= 0, `b` in [0, 1], `delta` >= 0 (0 for okapi), and how idf is taken."""

    k1: float
    b: float
    delta: float
    okapi: bool


@dataclass(frozen=True)
class CollectionStatistics:
    """Collection statistics: idf (vocabulary,), 0 for terms in no document, and the mean length in tokens."""

    weighting: Weighting
    idf: NDArray[np.float64]
    mean_length: float

    @classmethod
    def of(
        cls, weighting: Weighting, bags: TermBags, copies: NDArray[np.int64], vocabulary: int
    ) -> CollectionStatistics:
        """The statistics of a collection that holds row i of `bags` `copies[i]` times (possibly 0)."""
        weights = copies[bags.rows].astype(np.float64)
        frequency = np.bincount(bags.terms, weights=weights, minlength=vocabulary).astype(np.float64)
        return cls.make_statistics_from_frequencies(
            weighting, frequency, int(copies.sum()), int(copies @ bags.sizes), frequency
        )

    @classmethod
    def make_statistics_from_frequencies(
        cls, weighting: Weighting, frequency: NDArray[np.float64], documents: int, tokens: int, everywhere: NDArray[Any]
    ) -> CollectionStatistics:
        """The statistics of so many documents with so many tokens, for the terms of which `frequency` (vocabulary,)
        documents have each; `everywhere` are those of all terms of the collection, in any order, which okapi needs."""
        idf = (
            _compute_okapi_idf(frequency, documents, everywhere)
            if weighting.okapi
            else _compute_plus_idf(frequency, documents)
        )
        # Without any token there is nothing to normalise, and 1 only keeps the quotient defined.
        return cls(weighting, idf, tokens / max(documents, 1) or 1.0)

    def compute_query_term_weights(self, bags: TermBags) -> NDArray[np.float64]:
        """idf times the count of the term, per entry of `bags`."""
        return bags.counts * self.idf[bags.terms]

    def compute_saturated_term_weights(self, counts: NDArray[Any], sizes: NDArray[Any]) -> NDArray[np.float64]:
        """The saturated frequency tf (k1 + 1) / (tf + k1 (1 - b + b length / mean length)) of terms that are in their
        text `counts` times, (n,); `sizes` (n,) are the lengths of the texts."""
        w = self.weighting
        return saturate_term_counts(w.k1, counts, 1 - w.b + w.b * sizes / self.mean_length)

    def compute_minimum_query_scores(self, bags: TermBags, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """What every document scores for a query: delta times the idf of the query's known tokens; `weights` are the
        `compute_query_term_weights` of the bags."""
        floors = np.bincount(bags.rows, weights=weights, minlength=len(bags))
        return np.asarray(self.weighting.delta * floors)


def saturate_term_counts(k1: float, counts: NDArray[Any], norm: NDArray[Any] | float = 1.0) -> NDArray[np.float64]:
    """tf (k1 + 1) / (tf + k1 norm) of terms that are in their text `counts` times, (n,)."""
    return np.asarray(counts * (k1 + 1) / (counts + k1 * norm))


def _compute_plus_idf(frequency: NDArray[np.float64], documents: int) -> NDArray[np.float64]:
    """ln((N + 1) / df)."""
    seen = frequency > 0
    return np.where(seen, np.log((documents + 1) / np.where(seen, frequency, 1)), 0.0)


def _compute_okapi_idf(frequency: NDArray[np.float64], documents: int, everywhere: NDArray[Any]) -> NDArray[np.float64]:
    """ln(N - df + 0.5) - ln(df + 0.5); a negative one is replaced by a quarter of the mean over all terms."""
    levels, terms = np.unique(everywhere[everywhere > 0].astype(np.float64), return_counts=True)
    if not len(levels):
        return np.zeros_like(frequency)
    idf = np.log(documents - levels + 0.5) - np.log(levels + 0.5)
    # By level, so that the mean does not depend on how the terms are numbered.
    floor = _OKAPI_EPSILON * float(idf @ terms) / terms.sum()
    by_level = np.where(idf < 0, floor, idf)
    seen = frequency > 0
    return np.where(seen, by_level[np.searchsorted(levels, np.where(seen, frequency, levels[0]))], 0.0)


_IN_MEMORY = 2**26

Kept = tuple[int, tuple[tuple[str, np.dtype[Any], int], ...]]
"""Where a record begins in the file, and the name, type and length of each of its arrays."""


class SpillingArrayStore(AbstractContextManager["SpillingArrayStore"]):
    """Records of flat arrays, kept in memory up to 64 MiB together, beyond that in a file without a name, which is gone
    with the process however that ends. It lies in the system's folder for temporary files (`TMPDIR`)."""

    def __init__(self) -> None:
        self._file = SpooledTemporaryFile(max_size=_IN_MEMORY)  # noqa: SIM115 - closed by __exit__
        self._end = 0

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def keep(self, arrays: Mapping[str, NDArray[Any]]) -> Kept:
        """Store a record of arrays. UsageError where the disk is full."""
        start = self._end
        try:
            self._file.seek(start)
            # An empty array has no view that can be cast to bytes.
            for array in arrays.values():
                self._end += self._file.write(np.ascontiguousarray(array).data.cast("B") if array.size else b"")
        except OSError as error:
            raise UsageError(
                f"The file of BM25 counts cannot be written ({error.strerror or error}).",
                mend=("Set TMPDIR to a folder with free space: about 10 bytes per distinct term per document."),
            ) from None
        return start, tuple((name, array.dtype, array.size) for name, array in arrays.items())

    def read(self, kept: Kept) -> dict[str, NDArray[Any]]:
        """The arrays of a stored record."""
        start, arrays = kept
        self._file.seek(start)
        return {
            name: np.frombuffer(self._file.read(size * dtype.itemsize), dtype=dtype) for name, dtype, size in arrays
        }


Whole = NDArray[np.integer[Any]]


@dataclass(frozen=True)
class Postings:
    """Up to a block of documents: term t of the queries is in the documents `rows[starts[t]:starts[t + 1]]`, so many
    times each as `counts` says; `sizes` (documents,) are their tokens. Integers as narrow as they can be."""

    starts: NDArray[np.int64]
    rows: Whole
    counts: Whole
    sizes: NDArray[np.int32]

    @classmethod
    def of(cls, bags: TermBags, terms: NDArray[np.int64]) -> Postings:
        """The postings of these bags for the `terms`, ascending."""
        table = invert_bags(bags, bags.counts, terms)
        return cls(
            table.starts,
            _cast_to_narrowest_integers(table.places),
            _cast_to_narrowest_integers(table.weights),
            bags.sizes.astype(np.int32),
        )

    def index(self, collection: CollectionStatistics) -> SparseMatrix:
        """Weigh the terms in the documents, as a sparse matrix."""
        rows = self.rows.astype(np.int32)
        weights = collection.compute_saturated_term_weights(self.counts, self.sizes[rows])
        # What was read from the file cannot be written, for which the kernel would be compiled once more.
        return SparseMatrix(self.starts.copy(), rows, weights, len(self.sizes))


@dataclass(frozen=True)
class ShardTermStatistics:
    """What one shard adds to the collection: its documents and tokens, the documents with each token (`ids` are the
    tokenizer's, ascending), and its postings, a block each."""

    documents: int
    tokens: int
    ids: NDArray[np.int64]
    frequency: NDArray[np.int64]
    postings: list[Postings]


@dataclass(frozen=True)
class TokenisedQueries:
    """The queries as both passes need them: the terms they have, ascending, with the tokenizer's id of each."""

    rows: SparseMatrix
    bags: TermBags
    terms: NDArray[np.int64]
    ids: NDArray[np.int64]

    @classmethod
    def of(cls, tokens: TokenIdRows, rows: Rows, numbers: TokenIdNumbering) -> TokenisedQueries:
        bags = count_unigrams(tokens).take_rows(rows)
        weighted, terms = make_weighted_term_matrix(bags, bags.counts)
        ids = np.fromiter(numbers, np.int64, len(numbers))
        return cls(weighted, bags, terms, ids[terms])


@dataclass(frozen=True)
class TermFrequencyPass:
    """The first pass. With `all_terms` the frequencies of all tokens are counted, else those of the queries."""

    tokenizer: Tokenizer
    queries: Sequence[str]
    all_terms: bool

    def __reduce__(self) -> tuple[Any, ...]:
        return TermFrequencyPass, (self.tokenizer, self.queries, self.all_terms)

    def __call__(self, shard: Sequence[str]) -> ShardTermStatistics:
        numbers = self.query_token_numbers.copy()
        tokens, (rows,) = tokenise_distinct_texts(self.tokenizer, shard, numbers=numbers)
        bags = count_unigrams(tokens)
        copies = np.bincount(rows, minlength=len(bags))
        frequency = np.bincount(
            bags.terms, weights=copies[bags.rows].astype(np.float64), minlength=len(numbers)
        ).astype(np.int64)
        # The queries' tokens were numbered first, so theirs are the first numbers.
        counted = slice(None) if self.all_terms else slice(len(self.query_token_numbers))
        ids = np.fromiter(numbers, np.int64, len(numbers))[counted]
        order = np.argsort(ids)
        terms = self.tokenised_queries.terms
        parts = list(cut_range_into_blocks(len(rows), blockwise.CANDIDATE_BLOCK)) or [slice(0, 0)]
        postings = [Postings.of(bags.take_rows(rows[part]), terms) for part in parts]
        return ShardTermStatistics(len(rows), int(copies @ bags.sizes), ids[order], frequency[counted][order], postings)

    @property
    def query_token_numbers(self) -> TokenIdNumbering:
        """The numbers of the queries' tokens."""
        return self._tokenise_queries_with_numbering[1]

    @property
    def tokenised_queries(self) -> TokenisedQueries:
        """The queries, tokenised once in every process that has shards to read."""
        return self._tokenise_queries_with_numbering[0]

    @cached_property
    def _tokenise_queries_with_numbering(self) -> tuple[TokenisedQueries, TokenIdNumbering]:
        numbers = TokenIdNumbering()
        tokens, (rows,) = tokenise_distinct_texts(self.tokenizer, self.queries, numbers=numbers)
        return TokenisedQueries.of(tokens, rows, numbers), numbers


@dataclass(frozen=True)
class BM25ScorePass:
    """The second pass: the best k of a block of documents for the queries, whose terms are weighted."""

    rows: SparseMatrix
    floors: NDArray[np.float64]
    collection: CollectionStatistics
    k: int

    def __call__(self, postings: Postings) -> RankedCandidates:
        index = postings.index(self.collection)

        def score_part(part: slice) -> NDArray[np.float64]:
            return np.asarray(
                self.floors[part, None] + sum_overlaps_of_rows_with_index("products", self.rows, index, part)
            )

        return rank_scores_in_blocks(
            lambda _: score_part, (len(self.floors), index.width), self.k, threads=count_cores()
        )


def search_shards(
    reading: TermFrequencyPass,
    weighting: Weighting,
    shards: Sequence[Sequence[str]],
    k: int,
    spread: CellPartExecutor | None,
) -> Iterator[RankedCandidates]:
    """The best k of each shard, in order, as if all shards were one collection."""
    with SpillingArrayStore() as scratch:
        totals, records = _CollectionTotals(), list[list[Kept]]()
        for facts in iterate_results_of_shards(reading, shards, spread):
            totals.add(facts)
            records.append([scratch.keep(vars(posting)) for posting in facts.postings])
        yield from _find_best_documents_of_shards(
            reading.tokenised_queries, totals, weighting, scratch, records, k, spread
        )


def search_corpora(
    reading: TermFrequencyPass,
    weighting: Weighting,
    shards: Sequence[Sequence[str]],
    each: int,
    k: int,
    spread: CellPartExecutor | None,
) -> Iterator[RankedCandidates]:
    """The best k of each shard with the statistics of its corpus, which is `each` shards in a row; then, from the same
    reading, those with the statistics of all corpora together."""
    with SpillingArrayStore() as scratch:
        together, totals, records = _CollectionTotals(), list[_CollectionTotals](), list[list[Kept]]()
        for number, facts in enumerate(iterate_results_of_shards(reading, shards, spread)):
            # A corpus begins.
            if number % each == 0:
                totals.append(_CollectionTotals())
            totals[-1].add(facts)
            together.add(facts)
            records.append([scratch.keep(vars(posting)) for posting in facts.postings])
        for number, counts in enumerate(totals):
            part = records[number * each : (number + 1) * each]
            yield from _find_best_documents_of_shards(
                reading.tokenised_queries, counts, weighting, scratch, part, k, spread
            )
        yield from _find_best_documents_of_shards(
            reading.tokenised_queries, together, weighting, scratch, records, k, spread
        )


def _find_best_documents_of_shards(
    asked: TokenisedQueries,
    totals: _CollectionTotals,
    weighting: Weighting,
    scratch: SpillingArrayStore,
    records: Sequence[Sequence[Kept]],
    k: int,
    spread: CellPartExecutor | None,
) -> Iterator[RankedCandidates]:
    """The second pass over shards of which the postings are `kept`, with the statistics of `totals`."""
    collection = totals.collection(weighting, asked.ids)
    weights = asked.bags.counts * collection.idf[asked.rows.places]
    rows = SparseMatrix(asked.rows.starts, asked.rows.places, weights, asked.rows.width)
    scoring = BM25ScorePass(rows, collection.compute_minimum_query_scores(asked.bags, weights), collection, k)
    postings = (Postings(**scratch.read(record)) for blocks_ in records for record in blocks_)
    best = iterate_results_of_shards(scoring, postings, spread)
    for blocks_ in records:
        starts = [i * blockwise.CANDIDATE_BLOCK for i in range(len(blocks_))]
        ranked = [next(best) for _ in blocks_]
        yield ranked[0] if len(ranked) == 1 else merge(ranked, starts, k)


class _CollectionTotals:
    """Totals of what is counted over the shards."""

    def __init__(self) -> None:
        self.documents, self.tokens = 0, 0
        self.ids = np.empty(0, dtype=np.int64)
        self.frequency = np.empty(0, dtype=np.int64)

    def add(self, facts: ShardTermStatistics) -> None:
        self.documents += facts.documents
        self.tokens += facts.tokens
        if np.array_equal(self.ids, facts.ids):
            self.frequency += facts.frequency
            return
        ids, places = np.unique(np.concatenate((self.ids, facts.ids)), return_inverse=True)
        sums = np.zeros(len(ids), dtype=np.int64)
        # Each list has an id once, so that none of these additions hides another.
        sums[places[: len(self.ids)]] += self.frequency
        sums[places[len(self.ids) :]] += facts.frequency
        self.ids, self.frequency = ids, sums

    def collection(self, weighting: Weighting, ids: NDArray[np.int64]) -> CollectionStatistics:
        """The statistics of the collection; its terms are those with these ids, in their order."""
        frequency = np.zeros(len(ids))
        if len(self.ids):
            frequency[:] = self.frequency[np.searchsorted(self.ids, ids)]
        return CollectionStatistics.make_statistics_from_frequencies(
            weighting, frequency, self.documents, self.tokens, self.frequency
        )


def _cast_to_narrowest_integers(values: NDArray[Any]) -> Whole:
    """The same whole numbers from 0 in as few bytes as they fit."""
    return values.astype(np.min_scalar_type(int(values.max(initial=0))))


_ROWS_PER_TASK = 64


@dataclass(frozen=True)
class MutualBm25TextScores:
    """Scores of texts for each other, both ways, over the texts as their own collection."""

    bags: TermBags
    floors: NDArray[np.float64]
    directions: tuple[tuple[SparseMatrix, SparseMatrix], ...]

    @classmethod
    def build(cls, weighting: Weighting, bags: TermBags, vocabulary: int) -> MutualBm25TextScores:
        """The scores of the rows of `bags`, whose terms are below `vocabulary`."""
        collection = CollectionStatistics.of(weighting, bags, np.ones(len(bags), dtype=np.int64), vocabulary)
        weights = (
            collection.compute_query_term_weights(bags),
            collection.compute_saturated_term_weights(bags.counts, bags.sizes[bags.rows]),
        )
        terms = np.arange(vocabulary)
        rows, index = zip(
            *((SparseMatrix(bags.starts, bags.terms, w, vocabulary), invert_bags(bags, w, terms)) for w in weights),
            strict=True,
        )
        return cls(
            bags, collection.compute_minimum_query_scores(bags, weights[0]), ((rows[0], index[1]), (rows[1], index[0]))
        )

    def scores(self, rows: slice) -> NDArray[np.float64]:
        """(score(i, j) + score(j, i)) / 2 of the rows i and all j from `rows.start` on; valid for j > i."""
        forward, back = (
            sum_overlaps_of_rows_with_index("products", *direction, rows, above_diagonal=True)
            for direction in self.directions
        )
        return np.asarray((forward + back + self.floors[rows, None] + self.floors)[:, rows.start :] / 2)

    def find_extreme_pair_scores(self) -> tuple[float, float]:
        """The lowest and highest score of two different, non-empty rows; (0, 0) where there are none."""
        filled = self.bags.sizes > 0

        def find_lowest_and_highest_score(rows: slice) -> tuple[float, float]:
            scores = self.scores(rows)
            left, right = np.arange(rows.start, rows.stop), np.arange(rows.start, len(self.bags))
            counted = (right > left[:, None]) & filled[rows, None] & filled[None, rows.start :]
            return scores.min(initial=np.inf, where=counted), scores.max(initial=-np.inf, where=counted)

        ends = run_in_threads(
            find_lowest_and_highest_score, list(cut_range_into_blocks(len(self.bags), _ROWS_PER_TASK)), count_cores()
        )
        low, high = min((f[0] for f in ends), default=0.0), max((f[1] for f in ends), default=0.0)
        return (low, high) if low <= high else (0.0, 0.0)


@dataclass(frozen=True, kw_only=True)
class BM25(ShardedCorpusSearcher):
    """BM25+ over token ids; higher is more similar. The numbers equal those of rank_bm25.

    score(q, d) = sum over the tokens of q, with repetition, of
    idf (delta + tf (k1 + 1) / (tf + k1 (1 - b + b |d| / mean |d|))), idf = ln((N + 1) / df); tokens in no
    document contribute nothing. `variant="okapi"` leaves delta out and takes idf = ln((N - df + 0.5) / (df +
    0.5)), negative ones replaced by a quarter of the mean idf. `terms` are the run's "tokens", or "words" or "letters"
    of any language (`lexical.terms`).

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
    terms: str = "tokens"
    seconds_per_token: ClassVar[float] = SECONDS_PER_TOKEN

    def __post_init__(self) -> None:
        _check_bm25_choice("variant", self.variant, ("plus", "okapi"))
        _check_bm25_choice("normalise", self.normalise, ("minmax", "self"))
        _check_bm25_choice("terms", self.terms, ("tokens", *TERMS))
        if self.terms in TERMS:
            object.__setattr__(self, "tokenizer", TERMS[self.terms]())
        if self.corpus:
            _check_bm25_choice("corpus", self.corpus, ("batch", "reference"))
        if self.variant == "okapi" and self.corpus == "reference":
            raise UsageError(
                "The okapi variant of BM25 cannot use a corpus of one text: every idf would be negative.",
                mend="Leave corpus=reference or variant=okapi out.",
            )
        if not (0 <= self.k1 < inf and 0 <= self.b <= 1 and 0 <= self.delta < inf):
            raise UsageError(
                f"BM25 cannot use k1={self.k1:g}, b={self.b:g}, delta={self.delta:g}.",
                mend="k1 and delta must be finite and at least 0, and b from 0 to 1.",
            )

    @property
    def identity(self) -> str:
        """All parameters and the tokenizer."""
        delta = f" delta={self.delta!r}" if self.variant == "plus" else ""
        corpus = " corpus=reference" if self._is_each_reference_its_own_corpus else ""
        return (
            f"bm25/1 variant={self.variant} k1={self.k1!r} b={self.b!r}{delta} normalise={self.normalise}{corpus} "
            f"tokenizer={self.tokenizer.identity}"
        )

    @property
    def kind(self) -> Kind:
        """The kind of the system: a classical metric."""
        return "classical"

    @property
    def _is_each_reference_its_own_corpus(self) -> bool:
        """Whether a pair's corpus is its reference alone."""
        return self.variant == "plus" and (self.corpus or self.pair_corpus) == "reference"

    @property
    def _term_weighting(self) -> Weighting:
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
        check_equal_text_counts(a, b)
        tokens, (rows_a, rows_b) = tokenise_distinct_texts(self.tokenizer, a, b)
        bags = count_unigrams(tokens)
        if self._is_each_reference_its_own_corpus:
            score = partial(_score_with_reference_as_corpus, self._term_weighting, bags)
        else:
            copies = np.bincount(rows_b, minlength=len(bags))
            score = partial(
                _score_row_pairs, CollectionStatistics.of(self._term_weighting, bags, copies, tokens.vocabulary), bags
            )
        scores = score(rows_a, rows_b)
        empty_a, empty_b = bags.sizes[rows_a] == 0, bags.sizes[rows_b] == 0
        if self.normalise == "minmax":
            similar = _scale_minmax(scores, ~(empty_a | empty_b))
        else:
            self_scores = score(rows_a, rows_a)
            # Divided by infinity, a score without a positive one of its own becomes 0.
            similar = np.clip(scores / np.where(self_scores > 0, self_scores, np.inf), 0, 1)
            similar[rows_a == rows_b] = 1
        similar[empty_a | empty_b] = (empty_a & empty_b)[empty_a | empty_b]
        return similar.astype(np.float32)

    def distances(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """1 - similarity of every two texts, condensed, whatever `normalise` says.

        Similarity is the mean of the scores of either text for the other, all texts being the collection,
        mapped to [0, 1] by the lowest and highest such mean; 1 for all where those are equal. Two empty texts
        have distance 0, one empty text 1, and stay out of that range. Source: SAGE spec, section 7.
        """
        tokens, (rows,) = tokenise_distinct_texts(self.tokenizer, texts)
        mutual = MutualBm25TextScores.build(
            self._term_weighting, count_unigrams(tokens.take_rows(rows)), tokens.vocabulary
        )
        low, high = mutual.find_extreme_pair_scores()
        empty = mutual.bags.sizes == 0

        def compute_distance_block(part: slice) -> NDArray[np.float64]:
            # Where all scores are equal, every distance is 0.
            distances = (high - mutual.scores(part)) / (high - low or 1.0)
            either = empty[part, None] | empty[None, part.start :]
            return np.where(either, empty[part, None] != empty[None, part.start :], distances)

        return compute_condensed_distances(compute_distance_block, len(texts), threads=count_cores())

    def search_shards(
        self, queries: Sequence[str], shards: Sequence[Sequence[str]], k: int, *, spread: CellPartExecutor | None = None
    ) -> Iterator[RankedCandidates]:
        """The k texts of the highest raw score in each shard, in order, with the statistics of all shards together."""
        reading = TermFrequencyPass(self.tokenizer, queries, all_terms=self.variant == "okapi")
        return search_shards(reading, self._term_weighting, shards, k, spread)

    def search_corpora(
        self,
        queries: Sequence[str],
        shards: Sequence[Sequence[str]],
        each: int,
        k: int,
        *,
        spread: CellPartExecutor | None = None,
    ) -> Iterator[RankedCandidates]:
        """`search` in each shard with the statistics of its own corpus, `each` shards in a row; then in each with those
        of all corpora together."""
        reading = TermFrequencyPass(self.tokenizer, queries, all_terms=self.variant == "okapi")
        return search_corpora(reading, self._term_weighting, shards, each, k, spread)


def _score_row_pairs(
    collection: CollectionStatistics, bags: TermBags, queries: Rows, documents: Rows
) -> NDArray[np.float64]:
    """The score of row `documents[i]` of `bags` for row `queries[i]`."""
    weights = (
        collection.compute_query_term_weights(bags),
        collection.compute_saturated_term_weights(bags.counts, bags.sizes[bags.rows]),
    )
    floors = collection.compute_minimum_query_scores(bags, weights[0])[queries]
    return np.asarray(floors + sum_shared_term_weights_of_pairs("products", bags, weights, queries, documents))


def _score_with_reference_as_corpus(
    weighting: Weighting, bags: TermBags, references: Rows, queries: Rows
) -> NDArray[np.float64]:
    """The score of row `references[i]` of `bags` as a corpus of its own for row `queries[i]`."""
    # In a corpus of one text every length is the mean length, and ln((1 + 1) / 1) is the idf of each of its tokens.
    weights = bags.counts * np.log(2), weighting.delta + saturate_term_counts(weighting.k1, bags.counts)
    return np.asarray(sum_shared_term_weights_of_pairs("products", bags, weights, queries, references))


def _scale_minmax(scores: NDArray[np.float64], counted: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Scores mapped so that the counted ones span [0, 1]; all 1 where they are equal."""
    if not counted.any():
        return np.ones_like(scores)
    low, high = scores[counted].min(), scores[counted].max()
    return (scores - low) / (high - low) if high > low else np.ones_like(scores)


def _check_bm25_choice(what: str, value: str, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        near = get_close_matches(value, allowed, n=1)
        raise UsageError(
            f"BM25 has no {what} {value!r}.",
            mend=f"Did you mean {near[0]!r}?" if near else f"Available: {' and '.join(allowed)}.",
        )
