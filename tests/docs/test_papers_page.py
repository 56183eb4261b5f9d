"""docs/papers.md: each item's command is one of ours, and what the demo makes of it is there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def pages(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    import papers_page

    return papers_page


def test_the_page_is_that_of_the_table(pages: Any) -> None:
    assert pages.PAGE.read_text("utf-8") == pages.page(), "renew it: python benchmarks/papers_page.py --write"


def test_every_command_is_one_of_the_reference(pages: Any) -> None:
    """And so are its options."""
    reference = (ROOT / "docs" / "cli.md").read_text("utf-8")
    for item in pages.read_items():
        words = item["command"].split()
        first = next((place for place, word in enumerate(words) if word.startswith("-")), len(words))
        # What is an argument stands behind the command, such as a paper.
        names = [" ".join(words[:end]) for end in range(first, 0, -1)]
        assert any(f"### `embassay {name}`\n" in reference for name in names), item
        assert all(f"`{word}" in reference or f", {word}" in reference for word in words if word[0] == "-"), (
            item
        )


@pytest.mark.slow
def test_what_the_demo_makes_is_there(pages: Any, demo: Any) -> None:
    """Of every item that names a file, which holds something."""
    made = {item["made"] for item in pages.read_items()} - {""}
    assert len(made) > 50
    empty = {name for name in made if not (found := demo.folder / name).exists() or not found.stat().st_size}
    assert not empty
