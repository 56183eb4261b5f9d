"""A run that is killed at any moment goes on where it was."""

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress

import polars as pl
import psutil
import pytest

PYTHON = [sys.executable, "-m", "embassay"]
ARGUMENTS = [
    "sage", "run", "-s", "bm25", "-s", "wordllama", "--tokenizer", "words",
    "--limit", "40", "--resamples", "200", "-t", "retrieval", "-t", "robustness", "-t", "sensitivity", "--out",
]  # fmt: skip


def start(path, cache, command=PYTHON):
    environment = {**os.environ, "EMBASSAY_CACHE": str(cache)}
    return subprocess.Popen(
        [*command, *ARGUMENTS, str(path)], env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )


def finish(path, cache, command):
    process = start(path, cache, command)
    _, errors = process.communicate(timeout=600)
    assert process.returncode == 0, errors.decode()


def cells(path):
    """How many are finished."""
    return len(list(path.glob("cells/*.json")))


def rows(path):
    return sorted((path / "results.jsonl").read_text().splitlines())


def items(path):
    return {str(file.relative_to(path)): file.read_bytes() for file in sorted(path.glob("items/**/*.parquet"))}


def encoded(path):
    """Texts encoded over all sessions: finished cells count what they had to encode."""
    manifest = json.loads((path / "manifest.json").read_text())
    return sum(cell["counts"].get("texts_encoded", 0) for cell in manifest["cells"])


@pytest.mark.slow
def test_killed_again_and_again_it_ends_with_the_same_bytes(tmp_path, warm):
    """kill -9 before, amid and after the first cells, resumed each time: results and items equal an uninterrupted
    run's. The last one is a Python of its own."""
    whole, broken, cache = tmp_path / "whole", tmp_path / "broken", tmp_path / "cache-broken"
    finish(whole, tmp_path / "cache-whole", warm.command)
    moments = (
        (broken.exists, warm.command),
        (lambda: cells(broken) > 0, warm.command),
        (lambda: cells(broken) > cells(whole) // 2, PYTHON),
    )
    for come, command in moments:
        process = start(broken, cache, command)
        while not come():
            time.sleep(0.002)
            assert process.poll() is None, process.communicate()[1].decode()[-2000:]
        process.send_signal(signal.SIGKILL)
        process.communicate(timeout=60)
    finish(broken, cache, warm.command)
    assert rows(broken) == rows(whole)
    assert items(broken) == items(whole)
    assert encoded(broken) <= encoded(whole)
    assert len(pl.read_parquet(next(broken.glob("items/retrieval/*/wordllama.parquet")))) > 0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "times", "workers"),
    [("SIGINT", 1, 1), ("SIGTERM", 1, 1), ("SIGINT", 30, 1), ("SIGINT", 30, 2), ("SIGHUP", 1, 2)],
)
def test_an_interrupt_says_what_is_safe_and_how_to_resume(tmp_path, name, times, workers):
    """Exit code 130, one line, and the command that resumes; the manifest says the run is partial. One that is given
    again and again, as by a finger on Ctrl-C, breaks off neither, and no process of the run is left. A terminal that
    closes (HUP) is one too."""
    command = [*PYTHON, *ARGUMENTS, str(tmp_path / "run"), "--workers", str(workers)]
    process = subprocess.Popen(
        command, env={**os.environ, "EMBASSAY_CACHE": str(tmp_path / "cache")}, stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE, start_new_session=True,
    )  # fmt: skip
    while not (tmp_path / "run" / "cells").exists():
        time.sleep(0.05)
        assert process.poll() is None
    for _ in range(times):
        os.killpg(process.pid, getattr(signal, name))
        time.sleep(0.01)
    _, errors = process.communicate(timeout=120)
    text = errors.decode()
    assert process.returncode == 130, text
    assert "Resume with: embassay sage run" in text
    assert "Traceback" not in text
    assert json.loads((tmp_path / "run" / "manifest.json").read_text())["status"] == "partial"
    assert psutil.wait_procs(group(process.pid), timeout=120)[1] == []


def group(number):
    """The processes of a group that have not ended."""
    found = []
    for one in psutil.process_iter():
        with suppress(psutil.Error, ProcessLookupError):
            if os.getpgid(one.pid) == number and one.status() != psutil.STATUS_ZOMBIE:
                found.append(one)
    return found


@pytest.mark.slow
def test_workers_end_with_a_parent_that_is_killed(tmp_path):
    """kill -9 of the parent leaves none of its processes, though their cells would have taken an hour."""
    script = tmp_path / "waiting.py"
    script.write_text(WAITING)
    parent = subprocess.Popen([sys.executable, str(script), str(tmp_path / "run")], stdout=subprocess.DEVNULL)
    process = psutil.Process(parent.pid)
    while not all((tmp_path / "run" / name).exists() for name in "ab"):
        time.sleep(0.05)
        assert parent.poll() is None
    left = process.children(recursive=True)
    assert len(left) >= 2
    parent.kill()
    parent.wait()
    assert psutil.wait_procs(left, timeout=120)[1] == []


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="mounts a small disk: needs root")
def test_a_full_disk_and_on_when_there_is_room(tmp_path):
    """One line that says what is kept and how to go on; with room, the same command ends with the same bytes."""
    whole, disk = tmp_path / "whole", tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=600k", "tmpfs", str(disk)], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("no disk can be mounted here")
    try:
        for path, full in ((whole, False), (disk / "run", True), (disk / "run", False)):
            _, errors = (process := start(path, tmp_path / "cache")).communicate(timeout=600)
            text = errors.decode()
            assert "Traceback" not in text
            assert process.returncode == int(full), text
            if full:
                assert "No space left" in text
                assert "kept in" in text
                assert "Then resume with: embassay sage run" in text
                assert any((path / "cells").iterdir())
                subprocess.run(["mount", "-o", "remount,size=60m", str(disk)], check=True)
        assert rows(disk / "run") == rows(whole)
        assert items(disk / "run") == items(whole)
    finally:
        subprocess.run(["umount", str(disk)], check=True)


WAITING = """
import sys, time
from pathlib import Path
from embassay.cli.progress import make_progress_listener
from embassay.runs.folder import RunCell
from embassay.runs.execution import LazyCellEngine
from embassay.runs.folder import RunFolder

def work(job, advance):
    Path(job).touch()
    time.sleep(3600)

if __name__ == "__main__":
    folder = RunFolder(Path(sys.argv[1]))
    folder.path.mkdir()
    cells = [RunCell("t", "d", "s", name, 1, str(folder.path / name)) for name in "ab"]
    list(LazyCellEngine(2, folder).do(cells, work, make_progress_listener()))
"""
