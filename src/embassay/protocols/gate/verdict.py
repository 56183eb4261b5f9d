"""What became of a bar."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Verdict:
    """A bar, the value that was held against it with its interval, and whether it was met.

    `near` says that the bar lies inside the interval: another sample could have said otherwise. `reason` is filled
    where it was missed.
    """

    bar: str
    met: bool
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
