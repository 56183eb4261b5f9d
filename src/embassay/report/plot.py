"""Pieces of a plot: its grid, lines with bands and points, signs, names beside line ends.

What has no text is drawn in a nested drawing that stretches while its strokes do not: one path for all lines of a grid,
one for a line, one for its points. Heights are pixels from the top, places across percent of the plot.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import escape

from embassay.report.scale import Scale

HEIGHT = 220
LEFT, WIDE = 8, 62
"""Percent of the figure: where the plot begins and how wide it is; names stand on the right."""
MOST_LINES = 4
LABEL_GAP = 16
SIGNS = (
    '<circle class="l1" cx="{x}" cy="{y}" r="4.5"/>',
    '<rect class="l2" x="{x}" y="{y}" width="8" height="8" transform="translate(-4 -4)"/>',
    '<svg class="l3" x="{x}" y="{y}" overflow="visible"><path d="M0-5.5 5 4H-5Z"/></svg>',
    '<svg class="l4" x="{x}" y="{y}" overflow="visible"><path d="M0-6 5 0 0 6-5 0Z"/></svg>',
)
"""The sign of each line beside its name."""
GLYPHS = {2: "▲", 3: "◆"}
"""Points that no end of a stroke can draw: one text, each sign at its place."""


@dataclass(frozen=True)
class Track:
    """A line through points (across, height); `band` has (across, upper, lower) where an interval is known."""

    points: tuple[tuple[float, float], ...]
    band: tuple[tuple[float, float, float], ...] = ()


def height_of(y: Scale, value: float) -> float:
    """Pixels from the top of the plot."""
    return round(8 + (100 - y.at(value)) / 100 * HEIGHT, 1)


def grid(y: Scale) -> str:
    """The labels of a scale; its lines are drawn with the tracks."""
    return "".join(
        f'<text x="{LEFT - 1}%" y="{height_of(y, tick)}" dy="4" text-anchor="end">{y.label(tick)}</text>'
        for tick in y.ticks
    )


def drawn(tracks: Sequence[Track], y: Scale, more: str = "") -> str:
    """Grid, bands, `more`, lines and their points."""
    rows = "".join(f"M0 {height_of(y, tick)}H100" for tick in y.ticks)
    bands = "".join(_band(one, i) for i, one in enumerate(tracks, start=1))
    lines = "".join(_line(one, i) for i, one in enumerate(tracks, start=1))
    inner = stretched(f'<path class="g" d="{rows}"/>{bands}{more}{lines}', LEFT, WIDE, HEIGHT + 16)
    return inner + "".join(_signs(one, i) for i, one in enumerate(tracks) if i in GLYPHS)


def stretched(parts: str, left: float, wide: float, height: float) -> str:
    """A nested drawing whose width is 100 units."""
    return (
        f'<svg x="{left}%" width="{wide}%" height="{height}" viewBox="0 0 100 {height}" preserveAspectRatio="none">'
        f"{parts}</svg>"
    )


def dots(points: Sequence[tuple[float, float]]) -> str:
    """A path of no length at each point: the ends of its strokes are what is seen."""
    return "".join(f"M{across:.1f} {down}h0" for across, down in points)


def names(found: Sequence[tuple[str, float]], *, plain: Sequence[tuple[str, float]] = ()) -> str:
    """Names at the heights of the line ends, moved apart where they would touch, each beside its sign; those `plain`
    have none."""
    every = [*found, *plain]
    parts = []
    for height, i in apart(sorted((height, i) for i, (_, height) in enumerate(every))) if every else ():
        if i >= len(found):
            parts.append(f'<text x="{LEFT + WIDE + 4}%" y="{height:.0f}" dy="4">{escape(every[i][0])}</text>')
            continue
        sign = SIGNS[i].format(x=f"{LEFT + WIDE + 3}%", y=f"{height:.0f}")
        name = escape(every[i][0])
        parts.append(f'{sign}<text class="name" x="{LEFT + WIDE + 5}%" y="{height:.0f}" dy="4">{name}</text>')
    return "".join(parts)


def apart(wanted: Sequence[tuple[float, int]]) -> list[tuple[float, int]]:
    """Heights at least a label apart, in the same order, inside the figure."""
    placed: list[tuple[float, int]] = []
    for height, i in wanted:
        least = placed[-1][0] + LABEL_GAP if placed else 8.0
        placed.append((max(height, least), i))
    overflow = placed[-1][0] - (HEIGHT + 8)
    return [(height - max(0.0, overflow), i) for height, i in placed]


def _band(one: Track, index: int) -> str:
    if len(one.band) < 2:
        return ""
    there = [f"{across:.1f},{upper}" for across, upper, _ in one.band]
    back = [f"{across:.1f},{lower}" for across, _, lower in reversed(one.band)]
    return f'<polygon class="b{index}" points="{" ".join(there + back)}"/>'


def _line(one: Track, index: int) -> str:
    path = "L".join(f"{across:.1f} {down}" for across, down in one.points)
    ends = "" if index - 1 in GLYPHS else f'<path class="s{index} p{index}" d="{dots(one.points)}"/>'
    return f'<path class="s{index}" d="M{path}"/>{ends}'


def _signs(one: Track, index: int) -> str:
    across = " ".join(f"{LEFT + WIDE * at / 100:.2f}%" for at, _ in one.points)
    down = " ".join(f"{height + 4:.1f}" for _, height in one.points)
    signs = GLYPHS[index] * len(one.points)
    return f'<text class="p l{index + 1}" x="{across}" y="{down}">{signs}</text>'
