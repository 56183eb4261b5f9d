"""How a line of advice is judged: differences of stacks that are alike in all else, and what their intervals say."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from embassay.protocols import numbers
from embassay.protocols.rag.golden.summary import Figure
from embassay.protocols.rag.sweep.configuration import NONE
from embassay.protocols.rag.sweep.findings.effects import mean_difference
from embassay.protocols.rag.sweep.findings.families import Pairs, at_cutoff
from embassay.protocols.rag.sweep.findings.ground import Ground, figure
from embassay.protocols.rag.sweep.findings.record import Advice
from embassay.protocols.rag.sweep.findings.words import ms

MEANING = {"holds": "It holds.", "does not hold": "It does not hold.", "open": "These queries do not tell."}


def status(value: Figure, least: float = 0.0) -> str:
    """Whether a difference lies over `least` with its whole interval, under it, or on both sides.

    >>> status(Figure(0.05, 0.01, 0.09)), status(Figure(-0.05, -0.09, -0.01)), status(Figure(0.01, -0.02, 0.04))
    ('holds', 'does not hold', 'open')
    """
    if value.low is None or value.high is None:
        return "open"
    return "holds" if value.low > least else "does not hold" if value.high <= least else "open"


def opposite(found: str) -> str:
    """The status of a line that says the opposite."""
    return {"holds": "does not hold", "does not hold": "holds"}.get(found, found)


def untested(line: str, needs: str) -> Advice:
    """A line that the sweep says nothing of, and what it needs."""
    return Advice(line, "not tested", f"Not tested on this data: {needs}.")


def judged(line: str, found: str, text: str, *evidence: Figure) -> Advice:
    """A line with its status, told by its figures."""
    return Advice(line, found, f"{text} {MEANING[found]}", evidence)


def difference_of(ground: Ground, measure: str, pairs: Pairs, *, ceiling: bool = False) -> Figure:
    """The mean paired difference of a measure over pairs of stacks."""
    columns = ground.columns(measure, ceiling=ceiling)
    return ground.figures({name: mean_difference(one, pairs)[:, None] for name, one in columns.items()})[0]


def measure_at(ground: Ground, k: int) -> str | None:
    """The measure that decides at another cutoff; None where it was not measured."""
    return at_cutoff(ground.measures, ground.rules.measure, k)


def relative_change(ground: Ground, measure: str, pairs: Pairs) -> Figure:
    """The difference as a share of the mean of the second stacks."""
    second = np.array([j for _, j in pairs])
    before = float(np.nanmean(ground.quality(measure)[second]))
    value = difference_of(ground, measure, pairs)
    if value.value is None or before <= 0:
        return Figure(None, n=value.n, reason="nothing to lose")
    low, high = (None if end is None else end / before for end in (value.low, value.high))
    return Figure(value.value / before, low, high, value.n)


def all_of(found: Iterable[str]) -> str:
    """Of a line with several claims: it holds where all do, does not where one does not."""
    states = set(found)
    return "does not hold" if "does not hold" in states else "open" if "open" in states else "holds"


def strong_reranker(ground: Ground) -> str | None:
    """The reranker that costs most, of several; the only one otherwise."""
    costs: dict[str, float] = {}
    for i, one in enumerate(ground.configurations):
        if one.reranker != NONE:
            costs[one.reranker] = max(costs.get(one.reranker, 0.0), float(ground.cost[i]) / max(one.k, 1))
    return max(costs, key=lambda name: costs[name]) if costs else None


def reached_difference(ground: Ground, measure: str, pairs: Pairs) -> Figure:
    """The mean difference of %PROC over pairs of stacks."""
    first, second = np.array(pairs).T
    above, below = ground.columns(measure), ground.columns(measure, ceiling=True)
    with np.errstate(invalid="ignore", divide="ignore"):
        values = ground.values(above) / ground.values(below)
        replicates = ground.replicates(above) / ground.replicates(below)
    n = sum(int((~np.isnan(one[:, 0])).sum()) for one in above.values())
    return figure(
        float((values[first] - values[second]).mean()),
        (replicates[:, first] - replicates[:, second]).mean(axis=1), n,
    )  # fmt: skip


def has_ceiling(ground: Ground, measure: str) -> bool:
    """Whether PROC of the measure is known for every stack."""
    return all(measure in one.ceiling for rows in ground.rows.values() for one in rows)


def points(value: float) -> str:
    """A difference of percentages."""
    return f"{numbers.change(100 * value, 1)} points"


def signed_percent(value: Figure) -> str:
    """A relative change with its interval."""
    if value.value is None:
        return "n/a"
    ends = (
        "" if value.low is None or value.high is None else f" ({_signed(value.low)} to {_signed(value.high)})"
    )
    return f"{_signed(value.value)}{ends}"


def _signed(value: float) -> str:
    """A share in percent with its sign; what rounds to zero has none."""
    return f"{numbers.change(100 * value, 1)}%"


def ms_change(value: Figure) -> str:
    """A difference of times with its sign."""
    size = value.value or 0.0
    return f"{numbers.MINUS if size < 0 else '+'}{ms(abs(size))}"
