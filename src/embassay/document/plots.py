"""Plots: lines with bands over positions across, and points in a plane.

What has no text is drawn in a nested drawing that stretches while its strokes do not: one path for all lines of a grid,
one for a line, one for its points. Heights are pixels from the top, places across percent of the plot.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup, escape

from embassay.contracts import Kind
from embassay.document.marks import CLASSES, LinearScale
from embassay.records import ResultRow

HEIGHT = 220
LEFT, WIDE = 8, 56
"""Percent of the figure: where the plot begins and how wide it is; names stand on the right."""
MOST_LINES = 4
LABEL_GAP = 16
BESIDE = 'viewBox="-18 0 1 1" width="1" height="1" overflow="visible"'
"""Moves a sign 18 pixels to the right: a place in percent would lie on the plot where that is narrow."""
GLYPHS = {"l": "▲", "n": "◆"}
"""Points that no end of a stroke can draw: one text, each sign at its place."""
SIGN = {
    "e": '<circle class="on e" r="4.5"/>',
    "c": '<rect class="on c" x="-4" y="-4" width="8" height="8"/>',
    "m": '<rect class="on m" x="-4" y="-4" width="8" height="8"/>',
    "l": '<path class="on l" d="M0-5.5 5 4H-5Z"/>',
    "n": '<path class="on n" d="M0-6 5 0 0 6-5 0Z"/>',
}
"""The sign of a kind of system, around 0; what has no kind has a dot."""


@dataclass(frozen=True)
class PlotLine:
    """A line through points (across, height); `band` has (across, upper, lower) where an interval is known. Hue and
    points are those of the `kind`; the strokes of its first, second ... line are solid, dashed ..."""

    points: tuple[tuple[float, float], ...]
    band: tuple[tuple[float, float, float], ...] = ()
    kind: Kind = "run"
    nth: int = 1


def compute_plot_y_position(y: LinearScale, value: float) -> float:
    """The height of a value in a plot, in pixels from the top."""
    return round(8 + (100 - y.at(value)) / 100 * HEIGHT, 1)


def draw_scale_labels(y: LinearScale) -> str:
    """Draw the labels of a plot's scale, whose lines are drawn with the tracks."""
    return "".join(
        f'<text x="{LEFT - 1}%" y="{compute_plot_y_position(y, tick)}" dy="4" text-anchor="end">{y.label(tick)}</text>'
        for tick in y.tick_values
    )


def draw_grid_bands_lines_and_points(tracks: Sequence[PlotLine], y: LinearScale, more: str = "") -> str:
    """Grid, bands, `more`, lines and their points."""
    rows = "".join(f"M0 {compute_plot_y_position(y, tick)}H100" for tick in y.tick_values)
    bands = "".join(_draw_interval_band(track) for track in tracks)
    lines = "".join(_draw_plot_line(track) for track in tracks)
    inner = nest_stretched_drawing(f'<path class="g" d="{rows}"/>{bands}{more}{lines}', LEFT, WIDE, HEIGHT + 16)
    return inner + "".join(_draw_line_point_markers(track) for track in tracks if CLASSES[track.kind] in GLYPHS)


def nest_stretched_drawing(parts: str, left: float, wide: float, height: float) -> str:
    """A nested drawing whose width is 100 units."""
    return (
        f'<svg x="{left}%" width="{wide}%" height="{height}" viewBox="0 0 100 {height}" preserveAspectRatio="none">'
        f"{parts}</svg>"
    )


def format_dots_as_svg_path(points: Sequence[tuple[float, float]]) -> str:
    """Draw a dot at each point, as a path of no length."""
    # Signs drawn as ends of strokes keep their shape where the drawing stretches, and many are one element.
    return "".join(f"M{across:.1f} {down}h0" for across, down in points)


def draw_line_names(
    tracks: Sequence[PlotLine], called: Sequence[str], *, plain: Sequence[tuple[str, float]] = ()
) -> str:
    """Names at the heights of the line ends, moved apart where they would touch, each beside its sign; those `plain`
    have none."""
    every = [*zip(called, (track.points[-1][1] for track in tracks), strict=True), *plain]
    parts = []
    for height, i in spread_label_heights(sorted((height, i) for i, (_, height) in enumerate(every))) if every else ():
        name = escape(every[i][0])
        if i >= len(tracks):
            parts.append(f'<text x="{LEFT + WIDE}%" y="{height:.0f}" dx="8" dy="4">{name}</text>')
            continue
        parts.append(f'<svg x="{LEFT + WIDE}%" y="{height:.0f}" {BESIDE}>{draw_line_legend_sign(tracks[i])}</svg>')
        parts.append(f'<text class="name" x="{LEFT + WIDE}%" y="{height:.0f}" dx="32" dy="4">{name}</text>')
    return "".join(parts)


def draw_line_legend_sign(track: PlotLine) -> str:
    """Draw the legend sign of a line: a piece of it with its point, around 0."""
    kind = CLASSES[track.kind]
    point = SIGN.get(kind, '<circle class="on" r="3.5"/>')
    return f'<path class="ln {kind} d{track.nth}" d="M-11 0H11"/>{point}'


def make_system_plot_lines(
    named: Sequence[tuple[Kind, Sequence[tuple[float, ResultRow]]]], y: LinearScale
) -> list[PlotLine]:
    """The results of systems of a kind, at places across (0 to 1), as lines with their bands."""
    seen: Counter[str] = Counter()
    tracks = []
    for kind, points in named:
        seen[kind] += 1
        tracks.append(
            PlotLine(
                tuple((100 * at, compute_plot_y_position(y, row.value or 0.0)) for at, row in points),
                tuple(
                    (100 * at, compute_plot_y_position(y, row.ci_high), compute_plot_y_position(y, row.ci_low))
                    for at, row in points
                    if row.ci_low is not None and row.ci_high is not None
                ),
                kind,
                seen[kind],
            )
        )
    return tracks


def spread_label_heights(wanted: Sequence[tuple[float, int]]) -> list[tuple[float, int]]:
    """Heights at least a label apart, in the same order, inside the figure."""
    placed: list[tuple[float, int]] = []
    for height, i in wanted:
        least = placed[-1][0] + LABEL_GAP if placed else 8.0
        placed.append((max(height, least), i))
    # All move up together where the last would hang below the plot.
    overflow = placed[-1][0] - (HEIGHT + 8)
    return [(height - max(0.0, overflow), i) for height, i in placed]


def _draw_interval_band(track: PlotLine) -> str:
    if len(track.band) < 2:
        return ""
    there = [f"{across:.1f},{upper}" for across, upper, _ in track.band]
    back = [f"{across:.1f},{lower}" for across, _, lower in reversed(track.band)]
    return f'<polygon class="bd {CLASSES[track.kind]} d{track.nth}" points="{" ".join(there + back)}"/>'


def _draw_plot_line(track: PlotLine) -> str:
    kind, path = CLASSES[track.kind], "L".join(f"{across:.1f} {down}" for across, down in track.points)
    line = f'<path class="ln {kind} d{track.nth}" d="M{path}"/>'
    if kind in GLYPHS:
        return line
    ends = f'<path class="ln knot {kind}" d="{format_dots_as_svg_path(track.points)}"/>'
    return line + ends + (ends.replace("ln knot", "ln knot in") if kind in ("c", "m") else "")


def _draw_line_point_markers(track: PlotLine) -> str:
    kind = CLASSES[track.kind]
    across = " ".join(f"{LEFT + WIDE * at / 100:.2f}%" for at, _ in track.points)
    down = " ".join(f"{height + 4:.1f}" for _, height in track.points)
    return f'<text class="knot {kind}" x="{across}" y="{down}">{GLYPHS[kind] * len(track.points)}</text>'


@dataclass(frozen=True)
class NamedPlotLine:
    """A named line: places across (0 to 1) with the result there; `kind` is that of the system."""

    name: str
    points: tuple[tuple[float, ResultRow], ...]
    kind: Kind = "run"


_DIAGONAL = '<path class="g" d="M0 {}L100 {}"/>'


def draw_line_chart(
    series: Sequence[NamedPlotLine],
    ticks: Sequence[tuple[float, str]],
    y: LinearScale,
    name: str,
    *,
    diagonal: bool = False,
) -> Markup:
    """The drawing of the first four; `ticks` are places across with their labels, `name` says what they are. With the
    line from the lowest corner to the highest where up and across are of one kind."""
    shown = [line for line in series if line.points][:MOST_LINES]
    tracks = make_system_plot_lines([(line.kind, line.points) for line in shown], y)
    parts = [
        draw_scale_labels(y),
        draw_grid_bands_lines_and_points(
            tracks,
            y,
            _DIAGONAL.format(compute_plot_y_position(y, y.low), compute_plot_y_position(y, y.high)) if diagonal else "",
        ),
        draw_line_names(tracks, [line.name for line in shown]),
    ]
    parts += [
        f'<text x="{LEFT + WIDE * at:.2f}%" y="{HEIGHT + 24}" text-anchor="middle">{escape(label)}</text>'
        for at, label in ticks
    ]
    middle = f'<text x="{LEFT + WIDE / 2}%" y="{HEIGHT + 39}" text-anchor="middle">{escape(name)}</text>'
    return Markup(f'<svg class="curve" height="{HEIGHT + 42}">{"".join(parts)}{middle}</svg>')


EDGE, SPAN = 9, 87
"""Percent of the figure: where the plot begins, and how wide it is."""
TOP = 28
"""Pixels above the plot, for the name of what goes up."""
LINE, REACH = 14, 50
"""Pixels between the middles of two labels; percent across that a label may reach on a phone."""
LETTER = 2.1
"""Percent across that a letter of a label takes on a phone."""
MOVES = (0, -LINE, LINE, -2 * LINE, 2 * LINE)


@dataclass(frozen=True)
class PlotPoint:
    """A mark; `label` stands beside it. What it is, and its numbers, stand in a table."""

    x: float
    y: float
    kind: Kind
    label: str = ""


@dataclass(frozen=True)
class PlotAxis:
    """A scale with its name; `line` is a value that is drawn across, with its words."""

    scale: LinearScale
    name: str
    line: float | None = None
    line_words: str = ""


def draw_scatter_plot(points: Sequence[PlotPoint], x: PlotAxis, y: PlotAxis) -> Markup:
    """Draw a scatter plot: its grid, lines, points and labels."""
    parts = [
        _draw_y_grid_lines_and_labels(y),
        _draw_x_axis_labels(x),
        *_draw_threshold_lines(x, y),
        *_draw_points(points, x.scale, y.scale),
    ]
    parts += _label_points(points, x.scale, y.scale)
    return Markup(f'<svg class="curve" height="{HEIGHT + 52}">{"".join(parts)}</svg>')


def _chart_y_position(scale: LinearScale, value: float) -> float:
    return round(TOP + (100 - scale.at(value)) / 100 * (HEIGHT - 12), 1)


def _chart_x_position(scale: LinearScale, value: float) -> str:
    return f"{EDGE + SPAN * scale.at(value) / 100:.2f}%"


def _draw_y_grid_lines_and_labels(y: PlotAxis) -> str:
    rows = "".join(f"M0 {_chart_y_position(y.scale, tick)}H100" for tick in y.scale.tick_values)
    lines = nest_stretched_drawing(f'<path class="g" d="{rows}"/>', EDGE, SPAN, HEIGHT + 52) + "".join(
        f'<text x="{EDGE - 1}%" y="{_chart_y_position(y.scale, tick)}" dy="4" '
        f'text-anchor="end">{y.scale.label(tick)}</text>'
        for tick in y.scale.tick_values
    )
    return f'{lines}<text x="0" y="11">{escape(y.name)}</text>'


def _draw_x_axis_labels(x: PlotAxis) -> str:
    ticks = "".join(
        f'<text x="{_chart_x_position(x.scale, tick)}" y="{HEIGHT + 32}" '
        f'text-anchor="middle">{x.scale.label(tick)}</text>'
        for tick in x.scale.tick_values
    )
    middle = EDGE + SPAN / 2
    return f'{ticks}<text x="{middle}%" y="{HEIGHT + 49}" text-anchor="middle">{escape(x.name)}</text>'


def _draw_threshold_lines(x: PlotAxis, y: PlotAxis) -> list[str]:
    parts = []
    if y.line is not None:
        at = _chart_y_position(y.scale, y.line)
        parts.append(f'<line class="z" x1="{EDGE}%" x2="{EDGE + SPAN}%" y1="{at}" y2="{at}"/>')
        parts.append(f'<text x="{EDGE + SPAN}%" y="{at - 5}" text-anchor="end">{escape(y.line_words)}</text>')
    if x.line is not None:
        across = _chart_x_position(x.scale, x.line)
        parts.append(f'<line class="d" x1="{across}" x2="{across}" y1="{TOP}" y2="{TOP + HEIGHT - 12}"/>')
        parts.append(f'<text x="{across}" dx="4" y="{TOP + HEIGHT - 16}">{escape(x.line_words)}</text>')
    return parts


def _draw_points(points: Sequence[PlotPoint], x: LinearScale, y: LinearScale) -> list[str]:
    """All of a kind in one path, whose strokes of no length end in the sign of the kind; triangles one by one."""
    places = {
        name: [(x.at(point.x), _chart_y_position(y, point.y)) for point in points if CLASSES[point.kind] == name]
        for name in dict.fromkeys(CLASSES[point.kind] for point in points)
    }
    drawn = "".join(
        f'<path class="of {name}" d="{format_dots_as_svg_path(there)}"/>'
        for name, there in places.items()
        if name not in ("l", "c", "m")
    )
    for kind in ("c", "m"):
        if hollow := places.get(kind):
            path = format_dots_as_svg_path(hollow)
            drawn += f'<path class="of {kind}" d="{path}"/><path class="of {kind} in" d="{path}"/>'
    triangles = [
        f'<svg x="{EDGE + SPAN * at / 100:.2f}%" y="{down}" overflow="visible"><path class="l" d="M0-6 6 5H-6Z"/></svg>'
        for at, down in places.get("l", ())
    ]
    return [nest_stretched_drawing(drawn, EDGE, SPAN, HEIGHT + 52), *triangles]


def _label_points(points: Sequence[PlotPoint], x: LinearScale, y: LinearScale) -> list[str]:
    """Beside their points, towards the middle of the plot; above or below where another stands in the way, which on a
    phone may be one far across."""
    parts: list[str] = []
    taken: list[float] = []
    for point in points:
        if not point.label:
            continue
        at = _chart_y_position(y, point.y)
        marks = [_chart_y_position(y, p.y) for p in points if p is not point and abs(x.at(p.x) - x.at(point.x)) < REACH]
        # Where no move is free the label stands at its point: the table has it in any case.
        place = next((at + move for move in MOVES if _is_label_place_free(at + move, taken, marks)), at)
        taken.append(place)
        side = 'dx="9"' if _has_room_on_right(x.at(point.x), point.label) else 'dx="-9" text-anchor="end"'
        parts.append(
            f'<text class="name" x="{_chart_x_position(x, point.x)}" y="{place}" dy="4" '
            f"{side}>{escape(point.label)}</text>"
        )
    return parts


def _has_room_on_right(across: float, label: str) -> bool:
    """Whether a label stands whole on the right of its point, also on a phone; else where there is more room."""
    wide = LETTER * len(label) + 3
    return across + wide <= 100 or (across < wide and across < 50)


def _is_label_place_free(place: float, taken: Sequence[float], marks: Sequence[float]) -> bool:
    """Whether no label and no mark is in the way."""
    return all(abs(place - there) >= LINE for there in taken) and all(abs(place - mark) >= LINE - 4 for mark in marks)
