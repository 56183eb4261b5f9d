"""What all tests share: where the checkout is, a cache that no other test has touched, and a browser."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

import chromium

ROOT = Path(__file__).parents[1]

# A shared machine can be slow at any moment; a slow example is no finding.
settings.register_profile("semblance", deadline=None)
settings.load_profile("semblance")

_numbers = count()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """With `-n --dist loadgroup` tests that share something costly go to one worker, which makes it once: libraries of
    some GB, what a folder's tests share, what a module's share (a Chromium among it)."""
    for item in items:
        if group := _shared(item):
            item.add_marker(pytest.mark.xdist_group(group))


def _shared(item: pytest.Item) -> str | None:
    if item.get_closest_marker("torch") or item.get_closest_marker("mteb"):
        return "torch"
    found = getattr(item, "_fixtureinfo", None)
    used = [one for some in found.name2fixturedefs.values() for one in some] if found else []
    folders = [one.baseid for one in used if one.scope == "session" and one.baseid not in ("", "tests")]
    if folders:
        return max(folders, key=len)
    return str(item.path) if any(one.scope == "module" and one.baseid for one in used) else None


@pytest.fixture(scope="session")
def root() -> Path:
    """The checkout."""
    return ROOT


@pytest.fixture(autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test reads or fills the user's cache, or another test's."""
    folder = tmp_path_factory.getbasetemp() / "caches" / str(next(_numbers))
    monkeypatch.setenv("SEMBLANCE_CACHE", str(folder))


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """A Chromium; tests are skipped where there is none. Not for the session: while it is open its driver keeps an
    event loop running, and no other test of the process could start one."""
    if chromium.executable() is None:
        pytest.skip("no Chromium: set SEMBLANCE_CHROMIUM")
    pytest.importorskip("playwright.sync_api")
    with chromium.opened() as one:
        yield one
