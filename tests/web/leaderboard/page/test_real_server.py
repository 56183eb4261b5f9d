"""The pages before the server that they are for, over a folder of runs that grows meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from written_runs import write_run

from .conftest import names, wait_until

pytestmark = [pytest.mark.browser, pytest.mark.slow]


def values(mean: float, *, n: int = 60, seed: int = 1) -> list[float]:
    """Per-item values whose differences between systems hardly vary."""
    noise = np.random.default_rng(seed).normal(0, 0.1, n)
    own = np.random.default_rng(int(1000 * mean)).normal(0, 0.01, n)
    return list(np.clip(mean + noise + own, 0, 1))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A run of three systems: two alike, one behind."""
    runs = tmp_path / "runs"
    write_run(runs / "first", {"alpha": values(0.7), "beta": values(0.699), "gamma": values(0.5)})
    return runs


def test_a_run_that_comes_later_is_drawn(folder: Path, base: str, visit: Callable[..., Any]) -> None:
    """Ranks, comparison and card come from the folder; a new system appears in the open page without a reload."""
    page = visit(base)
    assert names(page) == ["alpha", "beta", "gamma"]
    assert page.locator("#board .rank").all_inner_texts()[1:] == ["1–2", "1–2", "3"]
    write_run(folder / "second", {"delta": values(0.9)})
    page.evaluate("window.kept = true")
    wait_until(page, "document.querySelector('#board').textContent.includes('delta')", 60)
    assert names(page)[0] == "delta"
    assert page.evaluate("window.kept")
    assert page.locator("#verdict").inner_text().startswith("delta")


def test_views_over_the_real_server(base: str, visit: Callable[..., Any]) -> None:
    """Comparison, card, downloads and groups, with the policy of the real server."""
    page = visit(base + "#compare?a=alpha&b=gamma")
    page.wait_for_selector(".forest tbody tr")
    assert "alpha beats gamma" in page.locator(".forest").inner_text()
    page.get_by_role("link", name="Ranking").click()
    page.get_by_label("Show", exact=True).select_option(label="alpha")
    assert names(page) == ["alpha", "beta"]
    page.locator("summary", has_text="Download").click()
    for name, end in (("CSV", "csv"), ("LaTeX", "tex"), ("JSON", "json")):
        with page.expect_download() as started:
            page.get_by_role("link", name=name).click()
        assert started.value.suggested_filename.endswith(end)
        assert "alpha" in Path(started.value.path()).read_text("utf-8")
    page.locator("#board .system a").first.click()
    assert page.locator("h1").inner_text() == "alpha"
    page.goto(base + "b/nothing/")
    assert page.locator("h1").inner_text() != ""
    assert page.get_by_role("link", name="All boards").is_visible()
