"""Marks of HUME: people and models on one line, bars around zero, a score between two thresholds.

People are a plum diamond. Their interval is a line: solid at 95%, dashed with caps from the lowest to the highest
annotator. Models are a pale box from the lowest to the highest with a tick at the median (pages 3 and 4).
"""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup, escape

from embassay.protocols.hume.summary.record import Bar
from embassay.report.hume.words import is_range
from embassay.report.marks import CLASSES, bar, grid, percent
from embassay.report.scale import Scale

DIAMOND = "M0-6 5 0 0 6-5 0Z"
TRIANGLE = "M0-6 6 5H-6Z"
UPPER = 7
"""Pixels down to the line of people; the box of models lies below it."""
CAP = 4


def sign(kind: str) -> Markup:
    """The sign before a name in running text."""
    return Markup('<i class="{}"></i>').format(CLASSES[kind])


def people_and_models(human: Bar, models: Sequence[float], middle: float | None, scale: Scale) -> Markup:
    """The line of a pair: people above, the models' range below."""
    parts = [_box(models, middle, scale), _span(human, scale)]
    if human.value is not None:
        parts.append(_shape(human.value, DIAMOND, "n", scale))
    return _drawing(f"iv pm {grid(scale)}", "".join(parts))


def dot(value: float, kind: str, scale: Scale) -> Markup:
    """One value as the shape of its kind."""
    if kind == "classical":
        return _drawing(f"iv {grid(scale)}", f'<rect class="c p" x="{percent(scale.at(value))}"/>')
    path = {"human": DIAMOND, "llm": TRIANGLE}.get(kind)
    if path:
        return _drawing(f"iv {grid(scale)}", _shape(value, path, CLASSES[kind], scale, down=8))
    circle = f'<circle class="{CLASSES[kind]}" cx="{percent(scale.at(value))}" cy="8" r="5"/>'
    return _drawing(f"iv {grid(scale)}", circle)


def bar_from_zero(value: float, scale: Scale) -> Markup:
    """A bar from the zero line, plum where people lead, blue where models do."""
    start, end = sorted((scale.at(0), scale.at(value)))
    colour = "n" if value > 0 else "e"
    drawn = f'<rect class="{colour}" x="{percent(start)}" width="{percent(end - start)}"/>'
    return _drawing(f"iv {grid(scale)}", drawn + _line("z", scale.at(0)))


def between(value: Bar, limits: Sequence[float], scale: Scale) -> Markup:
    """Agreement as bar and tick, with both thresholds as dashed lines."""
    return bar(value.value, value.low, value.high, "n", scale, lines=limits)


def interval_of(value: Bar, kind: str, scale: Scale) -> Markup:
    """Bar and tick."""
    return bar(value.value, value.low, value.high, CLASSES[kind], scale)


def strip(values: Sequence[tuple[float, str]], limits: Sequence[float], scale: Scale) -> Markup:
    """Many values as diamonds on one line with thresholds; each says its name when pointed at."""
    dashed = "".join(_line("d", scale.at(limit)) for limit in limits)
    return _drawing(
        f"iv {grid(scale)}",
        dashed + "".join(_shape(value, DIAMOND, "n", scale, down=8, title=name) for value, name in values),
    )


def _box(models: Sequence[float], middle: float | None, scale: Scale) -> str:
    if not models:
        return ""
    start, end = scale.at(min(models)), scale.at(max(models))
    box = f'<rect class="q3" x="{percent(start)}" width="{percent(max(end - start, 0.3))}"/>'
    return box if middle is None else box + f'<rect class="e" x="{percent(scale.at(middle))}" width="2"/>'


def _span(human: Bar, scale: Scale) -> str:
    if human.low is None or human.high is None:
        return ""
    low, high = percent(scale.at(human.low)), percent(scale.at(human.high))
    line = f'<line x1="{low}" x2="{high}" y1="{UPPER}" y2="{UPPER}"'
    if not is_range(human):
        return f"{line}/>"
    caps = (f'<line x1="{x}" x2="{x}" y1="{UPPER - CAP}" y2="{UPPER + CAP}"/>' for x in (low, high))
    return f'{line} stroke-dasharray="3 2"/>{"".join(caps)}'


def _shape(value: float, path: str, colour: str, scale: Scale, *, down: int = UPPER, title: str = "") -> str:
    said = f"<title>{escape(title)}</title>" if title else ""
    at = percent(scale.at(value))
    return (
        f'<svg x="{at}" y="{down}" overflow="visible"><path class="{colour}" d="{path}">{said}</path></svg>'
    )


def _line(name: str, x: float) -> str:
    return f'<line class="{name}" x1="{percent(x)}" x2="{percent(x)}" y2="100%"/>'


def _drawing(classes: str, parts: str) -> Markup:
    return Markup(f'<svg class="{classes}" aria-hidden="true">{parts}</svg>')
