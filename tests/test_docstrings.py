"""Every example in a docstring of the package prints what it shows."""

from __future__ import annotations

import doctest
import re
from importlib import import_module
from pathlib import Path

import pytest

SOURCES = Path(__file__).resolve().parents[1] / "src"
WITH_EXAMPLES = [
    path
    for path in sorted(SOURCES.rglob("*.py"))
    if re.search(r"^\s+>>> ", path.read_text(encoding="utf-8"), re.MULTILINE)
]


@pytest.mark.parametrize("path", WITH_EXAMPLES, ids=lambda path: path.relative_to(SOURCES / "embassay").as_posix())
def test_examples_hold(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run in a folder of their own: an example may write."""
    monkeypatch.chdir(tmp_path)
    parts = path.relative_to(SOURCES).with_suffix("").parts
    result = doctest.testmod(import_module(".".join(parts[:-1] if parts[-1] == "__init__" else parts)))
    assert result.attempted
    assert not result.failed
