"""What a sweep says of its recommendation: claims first, then the sentences that word them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from embassay.protocols.kernel import tables as numbers
from embassay.protocols.kernel.claims import VERBS, Claim
from embassay.protocols.rag.sweep.findings.record import (
    USE,
    AlternativeStack,
    FusionTuning,
    StackRecommendation,
    StackSummary,
    SweepDatasetFindings,
    SweepRulesPricesAndSeed,
    UnmeasuredStack,
    WinShare,
)
from embassay.protocols.rag.tradeoffs import ROUNDING
from embassay.stats import Estimate

HARDLY = 0.00005
"""Dollars that print as none."""


def format_ms_per_query(value: float) -> str:
    """Milliseconds per query, finer where they are few.

    >>> format_ms_per_query(332.9), format_ms_per_query(4.26), format_ms_per_query(0.0312)
    ('333 ms', '4.3 ms', '0.031 ms')
    """
    if abs(value) >= 99.5:
        return f"{numbers.format_score(value, 0)} ms"
    return f"{numbers.format_score(value, 1 if abs(value) >= 0.95 else 3)} ms"


def format_usd_per_1000_queries(value: float) -> str:
    """Dollars per 1,000 queries, finer where they are under a cent.

    >>> format_usd_per_1000_queries(1.25), format_usd_per_1000_queries(0.0042), format_usd_per_1000_queries(0.0)
    ('$1.25', '$0.0042', '$0')
    """
    if not value:
        return "$0"
    return f"${value:,.2f}" if abs(value) >= 0.00995 else f"${value:.4f}"


def format_ms_difference(value: float) -> str:
    """Format a difference of times in milliseconds.

    >>> format_ms_difference(145.9), format_ms_difference(-20.0)
    ('146 ms more', '20.0 ms less')
    """
    return f"{format_ms_per_query(abs(value))} {'more' if value >= 0 else 'less'}"


def format_usd_difference(value: float) -> str:
    """Format a difference of prices in dollars.

    >>> format_usd_difference(1.25), format_usd_difference(0.0)
    ('$1.25 more', 'at the same price')
    """
    if abs(value) < HARDLY:
        return "at the same price"
    return f"{format_usd_per_1000_queries(abs(value))} {'more' if value > 0 else 'less'}"


def format_score_with_interval(value: Estimate, *, signed: bool = False) -> str:
    """A score with its interval in brackets.

    >>> format_score_with_interval(Estimate(0.804, 0.77, 0.84, 50))
    '0.804 (0.770–0.840)'
    >>> format_score_with_interval(Estimate(-0.01, -0.02, 0.001, 50), signed=True)
    '−0.010 (−0.020 to 0.001)'
    """
    if value.value is None:
        return "n/a"
    text = numbers.format_change(value.value) if signed else numbers.format_score(value.value)
    return text if value.low is None else f"{text} ({numbers.format_interval(*value.ends)})"


def format_ratio_as_percent(value: float) -> str:
    """A ratio as percent with one decimal.

    >>> format_ratio_as_percent(0.929)
    '92.9%'
    """
    return f"{numbers.format_score(100 * value, 1)}%"


OFTEN = 0.5
"""A value of an axis that wins in more than half of the resamples is worth a word."""


def make_recommended_stack_heading(part: SweepDatasetFindings) -> str:
    """Phrase the heading: which stack to use, or that none keeps the limits."""
    recommendation = part.recommendation
    return f"Use {recommendation.stack}" if recommendation.stack else "No stack meets the limits"


def list_qualifying_stacks(part: SweepDatasetFindings, asked: SweepRulesPricesAndSeed) -> tuple[StackSummary, ...]:
    """List the stacks that keep every limit of the rules and reach its target."""
    return tuple(
        stack
        for stack in part.stacks
        if stack.value(asked.measure) is not None and not _is_stack_outside_limits(stack, asked)
    )


def _is_stack_outside_limits(stack: StackSummary, asked: SweepRulesPricesAndSeed) -> bool:
    over = asked.sla_ms is not None and stack.latency > asked.sla_ms
    dear = asked.budget is not None and stack.cost > asked.budget
    short = asked.target is not None and (stack.value(asked.measure) or 0.0) < asked.target - ROUNDING
    return over or dear or short


def list_sweep_claims(part: SweepDatasetFindings, asked: SweepRulesPricesAndSeed) -> Iterator[Claim]:
    """List the claims about the recommended stack and those named beside it."""
    recommendation = part.recommendation
    able = tuple(stack.id for stack in list_qualifying_stacks(part, asked))
    if not recommendation.stack:
        yield Claim(recommendation.nearest, "misses", "limits", of=recommendation.stacks)
        return
    stack = recommendation.stack
    yield Claim(stack, "keeps", "limits", n=len(able), of=recommendation.stacks)
    yield make_chosen_stack_claim(part, asked)
    yield Claim(
        stack, "level", recommendation.measure, recommendation.alike,
        n=len(recommendation.alike), of=len(able) - 1
    )  # fmt: skip
    for alternative in recommendation.alternatives:
        yield from _list_claims_about_alternative_stack(alternative, recommendation, asked)


def make_chosen_stack_claim(part: SweepDatasetFindings, asked: SweepRulesPricesAndSeed) -> Claim:
    """What the recommended stack is among those that qualify: of the highest quality, or where a target is set the
    fastest, or as fast as the fastest but for jitter."""
    able, chosen = list_qualifying_stacks(part, asked), part.stack(part.recommendation.stack)
    others = tuple(stack.id for stack in able if stack is not chosen)
    if asked.target is None:
        return Claim(chosen.id, "most", asked.measure, others, chosen.value(asked.measure))
    least = min(stack.latency for stack in able)
    if chosen.latency <= least:
        return Claim(chosen.id, "least", "milliseconds", others, chosen.latency)
    return Claim(chosen.id, "near least", "milliseconds", others, chosen.latency, asked.jitter_ms)


def _list_claims_about_alternative_stack(
    alternative: AlternativeStack, recommendation: StackRecommendation, asked: SweepRulesPricesAndSeed
) -> Iterator[Claim]:
    """List what an alternative's kind says of it, and whether it keeps the limits."""
    name, chosen, kind = alternative.stack, (recommendation.stack,), alternative.kind
    if kind in ("cheaper", "cheapest alike"):
        yield Claim(name, "less", "usd", chosen, margin=0.0, kind=kind)
    if kind in ("faster", "fastest alike"):
        yield Claim(name, "less", "milliseconds", chosen, margin=asked.jitter_ms, kind=kind)
    if kind == "better":
        yield Claim(name, "higher", recommendation.measure, chosen, kind=kind)
    if kind.endswith("alike"):
        yield Claim(name, "level", recommendation.measure, chosen, kind=kind)
    yield Claim(name, "misses" if alternative.misses else "keeps", "limits", kind=kind)


def list_sweep_lede_sentences(part: SweepDatasetFindings, asked: SweepRulesPricesAndSeed) -> Iterator[str]:
    """List the sentences on how good, how fast, how dear, how sure, and what else may do."""
    recommendation = part.recommendation
    if not recommendation.stack:
        yield from _phrase_infeasible_lede(part, asked)
        return
    stack = part.stack(recommendation.stack)
    yield _phrase_stack_choice(part, asked)
    yield f"{_phrase_stack_time(stack, asked)} and costs {_phrase_stack_price(stack, asked)}."
    yield _phrase_choice_certainty(recommendation)
    if recommendation.alike:
        yield _describe_equally_good_stacks(recommendation, asked)


def _phrase_stack_choice(part: SweepDatasetFindings, asked: SweepRulesPricesAndSeed) -> str:
    """Phrase among how many stacks one was chosen, and what it is among these."""
    recommendation, claim = part.recommendation, make_chosen_stack_claim(part, asked)
    quality = _phrase_stack_quality(part.stack(claim.subject), recommendation.measure)
    stacks = numbers.format_noun_count(recommendation.stacks, "stack")
    if claim.relation == "most":
        return f"Of {stacks}, it has {recommendation.rule}: {quality}."
    reach = f"{recommendation.feasible:,} of {stacks} {'is' if recommendation.feasible == 1 else 'are'} good enough"
    if claim.relation == "least":
        return f"{reach} (you asked for {recommendation.rule}), and it is the fastest of them: {quality}."
    fastest = min(list_qualifying_stacks(part, asked), key=lambda stack: (stack.latency, stack.id))
    return (
        f"{reach} (you asked for {recommendation.rule}); the fastest, {fastest.id}, takes "
        f"{format_ms_per_query(fastest.latency)}, which counts as equal (jitter {describe_latency_jitter(asked)}): "
        f"{quality}."
    )


def add_texts_to_alternatives(
    recommendation: StackRecommendation, asked: SweepRulesPricesAndSeed
) -> tuple[AlternativeStack, ...]:
    """Describe the alternatives in words; one that stands for several kinds is told once."""
    kinds: dict[str, list[str]] = {}
    for alternative in recommendation.alternatives:
        kinds.setdefault(alternative.stack, []).append(alternative.kind)
    return tuple(
        replace(other, text=_describe_alternative_stack(other, kinds[other.stack], recommendation.measure, asked))
        if kinds[other.stack][0] == other.kind
        else other
        for other in recommendation.alternatives
    )


def _describe_alternative_stack(
    alternative: AlternativeStack, kinds: Sequence[str], measure: str, asked: SweepRulesPricesAndSeed
) -> str:
    """Describe what another choice would give and take."""
    names = [_explain_why_alternative_is_named(kind, alternative, measure, asked) for kind in kinds]
    named = " and ".join([names[0], *(name[0].lower() + name[1:] for name in names[1:])])
    time = format_ms_difference(alternative.milliseconds)
    if abs(alternative.milliseconds) <= asked.jitter_ms:
        time += " (within jitter)"
    over = f"; it misses the limits by {_phrase_missed_limits(alternative.misses)}" if alternative.misses else ""
    return (
        f"{named}, {alternative.stack}: {format_score_with_interval(alternative.quality, signed=True)} of {measure}, "
        f"{time}, {format_usd_difference(alternative.usd)}{over}."
    )


def _explain_why_alternative_is_named(
    kind: str, alternative: AlternativeStack, measure: str, asked: SweepRulesPricesAndSeed
) -> str:
    """Explain why an alternative is named, by its numbers."""
    if kind == "better":
        return f"Higher {measure}, but {_explain_alternative_stack_rejection(alternative, asked)}"
    return {
        "cheaper": "The best cheaper stack",
        "faster": f"The best stack that is faster by more than {describe_latency_jitter(asked)}",
        "cheapest alike": f"The cheapest stack that {VERBS['level']} it",
        "fastest alike": f"The fastest stack that {VERBS['level']} it",
    }[kind]


def _explain_alternative_stack_rejection(alternative: AlternativeStack, asked: SweepRulesPricesAndSeed) -> str:
    """Explain what a stack of higher quality was not taken for: a limit, its time or its price."""
    if alternative.misses:
        return "over the limits"
    if alternative.milliseconds > asked.jitter_ms:
        return "slower"
    return "more expensive" if alternative.usd > 0 else "ranked lower by the rule"


def list_sweep_notes(
    part: SweepDatasetFindings, asked: SweepRulesPricesAndSeed, left: Sequence[UnmeasuredStack]
) -> Iterator[str]:
    """List notes on what to know before believing a number."""
    if len(part.datasets) > 1:
        yield (f"Means over {len(part.datasets)} equally weighted datasets, for the stacks measured on all of them.")
    yield from map(_phrase_fusion_tuning, part.tunings)
    if (total := part.stacks[0].time("total")) is not None:
        few = " (too few for a 95th percentile)" if total.few else ""
        measured = " (95th percentile of differences between two sessions)" if asked.jitter_measured else ""
        yield (
            f"Times are based on {numbers.format_noun_count(part.timed, 'query')} in "
            f"{numbers.format_noun_count(part.sessions, 'session')}, "
            f"{numbers.format_noun_count(total.samples, 'sample')} each{few}; "
            f"differences of up to {describe_latency_jitter(asked)} count as jitter{measured}."
        )
    if part.generation is not None:
        yield f"Generating answers takes extra time, which end-to-end efficiency includes. {part.generation.text}"
    yield from (
        (
            f"{index.index} is within 1% of exact recall at ef {index.ef} and above "
            f"({index.encoder}{f', {index.dims} dimensions' if index.dims else ''}; determined on half of the queries)."
        )
        for index in part.indexes
        if index.ef is not None
    )
    yield _note_machine_load(asked)
    if part.recommendation.near:
        near = len(part.recommendation.near)
        differ = "differs" if near == 1 else "differ"
        stacks = numbers.format_noun_count(near, "feasible stack")
        yield f"{stacks} {differ} in latency from the recommended stack by at most {describe_latency_jitter(asked)}."
    qualities = [quality for stack in part.stacks for quality in stack.quality]
    undefined = {quality.value.n for quality in qualities if quality.measure == asked.measure}
    if undefined and min(undefined) < part.queries:
        yield (
            f"{asked.measure} is defined for {min(undefined)} of "
            f"{numbers.format_noun_count(part.queries, 'query')}; the others have nothing to find."
        )
    mine = [row for row in left if row.dataset in part.datasets]
    failed = sum(row.failed for row in mine)
    if mine:
        yield (
            f"Not measured: {numbers.format_noun_count(len(mine), 'combination')} ({len(mine) - failed} "
            f"invalid, {failed} failed)."
        )


def _phrase_fusion_tuning(tuning: FusionTuning) -> str:
    """Phrase what tuning the fusion brings on other questions, beside what it seems to bring."""
    first, of = tuning.fusions[0], f"{tuning.stack}, {len(tuning.fusions)} fusions"
    if tuning.best is None or tuning.honest is None:
        return f"{of}: cannot be tuned because no question has a value."
    questions = numbers.format_noun_count(tuning.questions, "question")
    only = "" if tuning.verdict == USE else f", so only {first} is recommended"
    gain = f". Gain over {first}, all compared at once: {format_score_with_interval(tuning.gain, signed=True)}"
    return (
        f"{of}: {tuning.chosen} is best on the {questions} used to choose it ({tuning.best:.3f}; cross-validated: "
        f"{tuning.honest:.3f}){gain if tuning.chosen != first else ''}: {tuning.verdict}{only}."
    )


def _phrase_stack_quality(stack: StackSummary, measure: str) -> str:
    quality = stack.find_measured_quality(measure)
    if quality is None:
        return f"no {measure}"
    reached = quality.reached.value if quality.reached is not None else None
    share = f", {format_ratio_as_percent(reached)} of what its candidates allow" if reached is not None else ""
    score = format_score_with_interval(quality.value)
    return f"{score} over {numbers.format_noun_count(quality.value.n, 'query')}{share}"


def _phrase_stack_time(stack: StackSummary, asked: SweepRulesPricesAndSeed) -> str:
    total = stack.time("total")
    if total is None:
        return f"It takes {format_ms_per_query(stack.latency)}"
    few = "only " if total.few else ""
    shown = "" if asked.percentile in (50.0, 95.0) else f"p{asked.percentile:g} {format_ms_per_query(stack.latency)}, "
    busy = " on a busy machine" if asked.was_machine_busy else ""
    return (
        f"A query takes {format_ms_per_query(total.p50)}{busy} ({shown}p95 {format_ms_per_query(total.p95)}; "
        f"{few}{numbers.format_noun_count(total.samples, 'sample')} of "
        f"{numbers.format_noun_count(total.queries, 'query')})"
    )


def describe_latency_jitter(asked: SweepRulesPricesAndSeed) -> str:
    """Describe the jitter of latencies in words: as given, or as measured."""
    return format_ms_per_query(asked.jitter_ms) if asked.jitter_measured else f"{asked.jitter_ms:g} ms"


def _note_machine_load(asked: SweepRulesPricesAndSeed) -> str:
    """Note how busy the machine was."""
    if asked.load is None:
        return "How busy the machine was during timing is unknown."
    load = (
        f"load average of up to {numbers.format_score(asked.load, 1)} on "
        f"{numbers.format_noun_count(asked.cores, 'core')}"
    )
    if not asked.was_machine_busy:
        return f"During timing, the machine had a {load}."
    return (
        f"The machine was busy during timing ({load}), so the times are too long. Measure "
        "again on an idle machine, in a new folder."
    )


def _phrase_stack_price(stack: StackSummary, asked: SweepRulesPricesAndSeed) -> str:
    if not stack.cost:
        return "nothing"
    usd = format_usd_per_1000_queries(stack.cost)
    return f"{usd} per 1,000 queries (prices as of {numbers.format_date(asked.priced_on)})"


def _phrase_choice_certainty(recommendation: StackRecommendation) -> str:
    """Phrase how often the rule takes the same stack, and what wins with it."""
    share = numbers.format_percent(recommendation.share or 0.0)
    text = f"It wins {share} of {numbers.format_count(recommendation.resamples)} resamples"
    if recommendation.runners:
        first = recommendation.runners[0]
        text += f", and {first.name} wins {numbers.format_percent(first.share)}"
    axes = [
        share
        for share in recommendation.by_axis
        if share.share > OFTEN and share.axis in ("mode", "reranker", "encoder")
    ]
    if axes and recommendation.share is not None and recommendation.share < 1:
        text += "; " + ", ".join(
            f"{_describe_stacks_with_value(axis)} win {numbers.format_percent(axis.share)}" for axis in axes
        )
    if recommendation.tied:
        n = numbers.format_noun_count(len(recommendation.tied), "stack")
        text += f". Only prompt length, price or time ranks it above {n} of equal quality"
    return text + "."


def _describe_stacks_with_value(share: WinShare) -> str:
    """All stacks that have a value of an axis."""
    if share.axis == "mode":
        return f"{share.name} stacks"
    return "stacks without a reranker" if share.name == "no reranker" else f"stacks with {share.name}"


def _describe_equally_good_stacks(recommendation: StackRecommendation, asked: SweepRulesPricesAndSeed) -> str:
    """Describe how many others are as good by the data, and if one of them is cheaper or faster."""
    limited = any(limit is not None for limit in (asked.sla_ms, asked.budget, asked.target))
    others = f"{len(recommendation.alike)} of the {recommendation.feasible - 1} other stacks"
    others += " that meet the limits" if limited else ""
    text = f"{others} {VERBS['level']} it in {recommendation.measure}"
    by_kind = {alternative.kind: alternative for alternative in recommendation.alternatives}
    cheap, fast = by_kind.get("cheapest alike"), by_kind.get("fastest alike")
    if cheap is not None:
        return f"{text}; the cheapest of them, {cheap.stack}, costs {format_usd_per_1000_queries(-cheap.usd)} less."
    if fast is not None:
        return f"{text}; the fastest of them, {fast.stack}, takes {format_ms_per_query(-fast.milliseconds)} less."
    by = f" by over {100 * asked.cost_share:g}%" if asked.cost_share else ""
    return f"{text}, and none of them is cheaper{by} or faster by more than the jitter."


def _phrase_infeasible_lede(part: SweepDatasetFindings, asked: SweepRulesPricesAndSeed) -> Iterator[str]:
    recommendation = part.recommendation
    stack = part.stack(recommendation.nearest)
    yield (
        f"You asked for {recommendation.rule}, but none of the "
        f"{numbers.format_noun_count(recommendation.stacks, 'stack')} meets this."
    )
    yield (
        f"The nearest is {recommendation.nearest}: {_phrase_stack_quality(stack, recommendation.measure)}. "
        f"{_phrase_stack_time(stack, asked)} and costs {_phrase_stack_price(stack, asked)}."
    )
    yield _phrase_needed_limits(recommendation.misses)


def _phrase_needed_limits(misses: Mapping[str, float]) -> str:
    """Phrase what the limits would have to be for the nearest stack."""
    limits = {name: value for name, value in misses.items() if name != "quality"}
    more = [f"limits {_phrase_missed_limits(limits)} higher"] if limits else []
    lower = [f"a target {numbers.format_score(misses['quality'])} lower"] if "quality" in misses else []
    return f"It would qualify with {' and '.join([*more, *lower])}."


def _phrase_missed_limits(misses: Mapping[str, float]) -> str:
    words = {"milliseconds": format_ms_per_query, "usd": format_usd_per_1000_queries, "quality": numbers.format_score}
    units = {"milliseconds": "", "usd": " per 1,000 queries", "quality": " of quality"}
    return " and ".join(f"{words[name](value)}{units[name]}" for name, value in misses.items())
