"""The finding of a scoring in one line and a few sentences, filled from its record.

Verbs have one meaning each: *beats* (adjusted p under 0.05), *cannot be told apart from* (otherwise), *may be first*
(the ranks that the tests allow include 1).
"""

from __future__ import annotations

from embassay.protocols import numbers
from embassay.protocols.rag.scoring.record import Comparison, Score, Value
from embassay.protocols.rag.scoring.words import listed


def verdict(score: Score) -> str:
    """The heading: who may be first by the headline measure."""
    comparison = score.comparison(score.headline)
    on = f"on {score.headline}"
    known = [
        one
        for one in (score.value(run.name, score.headline) for run in score.runs)
        if one and one.value is not None
    ]
    if not known:
        return f"{score.headline} is undefined on these judgements"
    if len(score.runs) == 1:
        return f"{known[0].run} scores {numbers.score(known[0].value or 0.0)} {on}"
    if comparison is None or not comparison.pairs:
        return f"No ranking {on}: differences cannot be tested"
    first = _first(comparison)
    if len(first) > 1:
        if len(first) == len(comparison.runs):
            everyone = "both" if len(first) == 2 else f"all {numbers.in_words(len(first))}"
            return f"No run stands out {on}: {everyone} may be first"
        return f"{numbers.in_words(len(first)).capitalize()} runs may be first {on}"
    alone = comparison.rank_high[comparison.runs.index(first[0])] == 1
    return f"{first[0]} beats every other run {on}" if alone else f"Only {first[0]} may be first {on}"


def lede(score: Score) -> tuple[str, ...]:
    """The sentences under it: the gap between the two best, and what the ceilings say of the best."""
    best = _best(score)
    if best is None or best.value is None:
        value = next((one for one in score.values if one.measure == score.headline), None)
        return (f"{value.reason[:1].upper()}{value.reason[1:]}.",) if value and value.reason else ()
    sentences = [_gap(score) if len(score.runs) > 1 else _alone(best)]
    measure = next(one for one in score.measures if one.name == score.headline)
    cutoff = measure.cutoff if any(one.cutoff == measure.cutoff for one in score.readings) else None
    for reading in score.readings:
        if reading.run == best.run and cutoff in (None, reading.cutoff):
            sentences.append(reading.text)
            break
    return tuple(sentence for sentence in sentences if sentence)


def _best(score: Score) -> Value | None:
    comparison = score.comparison(score.headline)
    name = comparison.runs[0] if comparison is not None and comparison.runs else score.runs[0].name
    return score.value(name, score.headline)


def _alone(best: Value) -> str:
    if best.low is None or best.high is None:
        return f"Over {best.n:,} of {best.total:,} queries; no interval. Add a second run to compare."
    interval = numbers.interval(best.low, best.high)
    return f"The 95% interval is {interval}, over {best.n:,} of {best.total:,} queries. Add a second run to compare."


def _gap(score: Score) -> str:
    """The difference between the two best, with what the test says of it."""
    comparison = score.comparison(score.headline)
    if comparison is None or not comparison.pairs:
        return (
            f"{comparison.reason[:1].upper()}{comparison.reason[1:]}."
            if comparison and comparison.reason
            else ""
        )
    pair = comparison.pairs[0]
    a, b = (score.value(name, score.headline) for name in (pair.a, pair.b))
    if a is None or b is None or a.value is None or b.value is None:
        return ""
    ends = (pair.low, pair.high) if pair.difference >= 0 else (-pair.high, -pair.low)
    gap = f"{numbers.score(abs(pair.difference))} (95% interval {numbers.interval(*ends)})"
    values = f"{pair.a} {numbers.score(a.value)}", f"{pair.b} {numbers.score(b.value)}"
    if pair.better:
        others = [name for name in _first(comparison) if name != pair.a]
        more = f" {listed(others)} may also be first." if others else ""
        return f"{values[0]} beats {values[1]}, the next, by {gap}.{more}"
    others = [name for name in _first(comparison) if name not in (pair.a, pair.b)]
    more = f" {listed(others)} may also be first." if others else ""
    return f"{values[0]} and {values[1]} differ by {gap} and cannot be told apart.{more}"


def _first(comparison: Comparison) -> list[str]:
    return [run for run, low in zip(comparison.runs, comparison.rank_low, strict=True) if low == 1]
