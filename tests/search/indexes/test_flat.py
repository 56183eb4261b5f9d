"""Exact search as an index: in memory, in shards, from a file under a limit of memory."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from embassay.errors import UsageError
from embassay.search import exact as exact_module
from embassay.search.exact import exact_search
from embassay.search.indexes import open_index
from embassay.search.indexes.faiss_index import LEAST_MEMORY, FlatIndex
from embassay.search.indexes.store import release_mapped_rows


def vectors(n=500, d=12, seed=1):
    return np.random.default_rng(seed).standard_normal((n, d)).astype(np.float32)


@given(
    seed=st.integers(0, 2**32 - 1),
    sizes=st.lists(st.integers(0, 90), min_size=1, max_size=4),
    k=st.integers(1, 20),
    rows=st.integers(1, 60),
    block=st.integers(1, 60),
)
def test_neither_shards_nor_memory_change_the_answer(seed, sizes, k, rows, block):
    """Pieces of any size and blocks of any width: what exact search finds in the stacked vectors, bit by bit."""
    shards = [vectors(size, 12, seed + place) for place, size in enumerate(sizes)]
    queries = vectors(3, 12, seed ^ 7)
    index = FlatIndex(shards, memory=LEAST_MEMORY)
    # The least memory would hold all of so few vectors at once.
    pieces = index._iterate_vector_pieces(shards, rows * 4 * 12)
    found = exact_module.exact_search_shards(queries, pieces, k, block=block)
    expected = exact_search(queries, np.concatenate(shards), k)
    np.testing.assert_array_equal(found.indices, expected.indices)
    np.testing.assert_array_equal(found.scores, expected.scores)


def test_a_file_larger_than_the_limit_is_searched_under_it(tmp_path):
    """160 MiB of vectors under 64 MiB: the same ids, and the process never grows by more than the limit."""
    from embassay.runs.memory import PeakMemory

    rows, dim = 2**17, 320
    rng = np.random.default_rng(1)
    mapped = np.lib.format.open_memmap(tmp_path / "v.npy", "w+", np.float32, (rows, dim))
    for start in range(0, rows, 2**14):
        mapped[start : start + 2**14] = rng.random((2**14, dim), dtype=np.float32) - 0.5
    mapped.flush()
    queries = vectors(20, dim, seed=9)
    whole = np.array(mapped)
    expected = exact_search(queries, whole, 10)
    del mapped, whole
    corpus = np.load(tmp_path / "v.npy", mmap_mode="r")
    limit = 2**26
    index = open_index("flat", corpus, memory=limit)
    before = _resident()
    peak = PeakMemory()
    found = index.search(queries, 10)
    if before is not None and peak.bytes is not None and peak._begun:
        assert peak.bytes - before < limit
    np.testing.assert_array_equal(found.indices, expected.indices)
    assert index.facts.memory_bytes == limit
    assert index.facts.disk_bytes == 0


def _resident():
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("VmRSS:")), None)


def test_pages_that_were_forgotten_are_read_again(tmp_path):
    """Rows of any view of a map come back the same; an array in memory and a private copy are left alone."""
    kept = vectors(4000, 12)
    np.save(tmp_path / "v.npy", kept)
    mapped = np.load(tmp_path / "v.npy", mmap_mode="r")
    for part in (mapped, mapped[1:2000], mapped[7:9, ::2], np.asarray(mapped)[5:], mapped[:0]):
        release_mapped_rows(part)
    np.testing.assert_array_equal(mapped, kept)
    private = np.load(tmp_path / "v.npy", mmap_mode="c")
    private[3] = 5
    release_mapped_rows(private)
    assert (private[3] == 5).all()
    release_mapped_rows(kept)


def test_says_what_it_cannot_do():
    """Too little memory, and a search after the end."""
    with pytest.raises(UsageError, match="needs more than 1000 bytes") as caught:
        open_index("flat", vectors(), memory=1000)
    assert "32 MiB" in caught.value.mend
    index = open_index("flat", vectors())
    index.close()
    with pytest.raises(UsageError, match="closed"):
        index.search(vectors(1), 1)
