"""What the operator's rule takes and how sure that is, among frontiers, scenarios and other choices."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace

import numpy as np
from numpy.typing import NDArray

from embassay.errors import UsageError
from embassay.protocols.kernel import tables as numbers
from embassay.protocols.rag.golden.summary import Figure
from embassay.protocols.rag.sweep.findings.arrays import Ground, reach
from embassay.protocols.rag.sweep.findings.record import (
    Alternative,
    Left,
    Part,
    Recommendation,
    Share,
    StackFacts,
    Terms,
)
from embassay.protocols.rag.sweep.stacks import Configuration
from embassay.protocols.rag.tradeoffs import (
    COST_SHARE,
    ROUNDING,
    Choice,
    Limits,
    Stack,
    choose,
)

Floats = NDArray[np.float64]

NOBODY = -1
MOST_RUNNERS = 5


@dataclass(frozen=True)
class Winners:
    """Of each resample, the place of the stack that the rule takes (-1: none keeps the limits), (B,); and which stacks
    are as good as the best one there, (B, stacks)."""

    places: NDArray[np.int64]
    best: NDArray[np.bool_]

    def share(self, place: int) -> float:
        """Of how many resamples this stack is the winner."""
        return float((self.places == place).mean())

    def among_best(self, place: int) -> float:
        """In how many no stack that keeps the limits is better than this one, which keeps them too."""
        return float(self.best[:, place].mean())


def choose_each(
    stacks: Sequence[Stack],
    quality: Floats,
    latency: Floats,
    limits: Limits,
    jitter_ms: float,
    cost_share: float = COST_SHARE,
) -> Winners:
    """`choose` of the tradeoffs for every row of `quality` and `latency`, both (B, stacks); costs and prompts stay.

    A stack whose quality is NaN in a resample does not take part there.
    """
    cost, prompt = (
        np.array([stack.cost for stack in stacks]),
        np.array([stack.prompt_tokens for stack in stacks]),
    )
    defined = np.where(np.isnan(quality), -np.inf, quality)
    running = np.isfinite(defined)
    if limits.sla_ms is not None:
        running &= latency <= limits.sla_ms
    if limits.budget is not None:
        running &= cost <= limits.budget
    if limits.target is not None:
        running &= defined >= limits.target - ROUNDING
    if limits.target is None:
        tied = _lowest(-defined, running, ROUNDING)
    else:
        tied = _lowest(
            np.broadcast_to(cost, defined.shape), _lowest(latency, running, jitter_ms), ROUNDING, cost_share
        )
    left = _lowest(np.broadcast_to(prompt, defined.shape), tied, 0.0)
    left = _lowest(np.broadcast_to(cost, defined.shape), left, ROUNDING, cost_share)
    for key in (-defined, latency):
        left = _lowest(key, left, 0.0)
    # The rank of each id: what is equal in all else goes to the first id, as in `choose`.
    by_id = np.argsort(np.argsort([stack.id for stack in stacks]))
    places = np.where(left, by_id, len(stacks)).argmin(axis=1)
    return Winners(np.where(left.any(axis=1), places, NOBODY), tied)


def _lowest(
    values: Floats, running: NDArray[np.bool_], within: float, share: float = 0.0
) -> NDArray[np.bool_]:
    """Of those running, the ones that differ from the lowest of their row by no more, or by that share of it."""
    eligible = np.where(running, values, np.inf)
    least = eligible.min(axis=1, keepdims=True)
    return np.asarray(
        running & (eligible <= least + within + share * np.where(np.isfinite(least), np.abs(least), 0.0))
    )


def runners(winners: Winners, ids: Sequence[str], chosen: str) -> tuple[Share, ...]:
    """The other stacks that win, most often first."""
    counts = Counter(winners.places[winners.places != NOBODY].tolist())
    others = [(n, ids[place]) for place, n in counts.items() if ids[place] != chosen]
    others.sort(key=lambda pair: (-pair[0], pair[1]))
    return tuple(Share(id, n / len(winners.places)) for n, id in others[:MOST_RUNNERS])


def by_axis(winners: Winners, configurations: Sequence[Configuration]) -> tuple[Share, ...]:
    """How often each value of each axis wins, of the axes that have several, most often first within an axis."""
    shares = []
    for axis in fields(Configuration):
        values = [getattr(configuration, axis.name) for configuration in configurations]
        if len(set(values)) < 2:
            continue
        counts = Counter(values[place] for place in winners.places.tolist() if place != NOBODY)
        ordered = sorted(counts.items(), key=lambda pair: (-pair[1], str(pair[0])))
        shares += [Share(said(axis.name, value), n / len(winners.places), axis.name) for value, n in ordered]
    return tuple(shares)


def said(axis: str, value: object) -> str:
    """A value of an axis in words.

    >>> said("dims", None), said("dims", 64), said("k", 50), said("mode", "hybrid")
    ('all dimensions', '64 dimensions', 'K 50', 'hybrid')
    """
    if axis == "dims":
        return "all dimensions" if value is None else f"{value} dimensions"
    if axis == "k":
        return f"K {value}"
    if axis == "index" and value == "none":
        return "no index"
    if value == "none":
        return {"reranker": "no reranker", "rewrite": "no rewriting", "chunk": "no chunking"}.get(
            axis, "none"
        )
    if axis in ("deduplicate", "boost"):
        return f"{axis} {value:g}" if value else {"deduplicate": "copies kept", "boost": "no boost"}[axis]
    return str(value)


def limits_of(ground: Ground) -> Limits:
    """The limits of the sweep's rules."""
    return Limits(ground.rules.sla_ms, ground.rules.budget, ground.rules.target)


def recommend(ground: Ground) -> Recommendation:
    """The recommendation. UsageError where the measure that decides is nowhere defined."""
    measure, limits = ground.rules.measure, limits_of(ground)
    stacks = decidable(ground, measure)
    choice = choose(stacks, measure, limits, **ground.equal)
    places = [ground.place[stack.id] for stack in stacks]
    winners = choose_each(
        stacks, ground.quality_replicates(measure)[:, places], ground.latency_replicates[:, places], limits,
        **ground.equal,
    )  # fmt: skip
    ids, chosen = [stack.id for stack in stacks], choice.stack
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
        tied=tuple(stack.id for stack in choice.tied if stack is not chosen),
        near=tuple(
            stack.id for stack in choice.feasible
            if chosen and stack is not chosen and abs(stack.latency - chosen.latency) <= ground.jitter_ms
        ),
        alike=tuple(stack.id for stack in alike),
        misses=misses(choice.nearest, measure, limits) if chosen is None else {},
        resamples=ground.resamples,
        share=winners.share(at) if chosen else None,
        among_best=winners.among_best(at) if chosen else None,
        none=winners.share(-1),
        runners=runners(winners, ids, chosen.id if chosen else ""),
        by_axis=by_axis(winners, [ground.configurations[i] for i in places]),
        alternatives=tuple(_alternatives(ground, stacks, choice, alike, differences)) if chosen else (),
        undecided=tuple(_undecided(choice.nearest, alike, differences)) if chosen else (),
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
    columns = {name: column - column[:, [place]] for name, column in ground.columns(measure).items()}
    return dict(zip(ground.ids, ground.figures(columns), strict=True))


def misses(stack: Stack, measure: str, limits: Limits) -> dict[str, float]:
    """By how much a stack misses each limit that it misses: milliseconds, dollars, quality."""
    missed = {}
    if limits.sla_ms is not None and stack.latency > limits.sla_ms:
        missed["milliseconds"] = stack.latency - limits.sla_ms
    if limits.budget is not None and stack.cost > limits.budget:
        missed["usd"] = stack.cost - limits.budget
    if limits.target is not None and stack.reaches(measure) < limits.target - ROUNDING:
        missed["quality"] = limits.target - stack.reaches(measure)
    return missed


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
        stack for stack in choice.feasible
        if stack is not choice.stack and not told_apart(differences[stack.id])
    ]  # fmt: skip


def told_apart(difference: Figure) -> bool:
    """Whether the whole interval lies on one side of 0."""
    ends = reach(difference)
    return ends is not None and not ends[0] <= 0 <= ends[1]


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
    cheaper = [stack for stack in stacks if stack.cost < dear]
    faster = [stack for stack in stacks if stack.latency < chosen.latency - jitter]
    better = [stack for stack in stacks if stack.reaches(measure) > chosen.reaches(measure) + ROUNDING]
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
        best = min(alike, key=key, default=None)
        saves = best is not None and (
            best.cost < dear if kind.startswith("cheap") else best.latency < chosen.latency - jitter
        )
        if best is not None and saves:
            named.append((kind, best))
    for kind, stack in named:
        yield Alternative(
            kind, stack.id, differences[stack.id], stack.latency - chosen.latency, stack.cost - chosen.cost,
            misses(stack, measure, limits),
        )  # fmt: skip


def _undecided(
    chosen: Stack, alike: Sequence[Stack], differences: Mapping[str, Figure]
) -> Iterator[Alternative]:
    """The stack whose difference from the chosen one is nearest to being told from 0; none where all differ in no
    resample."""
    nearness = {}
    for stack in alike:
        figure = differences[stack.id]
        if figure.value is not None and figure.low is not None and figure.high is not None:
            width = figure.high - figure.low
            # An interval without width is one of no difference in any resample: no label would tell it from 0.
            nearness[stack.id] = abs(figure.value) / width if width > 0 else -1.0
    nearest = max(alike, key=lambda stack: nearness.get(stack.id, -1.0), default=None)
    if nearest is not None and nearness.get(nearest.id, -1.0) >= 0:
        apart = nearest.latency - chosen.latency, nearest.cost - chosen.cost
        yield Alternative("alike", nearest.id, differences[nearest.id], *apart)


def _by_cost(stack: Stack) -> tuple[float, float, str]:
    return stack.cost, stack.latency, stack.id


def _by_latency(stack: Stack) -> tuple[float, float, str]:
    return stack.latency, stack.cost, stack.id


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
    recommendation = part.recommendation
    return f"Use {recommendation.stack}" if recommendation.stack else "No stack keeps the limits"


def lede(part: Part, asked: Terms) -> Iterator[str]:
    """How good, how fast, how dear; how sure; what else may do."""
    recommendation = part.recommendation
    if not recommendation.stack:
        yield from _infeasible(part, asked)
        return
    stack = part.stack(recommendation.stack)
    quality = _quality(stack, recommendation.measure)
    yield f"Of {numbers.counted(recommendation.stacks, 'stack')} it is {recommendation.rule}: {quality}."
    yield f"{_time(stack, asked)}, and costs {_price(stack, asked)}."
    yield _sure(recommendation)
    if recommendation.alike:
        yield _alike_in_words(recommendation, asked)


def told_alternatives(recommendation: Recommendation, asked: Terms) -> tuple[Alternative, ...]:
    """The other choices in words; one that stands for several kinds is told once, by all of them."""
    kinds: dict[str, list[str]] = {}
    for alternative in recommendation.alternatives:
        kinds.setdefault(alternative.stack, []).append(alternative.kind)
    return tuple(
        replace(other, text=_alternative(other, kinds[other.stack], recommendation.measure, asked))
        if kinds[other.stack][0] == other.kind
        else other
        for other in recommendation.alternatives
    )


def _alternative(alternative: Alternative, kinds: Sequence[str], measure: str, asked: Terms) -> str:
    """What another choice would give and take."""
    names = [KINDS[kind] for kind in kinds]
    named = " and ".join([names[0], *(name[0].lower() + name[1:] for name in names[1:])])
    time = ms_more(alternative.milliseconds)
    if abs(alternative.milliseconds) <= asked.jitter_ms:
        time += " (within jitter)"
    over = f"; it misses the limits by {_misses(alternative.misses)}" if alternative.misses else ""
    return (
        f"{named}, {alternative.stack}: {told(alternative.quality, signed=True)} of {measure}, {time}, "
        f"{dollars_more(alternative.usd)}{over}."
    )


def notes(part: Part, asked: Terms, left: Sequence[Left]) -> Iterator[str]:
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
    if part.generation is not None:
        yield f"Answers come on top, and in the end-to-end efficiency. {part.generation.text}"
    yield from (
        f"{index.index} finds within 1% of exact recall from ef {index.ef} on ({index.encoder}"
        f"{f', {index.dims} dimensions' if index.dims else ''}; found on half of the queries)."
        for index in part.indexes
        if index.ef is not None
    )
    yield _machine(asked)
    if part.recommendation.near:
        n = numbers.counted(len(part.recommendation.near), "feasible stack")
        yield f"{n} lie within {jitter(asked)} of the recommended one."
    undefined = {
        quality.value.n
        for stack in part.stacks
        for quality in stack.quality
        if quality.measure == asked.measure
    }
    if undefined and min(undefined) < part.queries:
        yield (
            f"{asked.measure} is defined for {min(undefined)} of {numbers.counted(part.queries, 'query')}: the others "
            "have nothing that it could find."
        )
    mine = [row for row in left if row.dataset in part.datasets]
    failed = sum(row.failed for row in mine)
    if mine:
        yield (
            f"{numbers.counted(len(mine), 'combination')} not measured: {len(mine) - failed} make no sense, "
            f"{failed} failed."
        )


def _quality(stack: StackFacts, measure: str) -> str:
    quality = stack.measured(measure)
    if quality is None:
        return f"no {measure}"
    reached = quality.reached.value if quality.reached is not None else None
    share = f", {percent(reached)} of what its candidates allow" if reached is not None else ""
    return f"{told(quality.value)} over {numbers.counted(quality.value.n, 'query')}{share}"


def _time(stack: StackFacts, asked: Terms) -> str:
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


def jitter(asked: Terms) -> str:
    """The jitter in words: as given, or as measured."""
    return ms(asked.jitter_ms) if asked.jitter_measured else f"{asked.jitter_ms:g} ms"


def _machine(asked: Terms) -> str:
    """How busy the machine was."""
    if asked.load is None:
        return "How busy the machine was while times were taken is not known."
    load = f"load average up to {numbers.score(asked.load, 1)} on {numbers.counted(asked.cores, 'core')}"
    if not asked.busy:
        return f"While times were taken the machine had a {load}."
    return (
        f"The machine was busy while times were taken ({load}): they are too long to rely on. Take them again on "
        "an idle one, in a new folder."
    )


def _price(stack: StackFacts, asked: Terms) -> str:
    if not stack.cost:
        return "nothing per 1,000 queries"
    return f"{usd(stack.cost)} per 1,000 queries, prices of {numbers.date(asked.priced_on)}"


def _sure(recommendation: Recommendation) -> str:
    share = numbers.percent(recommendation.share or 0.0)
    text = f"It wins in {share} of {numbers.count(recommendation.resamples)} resamples"
    if recommendation.runners:
        first = recommendation.runners[0]
        text += f", {first.name} in {numbers.percent(first.share)}"
    axes = [
        share
        for share in recommendation.by_axis
        if share.share > OFTEN and share.axis in ("mode", "reranker", "encoder")
    ]
    if axes and recommendation.share is not None and recommendation.share < 1:
        text += "; " + ", ".join(f"{axis.name} in {numbers.percent(axis.share)}" for axis in axes)
    return text + "."


def _alike_in_words(recommendation: Recommendation, asked: Terms) -> str:
    limited = any(limit is not None for limit in (asked.sla_ms, asked.budget, asked.target))
    others = f"{len(recommendation.alike)} of the {recommendation.feasible - 1} other stacks"
    others += " that keep the limits" if limited else ""
    text = f"{others} cannot be told apart from it"
    by_kind = {alternative.kind: alternative for alternative in recommendation.alternatives}
    cheap, fast = by_kind.get("cheapest alike"), by_kind.get("fastest alike")
    if cheap is not None:
        return f"{text}; the cheapest of them, {cheap.stack}, costs {usd(-cheap.usd)} less."
    if fast is not None:
        return f"{text}; the fastest of them, {fast.stack}, takes {ms(-fast.milliseconds)} less."
    return f"{text}, and none of them is cheaper, or faster by more than jitter."


def _infeasible(part: Part, asked: Terms) -> Iterator[str]:
    recommendation = part.recommendation
    stack = part.stack(recommendation.nearest)
    yield f"You asked for {recommendation.rule}; none of {numbers.counted(recommendation.stacks, 'stack')} meets that."
    yield (
        f"The nearest is {recommendation.nearest}: {_quality(stack, recommendation.measure)}. "
        f"{_time(stack, asked)}, and costs {_price(stack, asked)}."
    )
    yield _takes(recommendation.misses)


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
