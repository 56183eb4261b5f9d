"""Holds claims against tables: every relation that a page states has to be what the values say."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from embassay.protocols.kernel.claims import Claim

ROUNDING = 1e-9
ALPHA = 0.05
Ends = tuple[float | None, float | None]


@dataclass(frozen=True)
class Tested:
    """One row of a table of pairs: a minus b with its interval, and p among all pairs."""

    a: str
    b: str
    difference: float
    low: float
    high: float
    p: float


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
    pairs: Mapping[str, Sequence[Tested]] = field(default_factory=dict)
    """The tests of all pairs of those that are ranked, by measure."""
    floors: Mapping[str, float] = field(default_factory=dict)
    """What the best reference, which knows nothing, scores."""
    intervals: Mapping[str, Mapping[str, Ends]] = field(default_factory=dict)
    closed: frozenset[str] = frozenset()
    """Measures whose highest and lowest are those of all names, and not of the others of the claim alone."""
    own: Mapping[str, Callable[[Claim], bool]] = field(default_factory=dict)
    """Checks of what only one protocol states, by the `kind` or the `measure` of the claim."""

    def better(self, measure: str, a: str, b: str) -> bool:
        """Whether a's value is better than b's."""
        first, second = self.values[measure][a], self.values[measure][b]
        return first < second if measure in self.lower else first > second

    def test(self, measure: str, a: str, b: str) -> Tested | None:
        """The test of two, whichever way round it stands."""
        for row in self.pairs.get(measure, ()):
            if (row.a, row.b) == (a, b):
                return row
            if (row.b, row.a) == (a, b):
                return Tested(a, b, -row.difference, -row.high, -row.low, row.p)
        return None

    def tells_apart(self, measure: str, a: str, b: str) -> bool:
        """Whether a test does."""
        if measure not in self.pairs:
            return self.apart(a, b)
        found = self.test(measure, a, b)
        return found is not None and found.p < ALPHA

    def place(self, measure: str, name: str) -> tuple[int, int]:
        """The ranks that the pairs leave it: who beats it, and whom it beats, counted anew."""
        if measure not in self.pairs:
            return self.ranks[name]
        names = self.ranked(measure)
        others = [other for other in names if other != name and self.tells_apart(measure, name, other)]
        above = sum(self.better(measure, other, name) for other in others)
        below = sum(self.better(measure, name, other) for other in others)
        return 1 + above, len(names) - below

    def ranked(self, measure: str) -> set[str]:
        """Who is ranked by a measure."""
        return {end for row in self.pairs.get(measure, ()) for end in (row.a, row.b)} or set(self.ranks)

    def first(self, measure: str) -> set[str]:
        """Who may be first: those that no test rules out, above every reference where one of them is."""
        names = self.ranked(measure)
        able = {name for name in names if self.place(measure, name)[0] == 1}
        floor = self.floors.get(measure)
        above = {name for name in able if floor is None or self.values[measure][name] > floor}
        return above or able


def contradiction(claim: Claim, tables: Tables) -> str:
    """Why the tables say otherwise; empty where they agree."""
    check = tables.own.get(claim.kind) or tables.own.get(claim.measure)
    holds = check(claim) if check else HOLDS[claim.relation](claim, tables)
    return "" if holds and _states_its_interval(claim) else f"{claim} does not hold"


def _states_its_interval(claim: Claim) -> bool:
    """An interval holds its value."""
    if claim.low is None or claim.high is None or claim.value is None:
        return True
    return claim.low - ROUNDING <= claim.value <= claim.high + ROUNDING


def _gaps(claim: Claim, tables: Tables) -> list[float]:
    """By how much the others are above the subject."""
    of = tables.values[claim.measure]
    others = [name for name in of if name != claim.subject] if claim.measure in tables.closed else claim.others
    return [of[other] - of[claim.subject] for other in others]


def _counted(claim: Claim, tables: Tables) -> bool:
    if claim.kind in tables.counts:
        return (claim.n, claim.of) == tables.counts[claim.kind]
    return 0 <= claim.n <= claim.of


def _may_be_first(claim: Claim, tables: Tables) -> bool:
    first = tables.first(claim.measure)
    if not claim.n:
        return claim.subject in first
    ranked = tables.ranked(claim.measure)
    whole = claim.n == len(first) and claim.of == len(ranked) and {claim.subject, *claim.others} == ranked
    able = {name for name in ranked if tables.place(claim.measure, name)[0] == 1}
    return claim.subject in first and whole and claim.below == len(able) - len(first)


def _beats(claim: Claim, tables: Tables) -> bool:
    better = all(
        tables.better(claim.measure, claim.subject, other) and tables.tells_apart(claim.measure, claim.subject, other)
        for other in claim.others
    )
    excludes = claim.low is None or claim.high is None or not claim.low <= 0 <= claim.high
    return better and excludes and _states_the_test(claim, tables)


def _states_the_test(claim: Claim, tables: Tables) -> bool:
    """The distance and its interval are those of the table."""
    found = tables.test(claim.measure, claim.subject, claim.others[0])
    if claim.low is None or claim.high is None or found is None:
        return True
    stated = (claim.value or 0.0, claim.low, claim.high)
    known = (found.difference, found.low, found.high)
    return all(abs(a - b) <= ROUNDING for a, b in zip(stated, known, strict=True))


def _is(claim: Claim, tables: Tables) -> bool:
    value = tables.values[claim.measure][claim.subject]
    ends = tables.intervals.get(claim.measure, {}).get(claim.subject, (claim.low, claim.high))
    return (claim.value is None or abs(value - claim.value) <= ROUNDING) and ends == (claim.low, claim.high)


def _changes(claim: Claim, tables: Tables) -> bool:
    """Whether the interval of the change lies below 0, above it, or neither; the amount is that of the table."""
    low, high = tables.intervals[claim.measure][claim.subject]
    known = low is not None and high is not None
    sure = "falls" if known and high < 0 else "rises" if known and low > 0 else "open"  # type: ignore[operator]
    return claim.relation == sure and _is(claim, tables)


HOLDS: dict[str, Callable[[Claim, Tables], bool]] = {
    "first": lambda claim, tables: (
        tables.place(claim.measure, claim.subject) == (1, 1) and _may_be_first(claim, tables)
    ),
    "may be first": _may_be_first,
    "last": lambda claim, tables: (
        tables.place(claim.measure, claim.subject) == (len(tables.ranked(claim.measure)),) * 2
    ),
    "beats": _beats,
    "higher": lambda claim, tables: all(tables.better(claim.measure, claim.subject, other) for other in claim.others),
    "level": lambda claim, tables: (
        not any(tables.tells_apart(claim.measure, claim.subject, other) for other in claim.others)
        and (not claim.of or len(claim.others) == claim.n <= claim.of)
        and (claim.low is None or _states_the_test(claim, tables))
    ),
    "untested": lambda claim, tables: (
        (claim.high or 0.0) - (claim.low or 0.0) <= ROUNDING
        and _states_the_test(claim, tables)
        and not tables.tells_apart(claim.measure, claim.subject, claim.others[0])
    ),
    "most": lambda claim, tables: (
        all(gap <= ROUNDING for gap in _gaps(claim, tables)) and (claim.value is None or _is(claim, tables))
    ),
    "least": lambda claim, tables: (
        all(gap >= -ROUNDING for gap in _gaps(claim, tables)) and (claim.value is None or _is(claim, tables))
    ),
    "near least": lambda claim, tables: -claim.margin - ROUNDING <= min(_gaps(claim, tables)) < 0,
    "less": lambda claim, tables: all(gap > claim.margin for gap in _gaps(claim, tables)),
    "keeps": lambda claim, tables: tables.keeps(claim.subject),
    "misses": lambda claim, tables: not tables.keeps(claim.subject),
    "falls": _changes,
    "rises": _changes,
    "open": _changes,
    "is": _is,
    "counts": _counted,
}


def walk(claims: Sequence[Claim], tables: Tables) -> int:
    """How many claims were held against the tables; AssertionError for the first that does not hold."""
    for claim in claims:
        why = contradiction(claim, tables)
        assert not why, why
    return len(claims)


SAID = {
    r"\bbeats every other\b": ("first",),
    r"\bbeats?\b": ("first", "beats"),
    r"\bmay (also )?be (the one|first)": ("may be first", "first", "beats"),
    r"\bcannot be told apart\b": ("level",),
    r"\bin every resample\b": ("untested", "beats"),
    r"\b(highest|largest|fastest|likeliest)\b": ("most", "least", "is"),
    r"\b(least|smallest)\b": ("least", "keeps", "misses"),
}
"""Words of a sentence, and the relations of which a claim has to be behind them."""


def unclaimed(text: str, claims: Sequence[Claim]) -> list[str]:
    """What a verdict states without a claim: relations in its words, and counts `n of m`."""
    relations = {claim.relation for claim in claims}
    found = [words for words, needed in SAID.items() if re.search(words, text) and not relations & {*needed}]
    counted = {(claim.n, claim.of) for claim in claims}
    for n, of in re.findall(r"(?<![\d.])([\d,]+) of (?:the )?([\d,]+)(?![\d.,]*\d)", text):
        if (int(n.replace(",", "")), int(of.replace(",", ""))) not in counted:
            found.append(f"{n} of {of}")
    return found
