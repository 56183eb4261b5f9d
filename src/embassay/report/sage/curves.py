"""Does similarity fall as text is added or lost? Lines of mean similarity by size, and what is expected."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from embassay.protocols import numbers
from embassay.records import Result
from embassay.report.board import Board, Row, Value, ends
from embassay.report.lines import track
from embassay.report.plot import HEIGHT, LEFT, MOST_LINES, SIGNS, WIDE, drawn, grid, height_of, names
from embassay.report.record import Record
from embassay.report.scale import Scale, scale_of

ROOM = 16
"""Characters of a name that fit beside the plot, on a phone too."""
SIZES = {"insertion": (0.15, 0.5, 1.0), "removal": (0.15, 0.5, 0.9)}
TITLES = {"insertion": "text is inserted", "removal": "text is removed"}


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
        drawn = (Markup(f"<svg>{sign.format(x=7, y=7)}</svg>") for sign in SIGNS)
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
    tracks = [track(line.points, y) for line in lines]
    ends_at = [(line.row.label, of.points[-1][1]) for line, of in zip(lines, tracks, strict=True)]
    after = ("expected", height_of(y, expected(1.0, linear=linear)))
    parts = [
        grid(y),
        drawn(tracks, y, _expected(y, linear=linear)),
        _axis(SIZES[kind]),
        names(ends_at, plain=[after]),
    ]
    svg = Markup(f'<svg class="curve" height="{HEIGHT + 40}">{"".join(parts)}</svg>')
    return Curve(kind, TITLES[kind], lines, svg, _summary(kind, lines))


def _summary(kind: str, lines: Sequence[Line]) -> str:
    ends = "; ".join(f"{line.row.label} {_two(line.points[-1][1].value)}" for line in lines)
    return f"Mean similarity as {TITLES[kind]}. At the largest size: {ends}."


def _two(value: float | None) -> str:
    return numbers.score(value or 0.0, 2)


def _expected(y: Scale, *, linear: bool) -> str:
    steps = [i / 20 for i in range(21)]
    points = " ".join(f"{100 * p:.0f},{height_of(y, expected(p, linear=linear))}" for p in steps)
    return f'<polyline class="expected" points="{points}"/>'


def _axis(sizes: Sequence[float]) -> str:
    ticks = "".join(
        f'<text x="{LEFT + WIDE * size:.2f}%" y="{HEIGHT + 24}" text-anchor="middle">{numbers.percent(size)}</text>'
        for size in (0.0, *sizes)
    )
    return f'{ticks}<text x="{LEFT + WIDE / 2}%" y="{HEIGHT + 39}" text-anchor="middle">share of the tokens</text>'
