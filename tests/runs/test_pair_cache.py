"""The cache of rerankers' scores: what is kept is what was scored, or it is scored again."""

from __future__ import annotations

import sqlite3

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from embassay.runs.store import RerankScoreCache, make_rerank_score_key

KEY = b"k" * 32
ONE = np.array([0.25], dtype=np.float32)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "folder" / "pairs.sqlite"


@pytest.fixture
def cache(path):
    opened = RerankScoreCache.open(path)
    yield opened
    opened.close()


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(scores=st.lists(st.floats(width=32, allow_nan=False), min_size=1, max_size=5))
def test_what_is_written_is_read_back(cache, scores):
    """Bit for bit; a second write does not replace the first."""
    found = np.array(scores, dtype=np.float32)
    cache.drop(KEY)
    cache.write("m:1", {KEY: found})
    cache.write("m:1", {KEY: found + 1})
    assert cache.read([KEY], len(scores))[KEY].tobytes() == found.tobytes()


def test_many_keys_at_once(cache):
    """More than one statement holds, some of them missing."""
    keys = [number.to_bytes(32, "big") for number in range(2500)]
    cache.write("m:1", {key: np.array([i], dtype=np.float32) for i, key in enumerate(keys) if i % 3})
    found = cache.read(keys)
    assert {keys.index(key): float(score[0]) for key, score in found.items()} == {i: i for i in range(2500) if i % 3}


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE scores SET scores = zeroblob(4)",
        "UPDATE scores SET scores = ''",
        "UPDATE scores SET checksum = zeroblob(16)",
        "UPDATE scores SET key = zeroblob(32)",
    ],
)
def test_a_damaged_row_is_dropped(cache, path, damage):
    """It is scored again, and can be written anew."""
    cache.write("m:1", {KEY: ONE})
    with sqlite3.connect(path) as other:
        other.execute(damage)
    other.close()
    assert cache.read([KEY, b"\0" * 32]) == {}
    assert cache.summarise_cache_contents().entries == 0
    cache.write("m:1", {KEY: ONE})
    assert cache.read([KEY])[KEY] == ONE


def test_another_number_of_scores_is_not_what_was_asked_for(cache):
    """A list's entry is none for one document."""
    cache.write("m:1", {KEY: np.zeros(3, dtype=np.float32)})
    assert cache.read([KEY], 1) == {}


def test_the_key_holds_all_that_a_score_depends_on():
    """Reranker, query, documents and their order; no two texts run together."""
    keys = [
        make_rerank_score_key("r", "q", ["a", "b"]),
        make_rerank_score_key("s", "q", ["a", "b"]),
        make_rerank_score_key("r", "p", ["a", "b"]),
        make_rerank_score_key("r", "q", ["b", "a"]),
        make_rerank_score_key("r", "q", ["ab"]),
        make_rerank_score_key("r", "qa", ["b"]),
        make_rerank_score_key("r", "q", ["a", "b", ""]),
        make_rerank_score_key("r", "q", ["\ud800"]),
    ]
    assert len(set(keys)) == len(keys)
    assert make_rerank_score_key("r", "q", ["a", "b"]) == keys[0]


def test_info_and_clear(cache):
    """By reranker; by identity or its beginning."""
    for number, reranker in enumerate(["a:1", "a:2", "ab:1"]):
        cache.write(reranker, {bytes([number]) * 32: np.zeros(number + 1, dtype=np.float32)})
    info = cache.summarise_cache_contents()
    assert (info.entries, dict(info.rerankers)) == (3, {"a:1": 1, "a:2": 2, "ab:1": 3})
    assert info.bytes > 0
    cache.clear("a")
    assert dict(cache.summarise_cache_contents().rerankers) == {"ab:1": 3}
    cache.clear()
    assert cache.summarise_cache_contents().entries == 0


def test_a_cache_that_cannot_be_written_costs_one_warning(cache):
    """What was kept before is still read."""
    cache.write("m:1", {KEY: ONE})
    cache._connection.execute("PRAGMA query_only = 1")
    with pytest.warns(RuntimeWarning, match="rerankers' scores .* cannot be written"):
        cache.write("m:1", {b"2" * 32: ONE})
    cache.write("m:1", {b"3" * 32: ONE})
    assert cache.read([KEY])[KEY] == ONE
