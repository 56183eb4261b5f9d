"""A small run of every protocol gives the files that were recorded."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

from equality.__main__ import read
from equality.record import KEYS, RESULTS, differences, files_of, record_of
from equality.runs import RUNS, make


def _minor(package: str) -> tuple[int, int]:
    major, minor = version(package).split(".")[:2]
    return int(major), int(minor)


@pytest.mark.parametrize("name", RUNS)
def test_a_run_gives_what_was_recorded(name, tmp_path):
    """Results, items, tables, texts, comparisons, headlines, cell keys and manifest are the same bytes."""
    if RUNS[name].served:
        pytest.importorskip("httpx2")
    if name == "hume" and _minor("scikit-learn") < (1, 9):
        pytest.skip("mini-batch k-means of scikit-learn before 1.9 gives other clusters from the same seed")
    said = differences(name, read(name), files_of(name, make(name, tmp_path)))
    assert not said, "\n".join(said)


@pytest.mark.slow
@pytest.mark.parametrize("seed", ["0", "1"])
def test_the_environment_changes_no_byte(seed):
    """Neither PYTHONHASHSEED nor a plain locale, a far time zone or a missing HOME."""
    tests = Path(__file__).parents[1]
    said = {"LC_ALL": "C", "TZ": "Pacific/Auckland", "PYTHONHASHSEED": seed}
    paths = os.pathsep.join(map(str, (tests.parent / "src", tests)))
    env = {**os.environ, **said, "PYTHONPATH": paths}
    env.pop("HOME", None)
    command = [sys.executable, "-m", "equality", "sage", "hume", "scoring"]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, ""), done.stdout + done.stderr


@pytest.fixture
def files(tmp_path):
    return files_of("scoring", make("scoring", tmp_path))


@pytest.fixture
def record(files):
    """A record of this machine: that of another allows other digits and keys."""
    return record_of(files)


def test_a_difference_is_named(record, files):
    """The run, the file and the line: another value, another cell of a table, a file that is new or gone."""
    table = next(place for place in files if place.endswith(".csv"))
    changed = {**files, "more.txt": ["x"], table: [*files[table][:-1], files[table][-1] + "0"]}
    changed[RESULTS] = [files[RESULTS][0].replace('"value": 0', '"value": 9'), *files[RESULTS][1:]]
    del changed["manifest.json"]
    said = differences("scoring", record, changed)
    assert [line.split()[1] for line in said] == sorted([table, "more.txt", RESULTS, "manifest.json"])
    named = dict(zip([line.split()[1] for line in said], said, strict=True))
    assert "line 1\n  was" in named[RESULTS]
    assert f"lines {len(files[table])} to" in named[table] or f"to {len(files[table])}," in named[table]


def test_elsewhere_the_last_digits_and_the_keys_may_differ(record, files):
    """On another processor a value may move by rounding, and by no more."""
    elsewhere = {**record, "arithmetic": "another"}
    value = files[RESULTS][0].split('"value": ')[1].split(",")[0]
    assert len(value) > 12
    moved = {**files, RESULTS: [files[RESULTS][0].replace(value, value[:-2] + "77"), *files[RESULTS][1:]], KEYS: []}
    assert differences("scoring", elsewhere, moved) == []
    assert differences("scoring", record, moved)
    moved[RESULTS][0] = files[RESULTS][0].replace(value, "0.9" + value[3:])
    assert [line.split(":")[2] for line in differences("scoring", elsewhere, moved)] != []
