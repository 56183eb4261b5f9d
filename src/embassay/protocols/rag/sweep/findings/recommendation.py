"""What the operator's rule takes and how sure that is, among frontiers, scenarios and other choices."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from embassay.errors import UsageError
from embassay.protocols.rag.sweep.findings.arrays import StackArrays, find_estimate_range
from embassay.protocols.rag.sweep.findings.record import AlternativeStack, FusionTuning, StackRecommendation, WinShare
from embassay.protocols.rag.sweep.stacks import StackConfiguration
from embassay.protocols.rag.tradeoffs import (
    COST_SHARE,
    ROUNDING,
    StackChoice,
    StackCostLatencyQuality,
    StackLimits,
    choose_stack,
)
from embassay.stats import Estimate

Floats = NDArray[np.float64]

NOBODY = -1
MOST_RUNNERS = 5


@dataclass(frozen=True)
class ResampledWinningStacks:
    """Of each resample, the place of the stack that the rule takes (-1: none keeps the limits), (B,); and which stacks
    are as good as the best one there, (B, stacks)."""

    places: NDArray[np.int64]
    best: NDArray[np.bool_]

    def share(self, place: int) -> float:
        """Compute the share of resamples in which this stack is the winner."""
        return float((self.places == place).mean())

    def compute_share_among_best(self, place: int) -> float:
        """In how many no stack that keeps the limits is better than this one, which keeps them too."""
        return float(self.best[:, place].mean())


def choose_stack_in_each_resample(
    stacks: Sequence[StackCostLatencyQuality],
    quality: Floats,
    latency: Floats,
    limits: StackLimits,
    jitter_ms: float,
    cost_share: float = COST_SHARE,
) -> ResampledWinningStacks:
    """Choose a stack for every row of `quality` and `latency`, both (B, stacks).

    A stack whose quality is NaN in a resample does not take part there.
    """
    cost, prompt = (np.array([stack.cost for stack in stacks]), np.array([stack.prompt_tokens for stack in stacks]))
    defined = np.where(np.isnan(quality), -np.inf, quality)
    running = np.isfinite(defined)
    if limits.sla_ms is not None:
        running &= latency <= limits.sla_ms
    if limits.budget is not None:
        running &= cost <= limits.budget
    if limits.target is not None:
        running &= defined >= limits.target - ROUNDING
    if limits.target is None:
        tied = _mark_near_lowest_in_rows(-defined, running, ROUNDING)
    else:
        tied = _mark_near_lowest_in_rows(
            np.broadcast_to(cost, defined.shape),
            _mark_near_lowest_in_rows(latency, running, jitter_ms),
            ROUNDING,
            cost_share,
        )
    left = _mark_near_lowest_in_rows(np.broadcast_to(prompt, defined.shape), tied, 0.0)
    left = _mark_near_lowest_in_rows(np.broadcast_to(cost, defined.shape), left, ROUNDING, cost_share)
    # The source's order ends with the time; quality decides only what is as fast.
    for key in (latency, -defined):
        left = _mark_near_lowest_in_rows(key, left, 0.0)
    # The rank of each id: what is equal in all else goes to the first id, as in `choose`.
    by_id = np.argsort(np.argsort([stack.id for stack in stacks]))
    places = np.where(left, by_id, len(stacks)).argmin(axis=1)
    return ResampledWinningStacks(np.where(left.any(axis=1), places, NOBODY), tied)


def _mark_near_lowest_in_rows(
    values: Floats, running: NDArray[np.bool_], within: float, share: float = 0.0
) -> NDArray[np.bool_]:
    """Mark of those running the ones within a tolerance of the lowest of their row."""
    eligible = np.where(running, values, np.inf)
    least = eligible.min(axis=1, keepdims=True)
    # Where nothing runs the least is infinite, and a share of 0 times it would be NaN.
    return np.asarray(running & (eligible <= least + within + share * np.where(np.isfinite(least), np.abs(least), 0.0)))


def list_runner_up_shares(winners: ResampledWinningStacks, ids: Sequence[str], chosen: str) -> tuple[WinShare, ...]:
    """List how often each of the other stacks wins, most often first."""
    counts = Counter(winners.places[winners.places != NOBODY].tolist())
    others = [(n, ids[place]) for place, n in counts.items() if ids[place] != chosen]
    others.sort(key=lambda pair: (-pair[0], pair[1]))
    return tuple(WinShare(id, n / len(winners.places)) for n, id in others[:MOST_RUNNERS])


def list_win_shares_by_axis_value(
    winners: ResampledWinningStacks, configurations: Sequence[StackConfiguration]
) -> tuple[WinShare, ...]:
    """List how often each value of each axis with several wins, most often first within an axis."""
    shares = []
    for axis in fields(StackConfiguration):
        values = [getattr(configuration, axis.name) for configuration in configurations]
        if len(set(values)) < 2:
            continue
        counts = Counter(values[place] for place in winners.places.tolist() if place != NOBODY)
        ordered = sorted(counts.items(), key=lambda pair: (-pair[1], str(pair[0])))
        shares += [
            WinShare(describe_axis_value(axis.name, value), n / len(winners.places), axis.name) for value, n in ordered
        ]
    return tuple(shares)


def describe_axis_value(axis: str, value: object) -> str:
    """Describe a value of an axis in words.

    >>> (describe_axis_value("dims", None), describe_axis_value("dims", 64), describe_axis_value("k", 50),
    ... describe_axis_value("mode", "hybrid"))
    ('all dimensions', '64 dimensions', 'K 50', 'hybrid')
    """
    if axis == "dims":
        return "all dimensions" if value is None else f"{value} dimensions"
    if axis == "k":
        return f"K {value}"
    if axis == "index" and value == "none":
        return "no index"
    if value == "none":
        return {"reranker": "no reranker", "rewrite": "no rewriting", "chunk": "no chunking"}.get(axis, "none")
    if axis in ("deduplicate", "boost"):
        return f"{axis} {value:g}" if value else {"deduplicate": "copies kept", "boost": "no boost"}[axis]
    return str(value)


def make_stack_limits_from_sweep_rules(ground: StackArrays) -> StackLimits:
    """Collect the limits that a stack must keep by the sweep's rules."""
    return StackLimits(ground.rules.sla_ms, ground.rules.budget, ground.rules.target)


def recommend_stack(ground: StackArrays, tunings: Sequence[FusionTuning] = ()) -> StackRecommendation:
    """The recommendation; of fusions that were tuned only one that is better on questions that did not choose it.
    UsageError where the measure that decides is nowhere defined."""
    measure, limits = ground.rules.measure, make_stack_limits_from_sweep_rules(ground)
    refused = {id for tuning in tunings for id in tuning.refused}
    stacks = [stack for stack in select_stacks_with_measures(ground, measure) if stack.id not in refused]
    choice = choose_stack(stacks, measure, limits, **ground.equal)
    places = [ground.place[stack.id] for stack in stacks]
    winners = choose_stack_in_each_resample(
        stacks, ground.resample_measure_of_stacks(measure)[:, places], ground.latency_replicates[:, places], limits,
        **ground.equal
    )  # fmt: skip
    ids, chosen = [stack.id for stack in stacks], choice.stack
    differences = measure_differences_from_stack(ground, measure, choice.nearest.id)
    alike = _list_indistinguishable_stacks(choice, differences)
    at = ids.index(chosen.id) if chosen else 0
    return StackRecommendation(
        measure=measure,
        rule=describe_choice_rule(ground),
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
        misses=measure_excess_over_stack_limits(choice.nearest, measure, limits) if chosen is None else {},
        resamples=ground.resamples,
        share=winners.share(at) if chosen else None,
        among_best=winners.compute_share_among_best(at) if chosen else None,
        none=winners.share(-1),
        runners=list_runner_up_shares(winners, ids, chosen.id if chosen else ""),
        by_axis=list_win_shares_by_axis_value(winners, [ground.configurations[i] for i in places]),
        alternatives=tuple(_find_alternative_stacks(ground, stacks, choice, alike, differences)) if chosen else (),
        undecided=tuple(_find_stack_nearest_to_distinguishable(choice.nearest, alike, differences)) if chosen else ()
    )  # fmt: skip


def select_stacks_with_measures(ground: StackArrays, *measures: str) -> list[StackCostLatencyQuality]:
    """Select the stacks that have all these measures; UsageError where none has."""
    missing = [name for name in measures if name not in ground.measures]
    if missing:
        raise UsageError(
            f"The sweep did not measure {', '.join(missing)}.", mend=f"It has: {', '.join(ground.measures)}."
        )
    stacks = ground.list_stacks_with_measures(measures)
    if not stacks:
        raise UsageError(
            f"{', '.join(measures)} is undefined for every query of every stack.",
            mend="Set rules.measure to a measure that the judgements define.",
        )
    return stacks


def measure_differences_from_stack(ground: StackArrays, measure: str, id: str) -> dict[str, Estimate]:
    """Each stack's measure less that of one stack, paired over queries."""
    place = ground.place[id]
    columns = {name: column - column[:, [place]] for name, column in ground.columns(measure).items()}
    return dict(zip(ground.ids, ground.estimate_column_means(columns), strict=True))


def measure_excess_over_stack_limits(
    stack: StackCostLatencyQuality, measure: str, limits: StackLimits
) -> dict[str, float]:
    """Measure by how much a stack misses each limit that it misses: time, dollars, quality."""
    missed = {}
    if limits.sla_ms is not None and stack.latency > limits.sla_ms:
        missed["milliseconds"] = stack.latency - limits.sla_ms
    if limits.budget is not None and stack.cost > limits.budget:
        missed["usd"] = stack.cost - limits.budget
    if limits.target is not None and stack.find_quality(measure) < limits.target - ROUNDING:
        missed["quality"] = limits.target - stack.find_quality(measure)
    return missed


def describe_choice_rule(ground: StackArrays) -> str:
    """Describe what is asked for, from the best quality under limits to a good enough fastest stack."""
    rules, parts = ground.rules, []
    if rules.sla_ms is not None:
        parts.append(f"at most {rules.sla_ms:g} ms (p{rules.percentile:g})")
    if rules.budget is not None:
        parts.append(f"at most ${rules.budget:g} per 1,000 queries")
    if rules.target is not None:
        parts.append(f"{rules.measure} of at least {rules.target:g}")
    what = f"the best {rules.measure}"
    if rules.target is not None:
        what = "the fastest stack, or the cheapest within jitter of it,"
    return what + (" with " + " and ".join(parts) if parts else ", ignoring cost and latency")


def _list_indistinguishable_stacks(
    choice: StackChoice, differences: Mapping[str, Estimate]
) -> list[StackCostLatencyQuality]:
    """List feasible stacks whose quality cannot be told apart from that of the chosen one."""
    return [
        stack for stack in choice.feasible
        if stack is not choice.stack and not is_difference_decided(differences[stack.id])
    ]  # fmt: skip


def is_difference_decided(difference: Estimate) -> bool:
    """Say whether the whole interval of a difference lies on one side of 0."""
    ends = find_estimate_range(difference)
    return ends is not None and not ends[0] <= 0 <= ends[1]


def _find_alternative_stacks(
    ground: StackArrays,
    stacks: Sequence[StackCostLatencyQuality],
    choice: StackChoice,
    alike: Sequence[StackCostLatencyQuality],
    differences: Mapping[str, Estimate],
) -> Iterator[AlternativeStack]:
    """The best of the cheaper, of the faster (by more than jitter) and of the better stacks; and of those that cannot
    be told apart from the chosen one the cheapest and the fastest, where they are cheaper or faster."""
    chosen, measure, limits = choice.nearest, ground.rules.measure, make_stack_limits_from_sweep_rules(ground)
    jitter, equal = ground.jitter_ms, ground.equal
    dear = chosen.cost * (1 - ground.rules.cost_share) - ROUNDING
    cheaper = [stack for stack in stacks if stack.cost < dear]
    faster = [stack for stack in stacks if stack.latency < chosen.latency - jitter]
    better = [stack for stack in stacks if stack.find_quality(measure) > chosen.find_quality(measure) + ROUNDING]
    named: list[tuple[str, StackCostLatencyQuality]] = []
    for kind, group in (("cheaper", cheaper), ("faster", faster)):
        if group:
            named.append((kind, choose_stack(group, measure, StackLimits(), **equal).nearest))
    if better:
        named.append(
            ("better", choose_stack(better, measure, StackLimits(limits.sla_ms, limits.budget), **equal).nearest)
        )
    for kind, key in (("cheapest alike", _cost_sort_key), ("fastest alike", _latency_sort_key)):
        best = min(alike, key=key, default=None)
        saves = best is not None and (
            best.cost < dear if kind.startswith("cheap") else best.latency < chosen.latency - jitter
        )
        if best is not None and saves:
            named.append((kind, best))
    for kind, stack in named:
        yield AlternativeStack(
            kind, stack.id, differences[stack.id], stack.latency - chosen.latency, stack.cost - chosen.cost,
            measure_excess_over_stack_limits(stack, measure, limits)
        )  # fmt: skip


def _find_stack_nearest_to_distinguishable(
    chosen: StackCostLatencyQuality, alike: Sequence[StackCostLatencyQuality], differences: Mapping[str, Estimate]
) -> Iterator[AlternativeStack]:
    """The stack whose difference from the chosen one is nearest to being told from 0; none where all differ in no
    resample."""
    nearness = {}
    for stack in alike:
        figure = differences[stack.id]
        if figure.value is not None and figure.low is not None:
            width = figure.width
            # An interval without width is one of no difference in any resample: no label would tell it from 0.
            nearness[stack.id] = abs(figure.value) / width if width > 0 else -1.0
    nearest = max(alike, key=lambda stack: nearness.get(stack.id, -1.0), default=None)
    if nearest is not None and nearness.get(nearest.id, -1.0) >= 0:
        apart = nearest.latency - chosen.latency, nearest.cost - chosen.cost
        yield AlternativeStack("alike", nearest.id, differences[nearest.id], *apart)


def _cost_sort_key(stack: StackCostLatencyQuality) -> tuple[float, float, str]:
    return stack.cost, stack.latency, stack.id


def _latency_sort_key(stack: StackCostLatencyQuality) -> tuple[float, float, str]:
    return stack.latency, stack.cost, stack.id
