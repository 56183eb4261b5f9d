"""The record of a decision: all that the terminal, the pages and the files say of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from embassay.protocols.kernel.tables import counted
from embassay.protocols.rag.decision.course import Course, Terms, open_comparisons
from embassay.protocols.rag.decision.population import Comparison
from embassay.runs.folder import read_record
from embassay.stats.few_labels import Outlook, outlook
from embassay.stats.sequences import interval

SCHEMA = 1
STEPS = (50, 100, 200, 400)
REACH = 2.8
"""Standard errors in half of an interval that holds at every look, about."""


@dataclass(frozen=True)
class Standing:
    """A comparison: run `a` minus run `b`, or minus the bar where `b` is empty, over all queries; its interval holds at
    every look. `sign` is 1 where `a` is surely higher, -1 lower, 0 open."""

    a: str
    b: str
    value: float
    low: float
    high: float
    sign: int
    better: str


@dataclass(frozen=True)
class Ahead:
    """What `more` labels would buy: half of the interval of the closest open comparison, the chance that it is decided,
    and what they cost, None where a label has no price."""

    more: int
    half: float
    chance: float
    usd: float | None


@dataclass(frozen=True)
class Decision:
    """Where a study stands. `used` labels stand behind it, `given` are there, `unasked` among them were not asked for,
    `waiting` are asked for now, and `needed` could be asked for at most. `why` says why it stopped, or what it waits
    for: `decided`, `certain`, `equal` or `open`."""

    measure: str
    runs: tuple[str, ...]
    queries: int
    bar: float | None
    alpha: float
    seed: int
    why: str
    best: str
    standings: tuple[Standing, ...]
    used: int
    given: int
    unasked: int
    waiting: int
    needed: int
    ahead: tuple[Ahead, ...]
    verdict: str
    lede: tuple[str, ...]
    schema: int = SCHEMA

    @property
    def is_open(self) -> bool:
        """Whether labels are still asked for."""
        return self.why == "open"

    def as_dict(self) -> dict[str, Any]:
        """The record as plain values."""
        return asdict(self)


def read_decision(path: Path) -> Decision:
    """The record in a `decision.json`; DataError if it holds none, or one of another schema."""
    return read_record(
        path,
        Decision,
        schema=SCHEMA,
        what="the decision",
        mend="Run `embassay rag score --until-decided` again.",
    )


def decision_of(course: Course, terms: Terms, price: float | None = None) -> Decision:
    """The record of a course."""
    population = course.population
    standings = tuple(
        _standing(course, place, comparison, terms.alpha)
        for place, comparison in enumerate(population.comparisons)
    )
    best = "" if course.decided.best is None else population.runs[course.decided.best]
    why = _why(course)
    ahead = _ahead(course, standings, price) if why == "open" else ()
    decision = Decision(
        population.asked.name, population.runs, len(population.queries), population.bar, terms.alpha, terms.seed,
        why, best, standings, course.used, course.given, course.unasked, len(course.waiting), course.needed, ahead,
        "", (),
    )  # fmt: skip
    return Decision(**{**vars(decision), "verdict": _verdict(decision), "lede": tuple(_lede(decision))})


def _why(course: Course) -> str:
    decided = course.decided
    if not decided.done:
        return "open"
    settled = decided.best is not None or (course.population.bar is not None and (decided.sign != 0).all())
    if not settled:
        return "equal"
    return "certain" if decided.certain else "decided"


def _standing(course: Course, place: int, comparison: Comparison, alpha: float) -> Standing:
    population = course.population
    offset = 0.0 if population.asked.linear is None or population.bar is None else population.bar
    low, high = (float(ends[:, place].sum()) for ends in (population.low, population.high))
    draws = course.draws.first(course.decided.since) if course.decided.done else course.draws
    found = interval(draws, place, low, high, alpha / len(population.comparisons))
    sign = int(course.decided.sign[place])
    a, b = population.runs[comparison.a], "" if comparison.b is None else population.runs[comparison.b]
    winner = a if (sign > 0) == population.asked.higher else b
    return Standing(
        a, b, found.estimate - offset, found.low - offset, found.high - offset, sign, winner if sign else ""
    )


def _ahead(course: Course, standings: Sequence[Standing], price: float | None) -> tuple[Ahead, ...]:
    """For the open comparison that is nearest to a decision."""
    left = [
        standing
        for standing, is_open in zip(
            standings, open_comparisons(course.population, course.decided), strict=True
        )
        if is_open
    ]
    if not left or not len(course.draws):
        return ()
    nearest = max(left, key=lambda one: abs(one.value) / max(one.high - one.low, 1e-12))
    half = (nearest.high - nearest.low) / 2
    rows = outlook(abs(nearest.value), half, course.used, course.needed, steps=STEPS, reach=REACH)
    return tuple(Ahead(row.more, row.half, row.chance, _usd(row, price)) for row in rows)


def _usd(one: Outlook, price: float | None) -> float | None:
    return None if price is None else one.more * price


def _verdict(decision: Decision) -> str:
    labels = f"after {counted(decision.used, 'label')} of {decision.needed:,}"
    if decision.why == "open":
        return f"Not decided {labels}"
    if decision.why == "equal":
        return f"No run is better: all that can matter is labelled, {counted(decision.used, 'label')}"
    if decision.bar is None:
        return f"{decision.best} is best by {decision.measure}, {labels}"
    met = [standing.a for standing in decision.standings if standing.better == standing.a]
    missed = [standing.a for standing in decision.standings if standing.better != standing.a]
    parts = [f"{', '.join(met)} met" if met else "", f"{', '.join(missed)} missed" if missed else ""]
    return f"{' and '.join(filter(None, parts))} the bar {decision.bar:g} of {decision.measure}, {labels}"


def _lede(decision: Decision) -> list[str]:
    sure = f"{1 - decision.alpha:.0%}"
    told = {
        "open": f"{counted(decision.waiting, 'passage')} can be graded now; a decision at any look is wrong in at most "
        f"{decision.alpha:.0%} of studies.",
        "decided": f"That is {sure} sure, whenever you stop. It is about these {counted(decision.queries, 'query')}.",
        "certain": "It is certain: no grade that is missing could change it.",
        "equal": "Every grade that could matter is there.",
    }
    lines = [told[decision.why]]
    if decision.unasked:
        said = f"{counted(decision.unasked, 'label')} {'is' if decision.unasked == 1 else 'are'}"
        lines.append(
            f"{said} set aside, not drawn or drawn after the decision: only drawn labels are unbiased."
        )
    return lines


def value_text(one: Standing) -> str:
    """A difference with its interval.

    >>> value_text(Standing("a", "b", 0.031, 0.002, 0.06, 1, "a"))
    '+0.031 (+0.002 to +0.060)'
    """
    return f"{one.value:+.3f} ({one.low:+.3f} to {one.high:+.3f})" if np.isfinite(one.value) else "–"
