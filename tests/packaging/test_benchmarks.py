"""Every script of `benchmarks/` starts, and the benchmarks run at their smallest."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]
SCRIPTS = sorted(path for path in (ROOT / "benchmarks").glob("*.py") if "__main__" in path.read_text("utf-8"))
BENCHMARKS = [path for path in SCRIPTS if path.name.startswith("bench_")]
NOTHING_TO_MEASURE = 77


def start(script: Path, *arguments: str, place: Path, limit: float) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(script), *arguments], cwd=place, capture_output=True, text=True, check=False,
        timeout=limit, env={**os.environ, "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT / 'tests'}"}
    )  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_every_script_says_how_it_is_used(script: Path, tmp_path: Path) -> None:
    """`--help` answers, and does nothing."""
    done = start(script, "--help", place=tmp_path, limit=300)
    assert done.returncode == 0, done.stderr
    assert "usage:" in done.stdout
    assert "--quick" in done.stdout or script not in BENCHMARKS
    assert list(tmp_path.iterdir()) == []


@pytest.mark.nightly
@pytest.mark.parametrize("script", BENCHMARKS, ids=lambda path: path.stem)
def test_benchmarks_run_at_their_smallest(script: Path, tmp_path: Path) -> None:
    """To the end, or until they say what they have nothing to measure with."""
    done = start(script, "--quick", place=tmp_path, limit=1200)
    assert done.returncode in (0, NOTHING_TO_MEASURE), done.stderr[-2000:]
    if done.returncode == NOTHING_TO_MEASURE:
        assert "Nothing to measure" in done.stdout


@pytest.fixture
def history(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    import history_page

    return history_page


def write_line(version: str, ratio: float, *, quick: bool = False, cores: int = 2) -> str:
    row = {"title": "BM25", "name": "5,000 texts", "ratio": ratio, "lowest": ratio - 0.1, "highest": ratio + 0.1}
    machine = {"processor": "x", "cores": cores, "system": "Linux"}
    line = {"date": "2026-01-02", "version": version, "quick": quick, "machine": machine, "comparisons": [row]}
    return json.dumps(line) + "\n"


def test_the_page_has_a_column_per_release_and_a_table_per_machine(history: ModuleType, tmp_path: Path) -> None:
    """The newest run of a version counts, and small runs do not."""
    path = tmp_path / "history.jsonl"
    lines = [write_line("1.0", 2.0), write_line("1.0", 3.0), write_line("1.1", 4.0), write_line("1.1", 9.0, quick=True)]
    path.write_text("".join([*lines, write_line("1.1", 5.0, cores=64)]))
    text = history.page(path)
    assert "| BM25: 5,000 texts | 3.00 (2.90–3.10) | 4.00 (3.90–4.10) |" in text
    assert "| BM25: 5,000 texts | 5.00 (4.90–5.10) |" in text
    assert "9.00" not in text
    assert "No full run" in history.page(tmp_path / "none.jsonl")


def test_the_page_is_that_of_the_history(history: ModuleType) -> None:
    assert history.PAGE.read_text("utf-8") == history.page(), "renew it: python benchmarks/history_page.py --write"


@pytest.mark.slow
def test_a_run_of_all_is_a_line_of_the_history(tmp_path: Path) -> None:
    """What was measured, what was not and why; a comparison has its ratio and range."""
    path = tmp_path / "history.jsonl"
    done = start(
        ROOT / "benchmarks" / "run_all.py", "--quick", "--only", "bench_gpu", "--history", str(path),
        place=tmp_path, limit=600
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    (line,) = map(json.loads, path.read_text().splitlines())
    assert line["quick"] is True
    assert line["machine"]["cores"] == os.cpu_count()
    (script,) = line["scripts"]
    assert script["script"] == "bench_gpu"
    assert script["ended"] in ("measured", "nothing to measure")
