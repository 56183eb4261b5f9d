"""What all tests share: where the checkout is, and a cache that no other test has touched."""

from __future__ import annotations

from itertools import count
from pathlib import Path

import pytest
from hypothesis import settings

ROOT = Path(__file__).parents[1]

# A shared machine can be slow at any moment; a slow example is no finding.
settings.register_profile("semblance", deadline=None)
settings.load_profile("semblance")

_numbers = count()


@pytest.fixture(scope="session")
def root() -> Path:
    """The checkout."""
    return ROOT


@pytest.fixture(autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test reads or fills the user's cache, or another test's."""
    folder = tmp_path_factory.getbasetemp() / "caches" / str(next(_numbers))
    monkeypatch.setenv("SEMBLANCE_CACHE", str(folder))
