"""Comparing vectors as a model says that its own are compared: by dot product or distance, in place of the cosine."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypedDict

import numpy as np
from numpy.typing import NDArray

from embassay.contracts import CellPartExecutor, Encoder, RankedCandidates
from embassay.errors import UsageError
from embassay.search import exact_search
from embassay.search.exact import top_k
from embassay.systems.cosine import (
    Cosine,
    Vectors,
    VectorTransformOptions,
    add_unranked_queries_to_ranking,
    compute_row_lengths,
    find_encoder_part_with,
    scale_rows_to_unit_length,
)

Floats = NDArray[np.float64]
COSINE = "cosine"
NAMES = {"dot": "the dot product", "euclidean": "Euclidean distance", "manhattan": "Manhattan distance"}
"""What sentence-transformers calls a similarity -> in words. Any other name is taken for the cosine's."""
_DIGITS = 6
_ROWS = 256


def find_model_own_similarity(encoder: Any) -> str:
    """The name of the similarity that a model was made for: a key of `NAMES`, or `cosine`, also where it says nothing,
    and where its vectors are brought to one length or are rounded, which leaves no lengths to compare."""
    stating = find_encoder_part_with("similarity", encoder)
    stated = COSINE if stating is None else stating.similarity
    name = str(getattr(stated, "value", stated))
    transform = getattr(find_encoder_part_with("transform", encoder), "transform", None)
    transform = transform if isinstance(transform, VectorTransformOptions) else VectorTransformOptions()
    rounded_off = transform.quantize != "float32"
    at_length_1 = transform.normalize and name != "manhattan"
    return COSINE if name not in NAMES or rounded_off or at_length_1 else name


def find_systems_forced_to_cosine(system: Any) -> dict[str, str]:
    """The systems whose vectors are compared by cosine though their model was made for another similarity: name -> a
    key of `NAMES`. The system itself, or the members of an ensemble, whose similarities need the cosine's scale."""
    others: dict[str, str] = {}
    for member in getattr(system, "members", ()):
        others |= find_systems_forced_to_cosine(member)
    if isinstance(system, Cosine) and not isinstance(system, NamedVectorSimilarity):
        by = find_model_own_similarity(system.encoder)
        others |= {} if by == COSINE else {system.name: by}
    return others


def compute_similarity_matrix_by_name(by: str, left: Any, right: Any) -> Floats:
    """Similarity of the rows of two arrays, (n, d) and (m, d) -> (n, m), by a name of `NAMES` or the cosine. Distances
    are below 0. To six digits of the largest, so that float noise decides nothing.

    >>> compute_similarity_matrix_by_name("dot", np.array([[1.0, 2.0]]), np.array([[3.0, 0.5]])).tolist()
    [[4.0]]
    """
    from scipy.spatial.distance import cdist  # slow to import

    a, b = (np.asarray(side, dtype=np.float64) for side in (left, right))
    if by in ("euclidean", "manhattan"):
        return round_scores_relative_to_largest(-cdist(a, b, "euclidean" if by == "euclidean" else "cityblock"))
    if by != "dot":
        a, b = (side / np.maximum(np.linalg.norm(side, axis=1, keepdims=True), 1e-12) for side in (a, b))
    return round_scores_relative_to_largest(a @ b.T)


def round_scores_relative_to_largest(scores: Floats) -> Floats:
    """To six digits after those of the largest; a power of two, so that equal scores stay equal."""
    largest = np.abs(scores).max(initial=0, where=np.isfinite(scores))
    unit = 1.0 if not largest else 2.0 ** np.ceil(np.log2(largest))
    return np.asarray(np.round(scores / unit, _DIGITS) * unit + 0.0)


def choose_power_of_two_scale(vectors: Vectors) -> Any:
    """About the length of the longest row; 1 where there is none."""
    lengths = compute_row_lengths(np.asarray(vectors, dtype=np.float64))
    longest = np.nanmax(lengths, initial=0)
    return np.float64(2.0 ** np.ceil(np.log2(longest)) if longest else 1.0)


class NamedVectorSimilarity(Cosine):
    """The similarity `by` of two texts' vectors, a name of `NAMES`; higher is more similar, and distances are below 0.

    Of `pairs` and `between` only the order within a call counts: values are divided by the largest. `distances` are not
    to be had: a dot product has no scale from 0 to 1. A text among `failures` has NaN with every text.
    """

    def __init__(self, encoder: Encoder, by: str, *, name: str | None = None) -> None:
        super().__init__(encoder, name=name)
        self.by = by
        self.identity = f"{by}({encoder.identity})"

    def pairs(self, a: Sequence[str], b: Sequence[str]) -> NDArray[np.float32]:
        """Similarity of `a[i]` and `b[i]`, (n,)."""
        if len(a) != len(b):
            raise UsageError(f"pairs() needs the same number of texts in a and b, found {len(a)} and {len(b)}.")
        return _divide_by_largest_value(_pair_similarity(self.by, self.vectors(a), self.vectors(b)))

    def compare_indexed_pairs(
        self, texts: Sequence[str], left: NDArray[np.int64], right: NDArray[np.int64]
    ) -> NDArray[np.float32]:
        """Similarity of `texts[left[i]]` and `texts[right[i]]`, (n,)."""
        vectors = self.vectors(texts)
        return _divide_by_largest_value(_pair_similarity(self.by, vectors[left], vectors[right]))

    def distances(self, texts: Sequence[str]) -> NDArray[np.float32]:  # noqa: ARG002 - there are none
        """Raise UsageError, because these similarities have no distances."""
        raise UsageError(f"{self.name!r} uses {NAMES[self.by]}, which is not a distance from 0 to 1.")

    def search_shards(
        self,
        queries: Sequence[str],
        shards: Sequence[Sequence[str]],
        k: int,
        *,
        spread: CellPartExecutor | None = None,  # noqa: ARG002 - by the model itself, here
    ) -> Iterator[RankedCandidates]:
        """The k best of each shard, in order; ties to the lower index."""
        asked = self.vectors(queries, "query")
        for shard in shards:
            yield find_nearest_by_similarity(self.by, asked, self.vectors(list(shard), "document"), k)


def find_nearest_by_similarity(by: str, queries: Vectors, corpus: Vectors, k: int) -> RankedCandidates:
    """The k best of the corpus for each query by a similarity of `NAMES`; rows of NaN are not found, and find
    nothing."""
    left, right = (np.flatnonzero(~np.isnan(rows).any(axis=1)) for rows in (queries, corpus))
    best = _search_exactly(by, queries[left], corpus[right], k)
    return add_unranked_queries_to_ranking(best, left, right, len(queries))


def _search_exactly(by: str, queries: Vectors, corpus: Vectors, k: int) -> RankedCandidates:
    if by == "dot":
        # Scores are rounded to 1e-6 there: at lengths about 1 that is float noise, and nothing else.
        units = choose_power_of_two_scale(queries), choose_power_of_two_scale(corpus)
        best = exact_search(_as_float32(queries / units[0]), _as_float32(corpus / units[1]), k)
        return RankedCandidates(best.indices, best.scores * units[0] * units[1])
    parts = [
        top_k(compute_similarity_matrix_by_name(by, queries[at : at + _ROWS], corpus), k)
        for at in range(0, len(queries), _ROWS)
    ]
    if not parts:
        return RankedCandidates(np.empty((0, k), dtype=np.int64), np.empty((0, k)))
    return RankedCandidates(
        np.concatenate([part.indices for part in parts]), np.concatenate([part.scores for part in parts])
    )


def _pair_similarity(by: str, left: Vectors, right: Vectors) -> Floats:
    a, b = (np.asarray(side, dtype=np.float64) for side in (left, right))
    if by == "dot":
        return np.asarray(np.einsum("nd,nd->n", a, b))
    apart = np.abs(a - b)
    return np.asarray(-apart.sum(axis=1) if by == "manhattan" else -np.sqrt(np.square(apart).sum(axis=1)))


def _divide_by_largest_value(values: Floats) -> NDArray[np.float32]:
    largest = float(np.nanmax(np.abs(values), initial=0)) if len(values) else 0.0
    return np.asarray(values / (largest or 1.0), dtype=np.float32)


@dataclass(frozen=True)
class InnerProductLayout:
    """Vectors for an index that searches by inner product, in which the order is that of the similarity `by`.

    For the cosine all have length 1; of a dot product they stay as they are. For Euclidean distance documents have one
    value more, minus half of their squared length, and queries a 1: the inner product then falls as the distance
    grows. Both are taken from the `middle` of the documents and in a `unit` of their own, which changes no order and
    keeps the digits.
    """

    by: str
    middle: Floats
    unit: float = 1.0

    @classmethod
    def of(cls, by: str, documents: Vectors) -> InnerProductLayout:
        """For these documents (n, d). UsageError for Manhattan distance, for which there is none."""
        if by == "manhattan":
            raise UsageError("No index supports Manhattan distance.")
        if by != "euclidean" or not len(documents):
            return cls(by, np.zeros(1))
        middle = documents.mean(axis=0, dtype=np.float64)
        return cls(by, middle, choose_power_of_two_scale(documents - middle))

    def make_inner_product_document_vectors(self, vectors: Vectors) -> Vectors:
        """Documents (n, d), as they are indexed."""
        if self.by != "euclidean":
            return self.queries(vectors)
        away = (np.asarray(vectors, np.float64) - self.middle) / self.unit
        half = np.square(away).sum(axis=1, keepdims=True) / 2
        return _scale_longest_to_one(np.hstack([away, -half]))

    def queries(self, vectors: Vectors) -> Vectors:
        """Queries (n, d), as they are searched for."""
        if self.by == COSINE:
            return scale_rows_to_unit_length(vectors)
        if self.by == "dot":
            return _scale_longest_to_one(vectors)
        away = (np.asarray(vectors, np.float64) - self.middle) / self.unit
        return _scale_longest_to_one(np.hstack([away, np.ones((len(away), 1))]))


def _scale_longest_to_one(vectors: Any) -> Vectors:
    """The longest at about 1, and the others by the same power of two: scores are rounded to 1e-6 in a search."""
    return _as_float32(vectors / choose_power_of_two_scale(vectors))


def _as_float32(values: Any) -> Vectors:
    return np.asarray(values, dtype=np.float32)


Compared = Literal["cosine", "own"]
"""How a protocol compares the vectors of models: all alike, or each as it was made for."""


class TextComparisonOptions(TypedDict, total=False):
    """How a protocol compares texts: see `embassay.systems.open_system`."""

    pair_corpus: str
    compared: Compared
