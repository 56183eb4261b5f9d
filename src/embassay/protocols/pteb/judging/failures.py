"""Items that no rating came for: counted by reason, and over 5% of them no score."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from embassay.protocols.lost import MOST_LOST
from embassay.records import Skipped

_EXAMPLES = 5


def by_reason(what: str, ids: Sequence[str], reasons: Iterable[str]) -> tuple[Skipped, ...]:
    """The items (n,) that have a reason why they are lost, an empty one being none, grouped by it; reasons that differ
    only in numbers count as one. `what` names them: `pairs without a rating`.

    >>> by_reason("pairs without a rating", ["p1", "p2"], ["", "down (3 attempts)."])
    (Skipped(reason='pairs without a rating: down (3 attempts)', count=1, examples=('p2',)),)
    """
    groups: dict[str, list[tuple[str, str]]] = {}
    for key, reason in zip(ids, reasons, strict=True):
        if reason:
            groups.setdefault(re.sub(r"\d+", "0", reason), []).append((key, reason.rstrip(".")))
    return tuple(
        Skipped(f"{what}: {found[0][1]}", len(found), tuple(key for key, _ in found[:_EXAMPLES]))
        for found in groups.values()
    )


def too_many(what: str, n: int, lost: Sequence[Skipped]) -> str:
    """Why there can be no score of `n` items of which so many are lost; empty where few enough are."""
    count = sum(one.count for one in lost)
    if count <= MOST_LOST * n:
        return ""
    reason = max(lost, key=lambda one: one.count).reason.partition(": ")[2]
    return f"{count} of {n} {what}, mostly: {reason} (over {MOST_LOST:.0%}, so no score)"
