"""Systems against people on the same items: forest plots of the paired differences, one per pair."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from markupsafe import Markup

from embassay.protocols import numbers
from embassay.protocols.hume.summary.record import PairRecord, Summary, SystemScore
from embassay.report.hume.people import exact
from embassay.report.hume.standing import system_names
from embassay.report.hume.words import POINTS, agreed, answerers, interval
from embassay.report.marks import difference_mark
from embassay.report.names import labels
from embassay.report.scale import Scale, scale_of
from embassay.stats.multiple import holm

ALPHA = 0.05


@dataclass(frozen=True)
class AgainstRow:
    """A system less people: drawing, text, p after Holm's correction, its place among the annotators, in words."""

    label: str
    kind: str
    mark: Markup
    difference: str
    interval: str
    exact: str
    p: str
    sure: bool
    among: str
    words: str


@dataclass(frozen=True)
class Against:
    """The systems of one pair, the highest first; the title says how well its annotators agree."""

    title: str
    id: str
    scale: Scale
    rows: tuple[AgainstRow, ...]
    has_among: bool
    reasons: tuple[str, ...]


@dataclass(frozen=True)
class Side:
    """The systems of several pairs side by side: `heads` are the pairs with their scales, a line has a row per pair,
    None where the system was not scored on it."""

    heads: tuple[tuple[str, Scale], ...]
    lines: tuple[tuple[str, str, tuple[AgainstRow | None, ...]], ...]
    has_among: bool
    reasons: tuple[str, ...]


def side_by_side(plots: Sequence[Against]) -> Side | None:
    """The plots in one table, systems in the order of their mean place; None without a plot."""
    if not plots:
        return None
    found = [{row.label: row for row in plot.rows} for plot in plots]
    kinds = {row.label: row.kind for plot in plots for row in plot.rows}
    places = {name: fmean(list(own).index(name) / len(own) for own in found if name in own) for name in kinds}
    lines = tuple(
        (name, kinds[name], tuple(own.get(name) for own in found))
        for name in sorted(kinds, key=lambda one: places[one])
    )
    return Side(
        tuple((plot.title, plot.scale) for plot in plots), lines, any(plot.has_among for plot in plots),
        tuple(dict.fromkeys(reason for plot in plots for reason in plot.reasons)),
    )  # fmt: skip


def against_people(summary: Summary) -> tuple[Against, ...]:
    """A plot for every pair with differences; published results have none, as they have no items."""
    label = labels(system_names(summary))
    known = [(pair, own) for pair in summary.pairs if (own := _known(pair))]
    return tuple(_plot(pair, own, i, label) for i, (pair, own) in enumerate(known))


def _known(pair: PairRecord) -> list[SystemScore]:
    found = [
        one for one in (*pair.models, *pair.llms)
        if one.difference is not None and one.difference.value is not None
    ]  # fmt: skip
    return sorted(found, key=lambda one: -_value(one))


def _value(one: SystemScore) -> float:
    return 0.0 if one.difference is None else one.difference.value or 0.0


def _plot(pair: PairRecord, own: Sequence[SystemScore], place: int, label: dict[str, str]) -> Against:
    ends = [
        end for one in own if one.difference is not None
        for end in (one.difference.value, one.difference.low, one.difference.high) if end is not None
    ]  # fmt: skip
    scale = scale_of([0.0, *ends], within=None, factor=100.0)
    tested = [one for one in own if one.p is not None]
    adjusted = dict(zip((one.system for one in tested), holm([one.p or 0.0 for one in tested]), strict=True))
    rows = tuple(_row(pair, one, adjusted.get(one.system), scale, label) for one in own)
    agreement = f"agreement {agreed(pair)}" if pair.agreement else agreed(pair)
    return Against(
        f"{pair.name}, {agreement}", f"against-{place}", scale, rows,
        any(one.among_people is not None for one in own),
        tuple(dict.fromkeys(why.rstrip(".") for one in own if one.difference and (why := one.difference.reason))),
    )  # fmt: skip


def _row(
    pair: PairRecord, one: SystemScore, p: float | None, scale: Scale, label: dict[str, str]
) -> AgainstRow:
    bar = one.difference
    assert bar is not None
    value = bar.value or 0.0
    sure = p is not None and p < ALPHA
    return AgainstRow(
        label=label[one.system],
        kind=one.kind,
        mark=difference_mark(bar.low, value, bar.high, one.kind, scale),
        difference=POINTS.change(value),
        interval=interval(bar) or "no interval",
        exact=exact(bar),
        p="n/a" if p is None else numbers.p_value(p),
        sure=sure,
        among=numbers.NONE if one.among_people is None else _among(one.among_people, len(pair.annotators)),
        words=_words(pair, value, p, sure=sure),
    )


def _among(share: float, annotators: int) -> str:
    """How many annotators score below, ties as halves."""
    return f"{share * annotators:.1f} of {annotators}".replace(".0 of", " of")


def _words(pair: PairRecord, value: float, p: float | None, *, sure: bool) -> str:
    who = answerers(pair)
    if p is None:
        return "not tested"
    if not sure:
        return f"cannot be told apart from {who}"
    if value < 0:
        return f"below {who}"
    return f"above {who}, who agree little" if pair.trust == "low" else f"above {who}"
