"""The published numbers of spec rag 6, items 2 to 7, come out of the findings too."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from embassay.protocols.rag.sweep.findings import compute_sweep_findings
from embassay.protocols.rag.sweep.findings.record import SweepDatasetFindings
from embassay.protocols.rag.sweep.stacks import StackConfiguration, StackTimes, SweepRules

from ..sweeps import SCENARIO, constant, scenarios

EFFICIENCY = ("N-Recall4+@10", "RA-nWG@10", "N-Recall4+@30", "RA-nWG@30")
LITE = {
    50: [
        (369.3, 0.746, 0.781), (352.2, 0.767, 0.799), (405.4, 0.759, 0.804), (339.5, 0.769, 0.811),
        (403.8, 0.692, 0.732),
    ],
    100: [
        (415.5, 0.749, 0.792), (413.9, 0.759, 0.782), (474.6, 0.765, 0.795), (418.2, 0.760, 0.794),
        (411.3, 0.714, 0.737),
    ],
    150: [
        (537.3, 0.771, 0.797), (515.9, 0.764, 0.788), (611.7, 0.759, 0.784), (557.3, 0.770, 0.791),
        (530.5, 0.747, 0.779),
    ],
    200: [
        (639.2, 0.771, 0.786), (644.8, 0.764, 0.792), (715.3, 0.764, 0.785), (694.0, 0.770, 0.788),
        (695.8, 0.751, 0.782),
    ],
}  # fmt: skip
MODELS = (("large", 1024), ("base", 1024), ("base", 2048), ("base", 512), ("lite", 1024))


def part(*, resamples: int = 20, **rules: object) -> SweepDatasetFindings:
    return compute_sweep_findings(scenarios(**rules), resamples=resamples).parts[0]


@pytest.mark.parametrize(
    ("rules", "name"),
    [
        ({"sla_ms": 350.0}, "base"),
        ({"sla_ms": 350.0, "measure": "RA-nWG@30"}, "base"),
        ({"sla_ms": 500.0, "measure": "RA-nWG@30"}, "push"),
        ({"budget": 1.0, "measure": "RA-nWG@30"}, "saver"),
        ({"target": 0.82, "measure": "RA-nWG@30"}, "push"),
    ],
)
def test_recommendations_of_the_scenarios(rules: dict[str, object], name: str) -> None:
    found = part(**rules).recommendation
    assert found.stack == SCENARIO[name]
    assert found.share == 1.0


def test_a_target_leaves_what_is_within_jitter_to_price_and_time() -> None:
    assert part(target=0.82, measure="RA-nWG@30", jitter_ms=75.0).recommendation.tied == (SCENARIO["small"],)


def test_frontiers_of_the_scenarios() -> None:
    def ids(name: str, measure: str) -> set[str]:
        found = part(measure=measure).find_frontier_by_name(name)
        assert found is not None
        return set(found.stacks)

    shallow = {SCENARIO[name] for name in ("base", "saver")}
    assert ids("cost, latency", "RA-nWG@10") == shallow == ids("cost, latency, strict", "RA-nWG@10")
    deep = shallow | {SCENARIO["push"]}
    assert ids("cost, latency", "RA-nWG@30") == deep == ids("cost, latency, RA-nWG@30", "RA-nWG@10")
    assert ids("cost, latency, strict", "RA-nWG@30") == deep | {SCENARIO["small"]}
    assert ids("cost, latency, at most 350 ms", "RA-nWG@30") == {SCENARIO["base"]}


def test_the_scenario_matrix_names_the_published_stacks() -> None:
    named = {one.name: one.stack for one in part().scenarios}
    assert {name: named[name] for name in SCENARIO} == SCENARIO


def test_frontiers_of_the_lite_reranker() -> None:
    rows = [
        (StackConfiguration(name, dims, "flat", k, "lite"), k * 0.01, ms, {"RA-nWG@10": at_10, "RA-nWG@30": at_30})
        for k, values in LITE.items()
        for (name, dims), (ms, at_10, at_30) in zip(MODELS, values, strict=True)
    ]
    found = compute_sweep_findings(constant(rows, SweepRules()), resamples=20).parts[0]
    sets = {one.name: one.stacks for one in found.frontiers}
    assert set(sets["cost, latency"]) == {"base/512d/flat/k50/dense/lite", "large/1024d/flat/k150/dense/lite"}
    assert set(sets["cost, latency, RA-nWG@30"]) == {"base/512d/flat/k50/dense/lite"}
    assert len(sets["cost, latency, strict"]) == 8
    assert len(sets["cost, latency, RA-nWG@30, strict"]) == 5


@pytest.mark.parametrize(
    ("values", "ms", "average", "published"),
    [((0.835, 0.804, 0.819, 0.810), 332.9, 0.817, 2.454), ((0.799, 0.769, 0.817, 0.811), 339.5, 0.799, 2.353)],
)
def test_efficiency(values: tuple[float, ...], ms: float, average: float, published: float) -> None:
    """The leaderboard divides by the time of reranking alone, the other one by the whole time."""
    one = (StackConfiguration("base", 1024, "flat", 50, "strong"), 1.25, ms, dict(zip(EFFICIENCY, values, strict=True)))
    sweep = constant([one], SweepRules())
    [measured] = sweep.measured
    slower = StackTimes({**measured.times.stages, "total": measured.times.total * 2}, np.empty(0), 1)
    [found] = (
        compute_sweep_findings(replace(sweep, measured=(replace(measured, times=slower),)), resamples=5).parts[0].stacks
    )
    assert found.average == pytest.approx(average, abs=5e-4)
    assert found.per_rerank_second == pytest.approx(published, abs=1.1e-3)
    assert found.per_second == pytest.approx(published / 2, abs=1e-3)


def test_efficiency_by_other_weights() -> None:
    one = (StackConfiguration("base", 1024, "flat", 50, "strong"), 1.25, 300.0, dict.fromkeys(EFFICIENCY, 0.6))
    one[3]["RA-nWG@10"] = 0.9
    weights = {"RA-nWG@10": 2.0, "N-Recall4+@10": 1.0}
    [found] = compute_sweep_findings(constant([one], SweepRules(efficiency=weights)), resamples=5).parts[0].stacks
    assert found.average == pytest.approx(0.8)


@pytest.mark.parametrize(
    ("actual", "ceiling", "published"),
    [
        (0.852, 1.000, 85.2), (0.918, 0.988, 92.9), (0.882, 1.000, 88.2), (0.930, 0.985, 94.4),
        (0.805, 0.921, 87.4), (0.805, 0.967, 83.2), (0.804, 0.906, 88.7), (0.798, 0.957, 83.4),
        (0.795, 0.959, 82.9), (0.828, 0.898, 92.2), (0.824, 0.892, 92.4), (0.819, 0.889, 92.1),
        (0.818, 0.936, 87.4), (0.817, 0.847, 96.5),
    ],
)  # fmt: skip
def test_reached_of_the_ceiling(actual: float, ceiling: float, published: float) -> None:
    """%PROC is a ratio of means, over the queries where both are defined."""
    sweep = constant([(StackConfiguration("base"), 1.25, 300.0, {"RA-nWG@10": 0.0})], SweepRules())
    [one] = sweep.measured
    values = np.array([actual - 0.05, actual + 0.05, np.nan, 0.9])
    ceilings = np.array([ceiling + 0.01, ceiling - 0.01, 1.0, np.nan])
    made = replace(one, quality={"RA-nWG@10": values}, ceiling={"RA-nWG@10": ceilings})
    [found] = compute_sweep_findings(replace(sweep, measured=(made,)), resamples=50).parts[0].stacks
    reached = found.quality[0].reached
    assert reached is not None
    assert reached.value is not None
    assert round(100 * reached.value, 1) == published
    assert reached.n == 2


@pytest.mark.parametrize(("measure", "published"), [("RA-nWG@30", 4.7978e-5), ("RA-nWG@10", -8.2245e-5)])
def test_marginal_gain(measure: str, published: float) -> None:
    rows = [
        (StackConfiguration("base", 512, "flat", 50, "strong"), 1.25, 337.2, {"RA-nWG@10": 0.805, "RA-nWG@30": 0.817}),
        (StackConfiguration("base", 512, "flat", 100, "strong"), 2.5, 483.1, {"RA-nWG@10": 0.793, "RA-nWG@30": 0.824}),
    ]
    steps = compute_sweep_findings(constant(rows, SweepRules()), resamples=20).parts[0].steps
    [step] = [one for one in steps if one.measure == measure]
    assert step.per_ms == pytest.approx(published, abs=5e-9)
    assert step.milliseconds == pytest.approx(145.9)
    assert (step.k, step.next_k, step.usd) == (50, 100, 1.25)


def test_changes_of_an_index_against_flat() -> None:
    names = ("N-Recall4+@10", "RA-nWG@10")
    rows = [
        (StackConfiguration("base", 1024, index), 0.0, ms, dict(zip(names, values, strict=True)))
        for index, ms, values in (
            ("flat", 47.6, (0.592, 0.566)), ("hnsw-f32", 35.4, (0.592, 0.566)), ("hnsw-int8", 35.0, (0.521, 0.497)),
        )
    ]  # fmt: skip
    sweep = constant(rows, SweepRules())
    sweep = replace(sweep, measured=tuple(
        replace(one, times=StackTimes({"retrieve": one.times.total, "total": one.times.total}, np.empty(0), 1))
        for one in sweep.measured
    ))  # fmt: skip
    f32, int8 = compute_sweep_findings(sweep, resamples=20).parts[0].indexes
    assert f32.changes == pytest.approx({"RA-nWG@10": 0.0, "N-Recall4+@10": 0.0})
    assert {name: round(value, 1) for name, value in int8.changes.items()} == {
        "RA-nWG@10": -12.2, "N-Recall4+@10": -12.0,
    }  # fmt: skip
    speeds = [round(100 * (one.retrieve_ms / one.retrieve_ms_flat - 1), 1) for one in (f32, int8)]
    assert speeds == [-25.6, -26.5]
    assert (f32.within, int8.within) == (True, False)


def test_every_cutoff_is_an_objective_of_its_own() -> None:
    """`small` is no better than `push` at 30 and no cheaper, but better at 10."""
    found = part().find_frontier_by_name("cost, latency, every cutoff")
    assert found is not None
    assert set(found.stacks) == {SCENARIO[name] for name in ("base", "saver", "push", "small")}
