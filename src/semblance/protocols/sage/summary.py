"""Over datasets and tasks: the headline of each task, the overall score, and who can be told apart from whom."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from semblance.protocols.estimates import DEFINED, interval
from semblance.protocols.sage.plan import Plan
from semblance.protocols.sage.tasks import TASK_NAMES
from semblance.protocols.sage.work import task as task_called
from semblance.records import Component, Result
from semblance.runs.cells import CellRecord
from semblance.stats import compare_replicates, rank_ranges

ALPHA = 0.05


@dataclass(frozen=True)
class Headline:
    """One system's value for a task (or overall) with its replicates, or the reason why there is none."""

    system: str
    value: float | None
    n: int
    replicates: NDArray[np.float64]
    method: str = ""
    reason: str = ""


def summarise(plan: Plan, records: Sequence[CellRecord]) -> tuple[list[Result], dict[str, Any]]:
    """The rows over datasets, and the paired comparisons of every scope."""
    ranked = [system.name for system in plan.systems if system.kind != "reference"]
    by_task = {
        name: {system.name: _task_headline(plan, records, name, system.name) for system in plan.systems}
        for name in plan.tasks
    }
    rows = [
        _row(plan, name, task_called(name).headline, headline)
        for name, headlines in by_task.items()
        for headline in headlines.values()
    ]
    overall = {system.name: _overall(by_task, system.name) for system in plan.systems}
    rows += [_row(plan, "overall", "overall", headline) for headline in overall.values()]
    rows += [
        _row(plan, "overall", "mean_of_present", present)
        for headline in overall.values()
        if headline.value is None and (present := _mean_of_present(by_task, headline.system)) is not None
    ]
    scopes = {"overall": overall, **by_task}
    comparisons = {
        "alpha": ALPHA,
        "correction": "holm",
        "method": "paired bootstrap: two-sided z test of the difference with its bootstrap standard error",
        "scopes": {name: _compared([scope[system] for system in ranked]) for name, scope in scopes.items()},
    }
    return rows, comparisons


def _task_headline(plan: Plan, records: Sequence[CellRecord], task: str, system: str) -> Headline:
    """Mean over the parts of the task of the mean over the datasets that have the part."""
    of_task = [record for record in records if (record.task, record.system) == (task, system)]
    by_dataset = {record.dataset: record for record in of_task if record.done}
    expected = [one.name for one in plan.datasets if any(part.task == task for part in one.tasks)]
    for name in expected:
        if name not in by_dataset:
            reason = next((one.reason for one in of_task if one.dataset == name), "") or "not run yet"
            return _none(system, f"{name}: {reason}")
    parts: dict[str, list[Component]] = {}
    left_out = []
    for name in expected:
        record = by_dataset[name]
        if not record.components:
            return _none(system, f"{name}: {record.scores[0].reason}")
        for part, component in record.components.items():
            if component.value is not None:
                parts.setdefault(part, []).append(component)
            elif task == "retrieval":
                left_out.append(name)
            else:
                return _none(system, f"{name}: {component.reason}")
    if not parts:
        return _none(system, f"undefined on {', '.join(left_out)}")
    harmonic = task == "retrieval" and plan.request.options.dataset_mean == "harmonic"
    means = [_mean_component(components, harmonic=harmonic) for components in parts.values()]
    return _joined(system, means, _method(task, parts, left_out))


def _mean_component(parts: list[Component], *, harmonic: bool) -> Component:
    """Mean over datasets. A dataset without an interval (a single clustering set) is held fixed in the resamples."""
    resamples = max(len(part.replicates) for part in parts)
    columns = [
        part.replicates if len(part.replicates) else np.full(resamples, part.value, dtype=np.float64)
        for part in parts
    ]
    values = np.array([part.value for part in parts], dtype=np.float64)
    n = sum(part.n for part in parts)
    if not harmonic:
        return Component(float(values.mean()), n, np.mean(columns, axis=0))
    with np.errstate(divide="ignore"):
        return Component(
            float(len(values) / (1 / values).sum()), n, len(columns) / (1 / np.array(columns)).sum(axis=0)
        )


def _joined(system: str, parts: list[Component], method: str) -> Headline:
    mean = _mean_component(parts, harmonic=False)
    return Headline(system, mean.value, max(part.n for part in parts), mean.replicates, method)


def _method(task: str, parts: dict[str, list[Component]], left_out: list[str]) -> str:
    datasets = max(len(components) for components in parts.values())
    fixed = sum(not len(one.replicates) for components in parts.values() for one in components)
    words = [f"mean over {datasets} dataset{'s' if datasets > 1 else ''}, bootstrap within each"]
    if len(parts) > 1:
        words.append(f"mean of {' and '.join(parts)}")
    elif task == "preference":
        words.append(f"{next(iter(parts))} only")
    if fixed:
        words.append(f"{fixed} single set{'s' if fixed > 1 else ''} held fixed")
    if left_out:
        words.append(f"undefined and left out: {', '.join(left_out)}")
    return "; ".join(words)


def _overall(by_task: dict[str, dict[str, Headline]], system: str) -> Headline:
    """Unweighted mean of the five tasks; undefined when one is missing (SAGE table 1)."""
    for name in TASK_NAMES:
        if name not in by_task:
            return _none(system, f"{name} was not part of the run")
        if by_task[name][system].value is None:
            return _none(system, f"{name}: {by_task[name][system].reason}")
    return _mean_of_tasks([by_task[name][system] for name in TASK_NAMES], system, "mean of the five tasks")


def _mean_of_present(by_task: dict[str, dict[str, Headline]], system: str) -> Headline | None:
    present = [headlines[system] for headlines in by_task.values() if headlines[system].value is not None]
    if not present:
        return None
    return _mean_of_tasks(present, system, f"mean of {len(present)} of 5 tasks")


def _mean_of_tasks(headlines: list[Headline], system: str, method: str) -> Headline:
    parts = [Component(one.value, one.n, one.replicates) for one in headlines]
    fixed = sum(not len(part.replicates) for part in parts)
    note = f"; {fixed} without an interval held fixed" if fixed else ""
    mean = _mean_component(parts, harmonic=False)
    return Headline(system, mean.value, len(parts), mean.replicates, method + note)


def _none(system: str, reason: str) -> Headline:
    return Headline(system, None, 0, np.empty(0), reason=reason)


def _row(plan: Plan, task: str, measure: str, headline: Headline) -> Result:
    low, high = interval(headline.replicates)
    return Result(
        "sage", task, "", "", "", "", headline.system, measure, headline.value, headline.n, low, high,
        headline.method, plan.request.seed, headline.reason,
    )  # fmt: skip


def _compared(headlines: list[Headline]) -> dict[str, Any]:
    """Rank ranges and pairwise differences of the systems that have a value and an interval."""
    complete = sorted(
        (one for one in headlines if one.value is not None), key=lambda one: (-(one.value or 0), one.system)
    )
    names = [one.system for one in complete]
    empty = {"systems": names, "rank_low": [], "rank_high": [], "best": [], "pairs": []}
    if len(complete) < 2:
        return {**empty, "reason": "fewer than two systems with a value"}
    if not all(len(one.replicates) for one in complete):
        return {**empty, "reason": "no interval: a single set cannot be resampled"}
    replicates = np.stack([one.replicates for one in complete])
    defined = np.isfinite(replicates).all(axis=0)
    if defined.mean() < DEFINED:
        return {**empty, "reason": "no interval: too few items"}
    replicates = replicates[:, defined]
    values = np.array([one.value for one in complete], dtype=np.float64)
    pairs = compare_replicates(replicates, values)
    ranges = rank_ranges(replicates, values, alpha=ALPHA)
    best = [name for name, (low, _) in zip(names, ranges, strict=True) if low == 1]
    return {
        "systems": names,
        "rank_low": [low for low, _ in ranges],
        "rank_high": [high for _, high in ranges],
        "best": best,
        "pairs": [
            {
                "a": names[pair.a], "b": names[pair.b], "difference": pair.difference,
                "ci_low": pair.low, "ci_high": pair.high, "p": pair.p, "p_adjusted": pair.p_adjusted,
            }
            for pair in pairs
        ],
        "reason": "",
    }  # fmt: skip
