"""The published costs, frontiers, choices and ratios follow from the published inputs (spec rag 6)."""

from __future__ import annotations

import pytest

from embassay.protocols.rag.tradeoffs import (
    StackCostLatencyQuality,
    StackLimits,
    average_weighted_measures,
    choose_stack,
    compute_hnsw_graph_bytes,
    compute_marginal_stack_gain,
    compute_passage_reading_cost,
    compute_performance_per_second,
    compute_reranking_cost,
    compute_stored_vector_bytes,
    find_undominated_stacks,
)

GIB = 2**30
STRONG, LITE = 0.05, 0.02
SCENARIOS = [
    StackCostLatencyQuality(name, cost, latency, {"RA@10": at_10, "RA@30": at_30}, prompt_tokens=0)
    for name, cost, latency, at_10, at_30 in [
        ("base", 1.25, 332.9, 0.804, 0.810),
        ("saver", 0.50, 403.8, 0.692, 0.732),
        ("push", 2.50, 478.1, 0.791, 0.828),
        ("small", 2.50, 483.1, 0.793, 0.824),
        ("highK", 5.00, 2931.1, 0.792, 0.818),
    ]
]
MODELS = ("large-1024", "base-1024", "base-2048", "base-512", "lite-1024")
LITE_ROWS = {
    50: [
        (369.3, 0.746, 0.781), (352.2, 0.767, 0.799), (405.4, 0.759, 0.804),
        (339.5, 0.769, 0.811), (403.8, 0.692, 0.732),
    ],
    100: [
        (415.5, 0.749, 0.792), (413.9, 0.759, 0.782), (474.6, 0.765, 0.795),
        (418.2, 0.760, 0.794), (411.3, 0.714, 0.737),
    ],
    150: [
        (537.3, 0.771, 0.797), (515.9, 0.764, 0.788), (611.7, 0.759, 0.784),
        (557.3, 0.770, 0.791), (530.5, 0.747, 0.779),
    ],
    200: [
        (639.2, 0.771, 0.786), (644.8, 0.764, 0.792), (715.3, 0.764, 0.785),
        (694.0, 0.770, 0.788), (695.8, 0.751, 0.782),
    ],
}  # fmt: skip
LITE_STACKS = [
    StackCostLatencyQuality(f"{model} K{k}", k * 0.01, latency, {"RA@10": at_10, "RA@30": at_30})
    for k, rows in LITE_ROWS.items()
    for model, (latency, at_10, at_30) in zip(MODELS, rows, strict=True)
]


def ids(stacks: list[StackCostLatencyQuality]) -> set[str]:
    return {one.id for one in stacks}


@pytest.mark.parametrize(
    ("usd", "tokens", "published"),
    [
        (STRONG, 500, [1.25, 2.50, 3.75, 5.00]),
        (LITE, 500, [0.50, 1.00, 1.50, 2.00]),
        (STRONG, 515, [1.2875, 2.575, 3.8625, 5.15]),
    ],
)
def test_costs_of_reranking(usd: float, tokens: int, published: list[float]) -> None:
    assert [compute_reranking_cost(k, tokens, usd) for k in (50, 100, 150, 200)] == pytest.approx(published)


@pytest.mark.parametrize(
    ("passages", "published"), [(10, [6.25, 1.25, 0.25]), (20, [12.5, 2.5, 0.5]), (30, [18.75, 3.75, 0.75])]
)
def test_costs_of_generating(passages: int, published: list[float]) -> None:
    assert [compute_passage_reading_cost(passages, 500, usd) for usd in (1.25, 0.25, 0.05)] == pytest.approx(published)


def test_memory() -> None:
    million = 1_000_000
    assert compute_stored_vector_bytes(million, 1024) / GIB == pytest.approx(3.814697, abs=1e-6)
    assert compute_stored_vector_bytes(million, 1024, bytes_per_value=1) / GIB == pytest.approx(0.953674, abs=1e-6)
    graphs = [compute_hnsw_graph_bytes(million, m=m, id_bytes=size) / GIB for m in (16, 32) for size in (4, 8)]
    assert graphs == pytest.approx([0.145535, 0.268718, 0.264616, 0.506880], abs=1e-6)


@pytest.mark.parametrize(
    ("quality", "milliseconds", "average", "published"),
    [((0.835, 0.804, 0.819, 0.810), 332.9, 0.817, 2.454), ((0.799, 0.769, 0.817, 0.811), 339.5, 0.799, 2.353)],
)
def test_efficiency_from_measures(
    quality: tuple[float, ...], milliseconds: float, average: float, published: float
) -> None:
    names = ("N-Recall4+@10", "RA-nWG@10", "N-Recall4+@30", "RA-nWG@30")
    performance = average_weighted_measures(dict(zip(names, quality, strict=True)))
    assert performance == pytest.approx(average, abs=5e-4)
    assert compute_performance_per_second(performance, milliseconds) == pytest.approx(published, abs=1.1e-3)


@pytest.mark.parametrize(
    ("performance", "milliseconds", "published"), [(0.818, 337.2, 2.426), (0.812, 338.8, 2.397), (0.782, 330.9, 2.363)]
)
def test_efficiency_of_averages(performance: float, milliseconds: float, published: float) -> None:
    assert compute_performance_per_second(performance, milliseconds) == pytest.approx(published, abs=5e-4)


def test_frontiers_of_the_scenarios() -> None:
    assert ids(find_undominated_stacks(SCENARIOS, ["RA@10"])) == {"base", "saver"}
    assert ids(find_undominated_stacks(SCENARIOS, ["RA@10"], dominance="strict")) == {"base", "saver"}
    assert ids(find_undominated_stacks(SCENARIOS, ["RA@30"])) == {"base", "saver", "push"}
    assert ids(find_undominated_stacks(SCENARIOS, ["RA@30"], dominance="strict")) == {"base", "saver", "push", "small"}


def test_rules_on_the_scenarios() -> None:
    def chosen(measure: str, **limits: float) -> str:
        stack = choose_stack(SCENARIOS, measure, StackLimits(**limits)).stack
        return stack.id if stack else ""

    assert chosen("RA@10", sla_ms=350) == chosen("RA@30", sla_ms=350) == "base"
    assert chosen("RA@30", sla_ms=500) == "push"
    assert chosen("RA@30", budget=1.0) == "saver"
    assert chosen("RA@30", target=0.82) == "push"
    assert ids(list(choose_stack(SCENARIOS, "RA@30", StackLimits(target=0.82)).tied)) == {"push", "small"}
    assert ids(find_undominated_stacks(SCENARIOS, ["RA@30"], slo_ms=350)) == {"base"}


def test_frontiers_of_the_lite_reranker() -> None:
    assert ids(find_undominated_stacks(LITE_STACKS, ["RA@10"])) == {"base-512 K50", "large-1024 K150"}
    assert ids(find_undominated_stacks(LITE_STACKS, ["RA@30"])) == {"base-512 K50"}
    assert len(find_undominated_stacks(LITE_STACKS, ["RA@10"], dominance="strict")) == 8
    assert len(find_undominated_stacks(LITE_STACKS, ["RA@30"], dominance="strict")) == 5


def test_marginal_gains() -> None:
    less = StackCostLatencyQuality("K50", 1.25, 337.2, {"RA@10": 0.805, "RA@30": 0.817})
    more = StackCostLatencyQuality("K100", 2.50, 483.1, {"RA@10": 0.793, "RA@30": 0.824})
    assert compute_marginal_stack_gain(less, more, "RA@30").per_ms == pytest.approx(4.7978e-5, abs=1e-9)
    assert compute_marginal_stack_gain(less, more, "RA@10").per_ms == pytest.approx(-8.2245e-5, abs=5e-9)


def test_changes_of_indexes() -> None:
    """Percent against the flat index; int8 at 10 and at 20 (what the paper printed differs in the last digit)."""

    def change(now: float, flat: float) -> float:
        return round(100 * (now / flat - 1), 1)

    assert change(35.4, 47.6) == -25.6
    assert change(35.0, 47.6) == -26.5
    assert [change(*pair) for pair in ((0.521, 0.592), (0.507, 0.596), (0.497, 0.566))] == [-12.0, -14.9, -12.2]
    assert [change(*pair) for pair in ((0.526, 0.636), (0.555, 0.677), (0.522, 0.625))] == [-17.3, -18.0, -16.5]
