"""docs/catalogue.md says what the records say."""

from __future__ import annotations

from pathlib import Path

import pytest


def test_the_page_is_that_of_the_records(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every record is in the page as it is now."""
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "benchmarks"))
    import catalogue_page

    assert catalogue_page.PAGE.read_text("utf-8") == catalogue_page.page(), (
        "renew it: python benchmarks/catalogue_page.py --write"
    )
