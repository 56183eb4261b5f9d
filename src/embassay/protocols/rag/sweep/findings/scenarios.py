"""The scenario matrix: stacks that stand for ways to choose (spec rag 6, item 4, and 9)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from embassay.protocols.rag.sweep.findings.families import at_cutoff, values_of
from embassay.protocols.rag.sweep.findings.ground import Ground
from embassay.protocols.rag.sweep.findings.recommending import decidable
from embassay.protocols.rag.sweep.findings.record import Scenario
from embassay.protocols.rag.tradeoffs import Limits, Stack, choose

DEEP = 30


def scenarios(ground: Ground) -> Iterator[Scenario]:
    """Named ones first (`base`, `saver`, `push`, `small`, `highK`), then the best under each limit of the rules."""
    measure = ground.rules.measure
    stacks = decidable(ground, measure)
    yield from _named(ground, stacks)
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
    return [one for one in stacks if getattr(ground.configurations[ground.place[one.id]], axis) == value]


def _cheapest(stacks: Sequence[Stack]) -> list[Stack]:
    least = min(one.cost for one in stacks)
    return [one for one in stacks if one.cost <= least + 1e-9]


def _best(name: str, how: str, stacks: Sequence[Stack], measure: str) -> Scenario:
    return Scenario(name, how, choose(stacks, measure).nearest.id if stacks else "")


def _limited(ground: Ground, stacks: Sequence[Stack], name: str, limits: Limits) -> Scenario:
    """What the rule takes under these limits alone."""
    choice = choose(stacks, ground.rules.measure, limits, **ground.equal)
    what = (
        "the fastest, then the cheapest" if limits.target is not None else f"highest {ground.rules.measure}"
    )
    return Scenario(name, what, choice.stack.id if choice.stack else "", choice.nearest.id)
