"""Each line of the source's advice holds, does not, or is open, by what was put into the stacks."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from embassay.contracts import IndexFacts
from embassay.protocols.rag.sweep.findings import compute_sweep_findings
from embassay.protocols.rag.sweep.findings.conclusions import estimate_vector_and_graph_bytes
from embassay.protocols.rag.sweep.findings.record import PaperGuidanceVerdict
from embassay.protocols.rag.sweep.stacks import (
    MeasuredStack,
    StackConfiguration,
    StackTimes,
    SweepMeasurements,
    SweepRules,
)

N = 40
QUERIES = np.random.default_rng(3).uniform(0.4, 0.7, N)
Row = tuple[StackConfiguration, float, float, float]
"""A stack: gain over the queries' own value, milliseconds, dollars."""


def advice(line: str, rows: Sequence[Row], *, deep: Sequence[float] = (), noise: float = 0.01) -> PaperGuidanceVerdict:
    """The line, for stacks of these gains at 10, and at 30 where they are given."""
    deep = deep or [row[1] for row in rows]
    measured = []
    for place, ((configuration, gain, ms, usd), more) in enumerate(zip(rows, deep, strict=True)):
        spread = np.random.default_rng([place, 9]).normal(0, noise, N)
        spread -= spread.mean()
        quality = {"RA-nWG@10": QUERIES + gain + spread, "RA-nWG@30": QUERIES + more + spread}
        # The pool gives 0.9, and 0.05 more where it is hybrid.
        ceiling = {name: np.full(N, 0.9 + 0.05 * (configuration.mode == "hybrid")) for name in quality}
        times = StackTimes({"total": np.full((3, 10), ms)}, np.empty(0), 1)
        measured.append(MeasuredStack(
            configuration, "sea", quality, ceiling, times, {"rerank": usd}, (500.0, 0.0), 430.0,
            IndexFacts(100, 64, 0.0, None, None), {},
        ))  # fmt: skip
    sweep = SweepMeasurements(tuple(measured), (), {"sea": tuple(map(str, range(N)))}, SweepRules(), "2026-11-01", {})
    return next(
        one for one in compute_sweep_findings(sweep, resamples=200).parts[0].guidance if one.line.startswith(line)
    )


def indexes(a: str, b: str, gain: float) -> list[Row]:
    return [(StackConfiguration("e", index=b), 0.0, 5.0, 0.0), (StackConfiguration("e", index=a), gain, 3.0, 0.0)]


@pytest.mark.parametrize(("gain", "status"), [(0.0, "holds"), (-0.1, "does not hold"), (-0.011, "open")])
def test_hnsw_within_two_percent(gain: float, status: str) -> None:
    assert advice("HNSW", indexes("hnsw-f32?m=32", "flat", gain), noise=0.02).status == status


@pytest.mark.parametrize(("gain", "status"), [(-0.05, "holds"), (0.05, "does not hold")])
def test_int8_only_where_memory_is_short(gain: float, status: str) -> None:
    assert advice("int8", indexes("hnsw-int8", "hnsw-f32", gain)).status == status


@pytest.mark.parametrize(
    ("deep", "status"), [((0.0, 0.05), "holds"), ((0.0, -0.05), "does not hold")], ids=["deeper", "not"]
)
def test_more_dimensions_only_for_deep_k(deep: tuple[float, float], status: str) -> None:
    rows = [(StackConfiguration("e", dims), gain, 5.0, 0.0) for dims, gain in ((1024, 0.0), (2048, -0.02))]
    assert advice("1024", rows, deep=deep).status == status


@pytest.mark.parametrize(
    ("shallow", "deep", "states"),
    [(-0.01, 0.04, ("holds", "holds")), (0.06, -0.04, ("does not hold", "does not hold"))],
)
def test_depth_by_cutoff(shallow: float, deep: float, states: tuple[str, str]) -> None:
    rows = [(StackConfiguration("e", k=k, reranker="r"), gain, ms, 1.0)
            for k, gain, ms in ((50, 0.0, 100.0), (100, shallow, 200.0))]  # fmt: skip
    found = [advice(f"Candidate depth {line}", rows, deep=(0.0, deep)).status for line in ("50", "100")]
    assert tuple(found) == states


@pytest.mark.parametrize(("ms", "status"), [(700.0, "holds"), (450.0, "does not hold")])
def test_half_a_second(ms: float, status: str) -> None:
    rows = [(StackConfiguration("e", k=k, reranker="r"), 0.0, time, 1.0) for k, time in ((100, 400.0), (200, ms))]
    assert advice("At most 100", rows).status == status


def four(hybrid: float, reranked: float) -> list[Row]:
    return [
        (StackConfiguration("e", reranker=reranker, mode=mode),
            hybrid * (mode == "hybrid") + reranked * (reranker == "r"),
         50.0, 1.0 * (reranker == "r"))
        for reranker in ("none", "r") for mode in ("dense", "hybrid")
    ]  # type: ignore[misc]  # fmt: skip


@pytest.mark.parametrize(
    ("hybrid", "reranked", "status"),
    [(0.05, 0.1, "holds"), (-0.05, 0.1, "does not hold"), (0.05, -0.1, "does not hold"), (0.0, 0.1, "open")],
)
def test_the_default_stack(hybrid: float, reranked: float, status: str) -> None:
    found = advice("Hybrid plus", four(hybrid, reranked), noise=0.02)
    assert found.status == status
    assert len(found.evidence) == 3


@pytest.mark.parametrize(("reranked", "status"), [(0.1, "holds"), (-0.1, "does not hold")])
def test_pool_and_ordering(reranked: float, status: str) -> None:
    rows = four(0.05, reranked)
    assert advice("Low PROC", rows).status == "holds"
    assert advice("High PROC", rows).status == status


@pytest.mark.parametrize(
    ("gain", "usd", "status"), [(-0.05, 0.5, "holds"), (0.05, 0.5, "does not hold"), (-0.05, 0.999, "holds")]
)
def test_the_lite_reranker(gain: float, usd: float, status: str) -> None:
    rows = [
        (StackConfiguration("e", reranker="strong"), 0.0, 50.0, 1.0),
        (StackConfiguration("e", reranker="lite"), gain, 50.0, usd),
    ]
    assert advice("The lite", rows).status == status


@pytest.mark.parametrize(
    ("line", "changed"),
    [("Rewriting", {"rewrite": "rules"}), ("Deduplicate", {"deduplicate": 0.9}), ("Trim", {"chunk": "sentences"})],
)
@pytest.mark.parametrize(("gain", "status"), [(0.05, "holds"), (-0.05, "does not hold")])
def test_switches(line: str, changed: dict[str, object], gain: float, status: str) -> None:
    rows = [(StackConfiguration("e"), 0.0, 5.0, 0.0), (StackConfiguration("e", **changed), gain, 5.0, 0.0)]  # type: ignore[arg-type]
    assert advice(line, rows).status == status


def test_what_one_stack_tells_of_nothing() -> None:
    found = compute_sweep_findings(
        SweepMeasurements(
            (MeasuredStack(StackConfiguration("e"), "sea", {"RA-nWG@10": QUERIES}, {},
                      StackTimes({"total": np.ones((1, 3))}, np.empty(0), 1), {}, (1.0, 0.0), 1.0,
                      IndexFacts(1, 8, 0.0, None, None), {}),),
            (), {"sea": tuple(map(str, range(N)))}, SweepRules(), "2026-11-01", {},
        ), resamples=20,
    ).parts[0].guidance  # fmt: skip
    assert {one.status for one in found} == {"not tested"}
    assert all(one.text.startswith("Not tested on this data: ") for one in found)


GIB = 2**30


@pytest.mark.parametrize(
    ("index", "vectors", "graph"),
    [
        ("flat", 3.814697, 0.0), ("hnsw-f32", 3.814697, 0.145535), ("hnsw-f32?m=32", 3.814697, 0.264616),
        ("hnsw-int8", 0.953674, 0.145535), ("pq?m=64", 64 * 1e6 / GIB + 1024 * 1024 / GIB, 0.0),
    ],
)  # fmt: skip
def test_memory_by_formula(index: str, vectors: float, graph: float) -> None:
    """Spec rag 3.6, per million vectors of 1024 dimensions."""
    found = estimate_vector_and_graph_bytes(index, IndexFacts(1_000_000, 1024, 0.0, None, None))
    assert [None if one is None else one / GIB for one in found] == pytest.approx([vectors, graph], abs=1e-6)


def test_a_product_code_has_parts_of_eight_values_unless_told() -> None:
    one = IndexFacts(1000, 64, 0.0, None, None)
    assert (
        estimate_vector_and_graph_bytes("pq", one)
        == estimate_vector_and_graph_bytes("pq?m=8", one)
        == (1000 * 8 + 256 * 64 * 4, 0.0)
    )
    assert estimate_vector_and_graph_bytes("opq", one)[0] == 1000 * 8 + 256 * 64 * 4 + 64 * 64 * 4
    assert estimate_vector_and_graph_bytes("pq?nbits=4", one)[0] is None


def test_no_formula_for_a_server() -> None:
    assert estimate_vector_and_graph_bytes("pgvector:hnsw", IndexFacts(10, 8, 0.0, None, None)) == (None, None)
