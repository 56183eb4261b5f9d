"""`embassay data fetch` over HTTP, against a server that speaks the hub's protocol, as a user would run it."""

from __future__ import annotations

import gzip
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from embassay.data.catalogue.entries import find_catalogue_entry

pytestmark = pytest.mark.slow
Run = Callable[..., subprocess.CompletedProcess[str]]


@contextmanager
def _served(root: Path, fault: str = "") -> Iterator[str]:
    command = [sys.executable, str(Path(__file__).with_name("wire.py")), str(root), fault]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout
        try:
            yield f"http://127.0.0.1:{server.stdout.readline().strip()}"
        finally:
            server.kill()


@pytest.fixture
def data(tmp_path: Path) -> Run:
    """Runs `embassay data`; a machine of its own, with the hub at `endpoint`."""
    pytest.importorskip("datasets")

    def run(*arguments: str, endpoint: str = "http://127.0.0.1:9", **more: str) -> subprocess.CompletedProcess[str]:
        own = {"HF_ENDPOINT": endpoint, "HF_HOME": str(tmp_path / "hf"), "EMBASSAY_DATA": str(tmp_path / "mirror")}
        command = [sys.executable, "-m", "embassay", "data", *arguments]
        return subprocess.run(command, env={**os.environ, **own, **more}, capture_output=True, text=True, check=False)

    return run


def test_fetch(repositories: Any, data: Run, tmp_path: Path) -> None:
    """Configurations and splits become files of the mirror; then no network is needed, and nothing is fetched twice."""
    repositories.add(find_catalogue_entry("rte3"))
    repositories.add(find_catalogue_entry("arguana"))
    with _served(repositories.root) as endpoint:
        done = data("fetch", "rte3", endpoint=endpoint)
        assert (done.returncode, done.stdout.count("2 rows")) == (0, 4), done.stderr
        kept = data("fetch", "rte3", "--json", endpoint=endpoint)
    assert [one["rows"] for one in json.loads(kept.stdout)] == [None] * 4
    with gzip.open(tmp_path / "mirror" / "rte3" / "test" / "de.jsonl.gz", "rt") as lines:
        assert list(json.loads(next(lines))) == ["sentence1", "sentence2", "labels"]
    origin = json.loads((tmp_path / "mirror" / "rte3" / "origin.json").read_text())
    assert (origin["hub"], origin["revision"], origin["rows"]["test/de"]) == (
        "mteb/RTE3",
        find_catalogue_entry("rte3").revision,
        2,
    )
    shown = data("show", "rte3", "--json", HF_HUB_OFFLINE="1")
    assert json.loads(shown.stdout)["facts"]["language"] == "de en fr it"


def test_a_refused_file_leaves_nothing_half(repositories: Any, data: Run, tmp_path: Path) -> None:
    """The error is one line, the exit code 4, and no file of the mirror is partly there; the next fetch mends it."""
    repositories.add(find_catalogue_entry("rte3"))
    with _served(repositories.root, "/fr/test.jsonl") as endpoint:
        failed = data("fetch", "rte3", endpoint=endpoint)
    assert failed.returncode == 4
    assert "Traceback" not in failed.stderr
    assert "mteb/RTE3 fr test at 54ea00522672 cannot be read from the hub" in failed.stderr
    assert sorted(path.name for path in (tmp_path / "mirror" / "rte3" / "test").glob("[!.]*")) == [
        "de.jsonl.gz",
        "en.jsonl.gz",
    ]
    with _served(repositories.root) as endpoint:
        assert data("fetch", "rte3", endpoint=endpoint).returncode == 0


def test_no_hub(data: Run, tmp_path: Path) -> None:
    """A host that does not exist is noticed at once, and the line names the folder to fill."""
    failed = data("fetch", "stsbenchmark", endpoint="http://hub.invalid", no_proxy="*")
    assert failed.returncode == 4
    assert f"Fill the folder {tmp_path / 'mirror' / 'stsbenchmark'} with test.jsonl" in failed.stderr
    assert "Traceback" not in failed.stderr
    assert "Retrying" not in failed.stderr


def test_interrupted(repositories: Any, tmp_path: Path) -> None:
    """Ctrl-C is exit code 130 and one line; the same command goes on after the pieces that are whole."""
    pytest.importorskip("datasets")
    repositories.add(find_catalogue_entry("paul-graham"), copies=30_000)
    folder = tmp_path / "mirror" / "paul-graham"
    command = [sys.executable, "-m", "embassay", "data", "fetch", "paul-graham"]
    with _served(repositories.root) as endpoint:
        own = {"HF_ENDPOINT": endpoint, "HF_HOME": str(tmp_path / "hf"), "EMBASSAY_DATA": str(tmp_path / "mirror")}
        environment = {**os.environ, **own}
        with subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True) as first:
            while first.poll() is None and not list(folder.glob(".*.part/*.gz")):
                time.sleep(0.01)
            first.send_signal(signal.SIGINT)
            _, said = first.communicate(timeout=60)
        assert (first.returncode, "Stopped. Finished files are kept in" in said) == (130, True), said
        assert not (folder / "train.jsonl.gz").exists()
        second = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert "paul-graham train: 120,000 rows" in second.stdout
    with gzip.open(folder / "train.jsonl.gz", "rt") as lines:
        assert sum(1 for _ in lines) == 120_000
