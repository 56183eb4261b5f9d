"""Marks as SVG: a value with its interval, a range of ranks. Alone, as `static/marks.js` is, which draws the same.

Coordinates are percent, so that a mark stretches; colours come from the style sheet by class.
"""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from embassay.document.marks import CLASSES, Scale

LEAD_WIDE, TASK_WIDE = 150, 72
"""The least width in pixels that the mark of the score and that of a task are drawn at."""
_THINNEST, _GAP_FROM = 3, 16
_RANK_WIDE, _RANK_LEAST = 96, 8


def sign(kind: str) -> str:
    """The class that draws the shape of a kind: circle, square, triangle, diamond, dash."""
    return CLASSES.get("human" if kind == "person" else kind, "")


def interval(
    value: float, low: float | None, high: float | None, kind: str, scale: Scale, width: int
) -> Markup:
    """Bar over the 95% interval, tick at the estimate; `width` decides what there is room for. Nothing where the value
    lies outside of the scale."""
    if not scale.low <= value <= scale.high:
        return _drawing(f"iv {_grid(scale)}", "")
    tick = f'<rect x="{_percent(scale.at(value))}"/>'
    if low is None or high is None:
        return _drawing(f"iv {_grid(scale)} {sign(kind)}", tick)
    start, end = scale.at(low), scale.at(high)
    pixels = (end - start) / 100 * width
    if pixels < _THINNEST:
        return _drawing(
            f"iv {_grid(scale)} {sign(kind)} m", f'<rect x="{_percent((start + end) / 2)}"/>{tick}'
        )
    wide = " w" if pixels >= _GAP_FROM else ""
    bar = f'<rect x="{_percent(start)}" width="{_percent(end - start)}"/>'
    return _drawing(f"iv {_grid(scale)} {sign(kind)}{wide}", bar + tick)


def places(low: int, high: int, of: int, kind: str) -> Markup:
    """A rounded bar over the places from `low` to `high` of `of`; a dot where that would be too short to see."""
    start, width = 100 * (low - 1) / of, 100 * (high - low + 1) / of
    if width / 100 * _RANK_WIDE < _RANK_LEAST:
        dot = f'<circle cx="{_percent(start + width / 2)}" cy="8" r="4"/>'
        return _drawing(f"rk {sign(kind)}", dot)
    return _drawing(f"rk {sign(kind)}", f'<rect x="{_percent(start)}" width="{_percent(width)}"/>')


def axis(labels: Sequence[str]) -> Markup:
    """Labels of a scale, spread over its width."""
    return Markup('<i class="ax" aria-hidden="true">{}</i>').format(" ".join(labels))


def _drawing(classes: str, parts: str) -> Markup:
    return Markup(f'<svg class="{classes.rstrip()}" aria-hidden="true">{parts}</svg>')


def _grid(scale: Scale) -> str:
    """The class that draws a scale's steps as hairlines."""
    return f"g{min(6, len(scale.ticks) - 1)}"


def _percent(value: float) -> str:
    """A place across: a tenth of a percent is less than a quarter of a pixel."""
    return f"{value:.1f}".rstrip("0").rstrip(".") + "%"
