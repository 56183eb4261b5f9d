"""Similarities that follow from sizes and overlaps of bags: ROUGE and Jaccard.

Overlaps are counted in integers, and a measure turns them into one correctly rounded quotient, so that values
that are equal as fractions are equal as floats, in pairs, distances and search alike.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import starmap
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from embassay.contracts import CellPartExecutor, Kind, RankedCandidates, Tokenizer
from embassay.machine import count_cores
from embassay.search.exact import (
    RowScores,
    compute_condensed_distances,
    iterate_results_of_shards,
    rank_scores_in_blocks,
)
from embassay.search.sparse import SparseMatrix, sum_overlaps_of_rows_with_index
from embassay.systems.lexical.bags import (
    SECONDS_PER_TOKEN,
    Rows,
    TermBags,
    TokenIdNumbering,
    TokenIdRows,
    check_equal_text_counts,
    collect_token_sets,
    count_bigrams,
    count_unigrams,
    invert_bags,
    make_weighted_term_matrix,
    sum_shared_term_weights_of_pairs,
    tokenise_distinct_texts,
)

Counts = NDArray[np.integer[Any]]


@dataclass(frozen=True, kw_only=True)
class OverlapSimilarity:
    """A classical metric of bags of tokens, in [0, 1], higher is more similar.

    `bags` makes one or more kinds of bags; `similarity(overlaps, sizes_a, sizes_b)`, each with one array
    per kind, broadcast together, gives float64 similarities. `measure` names both in the identity.
    """

    name: str
    measure: str
    tokenizer: Tokenizer
    bags: tuple[Callable[[TokenIdRows], TermBags], ...]
    similarity: Callable[[Sequence[Counts], Sequence[Counts], Sequence[Counts]], NDArray[np.float64]]
    seconds_per_token: ClassVar[float] = SECONDS_PER_TOKEN

    @property
    def identity(self) -> str:
        """The measure and the tokenizer."""
        return f"{self.measure} tokenizer={self.tokenizer.identity}"

    @property
    def kind(self) -> Kind:
        """A classical metric."""
        return "classical"

    def pairs(self, a: Sequence[str], b: Sequence[str]) -> NDArray[np.float32]:
        """Similarity of `a[i]` and `b[i]`, shape (n,). Raises UsageError for unequal lengths."""
        check_equal_text_counts(a, b)
        tokens, (rows_a, rows_b) = tokenise_distinct_texts(self.tokenizer, a, b)

        kinds = [make(tokens) for make in self.bags]
        overlaps = [
            sum_shared_term_weights_of_pairs("overlaps", bags, (bags.counts, bags.counts), rows_a, rows_b)
            for bags in kinds
        ]
        sizes_a, sizes_b = ([bags.sizes[rows] for bags in kinds] for rows in (rows_a, rows_b))
        return self.similarity(overlaps, sizes_a, sizes_b).astype(np.float32)

    def distances(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """1 - similarity of every two texts, condensed."""
        tokens, (rows,) = tokenise_distinct_texts(self.tokenizer, texts)
        kinds = [_IndexedBags.build(bags, bags) for bags in self._make_bags(tokens, rows)]

        def compute_distance_block(part: slice) -> NDArray[np.float64]:
            right = slice(part.start, len(texts))
            overlaps = [kind.count_overlaps_with_candidates(part, above_diagonal=True)[:, right] for kind in kinds]
            return 1 - self._compute_block_similarities(overlaps, kinds, part, right)

        return compute_condensed_distances(compute_distance_block, len(texts), threads=count_cores())

    def search(self, queries: Sequence[str], corpus: Sequence[str], k: int) -> RankedCandidates:
        """The k most similar corpus texts of each query."""
        return _OverlapShardSearch(self, queries, k)(corpus)

    def search_shards(
        self, queries: Sequence[str], shards: Sequence[Sequence[str]], k: int, *, spread: CellPartExecutor | None = None
    ) -> Iterator[RankedCandidates]:
        """`search` in each shard, in order."""
        return iterate_results_of_shards(_OverlapShardSearch(self, queries, k), shards, spread)

    def _make_bags(self, tokens: TokenIdRows, rows: Rows) -> list[TermBags]:
        taken = tokens.take_rows(rows)
        return [make(taken) for make in self.bags]

    def _compute_block_similarities(
        self, overlaps: Sequence[Counts], kinds: Sequence[_IndexedBags], rows: slice, columns: slice
    ) -> NDArray[np.float64]:
        left = [kind.queries.sizes[rows, None] for kind in kinds]
        right = [kind.candidates.sizes[None, columns] for kind in kinds]
        return self.similarity(overlaps, left, right)


@dataclass(frozen=True)
class _OverlapShardSearch:
    """The best k of a shard for the queries. They are tokenised once in every process that has shards to search."""

    system: OverlapSimilarity
    queries: Sequence[str]
    k: int

    def __reduce__(self) -> tuple[Any, ...]:
        return _OverlapShardSearch, (self.system, self.queries, self.k)

    def __call__(self, shard: Sequence[str]) -> RankedCandidates:
        system, (tokenised, (query_rows,), numbers) = self.system, self._tokenised_queries
        tokens, (rows,) = tokenise_distinct_texts(system.tokenizer, shard, numbers=(all_numbers := numbers.copy()))
        # Pairs of tokens are numbered by the size of the vocabulary, which both sides must share.
        queries = system._make_bags(replace(tokenised, vocabulary=len(all_numbers)), query_rows)

        def prepare_scores(candidates: slice) -> RowScores:
            bags = system._make_bags(tokens, rows[candidates])
            kinds = list(starmap(_IndexedBags.build, zip(queries, bags, strict=True)))
            return lambda part: system._compute_block_similarities(
                [kind.count_overlaps_with_candidates(part) for kind in kinds], kinds, part, slice(None)
            )

        return rank_scores_in_blocks(prepare_scores, (len(self.queries), len(rows)), self.k, threads=count_cores())

    @cached_property
    def _tokenised_queries(self) -> tuple[TokenIdRows, list[Rows], TokenIdNumbering]:
        numbers = TokenIdNumbering()
        return *tokenise_distinct_texts(self.system.tokenizer, self.queries, numbers=numbers), numbers


@dataclass(frozen=True)
class _IndexedBags:
    """Bags of one kind on both sides, the candidates inverted over the terms of the queries."""

    queries: TermBags
    candidates: TermBags
    rows: SparseMatrix
    index: SparseMatrix

    @classmethod
    def build(cls, queries: TermBags, candidates: TermBags) -> _IndexedBags:
        rows, vocabulary = make_weighted_term_matrix(queries, queries.counts)
        return cls(queries, candidates, rows, invert_bags(candidates, candidates.counts, vocabulary))

    def count_overlaps_with_candidates(self, rows: slice, *, above_diagonal: bool = False) -> NDArray[np.int32]:
        """Count the overlaps of the rows' bags with every candidate's, shape (rows, candidates)."""

        return sum_overlaps_of_rows_with_index("overlaps", self.rows, self.index, rows, above_diagonal=above_diagonal)


def compute_jaccard_similarity(
    overlaps: Sequence[Counts], sizes_a: Sequence[Counts], sizes_b: Sequence[Counts]
) -> NDArray[np.float64]:
    """Intersection over union of sets, from the sizes of intersection and sets; 1 for two empty sets."""
    union = sizes_a[0] + sizes_b[0] - overlaps[0]
    return np.where(union == 0, 1.0, overlaps[0] / np.maximum(union, 1))


def jaccard(*, tokenizer: Tokenizer, name: str = "jaccard") -> OverlapSimilarity:
    """|A and B| / |A or B| of the sets of token ids; in [0, 1], higher is more similar.

    Two empty texts have 1, one empty text 0. Values equal as fractions are equal floats. Source: SAGE, A.7
    (Jaccard Similarity).
    """
    return OverlapSimilarity(
        name=name,
        measure="jaccard/1",
        tokenizer=tokenizer,
        bags=(collect_token_sets,),
        similarity=compute_jaccard_similarity,
    )


def compute_mean_rouge_f(
    overlaps: Sequence[Counts], sizes_a: Sequence[Counts], sizes_b: Sequence[Counts]
) -> NDArray[np.float64]:
    """The mean of the two F scores, as one quotient of integers.

    Each argument holds unigrams, then bigrams. F is 2 overlap / (size + size), so the mean is o1/s1 + o2/s2.
    Without a bigram on either side ROUGE-2 is 0; without a token on either side the mean is 1.
    """
    unigram_sizes, bigram_sizes = (a + b for a, b in zip(sizes_a, sizes_b, strict=True))
    s1, s2 = np.maximum(unigram_sizes, 1), np.maximum(bigram_sizes, 1)
    # Below 2**53 for all texts of up to 30 million tokens, hence exact.
    mean = (overlaps[0] * s2 + overlaps[1] * s1) / (s1 * s2)
    return np.where(unigram_sizes == 0, 1.0, mean)


def rouge(*, tokenizer: Tokenizer, name: str = "rouge") -> OverlapSimilarity:
    """(ROUGE-1 F + ROUGE-2 F) / 2 over token ids; in [0, 1], higher is more similar.

    Counts are clipped; case counts, nothing is stemmed. Two empty texts have 1, one empty text 0; ROUGE-2 is
    0 where a text has fewer than two tokens, so that two equal texts of one token have 0.5. Values equal as
    fractions are equal floats. Source: SAGE, A.7 (ROUGE Score); the numbers equal rouge-score's.
    """
    return OverlapSimilarity(
        name=name,
        measure="rouge12-f/1",
        tokenizer=tokenizer,
        bags=(count_unigrams, count_bigrams),
        similarity=compute_mean_rouge_f,
    )
