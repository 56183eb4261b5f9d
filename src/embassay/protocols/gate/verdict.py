"""What became of the bars: each held against the rows of a run, and the verdict over all."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from embassay.protocols.gate.bars import Bar
from embassay.protocols.gate.rows import Rows
from embassay.protocols.kernel.tables import counted
from embassay.records import Result


@dataclass(frozen=True)
class Verdict:
    """A bar, the value that was held against it with its interval, and whether it was met: None where there was no
    value, or no interval, to hold against it.

    `near` says that the bar lies inside the interval: another sample could have said otherwise. `reason` is filled
    where it was missed or not tested.
    """

    bar: str
    met: bool | None
    value: float | None
    low: float | None = None
    high: float | None = None
    n: int = 0
    near: bool = False
    reason: str = ""
    scale: str = ""
    """The protocol, by which numbers are printed."""
    is_change: bool = False
    """Whether the value is a difference to another run."""
    unpaired: str = ""
    """Why its test could not pair the items of the two runs, and sees less; empty where it did."""
    stops: bool = False
    """Whether the gate stops for it: missed; or not tested where it had to be, for a bar of its own, for a score that
    is gone, and for a fall that no interval can be held against."""


def summary(verdicts: Sequence[Verdict]) -> str:
    """How it went; what was not tested counts for neither side.

    >>> one = [Verdict("a", met, None) for met in (True, True, None)]
    >>> summary(one), summary(one[:2]), summary(one[2:])
    ('2 of 3 bars are met; 1 is not tested', 'All 2 bars are met', 'No bar is tested')
    """
    every, met = len(verdicts), sum(one.met is True for one in verdicts)
    missed, untested = (sum(one.met is state for one in verdicts) for state in (False, None))
    if untested == every:
        return "No bar is tested"
    rest = f"; {untested} {'is' if untested == 1 else 'are'} not tested" if untested else ""
    if missed:
        return f"{missed} of {counted(every, 'bar')} missed{rest}"
    if rest:
        return f"{met} of {counted(every, 'bar')} {'is' if met == 1 else 'are'} met{rest}"
    return "The bar is met" if every == 1 else f"All {counted(every, 'bar')} are met"


def judged_bars(bars: Sequence[Bar], rows: Rows) -> Iterator[Verdict]:
    """The verdict on every bar. Without a value, or the interval that it asks for, a bar is not tested, and the gate
    stops: what was asked for is not shown. UsageError for a bar that means no row."""
    for bar in bars:
        yield _judged(bar, rows.find(bar))


def _judged(bar: Bar, row: Result) -> Verdict:
    verdict = Verdict(
        bar.text, None, row.value, row.ci_low, row.ci_high, row.n, scale=bar.protocol, stops=True
    )
    held = {"value": row.value, "lower": row.ci_low, "upper": row.ci_high}[bar.end]
    if held is None:
        why = row.reason or "no value"
        return replace(verdict, reason=why if row.value is None else "the score has no interval")
    low, high = row.ci_low, row.ci_high
    near = low is not None and high is not None and low <= bar.number <= high
    if bar.met(held):
        return replace(verdict, met=True, near=near, stops=False)
    return replace(
        verdict, met=False, near=near, reason=f"{bar.end} {held:.4g} is not {bar.sign} {bar.number:g}"
    )
