"""Does similarity fall as text is added or lost? Lines of mean similarity by size, and what is expected."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from markupsafe import Markup, escape

from semblance.protocols import numbers
from semblance.records import Result
from semblance.report.board import Board, Row, Value, ends
from semblance.report.record import Record
from semblance.report.scale import Scale, scale_of

MOST_LINES = 4
HEIGHT = 220
LABEL_GAP = 16
ROOM = 16
"""Characters of a name that fit beside the plot, on a phone too."""
SIZES = {"insertion": (0.15, 0.5, 1.0), "removal": (0.15, 0.5, 0.9)}
TITLES = {"insertion": "text is inserted", "removal": "text is removed"}
MARKERS = (
    '<circle class="l1" cx="{x}" cy="{y}" r="4.5"/>',
    '<rect class="l2" x="{x}" y="{y}" width="8" height="8" transform="translate(-4 -4)"/>',
    '<svg class="l3" x="{x}" y="{y}" overflow="visible"><path d="M0-5.5 5 4H-5Z"/></svg>',
    '<svg class="l4" x="{x}" y="{y}" overflow="visible"><path d="M0-6 5 0 0 6-5 0Z"/></svg>',
)


@dataclass(frozen=True)
class Line:
    """A system's mean similarity at each size that has a value."""

    row: Row
    points: tuple[tuple[float, Result], ...]


@dataclass(frozen=True)
class Curve:
    """The chart of one kind of change: at most four lines, the SVG, and one sentence that says the same."""

    kind: str
    title: str
    lines: tuple[Line, ...]
    svg: Markup
    summary: str

    @property
    def legend(self) -> tuple[tuple[Markup, Row], ...]:
        """Markers with names, when a name is too long to stand whole at the end of its line."""
        if all(len(line.row.label) <= ROOM for line in self.lines):
            return ()
        drawn = (Markup(f"<svg>{marker.format(x=7, y=7)}</svg>") for marker in MARKERS)
        return tuple((marker, line.row) for marker, line in zip(drawn, self.lines, strict=False))


@dataclass(frozen=True)
class Curves:
    """The charts of one dataset, its title."""

    title: str
    curves: tuple[Curve, ...]


def curves(record: Record, board: Board) -> tuple[Curves, ...]:
    """The charts of each dataset that has values."""
    linear = is_linear(record)
    made = []
    for dataset in record.datasets("sensitivity"):
        found = [(kind, _lines(record, board, dataset, kind)) for kind in SIZES]
        charts = tuple(_curve(kind, lines, linear=linear) for kind, lines in found if lines)
        if charts:
            made.append(Curves(dataset, charts))
    return tuple(made)


def is_linear(record: Record) -> bool:
    """Whether the run was told to expect 1 - p instead of 1 / (1 + p) [A15]."""
    return (record.arguments.get("options") or {}).get("curve") == "linear"


def expected(size: float, *, linear: bool = False) -> float:
    """The similarity the protocol expects when a share `size` is inserted or removed."""
    return 1 - size if linear else 1 / (1 + size)


def chosen(rows: Sequence[Line]) -> tuple[Line, ...]:
    """At most four of the systems, ordered by score: the two best and the two worst."""
    return tuple(rows) if len(rows) <= MOST_LINES else (*rows[:2], *rows[-2:])


def _lines(record: Record, board: Board, dataset: str, kind: str) -> tuple[Line, ...]:
    found = []
    for row in board.by_task("sensitivity"):
        if not row.system.ranked:
            continue
        results = [
            (size, record.find("sensitivity", row.system.name, "similarity", dataset=dataset,
                               variant=f"{kind}:p={size:g}"))
            for size in SIZES[kind]
        ]  # fmt: skip
        points = tuple((size, one) for size, one in results if one is not None and one.value is not None)
        if points:
            found.append(Line(row, points))
    return chosen(found)


def _curve(kind: str, lines: tuple[Line, ...], *, linear: bool) -> Curve:
    values = ends(Value("value", one) for line in lines for _, one in line.points)
    y = scale_of([*values, 1.0, 0.0])
    x = Scale(0.0, 1.0, 0.5)
    parts = [_grid(y), _bands(lines, x, y), _expected(x, y, linear=linear)]
    parts += [_drawn(line, i, x, y) for i, line in enumerate(lines)]
    parts += [_axis(SIZES[kind], x), _labels(lines, y, expected(1.0, linear=linear))]
    svg = Markup(f'<svg class="curve" height="{HEIGHT + 40}">{"".join(parts)}</svg>')
    return Curve(kind, TITLES[kind], lines, svg, _summary(kind, lines))


def _summary(kind: str, lines: Sequence[Line]) -> str:
    ends = "; ".join(f"{line.row.label} {_two(line.points[-1][1].value)}" for line in lines)
    return f"Mean similarity as {TITLES[kind]}. At the largest size: {ends}."


def _two(value: float | None) -> str:
    return numbers.score(value or 0.0, 2)


def _y(y: Scale, value: float) -> float:
    """Pixels from the top of the plot."""
    return round(8 + (100 - y.at(value)) / 100 * HEIGHT, 1)


def _x(x: Scale, value: float) -> str:
    """The plot takes the left 70% of the figure; names stand on the right."""
    return f"{8 + 0.62 * x.at(value):.2f}%"


def _grid(y: Scale) -> str:
    return "".join(
        f'<line class="g" x1="8%" x2="70%" y1="{_y(y, tick)}" y2="{_y(y, tick)}"/>'
        f'<text x="7%" y="{_y(y, tick)}" dy="4" text-anchor="end">{y.label(tick)}</text>'
        for tick in y.ticks
    )


def _bands(lines: Sequence[Line], x: Scale, y: Scale) -> str:
    """The 95% bands, in a nested drawing that stretches: they carry no text."""
    polygons = []
    for i, line in enumerate(lines, start=1):
        ends = [(size, one.ci_low, one.ci_high) for size, one in line.points]
        known = [(size, low, high) for size, low, high in ends if low is not None and high is not None]
        if len(known) < 2:
            continue
        there = [f"{x.at(size):.1f},{_y(y, high)}" for size, _, high in known]
        back = [f"{x.at(size):.1f},{_y(y, low)}" for size, low, _ in reversed(known)]
        polygons.append(f'<polygon class="b{i}" points="{" ".join(there + back)}"/>')
    return (
        f'<svg x="8%" width="62%" height="{HEIGHT + 16}" viewBox="0 0 100 {HEIGHT + 16}" '
        f'preserveAspectRatio="none">{"".join(polygons)}</svg>'
    )


def _expected(x: Scale, y: Scale, *, linear: bool) -> str:
    steps = [i / 20 for i in range(21)]
    points = " ".join(f"{x.at(p):.0f},{_y(y, expected(p, linear=linear))}" for p in steps)
    return (
        f'<svg x="8%" width="62%" height="{HEIGHT + 16}" viewBox="0 0 100 {HEIGHT + 16}" '
        f'preserveAspectRatio="none"><polyline class="expected" points="{points}"/></svg>'
    )


def _drawn(line: Line, index: int, x: Scale, y: Scale) -> str:
    spots = [(_x(x, size), _y(y, one.value or 0.0)) for size, one in line.points]
    strokes = "".join(
        f'<line class="s{index + 1}" x1="{a[0]}" y1="{a[1]}" x2="{b[0]}" y2="{b[1]}"/>'
        for a, b in pairwise(spots)
    )
    return strokes + "".join(MARKERS[index].format(x=at, y=height) for at, height in spots)


def _axis(sizes: Sequence[float], x: Scale) -> str:
    ticks = "".join(
        f'<text x="{_x(x, size)}" y="{HEIGHT + 24}" text-anchor="middle">{numbers.percent(size)}</text>'
        for size in (0.0, *sizes)
    )
    return ticks + f'<text x="39%" y="{HEIGHT + 39}" text-anchor="middle">share of the tokens</text>'


def _labels(lines: Sequence[Line], y: Scale, at_end: float) -> str:
    """Names at the line ends, moved apart where they would touch, each beside its marker."""
    wanted = [(_y(y, line.points[-1][1].value or 0.0), i) for i, line in enumerate(lines)]
    wanted.append((_y(y, at_end), len(lines)))
    placed = apart(sorted(wanted))
    parts = []
    for height, i in placed:
        if i == len(lines):
            parts.append(f'<text class="muted" x="74%" y="{height:.0f}" dy="4">expected</text>')
            continue
        mark = MARKERS[i].format(x="73%", y=f"{height:.0f}")
        parts.append(
            f'{mark}<text class="name" x="75%" y="{height:.0f}" dy="4">{escape(lines[i].row.label)}</text>'
        )
    return "".join(parts)


def apart(wanted: Sequence[tuple[float, int]]) -> list[tuple[float, int]]:
    """Heights at least a label apart, in the same order, inside the figure."""
    placed: list[tuple[float, int]] = []
    for height, i in wanted:
        least = placed[-1][0] + LABEL_GAP if placed else 8.0
        placed.append((max(height, least), i))
    overflow = placed[-1][0] - (HEIGHT + 8)
    return [(height - max(0.0, overflow), i) for height, i in placed]
