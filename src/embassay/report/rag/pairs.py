"""Runs against each other: forest plots of the paired differences, one per measure."""

from __future__ import annotations

from dataclasses import dataclass

from markupsafe import Markup

from embassay.protocols.numbers import Unit
from embassay.protocols.rag.scoring.record import Comparison, Pair, Score
from embassay.report.marks import difference_mark
from embassay.report.rag.terminal import unit_of
from embassay.report.scale import Scale, scale_of


@dataclass(frozen=True)
class Difference:
    """A pair: `a` less `b` as a drawing and as text, and in words."""

    pair: Pair
    mark: Markup
    change: str
    interval: str
    exact: str
    words: str


@dataclass(frozen=True)
class Forest:
    """The pairs of one measure, its title."""

    title: str
    id: str
    scale: Scale
    rows: tuple[Difference, ...]


def forests(score: Score, most: int) -> tuple[Forest, ...]:
    """The plots of the first `most` measures that have comparisons, the headline first."""
    found = [one for one in score.comparisons if one.pairs]
    found.sort(key=lambda one: one.measure != score.headline)
    return tuple(_forest(one, i) for i, one in enumerate(found[:most]))


def _forest(one: Comparison, place: int) -> Forest:
    unit = unit_of(one.measure)
    ends = [end for pair in one.pairs for end in (pair.low, pair.high, pair.difference)]
    scale = scale_of([*ends, 0.0], within=None, factor=unit.factor)
    return Forest(
        one.measure, f"pairs-{place}", scale, tuple(_difference(pair, unit, scale) for pair in one.pairs)
    )


def _difference(pair: Pair, unit: Unit, scale: Scale) -> Difference:
    loser = pair.b if pair.better == pair.a else pair.a
    return Difference(
        pair,
        difference_mark(pair.low, pair.difference, pair.high, "embedding", scale),
        unit.change(pair.difference),
        unit.interval(pair.low, pair.high),
        ",".join(f"{value * unit.factor:.6g}" for value in (pair.difference, pair.low, pair.high)),
        f"{pair.better} beats {loser}" if pair.better else "cannot be told apart",
    )
