"""People and models on the same items: a row per pair, in groups by family, on one scale."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from embassay.protocols.hume.study import FAMILIES
from embassay.protocols.hume.summary.record import Bar
from embassay.report.hume.drawing import people_and_models
from embassay.report.hume.standing import Standing
from embassay.report.hume.words import FAMILIES as TITLES
from embassay.report.hume.words import MEASURES, agreed, interval, points
from embassay.report.record import FEW
from embassay.report.scale import Scale, scale_of


@dataclass(frozen=True)
class PeopleRow:
    """A pair: the drawing, people and the best model as text, agreement in a word. `few` items are shown grey."""

    dataset: str
    lang: str
    mark: Markup
    people: str
    interval: str
    people_exact: str
    best: str
    best_exact: str
    side: str
    agreement: str
    low: bool
    noisy: bool
    few: bool
    n: int


@dataclass(frozen=True)
class PeopleChart:
    """The rows by family, each with its measure; one scale for all."""

    scale: Scale
    groups: tuple[tuple[str, tuple[PeopleRow, ...]], ...]
    has_ranges: bool
    most_models: int
    has_unranked: bool


def people_chart(every: Sequence[Standing], *, has_ranges: bool) -> PeopleChart:
    """The chart of all pairs."""
    scale = scale_of(_ends(every), most=5, factor=100.0)
    groups = [
        (f"{TITLES[family]}, {_measures(own)}", tuple(_row(one, scale) for one in own))
        for family in FAMILIES
        if (own := [one for one in every if one.pair.family == family])
    ]
    return PeopleChart(
        scale,
        tuple(groups),
        has_ranges,
        max((len(one.models) for one in every), default=0),
        any(len(one.models) < len(one.pair.models) for one in every),
    )


def exact(bar: Bar) -> str:
    """Value and ends in points, for sorting and CSV; empty without a value."""
    found = [bar.value, *((bar.low, bar.high) if bar.low is not None and bar.high is not None else ())]
    return "" if bar.value is None else ",".join(f"{100 * (one or 0.0):.6g}" for one in found)


def _ends(every: Sequence[Standing]) -> list[float]:
    found: list[float] = []
    for one in every:
        human = one.pair.human
        found += [end for end in (human.value, human.low, human.high) if end is not None]
        found += one.scores
    return found


def _measures(own: Sequence[Standing]) -> str:
    return ", ".join(
        dict.fromkeys(MEASURES.get(one.pair.measure, one.pair.measure.replace("_", " ")) for one in own)
    )


def _row(one: Standing, scale: Scale) -> PeopleRow:
    pair, best = one.pair, one.best
    return PeopleRow(
        dataset=pair.dataset,
        lang=pair.lang,
        mark=people_and_models(pair.human, one.scores, one.median, scale),
        people=points(pair.human),
        interval=interval(pair.human) or pair.human.reason or "no interval",
        people_exact=exact(pair.human),
        best="no model" if best is None else points(best.score),
        best_exact="" if best is None else exact(Bar(value=best.score.value)),
        side=one.side,
        agreement=agreed(pair),
        low=pair.trust == "low",
        noisy=pair.superhuman_on_noise,
        few=pair.n < FEW,
        n=pair.n,
    )
