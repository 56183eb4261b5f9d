"""What the operator's rule takes, how sure that is, and what other choices would give."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from embassay.errors import UsageError
from embassay.protocols.rag.golden.summary import Figure
from embassay.protocols.rag.sweep.findings.certainty import by_axis, choose_each, runners
from embassay.protocols.rag.sweep.findings.ground import Ground
from embassay.protocols.rag.sweep.findings.record import Alternative, Recommendation
from embassay.protocols.rag.tradeoffs import Choice, Limits, Stack, choose
from embassay.protocols.rag.tradeoffs.stack import ROUNDING


def limits_of(ground: Ground) -> Limits:
    """The limits of the sweep's rules."""
    return Limits(ground.rules.sla_ms, ground.rules.budget, ground.rules.target)


def recommend(ground: Ground) -> Recommendation:
    """The recommendation. UsageError where the measure that decides is nowhere defined."""
    measure, limits = ground.rules.measure, limits_of(ground)
    stacks = decidable(ground, measure)
    choice = choose(stacks, measure, limits, **ground.equal)
    places = [ground.place[one.id] for one in stacks]
    winners = choose_each(
        stacks, ground.quality_replicates(measure)[:, places], ground.latency_replicates[:, places], limits,
        **ground.equal,
    )  # fmt: skip
    ids, chosen = [one.id for one in stacks], choice.stack
    differences = differences_from(ground, measure, choice.nearest.id)
    alike = _alike(choice, differences)
    at = ids.index(chosen.id) if chosen else 0
    return Recommendation(
        measure=measure,
        rule=rule_in_words(ground),
        stack=chosen.id if chosen else "",
        nearest=choice.nearest.id,
        feasible=len(choice.feasible),
        stacks=len(stacks),
        tied=tuple(one.id for one in choice.tied if one is not chosen),
        near=tuple(
            one.id for one in choice.feasible
            if chosen and one is not chosen and abs(one.latency - chosen.latency) <= ground.jitter_ms
        ),
        alike=tuple(one.id for one in alike),
        misses=misses(choice.nearest, measure, limits) if chosen is None else {},
        resamples=ground.resamples,
        share=winners.share(at) if chosen else None,
        among_best=winners.among_best(at) if chosen else None,
        none=winners.share(-1),
        runners=runners(winners, ids, chosen.id if chosen else ""),
        by_axis=by_axis(winners, [ground.configurations[i] for i in places]),
        alternatives=tuple(_alternatives(ground, stacks, choice, alike, differences)) if chosen else (),
    )  # fmt: skip


def decidable(ground: Ground, *measures: str) -> list[Stack]:
    """The stacks that have all these measures; UsageError where none has."""
    missing = [name for name in measures if name not in ground.measures]
    if missing:
        raise UsageError(
            f"The sweep did not measure {', '.join(missing)}.", mend=f"It has: {', '.join(ground.measures)}."
        )
    stacks = ground.stacks(measures)
    if not stacks:
        raise UsageError(
            f"{', '.join(measures)} is defined for no query of any stack.",
            mend="Rules need a measure that the judgements define: give rules.measure another.",
        )
    return stacks


def differences_from(ground: Ground, measure: str, id: str) -> dict[str, Figure]:
    """Each stack's measure less that of one stack, paired over queries."""
    place = ground.place[id]
    columns = {name: one - one[:, [place]] for name, one in ground.columns(measure).items()}
    return dict(zip(ground.ids, ground.figures(columns), strict=True))


def misses(stack: Stack, measure: str, limits: Limits) -> dict[str, float]:
    """By how much a stack misses each limit that it misses: milliseconds, dollars, quality."""
    found = {}
    if limits.sla_ms is not None and stack.latency > limits.sla_ms:
        found["milliseconds"] = stack.latency - limits.sla_ms
    if limits.budget is not None and stack.cost > limits.budget:
        found["usd"] = stack.cost - limits.budget
    if limits.target is not None and stack.reaches(measure) < limits.target - ROUNDING:
        found["quality"] = limits.target - stack.reaches(measure)
    return found


def rule_in_words(ground: Ground) -> str:
    """What is asked for, from the best quality under limits to the fastest stack that is good enough."""
    rules, parts = ground.rules, []
    if rules.sla_ms is not None:
        parts.append(f"at most {rules.sla_ms:g} ms (p{rules.percentile:g})")
    if rules.budget is not None:
        parts.append(f"at most ${rules.budget:g} per 1,000 queries")
    if rules.target is not None:
        parts.append(f"{rules.measure} of at least {rules.target:g}")
    what = f"the best {rules.measure}" if rules.target is None else "the fastest, then the cheapest, stack"
    return what + (" with " + " and ".join(parts) if parts else ", whatever it costs and takes")


def _alike(choice: Choice, differences: Mapping[str, Figure]) -> list[Stack]:
    """Feasible stacks whose quality cannot be told apart from that of the chosen one."""
    return [
        one for one in choice.feasible
        if one is not choice.stack and not told_apart(differences[one.id])
    ]  # fmt: skip


def told_apart(difference: Figure) -> bool:
    """Whether the whole interval lies on one side of 0."""
    return (
        difference.low is not None
        and difference.high is not None
        and not difference.low <= 0 <= difference.high
    )


def _alternatives(
    ground: Ground,
    stacks: Sequence[Stack],
    choice: Choice,
    alike: Sequence[Stack],
    differences: Mapping[str, Figure],
) -> Iterator[Alternative]:
    """The best of the cheaper, of the faster (by more than jitter) and of the better stacks; and of those that cannot
    be told apart from the chosen one the cheapest and the fastest, where they are cheaper or faster."""
    chosen, measure, limits = choice.nearest, ground.rules.measure, limits_of(ground)
    jitter, equal = ground.jitter_ms, ground.equal
    dear = chosen.cost * (1 - ground.rules.cost_share) - ROUNDING
    cheaper = [one for one in stacks if one.cost < dear]
    faster = [one for one in stacks if one.latency < chosen.latency - jitter]
    better = [one for one in stacks if one.reaches(measure) > chosen.reaches(measure) + ROUNDING]
    named: list[tuple[str, Stack]] = []
    for kind, group in (("cheaper", cheaper), ("faster", faster)):
        if group:
            named.append((kind, choose(group, measure, Limits(), **equal).nearest))
    if better:
        named.append(
            (
                "better",
                choose(better, measure, Limits(limits.sla_ms, limits.budget), **equal).nearest,
            )
        )
    for kind, key in (("cheapest alike", _by_cost), ("fastest alike", _by_latency)):
        found = min(alike, key=key, default=None)
        saves = found is not None and (
            found.cost < dear if kind.startswith("cheap") else found.latency < chosen.latency - jitter
        )
        if found is not None and saves:
            named.append((kind, found))
    for kind, one in named:
        yield Alternative(
            kind, one.id, differences[one.id], one.latency - chosen.latency, one.cost - chosen.cost,
            misses(one, measure, limits),
        )  # fmt: skip


def _by_cost(stack: Stack) -> tuple[float, float, str]:
    return stack.cost, stack.latency, stack.id


def _by_latency(stack: Stack) -> tuple[float, float, str]:
    return stack.latency, stack.cost, stack.id
