"""The built pages, opened from a folder as a reader without a server does."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
def test_search_works_on_pages_opened_from_a_folder(browser: Any, tmp_path: Path) -> None:
    """A word gives pages that have it; the judge is not asked of any address, and nothing goes wrong on the way."""
    pytest.importorskip("material")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(tmp_path / "site")]
    env = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    subprocess.run(command, cwd=ROOT, env=env, check=True, capture_output=True, timeout=300)
    page = browser.new_page()
    asked: list[str] = []
    wrong: list[str] = []
    page.on("request", lambda one: asked.append(one.url))
    page.on("pageerror", lambda one: wrong.append(str(one)))
    page.on("console", lambda one: wrong.append(one.text) if one.type == "error" else None)
    page.goto((tmp_path / "site" / "index.html").as_uri())
    page.locator("input.md-search__input").fill("paraphrase")
    found = page.locator(".md-search-result__link")
    found.first.wait_for(state="attached", timeout=60_000)
    names = {(one.get_attribute("href") or "").rpartition("/")[2].partition("?")[0] for one in found.all()}
    page.close()
    assert {"paraphrases.html", "pteb.html"} & {name.partition("#")[0] for name in names}
    assert not [one for one in asked if not one.startswith(("file:", "data:", "blob:"))]
    assert not wrong
