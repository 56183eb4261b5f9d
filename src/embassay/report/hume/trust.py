"""How far scores can be trusted: agreement between its two thresholds, and how hard the pairs are for people."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from embassay.protocols import numbers
from embassay.protocols.hume.published.standing import EASY, HARD
from embassay.protocols.hume.study import FAMILIES, Family
from embassay.protocols.hume.summary.record import Agreement, PairRecord
from embassay.report.hume.drawing import between, strip
from embassay.report.hume.standing import Standing
from embassay.report.hume.words import COEFFICIENT, COEFFICIENTS, COUNTS, agreed, interval, scored
from embassay.report.hume.words import FAMILIES as TITLES
from embassay.report.scale import Scale

LIMITS: dict[Family, tuple[float, float]] = {
    "classification": (0.4, 0.6), "clustering": (0.4, 0.6), "reranking": (0.6, 0.7), "sts": (0.6, 0.7)
}  # fmt: skip
"""Below the first agreement is low, above the second high (spec hume 8)."""
HAIR = 0.02
WORDS = {"easy": f"{100 * EASY:.0f} or more", "moderate": "between", "hard": f"under {100 * HARD:.0f}"}


@dataclass(frozen=True)
class TrustRow:
    """A pair: its coefficient between the thresholds, its word, the others."""

    name: str
    mark: Markup
    coefficient: str
    value: str
    interval: str
    exact: str
    why: str
    word: str
    trust: str
    annotators: str
    extras: str
    advice: str


@dataclass(frozen=True)
class TrustTable:
    """All pairs with two or more annotators, on one scale; `alone` are the names of the others."""

    rows: tuple[TrustRow, ...]
    scale: Scale
    alone: tuple[str, ...]


@dataclass(frozen=True)
class Noisy:
    """A pair that is too noisy to rank models on: agreement, people and the best model, what to do."""

    name: str
    agreement: str
    people: str
    best: str
    side: str
    above: bool
    advice: str


@dataclass(frozen=True)
class HardRow:
    """A family: its pairs on one line by people's score, and how many are easy, moderate and hard."""

    title: str
    mark: Markup
    counts: str


@dataclass(frozen=True)
class Difficulty:
    """The families on one scale, and a sentence on all pairs."""

    rows: tuple[HardRow, ...]
    scale: Scale
    said: str


def trust_table(pairs: Sequence[PairRecord]) -> TrustTable:
    """Agreement in full."""
    known = [one.agreement for one in pairs if one.agreement is not None]
    ends = [
        end for one in known for end in (one.value.value, one.value.low, one.value.high) if end is not None
    ]
    scale = whole(ends)
    rows = tuple(_row(one, one.agreement, scale) for one in pairs if one.agreement is not None)
    return TrustTable(
        rows, scale, tuple(one.name for one in pairs if one.agreement is None and len(one.annotators) == 1)
    )


def whole(values: Sequence[float], factor: float = 1.0) -> Scale:
    """From 0 to 1, or as far below 0 as the values go (a hair below stops at 0), so thresholds keep their place."""
    low = min([0.0, *(value for value in values if value < -HAIR)])
    return Scale(math.floor(low / 0.2) * 0.2, 1.0, 0.2, factor)


def _row(pair: PairRecord, found: Agreement, scale: Scale) -> TrustRow:
    bar = found.value
    ends = [f"{one:.6g}" for one in (bar.value, bar.low, bar.high) if one is not None]
    return TrustRow(
        name=pair.name,
        mark=between(bar, LIMITS[pair.family], scale),
        coefficient=COEFFICIENTS.get(found.coefficient, found.coefficient),
        value="n/a" if bar.value is None else COEFFICIENT.text(bar.value),
        interval=interval(bar, COEFFICIENT),
        exact="" if bar.value is None else ",".join(ends if len(ends) == 3 else ends[:1]),
        why=bar.reason,
        word=found.band,
        trust=pair.trust or "",
        annotators=f"{found.annotators}, {numbers.counted(found.items, 'item')}",
        extras=", ".join(
            _extra(name, value)
            for name, value in found.extras.items()
            if value is not None and (value or name not in COUNTS)
        ),
        advice=pair.advice,
    )


def _extra(name: str, value: float) -> str:
    said = COEFFICIENTS.get(name, name.replace("_", " "))
    if name in COUNTS:
        return f"{said} {value:.0f}"
    return (
        f"{said} {numbers.percent(value)}"
        if name == "percent_agreement"
        else f"{said} {COEFFICIENT.text(value)}"
    )


def noisy(every: Sequence[Standing]) -> tuple[Noisy, ...]:
    """The pairs with low agreement, those with a model above people first."""
    low = [one for one in every if one.pair.trust == "low"]
    low.sort(key=lambda one: not one.pair.superhuman_on_noise)
    return tuple(
        Noisy(
            one.pair.name, agreed(one.pair), scored(one.pair.human),
            "no model" if one.best is None else scored(one.best.score), one.side, one.pair.superhuman_on_noise,
            one.pair.advice,
        )
        for one in low
    )  # fmt: skip


def difficulties(pairs: Sequence[PairRecord]) -> Difficulty:
    """How hard the pairs are for people: easy from 70 points, hard under 50."""
    values = [one.human.value for one in pairs if one.human.value is not None]
    scale = whole(values, factor=100.0)
    rows = tuple(
        HardRow(TITLES[family], _strip(own, scale), _counts(own))
        for family in FAMILIES
        if (own := [one for one in pairs if one.family == family])
    )
    hard = [one.name for one in pairs if one.difficulty == "hard"]
    ends = f" Hard: {', '.join(hard[:6])}{' and others' if len(hard) > 6 else ''}." if hard else ""
    return Difficulty(
        rows, scale, f"{_counts(pairs).capitalize()} of {numbers.counted(len(pairs), 'pair')}.{ends}"
    )


def _strip(pairs: Sequence[PairRecord], scale: Scale) -> Markup:
    known = [
        (one.human.value, f"{one.name} {scored(one.human)}") for one in pairs if one.human.value is not None
    ]
    return strip(known, (HARD, EASY), scale)


def _counts(pairs: Sequence[PairRecord]) -> str:
    counts = {word: sum(one.difficulty == word for one in pairs) for word in WORDS}
    return ", ".join(f"{count} {word}" for word, count in counts.items() if count) or "none scored"
