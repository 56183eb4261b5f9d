"""People less the best or the median model, pair by pair: bars around zero, largest lead of people first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from markupsafe import Markup

from embassay.protocols.hume.summary.record import Summary
from embassay.report.hume.drawing import bar_from_zero
from embassay.report.hume.standing import Standing, system_names
from embassay.report.hume.words import POINTS, percent, points
from embassay.report.names import labels
from embassay.report.scale import Scale, scale_of


@dataclass(frozen=True)
class GapRow:
    """A pair: its bar, the gap, and the score it is taken from (with the model's name where it is one model's)."""

    dataset: str
    mark: Markup
    gap: str
    exact: str
    other: str
    model: str
    share: str


@dataclass(frozen=True)
class GapChart:
    """The pairs against one reference, in groups by language: the language with the largest mean gap first."""

    title: str
    id: str
    scale: Scale
    groups: tuple[tuple[str, tuple[GapRow, ...]], ...]
    is_best: bool


def gap_charts(summary: Summary, every: Sequence[Standing]) -> tuple[GapChart, ...]:
    """Against the best model, then against the median one."""
    label = labels(system_names(summary))
    found = (_chart(reference, title, every, label) for reference, title in (
        ("best", "the best model"), ("median", "the median model")
    ))  # fmt: skip
    return tuple(one for one in found if one.groups)


def _chart(reference: str, title: str, every: Sequence[Standing], label: dict[str, str]) -> GapChart:
    known = [(gap, one) for one in every if (gap := one.gap(reference)) is not None]
    scale = scale_of([0.0, *(gap for gap, _ in known)], within=None, factor=100.0)
    by_lang: dict[str, list[tuple[float, Standing]]] = {}
    for gap, one in sorted(known, key=lambda item: -item[0]):
        by_lang.setdefault(one.pair.lang, []).append((gap, one))
    order = sorted(by_lang, key=lambda lang: -fmean(gap for gap, _ in by_lang[lang]))
    return GapChart(
        title, f"gaps-{reference}", scale,
        tuple((lang, tuple(_row(gap, one, reference, scale, label) for gap, one in by_lang[lang])) for lang in order),
        reference == "best",
    )  # fmt: skip


def _row(gap: float, one: Standing, reference: str, scale: Scale, label: dict[str, str]) -> GapRow:
    best = one.best if reference == "best" else None
    other = points(best.score) if best is not None else POINTS.text(one.median or 0.0)
    return GapRow(
        one.pair.dataset, bar_from_zero(gap, scale), POINTS.change(gap), f"{100 * gap:.6g}", other,
        label[best.system] if best is not None else "", percent(best.percent_of_human) if best is not None else "",
    )  # fmt: skip
