"""The README on a package index, where no file of the repository lies beside it."""

from __future__ import annotations

import re

import pytest
from environments import ROOT

pytest.importorskip("hatchling")

TEXT = (
    "[guide](docs/guide.md#start), [site](https://example.org), [below](#below)\n"
    "![A report](docs/images/report.png)\n"
    "`[not](a link`\n"
)


@pytest.fixture(scope="module")
def readme_for_index():
    import importlib.util

    spec = importlib.util.spec_from_file_location("hatch_build", ROOT / "hatch_build.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.readme_for_index


def test_relative_links_lead_to_the_version_in_the_repository(readme_for_index) -> None:
    """Pages and pictures of the release's tag; other links stay."""
    assert readme_for_index(TEXT, "https://example.org/us/embassay/", "0.2.0") == (
        "[guide](https://example.org/us/embassay/blob/v0.2.0/docs/guide.md#start), [site](https://example.org), "
        "[below](#below)\n"
        "![A report](https://example.org/us/embassay/raw/v0.2.0/docs/images/report.png)\n"
        "`[not](a link`\n"
    )


def test_a_version_in_the_making_has_no_tag(readme_for_index) -> None:
    """Its links lead to the main branch."""
    assert readme_for_index("[a](b.md)", "https://x.org/r", "0.3.0.dev0") == "[a](https://x.org/r/blob/main/b.md)"


def test_without_a_repository_there_are_no_dead_links(readme_for_index) -> None:
    """Labels stay, pictures go."""
    assert readme_for_index(TEXT, None, "0.2.0") == (
        "guide, [site](https://example.org), [below](#below)\n\n`[not](a link`\n"
    )


def test_no_link_of_our_readme_needs_the_checkout(readme_for_index) -> None:
    """Every link of what an index shows is absolute, and every file it leads to exists."""
    ours = (ROOT / "README.md").read_text("utf-8")
    shown = readme_for_index(ours, "https://example.org/r", "1.0.0")
    links = re.findall(r"\]\(([^)]+)\)", shown)
    assert len(links) > 20
    assert [link for link in links if not link.startswith("https://")] == []
    paths = [link.partition("/v1.0.0/")[2].partition("#")[0] for link in links if "/v1.0.0/" in link]
    assert [path for path in paths if not (ROOT / path).exists()] == []
    assert re.findall(r"\]\((?!https?:)", readme_for_index(ours, None, "1.0.0")) == []
