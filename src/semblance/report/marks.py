"""Marks as SVG: the interval mark, axes, shapes. Coordinates in percent: they stretch, their text does not.

Colours come from the style sheet by class; the only text put in is numbers printed here.
"""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from semblance.contracts import Kind
from semblance.records import Result
from semblance.report.scale import Scale

CLASSES: dict[str, str] = {
    "embedding": "e",
    "classical": "c",
    "reference": "r",
    "llm": "l",
    "human": "n",
    "run": "",
}
THINNEST = 3
GAP_FROM = 16


def shape(kind: Kind) -> Markup:
    """The sign by a system's name: filled circle, hollow square, a dash for a reference, a triangle for an LLM."""
    return Markup(f'<i class="{CLASSES[kind]}"></i>')


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
    line = "" if reference is None else _line("d", scale.at(reference))
    if row is None or row.value is None:
        return _drawing(f"iv {grid(scale)}", line)
    bar, style = _bar(row.value, row.ci_low, row.ci_high, scale, width)
    return _drawing(f"iv {grid(scale)} {CLASSES[kind]}{style}{' few' if few else ''}", line + bar)


def difference_mark(low: float | None, value: float, high: float | None, kind: Kind, scale: Scale) -> Markup:
    """The same for a difference, with the zero line in ink."""
    bar, style = _bar(value, low, high, scale, 160)
    return _drawing(f"iv {grid(scale)} {CLASSES[kind]}{style}", _line("z", scale.at(0)) + bar)


def grey_ticks(values: Sequence[float], scale: Scale) -> Markup:
    """Many values as grey ticks on one line."""
    return _drawing(f"iv {grid(scale)}", _ticks(values, scale))


def place_mark(value: float, others: Sequence[float], kind: Kind, scale: Scale) -> Markup:
    """One value among others: they as grey ticks, it as the shape of its kind."""
    x = percent(scale.at(value))
    mark = (
        f'<rect class="c p" x="{x}"/>'
        if kind == "classical"
        else f'<circle class="{CLASSES[kind]}" cx="{x}" cy="8" r="5"/>'
    )
    return _drawing("iv", _ticks(others, scale) + mark)


def axis(scale: Scale, *, labels: int = 3) -> Markup:
    """The labels of a scale: its ends, and with three labels the tick in the middle where there is one.

    The ends alone are one line of text, set apart by the style sheet.
    """
    ticks = scale.ticks
    shown = [ticks[0], ticks[-1]]
    if labels == 2 or len(ticks) % 2 == 0:
        return Markup(f'<i class="ax" aria-hidden="true">{" ".join(map(scale.label, shown))}</i>')
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


def grid(scale: Scale) -> str:
    """The class that draws a scale's steps as hairlines."""
    return f"g{len(scale.ticks) - 1}"


def _drawing(classes: str, parts: str) -> Markup:
    return Markup(f'<svg class="{classes}" aria-hidden="true">{parts}</svg>')


def _bar(value: float, low: float | None, high: float | None, scale: Scale, width: int) -> tuple[str, str]:
    """A rectangle over the interval, then one at the estimate, with the class that says how they are drawn: `m` of
    the least width, `w` wide enough for a gap. All else stands in the style sheet: there are hundreds of these."""
    tick = f'<rect x="{percent(scale.at(value))}"/>'
    if low is None or high is None:
        return tick, ""
    start, end = scale.at(low), scale.at(high)
    pixels = (end - start) / 100 * width
    if pixels < THINNEST:
        return f'<rect x="{percent((start + end) / 2)}"/>{tick}', " m"
    bar = f'<rect x="{percent(start)}" width="{percent(end - start)}"/>'
    return bar + tick, " w" if pixels >= GAP_FROM else ""


def _ticks(values: Sequence[float], scale: Scale) -> str:
    """Grey ticks as one path in a drawing that stretches (its strokes do not)."""
    path = "".join(f"M{scale.at(value):.1f} 0V16" for value in values)
    return f'<svg viewBox="0 0 100 16" preserveAspectRatio="none"><path class="o" d="{path}"/></svg>'


def _line(name: str, x: float) -> str:
    return f'<line class="{name}" x1="{percent(x)}" x2="{percent(x)}" y2="100%"/>'


def percent(value: float) -> str:
    """A place across: a tenth of a percent is less than a quarter of a pixel."""
    return f"{value:.1f}".rstrip("0").rstrip(".") + "%"
