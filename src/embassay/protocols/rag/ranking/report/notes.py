"""What a reader of a ranking should know of its judge, in sentences."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite

from embassay.protocols.rag.ranking.report.consistency import Consistency, consistency
from embassay.protocols.rag.ranking.report.exposure import Exposure, exposure
from embassay.protocols.rag.ranking.report.judged import Judged
from embassay.protocols.rag.ranking.report.places import Places, place_gains


def judge_notes(queries: Sequence[Judged], *, seed: int = 0) -> tuple[str, ...]:
    """A sentence each on favour for a place, circles of three and how often passages were shown; none of these where
    nothing was judged."""
    if not any(query.calls for query in queries):
        return ()
    found = (
        _favour(place_gains(queries, seed=seed)),
        _circles(consistency(queries, seed=seed)),
        _shown(exposure(queries)),
    )
    return tuple(note for note in found if note)


def _favour(places: Places | None) -> str:
    if places is None or not isfinite(places.lift.low):
        return ""
    lift, low, high = places.lift.estimate, places.lift.low, places.lift.high
    if low <= 0 <= high:
        said = "No favour of the judge for the place at which a passage is shown can be seen"
    else:
        said = f"The judge favours what is shown {'first' if lift > 0 else 'last'}"
    return f"{said}: the first place gains {lift:+.2f} places of the answer over the last [{low:+.2f}, {high:+.2f}]."


def _circles(found: Consistency) -> str:
    if not found.circles:
        return ""
    return (
        f"In {found.circles:,} of {found.triads:,} threes of passages the answers go round in a circle "
        f"({found.circles / found.triads:.1%})."
    )


def _shown(shown: Exposure | None) -> str:
    if shown is None:
        return ""
    never = f"; {shown.never:,} were never shown and stand by their grade" if shown.never else ""
    return f"A passage was shown {shown.least} to {shown.most} times, {shown.median:g} at the median{never}."
