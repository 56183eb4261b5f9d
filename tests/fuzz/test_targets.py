"""No input of a parser brings anything but a value or an error that says what is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fuzz.mutations import inputs
from fuzz.target import Target
from fuzz.targets import TARGETS

CRASHES = Path(__file__).parent / "crashes"
BY_NAME = {target.name: target for target in TARGETS}
KEPT = sorted(path for path in CRASHES.glob("*/*") if path.is_file())


@pytest.mark.parametrize("target", TARGETS, ids=list(BY_NAME))
def test_seeds_are_read(target: Target, tmp_path: Path) -> None:
    """What the fuzzers start from is not refused: they begin behind the door."""
    assert target.all_seeds()
    for number, seed in enumerate(target.all_seeds()):
        folder = tmp_path / str(number)
        folder.mkdir()
        target.read(seed, folder)


@pytest.mark.parametrize("target", TARGETS, ids=list(BY_NAME))
def test_anything_is_read_or_refused(target: Target) -> None:
    """Seeds with a few edits, and bytes of any kind."""

    @settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
    @given(data=st.data())
    def check(data: st.DataObject) -> None:
        target(data.draw(inputs(target)))

    check()


@pytest.mark.parametrize("path", KEPT, ids=[f"{path.parent.name}/{path.name}" for path in KEPT])
def test_what_once_crashed(path: Path) -> None:
    """Inputs that fuzzers found; each was mended."""
    BY_NAME[path.parent.name.replace("_", " ")](path.read_bytes())
