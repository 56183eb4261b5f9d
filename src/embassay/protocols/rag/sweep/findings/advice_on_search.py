"""The source's advice on indexes, dimensions and depth, judged on this sweep (spec rag 9)."""

from __future__ import annotations

from collections.abc import Callable

from embassay.protocols.rag.golden.summary import Figure
from embassay.protocols.rag.sweep.configuration import NONE
from embassay.protocols.rag.sweep.findings.effects import milliseconds
from embassay.protocols.rag.sweep.findings.families import Pairs, pairs_alike, values_of
from embassay.protocols.rag.sweep.findings.ground import Ground
from embassay.protocols.rag.sweep.findings.judging import (
    all_of,
    difference_of,
    judged,
    measure_at,
    ms_change,
    opposite,
    relative_change,
    signed_percent,
    status,
    untested,
)
from embassay.protocols.rag.sweep.findings.record import Advice
from embassay.protocols.rag.sweep.findings.words import ms, told

TOLERANCE = 0.02
"""The share of a measure that an index may lose: the source's 1 to 2 percent."""
HARDLY = 0.01
"""A gain of a measure that is not worth twice the candidates."""
HALF_A_SECOND = 500.0


def hnsw(ground: Ground) -> Advice:
    """The loss of hnsw-f32 against flat search stays within 2%."""
    line = "HNSW f32 by default, tuned until within 1-2% of flat"
    pairs = _index_pairs(ground, "hnsw-f32", "flat")
    if not pairs:
        return untested(line, "needs hnsw-f32 and flat")
    measure = ground.rules.measure
    change = relative_change(ground, measure, pairs)
    time = milliseconds(ground, pairs)
    text = f"hnsw-f32 changes {measure} by {signed_percent(change)} of flat search, and the time by {ms_change(time)}."
    return judged(line, status(change, -TOLERANCE), text, change, time)


def int8(ground: Ground) -> Advice:
    """int8 loses more than 1% against f32: were it free, memory alone would speak for it."""
    line = "int8 only under hard memory limits and after re-checking %PROC"
    pairs = _index_pairs(ground, "hnsw-int8", "hnsw-f32") or _index_pairs(ground, "int8", "flat")
    if not pairs:
        return untested(line, "needs an int8 index and the same in f32")
    measure = ground.rules.measure
    change = relative_change(ground, measure, pairs)
    time = milliseconds(ground, pairs)
    text = f"int8 changes {measure} by {signed_percent(change)} of f32, and the time by {ms_change(time)}."
    return judged(line, opposite(status(change, -HARDLY)), text, change, time)


def _index_pairs(ground: Ground, name: str, other: str) -> Pairs:
    """Stacks with an index beside the same with another, whatever the parameters of both."""
    values = values_of(ground, "index")
    first, second = ([one for one in values if one.partition("?")[0] == kind] for kind in (name, other))
    return [pair for a in first for b in second for pair in pairs_alike(ground, "index", a, b)]


def dimensions(ground: Ground) -> Advice:
    """2048 dimensions bring something at 30 and nothing at 10."""
    line = "1024 dimensions by default, 2048 only for deep K"
    at_10, at_30 = measure_at(ground, 10), measure_at(ground, 30)
    pairs = pairs_alike(ground, "dims", 2048, 1024)
    if not pairs or at_10 is None or at_30 is None:
        return untested(line, "needs 1024 and 2048 dimensions of one encoder, measured at 10 and 30")
    shallow, deep = difference_of(ground, at_10, pairs), difference_of(ground, at_30, pairs)
    found = all_of([opposite(status(shallow)), status(deep)])
    text = f"2048 less 1024: {told(shallow, signed=True)} of {at_10}, {told(deep, signed=True)} of {at_30}."
    return judged(line, found, text, shallow, deep)


def depth_10(ground: Ground) -> Advice:
    """100 reranked candidates bring no more than 0.01 at 10 over 50."""
    line = "Candidate depth 50 for @10"
    return _depth(ground, line, 10, opposite)


def depth_30(ground: Ground) -> Advice:
    """100 reranked candidates bring something at 30 over 50."""
    line = "Candidate depth 100 for @30"
    return _depth(ground, line, 30, str)


def _depth(ground: Ground, line: str, cutoff: int, turn: Callable[[str], str]) -> Advice:
    """K = 100 less K = 50, of the stacks whose candidates a reranker or a fusion orders anew."""
    measure = measure_at(ground, cutoff)
    pairs = [pair for pair in pairs_alike(ground, "k", 100, 50) if _reorders(ground, pair[0])]
    if not pairs or measure is None:
        return untested(line, f"needs K 50 and 100 with a reranker, measured at {cutoff}")
    gain = difference_of(ground, measure, pairs)
    found = status(gain, HARDLY if turn is opposite else 0.0)
    text = f"K 100 less K 50: {told(gain, signed=True)} of {measure}."
    return judged(line, turn(found), text, gain)


def _reorders(ground: Ground, place: int) -> bool:
    return ground.configurations[place].reranker != NONE


def half_second(ground: Ground) -> Advice:
    """Reranking up to 100 candidates stays under half a second, reranking more does not."""
    line = "At most 100 candidates for half a second"
    reranked = [i for i in range(len(ground.ids)) if _reorders(ground, i)]
    within, beyond = (
        [float(ground.latency[i]) for i in reranked if (ground.configurations[i].k <= 100) is small]
        for small in (True, False)
    )
    if not within or not beyond:
        return untested(line, "needs rerankers with at most 100 and with more than 100 candidates")
    kept, broken = max(within) <= HALF_A_SECOND, min(beyond) > HALF_A_SECOND
    found = "holds" if kept and broken else "does not hold"
    text = f"Up to 100 candidates take {ms(max(within))} at most, more take {ms(min(beyond))} at least."
    return judged(line, found, text, Figure(max(within)), Figure(min(beyond)))
