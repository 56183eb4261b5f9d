"""Kept indexes: found by content, whole or not at all, whoever is killed and whoever comes at the same time."""

import json
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from embassay.search.indexes import open_index
from embassay.search.indexes.store import IndexBuilderAndSerializer, IndexRecipe, load_or_build_index

RECIPE = IndexRecipe("test", {"m": 4}, "library 1.0", "abc")
CONTENT = b"what a library wrote\n" * 40


def form(built: list[str] | None = None, content: bytes = CONTENT) -> IndexBuilderAndSerializer[bytes]:
    def build() -> bytes:
        if built is not None:
            built.append("built")
        return content

    def write(value: bytes, into: Callable[[bytes], int]) -> None:
        into(value)

    return IndexBuilderAndSerializer(build, write, lambda read: read(len(content)))


def vectors(n: int = 200, d: int = 8) -> np.ndarray:
    return np.random.default_rng(1).standard_normal((n, d)).astype(np.float32)


def test_it_is_built_once_and_says_still_what_that_took(tmp_path):
    """The second time it is found, with the seconds of the first."""
    built: list[str] = []
    first, second = (
        load_or_build_index(RECIPE, tmp_path, form(built)),
        load_or_build_index(RECIPE, tmp_path, form(built)),
    )
    assert built == ["built"]
    assert (first.found, second.found) == (False, True)
    assert (second.value, second.seconds) == (CONTENT, first.seconds)
    assert first.disk_bytes == second.disk_bytes == RECIPE.path(tmp_path).stat().st_size


def test_a_search_knob_opens_what_is_there_and_a_build_knob_does_not(tmp_path):
    """`ef` is no part of the key; `m`, the kind and the vectors are."""
    corpus = vectors()
    first = open_index("hnsw-f32", corpus, folder=tmp_path)
    assert open_index("hnsw-f32?ef=8&m=16", corpus, folder=tmp_path).facts.found
    again = open_index("hnsw-f32", corpus, folder=tmp_path)
    assert again.facts.build_seconds == first.facts.build_seconds
    for spec, other in (("hnsw-f32?m=8", corpus), ("hnsw-int8", corpus), ("hnsw-f32", corpus[1:])):
        assert not open_index(spec, other, folder=tmp_path).facts.found
    assert len(list(tmp_path.glob("*.index"))) == 4
    np.testing.assert_array_equal(again.search(corpus, 5).indices, first.search(corpus, 5).indices)


@pytest.mark.parametrize("field", ["kind", "parameters", "library", "digest"])
def test_every_part_of_a_recipe_is_part_of_the_key(field):
    """Another version of the library, say, finds nothing of this one's."""
    other = {"kind": "x", "parameters": {"m": 5}, "library": "library 1.1", "digest": "abd"}
    parts = {"kind": "test", "parameters": {"m": 4}, "library": "library 1.0", "digest": "abc"}
    assert IndexRecipe(**{**parts, field: other[field]}).key != RECIPE.key


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(share=st.floats(0, 1, exclude_max=True), cut=st.booleans())
def test_damage_anywhere_is_found(tmp_path, share, cut):
    """One byte changed, or the end cut off: a warning, and the index as it should be."""
    path = RECIPE.path(tmp_path)
    path.unlink(missing_ok=True)
    load_or_build_index(RECIPE, tmp_path, form())
    whole = path.read_bytes()
    at = int(share * len(whole))
    damaged = whole[:at] if cut else whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :]
    path.write_bytes(damaged)
    built: list[str] = []
    with pytest.warns(RuntimeWarning, match="is damaged and will be rebuilt"):
        found = load_or_build_index(RECIPE, tmp_path, form(built))
    assert (found.value, found.found, built) == (CONTENT, False, ["built"])
    assert load_or_build_index(RECIPE, tmp_path, form()).found


def test_what_a_library_cannot_read_is_built_again(tmp_path):
    """A whole file of a library that has changed without telling: its error is in the warning."""
    corpus = vectors()
    open_index("hnsw-f32", corpus, folder=tmp_path)
    (file,) = tmp_path.glob("*.index")
    head = json.loads(file.read_bytes().partition(b"\n")[0])
    recipe = IndexRecipe(head["kind"], head["parameters"], head["library"], head["vectors"])
    file.unlink()
    load_or_build_index(recipe, tmp_path, form(content=b"no index of faiss"))
    with pytest.warns(RuntimeWarning, match=r"damaged \(.+\) and will be rebuilt"):
        index = open_index("hnsw-f32", corpus, folder=tmp_path)
    assert index.search(corpus[:1], 1).indices.tolist() == [[int(np.argmax(corpus @ corpus[0]))]]


def test_a_folder_that_cannot_be_written_costs_no_index(tmp_path):
    """A file where the folder should be: a warning, and the index is used without being kept."""
    (tmp_path / "taken").write_text("")
    with pytest.warns(RuntimeWarning, match="cannot be stored"):
        found = load_or_build_index(RECIPE, tmp_path / "taken", form())
    assert (found.value, found.disk_bytes, found.found) == (CONTENT, 0, False)


def test_a_full_disk_costs_no_index(tmp_path):
    """What was built is used, and nothing half is left."""

    def full(value: bytes, write: object) -> None:
        raise OSError(28, "No space left on device")

    with pytest.warns(RuntimeWarning, match="No space left"):
        found = load_or_build_index(
            RECIPE, tmp_path, IndexBuilderAndSerializer(lambda: CONTENT, full, lambda read: b"")
        )
    assert (found.value, found.disk_bytes) == (CONTENT, 0)
    assert not [one for one in tmp_path.iterdir() if one.suffix in (".index", ".part")]


KILLED = """
import sys, time
from pathlib import Path
from embassay.search.indexes.store import IndexBuilderAndSerializer, IndexRecipe, load_or_build_index

def write(value, write):
    write(b"half of it")
    print("writing", flush=True)
    time.sleep(60)

recipe = IndexRecipe("test", {"m": 4}, "library 1.0", "abc")
load_or_build_index(recipe, Path(sys.argv[1]), IndexBuilderAndSerializer(lambda: b"", write, lambda read: b""))
"""


@pytest.mark.slow
def test_a_process_killed_while_writing_leaves_nothing_half(tmp_path):
    """kill -9: no index is there, the lock is free, and the next one builds it and clears away what was left."""
    with subprocess.Popen([sys.executable, "-c", KILLED, str(tmp_path)], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"writing\n"
        process.send_signal(signal.SIGKILL)
    assert not RECIPE.path(tmp_path).exists()
    assert list(tmp_path.glob(".*.part"))
    assert load_or_build_index(RECIPE, tmp_path, form()).value == CONTENT
    assert load_or_build_index(RECIPE, tmp_path, form()).found
    assert not list(tmp_path.glob(".*.part"))


BUILDING = """
import sys
from pathlib import Path
import numpy as np
from embassay.search.indexes import open_index

corpus = np.random.default_rng(1).standard_normal((400, 8)).astype(np.float32)
for m in range(2, 400):
    open_index(f"hnsw-f32?m={m}", corpus, folder=Path(sys.argv[1]))
"""


@pytest.mark.slow
def test_killed_at_any_moment_there_are_only_whole_indexes(tmp_path):
    """kill -9 while one index after the other is built and kept: every file that is there is found, without warning."""
    corpus = np.random.default_rng(1).standard_normal((400, 8)).astype(np.float32)
    with subprocess.Popen([sys.executable, "-c", BUILDING, str(tmp_path)]) as process:
        while len(list(tmp_path.glob("*.index"))) < 3 and process.poll() is None:
            time.sleep(0.02)
        process.send_signal(signal.SIGKILL)
    heads = [json.loads(file.read_bytes().partition(b"\n")[0]) for file in tmp_path.glob("*.index")]
    assert len(heads) >= 3
    for head in heads:
        assert open_index(f"hnsw-f32?m={head['parameters']['m']}", corpus, folder=tmp_path).facts.found


def _beside(folder: Path, another: int) -> tuple[bool, bytes]:
    def build() -> bytes:
        (folder / f"built-{os.getpid()}").write_text("")
        # Whoever is first does not end before the other has come.
        while len(list(folder.glob("came-*"))) < 2:
            time.sleep(0.01)
        return CONTENT

    (folder / f"came-{another}").write_text("")
    found = load_or_build_index(RECIPE, folder, IndexBuilderAndSerializer(build, form().write, form().read))
    return found.found, found.value


@pytest.mark.slow
def test_two_processes_build_it_once(tmp_path):
    """The second waits for the first one's."""
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        ends = pool.starmap(_beside, [(tmp_path, 1), (tmp_path, 2)], chunksize=1)
    assert sorted(ends) == [(False, CONTENT), (True, CONTENT)]
    assert len(list(tmp_path.glob("built-*"))) == 1
