"""Whether more of a measure is better."""

from __future__ import annotations

LOWER = frozenset({"drop"})
"""Headlines that no registry lists: what noise costs."""


def higher_is_better(measure: str) -> bool:
    """True unless the measure is known to be better when lower, as `Harm@10`.

    >>> higher_is_better("overall"), higher_is_better("Harm@10"), higher_is_better("drop")
    (True, False, False)
    """
    from embassay.errors import UsageError
    from embassay.measures import MEASURES

    if measure in LOWER:
        return False
    try:
        facts = MEASURES.get(MEASURES.parse(measure).name).facts
    except UsageError:
        return True
    return dict(facts).get("direction") != "lower"
