"""What all indexes of the library faiss share: how they are kept, how they answer, what they take."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embassay.contracts import IndexFacts, RankedCandidates
from embassay.errors import ModelError, UsageError
from embassay.randomness import make_seeded_generator
from embassay.search.exact import bound_largest_vector_norm, cut_range_into_blocks, exact_search_shards
from embassay.search.indexes.store import (
    AUTO,
    Floats,
    IndexBuilderAndSerializer,
    IndexRecipe,
    Vectors,
    list_vector_shards,
    load_or_build_index,
    measure_shards_shape,
    release_mapped_rows,
)

SearchParameters = Callable[[Any], Any]
EF = 64
"""Candidates that a search of a graph keeps."""


class FaissIndex:
    """An index of faiss under our contract. `search_parameters` makes, from the library, what each search is told."""

    def __init__(
        self,
        name: str,
        recipe: IndexRecipe,
        folder: Path | None,
        build: Callable[[], Any],
        search_parameters: SearchParameters | None = None,
    ) -> None:
        self.name = name
        faiss = import_faiss(recipe.kind)
        index = load_or_build_index(
            recipe,
            folder,
            IndexBuilderAndSerializer(
                build,
                write=lambda index, write: faiss.write_index(index, faiss.PyCallbackIOWriter(write)),
                read=lambda read: faiss.read_index(faiss.PyCallbackIOReader(read)),
            ),
        )
        self._index = index.value
        self._search_parameters = None if search_parameters is None else search_parameters(faiss)
        self.facts = IndexFacts(
            n=int(self._index.ntotal),
            dim=int(self._index.d),
            build_seconds=index.seconds,
            disk_bytes=index.disk_bytes,
            memory_bytes=measure_index_memory(faiss, self._index),
            found=index.found,
        )

    def search(self, queries: Floats, k: int) -> RankedCandidates:
        """The best k of each query that the index finds, by its own scores, ties by number."""
        if self._index is None:
            raise UsageError(f"The index {self.name!r} is closed.", mend="Open it again.")
        if queries.ndim != 2 or queries.shape[1] != self.facts.dim or k < 1:
            raise UsageError(
                f"Cannot search {self.facts.dim} dimensions for the best {k} with queries {queries.shape}.",
                mend="Queries need two axes (items, dimensions), and k must be at least 1.",
            )
        queries = np.ascontiguousarray(queries, dtype=np.float32)
        if not np.isfinite(queries).all():
            raise ModelError("The queries contain values that are not finite.")
        scores, indices = self._index.search(queries, k, params=self._search_parameters)
        return _convert_faiss_ranking(indices, scores)

    def close(self) -> None:
        """Release the memory."""
        self._index = None


class FaissGraphIndex(FaissIndex):
    """A graph of near vectors, whose width of search can be set: `ef` candidates are kept while it is asked.

    `ef` may be `auto`: it is then 64 until `set_search_width` says what was found, for which it takes queries
    (`store.smallest_width`).
    """

    def __init__(
        self, name: str, recipe: IndexRecipe, folder: Path | None, build: Callable[[], Any], ef: int | str
    ) -> None:
        super().__init__(name, recipe, folder, build)
        self.ef = ef
        self._apply_ef(EF if ef == AUTO else int(ef))

    def set_search_width(self, ef: int) -> None:
        """Search with this width from now on."""
        self.ef = ef
        self._apply_ef(ef)

    def _apply_ef(self, ef: int) -> None:
        # As parameters of each search: an attribute of the index would change under another thread's search.
        self._search_parameters = import_faiss("hnsw").SearchParametersHNSW(efSearch=ef)


def _convert_faiss_ranking(indices: NDArray[np.int64], scores: NDArray[np.float32]) -> RankedCandidates:
    """faiss's answer in our order: it leaves ties as it met them."""
    values = np.where(indices < 0, -np.inf, scores.astype(np.float64))
    order = np.lexsort((indices, -values), axis=1)
    return RankedCandidates(np.take_along_axis(indices, order, axis=1), np.take_along_axis(values, order, axis=1))


def import_faiss(kind: str) -> Any:
    """The library; ModelError, saying that `kind` needs it, where it is not installed."""
    try:
        return import_module("faiss")
    except ImportError as error:
        raise ModelError(
            f"The index {kind!r} needs the package faiss, which is not installed.",
            mend="Install it: pip install 'embassay[ann]'",
        ) from error


def make_faiss_index_recipe(kind: str, parameters: Mapping[str, Any], digest: str) -> IndexRecipe:
    """What an index of faiss depends on."""
    return IndexRecipe(kind, parameters, f"faiss {import_faiss(kind).__version__}", digest)


@contextmanager
def limit_to_one_thread(faiss: Any) -> Iterator[None]:
    """Build in one thread: graphs depend on the order in which threads meet, a learned rotation on how sums are cut up,
    and the many small steps of learning are slower in several."""
    before = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(1)
    try:
        yield
    finally:
        faiss.omp_set_num_threads(before)


def stack_vectors(vectors: Vectors) -> Floats:
    """All vectors as one array in memory, finite; ModelError otherwise, UsageError for none."""
    whole = vectors if isinstance(vectors, np.ndarray) else np.concatenate([*vectors])
    whole = np.ascontiguousarray(whole, dtype=np.float32)
    if not len(whole):
        raise UsageError("An approximate index needs vectors.", mend="Use the index flat.")
    if not np.isfinite(whole).all():
        raise ModelError("The vectors to index contain values that are not finite.")
    return whole


def measure_index_memory(faiss: Any, index: Any) -> int:
    """What the arrays of an index hold in memory: codes, links, codebooks, rotation."""
    if isinstance(index, faiss.IndexPreTransform):
        rotations = [faiss.downcast_VectorTransform(index.chain.at(i)) for i in range(index.chain.size())]
        more = sum(4 * int(rotation.A.size() + rotation.b.size()) for rotation in rotations)
        return more + measure_index_memory(faiss, faiss.downcast_index(index.index))
    if isinstance(index, faiss.IndexHNSW):
        graph = index.hnsw
        links = 4 * graph.neighbors.size() + 8 * graph.offsets.size() + 4 * graph.levels.size()
        return int(links) + measure_index_memory(faiss, faiss.downcast_index(index.storage))
    codes = int(index.codes.size())
    if isinstance(index, faiss.IndexPQ):
        return codes + 4 * int(index.pq.centroids.size())
    if isinstance(index, faiss.IndexScalarQuantizer):
        return codes + 4 * int(index.sq.trained.size())
    return codes


LEAST_MEMORY = 2**25
_WIDEST_BLOCK = 4096
_QUERIES = 1024


class FlatIndex:
    """The vectors themselves, under the rules of `exact_search`. Nothing is built and nothing is kept.

    With a limit of `memory`, in bytes, a quarter of it is for vectors, which are read piece by piece and, where they
    are a memory map, given back to the system; an eighth is for products, the rest for candidates and for what the
    matrix product needs itself. What is found does not depend on it. UsageError for less than 32 MiB, ModelError for
    values that are not finite."""

    def __init__(self, vectors: Vectors, *, memory: int | None = None, name: str = "flat") -> None:
        if memory is not None and memory < LEAST_MEMORY:
            raise UsageError(
                f"Exact search needs more than {memory} bytes.", mend=f"Allow {LEAST_MEMORY} (32 MiB) or more."
            )
        self.name = name
        self._vectors: Vectors | None = vectors
        self._memory = memory
        n, dim = measure_shards_shape(vectors)
        # Under a limit the vectors are read anew for every search, and this is found on the way.
        self._longest = max(map(bound_largest_vector_norm, list_vector_shards(vectors))) if memory is None else None
        held = 4 * n * dim
        self.facts = IndexFacts(
            n, dim, build_seconds=0.0, disk_bytes=0, memory_bytes=held if memory is None else min(held, memory)
        )

    def search(self, queries: Floats, k: int) -> RankedCandidates:
        """The best k vectors of each query, exactly."""
        if self._vectors is None:
            raise UsageError(f"The index {self.name!r} is closed.", mend="Open it again.")
        if self._memory is None:
            return exact_search_shards(queries, list_vector_shards(self._vectors), k, longest=self._longest)
        block = min(_WIDEST_BLOCK, self._memory // (32 * _QUERIES))
        return exact_search_shards(
            queries, self._iterate_vector_pieces(self._vectors, self._memory // 4), k, block=block
        )

    def _iterate_vector_pieces(self, vectors: Vectors, size: int) -> Iterator[Floats]:
        rows = max(1, size // (4 * self.facts.dim))
        for shard in list_vector_shards(vectors):
            for part in cut_range_into_blocks(len(shard), rows):
                piece = shard[part]
                yield piece
                release_mapped_rows(piece)

    def close(self) -> None:
        """Let go of the vectors."""
        self._vectors = None


def open_hnsw_f32_index(
    vectors: Vectors,
    *,
    name: str = "hnsw-f32",
    digest: str,
    folder: Path | None = None,
    m: int = 16,
    ef_construction: int = 100,
    ef: int | str = EF,
) -> FaissGraphIndex:
    """A graph over the vectors as they are. `m` links a vector on each level (twice as many on the lowest),
    `ef_construction` and `ef` are how many candidates a search keeps while building and when asked (`auto`: the fewest
    that a sweep finds within 1% of exact recall)."""
    return _open_faiss_graph_index("hnsw-f32", vectors, (name, digest, folder), (m, ef_construction), ef)


def open_hnsw_int8_index(
    vectors: Vectors,
    *,
    name: str = "hnsw-int8",
    digest: str,
    folder: Path | None = None,
    m: int = 16,
    ef_construction: int = 100,
    ef: int | str = EF,
) -> FaissGraphIndex:
    """A graph over vectors of one byte a value, each dimension's range cut in 256 steps. The graph is no smaller."""
    return _open_faiss_graph_index("hnsw-int8", vectors, (name, digest, folder), (m, ef_construction), ef)


def _open_faiss_graph_index(
    kind: str, vectors: Vectors, where: tuple[str, str, Path | None], links: tuple[int, int], ef: int | str
) -> FaissGraphIndex:
    name, digest, folder = where
    m, ef_construction = links
    _check_graph_options(kind, m=m, ef_construction=ef_construction, ef=ef)
    faiss = import_faiss(kind)
    recipe = make_faiss_index_recipe(kind, {"m": m, "ef_construction": ef_construction}, digest)
    return FaissGraphIndex(name, recipe, folder, lambda: _build_graph(faiss, kind, stack_vectors(vectors), links), ef)


def _build_graph(faiss: Any, kind: str, vectors: Floats, links: tuple[int, int]) -> Any:
    m, ef_construction = links
    dim, metric = vectors.shape[1], faiss.METRIC_INNER_PRODUCT
    if kind == "hnsw-int8":
        index = faiss.IndexHNSWSQ(dim, faiss.ScalarQuantizer.QT_8bit, m, metric)
    else:
        index = faiss.IndexHNSWFlat(dim, m, metric)
    index.hnsw.efConstruction = ef_construction
    with limit_to_one_thread(faiss):
        index.train(vectors)
        index.add(vectors)
    return index


def _check_graph_options(kind: str, *, m: int, ef_construction: int, ef: int | str) -> None:
    if not 2 <= m <= 512:
        raise UsageError(f"The index {kind!r} cannot link {m} neighbours.", mend="Use m from 2 to 512, usually 16.")
    if isinstance(ef, str) and ef != AUTO:
        raise UsageError(f"The index {kind!r} cannot keep {ef!r} candidates.", mend=f"Use a number or {AUTO}.")
    for knob, value in (("ef_construction", ef_construction), ("ef", EF if isinstance(ef, str) else ef)):
        if value < 1:
            raise UsageError(
                f"The index {kind!r} cannot keep {value} candidates.", mend=f"Use {knob} of 1 or more, usually 64."
            )


SAMPLE = 16_384
"""Vectors to learn from: 64 for each of 256 values; with more, learning takes longer and finds hardly more."""
_VALUES_PER_PART = 8
# As many rounds of k-means as faiss takes by itself.
_ROUNDS = 25
_ROTATIONS = 10
"""Of learning the rotation and the parts in turn, where faiss takes 50: more changes little and takes minutes."""


def pq(
    vectors: Vectors,
    *,
    name: str = "pq",
    digest: str,
    folder: Path | None = None,
    m: int | None = None,
    nbits: int = 8,
    sample: int = SAMPLE,
) -> FaissIndex:
    """Vectors in `m` parts (by default of about 8 values), each one of 2^nbits; every code is compared.

    The parts are learned from `sample` of the vectors. `m` must divide the dimensions."""
    return _open_code_index("pq", vectors, (name, digest, folder), m, (nbits, sample))


def open_opq_index(
    vectors: Vectors,
    *,
    name: str = "opq",
    digest: str,
    folder: Path | None = None,
    m: int | None = None,
    nbits: int = 8,
    sample: int = SAMPLE,
) -> FaissIndex:
    """As `pq`, the vectors rotated first so that the parts are as independent as can be."""
    return _open_code_index("opq", vectors, (name, digest, folder), m, (nbits, sample))


def _open_code_index(
    kind: str, vectors: Vectors, where: tuple[str, str, Path | None], m: int | None, learning: tuple[int, int]
) -> FaissIndex:
    name, digest, folder = where
    n, dim = measure_shards_shape(vectors)
    m = find_nearest_divisor(dim, max(1, dim // _VALUES_PER_PART)) if m is None else m
    nbits, sample = learning
    _check_code_index_options(kind, n, dim, m=m, nbits=nbits, sample=sample)
    faiss = import_faiss(kind)
    # Of a sample that takes all vectors, the size makes no difference.
    recipe = make_faiss_index_recipe(kind, {"m": m, "nbits": nbits, "sample": min(sample, n)}, digest)
    return FaissIndex(name, recipe, folder, lambda: _build_code_index(faiss, kind, stack_vectors(vectors), m, learning))


def _build_code_index(faiss: Any, kind: str, vectors: Floats, m: int, learning: tuple[int, int]) -> Any:
    nbits, sample = learning
    codes = faiss.IndexPQ(vectors.shape[1], m, nbits, faiss.METRIC_INNER_PRODUCT)
    _set_clustering_rounds(codes.pq.cp, len(vectors))
    index = codes
    if kind == "opq":
        rotation = faiss.OPQMatrix(vectors.shape[1], m)
        rotation.niter, rotation.max_train_points = _ROTATIONS, sample
        parts = faiss.ProductQuantizer(vectors.shape[1], m, nbits)
        _set_clustering_rounds(parts.cp, len(vectors))
        rotation.niter_pq_0, rotation.niter_pq = 10, 4
        rotation.pq = parts
        index = faiss.IndexPreTransform(rotation, codes)
    with limit_to_one_thread(faiss):
        index.train(_sample_training_vectors(vectors, sample))
        index.add(vectors)
    return index


def _set_clustering_rounds(clustering: Any, n: int) -> None:
    clustering.niter = _ROUNDS
    # We draw the sample ourselves; faiss would cut it once more, and write to stderr where it finds it small.
    clustering.min_points_per_centroid, clustering.max_points_per_centroid = 1, n


def _sample_training_vectors(vectors: Floats, sample: int) -> Floats:
    """The vectors to learn from, in their order: drawn by how many there are, so that equal ones give equal codes."""
    if sample >= len(vectors):
        return vectors
    rows = make_seeded_generator(0, "index training", str(len(vectors))).choice(len(vectors), sample, replace=False)
    return vectors[np.sort(rows)]


def find_nearest_divisor(dim: int, m: int) -> int:
    """The divisor of `dim` nearest to `m`, the lower of two.

    >>> find_nearest_divisor(384, 50), find_nearest_divisor(100, 12)
    (48, 10)
    """
    return min((d for d in range(1, dim + 1) if dim % d == 0), key=lambda d: (abs(d - m), d))


def _check_code_index_options(kind: str, n: int, dim: int, *, m: int, nbits: int, sample: int) -> None:
    if m < 1 or dim % m:
        raise UsageError(
            f"The index {kind!r} cannot split {dim} dimensions into {m} equal parts.",
            mend=f"Use m={find_nearest_divisor(dim, m)}.",
        )
    if not 1 <= nbits <= 12:
        raise UsageError(f"The index {kind!r} cannot use codes of {nbits} bits.", mend="Use nbits from 1 to 12.")
    if min(n, sample) < 2**nbits:
        fits = max(0, min(n, sample).bit_length() - 1)
        raise UsageError(
            f"The index {kind!r} learns {2**nbits} values per part, but has only {min(n, sample)} vectors to "
            f"learn from.",
            mend=f"Use nbits={fits}, or the index flat." if fits else "Use the index flat.",
        )
