"""docs/reference says what the code says."""

from __future__ import annotations

import importlib.util

import pytest

import embassay.measures
from embassay.measures import MEASURES
from embassay.systems import SYSTEMS
from embassay.text import PERTURBATIONS
from reference_pages.measured import DATA, FUNCTIONS, example
from reference_pages.pages import FOLDER, PAGES
from reference_pages.perturbed import EDITS, SPELLED, edited

pytestmark = pytest.mark.skipif(importlib.util.find_spec("ir_measures") is None, reason="needs the extra ir")


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_what_its_generator_writes(name: str) -> None:
    """Registries, docstrings and computed examples are those of now."""
    assert (FOLDER / name).read_text("utf-8") == PAGES[name](), (
        "renew it: PYTHONPATH=tests python -m reference_pages --write"
    )


def test_there_is_no_page_without_a_generator() -> None:
    """Nobody edits a generated folder by hand."""
    assert {path.name for path in FOLDER.iterdir()} == {name for name in PAGES if "/" not in name}


def test_every_measure_has_a_section_with_its_example() -> None:
    """Each is defined by a public function, and its example is a number that the page shows."""
    page = PAGES["measures.md"]()
    assert {one.name for one in MEASURES if not one.package} == set(FUNCTIONS)
    for one in FUNCTIONS:
        call, value = example(one)
        assert f"\n## {one} {{" in page
        assert f"`{call}` gives **{value}**." in page
        assert value != "NaN"


def test_the_example_can_be_followed() -> None:
    """What the page prints is what its own lines compute."""
    lines = [f"{name} = {value}" for name, value in DATA.values()]
    space: dict[str, object] = {"MEASURES": MEASURES}
    exec("\n".join(lines), space)
    for one in FUNCTIONS:
        call, value = example(one)
        assert eval(call, space) == pytest.approx(float(value), abs=5.1e-5), one


def test_every_public_function_of_the_measures_is_there() -> None:
    """What can be imported can be looked up."""
    page = PAGES["measures.md"]()
    for name in embassay.measures.__all__:
        found = getattr(embassay.measures, name)
        if callable(found) and not isinstance(found, type) and name != "MEASURES":
            assert f"`embassay.measures.{name}`" in page or f"- `{name}(" in page, name


def test_every_perturbation_and_system_has_a_section() -> None:
    """By name, with what the code makes of the text of the examples."""
    page, systems = PAGES["perturbations.md"](), PAGES["systems.md"]()
    for one in PERTURBATIONS:
        if not one.package:
            assert f"\n## {one.name}\n" in page
            assert one.name in EDITS
            for spelled in SPELLED.get(one.name, (one.name,)):
                assert f"- `{spelled}` gives `{edited(spelled)}`\n" in page
    assert all(f"\n## {one.name}\n" in systems for one in SYSTEMS if not one.package)
