"""Holds claims against tables: every relation that a page states has to be what the values say."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from embassay.protocols.kernel.claims import Claim

ROUNDING = 1e-9


@dataclass(frozen=True)
class Tables:
    """What a run measured: values by measure and name, the ranks that tests leave, the pairs that they tell apart, and
    whether a name keeps the limits. `lower` are measures of which less is better."""

    values: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    ranks: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    apart: Callable[[str, str], bool] = lambda a, b: False
    keeps: Callable[[str], bool] = lambda name: True
    lower: frozenset[str] = frozenset()
    counts: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    """What is counted, by the `kind` of the claim: n and of."""

    def better(self, measure: str, a: str, b: str) -> bool:
        """Whether a's value is better than b's."""
        first, second = self.values[measure][a], self.values[measure][b]
        return first < second if measure in self.lower else first > second


def contradiction(claim: Claim, tables: Tables) -> str:
    """Why the tables say otherwise; empty where they agree."""
    return "" if HOLDS[claim.relation](claim, tables) else f"{claim} does not hold"


def _gaps(claim: Claim, tables: Tables) -> list[float]:
    """By how much the others are above the subject."""
    of = tables.values[claim.measure]
    return [of[other] - of[claim.subject] for other in claim.others]


def _counted(claim: Claim, tables: Tables) -> bool:
    if claim.kind in tables.counts:
        return (claim.n, claim.of) == tables.counts[claim.kind]
    return 0 <= claim.n <= claim.of


HOLDS: dict[str, Callable[[Claim, Tables], bool]] = {
    "first": lambda claim, tables: tables.ranks[claim.subject] == (1, 1),
    "may be first": lambda claim, tables: tables.ranks[claim.subject][0] == 1,
    "last": lambda claim, tables: tables.ranks[claim.subject] == (len(tables.ranks),) * 2,
    "beats": lambda claim, tables: all(
        tables.better(claim.measure, claim.subject, other) and tables.apart(claim.subject, other)
        for other in claim.others
    ),
    "higher": lambda claim, tables: all(
        tables.better(claim.measure, claim.subject, other) for other in claim.others
    ),
    "level": lambda claim, tables: (
        not any(tables.apart(claim.subject, other) for other in claim.others)
        and (not claim.of or len(claim.others) == claim.n <= claim.of)
    ),
    "most": lambda claim, tables: all(gap <= ROUNDING for gap in _gaps(claim, tables)),
    "least": lambda claim, tables: all(gap >= -ROUNDING for gap in _gaps(claim, tables)),
    "near least": lambda claim, tables: -claim.margin - ROUNDING <= min(_gaps(claim, tables)) < 0,
    "less": lambda claim, tables: all(gap > claim.margin for gap in _gaps(claim, tables)),
    "keeps": lambda claim, tables: tables.keeps(claim.subject),
    "misses": lambda claim, tables: not tables.keeps(claim.subject),
    "counts": _counted,
}


def walk(claims: list[Claim], tables: Tables) -> int:
    """How many claims were held against the tables; AssertionError for the first that does not hold."""
    for claim in claims:
        why = contradiction(claim, tables)
        assert not why, why
    return len(claims)
