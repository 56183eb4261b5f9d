"""The drop over datasets and runs with one interval that holds for other datasets and other runs."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from embassay.protocols.pteb.summary.scores import Scores
from embassay.records import Result
from embassay.stats import MixedMean, mixed_mean

MEASURE = "delta_mixed"
SPREADS = {"datasets": "sd_rows", "runs": "sd_columns", "residual": "sd_residual"}
ONE_VALUE = "one dataset and one run say nothing of others"
UNKNOWN = "cannot be told from the rest"


def drop_rows(scores: Scores, scope: str, system: str) -> Iterator[Result]:
    """`delta_mixed` of a task or `overall`, and the standard deviations between datasets, between runs and of the rest.

    The bootstrap intervals of `delta` hold for these datasets; this one takes datasets and runs as samples of others
    (`embassay.stats.mixed_mean`), with the weights that make it the mean of the same drops.
    """
    found = mixed_drop(scores, scope, system)
    row = partial(Result, "pteb", scope, "", "", "", "", system, seed=scores.layout.seed)
    if isinstance(found, str):
        yield row(MEASURE, None, 0, reason=found)
        return
    low, high = (None if np.isnan(end) else end for end in (found.low, found.high))
    method = _method(found, len(scores.parts(scope)))
    yield row(MEASURE, found.estimate, found.n, low, high, method)
    for name, field in SPREADS.items():
        sd = getattr(found, field)
        if np.isnan(sd):
            yield row(f"delta_sd:{name}", None, found.n, reason=ONE_VALUE if found.n == 1 else UNKNOWN)
        else:
            yield row(f"delta_sd:{name}", sd, found.n, method=method)


def mixed_drop(scores: Scores, scope: str, system: str) -> MixedMean | str:
    """The mean drop with datasets as rows and runs as columns, or why there is none."""
    total = scores.in_scope(scope, system)
    if not total.present:
        return total.score.reason
    parts = scores.parts(scope)
    tasks = [task for task, _ in parts]
    values: list[float] = []
    weights: list[float] = []
    rows: list[tuple[str, str]] = []
    columns: list[tuple[int, int]] = []
    for task, dataset in parts:
        sources = scores.on_dataset(task, dataset.name, system).deltas
        share = 1 / (len(set(tasks)) * tasks.count(task) * len(sources))
        for source, deltas in enumerate(sources):
            values += deltas.tolist()
            weights += [share / len(deltas)] * len(deltas)
            rows += [(task, dataset.name)] * len(deltas)
            columns += [(source, run) for run in range(len(deltas))]
    return mixed_mean(values, rows, columns, weights=weights)


def _method(found: MixedMean, datasets: int) -> str:
    """What was taken as a sample of what."""
    if found.n == 1:
        return ONE_VALUE
    sample = "dataset and run as random effects"
    if datasets == 1:
        sample = "one dataset: holds for other runs on it"
    elif datasets == found.n:
        sample = "one run: holds for other datasets"
    if np.isnan(found.df):
        return f"{sample}; no variation"
    return f"{sample}; t with {found.df:.1f} degrees of freedom (Satterthwaite)"
