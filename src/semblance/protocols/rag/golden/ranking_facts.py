"""What a golden set's report says of the ranking, from what came of every query."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from math import isfinite

from semblance.protocols.rag.golden.refinement import Refined
from semblance.protocols.rag.golden.summary import Contradictions, Figure, PlaceBias, RankingFacts
from semblance.protocols.rag.ranking import Call, Engine
from semblance.protocols.rag.ranking.report import (
    Consistency,
    Judged,
    Places,
    consistency,
    exposure,
    judge_noise,
    place_gains,
)
from semblance.stats import Estimate


def judged(refined: Refined) -> Judged:
    """The answers about a query's pool, as positions."""
    places = {name: position for position, name in enumerate(refined.pool.ids)}
    return Judged(
        refined.pool.candidates,
        tuple(
            Call(tuple(places[one] for one in call.shown), tuple(places[one] for one in call.order))
            for call in refined.calls
        ),
    )


def ranking_facts(engine: Engine, queries: Sequence[Refined], *, seed: int) -> RankingFacts:
    """Calls, why the engine stopped, what it claims, and what the answers say of the judge."""
    answers = [judged(one) for one in queries]
    calls = sum(len(one.calls) for one in queries)
    # Where all queries show their passages in an order that says something, its effect is not the place's.
    places = place_gains(answers, seed=seed) if getattr(engine, "shuffled", True) else None
    return RankingFacts(
        engine.name,
        calls=calls,
        calls_per_query=calls / len(queries) if queries else None,
        stopped=dict(Counter(one.ranking.stopped for one in queries).most_common()),
        claims=_claims([one.ranking.claims for one in queries]),
        contradictions=_contradictions(consistency(answers, seed=seed), judge_noise(answers, seed=seed)),
        place_bias=_place_bias(places),
        notes=_notes(answers, queries, places),
    )


def _claims(claims: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Means over the queries of which something is claimed."""
    names = dict.fromkeys(name for one in claims for name in one)
    by_name = {name: [one[name] for one in claims if name in one] for name in names}
    return {name: sum(values) / len(values) for name, values in by_name.items()}


def _contradictions(found: Consistency, noise: Estimate | None) -> Contradictions | None:
    if found.share is None:
        return None
    return Contradictions(
        found.pairs, found.contradicted, figure(found.share), None if noise is None else figure(noise)
    )


def _place_bias(places: Places | None) -> tuple[PlaceBias, ...]:
    if places is None:
        return ()
    return tuple(PlaceBias(place, figure(gain)) for place, gain in enumerate(places.gains, start=1))


def _notes(answers: Sequence[Judged], queries: Sequence[Refined], places: Places | None) -> tuple[str, ...]:
    notes = []
    if places is not None and isfinite(places.lift.low):
        low, high, lift = places.lift.low, places.lift.high, places.lift.estimate
        sure = low > 0 or high < 0
        what = "The judge favours" if sure else "No favour of the judge is seen for"
        notes.append(
            f"{what} {'what is shown ' + ('first' if lift > 0 else 'last') if sure else 'a place'}: the first place "
            f"gains {lift:+.2f} places over the last [{low:+.2f}, {high:+.2f}]."
        )
    shown = exposure(answers)
    if shown is not None and any(one.calls for one in queries):
        never = f", {shown.never:,} never" if shown.never else ""
        notes.append(
            f"A passage was shown {shown.least} to {shown.most} times, median {shown.median:g}{never}."
        )
    repaired = [call for one in queries for call in one.calls if call.missing or call.unknown]
    if repaired:
        missing, unknown = sum(one.missing for one in repaired), sum(one.unknown for one in repaired)
        notes.append(
            f"{len(repaired)} answers were repaired: {missing} passages were left out and follow by grade, {unknown} "
            "labels stood for nothing."
        )
    return tuple(notes)


def figure(estimate: Estimate) -> Figure:
    """An estimate as the record has it: no interval is None."""
    known = isfinite(estimate.low) and isfinite(estimate.high)
    return Figure(
        estimate.estimate, estimate.low if known else None, estimate.high if known else None, estimate.n,
        "" if known else estimate.method,
    )  # fmt: skip
