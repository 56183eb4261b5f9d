"""Exact search by late interaction (MaxSim), in blocks of bounded memory.

score(q, d) = sum over the token vectors of q of the largest inner product with a token vector of d (Khattab and
Zaharia, ColBERT, SIGIR 2020). Blocks are multiplied in float32; whatever could be among the best under the rounding
error of that is scored again in float64, each pair by itself, so that a result depends neither on blocks nor on the
number of cores.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from embassay.contracts import RankedCandidates
from embassay.errors import ModelError, UsageError
from embassay.search.exact import SCORE_DECIMALS, cut_range_into_blocks, reserve_matrix_threads, run_in_threads

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]

PART_TOKENS = 2**17
"""Token vectors of documents that `search_by_maxsim` is best given at a time: 64 MiB of 128 dimensions."""
_QUERY_TOKENS = 256
_PRODUCTS = 2**21
"""Products of one thread at a time: 8 MiB."""


@dataclass(frozen=True)
class TokenVectors:
    """Token vectors of some texts, one below the other: text i has `values[starts[i]:starts[i + 1]]`, (tokens, dim)."""

    starts: Ints
    values: Floats

    def __len__(self) -> int:
        return len(self.starts) - 1

    @classmethod
    def of(cls, texts: Sequence[Floats], dim: int) -> TokenVectors:
        """Of texts with (tokens, dim) each. ModelError for values that are not finite."""
        starts = np.cumsum([0, *map(len, texts)], dtype=np.int64)
        values = np.concatenate([np.empty((0, dim), dtype=np.float32), *texts])
        if not np.isfinite(values).all():
            raise ModelError("The token vectors to search contain values that are not finite.")
        return cls(starts, values)

    def tokens(self, text: int) -> Floats:
        """The token vectors of one text."""
        return self.values[self.starts[text] : self.starts[text + 1]]

    @property
    def token_counts(self) -> Ints:
        """Tokens of each text."""
        return np.diff(self.starts)

    def split_texts_by_tokens(self, tokens: int) -> list[slice]:
        """Consecutive texts with at most so many tokens together, or a single one."""
        parts, first = [], 0
        for text in range(1, len(self) + 1):
            if text == len(self) or self.starts[text + 1] - self.starts[first] > tokens:
                parts.append(slice(first, text))
                first = text
        return parts


def compute_maxsim(query: Floats, document: Floats) -> float:
    """Compute the MaxSim score of two texts in float64; -m without document tokens, 0 without query.

    >>> compute_maxsim(np.eye(2, dtype=np.float32), np.array([[1, 0], [0.6, 0.8]], dtype=np.float32)).__round__(3)
    1.8
    """
    if not len(document):
        return float(-len(query))
    products = document.astype(np.float64) @ query.astype(np.float64).T
    return float(products.max(axis=0).sum())


def compute_maxsim_of_pairs(left: TokenVectors, right: TokenVectors, a: Ints, b: Ints) -> NDArray[np.float64]:
    """The score of the query `a[i]` of one and the document `b[i]` of the other, (n,)."""
    out = np.empty(len(a))

    def score_part(part: slice) -> None:
        for i in range(part.start, part.stop):
            out[i] = compute_maxsim(left.tokens(a[i]), right.tokens(b[i]))

    with reserve_matrix_threads(enough=len(a) > 64) as threads:
        run_in_threads(score_part, list(cut_range_into_blocks(len(a), 64)), threads)
    return out


def compute_maxsim_matrix(queries: TokenVectors, documents: TokenVectors) -> Floats:
    """The scores of every query and every document, (queries, documents), in float32."""
    out = np.empty((len(queries), len(documents)), dtype=np.float32)
    _fill_maxsim_scores(out, queries, documents)
    return out


def search_by_maxsim(queries: TokenVectors, corpus: Iterable[tuple[Ints, TokenVectors]], k: int) -> RankedCandidates:
    """The k documents of the highest score for each query, exactly: rounded to 1e-6, ties to the lower index.

    The corpus comes in parts: the documents' indices, in any order, and their vectors. In memory are a part, two
    products of 8 MiB for each core, and a float32 for every query and document of the part. UsageError for k < 1 and
    vectors of another width, ModelError for values that are not finite.
    """
    if k < 1:
        raise UsageError(f"Cannot search for the best {k}.", mend="Use k of at least 1.")
    ranked = RankedCandidates.make_empty_candidates(len(queries), k)
    errors = _bound_score_errors(queries)
    for places, part in corpus:
        if part.values.shape[1] != queries.values.shape[1]:
            raise UsageError(
                f"Query token vectors have {queries.values.shape[1]} dimensions, but those of documents have "
                f"{part.values.shape[1]}."
            )
        if len(part):
            ranked = _merge_corpus_part(ranked, queries, places, part, errors)
    return ranked


def _bound_score_errors(queries: TokenVectors) -> NDArray[np.float64]:
    """A bound on the rounding error of each query's float32 score with vectors of length 1, whatever the order of
    additions (Higham, Accuracy and Stability, section 3.1), and a unit of the last digit that counts."""
    dim, lengths = queries.values.shape[1], queries.token_counts
    roundoff = (dim + lengths) * float(np.finfo(np.float32).eps) / 2
    return np.asarray(lengths * roundoff / (1 - roundoff) + 10.0**-SCORE_DECIMALS)


def _merge_corpus_part(
    before: RankedCandidates, queries: TokenVectors, places: Ints, part: TokenVectors, errors: NDArray[np.float64]
) -> RankedCandidates:
    """The best so far, and those of one part more."""
    longest = float(np.sqrt(np.einsum("td,td->t", part.values, part.values).max(initial=1.0)))
    # Twice, because a score and the limit it is held against may both be off.
    margin = 2 * errors * max(1.0, longest * _find_longest_vector_length(queries))
    rough, k = compute_maxsim_matrix(queries, part), before.indices.shape[1]
    size = min(k, len(part))
    least = np.partition(rough, len(part) - size, axis=1)[:, len(part) - size] if size == k else -np.inf
    wanted = rough >= (np.maximum(least, before.scores[:, -1]) - margin)[:, None]
    rows, columns = np.nonzero(wanted)
    exact = np.round(compute_maxsim_of_pairs(queries, part, rows, columns), SCORE_DECIMALS) + 0.0
    width = int(wanted.sum(axis=1).max(initial=0))
    column = (np.cumsum(wanted, axis=1) - 1)[rows, columns]
    indices = np.full((len(queries), width), -1, dtype=np.int64)
    scores = np.full((len(queries), width), -np.inf)
    indices[rows, column], scores[rows, column] = places[columns], exact
    indices = np.concatenate([before.indices, indices], axis=1)
    scores = np.concatenate([before.scores, scores], axis=1)
    order = np.lexsort((indices, -scores), axis=1)[:, :k]
    return RankedCandidates(np.take_along_axis(indices, order, axis=1), np.take_along_axis(scores, order, axis=1))


def _find_longest_vector_length(vectors: TokenVectors) -> float:
    return float(np.sqrt(np.einsum("td,td->t", vectors.values, vectors.values).max(initial=0.0)))


def _fill_maxsim_scores(out: Floats, queries: TokenVectors, documents: TokenVectors) -> None:
    """Every score, in float32; a block of queries and one of documents is the work of one thread."""
    from embassay.search.kernels import fill_sums_of_largest_products

    wide = queries.split_texts_by_tokens(_QUERY_TOKENS)
    tasks = [
        (rows, columns)
        for rows in wide
        for columns in documents.split_texts_by_tokens(_PRODUCTS // max(1, int(queries.token_counts[rows].sum())))
    ]

    def fill_maxsim_scores_of_block(part: slice) -> None:
        for rows, columns in tasks[part]:
            asked, values = _slice_token_values(queries, rows), _slice_token_values(documents, columns)
            products = values @ asked.T
            starts = (queries.starts[rows.start : rows.stop + 1], documents.starts[columns.start : columns.stop + 1])
            fill_sums_of_largest_products(
                products, starts[0] - starts[0][0], starts[1] - starts[1][0], out[rows, columns]
            )

    with reserve_matrix_threads(enough=len(tasks) > 1) as threads:
        run_in_threads(fill_maxsim_scores_of_block, list(cut_range_into_blocks(len(tasks), 1)), threads)


def _slice_token_values(vectors: TokenVectors, texts: slice) -> Floats:
    return vectors.values[vectors.starts[texts.start] : vectors.starts[texts.stop]]
