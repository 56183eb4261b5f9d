"""The frontier of a sweep as a plot: time on a log axis against quality, with limits and the chosen point.

Coordinates are percent across and pixels down, so that text keeps its size. The same places are given to the script,
which chooses again when a reader gives other limits.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from markupsafe import Markup, escape

from embassay.protocols import numbers
from embassay.protocols.rag.sweep.findings.record import Asked, Part, StackFacts
from embassay.protocols.rag.sweep.findings.words import ms, usd
from embassay.report.scale import Scale, scale_of

HEIGHT, TOP = 280, 20
LEFT, WIDE = 7.0, 90.0
"""Percent of the figure: where the plot begins, and how wide it is."""
PIXELS = 7.0
"""Pixels of a percent across, about: to see which numbers would stand on each other."""
NEAR, CLEAR = 15.0, 17.0
"""Pixels between the middles of two numbers, and of a number and the ring."""
MOVES = ((0, -9), (0, 20), (12, 5), (-12, 5))
"""Where a number may stand beside its point: pixels across and down."""


RINGED = ((0, -14), (0, 25), (17, 5), (-17, 5))
"""The same where that would be in the ring of the recommended one."""


@dataclass(frozen=True)
class LogScale:
    """A logarithmic scale of times, from a round number to a round number."""

    low: float
    high: float

    @property
    def ticks(self) -> tuple[float, ...]:
        """1, 2 and 5 times powers of ten within; powers of ten alone where that is many."""
        powers = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
        steps = (1, 2, 5) if math.log10(self.high / self.low) <= 2.2 else (1,)
        every = [step * 10.0**power for power in powers for step in steps]
        return tuple(one for one in every if self.low * 0.999 <= one <= self.high * 1.001)

    def across(self, value: float) -> float:
        """Percent of the figure; what lies outside stops at the edge."""
        share = math.log(max(value, 1e-9) / self.low) / math.log(self.high / self.low)
        return LEFT + WIDE * min(1.0, max(0.0, share))


def log_scale(values: Iterable[float]) -> LogScale:
    """From the next 1, 2 or 5 below the values to the next above."""
    pool = [one for one in values if one > 0] or [1.0]
    low, high = min(pool) * 0.97, max(pool) * 1.03
    every = [step * 10.0**power for power in range(-4, 8) for step in (1, 2, 5)]
    first = max(one for one in every if one <= low) if low >= every[0] else every[0]
    last = min(one for one in every if one >= high)
    return LogScale(first, last if last > first else first * 10)


@dataclass(frozen=True)
class FrontierPlot:
    """The drawing, what it says, and what the script needs: of each stack (as ties are decided) its id, price, time,
    quality, place, number among the points and prompt; the scale."""

    svg: Markup
    summary: str
    rows: tuple[tuple[str, float, float, float, float, float, int, float], ...]
    scale: tuple[float, float, float, float]


def frontier_plot(part: Part, asked: Asked, order: Sequence[str]) -> FrontierPlot:
    """The plot of a part; `order` are the stacks of its table, numbered from 1."""
    known = [one for one in part.stacks if one.value(asked.measure) is not None]
    shown = [one for one in known if one.id in order]
    x = log_scale([end for one in known for end in (one.latency, _p95(one))])
    y = scale_of([_q(one, asked) for one in known] + [end for one in shown for end in _ends(one, asked)])
    ties = sorted(known, key=lambda one: (one.tie_tokens, one.cost, one.latency, one.id))
    # What is on a frontier is drawn last, over the rings.
    drawn = sorted(ties, key=lambda one: ("latency" in one.on, part.frontiers[0].name in one.on))
    parts = [
        _limits(part, asked, x), _grid(x, y, asked), _steps(part, asked, x, y), _whiskers(shown, asked, x, y),
        *(_point(one, part, asked, x, y) for one in drawn), _numbers(part, asked, order, x, y),
        _pick(part, asked, x, y),
    ]  # fmt: skip
    rows = tuple((*_row(one, asked, x, y), drawn.index(one), one.tie_tokens) for one in ties)
    svg = Markup(f'<svg class="curve" height="{HEIGHT + 64}">{"".join(parts)}</svg>')
    return FrontierPlot(svg, _summary(part, asked, order), rows, (x.low, x.high, LEFT, WIDE))


def _row(
    one: StackFacts, asked: Asked, x: LogScale, y: Scale
) -> tuple[str, float, float, float, float, float]:
    quality = _q(one, asked)
    return (
        one.id,
        round(one.cost, 6),
        round(one.latency, 4),
        round(quality, 9),
        _at(one, x),
        _down(y, quality),
    )


def _q(one: StackFacts, asked: Asked) -> float:
    return one.value(asked.measure) or 0.0


def _p95(one: StackFacts) -> float:
    total = one.time("total")
    return one.latency if total is None else max(total.p95, one.latency)


def _ends(one: StackFacts, asked: Asked) -> list[float]:
    found = one.measured(asked.measure)
    ends = () if found is None else (found.value.low, found.value.high)
    return [end for end in ends if end is not None]


def _at(one: StackFacts, x: LogScale) -> float:
    return round(x.across(one.latency), 2)


def _down(y: Scale, value: float) -> float:
    return round(TOP + (100 - y.at(value)) / 100 * HEIGHT, 1)


def _grid(x: LogScale, y: Scale, asked: Asked) -> str:
    right, bottom = LEFT + WIDE, TOP + HEIGHT
    rows = "".join(
        f'<line class="g" x1="{LEFT:g}%" x2="{right:g}%" y1="{_down(y, tick)}" y2="{_down(y, tick)}"/>'
        f'<text x="{LEFT - 1:g}%" y="{_down(y, tick)}" dy="4" text-anchor="end">{y.label(tick)}</text>'
        for tick in y.ticks
    )
    columns = "".join(
        f'<text x="{x.across(tick):.2f}%" y="{bottom + 20}" text-anchor="middle">{tick:,.10g}</text>'
        for tick in x.ticks
    )
    name = f"p{asked.percentile:g} of a query, ms (log)"
    return (
        f'{rows}{columns}<text x="{LEFT + WIDE / 2:g}%" y="{bottom + 40}" text-anchor="middle">{name}</text>'
        f'<text x="0" y="11">{escape(asked.measure)}</text>'
    )


def _limits(part: Part, asked: Asked, x: LogScale) -> str:
    """The times over the limit as ground, and what is within jitter of the recommended point."""
    right, found = LEFT + WIDE, part.recommendation
    start = right if asked.sla_ms is None else x.across(asked.sla_ms)
    shade = f'<rect class="shade" x="{start:.2f}%" width="{right - start:.2f}%" y="{TOP}" height="{HEIGHT}"/>'
    if not found.stack:
        return shade
    middle = part.stack(found.stack).latency
    low, high = (x.across(middle + step) for step in (-asked.jitter_ms, asked.jitter_ms))
    band = f'<rect class="band" x="{low:.2f}%" width="{high - low:.2f}%" y="{TOP}" height="{HEIGHT}"/>'
    return band + shade


def _steps(part: Part, asked: Asked, x: LogScale, y: Scale) -> str:
    """The frontier by time: level until the next point, then up."""
    frontier = part.frontier("latency")
    stacks = [part.stack(id) for id in frontier.stacks] if frontier is not None else []
    spots = [(_at(one, x), _down(y, _q(one, asked))) for one in stacks]
    if not spots:
        return ""
    lines = [(*a, b[0], a[1]) for a, b in pairwise(spots)] + [(b[0], a[1], *b) for a, b in pairwise(spots)]
    lines.append((*spots[-1], LEFT + WIDE, spots[-1][1]))
    return "".join(f'<line class="s1" x1="{a}%" y1="{b}" x2="{c}%" y2="{d}"/>' for a, b, c, d in lines)


def _whiskers(shown: Sequence[StackFacts], asked: Asked, x: LogScale, y: Scale) -> str:
    """Of the numbered points the interval upright, and the way from the drawn percentile to p95 across."""
    parts = []
    for one in shown:
        at, down = _at(one, x), _down(y, _q(one, asked))
        parts.append(f'<line class="o" x1="{at}%" x2="{x.across(_p95(one)):.2f}%" y1="{down}" y2="{down}"/>')
        if ends := _ends(one, asked):
            low, high = (_down(y, end) for end in ends)
            parts.append(f'<line class="o" x1="{at}%" x2="{at}%" y1="{low}" y2="{high}"/>')
    return "".join(parts)


def _point(one: StackFacts, part: Part, asked: Asked, x: LogScale, y: Scale) -> str:
    """Filled: on the frontier by time; hollow: on it for its price; a grey ring: dominated."""
    on = "e" if "latency" in one.on else "w" if part.frontiers[0].name in one.on else "ring"
    over = " over" if (asked.budget is not None and one.cost > asked.budget) else ""
    title = f"{one.id}: {numbers.score(_q(one, asked))}, {ms(one.latency)}, {usd(one.cost)}"
    place = f'cx="{_at(one, x)}%" cy="{_down(y, _q(one, asked))}" r="{4 if on == "ring" else 5}"'
    return f'<circle class="pt {on}{over}" {place}><title>{escape(title)}</title></circle>'


def _numbers(part: Part, asked: Asked, order: Sequence[str], x: LogScale, y: Scale) -> str:
    """The place in the table beside each point of it; where there is no room the title alone tells it."""
    spots = [(_at(one, x), _down(y, _q(one, asked))) for one in (part.stack(id) for id in order)]
    picked = part.stack(part.recommendation.stack or part.recommendation.nearest)
    ring = (_at(picked, x) * PIXELS, _down(y, _q(picked, asked)))
    taken: list[tuple[float, float]] = []
    parts = []
    for place, (across, down) in enumerate(spots, start=1):
        for right, under in (*MOVES, *RINGED):
            spot = (across * PIXELS + right, down + under - 5)
            if math.dist(spot, ring) >= CLEAR and all(math.dist(spot, one) >= NEAR for one in taken):
                taken.append(spot)
                place_at = f'x="{across}%" dx="{right}" y="{down + under:g}"'
                parts.append(f'<text class="name" {place_at} text-anchor="middle">{place}</text>')
                break
    return "".join(parts)


def _pick(part: Part, asked: Asked, x: LogScale, y: Scale) -> str:
    """A ring around the recommended point, or the nearest where none keeps the limits."""
    one = part.stack(part.recommendation.stack or part.recommendation.nearest)
    return f'<circle class="pick" cx="{_at(one, x)}%" cy="{_down(y, _q(one, asked))}" r="10"/>'


def _summary(part: Part, asked: Asked, order: Sequence[str]) -> str:
    first, last = part.stack(order[0]), part.stack(order[-1])
    dominated = len(part.stacks) - len(part.frontiers[0].stacks)
    return (
        f"{numbers.counted(len(order), 'stack')} on the frontier, from {ms(first.latency)} with {asked.measure} "
        f"{numbers.score(_q(first, asked))} to {ms(last.latency)} with {numbers.score(_q(last, asked))}; "
        f"{dominated} more are dominated."
    )
