"""The recommendation in words: templates filled from the record, never by hand."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from embassay.protocols.kernel import tables as numbers
from embassay.protocols.rag.golden.summary import Figure
from embassay.protocols.rag.sweep.findings.record import (
    Alternative,
    Asked,
    Left,
    Part,
    Recommendation,
    StackFacts,
)

HARDLY = 0.00005
"""Dollars that print as none."""


def ms(value: float) -> str:
    """Milliseconds per query, finer where they are few.

    >>> ms(332.9), ms(4.26), ms(0.0312)
    ('333 ms', '4.3 ms', '0.031 ms')
    """
    if abs(value) >= 99.5:
        return f"{numbers.score(value, 0)} ms"
    return f"{numbers.score(value, 1 if abs(value) >= 0.95 else 3)} ms"


def usd(value: float) -> str:
    """Dollars per 1,000 queries, finer where they are under a cent.

    >>> usd(1.25), usd(0.0042), usd(0.0)
    ('$1.25', '$0.0042', '$0')
    """
    if not value:
        return "$0"
    return f"${value:,.2f}" if abs(value) >= 0.00995 else f"${value:.4f}"


def ms_more(value: float) -> str:
    """A difference of times.

    >>> ms_more(145.9), ms_more(-20.0)
    ('146 ms more', '20.0 ms less')
    """
    return f"{ms(abs(value))} {'more' if value >= 0 else 'less'}"


def dollars_more(value: float) -> str:
    """A difference of prices.

    >>> dollars_more(1.25), dollars_more(0.0)
    ('$1.25 more', 'at the same price')
    """
    if abs(value) < HARDLY:
        return "at the same price"
    return f"{usd(abs(value))} {'more' if value > 0 else 'less'}"


def told(value: Figure, *, signed: bool = False) -> str:
    """A score with its interval in brackets.

    >>> told(Figure(0.804, 0.77, 0.84, 50)), told(Figure(-0.01, -0.02, 0.001, 50), signed=True)
    ('0.804 (0.770–0.840)', '−0.010 (−0.020 to 0.001)')
    """
    if value.value is None:
        return "n/a"
    text = numbers.change(value.value) if signed else numbers.score(value.value)
    if value.low is None or value.high is None:
        return text
    return f"{text} ({numbers.interval(value.low, value.high)})"


def percent(value: float) -> str:
    """A ratio as percent with one decimal.

    >>> percent(0.929)
    '92.9%'
    """
    return f"{numbers.score(100 * value, 1)}%"


KINDS = {
    "cheaper": "The best cheaper stack",
    "faster": "The best faster stack",
    "better": "Better, but over the limits",
    "cheapest alike": "The cheapest that cannot be told apart from it",
    "fastest alike": "The fastest that cannot be told apart from it",
}
OFTEN = 0.5
"""A value of an axis that wins in more than half of the resamples is worth a word."""


def verdict(part: Part) -> str:
    """The heading: which stack to use, or that none keeps the limits."""
    found = part.recommendation
    return f"Use {found.stack}" if found.stack else "No stack keeps the limits"


def lede(part: Part, asked: Asked) -> Iterator[str]:
    """How good, how fast, how dear; how sure; what else may do."""
    found = part.recommendation
    if not found.stack:
        yield from _infeasible(part, asked)
        return
    stack = part.stack(found.stack)
    yield f"Of {numbers.counted(found.stacks, 'stack')} it is {found.rule}: {_quality(stack, found.measure)}."
    yield f"{_time(stack, asked)}, and costs {_price(stack, asked)}."
    yield _sure(found)
    if found.alike:
        yield _alike(found, asked)


def told_alternatives(found: Recommendation, asked: Asked) -> tuple[Alternative, ...]:
    """The other choices in words; one that stands for several kinds is told once, by all of them."""
    kinds: dict[str, list[str]] = {}
    for one in found.alternatives:
        kinds.setdefault(one.stack, []).append(one.kind)
    return tuple(
        replace(one, text=_alternative(one, kinds[one.stack], found.measure, asked))
        if kinds[one.stack][0] == one.kind
        else one
        for one in found.alternatives
    )


def _alternative(one: Alternative, kinds: Sequence[str], measure: str, asked: Asked) -> str:
    """What another choice would give and take."""
    names = [KINDS[kind] for kind in kinds]
    named = " and ".join([names[0], *(name[0].lower() + name[1:] for name in names[1:])])
    time = ms_more(one.milliseconds)
    if abs(one.milliseconds) <= asked.jitter_ms:
        time += " (within jitter)"
    over = f"; it misses the limits by {_misses(one.misses)}" if one.misses else ""
    return (
        f"{named}, {one.stack}: {told(one.quality, signed=True)} of {measure}, {time}, "
        f"{dollars_more(one.usd)}{over}."
    )


def notes(part: Part, asked: Asked, left: Sequence[Left]) -> Iterator[str]:
    """What to know before believing a number."""
    if len(part.datasets) > 1:
        yield f"Means over {len(part.datasets)} datasets with equal weight, of the stacks that are on all of them."
    total = part.stacks[0].time("total")
    if total is not None:
        few = ": too few for a 95th percentile" if total.few else ""
        yield (
            f"Times are of {numbers.counted(part.timed, 'query')} in {numbers.counted(part.sessions, 'session')}, "
            f"{numbers.counted(total.samples, 'sample')} each{few}; differences of up to {jitter(asked)} are jitter"
            + (" (95% of what one stack's sessions differ by)." if asked.jitter_measured else ".")
        )
    yield _machine(asked)
    if part.recommendation.near:
        n = numbers.counted(len(part.recommendation.near), "feasible stack")
        yield f"{n} lie within {jitter(asked)} of the recommended one."
    undefined = {
        one.value.n for stack in part.stacks for one in stack.quality if one.measure == asked.measure
    }
    if undefined and min(undefined) < part.queries:
        yield (
            f"{asked.measure} is defined for {min(undefined)} of {numbers.counted(part.queries, 'query')}: the others "
            "have nothing that it could find."
        )
    mine = [one for one in left if one.dataset in part.datasets]
    failed = sum(one.failed for one in mine)
    if mine:
        yield (
            f"{numbers.counted(len(mine), 'combination')} not measured: {len(mine) - failed} make no sense, "
            f"{failed} failed."
        )


def _quality(stack: StackFacts, measure: str) -> str:
    found = stack.measured(measure)
    if found is None:
        return f"no {measure}"
    reached = found.reached.value if found.reached is not None else None
    share = f", {percent(reached)} of what its candidates allow" if reached is not None else ""
    return f"{told(found.value)} over {numbers.counted(found.value.n, 'query')}{share}"


def _time(stack: StackFacts, asked: Asked) -> str:
    total = stack.time("total")
    if total is None:
        return f"It takes {ms(stack.latency)}"
    few = ", few" if total.few else ""
    shown = "" if asked.percentile in (50.0, 95.0) else f"p{asked.percentile:g} {ms(stack.latency)}, "
    busy = " on a busy machine" if asked.busy else ""
    return (
        f"A query takes {ms(total.p50)}{busy} ({shown}p95 {ms(total.p95)}; "
        f"{numbers.counted(total.samples, 'sample')} of {numbers.counted(total.queries, 'query')}{few})"
    )


def jitter(asked: Asked) -> str:
    """The jitter in words: as given, or as measured."""
    return ms(asked.jitter_ms) if asked.jitter_measured else f"{asked.jitter_ms:g} ms"


def _machine(asked: Asked) -> str:
    """How busy the machine was."""
    if asked.load is None:
        return "How busy the machine was while times were taken is not known."
    load = f"load average up to {numbers.score(asked.load, 1)} on {numbers.counted(asked.cores, 'core')}"
    if not asked.busy:
        return f"While times were taken the machine had a {load}."
    return (
        f"The machine was busy while times were taken ({load}): they are too long, and no promise. Take them again on "
        "an idle one, in a new folder."
    )


def _price(stack: StackFacts, asked: Asked) -> str:
    if not stack.cost:
        return "nothing per 1,000 queries"
    return f"{usd(stack.cost)} per 1,000 queries, prices of {numbers.date(asked.priced_on)}"


def _sure(found: Recommendation) -> str:
    text = f"It wins in {numbers.percent(found.share or 0.0)} of {numbers.count(found.resamples)} resamples"
    if found.runners:
        first = found.runners[0]
        text += f", {first.name} in {numbers.percent(first.share)}"
    axes = [one for one in found.by_axis if one.share > OFTEN and one.axis in ("mode", "reranker", "encoder")]
    if axes and found.share is not None and found.share < 1:
        text += "; " + ", ".join(f"{one.name} in {numbers.percent(one.share)}" for one in axes)
    return text + "."


def _alike(found: Recommendation, asked: Asked) -> str:
    limited = any(one is not None for one in (asked.sla_ms, asked.budget, asked.target))
    others = f"{len(found.alike)} of the {found.feasible - 1} other stacks{' that keep the limits' if limited else ''}"
    text = f"{others} cannot be told apart from it"
    cheap = next((one for one in found.alternatives if one.kind == "cheapest alike"), None)
    fast = next((one for one in found.alternatives if one.kind == "fastest alike"), None)
    if cheap is not None:
        return f"{text}; the cheapest of them, {cheap.stack}, costs {usd(-cheap.usd)} less."
    if fast is not None:
        return f"{text}; the fastest of them, {fast.stack}, takes {ms(-fast.milliseconds)} less."
    return f"{text}, and none of them is cheaper, or faster by more than jitter."


def _infeasible(part: Part, asked: Asked) -> Iterator[str]:
    found = part.recommendation
    stack = part.stack(found.nearest)
    yield f"Asked for is {found.rule}; none of {numbers.counted(found.stacks, 'stack')} does."
    yield (
        f"The nearest is {found.nearest}: {_quality(stack, found.measure)}. {_time(stack, asked)}, and costs "
        f"{_price(stack, asked)}."
    )
    yield _takes(found.misses)


def _takes(misses: Mapping[str, float]) -> str:
    """What the limits would have to be for the nearest stack."""
    limits = {name: value for name, value in misses.items() if name != "quality"}
    more = [f"{_misses(limits)} more"] if limits else []
    lower = [f"a target {numbers.score(misses['quality'])} lower"] if "quality" in misses else []
    return f"It would take {' and '.join([*more, *lower])}."


def _misses(misses: Mapping[str, float]) -> str:
    words = {"milliseconds": ms, "usd": usd, "quality": numbers.score}
    units = {"milliseconds": "", "usd": " per 1,000 queries", "quality": " of quality"}
    return " and ".join(f"{words[name](value)}{units[name]}" for name, value in misses.items())
