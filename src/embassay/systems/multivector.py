"""Similarities of texts that have many vectors each: late interaction of token vectors, products of sparse ones.

A pair of texts and a distance are symmetric, 1 and 0 for equal texts. A search is the model's own: queries are read as
queries, and a document scores what the library that trained the model would give it.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any, Literal, cast

import numpy as np
from numpy.typing import NDArray

from embassay.contracts import (
    CellPartExecutor,
    IndexFacts,
    MultiVectorEncoder,
    Ragged,
    RankedCandidates,
    Role,
    ShardedCorpusSearcher,
    make_ragged_array,
)
from embassay.search.exact import RowScores, compute_condensed_distances, cut_range_into_blocks
from embassay.search.maxsim import (
    PART_TOKENS,
    TokenVectors,
    compute_maxsim_matrix,
    compute_maxsim_of_pairs,
    search_by_maxsim,
)
from embassay.search.sparse import (
    InvertedIndex,
    SparseMatrix,
    compute_row_pair_products,
    sum_overlaps_of_rows_with_index,
)
from embassay.systems.cosine import find_encoder_part_with, find_encoding_failure_reasons, scale_rows_to_unit_length
from embassay.systems.lexical.bags import check_equal_text_counts

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Found = tuple[list[int], Ragged]
_BLOCK = 64
_DECIMALS = 6
"""Distances are rounded, so that how a product is added up decides no tie."""


class RaggedVectorSimilarity(ShardedCorpusSearcher):
    """The similarity of an encoder of ragged vectors.

    Equal texts have exactly 1, two empty ones too; an empty text has 0 with every other, as in `Cosine`. A text among
    `failures` has NaN with every text; as a document it is never found, as a query it finds nothing.
    """

    kind: Literal["embedding"] = "embedding"

    def __init__(
        self, encoder: MultiVectorEncoder, *, model: MultiVectorEncoder | None = None, name: str | None = None
    ) -> None:
        """`encoder` is the `model`, or it behind a cache."""
        self.encoder, self.model = encoder, model or encoder
        self.name = name or encoder.name
        self.identity = f"{self.how}({encoder.identity})"

    @property
    @abstractmethod
    def how(self) -> str:
        """The method by which texts are compared, with its version."""

    @property
    def failures(self) -> Mapping[str, str]:
        """The failures so far: texts that could not be encoded, with the reason."""
        return find_encoding_failure_reasons(self.encoder)

    def pairs(self, a: Sequence[str], b: Sequence[str]) -> NDArray[np.float32]:
        """Similarity of `a[i]` and `b[i]`, shape (n,). UsageError when their numbers differ."""
        check_equal_text_counts(a, b)
        left, right = self.rows(a), self.rows(b)
        values = np.empty(len(a))
        for part in cut_range_into_blocks(len(a), 16 * _BLOCK):
            values[part] = self._compare_pairs(left[part], right[part])
        # Where both are empty they are equal.
        values[[not x or not y for x, y in zip(a, b, strict=True)]] = 0
        values[[x == y for x, y in zip(a, b, strict=True)]] = 1
        values[mark_unencoded_texts(left) | mark_unencoded_texts(right)] = np.nan
        return values.astype(np.float32)

    def distances(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """1 - similarity of every two texts, condensed; equal texts have exactly 0."""
        rows = self.rows(texts)
        gone, similar = mark_unencoded_texts(rows), self._make_row_scores(rows)
        empty = np.array([not text for text in texts], dtype=bool)
        number = {text: i for i, text in enumerate(dict.fromkeys(texts))}
        which = np.array([number[text] for text in texts], dtype=np.int64)

        def compute_distance_block(part: slice) -> Floats:
            values = np.asarray(1 - np.round(similar(part), _DECIMALS), dtype=np.float64)
            values[empty[part]], values[:, empty[part.start :]] = 1, 1
            values[which[part, None] == which[None, part.start :]] = 0
            values[gone[part]], values[:, gone[part.start :]] = np.nan, np.nan
            return values

        # The products inside have threads of their own.
        return compute_condensed_distances(compute_distance_block, len(texts), threads=1)

    def search_shards(
        self, queries: Sequence[str], shards: Sequence[Sequence[str]], k: int, *, spread: CellPartExecutor | None = None
    ) -> Iterator[RankedCandidates]:
        """The k texts that score highest in each shard, in order, exactly; ties by index."""
        del spread  # a model that gives many vectors is asked where the cell is
        return map(_RaggedShardSearch(self, self.rows(queries, "query"), k), shards)

    def rows(self, texts: Sequence[str], role: Role | None = None) -> Ragged:
        """The rows of each text; none of an empty one."""
        return self._remove_vectors_of_empty_texts(texts, self.encoder.encode(texts, role=role))

    def stream(self, texts: Sequence[str], role: Role | None) -> Iterator[Found]:
        """Places and rows of some texts at a time, in any order."""
        cached = find_encoder_part_with("stream", self.encoder)
        if cached is not None:
            for places, rows in cached.stream(texts, role):
                yield places, self._remove_vectors_of_empty_texts([texts[place] for place in places], rows)
            return
        for part in cut_range_into_blocks(len(texts), _BLOCK):
            yield list(range(part.start, part.stop)), self.rows(texts[part], role)

    def _remove_vectors_of_empty_texts(self, texts: Sequence[str], rows: Ragged) -> Ragged:
        nothing = np.empty((0, self.model.width), dtype=np.float32)
        return make_ragged_array([row if text else nothing for text, row in zip(texts, rows, strict=True)])

    @abstractmethod
    def _compare_pairs(self, left: Ragged, right: Ragged) -> Floats:
        """The similarity of texts in pairs, (n,)."""

    @abstractmethod
    def _make_row_scores(self, rows: Ragged) -> RowScores:
        """The similarity of some texts with all from the first of them on."""

    @abstractmethod
    def index(self, rows: Ragged, name: str = "flat") -> RaggedVectorIndex:
        """Index all documents, (n,), for search."""

    @abstractmethod
    def search_document_stream(self, queries: Ragged, found: Iterator[Found], n: int, k: int) -> RankedCandidates:
        """The best k of n documents, which come as `found`, for each query."""


@dataclass(frozen=True)
class _RaggedShardSearch:
    """The best k of a shard for the queries."""

    system: RaggedVectorSimilarity
    queries: Ragged
    k: int

    def __call__(self, shard: Sequence[str]) -> RankedCandidates:
        readable = np.flatnonzero(~mark_unencoded_texts(self.queries))
        documents = _drop_rows_of_unencoded_texts(self.system.stream(list(shard), "document"))
        part = self.system.search_document_stream(self.queries[readable], documents, len(shard), self.k)
        indices = np.full((len(self.queries), self.k), -1, dtype=np.int64)
        scores = np.full((len(self.queries), self.k), -np.inf)
        indices[readable], scores[readable] = part.indices, part.scores
        return RankedCandidates(indices, scores)


class RaggedVectorIndex:
    """Documents with many vectors each, in memory, for exact search; an `Index` whose queries are ragged. `find` gives
    the best k for the rows of queries."""

    def __init__(
        self,
        find: Callable[[Ragged, int], RankedCandidates],
        facts: Callable[[float], IndexFacts],
        name: str,
        began: float,
    ) -> None:
        self.name, self.facts, self._find = name, facts(perf_counter() - began), find

    def search(self, queries: Ragged, k: int) -> RankedCandidates:
        """The best k for each query."""
        return self._find(queries, k)

    def close(self) -> None:
        """Nothing to release."""


class MaxSim(RaggedVectorSimilarity):
    """Late interaction. Two texts: the mean, over the tokens of either, of the largest cosine with a token of the
    other, in [-1, 1]; both are read as documents. A search: the model's own sum (or mean) of the largest products, of
    the tokens of a query."""

    how = "maxsim/1"

    def _compare_pairs(self, left: Ragged, right: Ragged) -> Floats:
        left_units, right_units = self._scale_to_unit_length(left), self._scale_to_unit_length(right)
        rows = np.arange(len(left))
        return (
            _compute_mean_max_similarities(left_units, right_units, rows)
            + _compute_mean_max_similarities(right_units, left_units, rows)
        ) / 2

    def _make_row_scores(self, rows: Ragged) -> RowScores:
        tokens = self._scale_to_unit_length(rows)

        def compute_similarities_of_token_rows(part: slice) -> NDArray[np.float32]:
            these, rest = (
                _select_texts_in_slice(tokens, part),
                _select_texts_in_slice(tokens, slice(part.start, len(tokens))),
            )
            # A mean over the tokens: a sum would grow with the length of a text.
            forward = compute_maxsim_matrix(these, rest) / np.maximum(these.token_counts, 1)[:, None]
            back = compute_maxsim_matrix(rest, these).T / np.maximum(rest.token_counts, 1)[None, :]
            return np.asarray((forward + back) / 2, dtype=np.float32)

        return compute_similarities_of_token_rows

    def index(self, rows: Ragged, name: str = "flat") -> RaggedVectorIndex:
        """Index the documents' token vectors as they are."""
        began, places = perf_counter(), np.arange(len(rows))
        tokens = TokenVectors.of(list(rows), self.model.width)
        parts = [
            (places[part], _select_texts_in_slice(tokens, part)) for part in tokens.split_texts_by_tokens(PART_TOKENS)
        ]

        def search_tokens(queries: Ragged, k: int) -> RankedCandidates:
            return self._search_with_model_score_scale(TokenVectors.of(list(queries), self.model.width), parts, k)

        def make_token_index_facts(seconds: float) -> IndexFacts:
            return IndexFacts(len(rows), self.model.dim, seconds, None, tokens.values.nbytes)

        return RaggedVectorIndex(search_tokens, make_token_index_facts, name, began)

    def search_document_stream(self, queries: Ragged, found: Iterator[Found], n: int, k: int) -> RankedCandidates:
        """Search a stream of documents part by part, none of which is kept."""
        del n
        tokens = TokenVectors.of(list(queries), self.model.width)
        return self._search_with_model_score_scale(tokens, _merge_documents_into_batches(found, self.model.width), k)

    def _search_with_model_score_scale(
        self, queries: TokenVectors, parts: Iterable[tuple[Ints, TokenVectors]], k: int
    ) -> RankedCandidates:
        """The best k, with scores as the model has them."""
        ranked = search_by_maxsim(queries, parts, k)
        if self.model.similarity == "meanmaxsim":
            return RankedCandidates(ranked.indices, ranked.scores / np.maximum(queries.token_counts, 1)[:, None])
        return ranked

    def _scale_to_unit_length(self, rows: Ragged) -> TokenVectors:
        """Token vectors at length 1; a text that was lost has none."""
        width = self.model.width
        vectors = TokenVectors.of([row[~np.isnan(row[:, 0])] for row in rows], width)
        return TokenVectors(vectors.starts, scale_rows_to_unit_length(vectors.values))


def _compute_mean_max_similarities(left: TokenVectors, right: TokenVectors, both: Ints) -> Floats:
    return np.asarray(compute_maxsim_of_pairs(left, right, both, both) / np.maximum(left.token_counts, 1))


def _select_texts_in_slice(tokens: TokenVectors, part: slice) -> TokenVectors:
    starts = tokens.starts[part.start : part.stop + 1]
    return TokenVectors(starts - starts[0], tokens.values[starts[0] : starts[-1]])


def _merge_documents_into_batches(found: Iterator[Found], width: int) -> Iterator[tuple[Ints, TokenVectors]]:
    """What comes, gathered until it is worth multiplying."""
    places: list[int] = []
    rows: list[NDArray[np.float32]] = []
    held = 0
    for numbers, texts in found:
        places += numbers
        rows += list(texts)
        held += sum(map(len, texts))
        if held >= PART_TOKENS:
            yield np.array(places, dtype=np.int64), TokenVectors.of(rows, width)
            places, rows, held = [], [], 0
    if places:
        yield np.array(places, dtype=np.int64), TokenVectors.of(rows, width)


class SparseProductSimilarity(RaggedVectorSimilarity):
    """Weights of terms. Two texts: the cosine of their weights, in [0, 1] where no weight is negative; both are read as
    documents. A search: the model's own inner product (or cosine) of a query and a document, in an inverted index."""

    how = "sparse/1"

    def _compare_pairs(self, left: Ragged, right: Ragged) -> Floats:
        left_units, right_units = self._scale_to_unit_length(left), self._scale_to_unit_length(right)
        rows = np.arange(len(left))
        return np.clip(compute_row_pair_products(left_units, right_units, rows, rows), -1, 1)

    def _make_row_scores(self, rows: Ragged) -> RowScores:
        weights = self._scale_to_unit_length(rows)
        index = weights.transpose()

        def compute_similarities_of_weight_rows(part: slice) -> Floats:
            products: Floats = sum_overlaps_of_rows_with_index("products", weights, index, part, above_diagonal=True)
            return np.clip(products[:, part.start :], -1, 1)

        return compute_similarities_of_weight_rows

    def index(self, rows: Ragged, name: str = "flat") -> RaggedVectorIndex:
        """Index the documents' weights in an inverted index."""
        began = perf_counter()
        scaled = self._scale_to_unit_length if self.model.similarity == "cosine" else self._build_weight_matrix
        inverted = InvertedIndex.of(scaled(rows))

        def search_inverted_index(queries: Ragged, k: int) -> RankedCandidates:
            return inverted.search(scaled(queries), k)

        def make_sparse_index_facts(seconds: float) -> IndexFacts:
            return IndexFacts(len(rows), self.model.dim, seconds, None, inverted.bytes)

        return RaggedVectorIndex(search_inverted_index, make_sparse_index_facts, name, began)

    def search_document_stream(self, queries: Ragged, found: Iterator[Found], n: int, k: int) -> RankedCandidates:
        """Search a stream of n documents in an inverted index of all of them, a few kilobytes each."""
        rows: list[NDArray[np.float32] | None] = [None] * n
        for places, texts in found:
            for i, text in zip(places, texts, strict=True):
                rows[i] = text
        filled = np.array([i for i, row in enumerate(rows) if row is not None], dtype=np.int64)
        ranked = self.index(make_ragged_array([row for row in rows if row is not None])).search(queries, k)
        # A place of -1 takes the -1 at the end and stays what it is.
        return RankedCandidates(np.append(filled, -1)[ranked.indices], ranked.scores)

    def _build_weight_matrix(self, rows: Ragged) -> SparseMatrix:
        """Weights; a text that was lost has none."""
        return SparseMatrix.of([row[~np.isnan(row[:, 0])] for row in rows], self.model.dim)

    def _scale_to_unit_length(self, rows: Ragged) -> SparseMatrix:
        weights = self._build_weight_matrix(rows)
        return weights.divide_rows_by_scale(weights.row_lengths)


def make_ragged_similarity(encoder: Any, model: Any, *, name: str) -> RaggedVectorSimilarity:
    """What an encoder of ragged vectors is compared by; `encoder` is the `model`, or it behind a cache."""
    of = MaxSim if model.kind == "tokens" else SparseProductSimilarity
    return of(cast(MultiVectorEncoder, encoder), model=model, name=name)


def mark_unencoded_texts(rows: Ragged) -> NDArray[np.bool_]:
    """Which texts could not be encoded, (n,)."""
    return np.array([len(row) > 0 and bool(np.isnan(row[0, 0])) for row in rows], dtype=bool)


def _drop_rows_of_unencoded_texts(found: Iterator[Found]) -> Iterator[Found]:
    """What comes, without texts that were lost."""
    for places, rows in found:
        readable = np.flatnonzero(~mark_unencoded_texts(rows)).tolist()
        yield [places[row] for row in readable], rows[readable]
