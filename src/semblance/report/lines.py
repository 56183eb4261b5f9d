"""Lines with bands over positions across, at most four, each named at its end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from markupsafe import Markup, escape

from semblance.records import Result
from semblance.report.sage.curves import HEIGHT, MARKERS, MOST_LINES, apart
from semblance.report.scale import Scale

LEFT, WIDE = 8, 62
"""Percent of the figure: where the plot begins and how wide it is; names stand on the right."""


@dataclass(frozen=True)
class Series:
    """A named line: places across (0 to 1) with the result there."""

    name: str
    points: tuple[tuple[float, Result], ...]


def lines(series: Sequence[Series], ticks: Sequence[tuple[float, str]], y: Scale, name: str) -> Markup:
    """The drawing of the first four; `ticks` are places across with their labels, `name` says what they are."""
    shown = [one for one in series if one.points][:MOST_LINES]
    parts = [_grid(y), _bands(shown, y), *(_line(one, i, y) for i, one in enumerate(shown)), _names(shown, y)]
    parts += [
        f'<text x="{_x(at)}" y="{HEIGHT + 24}" text-anchor="middle">{escape(label)}</text>'
        for at, label in ticks
    ]
    middle = f'<text x="{LEFT + WIDE / 2}%" y="{HEIGHT + 39}" text-anchor="middle">{escape(name)}</text>'
    return Markup(f'<svg class="curve" height="{HEIGHT + 42}">{"".join(parts)}{middle}</svg>')


def _x(at: float) -> str:
    return f"{LEFT + WIDE * at:.2f}%"


def _y(y: Scale, value: float) -> float:
    return round(8 + (100 - y.at(value)) / 100 * HEIGHT, 1)


def _grid(y: Scale) -> str:
    return "".join(
        f'<line class="g" x1="{LEFT}%" x2="{LEFT + WIDE}%" y1="{_y(y, tick)}" y2="{_y(y, tick)}"/>'
        f'<text x="{LEFT - 1}%" y="{_y(y, tick)}" dy="4" text-anchor="end">{y.label(tick)}</text>'
        for tick in y.ticks
    )


def _bands(series: Sequence[Series], y: Scale) -> str:
    """The 95% bands, in a nested drawing that stretches: they carry no text."""
    polygons = []
    for i, one in enumerate(series, start=1):
        known = [
            (at, row.ci_low, row.ci_high)
            for at, row in one.points
            if row.ci_low is not None and row.ci_high is not None
        ]
        if len(known) < 2:
            continue
        there = [f"{100 * at:.1f},{_y(y, high)}" for at, _, high in known]
        back = [f"{100 * at:.1f},{_y(y, low)}" for at, low, _ in reversed(known)]
        polygons.append(f'<polygon class="b{i}" points="{" ".join(there + back)}"/>')
    return (
        f'<svg x="{LEFT}%" width="{WIDE}%" height="{HEIGHT + 16}" viewBox="0 0 100 {HEIGHT + 16}" '
        f'preserveAspectRatio="none">{"".join(polygons)}</svg>'
    )


def _line(one: Series, index: int, y: Scale) -> str:
    spots = [(_x(at), _y(y, row.value or 0.0)) for at, row in one.points]
    strokes = "".join(
        f'<line class="s{index + 1}" x1="{a[0]}" y1="{a[1]}" x2="{b[0]}" y2="{b[1]}"/>'
        for a, b in pairwise(spots)
    )
    return strokes + "".join(MARKERS[index].format(x=at, y=height) for at, height in spots)


def _names(series: Sequence[Series], y: Scale) -> str:
    """Names at the line ends, moved apart where they would touch, each beside its marker."""
    wanted = sorted((_y(y, one.points[-1][1].value or 0.0), i) for i, one in enumerate(series))
    parts = []
    for height, i in apart(wanted) if wanted else ():
        mark = MARKERS[i].format(x=f"{LEFT + WIDE + 3}%", y=f"{height:.0f}")
        parts.append(
            f'{mark}<text class="name" x="{LEFT + WIDE + 5}%" y="{height:.0f}" dy="4">{escape(series[i].name)}</text>'
        )
    return "".join(parts)
