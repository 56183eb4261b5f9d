"""How far the scores of a pair can be trusted: what people's agreement says, and models above people who disagree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from embassay.protocols.hume.published.pair_summary import PairSummary
from embassay.protocols.hume.study import Family
from embassay.protocols.tables import Column, ColumnTable

Trust = Literal["low", "medium", "high"]
_LIMITS: dict[Family, tuple[float, float]] = {
    "classification": (0.4, 0.6), "clustering": (0.4, 0.6), "reranking": (0.6, 0.7), "sts": (0.6, 0.7)
}  # fmt: skip
"""Below the first agreement is low, above the second high. Those of ARI are ours (spec hume, section 8)."""
ADVICE = "Improve the task or drop it."


@dataclass(frozen=True)
class Quality:
    """`trust` is None for one annotator. `superhuman_on_noise`: agreement is low and the best model is above the
    interval of people, so that it may have learned labels that people do not share."""

    summary: PairSummary
    trust: Trust | None
    superhuman_on_noise: bool


def trust(family: Family, agreement: float | None) -> Trust | None:
    """Kappa and ARI: low below 0.4, high above 0.6. Correlations: low below 0.6, high above 0.7. Else medium.

    None where there is no agreement. Source: spec hume, section 8.

    >>> trust("classification", 0.39), trust("sts", 0.58), trust("reranking", 0.7), trust("sts", None)
    ('low', 'low', 'medium', None)
    """
    if agreement is None:
        return None
    low, high = _LIMITS[family]
    return "low" if agreement < low else "high" if agreement > high else "medium"


def qualities(summaries: Sequence[PairSummary]) -> tuple[Quality, ...]:
    """The quality of every pair, in order."""
    return tuple(_quality(one) for one in summaries)


def _quality(one: PairSummary) -> Quality:
    found = trust(one.pair.family, one.agreement)
    return Quality(one, found, found == "low" and one.standing.best > one.interval.high)


def quality_table(qualities: Sequence[Quality]) -> ColumnTable:
    """Table `quality_flags`: agreement in words, models above people who disagree, and what to do."""
    rows = tuple(
        (
            one.summary.pair.family, one.summary.pair.dataset, one.summary.pair.lang, one.summary.agreement_metric,
            one.summary.agreement, one.trust or "", int(one.superhuman_on_noise), ADVICE if one.trust == "low" else "",
        )
        for one in qualities
    )  # fmt: skip
    columns = (
        *(Column(name, "text") for name in ("family", "dataset", "lang", "iaa_metric")), Column("iaa"),
        Column("agreement", "text"), Column("superhuman_on_noise", decimals=0), Column("advice", "text"),
    )  # fmt: skip
    note = "Agreement takes two annotators; it is empty for one."
    return ColumnTable("quality_flags", "HUME: how far scores can be trusted", columns, rows, note)
