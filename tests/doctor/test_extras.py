"""Which extras are here."""

from __future__ import annotations

import tomllib
from importlib import metadata
from pathlib import Path

import pytest

from embassay.doctor import PURPOSES, _parse_version, list_package_extras

PROJECT = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text("utf-8"))
FOR_DEVELOPERS = {"test", "check", "vendors", "fuzz"}


def test_every_extra_of_the_project_has_its_purpose() -> None:
    """A new extra must be described, and what is described exists."""
    assert set(PROJECT["project"]["optional-dependencies"]) - FOR_DEVELOPERS == set(PURPOSES)


def test_missing_and_old_packages_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each with what is needed; a bound that is met is no fault, nor is what belongs to no extra."""
    wanted = [
        "numpy>=2.0", "absent-package>=1; extra == 'onnx'", 'typer>=999.1 ; extra == "llm"',
        "rich[jupyter]>=0.1; python_version >= '3' and extra == 'web'", "ruff; extra == 'check'",
    ]  # fmt: skip
    monkeypatch.setattr(metadata, "requires", lambda _: wanted)
    found = {one.name: one for one in list_package_extras()}
    assert list(found) == ["onnx", "llm", "web"]
    assert (found["onnx"].missing, found["onnx"].is_installed) == (("absent-package",), False)
    assert found["llm"].old == (f"typer {metadata.version('typer')} (needs 999.1)",)
    assert found["web"].is_installed
    assert found["onnx"].mend == "pip install 'embassay[onnx]'"


def test_not_installed_at_all() -> None:
    """Run from a folder of sources there is nothing to tell."""
    assert list_package_extras("no-such-distribution") == ()


@pytest.mark.parametrize(("low", "high"), [("1.9", "1.10"), ("2.0rc1", "2.0.1"), ("0.9.9", "1"), ("1.2.3", "1.2.3.1")])
def test_versions_in_order(low: str, high: str) -> None:
    """Numbers, not letters."""
    assert _parse_version(low) < _parse_version(high)
    assert _parse_version(f"{high}.0") == _parse_version(high)
