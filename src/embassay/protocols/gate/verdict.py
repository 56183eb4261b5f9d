"""What became of a bar."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from embassay.protocols.numbers import counted


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
