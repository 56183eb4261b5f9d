"""A task's outcome from its one number."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from embassay.protocols.estimates import Estimate, Items, undefined
from embassay.records import Component, Score, Skipped, TaskOutcome


def outcome(
    headline: str,
    found: Estimate | str,
    items: Items,
    *,
    n: int,
    scores: Iterable[Score] = (),
    skipped: Iterable[Skipped] = (),
    warnings: Iterable[str] = (),
    counts: Mapping[str, int],
) -> TaskOutcome:
    """The outcome whose headline is `found`, or has no value for the reason that `found` is. `n` counts the items."""
    left_out, noted = _summed(skipped), tuple(warnings)
    if isinstance(found, str):
        row = undefined(headline, n, found)
        component = Component(None, n, reason=found)
    else:
        row = replace(found.score(headline), n=n)
        units = found.n if found.units is None else found.units
        component = replace(found.component(), n=n, units=None if units == n else units)
    return TaskOutcome((row, *scores), {headline: component}, items.columns, left_out, noted, counts)


def _summed(skipped: Iterable[Skipped]) -> tuple[Skipped, ...]:
    """One entry per reason."""
    by_reason: dict[str, Skipped] = {}
    for one in skipped:
        before = by_reason.get(one.reason, Skipped(one.reason, 0))
        examples = (*before.examples, *one.examples)[:5]
        by_reason[one.reason] = Skipped(one.reason, before.count + one.count, examples)
    return tuple(by_reason.values())
