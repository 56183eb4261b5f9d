"""What is known of a system apart from its scores: for cards, and for plots of score against price."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from embassay.web.leaderboard.contract import Facts
from embassay.web.leaderboard.discretion import without_paths
from embassay.web.leaderboard.joining import Entrant


def facts_of(entrant: Entrant) -> Facts:
    """The facts of a system, from the manifest and the cells of its run; of a sweep's stack from its measurements."""
    told = entrant.described.get("facts") or {}
    stack = entrant.run.stacks.get(entrant.name, {})
    seconds = sum(one.seconds or 0.0 for one in entrant.work if one.status == "done")
    texts = sum(one.texts for one in entrant.work if one.status == "done")
    return Facts(
        _whole(told.get("dims") or told.get("dim") or (stack.get("axes") or {}).get("dims")),
        _whole(told.get("max_tokens")),
        _whole(told.get("parameters")),
        _number(told.get("usd_per_million_tokens")),
        _number(stack.get("cost")),
        _milliseconds(stack),
        round(seconds, 3) or None,
        round(texts / seconds, 1) if texts and seconds else None,
        without_paths(str(told.get("licence") or "")),
        without_paths(str(told.get("summary") or "")),
    )


def _milliseconds(stack: Mapping[str, Any]) -> float | None:
    """The 95th percentile of a stack's whole answer."""
    total = [one for one in stack.get("times") or () if one.get("stage") == "total"]
    return _number(total[0].get("p95")) if total else None


def _whole(value: Any) -> int | None:
    number = _number(value)
    return None if number is None else round(number)


def _number(value: Any) -> float | None:
    """A number that may be written as text; None for what is none."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    return number if math.isfinite(number) and not isinstance(value, bool) else None
