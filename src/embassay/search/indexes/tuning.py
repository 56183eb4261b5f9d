"""How wide an approximate index must search: the spec's rule, on any metrics (rag 3.4)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite

from embassay.errors import UsageError

LADDER = (16, 32, 64, 128, 256, 512)
GAP = 0.02


@dataclass(frozen=True)
class Step:
    """A search width that was tried: each metric's value, and how far it is below flat's as a share of that (negative
    where it is above)."""

    ef: int
    values: Mapping[str, float]
    gaps: Mapping[str, float]

    @property
    def worst(self) -> float:
        """The largest gap."""
        return max(self.gaps.values())


@dataclass(frozen=True)
class Tuned:
    """The smallest width of the ladder whose metrics are all within `gap` of flat's, None if none is; what was tried,
    in order, ends with it."""

    ef: int | None
    gap: float
    flat: Mapping[str, float]
    steps: tuple[Step, ...]


def tuned(
    values_at: Callable[[int], Mapping[str, float]],
    flat: Mapping[str, float],
    *,
    ladder: Sequence[int] = LADDER,
    gap: float = GAP,
) -> Tuned:
    """Raise the search width until no metric is more than `gap` (a share, 0.01 to 0.02) below its value with flat.

    `values_at(ef)` measures the index at that width, `flat` has the same metrics of exact search; higher is better, as
    for RA-nWG@10 and @30. Wider searches are not tried once one is near enough. A metric that flat has at 0 has no gap
    unless it is below. UsageError for an empty or descending ladder, a negative gap, and metrics that are not the same
    or no numbers. Source: spec rag 3.4.

    >>> found = tuned(lambda ef: {"RA-nWG@10": 0.8 * (1 - 1 / ef)}, {"RA-nWG@10": 0.8}, gap=0.02)
    >>> found.ef, [round(step.worst, 2) for step in found.steps]
    (64, [0.06, 0.03, 0.02])
    """
    if not ladder or sorted(set(ladder)) != list(ladder) or ladder[0] < 1 or gap < 0 or not flat:
        raise UsageError(
            f"Cannot tune over the widths {list(ladder)} to a gap of {gap} in {len(flat)} metrics.",
            mend="Give ascending widths from 1, a gap from 0, and at least one metric.",
        )
    steps: list[Step] = []
    for ef in ladder:
        steps.append(_step(ef, values_at(ef), flat))
        if steps[-1].worst <= gap:
            return Tuned(ef, gap, flat, tuple(steps))
    return Tuned(None, gap, flat, tuple(steps))


def _step(ef: int, values: Mapping[str, float], flat: Mapping[str, float]) -> Step:
    if values.keys() != flat.keys():
        raise UsageError(
            f"At ef={ef} there are {', '.join(sorted(values)) or 'no metrics'}, with flat {', '.join(sorted(flat))}.",
            mend="Measure the same metrics.",
        )
    undefined = [name for name in flat if not (isfinite(values[name]) and isfinite(flat[name]))]
    if undefined:
        raise UsageError(
            f"{undefined[0]} is no number at ef={ef} or with flat.", mend="Leave it out of the rule."
        )
    return Step(ef, values, {name: _gap(value, flat[name]) for name, value in values.items()})


def _gap(value: float, reference: float) -> float:
    lost = reference - value
    if reference:
        return lost / abs(reference)
    return 0.0 if lost <= 0 else float("inf")
