"""Points in a plane: coordinates in percent across, in pixels down, so that text keeps its size."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup, escape

from embassay.contracts import Kind
from embassay.report.marks import CLASSES
from embassay.report.plot import dots, stretched
from embassay.report.scale import Scale

HEIGHT = 220
LEFT, WIDE = 9, 87
"""Percent of the figure: where the plot begins, and how wide it is."""
LINE, TURN, REACH = 14, 60, 50
"""Pixels between the middles of two labels; percent across from which labels stand on the left, and that a label may
reach across on a phone."""
MOVES = (0, -LINE, LINE, -2 * LINE, 2 * LINE)


@dataclass(frozen=True)
class Point:
    """A mark; `label` stands beside it. What it is, and its numbers, stand in a table."""

    x: float
    y: float
    kind: Kind
    label: str = ""


@dataclass(frozen=True)
class Axis:
    """A scale with its name; `line` is a value that is drawn across, with its words."""

    scale: Scale
    name: str
    line: float | None = None
    line_words: str = ""


def scatter(points: Sequence[Point], x: Axis, y: Axis) -> Markup:
    """The drawing: grid, lines, points, labels."""
    parts = [_rows(y), _columns(x), *_lines(x, y), *_points(points, x.scale, y.scale)]
    parts += _labels(points, x.scale, y.scale)
    return Markup(f'<svg class="curve" height="{HEIGHT + 44}">{"".join(parts)}</svg>')


def _down(scale: Scale, value: float) -> float:
    return round(20 + (100 - scale.at(value)) / 100 * (HEIGHT - 12), 1)


def _across(scale: Scale, value: float) -> str:
    return f"{LEFT + WIDE * scale.at(value) / 100:.2f}%"


def _rows(y: Axis) -> str:
    rows = "".join(f"M0 {_down(y.scale, tick)}H100" for tick in y.scale.ticks)
    lines = stretched(f'<path class="g" d="{rows}"/>', LEFT, WIDE, HEIGHT + 44) + "".join(
        f'<text x="{LEFT - 1}%" y="{_down(y.scale, tick)}" dy="4" text-anchor="end">{y.scale.label(tick)}</text>'
        for tick in y.scale.ticks
    )
    return f'{lines}<text x="0" y="11">{escape(y.name)}</text>'


def _columns(x: Axis) -> str:
    ticks = "".join(
        f'<text x="{_across(x.scale, tick)}" y="{HEIGHT + 26}" text-anchor="middle">{x.scale.label(tick)}</text>'
        for tick in x.scale.ticks
    )
    middle = LEFT + WIDE / 2
    return f'{ticks}<text x="{middle}%" y="{HEIGHT + 42}" text-anchor="middle">{escape(x.name)}</text>'


def _lines(x: Axis, y: Axis) -> list[str]:
    parts = []
    if y.line is not None:
        at = _down(y.scale, y.line)
        parts.append(f'<line class="z" x1="{LEFT}%" x2="{LEFT + WIDE}%" y1="{at}" y2="{at}"/>')
        parts.append(f'<text x="{LEFT + WIDE}%" y="{at - 5}" text-anchor="end">{escape(y.line_words)}</text>')
    if x.line is not None:
        across = _across(x.scale, x.line)
        parts.append(f'<line class="d" x1="{across}" x2="{across}" y1="20" y2="{HEIGHT + 8}"/>')
        parts.append(f'<text x="{across}" dx="4" y="{HEIGHT + 4}">{escape(x.line_words)}</text>')
    return parts


def _points(points: Sequence[Point], x: Scale, y: Scale) -> list[str]:
    """All of a kind in one path, whose strokes of no length end in the sign of the kind; triangles one by one."""
    places = {
        name: [(x.at(one.x), _down(y, one.y)) for one in points if CLASSES[one.kind] == name]
        for name in dict.fromkeys(CLASSES[one.kind] for one in points)
    }
    drawn = "".join(
        f'<path class="of {name}" d="{dots(found)}"/>' for name, found in places.items() if name not in "lc"
    )
    if hollow := places.get("c"):
        drawn += f'<path class="of c" d="{dots(hollow)}"/><path class="of c in" d="{dots(hollow)}"/>'
    triangles = [
        f'<svg x="{LEFT + WIDE * at / 100:.2f}%" y="{down}" overflow="visible"><path class="l" d="M0-6 6 5H-6Z"/></svg>'
        for at, down in places.get("l", ())
    ]
    return [stretched(drawn, LEFT, WIDE, HEIGHT + 44), *triangles]


def _labels(points: Sequence[Point], x: Scale, y: Scale) -> list[str]:
    """Beside their points, towards the middle of the plot; above or below where another stands in the way, which on a
    phone may be one far across."""
    parts: list[str] = []
    taken: list[float] = []
    for point in points:
        if not point.label:
            continue
        at = _down(y, point.y)
        marks = [
            _down(y, one.y) for one in points if one is not point and abs(x.at(one.x) - x.at(point.x)) < REACH
        ]
        place = next((at + move for move in MOVES if _free(at + move, taken, marks)), at)
        taken.append(place)
        side = 'dx="9"' if x.at(point.x) < TURN else 'dx="-9" text-anchor="end"'
        parts.append(
            f'<text class="name" x="{_across(x, point.x)}" y="{place}" dy="4" {side}>{escape(point.label)}</text>'
        )
    return parts


def _free(place: float, taken: Sequence[float], marks: Sequence[float]) -> bool:
    """Whether no label and no mark is in the way."""
    return all(abs(place - one) >= LINE for one in taken) and all(
        abs(place - one) >= LINE - 4 for one in marks
    )
