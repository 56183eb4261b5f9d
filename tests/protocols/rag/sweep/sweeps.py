"""Sweeps for tests: plausible stacks drawn by seed, and the published scenario rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import product

import numpy as np
from numpy.typing import NDArray

from embassay.contracts import IndexFacts
from embassay.protocols.rag.sweep.stacks import (
    ComputeCounts,
    MeasuredStack,
    SkippedStack,
    StackConfiguration,
    StackTimes,
    SweepMeasurements,
    SweepRules,
)

Floats = NDArray[np.float64]

MEASURES = ("RA-nWG@10", "RA-nWG@30", "N-Recall4+@10", "N-Recall4+@30")
AXES = {
    "encoder": ("wordllama", "minilm"),
    "dims": (64, 256),
    "index": ("flat", "hnsw-f32", "hnsw-int8"),
    "k": (50, 100),
    "reranker": ("none", "cross"),
    "mode": ("dense", "hybrid"),
}
PRICE = 0.02


def drawn(
    datasets: Mapping[str, int] = {"sea": 40},
    rules: SweepRules = SweepRules(),  # noqa: B008
    *,
    axes: Mapping[str, Sequence[object]] = AXES,
    seed: int = 1,
    timed: int = 12,
    sessions: int = 3,
) -> SweepMeasurements:
    """A sweep in which hybrid, reranking and more dimensions help, quantised indexes lose a little, and one query of
    each dataset has no relevant passage."""
    configurations = [
        StackConfiguration(**dict(zip(axes, values, strict=True)))  # type: ignore[arg-type]
        for values in product(*axes.values())
    ]
    measured = [
        _measured(one, name, n, seed, timed, sessions) for name, n in datasets.items() for one in configurations
    ]
    skipped = (
        SkippedStack(StackConfiguration("minilm", 512), "sea", "minilm has 384 dimensions, not 512"),
        SkippedStack(StackConfiguration("minilm", 64, "pq"), "sea", "training broke off", failed=True),
    )
    queries = {name: tuple(f"{name}-q{i}" for i in range(n)) for name, n in datasets.items()}
    return SweepMeasurements(
        tuple(measured),
        skipped,
        queries,
        rules,
        "2026-11-01",
        {"cross": PRICE},
        7,
        ComputeCounts(2000, 100, 9000, 50, 6),
    )


def _measured(one: StackConfiguration, dataset: str, n: int, seed: int, timed: int, sessions: int) -> MeasuredStack:
    easy = np.random.default_rng([seed, len(dataset), 1]).normal(0, 0.15, n)
    rng = np.random.default_rng([seed, *one.id.encode()])
    helps = 0.12 * (one.reranker != "none") + 0.06 * (one.mode == "hybrid") + 0.05 * (one.encoder == "minilm")
    helps += 0.03 * ((one.dims or 256) > 64) - 0.03 * (one.index == "hnsw-int8")
    base = 0.55 + helps + easy
    quality, ceiling = {}, {}
    for measure in MEASURES:
        deep = measure.endswith("30")
        lift = 0.05 + 0.02 * (one.k > 50) if deep else 0.0
        value = np.clip(base + lift + rng.normal(0, 0.05, n), 0, 1)
        best = np.clip(0.9 + 0.05 * (one.mode == "hybrid") + 0.02 * (one.k > 50) + easy / 5, value, 1)
        value[0] = best[0] = np.nan
        quality[measure], ceiling[measure] = value, best
    size = 1 if "int8" in one.index else 4
    return MeasuredStack(
        one, dataset, quality, ceiling, _times(one, rng, timed, sessions),
        {"rerank": one.k * 515 * PRICE / 1000 if one.reranker != "none" else 0.0, "generate": 0.25},
        (515.0, 2.0), 430.0,
        IndexFacts(5000, one.dims or 256, 1.5, 5000 * 256, 5000 * (one.dims or 256) * size),
        {10: 1.0 if one.index == "flat" else 0.98, 30: 1.0 if one.index == "flat" else 0.97},
        {
            "margin": np.abs(rng.normal(0.2, 0.05, n)) + 0.1 * easy,
            "entropy": rng.uniform(0.5, 1, n) if one.reranker != "none" else np.full(n, np.nan),
            "noise": rng.uniform(0.6, 1, n),
        },
    )  # fmt: skip


def _times(one: StackConfiguration, rng: np.random.Generator, timed: int, sessions: int) -> StackTimes:
    shape = (sessions, timed)
    stages = {"embed": rng.gamma(9, 1, shape), "retrieve": rng.gamma(4, 0.4 if one.index == "flat" else 0.1, shape)}
    if one.mode == "hybrid":
        stages["fuse"] = rng.gamma(4, 0.3, shape)
    if one.reranker != "none":
        stages["rerank"] = 4.0 * one.k + rng.gamma(9, 2, shape)
    stages["total"] = np.sum(list(stages.values()), axis=0)
    return StackTimes(stages, stages["total"].mean(axis=0) * 1.4, 4)


def constant(
    rows: Iterable[tuple[StackConfiguration, float, float, Mapping[str, float]]], rules: SweepRules, queries: int = 4
) -> SweepMeasurements:
    """A sweep of stacks with one price, one time and the same quality for every query."""
    measured = []
    for configuration, cost, latency, quality in rows:
        times = np.full((3, 10), float(latency))
        measured.append(MeasuredStack(
            configuration, "paper", {name: np.full(queries, value) for name, value in quality.items()}, {},
            StackTimes({"rerank": times, "total": times}, np.empty(0), 1), {"rerank": cost}, (500.0, 0.0), 430.0,
            IndexFacts(1000, configuration.dims or 1024, 0.0, None, None), {},
        ))  # fmt: skip
    ids = tuple(f"q{i}" for i in range(queries))
    return SweepMeasurements(tuple(measured), (), {"paper": ids}, rules, "2025-11-01", {})


def scenarios(**rules: object) -> SweepMeasurements:
    """The five published scenarios (spec rag 6, item 4)."""
    rows = [
        ("base", "voyage-3.5", 1024, 50, "rerank-2.5", 1.25, 332.9, 0.804, 0.810),
        ("saver", "voyage-3.5-lite", 1024, 50, "rerank-2.5-lite", 0.50, 403.8, 0.692, 0.732),
        ("push", "voyage-3.5", 2048, 100, "rerank-2.5", 2.50, 478.1, 0.791, 0.828),
        ("small", "voyage-3.5", 512, 100, "rerank-2.5", 2.50, 483.1, 0.793, 0.824),
        ("highK", "voyage-3.5", 1024, 200, "rerank-2.5", 5.00, 2931.1, 0.792, 0.818),
    ]
    made = [
        (StackConfiguration(encoder, dims, "flat", k, reranker), cost, ms, {"RA-nWG@10": at_10, "RA-nWG@30": at_30})
        for _, encoder, dims, k, reranker, cost, ms, at_10, at_30 in rows
    ]
    return constant(made, replace(SweepRules(), **rules))  # type: ignore[arg-type]


SCENARIO = {
    "base": "voyage-3.5/1024d/flat/k50/dense/rerank-2.5",
    "saver": "voyage-3.5-lite/1024d/flat/k50/dense/rerank-2.5-lite",
    "push": "voyage-3.5/2048d/flat/k100/dense/rerank-2.5",
    "small": "voyage-3.5/512d/flat/k100/dense/rerank-2.5",
    "highK": "voyage-3.5/1024d/flat/k200/dense/rerank-2.5",
}
