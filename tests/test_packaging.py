"""What users install: the wheel holds the whole package, and nothing else."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import semblance

ROOT = Path(__file__).parents[1]


@pytest.mark.slow
def test_the_wheel_holds_the_package(tmp_path: Path) -> None:
    """Sample data, templates, type marker and licence are in the wheel; tests and runs are not."""
    pytest.importorskip("hatchling")
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(tmp_path)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    packed = set(zipfile.ZipFile(wheel).namelist())
    source = ROOT / "src"
    files = (path for path in (source / "semblance").rglob("*") if path.is_file())
    wanted = {
        path.relative_to(source).as_posix()
        for path in files
        if "__pycache__" not in path.parts and path.suffix not in (".nbi", ".nbc")
    }
    assert wanted <= packed
    assert {name.partition("/")[0] for name in packed} == {
        "semblance",
        f"semblance_eval-{semblance.__version__}.dist-info",
    }
    assert any(name.endswith("licenses/LICENSE") for name in packed)
