"""Which pages there are."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from reference_pages.measured import measures_page, statistics_page
from reference_pages.perturbed import perturbations_page
from reference_pages.reading import reading_page
from reference_pages.systems import systems_page

FOLDER = Path(__file__).parents[2] / "docs" / "reference"
PAGES: Mapping[str, Callable[[], str]] = {
    "measures.md": measures_page,
    "statistics.md": statistics_page,
    "perturbations.md": perturbations_page,
    "systems.md": systems_page,
    "../reading.md": reading_page,
}
