"""docs/catalogue.md says what the records say."""

from __future__ import annotations

import importlib.util
from pathlib import Path


def test_the_page_is_that_of_the_records() -> None:
    """Every record is in the page as it is now."""
    spec = importlib.util.spec_from_file_location(
        "catalogue_page", Path(__file__).with_name("catalogue_page.py")
    )
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert module.PAGE.read_text("utf-8") == module.page(), (
        "renew it: python tests/docs/catalogue_page.py --write"
    )
