"""Run folders as a leaderboard meets them: finished, going on, failed, of other versions of the data, broken."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from embassay.protocols.kernel.comparisons import (
    OVERALL,
    RANKED,
    REFERENCE,
    SystemHeadlineValue,
    SystemStanding,
    write_standings,
)
from embassay.randomness import make_seeded_generator
from embassay.records import HeadlineComponent, ResultRow, Score
from embassay.runs.folder import CellRecord, RunCell, RunFolder, make_failed_cell_record, write_parquet_columns
from embassay.stats import percentile_interval, resample_means

TASKS = {
    "preference": "human_preference", "robustness": "robustness", "sensitivity": "sensitivity",
    "clustering": "v_measure", "retrieval": "retention",
}  # fmt: skip
ITEMS = 60
EARLY, LATE = "2026-11-01T08:00:00+00:00", "2026-11-20T08:00:00+00:00"


def write_sage(
    path: Path,
    systems: Mapping[str, float],
    *,
    seed: int = 1337,
    fingerprint: str = "f",
    updated: str = EARLY,
    kinds: Mapping[str, str] | None = None,
    failing: Sequence[tuple[str, str]] = (),
    facts: Mapping[str, Any] | None = None,
) -> Path:
    """A finished run of SAGE's five tasks on one dataset: `systems` are named with their level; `failing` are pairs of
    a system and a task that failed. Systems of one seed share their resamples."""
    kinds = kinds or {}
    folder, standings, rows = RunFolder(path), [], []
    path.mkdir(parents=True, exist_ok=True)
    for name, level in systems.items():
        group = {"reference": REFERENCE, "classical": RANKED}.get(kinds.get(name, ""), RANKED)
        parts: list[SystemHeadlineValue] = []
        for place, (task, measure) in enumerate(TASKS.items()):
            if (name, task) in failing:
                headline = SystemHeadlineValue.none(name, "sample: out of memory")
            else:
                headline = _headline(folder, task, measure, name, level, seed, place)
                rows += [_row(headline, task, dataset, measure, seed) for dataset in ("sample", "")]
            standings.append(SystemStanding(task, "", measure, headline, group))
            parts.append(headline)
        overall = _overall(name, parts)
        standings.append(SystemStanding(OVERALL, "", OVERALL, overall, group))
        rows.append(_row(overall, OVERALL, "", OVERALL, seed))
    write_standings(path, standings)
    folder.write_results(rows)
    folder.write_manifest(manifest(systems, seed, fingerprint, updated, kinds, failing, facts))
    return path


STUDY = {
    "topic": ("classification", "accuracy"), "news": ("classification", "accuracy"),
    "groups": ("clustering", "v_measure"), "pairs": ("sts", "spearman"),
}  # fmt: skip
"""The datasets of a scored study, with family and measure."""


def write_hume(
    path: Path,
    systems: Mapping[str, Mapping[str, float]],
    trust: Mapping[str, str],
    *,
    items: int = 12,
    facts: Mapping[str, Mapping[str, Any]] | None = None,
) -> Path:
    """A scored study of four datasets: `systems` with their level on each (left out where a cell failed); `trust` says
    how well people agree on a dataset."""
    folder, standings, rows, cells = RunFolder(path), [], [], []
    (path / "tables").mkdir(parents=True, exist_ok=True)
    for name, levels in systems.items():
        own = {one: _scored(name, one, levels.get(one), items) for one in STUDY}
        for dataset, (family, measure) in STUDY.items():
            failed_here = dataset not in levels
            rows += [] if failed_here else [_hume_row(own[dataset], family, dataset, measure)]
            cells.append({
                "key": _key(name, dataset), "task": family, "dataset": dataset, "system": name, "seconds": 1.0,
                "status": "failed" if failed_here else "done", "reason": "out of memory" if failed_here else "",
                "counts": {"texts_encoded": items},
            })  # fmt: skip
        for family, measure in dict.fromkeys(STUDY.values()):
            parts = {one: own[one] for one, (of, _) in STUDY.items() if of == family}
            standings.append(SystemStanding(family, "", measure, _overall(name, list(parts.values()))))
            if len(parts) > 1:
                standings += [SystemStanding(family, one, measure, found) for one, found in parts.items()]
        overall = _overall(name, list(own.values()))
        standings.append(SystemStanding(OVERALL, "", OVERALL, overall))
        rows += [] if overall.value is None else [_hume_row(overall, OVERALL, "", OVERALL)]
    write_standings(path, standings)
    folder.write_results(rows)
    folder.write_manifest({
        "embassay": "0.1.0", "protocol": "hume", "name": "r", "status": "finished", "created": LATE, "updated": LATE,
        "arguments": {"seed": 1337}, "cells": cells,
        "systems": [
            {"name": one, "kind": "embedding", "identity": one, "facts": dict((facts or {}).get(one, {}))}
            for one in systems
        ],
        "datasets": [
            {"name": one, "lang": "eng", "fingerprint": "f", "tasks": {family: {"n": items}}}
            for one, (family, _) in STUDY.items()
        ],
    })  # fmt: skip
    lines = [f"{one},fleiss_kappa,0.7,0.5,0.9,{items},good,{how}" for one, how in trust.items()]
    header = "dataset,coefficient,value,low,high,items,band,trust"
    (path / "tables" / "agreement.csv").write_text("\n".join((header, *lines, "")))
    return path


def _scored(name: str, dataset: str, level: float | None, items: int) -> SystemHeadlineValue:
    if level is None:
        return SystemHeadlineValue.none(name, "out of memory")
    hard = make_seeded_generator(7, "hard", dataset).normal(0, 0.1, items)
    own = level + hard + make_seeded_generator(7, dataset, name).normal(0, 0.02, items)
    draws = resample_means(own[:, None], n_resamples=400, rng=make_seeded_generator(7, "draws", dataset)).T[0]
    return SystemHeadlineValue(name, float(own.mean()), items, draws, "bootstrap over items")


def _hume_row(one: SystemHeadlineValue, task: str, dataset: str, measure: str) -> ResultRow:
    low, high = one.interval
    return ResultRow(
        "hume", task, dataset, "", "eng" if dataset else "", "", one.system, measure, one.value, one.n, low, high,
        "b", 7, "",
    )  # fmt: skip


class Running:
    """A run that goes on: cells end one by one, as a session writes them."""

    def __init__(self, path: Path, systems: Sequence[str], *, seed: int = 1337, fingerprint: str = "f") -> None:
        self.folder, self.systems, self.seed = RunFolder(path), systems, seed
        path.mkdir(parents=True, exist_ok=True)
        told = manifest(dict.fromkeys(systems, 0.5), seed, fingerprint, LATE, {}, (), None)
        for cell in told["cells"]:
            cell.update(status="not run", seconds=None)
        self.folder.write_manifest({**told, "status": "running"})
        self.folder.write_results([])

    def end_cell(self, system: str, task: str, level: float) -> None:
        """A cell is done: its record first, then its row, as in a session."""
        measure = TASKS[task]
        headline = _headline(self.folder, task, measure, system, level, self.seed, list(TASKS).index(task))
        score = Score(measure, headline.value, headline.n, method="b")
        part = HeadlineComponent(headline.value, headline.n, headline.replicates)
        record = CellRecord(_key(system, task), task, "sample", system, "done", "", 1.0, (score,), {measure: part})
        self.folder.write_cell_record(_cell(system, task), record)
        self.folder.append_results([_row(headline, task, "sample", measure, self.seed)])

    def fail_cell(self, system: str, task: str, reason: str) -> None:
        """A cell has failed."""
        self.folder.write_cell_record(_cell(system, task), make_failed_cell_record(_cell(system, task), reason, 1.0))


def manifest(
    systems: Mapping[str, float],
    seed: int,
    fingerprint: str,
    updated: str,
    kinds: Mapping[str, str],
    failing: Sequence[tuple[str, str]],
    facts: Mapping[str, Any] | None,
) -> dict[str, Any]:
    """What the manifest of such a run says."""
    return {
        "embassay": "0.1.0", "protocol": "sage", "name": "r", "status": "partial" if failing else "finished",
        "created": updated, "updated": updated, "command": "embassay sage run --out /srv/someone/secret/runs",
        "arguments": {"systems": list(systems), "datasets": ["sample"], "tasks": [], "seed": seed, "limit": None},
        "systems": [
            {"name": name, "kind": kinds.get(name, "embedding"), "identity": f"{name}/1", "facts": dict(facts or {})}
            for name in systems
        ],
        "datasets": [
            {"name": "sample", "source": "/srv/someone/secret/data", "lang": "en", "fingerprint": fingerprint,
             "tasks": {task: {"n": ITEMS} for task in TASKS}},
        ],
        "cells": [
            {"key": _key(name, task), "task": task, "dataset": "sample", "system": name,
             "status": "failed" if (name, task) in failing else "done",
             "reason": "out of memory" if (name, task) in failing else "", "seconds": 2.0,
             "counts": {"texts_encoded": 100}}
            for name in systems for task in TASKS
        ],
    }  # fmt: skip


def _headline(
    folder: RunFolder, task: str, measure: str, name: str, level: float, seed: int, place: int
) -> SystemHeadlineValue:
    """A value with replicates and its items; the items are as hard for every system."""
    hard = make_seeded_generator(seed, "items", task).normal(0, 0.1, ITEMS)
    own = level + hard + make_seeded_generator(seed, "own", task, name).normal(0, 0.02, ITEMS)
    draws = resample_means(own[:, None], n_resamples=400, rng=make_seeded_generator(seed, "written", task)).T[0]
    items: dict[str, Sequence[Any]] = {
        "item_id": [f"d{i:04}" for i in range(ITEMS)], "variant": [""] * ITEMS, "measure": [measure] * ITEMS,
        "value": own.tolist(),
    }  # fmt: skip
    write_parquet_columns(folder.locate_cell_items(task, "sample", name), items)
    return SystemHeadlineValue(name, float(own.mean()), ITEMS, draws, "bootstrap over documents")


def _overall(name: str, parts: Sequence[SystemHeadlineValue]) -> SystemHeadlineValue:
    missing = [part for part in parts if part.value is None]
    if missing:
        return SystemHeadlineValue.none(name, missing[0].reason)
    value = float(np.mean([part.value for part in parts]))
    return SystemHeadlineValue(name, value, len(parts), np.mean([part.replicates for part in parts], axis=0), "mean")


def _row(headline: SystemHeadlineValue, task: str, dataset: str, measure: str, seed: int) -> ResultRow:
    low, high = percentile_interval(headline.replicates) if len(headline.replicates) else (None, None)
    return ResultRow(
        "sage", task, dataset, "", "en" if dataset else "", "", headline.system, measure, headline.value, headline.n,
        None if low is None else float(low), None if high is None else float(high), "b", seed, headline.reason,
    )  # fmt: skip


def _key(system: str, task: str) -> str:
    return f"{abs(hash_of(system + task)):032x}"


def hash_of(text: str) -> int:
    """The same in every process."""
    import hashlib

    return int(hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:30], 16)


def _cell(system: str, task: str) -> RunCell:
    return RunCell(task, "sample", system, _key(system, task), 100, None)
