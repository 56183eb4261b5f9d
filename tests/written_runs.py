"""Run folders with headlines and items of their own, for comparisons and gates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from embassay.protocols.kernel.comparisons import OVERALL, RANKED, SystemHeadlineValue, SystemStanding, write_standings
from embassay.randomness import make_seeded_generator
from embassay.records import ResultRow
from embassay.runs.folder import RunFolder, write_parquet_columns
from embassay.stats import percentile_interval, resample_means

TASK, MEASURE = "robustness", "robustness"


def write_run(
    path: Path, values: Mapping[str, Sequence[float]], *, seed: int = 1337, fingerprint: str = "f", **manifest: Any
) -> Path:
    """A SAGE run of one task on one dataset: `values` are those of the items, by system; all the same items."""
    folder = RunFolder(path)
    path.mkdir(parents=True, exist_ok=True)
    columns = np.array(list(values.values())).T
    draws = resample_means(columns, n_resamples=1000, rng=make_seeded_generator(seed, "written")).T
    standings, rows = [], []
    for name, own, replicates in zip(values, columns.T, draws, strict=True):
        headline = SystemHeadlineValue(name, float(own.mean()), len(own), replicates, "bootstrap over documents")
        standings += [
            SystemStanding(TASK, "", MEASURE, headline),
            SystemStanding(OVERALL, "", OVERALL, headline, RANKED),
        ]
        ends = percentile_interval(replicates)
        low, high = (None, None) if np.isnan(ends[0]) else ends
        for task, measure in ((TASK, MEASURE), (OVERALL, OVERALL)):
            rows.append(
                ResultRow(
                    "sage", task, "", "", "", "", name, measure, headline.value, len(own), low, high, "b", seed, ""
                )
            )
        ids = [f"d{i:04}" for i in range(len(own))]
        items = {"item_id": ids, "variant": [""] * len(ids), "measure": [MEASURE] * len(ids), "value": own.tolist()}
        write_parquet_columns(folder.locate_cell_items(TASK, "sample", name), items)
    write_standings(path, standings)
    folder.write_results(rows)
    folder.write_manifest({
        "protocol": "sage", "arguments": {"seed": seed, "limit": None},
        "datasets": [{"name": "sample", "fingerprint": fingerprint, "tasks": {TASK: {}}}], **manifest,
    })  # fmt: skip
    return path
