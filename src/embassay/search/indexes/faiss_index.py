"""What all indexes of the library faiss share: how they are kept, how they answer, what they take."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embassay.contracts import IndexFacts, Ranked
from embassay.errors import ModelError, UsageError
from embassay.search.indexes.store import Form, Recipe, kept
from embassay.search.indexes.vectors import Floats, Vectors

SearchParameters = Callable[[Any], Any]


class FaissIndex:
    """An index of faiss under our contract. `search_parameters` makes, from the library, what each search is told."""

    def __init__(
        self,
        name: str,
        recipe: Recipe,
        folder: Path | None,
        build: Callable[[], Any],
        search_parameters: SearchParameters | None = None,
    ) -> None:
        self.name = name
        faiss = faiss_library(recipe.kind)
        found = kept(
            recipe,
            folder,
            Form(
                build,
                write=lambda index, write: faiss.write_index(index, faiss.PyCallbackIOWriter(write)),
                read=lambda read: faiss.read_index(faiss.PyCallbackIOReader(read)),
            ),
        )
        self._index = found.value
        self._search_parameters = None if search_parameters is None else search_parameters(faiss)
        self.facts = IndexFacts(
            n=int(self._index.ntotal),
            dim=int(self._index.d),
            build_seconds=found.seconds,
            disk_bytes=found.disk_bytes,
            memory_bytes=memory_bytes(faiss, self._index),
            found=found.found,
        )

    def search(self, queries: Floats, k: int) -> Ranked:
        """The best k of each query that the index finds, by its own scores, ties by number."""
        if self._index is None:
            raise UsageError(f"The index {self.name!r} is closed.", mend="Open it again.")
        if queries.ndim != 2 or queries.shape[1] != self.facts.dim or k < 1:
            raise UsageError(
                f"Cannot search the best {k} of {self.facts.dim} dimensions for queries {queries.shape}.",
                mend="Queries have two axes (items, dimensions), and k is at least 1.",
            )
        queries = np.ascontiguousarray(queries, dtype=np.float32)
        if not np.isfinite(queries).all():
            raise ModelError("The queries to search for hold values that are not finite.")
        scores, indices = self._index.search(queries, k, params=self._search_parameters)
        return _ranked(indices, scores)

    def close(self) -> None:
        """Release the memory."""
        self._index = None


def _ranked(indices: NDArray[np.int64], scores: NDArray[np.float32]) -> Ranked:
    """faiss's answer in our order: it leaves ties as it met them."""
    values = np.where(indices < 0, -np.inf, scores.astype(np.float64))
    order = np.lexsort((indices, -values), axis=1)
    return Ranked(np.take_along_axis(indices, order, axis=1), np.take_along_axis(values, order, axis=1))


def faiss_library(kind: str) -> Any:
    """The library; ModelError, saying that `kind` needs it, where it is not installed."""
    try:
        return import_module("faiss")
    except ImportError as error:
        raise ModelError(
            f"The index {kind!r} needs the package faiss, which is not installed.",
            mend="Install it: pip install 'embassay[ann]'",
        ) from error


def recipe_of(kind: str, parameters: Mapping[str, Any], digest: str) -> Recipe:
    """What an index of faiss depends on."""
    return Recipe(kind, parameters, f"faiss {faiss_library(kind).__version__}", digest)


@contextmanager
def one_thread(faiss: Any) -> Iterator[None]:
    """Build in one thread: graphs depend on the order in which threads meet, a learned rotation on how sums are cut up,
    and the many small steps of learning are slower in several."""
    before = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(1)
    try:
        yield
    finally:
        faiss.omp_set_num_threads(before)


def stacked(vectors: Vectors) -> Floats:
    """All vectors as one array in memory, finite; ModelError otherwise, UsageError for none."""
    whole = vectors if isinstance(vectors, np.ndarray) else np.concatenate([*vectors])
    whole = np.ascontiguousarray(whole, dtype=np.float32)
    if not len(whole):
        raise UsageError("An approximate index cannot be made of no vectors.", mend="Use the index flat.")
    if not np.isfinite(whole).all():
        raise ModelError("The vectors to index hold values that are not finite.")
    return whole


def memory_bytes(faiss: Any, index: Any) -> int:
    """What the arrays of an index hold in memory: codes, links, codebooks, rotation."""
    if isinstance(index, faiss.IndexPreTransform):
        rotations = [faiss.downcast_VectorTransform(index.chain.at(i)) for i in range(index.chain.size())]
        more = sum(4 * int(one.A.size() + one.b.size()) for one in rotations)
        return more + memory_bytes(faiss, faiss.downcast_index(index.index))
    if isinstance(index, faiss.IndexHNSW):
        graph = index.hnsw
        links = 4 * graph.neighbors.size() + 8 * graph.offsets.size() + 4 * graph.levels.size()
        return int(links) + memory_bytes(faiss, faiss.downcast_index(index.storage))
    codes = int(index.codes.size())
    if isinstance(index, faiss.IndexPQ):
        return codes + 4 * int(index.pq.centroids.size())
    if isinstance(index, faiss.IndexScalarQuantizer):
        return codes + 4 * int(index.sq.trained.size())
    return codes
