"""Does the order of the systems hold: from the original texts to their paraphrases, and from run to run?"""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embassay.protocols.estimates import interval
from embassay.protocols.pteb.summary.scopes import Scope
from embassay.protocols.pteb.summary.scores import Scores
from embassay.stats import kendall_tau, rank_quantiles, win_probabilities

Floats = NDArray[np.float64]


def rank_stability(scores: Scores, scope: Scope) -> dict[str, Any]:
    """How stable the ranking of a scope is; systems without a score are left out, and two are needed (else `reason`).

    - `systems`, best PTEB score first; `original`, `pteb` their scores; `original_rank`, `rank` (1 = best; equal scores
      share the better rank); `rank_low`, `rank_high` the ranks between which 95% of the replicates lie.
    - `beats[a][b]`: the share of replicates in which system a scores above b (equal: half); None on the diagonal.
    - `tau_original` Kendall's tau-b of the original scores and the PTEB scores, with `tau_low`, `tau_high` from paired
      replicates; `tau_runs` the mean and `tau_runs_min` the lowest tau-b of two runs (of one source), None for one run;
      `tau_sources` and `tau_sources_min` the same of the scores of two sources, None for one source.
    """
    present = [one for one in scope.systems if scores.in_scope(scope.task, one).present]
    present = [one for one in present if scores.original(scope.task, one).value is not None]
    levels = sorted(
        (scores.in_scope(scope.task, one) for one in present),
        key=lambda level: (-(level.score.value or 0), level.system),
    )
    names = [level.system for level in levels]
    if len(names) < 2:
        return {"systems": names, "reason": "fewer than two systems with a value"}
    originals = [scores.original(scope.task, name) for name in names]
    values = np.array([level.score.value for level in levels], dtype=np.float64)
    before = np.array([one.value for one in originals], dtype=np.float64)
    draws = _stacked([level.score.replicates for level in levels])
    tau_low, tau_high = _tau_interval(_stacked([one.replicates for one in originals]), draws)
    runs = [level.runs for level in levels]
    return {
        "systems": names,
        "original": before.tolist(),
        "pteb": values.tolist(),
        "original_rank": _ranks(before),
        "rank": _ranks(values),
        **_spread(draws),
        "tau_original": _number(float(kendall_tau(before, values))),
        "tau_low": tau_low,
        "tau_high": tau_high,
        **_lowest("tau_runs", _tau_of_runs(runs)),
        **_lowest("tau_sources", _taus(_of_sources(runs))),
        "reason": "",
    }


def _stacked(rows: list[Floats]) -> Floats | None:
    """The replicates where all are defined, (systems, resamples); None where a system has none."""
    if not all(len(row) for row in rows):
        return None
    return np.stack(rows)


def _ranks(values: Floats) -> list[int]:
    return [int(1 + (values > value).sum()) for value in values]


def _spread(draws: Floats | None) -> dict[str, Any]:
    """Rank intervals and probabilities to be above, from the replicates in which all systems are defined."""
    defined = None if draws is None else draws[:, np.isfinite(draws).all(axis=0)]
    if defined is None or not defined.shape[1]:
        return {"rank_low": [], "rank_high": [], "beats": []}
    low, high = rank_quantiles(defined)
    beats: list[list[float | None]] = [list(row) for row in win_probabilities(defined).tolist()]
    for place, row in enumerate(beats):
        row[place] = None
    return {"rank_low": low.tolist(), "rank_high": high.tolist(), "beats": beats}


def _tau_interval(before: Floats | None, after: Floats | None) -> tuple[float | None, float | None]:
    if before is None or after is None or before.shape != after.shape:
        return None, None
    defined = np.isfinite(np.concatenate([before, after])).all(axis=0)
    taus = np.full(len(defined), np.nan)
    taus[defined] = kendall_tau(before[:, defined].T, after[:, defined].T)
    return interval(taus)


def _tau_of_runs(runs: list[tuple[Floats, ...]]) -> list[float]:
    """Kendall's tau-b between every two runs of one source."""
    return [tau for of_source in zip(*runs, strict=True) for tau in _taus(np.stack(of_source).T)]


def _of_sources(runs: list[tuple[Floats, ...]]) -> Floats:
    """The scores of the systems by source, (sources, systems)."""
    return np.array([[of_source.mean() for of_source in of_system] for of_system in runs]).T


def _taus(orders: Floats) -> list[float]:
    """Tau-b between every two rows of (orders, systems)."""
    return [float(kendall_tau(first, second)) for first, second in combinations(orders, 2)]


def _lowest(name: str, taus: list[float]) -> dict[str, float | None]:
    """Mean and minimum of the defined ones."""
    defined = [tau for tau in taus if np.isfinite(tau)]
    mean = float(np.mean(defined)) if defined else None
    return {name: mean, f"{name}_min": min(defined, default=None)}


def _number(value: float) -> float | None:
    return value if np.isfinite(value) else None
