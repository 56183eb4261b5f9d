"""The embedding cache: what is kept is what was written, or it is encoded again."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from embassay.machine import find_cache_folder
from embassay.runs.embeddings import EmbeddingCache

VECTORS = np.arange(12, dtype=np.float32).reshape(4, 3)
KEY = b"k" * 32


@pytest.fixture
def path(tmp_path):
    return tmp_path / "folder" / "embeddings.sqlite"


@pytest.fixture
def cache(path):
    opened = EmbeddingCache.open(path)
    yield opened
    opened.close()


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    key=st.binary(min_size=32, max_size=32), vectors=arrays(np.float32, st.tuples(st.integers(1, 9), st.integers(1, 9)))
)
def test_what_is_written_is_read_back(cache, key, vectors):
    """Every bit pattern, NaN payloads included, survives; a second write does not replace the first."""
    cache.clear()
    cache.write(key, "e:1", vectors)
    cache.write(key, "e:1", vectors + 1)
    found = cache.read(key, vectors.shape)
    assert found.tobytes() == vectors.tobytes()


def test_an_unknown_key_is_nothing(cache):
    """There is no default."""
    assert cache.read(KEY, (4, 3)) is None
    assert cache.read_truncated_count(KEY) is None


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE chunks SET vectors = zeroblob(48)",
        "UPDATE chunks SET vectors = substr(vectors, 1, 40)",
        "UPDATE chunks SET checksum = zeroblob(16)",
        "UPDATE chunks SET texts = 3, dim = 4",
        "UPDATE chunks SET vectors = 'text'",
    ],
)
def test_a_damaged_row_is_dropped(cache, path, damage):
    """A row that does not match its checksum or shape is deleted, and can be written anew."""
    cache.write(KEY, "e:1", VECTORS)
    other = sqlite3.connect(path)
    with other:
        other.execute(damage)
    other.close()
    assert cache.read(KEY, (4, 3)) is None
    assert cache.summarise_cache_contents().entries == 0
    cache.write(KEY, "e:1", VECTORS)
    assert np.array_equal(cache.read(KEY, (4, 3)), VECTORS)


def test_a_row_under_another_key_is_damaged(cache, path):
    """The checksum covers the key: vectors are never taken for those of other texts."""
    cache.write(KEY, "e:1", VECTORS)
    with sqlite3.connect(path) as other:
        other.execute("UPDATE chunks SET key = ?", (b"j" * 32,))
    other.close()
    assert cache.read(b"j" * 32, (4, 3)) is None


def test_info_counts_texts_of_each_encoder(cache, path):
    """Entries are chunks; texts are counted by the encoder's identity."""
    cache.write(b"1" * 32, "a:1", VECTORS)
    cache.write(b"2" * 32, "a:1", VECTORS[:2])
    cache.write(b"3" * 32, "b:1", VECTORS)
    info = cache.summarise_cache_contents()
    assert (info.path, info.entries, dict(info.encoders)) == (path, 3, {"a:1": 6, "b:1": 4})
    assert info.bytes > 0


def test_clear_drops_one_encoder_or_all(cache):
    """By name, by identity, or everything; counts of cut texts go with their chunks."""
    for number, encoder in enumerate(["a:1", "a:2", "ab:1", "a_:1"]):
        cache.write(bytes([number]) * 32, encoder, np.zeros((64, 384), dtype=np.float32))
        cache.write_truncated_count(bytes([number]) * 32, number)
    assert cache.clear("a:2") > 0
    assert set(cache.summarise_cache_contents().encoders) == {"a:1", "ab:1", "a_:1"}
    cache.clear("a")
    assert set(cache.summarise_cache_contents().encoders) == {"ab:1", "a_:1"}
    assert cache.read_truncated_count(bytes([0]) * 32) is None
    assert cache.read_truncated_count(bytes([2]) * 32) == 2
    cache.clear()
    assert cache.summarise_cache_contents().entries == 0


def test_the_folder_comes_from_the_environment(monkeypatch, tmp_path):
    """$EMBASSAY_CACHE wins over the platform's cache folder."""
    monkeypatch.setenv("EMBASSAY_CACHE", str(tmp_path / "mine"))
    opened = EmbeddingCache.open()
    assert opened.path == tmp_path / "mine" / "embeddings.sqlite"
    assert opened.path.exists()
    opened.close()
    monkeypatch.delenv("EMBASSAY_CACHE")
    assert find_cache_folder().name == "embassay"


def test_a_folder_that_cannot_be_made_costs_one_warning(tmp_path):
    """The work goes on with a temporary one."""
    (tmp_path / "file").write_text("")
    with pytest.warns(RuntimeWarning, match=r"cannot be opened.*continuing without it.*EMBASSAY_CACHE"):
        opened = EmbeddingCache.open(tmp_path / "file" / "embeddings.sqlite")
    assert_keeps_until_closed(opened)


def test_a_file_that_is_no_database_costs_one_warning(path):
    """It is left as it is."""
    path.parent.mkdir()
    path.write_bytes(b"not a database " * 100)
    with pytest.warns(RuntimeWarning, match="cannot be opened"):
        opened = EmbeddingCache.open(path)
    assert_keeps_until_closed(opened)
    assert path.read_bytes() == b"not a database " * 100


def test_a_full_disk_costs_one_warning(cache):
    """What was kept before is still read; what comes is there until the end, for somebody may have paid for it."""
    cache.write(KEY, "e:1", VECTORS)
    cache._connection.execute("PRAGMA max_page_count = 1")
    large = np.zeros((1000, 300), dtype=np.float32)
    with pytest.warns(RuntimeWarning, match=r"cannot be written \(database or disk is full\)"):
        cache.write(b"2" * 32, "e:1", large)
    cache.write(b"3" * 32, "e:1", large)
    assert np.array_equal(cache.read(KEY, (4, 3)), VECTORS)
    assert np.array_equal(cache.read(b"2" * 32, large.shape), large)
    cache.close()
    assert cache.read(b"2" * 32, large.shape) is None


def test_a_cache_that_cannot_be_written_is_still_read(cache, path):
    """As for a file that belongs to someone else."""
    cache.write(KEY, "e:1", VECTORS)
    cache._connection.execute("PRAGMA query_only = 1")
    with pytest.warns(RuntimeWarning, match="cannot be written"):
        cache.write(b"2" * 32, "e:1", VECTORS)
    assert np.array_equal(cache.read(KEY, (4, 3)), VECTORS)


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser may write everywhere")
def test_a_read_only_folder_is_still_read(cache, path):
    """Neither the file nor its journal can be made or changed."""
    cache.write(KEY, "e:1", VECTORS)
    cache.close()
    path.chmod(0o400)
    path.parent.chmod(0o500)
    try:
        with pytest.warns(RuntimeWarning, match="cannot be opened for writing"):
            opened = EmbeddingCache.open(path)
        opened.write(b"2" * 32, "e:1", VECTORS)
        assert np.array_equal(opened.read(KEY, (4, 3)), VECTORS)
        opened.close()
    finally:
        path.parent.chmod(0o700)


def test_a_closed_cache_keeps_nothing(cache):
    """After close() nothing is found, and nothing is an error."""
    cache.write(KEY, "e:1", VECTORS)
    cache.close()
    assert_keeps_nothing(cache)


@pytest.mark.slow
def test_a_killed_writer_leaves_a_sound_file(path):
    """kill -9 while writing: every row that is there is whole, and the file takes more."""
    code = (
        "import sys, numpy as np; from embassay.runs.embeddings import EmbeddingCache\n"
        "cache = EmbeddingCache.open(sys.argv[1])\n"
        "for i in range(10**6):\n"
        "    cache.write(i.to_bytes(32, 'big'), 'e:1', np.full((64, 384), i, dtype=np.float32))\n"
        "    print(i, flush=True)\n"
    )
    writer = subprocess.Popen([sys.executable, "-c", code, str(path)], stdout=subprocess.PIPE, text=True)
    written = -1
    while written < 40:
        written = int(writer.stdout.readline())
    writer.send_signal(signal.SIGKILL)
    writer.wait()
    writer.stdout.close()
    opened = EmbeddingCache.open(path)
    for i in range(written + 1):
        assert (opened.read(i.to_bytes(32, "big"), (64, 384)) == i).all()
    assert opened._fetch_all_rows("PRAGMA integrity_check") == [("ok",)]
    opened.write(KEY, "e:1", VECTORS)
    assert np.array_equal(opened.read(KEY, (4, 3)), VECTORS)
    opened.close()


@pytest.mark.slow
def test_processes_share_the_file(path):
    """Four processes open and write the same new file at once, overlapping by half; nothing is lost."""
    code = (
        "import sys, warnings, numpy as np; from embassay.runs.embeddings import EmbeddingCache\n"
        "warnings.simplefilter('error')\n"
        "cache = EmbeddingCache.open(sys.argv[1])\n"
        "for i in range(int(sys.argv[2]), int(sys.argv[2]) + 100):\n"
        "    cache.write(i.to_bytes(32, 'big'), 'e:1', np.full((16, 32), i, dtype=np.float32))\n"
        "    assert (cache.read(i.to_bytes(32, 'big'), (16, 32)) == i).all()\n"
        "cache.close()\n"
    )
    command = [sys.executable, "-c", code, str(path)]
    writers = [subprocess.Popen([*command, str(start)]) for start in (0, 50, 100, 150)]
    assert [writer.wait() for writer in writers] == [0] * 4
    opened = EmbeddingCache.open(path)
    assert opened.summarise_cache_contents().entries == 250
    opened.close()


def assert_keeps_until_closed(cache):
    cache.write(KEY, "e:1", VECTORS)
    assert np.array_equal(cache.read(KEY, (4, 3)), VECTORS)
    cache.close()
    assert_keeps_nothing(cache)


def assert_keeps_nothing(cache):
    cache.write(KEY, "e:1", VECTORS)
    assert cache.read(KEY, (4, 3)) is None
    assert cache.summarise_cache_contents().entries == 0
    assert cache.clear() == 0
