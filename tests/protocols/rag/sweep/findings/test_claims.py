"""What a sweep says, held against what it measured, over sweeps and rules drawn at random."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from claims import Tables, walk
from embassay.protocols.rag.sweep.findings import compute_sweep_findings
from embassay.protocols.rag.sweep.findings.record import StackSummary, SweepDatasetFindings, SweepRulesPricesAndSeed
from embassay.protocols.rag.sweep.findings.sentences import list_sweep_claims
from embassay.protocols.rag.sweep.stacks import StackConfiguration, SweepMeasurements, SweepRules

from ..sweeps import constant, drawn

AXES: dict[str, Any] = {"encoder": ("wordllama", "minilm"), "k": (50, 100), "reranker": ("none", "cross")}


def random_sweep(seed: int) -> SweepMeasurements:
    """A sweep under random rules: with ties, with values of 0 and 1, with equal prices and with limits of any kind."""
    rng = np.random.default_rng([seed, 40])
    rules = SweepRules(
        sla_ms=float(rng.uniform(5, 500)) if rng.random() < 0.5 else None,
        budget=float(rng.choice([0.3, 0.6, 2.0])) if rng.random() < 0.4 else None,
        target=float(rng.uniform(0.4, 0.75)) if rng.random() < 0.5 else None,
        jitter_ms=float(rng.choice([0.0, 1.0, 20.0, 75.0])),
    )
    sweep = drawn({"sea": int(rng.integers(4, 40))}, rules, axes=AXES, seed=seed)
    decimals = int(rng.integers(0, 4))
    same = rng.random() < 0.3
    first = sweep.measured[0].quality
    measured = tuple(
        replace(
            row,
            quality={name: np.round(first[name] if same else value, decimals) for name, value in row.quality.items()},
            ceiling={},
            usd={"rerank": float(rng.choice([0.0, 0.5, 0.502]))},
        )
        for row in sweep.measured
    )  # fmt: skip
    return replace(sweep, measured=measured)


def tables_of(part: SweepDatasetFindings, asked: SweepRulesPricesAndSeed) -> Tables:
    """The values of a part by themselves, and who keeps the limits, counted anew."""
    valued = {stack.id: value for stack in part.stacks if (value := stack.value(asked.measure)) is not None}
    by_id = {stack.id: stack for stack in part.stacks}

    def keeps(name: str) -> bool:
        stack = by_id[name]
        return not (
            (asked.sla_ms is not None and stack.latency > asked.sla_ms)
            or (asked.budget is not None and stack.cost > asked.budget)
            or (asked.target is not None and valued[name] < asked.target - 1e-9)
        )

    chosen = part.recommendation.nearest
    level = {*part.recommendation.alike}
    return Tables(
        {
            asked.measure: valued,
            "milliseconds": {stack.id: stack.latency for stack in part.stacks},
            "usd": {stack.id: stack.cost for stack in part.stacks},
        },
        apart=lambda a, b: chosen in (a, b) and not {a, b} & level,
        keeps=keeps,
    )


def held(part: SweepDatasetFindings, asked: SweepRulesPricesAndSeed) -> int:
    """Every claim of a part, and the counts and words of its sentences."""
    tables, recommendation = tables_of(part, asked), part.recommendation
    made = list(list_sweep_claims(part, asked))
    able = [stack for stack in part.stacks if stack.id in tables.values[asked.measure] and tables.keeps(stack.id)]
    assert len(able) == recommendation.feasible
    if recommendation.stack:
        assert part.stack(recommendation.stack) in able
        assert "fastest of them" not in part.lede[0] or _is_fastest(part.stack(recommendation.stack), able)
        assert set(made[1].others) == {stack.id for stack in able} - {recommendation.stack}
    for alternative in recommendation.alternatives:
        over = "over the limits" in alternative.text or "misses the limits" in alternative.text
        assert over <= (not tables.keeps(alternative.stack)), alternative.text
        assert ("slower" in alternative.text) <= (alternative.milliseconds > asked.jitter_ms)
        assert ("more expensive" in alternative.text) <= (alternative.usd > 0)
    return walk(made, tables)


def _is_fastest(stack: StackSummary, able: list[StackSummary]) -> bool:
    return stack.latency == min(other.latency for other in able)


def test_every_claim_of_random_sweeps_holds() -> None:
    """Under any limits, with ties in quality, price and time."""
    walked = 0
    for seed in range(30):
        found = compute_sweep_findings(random_sweep(seed), resamples=40)
        walked += sum(held(part, found.asked) for part in found.parts)
    assert walked > 120


@pytest.mark.nightly
def test_every_claim_of_many_random_sweeps_holds() -> None:
    """The same at length."""
    for seed in range(1000, 1600):
        found = compute_sweep_findings(random_sweep(seed), resamples=40)
        for part in found.parts:
            held(part, found.asked)


def stacks(*rows: tuple[str, float, float, float]) -> list[Any]:
    """Name, price, time and quality of each."""
    return [(StackConfiguration(name), usd, ms, {"RA-nWG@10": quality}) for name, usd, ms, quality in rows]


def test_a_better_stack_that_keeps_the_limits_is_not_over_them() -> None:
    """With a target the rule takes the fastest that is good enough; a better one is slower, and over no limit."""
    rows = stacks(("fast", 0.0, 3.0, 0.6), ("good", 0.0, 200.0, 0.8), ("late", 0.0, 900.0, 0.9))
    part = compute_sweep_findings(constant(rows, SweepRules(target=0.5, jitter_ms=20.0)), resamples=10).parts[0]
    better = next(row for row in part.recommendation.alternatives if row.kind == "better")
    assert not better.misses
    assert "limits" not in better.text
    assert "slower" in better.text
    limited = compute_sweep_findings(constant(rows, SweepRules(sla_ms=300.0)), resamples=10).parts[0]
    over = next(row for row in limited.recommendation.alternatives if row.kind == "better")
    assert over.misses
    assert "over the limits" in over.text


def test_the_fastest_is_named_where_jitter_makes_another_one_equal() -> None:
    """15 ms and 0.5 ms count as equal within 20 ms of jitter; the cheaper one is taken, and not called so."""
    rows = stacks(("dear", 1.0, 0.5, 0.6), ("cheap", 0.0, 15.0, 0.7))
    part = compute_sweep_findings(constant(rows, SweepRules(target=0.5, jitter_ms=20.0)), resamples=10).parts[0]
    assert part.recommendation.stack.startswith("cheap")
    assert "it is the fastest" not in " ".join(part.lede)
    assert re.search(r"the fastest, dear\S*, takes 0\.500 ms", part.lede[0])


def test_wins_by_price_alone_say_so() -> None:
    """Stacks of one quality: the rule takes the cheapest in every resample, and the others are as good."""
    rows = stacks(("a", 0.0, 5.0, 0.6), ("b", 1.0, 5.0, 0.6), ("c", 2.0, 5.0, 0.6))
    part = compute_sweep_findings(constant(rows, SweepRules()), resamples=10).parts[0]
    sure = part.lede[2]
    assert (part.recommendation.share, len(part.recommendation.tied)) == (1.0, 2)
    assert "2 stacks of equal quality" in sure
    assert "in RA-nWG@10" in part.lede[3]


def test_none_is_cheaper_is_said_within_the_share_that_counts_as_equal() -> None:
    """A stack that is half a percent cheaper is cheaper, if by less than counts."""
    rows = stacks(("a", 0.5, 5.0, 0.6), ("b", 0.4990, 6.0, 0.6))
    part = compute_sweep_findings(constant(rows, SweepRules(cost_share=0.01)), resamples=10).parts[0]
    costs = {stack.id: stack.cost for stack in part.stacks}
    assert min(costs, key=lambda name: costs[name]) != part.recommendation.stack
    assert "cheaper by over 1%" in part.lede[3]
