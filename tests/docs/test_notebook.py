"""The notebook of the documentation shows what its cells show today."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from docs.notebook import PAGE, written

FIGURE = "image/svg+xml"
NUMBER = re.compile(r"\d+\.\d+")


def shown(notebook: str) -> list[Any]:
    """The outputs of every cell; of figures that there is one, as another matplotlib draws another file."""
    outputs = [output for cell in json.loads(notebook)["cells"] for output in cell.get("outputs", ())]
    return [FIGURE if FIGURE in one.get("data", ()) else one for one in outputs]


@pytest.mark.slow
def test_every_cell_shows_what_is_stored(monkeypatch: pytest.MonkeyPatch) -> None:
    """Run from top to bottom in an empty folder; figures, tables and texts with their numbers."""
    pytest.importorskip("matplotlib")
    monkeypatch.setenv("COLUMNS", "80")
    stored, now = shown(PAGE.read_text("utf-8")), shown(written())
    assert now == stored
    assert FIGURE in stored
    assert len(NUMBER.findall(json.dumps(stored))) > 40
