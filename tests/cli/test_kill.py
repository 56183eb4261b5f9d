"""A run that is killed at any moment goes on where it was."""

import json
import os
import random
import signal
import subprocess
import sys
import time

import polars as pl
import pytest

COMMAND = [
    sys.executable, "-m", "embassay", "sage", "run", "-s", "bm25", "-s", "wordllama", "--tokenizer", "words",
    "--limit", "40", "--resamples", "200", "-t", "retrieval", "-t", "robustness", "-t", "sensitivity", "--out",
]  # fmt: skip


def start(path, cache):
    environment = {**os.environ, "EMBASSAY_CACHE": str(cache)}
    return subprocess.Popen(
        [*COMMAND, str(path)], env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )


def rows(path):
    return sorted((path / "results.jsonl").read_text().splitlines())


def items(path):
    return {
        str(file.relative_to(path)): file.read_bytes() for file in sorted(path.glob("items/**/*.parquet"))
    }


def encoded(path):
    """Texts encoded over all sessions: finished cells count what they had to encode."""
    manifest = json.loads((path / "manifest.json").read_text())
    return sum(cell["counts"].get("texts_encoded", 0) for cell in manifest["cells"])


@pytest.mark.slow
def test_killed_again_and_again_it_ends_with_the_same_bytes(tmp_path):
    """kill -9 at random moments, resumed each time: results and items equal an uninterrupted run's."""
    whole = tmp_path / "whole"
    began = time.monotonic()
    first = start(whole, tmp_path / "cache-whole")
    first.communicate(timeout=600)
    assert first.returncode == 0
    seconds = time.monotonic() - began
    broken, cache, chance = tmp_path / "broken", tmp_path / "cache-broken", random.Random(7)
    for _ in range(3):
        process = start(broken, cache)
        time.sleep(chance.uniform(0.2, 0.7) * seconds)
        process.send_signal(signal.SIGKILL)
        process.communicate(timeout=60)
    last = start(broken, cache)
    _, errors = last.communicate(timeout=600)
    assert last.returncode == 0, errors.decode()
    assert rows(broken) == rows(whole)
    assert items(broken) == items(whole)
    assert encoded(broken) <= encoded(whole)
    assert len(pl.read_parquet(next(broken.glob("items/retrieval/*/wordllama.parquet")))) > 0


@pytest.mark.slow
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_an_interrupt_says_what_is_safe_and_how_to_resume(tmp_path, name):
    """Exit code 130, one line, and the command that resumes; the manifest says the run is partial."""
    process = start(tmp_path / "run", tmp_path / "cache")
    while not (tmp_path / "run" / "cells").exists():
        time.sleep(0.05)
        assert process.poll() is None
    process.send_signal(getattr(signal, name))
    _, errors = process.communicate(timeout=120)
    text = errors.decode()
    assert process.returncode == 130, text
    assert "Resume with: embassay sage run" in text
    assert "Traceback" not in text
    assert json.loads((tmp_path / "run" / "manifest.json").read_text())["status"] == "partial"
