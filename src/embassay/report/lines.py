"""Lines with bands over positions across, at most four, each named at its end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup, escape

from embassay.records import Result
from embassay.report.plot import HEIGHT, LEFT, MOST_LINES, WIDE, Track, drawn, grid, height_of, names
from embassay.report.scale import Scale


@dataclass(frozen=True)
class Series:
    """A named line: places across (0 to 1) with the result there."""

    name: str
    points: tuple[tuple[float, Result], ...]


def lines(series: Sequence[Series], ticks: Sequence[tuple[float, str]], y: Scale, name: str) -> Markup:
    """The drawing of the first four; `ticks` are places across with their labels, `name` says what they are."""
    shown = [one for one in series if one.points][:MOST_LINES]
    tracks = [track(one.points, y) for one in shown]
    parts = [
        grid(y),
        drawn(tracks, y),
        names([(one.name, of.points[-1][1]) for one, of in zip(shown, tracks, strict=True)]),
    ]
    parts += [
        f'<text x="{LEFT + WIDE * at:.2f}%" y="{HEIGHT + 24}" text-anchor="middle">{escape(label)}</text>'
        for at, label in ticks
    ]
    middle = f'<text x="{LEFT + WIDE / 2}%" y="{HEIGHT + 39}" text-anchor="middle">{escape(name)}</text>'
    return Markup(f'<svg class="curve" height="{HEIGHT + 42}">{"".join(parts)}{middle}</svg>')


def track(points: Sequence[tuple[float, Result]], y: Scale) -> Track:
    """The results at places across (0 to 1) as a line with its band."""
    return Track(
        tuple((100 * at, height_of(y, row.value or 0.0)) for at, row in points),
        tuple(
            (100 * at, height_of(y, row.ci_high), height_of(y, row.ci_low))
            for at, row in points
            if row.ci_low is not None and row.ci_high is not None
        ),
    )
