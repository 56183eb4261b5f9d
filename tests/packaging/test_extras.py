"""The trial of the extras knows them all. `extras.py` carries it out."""

from __future__ import annotations

import re

from environments import ROOT
from extras import declared
from smokes import SMOKES

from embassay.doctor import PURPOSES


def test_every_extra_is_tried() -> None:
    """A new extra needs a smoke test, and one that is gone has none."""
    assert set(SMOKES) == set(declared())


def test_the_page_about_installing_names_every_extra_for_users() -> None:
    """Each in the table, and none that is gone."""
    page = (ROOT / "docs" / "installing.md").read_text("utf-8")
    cells = re.findall(r"(?m)^\| (`.+?`) \|", page)
    assert {name for cell in cells for name in re.findall("`(.+?)`", cell)} == set(PURPOSES)


def test_every_extra_for_users_is_shown_by_doctor() -> None:
    """What `embassay doctor` lists is what users have."""
    assert {name for name, smoke in SMOKES.items() if smoke.own} == set(PURPOSES)
