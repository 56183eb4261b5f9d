"""Agreement of people against the lead of the best model: do models lead where people disagree? Figure 8."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from embassay.protocols import numbers
from embassay.protocols.hume.summary.record import Summary
from embassay.report.hume.standing import Standing
from embassay.report.hume.trust import whole
from embassay.report.hume.words import COEFFICIENT, answerers
from embassay.report.scale import scale_of
from embassay.report.scatter import Axis, Point, scatter

FEWEST = 4
LABELLED = 2
"""So many pairs with the largest leads have their name beside them."""


@dataclass(frozen=True)
class Lead:
    """The scatter and what it says."""

    svg: Markup
    summary: str
    said: str
    n: int


def lead(summary: Summary, every: Sequence[Standing]) -> Lead | None:
    """A point per pair with agreement and a model; None under four of them."""
    known = [
        (one.pair.agreement.value.value, -gap, one)
        for one in every
        if one.pair.agreement is not None and one.pair.agreement.value.value is not None
        and (gap := one.gap()) is not None
    ]  # fmt: skip
    if len(known) < FEWEST:
        return None
    largest = sorted(known, key=lambda item: -item[1])[:LABELLED]
    points = [_point(*item, named=item in largest) for item in known]
    who = answerers(summary)
    ahead = [y for _, y, _ in known]
    drawn = scatter(
        points,
        Axis(whole([x for x, _, _ in known]), "agreement of annotators"),
        Axis(
            scale_of([0.0, *ahead], within=(0.0, 1.0) if min(ahead) >= 0 else None, factor=100.0),
            f"best model less {who}, points", 0.0, "" if min(ahead) >= 0 else f"below: {who} lead",
        ),
    )  # fmt: skip
    said = _said(summary, len(known))
    return Lead(
        drawn, f"The lead of the best model against agreement, {len(known)} pairs. {said}", said, len(known)
    )


def _point(agreement: float, ahead: float, one: Standing, *, named: bool) -> Point:
    return Point(agreement, ahead, "embedding", one.pair.name if named else "")


def _said(summary: Summary, n: int) -> str:
    bar = summary.agreement_against_gap
    if bar is None or bar.value is None:
        return ""
    p = summary.agreement_against_gap_p
    test = "" if p is None else f", p {numbers.p_value(p)}"
    way = (
        "The less annotators agree, the further models are ahead"
        if bar.value < 0
        else "Models are ahead where annotators agree"
    )
    sure = way if p is not None and p < 0.05 else "No clear relation"
    return f"{sure}: Spearman {COEFFICIENT.text(bar.value)} over {n} pairs{test}."
