"""Hierarchical navigable small worlds: a graph of near vectors that a search walks down (Malkov and Yashunin 2018)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from embassay.errors import UsageError
from embassay.search.indexes.faiss_index import FaissIndex, faiss_library, one_thread, recipe_of, stacked
from embassay.search.indexes.vectors import Floats, Vectors


def hnsw_f32(
    vectors: Vectors,
    *,
    name: str = "hnsw-f32",
    digest: str,
    folder: Path | None = None,
    m: int = 16,
    ef_construction: int = 100,
    ef: int = 64,
) -> FaissIndex:
    """A graph over the vectors as they are. `m` links a vector on each level (twice as many on the lowest),
    `ef_construction` and `ef` are how many candidates a search keeps while building and when asked."""
    return _hnsw("hnsw-f32", vectors, (name, digest, folder), (m, ef_construction), ef)


def hnsw_int8(
    vectors: Vectors,
    *,
    name: str = "hnsw-int8",
    digest: str,
    folder: Path | None = None,
    m: int = 16,
    ef_construction: int = 100,
    ef: int = 64,
) -> FaissIndex:
    """A graph over vectors of one byte a value, each dimension's range cut in 256 steps. The graph is no smaller."""
    return _hnsw("hnsw-int8", vectors, (name, digest, folder), (m, ef_construction), ef)


def _hnsw(
    kind: str, vectors: Vectors, where: tuple[str, str, Path | None], links: tuple[int, int], ef: int
) -> FaissIndex:
    name, digest, folder = where
    m, ef_construction = links
    _check(kind, m=m, ef_construction=ef_construction, ef=ef)
    faiss = faiss_library(kind)
    recipe = recipe_of(kind, {"m": m, "ef_construction": ef_construction}, digest)
    return FaissIndex(
        name,
        recipe,
        folder,
        lambda: _built(faiss, kind, stacked(vectors), links),
        # As parameters of each search: an attribute of the index would change under another thread's search.
        lambda faiss: faiss.SearchParametersHNSW(efSearch=ef),
    )


def _built(faiss: Any, kind: str, vectors: Floats, links: tuple[int, int]) -> Any:
    m, ef_construction = links
    dim, metric = vectors.shape[1], faiss.METRIC_INNER_PRODUCT
    if kind == "hnsw-int8":
        index = faiss.IndexHNSWSQ(dim, faiss.ScalarQuantizer.QT_8bit, m, metric)
    else:
        index = faiss.IndexHNSWFlat(dim, m, metric)
    index.hnsw.efConstruction = ef_construction
    with one_thread(faiss):
        index.train(vectors)
        index.add(vectors)
    return index


def _check(kind: str, *, m: int, ef_construction: int, ef: int) -> None:
    if not 2 <= m <= 512:
        raise UsageError(
            f"The index {kind!r} cannot link {m} neighbours.", mend="m is from 2 to 512, usually 16."
        )
    for knob, value in (("ef_construction", ef_construction), ("ef", ef)):
        if value < 1:
            raise UsageError(
                f"The index {kind!r} cannot keep {value} candidates.",
                mend=f"{knob} is 1 or more, usually 64.",
            )
