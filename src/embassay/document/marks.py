"""Marks: the interval mark, axes, shapes, and scales. Coordinates in percent: they stretch, their text does not.

An interval mark is one empty element: the style sheet draws its bar and tick, at places named by its classes. There
are hundreds of these. The rest is SVG. Colours come from the style sheet by class; the only text put in is numbers
printed here.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from embassay.contracts import Kind
from embassay.records import ResultRow

PADDING = 0.08


@dataclass(frozen=True)
class LinearScale:
    """A linear scale from `low` to `high`, both multiples of `step`; labels are values times `factor`."""

    low: float
    high: float
    step: float
    factor: float = 1.0

    @property
    def tick_values(self) -> tuple[float, ...]:
        """The round values of the ticks, from low to high, both included."""
        steps = round((self.high - self.low) / self.step)
        return tuple(self.low + i * self.step for i in range(steps + 1))

    def at(self, value: float) -> float:
        """The position of a value in percent of the width; outside values stop at the edge."""
        return min(100.0, max(0.0, 100 * (value - self.low) / (self.high - self.low)))

    def label(self, value: float) -> str:
        """Format a tick's label with as many decimals as the step needs."""
        # The logarithm of 0.001 is a little below -3 in floats.
        decimals = max(0, -math.floor(math.log10(self.step * self.factor) + 1e-9))
        text = f"{value * self.factor:.{decimals}f}"
        # Rounded to 0, a small negative number would be -0.0.
        text = f"{float(text):.{decimals}f}" if float(text) else "0"
        return text.replace("-", "−").removesuffix("." + "0" * decimals) if decimals else text.replace("-", "−")


SHARES = LinearScale(0.0, 1.0, 0.5, 100.0)
"""Of shares, in percent."""


def fit_axis_scale(
    values: Iterable[float], *, most: int = 4, within: tuple[float, float] | None = (0.0, 1.0), factor: float = 1.0
) -> LinearScale:
    """The scale of pooled values (ends of intervals included): 8% padding, a step of 1, 2 or 5, at most
    `most` steps.

    Padding never crosses the ends of `within` (the range of the measure) that the data do not cross.
    Without values the scale is 0 to 1.
    """
    pool = list(values)
    if not pool:
        return LinearScale(0.0, 1.0, 0.5, factor)
    low, high = min(pool), max(pool)
    # Values that differ in their last bits alone are one value: a step of that size would end where it began.
    apart = high - low > 1e-9 * max(abs(low), abs(high))
    pad = PADDING * (high - low) if apart else 0.02
    start, end = low - pad, high + pad
    if within is not None:
        start = max(start, within[0]) if low >= within[0] else start
        end = min(end, within[1]) if high <= within[1] else end
    scale = _make_round_scale(start, end, most, factor)
    if end - start < FULL * (scale.high - scale.low):
        # Finer steps, where the round numbers around the values leave much of the width empty.
        finer = _make_round_scale(start, end, most + FINER, factor)
        return finer if finer.high - finer.low < scale.high - scale.low else scale
    return scale


FULL, FINER = 0.75, 2
"""The least share of a scale that its values fill before more steps are tried, and how many more."""


def _make_round_scale(start: float, end: float, most: int, factor: float) -> LinearScale:
    """The scale from the round number at or below `start` to the one at or above `end`, in at most about `most`
    steps."""
    step = _round_up_scale_step((end - start) / most)
    # 0.3 / 0.1 is a little below 3 in floats, and would begin a step too early.
    first = math.floor(start / step + 1e-9) * step
    last = math.ceil(end / step - 1e-9) * step
    return LinearScale(first, last if last > first else first + step, step, factor)


def _round_up_scale_step(least: float) -> float:
    """The smallest of 1, 2, 5 times a power of ten that is not under `least`."""
    power = 10.0 ** math.floor(math.log10(least))
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= least * (1 - 1e-9))


@dataclass(frozen=True)
class LogTimeScale:
    """A logarithmic scale of times, from a round number to a round number."""

    low: float
    high: float

    @property
    def tick_values(self) -> tuple[float, ...]:
        """The values of the ticks: 1, 2 and 5 times powers of ten, or the powers alone if many."""
        powers = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
        steps = (1, 2, 5) if math.log10(self.high / self.low) <= 2.2 else (1,)
        every = [step * 10.0**power for power in powers for step in steps]
        # A little slack: an end that is itself a tick must not be lost to rounding.
        return tuple(tick for tick in every if self.low * 0.999 <= tick <= self.high * 1.001)

    def at(self, value: float) -> float:
        """Where a value lies, in percent of the width; outside values stop at the edge."""
        share = math.log(max(value, 1e-9) / self.low) / math.log(self.high / self.low)
        return 100 * min(1.0, max(0.0, share))


def fit_log_scale(values: Iterable[float]) -> LogTimeScale:
    """Fit a log scale from the next 1, 2 or 5 below the values to the next above."""
    pool = [value for value in values if value > 0] or [1.0]
    # A point on the edge would be cut in half.
    low, high = min(pool) * 0.97, max(pool) * 1.03
    every = [step * 10.0**power for power in range(-4, 8) for step in (1, 2, 5)]
    first = max(tick for tick in every if tick <= low) if low >= every[0] else every[0]
    last = min(tick for tick in every if tick >= high)
    return LogTimeScale(first, last if last > first else first * 10)


CLASSES: dict[str, str] = {
    "embedding": "e",
    "classical": "c",
    "reference": "r",
    "llm": "l",
    "human": "n",
    "hybrid": "m",
    "run": "f",
    "published": "",
}
GAP_FROM = 16
"""Pixels from which a bar has a gap beside its tick."""
PLACES = re.compile(r"(?<= )([xwtrs])(\d+)(?=[ \">])")
"""Classes of a mark that name a place in halves of a percent: the middle and width of its bar, its tick, two lines."""


def draw_system_kind_sign(kind: Kind) -> Markup:
    """The sign by a system's name: filled circle, hollow square, a square around a dot for what joins both, a triangle
    for an LLM, a dash for a reference, a ring for a file of rankings of which no more is known."""
    return Markup(f'<i class="{CLASSES[kind]}"></i>')


def draw_interval_mark(
    row: ResultRow | None,
    kind: Kind,
    scale: LinearScale,
    *,
    width: int,
    reference: float | None = None,
    few: bool = False,
) -> Markup:
    """Bar over the 95% interval and a tick at the estimate; only its grid where there is no value.

    `width` is the least width in pixels it will be drawn at: it decides whether there is room for a gap beside the
    tick. `reference` draws a dashed line.
    """
    lines = () if reference is None else (reference,)
    if row is None or row.value is None:
        return draw_range_bar(None, None, None, "", scale, lines=lines)
    style = CLASSES[kind] + (" few" if few else "")
    return draw_range_bar(row.value, row.ci_low, row.ci_high, style, scale, width=width, lines=lines)


def draw_difference_mark(low: float | None, value: float, high: float | None, kind: Kind, scale: LinearScale) -> Markup:
    """Draw the bar and tick of a difference with its interval, and the zero line in ink."""
    return draw_range_bar(value, low, high, f"zero {CLASSES[kind]}".strip(), scale, lines=(0.0,))


def draw_range_bar(
    value: float | None,
    low: float | None,
    high: float | None,
    style: str,
    scale: LinearScale,
    *,
    width: int = 160,
    lines: Sequence[float] = (),
) -> Markup:
    """A bar from `low` to `high` with a tick at `value`, and at most two lines across; `style` adds classes."""
    classes = ["iv", name_grid_class(scale), *style.split()]
    if value is not None and low is not None and high is not None:
        start, end = scale.at(low), scale.at(high)
        classes += [_name_position_class("x", (start + end) / 2), _name_position_class("w", end - start)]
        classes += ["v"] if (end - start) / 100 * width >= GAP_FROM else []
    if value is not None:
        classes.append(_name_position_class("t", scale.at(value)))
    classes += [_name_position_class(name, scale.at(line)) for name, line in zip("rs", lines, strict=False)]
    return Markup(f'<u class="{" ".join(classes)}"></u>')


def draw_rank_range_bar(low: int, high: int, of: int, style: str) -> Markup:
    """A rounded bar over the places from `low` to `high` of `of`; `style` adds classes."""
    start, end = 100 * (low - 1) / of, 100 * high / of
    places_of = (_name_position_class("x", (start + end) / 2), _name_position_class("w", end - start))
    return Markup(f'<u class="{" ".join(("iv", "rk", *style.split(), *places_of))}"></u>')


LEVELS = {"sure": "Sure", "likely": "Likely", "open": "Undecided"}


def make_confidence_label_markup(level: str) -> Markup:
    """How sure an answer is, in a word; the style sheet draws its sign."""
    return Markup(f'<span class="level {level}">{LEVELS[level]}</span>')


def write_mark_position_css(html: str) -> str:
    """The rules of all places that the marks of a page name."""
    marks = {match.groups() for mark in re.findall(r"<u class=[^>]*>", html) for match in PLACES.finditer(mark)}
    return _format_css_percent_rules(sorted(marks))


def write_all_bar_position_css() -> str:
    """The rules of all places that a bar and its tick can name, for pages that share a style sheet."""
    return _format_css_percent_rules((name, str(at)) for name in "twx" for at in range(201))


def _format_css_percent_rules(named: Iterable[tuple[str, ...]]) -> str:
    return "".join(f".{name}{at}{{--{name}:{int(at) / 2:g}%}}" for name, at in named)


def _name_position_class(name: str, percent: float) -> str:
    """Name the CSS class of a position, rounded to half a percent."""
    # Classes in half percents and no style of its own for each mark: a page has many marks and 201 places.
    return f"{name}{round(2 * min(100.0, max(0.0, percent)))}"


def draw_grey_ticks(values: Sequence[float], scale: LinearScale) -> Markup:
    """Many values as grey ticks on one line."""
    return draw_aria_hidden_marks(f"iv {name_grid_class(scale)}", _draw_ticks(values, scale))


def draw_value_among_others(value: float, others: Sequence[float], kind: Kind, scale: LinearScale) -> Markup:
    """One value among others: they as grey ticks, it as the shape of its kind."""
    x = format_percent_position(scale.at(value))
    mark = (
        f'<rect class="{CLASSES[kind]} p" x="{x}"/>'
        if kind in ("classical", "hybrid")
        else f'<circle class="{CLASSES[kind]}" cx="{x}" cy="8" r="5"/>'
    )
    return draw_aria_hidden_marks("iv", _draw_ticks(others, scale) + mark)


def draw_axis_labels(scale: LinearScale, *, labels: int = 3) -> Markup:
    """The labels of a scale: its ends, and with three labels 0, else the tick in the middle where there is one.

    The ends alone are one line of text, set apart by the style sheet.
    """
    ticks = scale.tick_values
    shown = [ticks[0], ticks[-1]]
    inner = _pick_inner_tick(ticks)
    if labels == 2 or inner is None:
        return draw_scale_end_labels(*map(scale.label, shown))
    shown.insert(1, inner)
    anchors = {ticks[0]: "", ticks[-1]: ' text-anchor="end"'}
    texts = "".join(
        f'<text x="{format_percent_position(scale.at(tick))}" '
        f'y="11"{anchors.get(tick, MIDDLE)}>{scale.label(tick)}</text>'
        for tick in shown
    )
    return Markup(f'<svg class="ax" aria-hidden="true">{texts}</svg>')


def _pick_inner_tick(ticks: Sequence[float]) -> float | None:
    """The tick between the ends that has a label: 0 where it is far enough from both, else the one in the middle."""
    zero = next((i for i, tick in enumerate(ticks) if abs(tick) < 1e-9), None)
    if ticks[0] < 0 < ticks[-1] and zero is not None:
        return ticks[zero] if 0.2 < zero / (len(ticks) - 1) < 0.8 else None
    return ticks[len(ticks) // 2] if len(ticks) % 2 else None


def draw_scale_end_labels(low: str, high: str) -> Markup:
    """Two labels at the ends of a scale."""
    return Markup('<i class="ax" aria-hidden="true">{} {}</i>').format(low, high)


MIDDLE = ' text-anchor="middle"'


def draw_reference_label(value: float, text: str, scale: LinearScale) -> Markup:
    """The name of a dashed line, under it, turned inwards at the edge."""
    x = scale.at(value)
    anchor = "" if x < 15 else ' text-anchor="end"' if x > 85 else MIDDLE
    words = Markup.escape(text)
    return Markup(
        f'<svg class="ax" aria-hidden="true"><text x="{format_percent_position(x)}" y="11"{anchor}>{words}</text></svg>'
    )


def name_grid_class(scale: LinearScale) -> str:
    """The class that draws a scale's steps as hairlines."""
    return f"g{len(scale.tick_values) - 1}"


def draw_aria_hidden_marks(classes: str, parts: str) -> Markup:
    """A drawing of such marks, which says nothing to who listens."""
    return Markup(f'<svg class="{classes}" aria-hidden="true">{parts}</svg>')


def _draw_ticks(values: Sequence[float], scale: LinearScale) -> str:
    """Grey ticks as one path in a drawing that stretches (its strokes do not)."""
    path = "".join(f"M{scale.at(value):.1f} 0V16" for value in values)
    return f'<svg viewBox="0 0 100 16" preserveAspectRatio="none"><path class="o" d="{path}"/></svg>'


def format_percent_position(value: float) -> str:
    """Format a place across, to a tenth of a percent."""
    return f"{value:.1f}".rstrip("0").rstrip(".") + "%"
