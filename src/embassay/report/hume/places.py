"""Who stands where by the mean over pairs, people among the models; and how often people win, with Wilson's bars."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from markupsafe import Markup

from embassay.protocols import numbers
from embassay.protocols.hume.study import FAMILIES
from embassay.protocols.hume.summary.record import Bar, Place, Summary, Wins
from embassay.report.hume.drawing import dot, interval_of
from embassay.report.hume.people import exact
from embassay.report.hume.words import FAMILIES as TITLES
from embassay.report.hume.words import answerers, interval, percent, points
from embassay.report.names import labels
from embassay.report.scale import SHARES, Scale, scale_of
from embassay.stats import wilson

REFERENCES: tuple[Literal["best", "median", "mean"], ...] = ("best", "median", "mean")


@dataclass(frozen=True)
class PlaceRow:
    """One of the ranked: place, name, mean with interval, size in words, percent of human."""

    place: str
    label: str
    kind: str
    mark: Markup
    mean: str
    interval: str
    exact: str
    size: str
    share: str
    reason: str


@dataclass(frozen=True)
class Places:
    """The ranked, best first, then those that are not, under the reason; on one scale."""

    groups: tuple[tuple[str, tuple[PlaceRow, ...]], ...]
    scale: Scale
    has_sizes: bool
    has_intervals: bool


@dataclass(frozen=True)
class WinRow:
    """A group of pairs: in how many people win."""

    label: str
    mark: Markup
    text: str


@dataclass(frozen=True)
class WinPanel:
    """Groups of one kind, against one reference."""

    title: str
    rows: tuple[WinRow, ...]


def places(summary: Summary) -> Places | None:
    """The ranking; None for one pair or nobody to rank."""
    shown = [one for one in summary.places if one.rank is not None or one.kind != "llm"]
    if len(summary.pairs) < 2 or len(shown) < 2:
        return None
    label = labels([one.system for one in shown if one.kind != "human"])
    ends = [end for one in shown for end in (one.mean.value, one.mean.low, one.mean.high) if end is not None]
    human = next((one.mean.value for one in shown if one.kind == "human"), None)
    scale = scale_of(ends, factor=100.0)
    rows = tuple(_place(one, label.get(one.system, ""), human, answerers(summary), scale) for one in shown)
    groups = [("", tuple(row for row in rows if not row.reason))]
    for reason in dict.fromkeys(row.reason for row in rows if row.reason):
        groups.append((_apart(reason), tuple(row for row in rows if row.reason == reason)))
    return Places(
        tuple((title, own) for title, own in groups if own), scale,
        any(one.parameters_millions for one in shown), any(row.interval for row in rows),
    )  # fmt: skip


def _place(one: Place, label: str, human: float | None, who: str, scale: Scale) -> PlaceRow:
    bar = one.mean
    whole = bar.low is not None and bar.high is not None
    share = 100 * bar.value / human if bar.value is not None and human and human > 0 else None
    mark = (
        Markup("")
        if bar.value is None
        else interval_of(bar, one.kind, scale)
        if whole
        else dot(bar.value, one.kind, scale)
    )
    return PlaceRow(
        place=numbers.NONE if one.rank is None else str(one.rank),
        label=who.capitalize() if one.kind == "human" else label,
        kind=one.kind,
        mark=mark,
        mean=points(bar),
        interval=interval(bar),
        exact=exact(bar),
        size=_size(one.parameters_millions),
        share="" if one.kind == "human" else percent(share),
        reason=bar.reason if one.rank is None else "",
    )


def _apart(reason: str) -> str:
    return reason[0].upper() + reason[1:] if "not ranked" in reason else f"Not ranked: {reason}"


def _size(millions: float | None) -> str:
    """`22.7 M`, `7.1 B`.

    >>> _size(22.7), _size(7111), _size(None)
    ('23 M', '7.1 B', '–')
    """
    if millions is None:
        return numbers.NONE
    return f"{millions / 1000:.1f} B" if millions >= 1000 else f"{millions:.0f} M"


def win_panels(summary: Summary) -> tuple[WinPanel, ...]:
    """Against each reference over all pairs; then against the best model by family, group and language."""
    every = [one for one in summary.wins if one.by == "all"]
    panels = [
        WinPanel(
            "All pairs, against the", tuple(_win(one, f"{one.reference} model") for one in _ordered(every))
        )
    ]
    for by, title in (
        ("family", "By task family"),
        ("group", "By group of datasets"),
        ("lang", "By language"),
    ):
        own = [one for one in summary.wins if one.by == by and one.reference == "best" and one.group]
        if len(own) > 1:
            own.sort(key=lambda one: -one.pairs)
            named = [_group(one.group) for one in own]
            panels.append(WinPanel(title, tuple(map(_win, own, named))))
    return tuple(panel for panel in panels if panel.rows)


def _group(name: str) -> str:
    return next((TITLES[family] for family in FAMILIES if family == name), name.removesuffix(" datasets"))


def _ordered(wins: Sequence[Wins]) -> list[Wins]:
    return sorted(wins, key=lambda one: REFERENCES.index(one.reference))


def _win(one: Wins, label: str) -> WinRow:
    found = wilson(one.wins / one.pairs, one.pairs)
    bar = Bar(value=found.estimate, low=found.low, high=found.high, n=one.pairs, method=found.method)
    return WinRow(label, interval_of(bar, "human", SHARES), f"{one.wins} of {one.pairs}")
