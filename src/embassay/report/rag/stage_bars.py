"""Where the time of a stack goes, and what each axis does: bars from 0, and differences around 0."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from embassay.protocols import numbers
from embassay.protocols.rag.sweep.findings.record import Asked, Effect, Part, StackFacts
from embassay.protocols.rag.sweep.findings.words import dollars_more, ms, ms_more
from embassay.report.marks import difference_mark, percent
from embassay.report.rag.shown_frontier import shown_frontier
from embassay.report.rag.stack_entries import named
from embassay.report.scale import Scale, scale_of

SHADES = {"embed": "q2", "retrieve": "q3", "fuse": "q4", "rerank": "q5"}
MOST = 12


@dataclass(frozen=True)
class Bar:
    """A stack: its number on the frontier, the bar, and its stages in words."""

    place: int
    stack: Markup
    mark: Markup
    total: str
    p95: str
    stages: str


@dataclass(frozen=True)
class Bars:
    """The bars of the frontier, on one scale from 0; `more` stacks have none."""

    rows: tuple[Bar, ...]
    scale: Scale
    more: int


def stage_bars(part: Part, asked: Asked) -> Bars:
    """p50 by stage of the stacks on the frontier, and of the recommended one."""
    order = [one.stack for one in shown_frontier(part, asked)]
    chosen = part.recommendation.stack
    shown = [id for i, id in enumerate(order) if i < MOST or id == chosen]
    stacks = [part.stack(id) for id in shown]
    sums = [sum(time.p50 for time in one.times if time.stage in SHADES) for one in stacks]
    scale = scale_of([0.0, *sums], within=(0.0, float("inf")))
    rows = (_bar(order.index(one.id) + 1, one, scale) for one in stacks)
    return Bars(tuple(rows), scale, len(order) - len(shown))


def _bar(place: int, one: StackFacts, scale: Scale) -> Bar:
    stages = [time for time in one.times if time.stage in SHADES]
    rects, start = [], 0.0
    for time in stages:
        width = scale.at(time.p50)
        rects.append(
            f'<rect class="{SHADES[time.stage]}" x="{percent(start)}" width="{percent(width)}" height="100%"/>'
        )
        start += width
    total = one.time("total")
    words = ", ".join(f"{time.stage} {ms(time.p50)}" for time in stages)
    mark = Markup(f'<svg class="stack" aria-hidden="true">{"".join(rects)}</svg>')
    return Bar(
        place, named(one.id), mark, ms(total.p50) if total else "", ms(total.p95) if total else "", words
    )


@dataclass(frozen=True)
class Difference:
    """A value of an axis against another: the drawing, the figures, and what it takes."""

    label: str
    mark: Markup
    change: str
    interval: str
    exact: str
    takes: str
    pairs: int


@dataclass(frozen=True)
class Forest:
    """What every axis does to one measure."""

    title: str
    id: str
    scale: Scale
    rows: tuple[Difference, ...]


def effect_forests(part: Part, asked: Asked) -> tuple[Forest, ...]:
    """A forest for each measure, that which decides first."""
    measures = list(dict.fromkeys(one.measure for one in part.effects))
    return tuple(
        _forest(name, i, [one for one in part.effects if one.measure == name], asked)
        for i, name in enumerate(measures)
    )


def _forest(measure: str, place: int, effects: Sequence[Effect], asked: Asked) -> Forest:
    known = [one for one in effects if one.quality.value is not None]
    ends = [
        end
        for one in known
        for end in (one.quality.value, one.quality.low, one.quality.high)
        if end is not None
    ]
    scale = scale_of([*ends, 0.0], within=None)
    return Forest(measure, f"effects-{place}", scale, tuple(_difference(one, scale, asked) for one in known))


def _difference(one: Effect, scale: Scale, asked: Asked) -> Difference:
    value, low, high = one.quality.value or 0.0, one.quality.low, one.quality.high
    ends = (low, high) if low is not None and high is not None else ()
    milliseconds = one.milliseconds.value or 0.0
    time = "within jitter" if abs(milliseconds) <= asked.jitter_ms else ms_more(milliseconds)
    return Difference(
        f"{one.value} − {one.other}",
        difference_mark(low, value, high, "embedding", scale),
        numbers.change(value),
        numbers.interval(*ends) if ends else "no interval",
        ",".join(f"{number:.6g}" for number in (value, *ends)),
        f"{time} ({numbers.change(milliseconds, 1)} ms), {dollars_more(one.usd)}",
        one.pairs,
    )
