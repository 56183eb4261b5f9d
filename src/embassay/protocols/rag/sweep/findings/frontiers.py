"""Which stacks no other one beats, and those that stand for ways to choose."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from embassay.measures import MEASURES
from embassay.protocols.rag.sweep.findings.arrays import Ground, at_cutoff, at_other_cutoffs, values_of
from embassay.protocols.rag.sweep.findings.recommendation import decidable
from embassay.protocols.rag.sweep.findings.record import (
    Frontier,
    Scenario,
)
from embassay.protocols.rag.sweep.stacks import NONE, SPARSE
from embassay.protocols.rag.tradeoffs import (
    Axis,
    Dominance,
    Limits,
    Stack,
    choose,
    frontier,
)
from embassay.spec import CALL

MAIN = "cost, latency"
AXES: tuple[tuple[str, tuple[Axis, ...]], ...] = (
    (MAIN, ("cost", "latency")), ("latency", ("latency",)), ("cost", ("cost",)),
)  # fmt: skip
STRICT = ", strict"


def frontiers(ground: Ground) -> Iterator[Frontier]:
    """Every frontier by the measure that decides; the main one also under each time limit of the rules, and by the
    same measure at the other cutoffs, one by one and each as an objective of its own."""
    measure, both = ground.rules.measure, AXES[0][1]
    for name, axes in AXES:
        yield _made(ground, name, [measure], axes, "pareto")
        yield _made(ground, name + STRICT, [measure], axes, "strict")
    for slo in ground.rules.slos_ms:
        yield _made(ground, f"{MAIN}, at most {slo:g} ms", [measure], both, "pareto", slo)
    others = at_other_cutoffs(ground)
    for other in others:
        yield _made(ground, f"{MAIN}, {other}", [other], both, "pareto")
        yield _made(ground, f"{MAIN}, {other}{STRICT}", [other], both, "strict")
    if others:
        yield _made(ground, f"{MAIN}, every cutoff", [measure, *others], both, "pareto")
    if ground.rules.quality_axes:
        wanted = list(ground.rules.quality_axes)
        yield _made(ground, f"{MAIN}, {' and '.join(wanted)}", wanted, both, "pareto")


def _made(
    ground: Ground,
    name: str,
    measures: Sequence[str],
    axes: Sequence[Axis],
    dominance: Dominance,
    slo_ms: float | None = None,
) -> Frontier:
    found = frontier(
        [_turned(stack) for stack in decidable(ground, *measures)],
        measures,
        axes=axes,
        dominance=dominance,
        slo_ms=slo_ms,
        cost_share=ground.rules.cost_share,
        jitter_ms=ground.measured_jitter_ms,
    )
    ordered = sorted(found, key=lambda stack: (stack.latency, stack.cost, stack.id))
    return Frontier(
        name, " and ".join(measures), tuple(axes), dominance, tuple(stack.id for stack in ordered), slo_ms
    )


def _turned(stack: Stack) -> Stack:
    """The stack with measures of which less is better turned round: a frontier takes more for better."""
    lower = {
        name
        for name in stack.quality
        if dict(MEASURES.get(CALL.parse(name).name).facts)["direction"] == "lower"
    }
    if not lower:
        return stack
    quality = {name: -value if name in lower else value for name, value in stack.quality.items()}
    return replace(stack, quality=quality)


DEEP = 30


def scenarios(ground: Ground) -> Iterator[Scenario]:
    """Named ones first (`base`, `saver`, `push`, `small`, `highK`), then the best under each limit of the rules."""
    measure = ground.rules.measure
    stacks = decidable(ground, measure)
    yield from _named(ground, stacks)
    words = _having(ground, stacks, "mode", SPARSE)
    if words and len(words) < len(stacks):
        yield _best(
            "words",
            f"highest {measure} by words alone",
            [word for word in words if _is_bare(ground, word)] or words,
            measure,
        )
    yield _best("cheapest", "lowest price, then the best", _cheapest(stacks), measure)
    yield Scenario(
        "fastest", "lowest time, then price", min(stacks, key=lambda s: (s.latency, s.cost, s.id)).id
    )
    yield _best("best", f"highest {measure}", stacks, measure)
    for slo in ground.rules.slos_ms:
        yield _limited(ground, stacks, f"at most {slo:g} ms", Limits(sla_ms=slo))
    rules = ground.rules
    if rules.sla_ms is not None and rules.sla_ms not in rules.slos_ms:
        yield _limited(ground, stacks, f"at most {rules.sla_ms:g} ms", Limits(sla_ms=rules.sla_ms))
    if rules.budget is not None:
        yield _limited(ground, stacks, f"at most ${rules.budget:g}", Limits(budget=rules.budget))
    if rules.target is not None:
        yield _limited(ground, stacks, f"at least {rules.target:g}", Limits(target=rules.target))


def _named(ground: Ground, stacks: Sequence[Stack]) -> Iterator[Scenario]:
    measure = ground.rules.measure
    shallow, deep = values_of(ground, "k")[0], values_of(ground, "k")[-1]
    least = values_of(ground, "dims")[0]
    at_30 = at_cutoff(ground.measures, measure, DEEP) or measure
    thorough = decidable(ground, at_30)
    yield _best("base", f"highest {measure} with K {shallow}", _having(ground, stacks, "k", shallow), measure)
    yield _best("saver", f"lowest price, then the highest {measure}", _cheapest(stacks), measure)
    yield _best("push", f"highest {at_30}", thorough, at_30)
    if len(values_of(ground, "dims")) > 1:
        few = _having(ground, thorough, "dims", least)
        yield _best("small", f"highest {at_30} with {least or 'all'} dimensions", few, at_30)
    if deep != shallow:
        yield _best("highK", f"highest {measure} with K {deep}", _having(ground, stacks, "k", deep), measure)


def _having(ground: Ground, stacks: Sequence[Stack], axis: str, value: object) -> list[Stack]:
    return [
        stack for stack in stacks if getattr(ground.configurations[ground.place[stack.id]], axis) == value
    ]


def _is_bare(ground: Ground, stack: Stack) -> bool:
    return ground.configurations[ground.place[stack.id]].reranker == NONE


def _cheapest(stacks: Sequence[Stack]) -> list[Stack]:
    least = min(stack.cost for stack in stacks)
    return [stack for stack in stacks if stack.cost <= least + 1e-9]


def _best(name: str, how: str, stacks: Sequence[Stack], measure: str) -> Scenario:
    return Scenario(name, how, choose(stacks, measure).nearest.id if stacks else "")


def _limited(ground: Ground, stacks: Sequence[Stack], name: str, limits: Limits) -> Scenario:
    """What the rule takes under these limits alone."""
    choice = choose(stacks, ground.rules.measure, limits, **ground.equal)
    what = (
        "the fastest, then the cheapest" if limits.target is not None else f"highest {ground.rules.measure}"
    )
    return Scenario(name, what, choice.stack.id if choice.stack else "", choice.nearest.id)
