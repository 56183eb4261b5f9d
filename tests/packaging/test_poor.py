"""What the README's two commands install is enough for both, and holds nothing that is an extra of its own."""

from __future__ import annotations

import os
import pkgutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

import embassay

HEAVY = ("torch", "datasets", "ray", "mteb", "openvino", "transformers", "sentence_transformers")
"""Extras of some hundred MB, on which neither the demo nor `make test` may depend."""
CORE = ("data", "measures", "protocols", "runs", "stats", "text")
BLOCKED = """\
import sys
class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {heavy!r}:
            raise ModuleNotFoundError(name, name=name)
sys.meta_path.insert(0, Blocked())
"""
ROOT = Path(__file__).parents[2]
QUICK = ROOT / "tests" / "quick.txt"


@pytest.mark.skipif("EMBASSAY_POOR" not in os.environ, reason="this environment may hold any extra")
@pytest.mark.parametrize("name", HEAVY)
def test_no_heavy_extra_is_here(name: str) -> None:
    """CI runs the README's commands first, and says that it does: then an extra that came along is a fault."""
    assert find_spec(name) is None, f"{name} came along with what the README's commands install"


def test_the_core_needs_no_extra() -> None:
    """All modules of data, measures, statistics, runs and protocols can be imported where no extra is installed."""
    modules = [found.name for found in pkgutil.walk_packages(embassay.__path__, "embassay.")]
    core = [name for name in modules if name.split(".")[1] in CORE]
    script = BLOCKED.format(heavy=HEAVY) + "\n".join(f"import {name}" for name in core)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2_000:]


@pytest.mark.parametrize("place", QUICK.read_text("utf-8").split())
def test_every_place_of_the_short_list_is_there(place: str) -> None:
    """A folder or a file that was renamed would leave `make test` without a word."""
    assert (ROOT / place.partition("::")[0]).exists()
