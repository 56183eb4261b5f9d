"""Cost, latency, memory and quality weighed against each other: pure functions on what was measured (spec rag 3)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from embassay.errors import UsageError
from embassay.protocols.kernel.forecast import sample_texts_evenly
from embassay.search.bm25 import split_words

__all__ = [
    "StackChoice",
    "StackCostLatencyQuality",
    "StackGain",
    "StackLimits",
    "average_weighted_measures",
    "choose_stack",
    "compute_hnsw_graph_bytes",
    "compute_marginal_stack_gain",
    "compute_passage_reading_cost",
    "compute_performance_per_second",
    "compute_reranking_cost",
    "compute_stored_vector_bytes",
    "estimate_product_quantized_bytes",
    "find_undominated_stacks",
]

_PER_PASSAGE, _PER_WORD, _PER_POSTING = 400, 5, 56
"""Bytes of ids and places, of a word as a number while documents are read, and of a score while they are laid out."""


def estimate_word_index_bytes(texts: Sequence[str], passages: int, asked: Iterable[str]) -> int:
    """Estimate the bytes of so many passages, as `texts`, in an index of words of queries `asked`."""
    vocab, sample = {word for query in asked for word in split_words(query)}, sample_texts_evenly(texts)
    lists = [split_words(text) for text in sample]
    size = _PER_PASSAGE + sum(
        _PER_WORD * len(row) + _PER_POSTING * (1 + len(vocab.intersection(row))) for row in lists
    ) / max(1, len(lists))
    return round(1.25 * size * passages)


_QUERIES = 1000


def compute_reranking_cost(k: int, tokens: float, usd_per_million: float) -> float:
    """Compute the US dollars for reranking the `k` candidates of each of 1,000 queries.

    `tokens` are those of one candidate: the query, the passage and its metadata, for the query is read once per
    candidate. Source: spec rag 3.1.

    >>> compute_reranking_cost(50, 500, 0.05)
    1.25
    """
    return _QUERIES * k * tokens * usd_per_million / 1e6


def compute_passage_reading_cost(passages: int, tokens: float, usd_per_million: float) -> float:
    """US dollars for the passages that a generator reads for each of 1,000 queries, each of so many `tokens`; what it
    writes is not counted. Source: spec rag 3.1.

    >>> compute_passage_reading_cost(10, 500, 1.25)
    6.25
    """
    return _QUERIES * passages * tokens * usd_per_million / 1e6


WEIGHTS: Mapping[str, float] = {
    "N-Recall4+@10": 1.0, "RA-nWG@10": 1.0, "N-Recall4+@30": 1.0, "RA-nWG@30": 1.0
}  # fmt: skip
"""What the average performance is the mean of."""


def average_weighted_measures(quality: Mapping[str, float], weights: Mapping[str, float] = WEIGHTS) -> float:
    """Average measures by weights; UsageError where one is missing or the weights have no sum."""
    missing = [name for name in weights if name not in quality]
    total = sum(weights.values())
    if missing or not total > 0:
        raise UsageError(
            f"The average performance needs {', '.join(missing) or 'weights above 0'}.",
            mend="Measure them at 10 and 30.",
        )
    return sum(quality[name] * weight for name, weight in weights.items()) / total


def compute_performance_per_second(performance: float, milliseconds: float) -> float:
    """Performance per second. The published leaderboard takes the reranker's median time for `milliseconds`, the
    end-to-end variant that of the whole query. UsageError for no time.

    >>> round(compute_performance_per_second(0.817, 332.9), 3)
    2.454
    """
    if not milliseconds > 0:
        raise UsageError(f"The time is {milliseconds:g} ms.", mend="Use a time above 0.")
    return performance / (milliseconds / 1000)


JITTER_MS = 75.0
"""Latencies that differ by less are not told apart, where the jitter was not measured (spec rag 3.2)."""
COST_SHARE = 0.01
"""Costs that differ by less of the larger are equal: the mean length of what was reranked moves them by as much."""
ROUNDING = 1e-9
"""Qualities that differ by less are equal: sums of floats in another order (spec rag, trap 8)."""


@dataclass(frozen=True)
class StackCostLatencyQuality:
    """A configuration's measured cost, latency and quality.

    `cost` in US dollars per 1,000 queries, `latency` in milliseconds per query (the percentile that is compared),
    `quality` by the name of the measure, higher is better. `prompt_tokens` are those of the K passages that the
    generator is given.
    """

    id: str
    cost: float
    latency: float
    quality: Mapping[str, float] = field(default_factory=dict)
    prompt_tokens: float = 0.0

    def find_quality(self, measure: str) -> float:
        """Find the stack's quality by this measure; UsageError where it was not measured."""
        try:
            return self.quality[measure]
        except KeyError:
            raise UsageError(
                f"The stack {self.id!r} has no {measure}.", mend=f"It has: {', '.join(self.quality) or 'none'}."
            ) from None


Axis = Literal["cost", "latency"]
Dominance = Literal["pareto", "strict"]


def find_undominated_stacks(
    stacks: Sequence[StackCostLatencyQuality],
    quality: Sequence[str],
    *,
    axes: Sequence[Axis] = ("cost", "latency"),
    dominance: Dominance = "pareto",
    slo_ms: float | None = None,
    cost_share: float = 0.0,
    jitter_ms: float = 0.0,
) -> list[StackCostLatencyQuality]:
    """Find the stacks that are not dominated, in the order given.

    Cost and latency (`axes`) are to be low, each measure of `quality` high. `pareto`: one stack dominates another that
    is no better anywhere and worse somewhere. `strict`: only one that is better everywhere (the paper's wording). Equal
    stacks all stay. With `slo_ms` only stacks of at most that latency take part. Costs within `cost_share` of the
    larger and latencies within `jitter_ms` are equal. UsageError for no objective. Source: spec rag 3.5, ambiguity 10.

    >>> a, b, c = (StackCostLatencyQuality("a", 1, 300, {"Q": 0.8}), StackCostLatencyQuality("b", 2, 400, {"Q": 0.7}),
    ... StackCostLatencyQuality("c", 2, 200, {"Q": 0.6}))
    >>> [one.id for one in find_undominated_stacks([a, b, c], ["Q"])]
    ['a', 'c']
    """
    if dominance not in ("pareto", "strict") or not (quality or axes) or set(axes) - {"cost", "latency"}:
        raise UsageError(
            f"Cannot compute a {dominance!r} frontier by {[*axes, *quality]}.",
            mend="Use cost, latency and measures, and 'pareto' or 'strict' as dominance.",
        )
    running = [stack for stack in stacks if slo_ms is None or stack.latency <= slo_ms]
    if not running:
        return []
    values = np.array(
        [[*(-getattr(stack, axis) for axis in axes), *map(stack.find_quality, quality)] for stack in running]
    )
    beaten = _is_dominated_strictly if dominance == "strict" else _is_dominated_pareto
    share = np.array([cost_share if axis == "cost" else 0.0 for axis in (*axes, *quality)])
    least = np.array([jitter_ms if axis == "latency" else 0.0 for axis in (*axes, *quality)])
    return [
        stack for stack, row in zip(running, values, strict=True)
        if not beaten(values, row, ROUNDING + least + share * np.maximum(np.abs(values), np.abs(row)))
    ]  # fmt: skip


Floats = NDArray[np.float64]


def _is_dominated_pareto(values: Floats, row: Floats, equal: Floats) -> bool:
    better, worse = values > row + equal, values < row - equal
    return bool((~worse.any(axis=1) & better.any(axis=1)).any())


def _is_dominated_strictly(values: Floats, row: Floats, equal: Floats) -> bool:
    return bool((values > row + equal).all(axis=1).any())


Kind = Literal["gain", "loss", "free", "within jitter"]


@dataclass(frozen=True)
class StackGain:
    """The gain from one stack to another: in quality, milliseconds and dollars per 1,000 queries.

    `per_ms` is quality per millisecond, None where the times cannot be told apart (`within jitter`) or the step is
    `free`: no slower and no worse.
    """

    quality: float
    milliseconds: float
    usd: float
    per_ms: float | None
    kind: Kind


def compute_marginal_stack_gain(
    less: StackCostLatencyQuality, more: StackCostLatencyQuality, measure: str, *, jitter_ms: float = JITTER_MS
) -> StackGain:
    """Compute the step from `less` to `more` by this measure. Source: spec rag 3.5."""
    quality = more.find_quality(measure) - less.find_quality(measure)
    milliseconds, usd = more.latency - less.latency, more.cost - less.cost
    if abs(milliseconds) <= jitter_ms:
        return StackGain(quality, milliseconds, usd, None, "within jitter")
    if milliseconds <= 0 and quality >= 0:
        return StackGain(quality, milliseconds, usd, None, "free")
    return StackGain(quality, milliseconds, usd, quality / milliseconds, "gain" if quality > 0 else "loss")


def compute_stored_vector_bytes(n: int, dim: int, *, bytes_per_value: int = 4) -> int:
    """Compute the bytes of the vectors themselves: 4 a value for float32, 1 for int8.

    >>> compute_stored_vector_bytes(1_000_000, 1024) / 2**30
    3.814697265625
    """
    return n * dim * bytes_per_value


def compute_hnsw_graph_bytes(n: int, *, m: int = 16, id_bytes: int = 4) -> float:
    """The links of an HNSW graph of `n` vectors: 2m on the lowest level, m on each above, where one of m vectors goes
    on; and 24 bytes of administration each. int8 vectors do not shrink it. UsageError for m below 2.

    >>> round(compute_hnsw_graph_bytes(1_000_000) / 2**30, 6)
    0.145535
    """
    if m < 2:
        raise UsageError(f"A graph with {m} links per vector has no levels.", mend="Use an m of 2 or more.")
    return n * (id_bytes * (2 * m + m / (m - 1)) + 24)


def estimate_product_quantized_bytes(n: int, dim: int, *, m: int, rotated: bool = False) -> int:
    """Product quantisation: `m` bytes a vector and m codebooks of 256 parts each, with OPQ (`rotated`) a matrix too.
    UsageError where m does not divide the dimensions.

    >>> estimate_product_quantized_bytes(1_000_000, 384, m=48)
    48393216
    """
    if m < 1 or dim % m:
        raise UsageError(f"{dim} dimensions cannot be split into {m} equal parts.", mend="Use an m that divides them.")
    return n * m + 256 * dim * 4 + (dim * dim * 4 if rotated else 0)


@dataclass(frozen=True)
class StackLimits:
    """What a stack must keep: milliseconds per query, US dollars per 1,000 queries, and a least quality. None: any."""

    sla_ms: float | None = None
    budget: float | None = None
    target: float | None = None

    def list_relative_limit_excesses(self, stack: StackCostLatencyQuality, measure: str) -> Iterator[float]:
        """List by what share each limit is exceeded, 0 where it is kept."""
        for value, limit in ((stack.latency, self.sla_ms), (stack.cost, self.budget)):
            if limit is not None:
                yield max(0.0, value - limit) / (abs(limit) or 1.0)
        if self.target is not None:
            yield max(0.0, self.target - ROUNDING - stack.find_quality(measure)) / (abs(self.target) or 1.0)


@dataclass(frozen=True)
class StackChoice:
    """The stack that the rule takes, or None where none keeps the limits; `nearest` then misses them least.

    `feasible` keep the limits. `tied` (with the chosen one) differ from the best by less than the rule can tell: they
    were decided by prompt, cost, time and id.
    """

    stack: StackCostLatencyQuality | None
    nearest: StackCostLatencyQuality
    feasible: tuple[StackCostLatencyQuality, ...]
    tied: tuple[StackCostLatencyQuality, ...]


def choose_stack(
    stacks: Sequence[StackCostLatencyQuality],
    measure: str,
    limits: StackLimits = StackLimits(),
    *,
    jitter_ms: float = JITTER_MS,
    cost_share: float = COST_SHARE,
) -> StackChoice:
    """Choose the best of the stacks that keep the limits.

    Without a target that is the one of highest quality. With one it is the fastest, latencies within `jitter_ms` of
    the smallest being equal, and of those the cheapest, costs within `cost_share` of the lowest being equal. What is
    equal then goes to the smaller prompt, the lower cost (equal as before), the lower latency, the higher quality, the
    id. UsageError for no stacks. Source: spec rag 3.5.
    """
    if not stacks:
        raise UsageError("There are no stacks to choose from.", mend="Measure at least one.")
    feasible = [stack for stack in stacks if not any(limits.list_relative_limit_excesses(stack, measure))]
    if not feasible:
        nearest = min(
            stacks,
            key=lambda stack: (max(limits.list_relative_limit_excesses(stack, measure)), *_stack_sort_key(stack)),
        )
        return StackChoice(None, nearest, (), ())
    if limits.target is None:
        tied = _find_stacks_near_lowest_value(feasible, lambda stack: -stack.find_quality(measure), ROUNDING)
    else:
        tied = _find_stacks_near_lowest_value(
            _find_stacks_near_lowest_value(feasible, lambda stack: stack.latency, jitter_ms),
            _stack_cost,
            ROUNDING,
            cost_share,
        )
    # By prompt, then by cost within its tolerance, so no single sort key would do.
    left = _find_stacks_near_lowest_value(
        _find_stacks_near_lowest_value(tied, lambda stack: stack.prompt_tokens, 0.0), _stack_cost, ROUNDING, cost_share
    )
    chosen = min(left, key=lambda stack: (stack.latency, -stack.find_quality(measure), stack.id))
    return StackChoice(chosen, chosen, tuple(feasible), tuple(tied))


def _stack_cost(stack: StackCostLatencyQuality) -> float:
    return stack.cost


def _find_stacks_near_lowest_value(
    stacks: Sequence[StackCostLatencyQuality],
    value: Callable[[StackCostLatencyQuality], float],
    within: float,
    share: float = 0.0,
) -> list[StackCostLatencyQuality]:
    least = min(map(value, stacks))
    return [stack for stack in stacks if value(stack) <= least + within + share * abs(least)]


def _stack_sort_key(stack: StackCostLatencyQuality) -> tuple[float, float, float, str]:
    return stack.prompt_tokens, stack.cost, stack.latency, stack.id
