"""The scale of a chart column: limits and steps chosen from the data, as round numbers."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

PADDING = 0.08


@dataclass(frozen=True)
class Scale:
    """A linear scale from `low` to `high`, both multiples of `step`; labels are values times `factor`."""

    low: float
    high: float
    step: float
    factor: float = 1.0

    @property
    def ticks(self) -> tuple[float, ...]:
        """The round values from low to high, both included."""
        steps = round((self.high - self.low) / self.step)
        return tuple(self.low + i * self.step for i in range(steps + 1))

    def at(self, value: float) -> float:
        """Where a value lies, in percent of the width; outside values stop at the edge."""
        return min(100.0, max(0.0, 100 * (value - self.low) / (self.high - self.low)))

    def label(self, value: float) -> str:
        """A tick's label with as many decimals as the step needs."""
        decimals = max(0, -math.floor(math.log10(self.step * self.factor) + 1e-9))
        text = f"{value * self.factor:.{decimals}f}"
        text = f"{float(text):.{decimals}f}" if float(text) else "0"
        return (
            text.replace("-", "−").removesuffix("." + "0" * decimals) if decimals else text.replace("-", "−")
        )


SHARES = Scale(0.0, 1.0, 0.5, 100.0)
"""Of shares, in percent."""


def scale_of(
    values: Iterable[float],
    *,
    most: int = 4,
    within: tuple[float, float] | None = (0.0, 1.0),
    factor: float = 1.0,
) -> Scale:
    """The scale of pooled values (ends of intervals included): 8% padding, a step of 1, 2 or 5, at most
    `most` steps.

    Padding never crosses the ends of `within` (the range of the measure) that the data do not cross.
    Without values the scale is 0 to 1.
    """
    pool = list(values)
    if not pool:
        return Scale(0.0, 1.0, 0.5, factor)
    low, high = min(pool), max(pool)
    # Values that differ in their last bits alone are one value: a step of that size would end where it began.
    apart = high - low > 1e-9 * max(abs(low), abs(high))
    pad = PADDING * (high - low) if apart else 0.02
    start, end = low - pad, high + pad
    if within is not None:
        start = max(start, within[0]) if low >= within[0] else start
        end = min(end, within[1]) if high <= within[1] else end
    step = _step((end - start) / most)
    first = math.floor(start / step + 1e-9) * step
    last = math.ceil(end / step - 1e-9) * step
    return Scale(first, last if last > first else first + step, step, factor)


def _step(least: float) -> float:
    """The smallest of 1, 2, 5 times a power of ten that is not under `least`."""
    power = 10.0 ** math.floor(math.log10(least))
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= least * (1 - 1e-9))
