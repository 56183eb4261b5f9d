"""Choosing one stack by an operator's rule: so many milliseconds, so many dollars, so good."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from embassay.errors import UsageError
from embassay.protocols.rag.tradeoffs.stack import COST_SHARE, JITTER_MS, ROUNDING, Stack


@dataclass(frozen=True)
class Limits:
    """What a stack must keep: milliseconds per query, US dollars per 1,000 queries, and a least quality. None: any."""

    sla_ms: float | None = None
    budget: float | None = None
    target: float | None = None

    def excesses(self, stack: Stack, measure: str) -> Iterator[float]:
        """By what share each limit is missed, 0 where it is kept."""
        for value, limit in ((stack.latency, self.sla_ms), (stack.cost, self.budget)):
            if limit is not None:
                yield max(0.0, value - limit) / (abs(limit) or 1.0)
        if self.target is not None:
            yield max(0.0, self.target - ROUNDING - stack.reaches(measure)) / (abs(self.target) or 1.0)


@dataclass(frozen=True)
class Choice:
    """The stack that the rule takes, or None where none keeps the limits; `nearest` then misses them least.

    `feasible` keep the limits. `tied` (with the chosen one) differ from the best by less than the rule can tell: they
    were decided by prompt, cost, time and id.
    """

    stack: Stack | None
    nearest: Stack
    feasible: tuple[Stack, ...]
    tied: tuple[Stack, ...]


def choose(
    stacks: Sequence[Stack],
    measure: str,
    limits: Limits = Limits(),
    *,
    jitter_ms: float = JITTER_MS,
    cost_share: float = COST_SHARE,
) -> Choice:
    """The best of the stacks that keep the limits.

    Without a target that is the one of highest quality. With one it is the fastest, latencies within `jitter_ms` of
    the smallest being equal, and of those the cheapest, costs within `cost_share` of the lowest being equal. What is
    equal then goes to the smaller prompt, the lower cost (equal as before), the higher quality, the lower latency, the
    id. UsageError for no stacks. Source: spec rag 3.5.
    """
    if not stacks:
        raise UsageError("There is no stack to choose from.", mend="Measure one at least.")
    feasible = [one for one in stacks if not any(limits.excesses(one, measure))]
    if not feasible:
        nearest = min(stacks, key=lambda one: (max(limits.excesses(one, measure)), *_order(one)))
        return Choice(None, nearest, (), ())
    if limits.target is None:
        tied = _lowest(feasible, lambda one: -one.reaches(measure), ROUNDING)
    else:
        tied = _lowest(_lowest(feasible, lambda one: one.latency, jitter_ms), _cost, ROUNDING, cost_share)
    left = _lowest(_lowest(tied, lambda one: one.prompt_tokens, 0.0), _cost, ROUNDING, cost_share)
    chosen = min(left, key=lambda one: (-one.reaches(measure), one.latency, one.id))
    return Choice(chosen, chosen, tuple(feasible), tuple(tied))


def _cost(stack: Stack) -> float:
    return stack.cost


def _lowest(
    stacks: Sequence[Stack], value: Callable[[Stack], float], within: float, share: float = 0.0
) -> list[Stack]:
    least = min(map(value, stacks))
    return [one for one in stacks if value(one) <= least + within + share * abs(least)]


def _order(stack: Stack) -> tuple[float, float, float, str]:
    return stack.prompt_tokens, stack.cost, stack.latency, stack.id
