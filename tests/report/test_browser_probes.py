"""The pages of the probes in a real browser: nothing sticks out, one forest at a time, and all of them in print."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import embassay as eb
from embassay.report import write_report

pytestmark = pytest.mark.browser
Go = Callable[..., Any]
SMALL: dict[str, Any] = {"queries": 6, "runs": 2, "tokenizer": "words", "resamples": 100}


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("probes")
    names = eb.rag.probe_names(["jaccard", "bm25"], out=folder / "names", **SMALL)
    noise = eb.rag.probe_noise(["jaccard"], out=folder / "noise", **SMALL)
    return {"names": write_report(names.path), "noise": write_report(noise.path)}


@pytest.fixture
def go(visit: Go, reports: dict[str, Path]) -> Go:
    return lambda place, **options: visit(reports[place], place, **options)


@pytest.mark.parametrize("place", ["names", "noise"])
def test_nothing_sticks_out(go: Go, place: str) -> None:
    page = go(place)
    for width in (320, 390, 1232):
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert page.locator(f"#{place}-title").is_visible()


def test_a_forest_at_a_time_on_screen_and_all_in_print(go: Go) -> None:
    page = go("names")
    shown = page.locator("table.forest:visible")
    assert shown.count() == 1
    first = shown.first.get_attribute("id")
    page.get_by_label("System", exact=True).last.select_option("bm25, French")
    assert shown.count() == 1
    assert shown.first.get_attribute("id") != first
    page.emulate_media(media="print")
    assert shown.count() == 4
