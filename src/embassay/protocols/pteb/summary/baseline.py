"""Every system against the baseline, by ranks: spec 9, tables 7 and 14."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from embassay.protocols.pteb.summary.scopes import Scope
from embassay.protocols.pteb.summary.scores import Scores
from embassay.stats import hodges_lehmann, holm, wilcoxon

Floats = NDArray[np.float64]
RESAMPLES = 1_000
MOST = 5_000
"""Observations whose pairs are taken."""


def against_baseline(scores: Scores, scope: Scope) -> dict[str, Any]:
    """`d = PTEB(baseline) - PTEB(system)` on the same wordings, for every system of a scope but the baseline.

    A dict of `baseline`, `datasets`, `systems` and `reason` (why there is no comparison at all). Each of `systems` has
    its name, a `reason` where it lacks a score, and two analyses. `pooled` takes every dataset and run as one
    observation (table 7; runs share their data, so it is optimistic), `averaged` the mean over the runs of each dataset
    (table 14). Both have the Hodges-Lehmann `shift` (fraction, positive = baseline better), `ci_low`, `ci_high`
    (percentile bootstrap, 1,000 resamples; None for `averaged`, as in the paper), the `statistic`, `p` and `p_holm`
    (over the systems of the scope) of the Wilcoxon signed-rank test, `n`, and `method`, which test it was.
    """
    baseline = scores.layout.compared_with
    empty = {"baseline": baseline, "datasets": [], "systems": []}
    if baseline not in scope.systems:
        ranked = any(system.name == baseline for system in scores.layout.ranked)
        why = "is evaluated by another method" if ranked else "is not ranked"
        return {**empty, "reason": f"the baseline, {baseline}, {why}"}
    if len(scope.systems) < 2:
        return {**empty, "reason": "no other system to compare"}
    if not (level := scores.in_scope(scope.task, baseline)).present:
        return {**empty, "reason": f"{baseline}: {level.score.reason}"}
    systems = [_differences(scores, scope, one) for one in scope.systems if one != baseline]
    for analysis in ("pooled", "averaged"):
        _correct([one[analysis] for one in systems if one[analysis] is not None])
    names = [dataset.name for _, dataset in scores.parts(scope.task)]
    return {**empty, "datasets": names, "systems": systems, "reason": ""}


def _differences(scores: Scores, scope: Scope, system: str) -> dict[str, Any]:
    """Both analyses of one system, without the correction."""
    level = scores.in_scope(scope.task, system)
    if not level.present:
        return {"system": system, "pooled": None, "averaged": None, "reason": level.score.reason}
    pooled: list[Floats] = []
    averaged: list[float] = []
    for task, dataset in scores.parts(scope.task):
        of_baseline, of_system = (
            scores.on_dataset(task, dataset.name, name).runs for name in (scores.layout.compared_with, system)
        )
        differences = [a - b for a, b in zip(of_baseline, of_system, strict=True)]
        pooled += differences
        averaged.append(float(np.mean([runs.mean() for runs in differences])))
    d = np.concatenate(pooled)
    return {
        "system": system,
        "pooled": _analysis(d, scores.layout.seed, interval=True) if len(d) <= MOST else None,
        "averaged": _analysis(np.array(averaged), scores.layout.seed, interval=False),
        "reason": "" if len(d) <= MOST else f"{len(d)} observations are too many to pool",
    }


def _analysis(d: Floats, seed: int, *, interval: bool) -> dict[str, Any]:
    test = wilcoxon(d)
    low = high = None
    if interval and len(d) > 1:
        shift = hodges_lehmann(d, n_resamples=RESAMPLES, seed=seed)
        low, high = shift.low, shift.high
    return {
        "shift": test.estimate,
        "ci_low": low,
        "ci_high": high,
        "statistic": test.statistic,
        "p": test.p,
        "p_holm": test.p,
        "n": len(d),
        "method": test.method,
    }


def _correct(analyses: list[dict[str, Any]]) -> None:
    """Holm's correction over the systems of a scope."""
    for analysis, adjusted in zip(analyses, holm([one["p"] for one in analyses]), strict=True):
        analysis["p_holm"] = adjusted
