"""Marks as SVG: the interval mark, axes, shapes. Coordinates in percent: they stretch, their text does not.

Colours come from the style sheet by class; the only text put in is numbers printed here.
"""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from semblance.contracts import Kind
from semblance.records import Result
from semblance.report.scale import Scale

CLASSES: dict[Kind, str] = {"embedding": "e", "classical": "c", "reference": "r"}
THINNEST = 3
GAP_FROM = 16
SHAPES: dict[Kind, str] = {
    "embedding": '<circle class="e" cx="6" cy="6" r="5"/>',
    "classical": '<rect class="c" x="2" y="2" width="8" height="8"/>',
    "reference": '<line class="d" x1="0" x2="12" y1="6" y2="6"/>',
}


def shape(kind: Kind) -> Markup:
    """The sign by a system's name: filled circle, hollow square, or a dashed line for a reference."""
    return Markup(f'<svg class="sh" width="12" height="12" aria-hidden="true">{SHAPES[kind]}</svg>')


def interval_mark(
    row: Result | None,
    kind: Kind,
    scale: Scale,
    *,
    width: int,
    reference: float | None = None,
    few: bool = False,
) -> Markup:
    """Bar over the 95% interval and a tick at the estimate; only its grid where there is no value.

    `width` is the least width in pixels it will be drawn at: it decides whether the bar needs its least
    thickness and whether there is room for a gap beside the tick. `reference` draws a dashed line.
    """
    parts = [] if reference is None else [_line("d", scale.at(reference))]
    if row is not None and row.value is not None:
        parts += _bar(row.value, row.ci_low, row.ci_high, scale, CLASSES[kind], width)
    steps = len(scale.ticks) - 1
    classes = f"iv g{steps}" + (" few" if few else "")
    return Markup(f'<svg class="{classes}" aria-hidden="true">{"".join(parts)}</svg>')


def difference_mark(low: float, value: float, high: float, kind: Kind, scale: Scale) -> Markup:
    """The same for a difference, with the zero line in ink."""
    bar = "".join(_bar(value, low, high, scale, CLASSES[kind], 160))
    zero = _line("z", scale.at(0))
    return Markup(f'<svg class="iv g{len(scale.ticks) - 1}" aria-hidden="true">{zero}{bar}</svg>')


def grey_ticks(values: Sequence[float], scale: Scale) -> Markup:
    """Many values as grey ticks on one line."""
    ticks = "".join(_line("o", scale.at(value)) for value in values)
    return Markup(f'<svg class="iv g{len(scale.ticks) - 1}" aria-hidden="true">{ticks}</svg>')


def place_mark(value: float, others: Sequence[float], kind: Kind, scale: Scale) -> Markup:
    """One value among others: they as grey ticks, it as the shape of its kind."""
    ticks = "".join(_line("o", scale.at(other)) for other in others)
    x = _percent(scale.at(value))
    mark = (
        f'<rect class="c" x="{x}" y="4" width="8" height="8" transform="translate(-4)"/>'
        if kind == "classical"
        else f'<circle class="{CLASSES[kind]}" cx="{x}" cy="8" r="5"/>'
    )
    return Markup(f'<svg class="iv" aria-hidden="true">{ticks}{mark}</svg>')


def axis(scale: Scale, *, labels: int = 3) -> Markup:
    """The labels of a scale: its ends, and with three labels the tick in the middle where there is one."""
    ticks = scale.ticks
    shown = [ticks[0], ticks[-1]]
    if labels > 2 and len(ticks) % 2:
        shown.insert(1, ticks[len(ticks) // 2])
    anchors = {ticks[0]: "", ticks[-1]: ' text-anchor="end"'}
    texts = "".join(
        f'<text x="{_percent(scale.at(tick))}" y="11"{anchors.get(tick, MIDDLE)}>{scale.label(tick)}</text>'
        for tick in shown
    )
    return Markup(f'<svg class="ax" aria-hidden="true">{texts}</svg>')


MIDDLE = ' text-anchor="middle"'


def reference_label(value: float, text: str, scale: Scale) -> Markup:
    """The name of a dashed line, under it, turned inwards at the edge."""
    x = scale.at(value)
    anchor = "" if x < 15 else ' text-anchor="end"' if x > 85 else MIDDLE
    words = Markup.escape(text)
    return Markup(
        f'<svg class="ax" aria-hidden="true"><text x="{_percent(x)}" y="11"{anchor}>{words}</text></svg>'
    )


def _bar(
    value: float, low: float | None, high: float | None, scale: Scale, kind: str, width: int
) -> list[str]:
    tick = f'<line class="t" x1="{_percent(scale.at(value))}" x2="{_percent(scale.at(value))}" y2="16"/>'
    if low is None or high is None:
        return [tick]
    start, end = scale.at(low), scale.at(high)
    pixels = (end - start) / 100 * width
    parts = [f'<rect class="{kind}" x="{_percent(start)}" y="4" width="{_percent(end - start)}" height="8"/>']
    if pixels < THINNEST:
        middle = _percent((start + end) / 2)
        parts = [
            f'<rect class="{kind}" x="{middle}" y="4" width="{THINNEST}" height="8" '
            f'transform="translate(-{THINNEST / 2})"/>'
        ]
    if pixels >= GAP_FROM:
        parts.append(tick.replace('"t"', '"h"'))
    return [*parts, tick]


def _line(name: str, x: float) -> str:
    return f'<line class="{name}" x1="{_percent(x)}" x2="{_percent(x)}" y2="100%"/>'


def _percent(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".") + "%"
