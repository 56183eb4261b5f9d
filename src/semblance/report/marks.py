"""Marks as SVG: the interval mark, axes, shapes. Coordinates in percent: they stretch, their text does not.

Colours come from the style sheet by class; the only text put in is numbers printed here.
"""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from semblance.contracts import Kind
from semblance.records import Result
from semblance.report.scale import Scale

CLASSES: dict[Kind, str] = {"embedding": "e", "classical": "c", "reference": "r", "llm": "l"}
THINNEST = 3
GAP_FROM = 16


def shape(kind: Kind) -> Markup:
    """The sign by a system's name: filled circle, hollow square, a dash for a reference, a triangle for an LLM."""
    return Markup(f'<i class="sh {CLASSES[kind]}"></i>')


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


def difference_mark(low: float | None, value: float, high: float | None, kind: Kind, scale: Scale) -> Markup:
    """The same for a difference, with the zero line in ink."""
    bar = "".join(_bar(value, low, high, scale, CLASSES[kind], 160))
    zero = _line("z", scale.at(0))
    return Markup(f'<svg class="iv g{len(scale.ticks) - 1}" aria-hidden="true">{zero}{bar}</svg>')


def grey_ticks(values: Sequence[float], scale: Scale) -> Markup:
    """Many values as grey ticks on one line."""
    return Markup(f'<svg class="iv g{len(scale.ticks) - 1}" aria-hidden="true">{_ticks(values, scale)}</svg>')


def place_mark(value: float, others: Sequence[float], kind: Kind, scale: Scale) -> Markup:
    """One value among others: they as grey ticks, it as the shape of its kind."""
    x = percent(scale.at(value))
    mark = (
        f'<rect class="c p" x="{x}"/>'
        if kind == "classical"
        else f'<circle class="{CLASSES[kind]}" cx="{x}" cy="8" r="5"/>'
    )
    return Markup(f'<svg class="iv" aria-hidden="true">{_ticks(others, scale)}{mark}</svg>')


def axis(scale: Scale, *, labels: int = 3) -> Markup:
    """The labels of a scale: its ends, and with three labels the tick in the middle where there is one."""
    ticks = scale.ticks
    shown = [ticks[0], ticks[-1]]
    if labels > 2 and len(ticks) % 2:
        shown.insert(1, ticks[len(ticks) // 2])
    anchors = {ticks[0]: "", ticks[-1]: ' text-anchor="end"'}
    texts = "".join(
        f'<text x="{percent(scale.at(tick))}" y="11"{anchors.get(tick, MIDDLE)}>{scale.label(tick)}</text>'
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
        f'<svg class="ax" aria-hidden="true"><text x="{percent(x)}" y="11"{anchor}>{words}</text></svg>'
    )


def _bar(
    value: float, low: float | None, high: float | None, scale: Scale, kind: str, width: int
) -> list[str]:
    """Heights and the widths of ticks stand in the style sheet: there are hundreds of these."""
    at = percent(scale.at(value))
    tick = f'<rect class="t" x="{at}"/>'
    if low is None or high is None:
        return [tick]
    start, end = scale.at(low), scale.at(high)
    pixels = (end - start) / 100 * width
    if pixels < THINNEST:
        return [f'<rect class="{kind} m" x="{percent((start + end) / 2)}"/>', tick]
    bar = f'<rect class="{kind}" x="{percent(start)}" width="{percent(end - start)}"/>'
    return [bar, f'<rect class="h" x="{at}"/>', tick] if pixels >= GAP_FROM else [bar, tick]


def _ticks(values: Sequence[float], scale: Scale) -> str:
    """Grey ticks as one path in a drawing that stretches (its strokes do not)."""
    path = "".join(f"M{scale.at(value):.1f} 0V16" for value in values)
    return f'<svg viewBox="0 0 100 16" preserveAspectRatio="none"><path class="o" d="{path}"/></svg>'


def _line(name: str, x: float) -> str:
    return f'<line class="{name}" x1="{percent(x)}" x2="{percent(x)}" y2="100%"/>'


def percent(value: float) -> str:
    """A place across: a tenth of a percent is less than a quarter of a pixel."""
    return f"{value:.1f}".rstrip("0").rstrip(".") + "%"
