"""The colour tokens: contrast and distance, computed again from the style sheet."""

from __future__ import annotations

import re
from importlib import resources
from itertools import combinations

import numpy as np
import pytest
from numpy.typing import NDArray

from embassay.report.html import STYLES

Rgb = NDArray[np.float64]
THEMES = ("light", "dark")
GROUNDS = ("page", "panel", "selected")
SERIES = ("blue", "orange", "teal", "plum")
# Machado, Oliveira and Fernandes 2009, severity 1, on linear light.
VISIONS = {
    "normal": np.eye(3),
    "protan": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
    "deutan": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
    ),
    "tritan": np.array(
        [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]]
    ),
}


SHEET = "".join((resources.files("embassay.report") / "assets" / name).read_text("utf-8") for name in STYLES)


def _tokens() -> dict[str, dict[str, Rgb]]:
    found = re.findall(r"--([\w-]+): light-dark\((#\w{6}), (#\w{6})\)", SHEET)
    return {theme: {name: _rgb(pair[i]) for name, *pair in found} for i, theme in enumerate(THEMES)}


def _rgb(text: str) -> Rgb:
    return np.array([int(text[i : i + 2], 16) / 255 for i in (1, 3, 5)])


def _linear(colour: Rgb) -> Rgb:
    return np.where(colour <= 0.04045, colour / 12.92, ((colour + 0.055) / 1.055) ** 2.4)


def contrast(a: Rgb, b: Rgb) -> float:
    """WCAG 2 contrast ratio."""
    light = sorted(float(_linear(one) @ [0.2126, 0.7152, 0.0722]) for one in (a, b))
    return (light[1] + 0.05) / (light[0] + 0.05)


def _lab(linear: Rgb) -> Rgb:
    matrix = np.array([[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750],
                       [0.0193339, 0.1191920, 0.9503041]])  # fmt: skip
    xyz = matrix @ np.clip(linear, 0, 1) / np.array([0.95047, 1.0, 1.08883])
    f = np.where(xyz > 216 / 24389, np.cbrt(xyz), (24389 / 27 * xyz + 16) / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


TOKENS = _tokens()


def test_the_tokens_are_those_of_the_design() -> None:
    """Every colour of the style sheet is a token with a light and a dark value."""
    assert len(TOKENS["light"]) == len(TOKENS["dark"]) == 28
    rules = SHEET.partition("--sans")[2].partition("@page")[0]
    assert not re.findall(r"#[0-9A-Fa-f]{3,6}\b(?=[;,) ])", rules)


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("ground", GROUNDS)
@pytest.mark.parametrize("text", ["ink", "muted", "link"])
def test_text_stands_out(theme: str, ground: str, text: str) -> None:
    """Text on page, panel and selected row has at least 5.4:1."""
    assert contrast(TOKENS[theme][text], TOKENS[theme][ground]) >= 5.3


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("state", ["failed", "care", "good"])
def test_states_stand_out_on_their_ground(theme: str, state: str) -> None:
    """A state's word is readable on its own ground and, as mark, on the page."""
    assert contrast(TOKENS[theme][state], TOKENS[theme][f"{state}-ground"]) >= 5.3
    assert contrast(TOKENS[theme]["ink"], TOKENS[theme][f"{state}-ground"]) >= 5.3


@pytest.mark.parametrize("theme", THEMES)
def test_heat_cells_are_readable(theme: str) -> None:
    """Ink on steps 1 to 4, the page's colour on step 5: at least 4.8:1."""
    tokens = TOKENS[theme]
    heats = ("step", "off")
    ratios = [contrast(tokens["ink"], tokens[f"{heat}{i}"]) for heat in heats for i in (1, 2, 3, 4)]
    ratios += [contrast(tokens["page"], tokens[f"{heat}5"]) for heat in heats]
    assert min(ratios) >= 4.8


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("mark", [*SERIES, "border"])
def test_marks_and_borders_stand_out(theme: str, mark: str) -> None:
    """Marks and field borders have at least 3:1 on every ground."""
    assert min(contrast(TOKENS[theme][mark], TOKENS[theme][ground]) for ground in GROUNDS) >= 3.0


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("vision", VISIONS)
def test_series_differ_for_every_eye(theme: str, vision: str) -> None:
    """The four series differ by 17 (CIE76) in normal and in colour-deficient vision."""
    seen = [_lab(VISIONS[vision] @ _linear(TOKENS[theme][name])) for name in SERIES]
    assert min(float(np.linalg.norm(a - b)) for a, b in combinations(seen, 2)) >= 17
