"""Over datasets and tasks: the headline of each task, the overall score, and who can be told apart from whom.

A task's headline is the mean over its datasets, a group of datasets counting as one; overall is the plain mean of the
protocol's tasks, and undefined where one of them is missing. `protocol` says which tasks these are, between which
bounds they lie, and where a task is concluded otherwise.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from embassay.protocols.kernel.comparisons import (
    ALPHA,
    CORRECTION,
    METHOD,
    OVERALL,
    RANKED,
    REFERENCE,
    Headline,
    Standing,
    compared,
    known_by_nothing,
    mean_component,
)
from embassay.protocols.kernel.estimates import UNVARIED, unvaried
from embassay.protocols.kernel.plan import Plan
from embassay.protocols.kernel.tables import Column, ColumnTable, in_words
from embassay.records import Component, Result
from embassay.runs.folder import CellRecord

if TYPE_CHECKING:
    from embassay.protocols.kernel.evaluation import TaskProtocol


def summarise(
    protocol: TaskProtocol, plan: Plan, records: Sequence[CellRecord]
) -> tuple[list[Result], dict[str, Any]]:
    """The rows over datasets, and the paired comparisons of every scope."""
    ranked = [system.name for system in plan.systems if system.kind != "reference"]
    by_task = {
        name: {
            system.name: _task_headline(protocol, plan, records, name, system.name) for system in plan.systems
        }
        for name in plan.tasks
    }
    rows = [
        _row(protocol, plan, name, protocol.tasks.build(name).headline, headline)
        for name, headlines in by_task.items()
        for headline in headlines.values()
    ]
    rows += [
        _row(
            protocol,
            plan,
            name,
            protocol.tasks.build(name).headline,
            _task_headline(protocol, plan, records, name, system.name, members),
            group,
        )
        for name in plan.tasks
        for group, members in _groups(plan, name).items()
        for system in plan.systems
    ]
    overall = {system.name: _overall(protocol, plan, by_task, system.name) for system in plan.systems}
    rows += [_row(protocol, plan, "overall", "overall", headline) for headline in overall.values()]
    rows += [
        _row(protocol, plan, "overall", "mean_of_present", present)
        for headline in overall.values()
        if headline.value is None
        and (present := _mean_of_present(protocol, plan, by_task, headline.system)) is not None
    ]
    scopes = {"overall": overall, **by_task}
    comparisons = {
        "alpha": ALPHA,
        "correction": CORRECTION,
        "method": METHOD,
        "scopes": {name: _compared(plan, name, scope, ranked) for name, scope in scopes.items()},
    }
    return rows, comparisons


def _compared(plan: Plan, task: str, scope: dict[str, Headline], ranked: Sequence[str]) -> dict[str, Any]:
    """The comparisons of a scope; none where a reference row reaches the leader."""
    own = [scope[system] for system in ranked]
    found = compared(own)
    reason = known_by_nothing(
        task, own, [scope[system.name] for system in plan.systems if system.kind == "reference"]
    )
    if not reason or not found["pairs"]:
        return found
    return {**found, "rank_low": [], "rank_high": [], "best": [], "pairs": [], "reason": reason}


def standings(protocol: TaskProtocol, plan: Plan, records: Sequence[CellRecord]) -> Iterator[Standing]:
    """Every system's headlines: of each task on each dataset and over them, and overall."""
    groups = {
        planned_system.name: REFERENCE if planned_system.kind == "reference" else RANKED
        for planned_system in plan.systems
    }
    by_task: dict[str, dict[str, Headline]] = {}
    for task in plan.tasks:
        measure, datasets = protocol.tasks.build(task).headline, _datasets(plan, task)
        by_task[task] = {name: _task_headline(protocol, plan, records, task, name) for name in groups}
        for system, group in groups.items():
            shown = {name: (name,) for name in datasets} | _groups(plan, task)
            for dataset, members in shown.items() if len(datasets) > 1 else ():
                own = _task_headline(protocol, plan, records, task, system, members)
                yield Standing(task, dataset, measure, own, group)
            yield Standing(task, "", measure, by_task[task][system], group)
    for system, group in groups.items():
        yield Standing(OVERALL, "", OVERALL, _overall(protocol, plan, by_task, system), group)


def _groups(plan: Plan, task: str) -> dict[str, list[str]]:
    """The groups of two datasets or more that the task has, with their members."""
    found: dict[str, list[str]] = {}
    for dataset in plan.datasets:
        if dataset.group and any(part.task == task for part in dataset.tasks):
            found.setdefault(dataset.group, []).append(dataset.name)
    return {group: members for group, members in found.items() if len(members) > 1}


def _datasets(plan: Plan, task: str) -> tuple[str, ...]:
    return tuple(
        dataset.name for dataset in plan.datasets if any(part.task == task for part in dataset.tasks)
    )


def _task_headline(
    protocol: TaskProtocol,
    plan: Plan,
    records: Sequence[CellRecord],
    task: str,
    system: str,
    datasets: Sequence[str] | None = None,
) -> Headline:
    """Mean over the parts of the task of the mean over the datasets (all) that have the part."""
    of_task = [record for record in records if (record.task, record.system) == (task, system)]
    by_dataset = {record.dataset: record for record in of_task if record.done}
    expected = _datasets(plan, task) if datasets is None else datasets
    for name in expected:
        if name not in by_dataset:
            reason = next((cell.reason for cell in of_task if cell.dataset == name), "") or "not run yet"
            return Headline.none(system, f"{name}: {reason}")
    parts: dict[str, dict[str, list[Component]]] = {}
    left_out = []
    groups = {dataset.name: dataset.group or dataset.name for dataset in plan.datasets}
    for name in expected:
        record = by_dataset[name]
        if not record.components:
            return Headline.none(system, f"{name}: {record.scores[0].reason}")
        for part, component in record.components.items():
            if component.value is not None:
                parts.setdefault(part, {}).setdefault(groups[name], []).append(component)
            elif protocol.leaves_out(task):
                left_out.append(name)
            else:
                return Headline.none(system, f"{name}: {component.reason}")
    if not parts:
        return Headline.none(system, f"undefined on {', '.join(left_out)}")
    harmonic = protocol.harmonic(task, plan.request.options)
    # A group of datasets is one: the mean of its members, whatever mean is taken over datasets.
    joined = {
        part: [mean_component(members) if len(members) > 1 else members[0] for members in of_part.values()]
        for part, of_part in parts.items()
    }
    means = [mean_component(components, harmonic=harmonic) for components in joined.values()]
    method = _method(protocol, task, joined, left_out)
    if datasets is None:
        method += "".join(f"; {said.rstrip('.')}" for suite in plan.suites if (said := suite.said(task)))
    return _joined(protocol, system, means, method)


def _joined(protocol: TaskProtocol, system: str, parts: list[Component], method: str) -> Headline:
    mean = mean_component(parts, harmonic=False)
    return Headline.of(system, mean, method, max(part.n for part in parts), protocol.bounds)


def _method(protocol: TaskProtocol, task: str, parts: dict[str, list[Component]], left_out: list[str]) -> str:
    datasets = max(len(components) for components in parts.values())
    fixed = sum(not len(component.replicates) for components in parts.values() for component in components)
    words = [f"mean over {datasets} dataset{'s' if datasets > 1 else ''}, bootstrap within each"]
    if len(parts) > 1:
        words.append(f"mean of {' and '.join(parts)}")
    elif next(iter(parts)) != protocol.tasks.build(task).headline:
        words.append(f"{next(iter(parts))} only")
    if fixed:
        words.append(f"{fixed} single set{'s' if fixed > 1 else ''} held fixed")
    if left_out:
        words.append(f"undefined and left out: {', '.join(left_out)}")
    return "; ".join(words)


def _lacking(plan: Plan) -> str:
    """What the mean over tasks has of the run's suites, after what is said of it."""
    return "".join(f"; {suite.said().rstrip('.')}" for suite in plan.suites)


def _overall(
    protocol: TaskProtocol, plan: Plan, by_task: dict[str, dict[str, Headline]], system: str
) -> Headline:
    """Unweighted mean of the protocol's tasks; undefined when one is missing."""
    for name in protocol.paper:
        if name not in by_task:
            return Headline.none(system, f"{name} was not part of the run")
        if by_task[name][system].value is None:
            return Headline.none(system, f"{name}: {by_task[name][system].reason}")
    return _mean_of_tasks(
        protocol,
        [by_task[name][system] for name in protocol.paper],
        system,
        f"mean of the {in_words(len(protocol.paper))} tasks{_lacking(plan)}",
    )


def _mean_of_present(
    protocol: TaskProtocol, plan: Plan, by_task: dict[str, dict[str, Headline]], system: str
) -> Headline | None:
    own = [by_task[name][system] for name in protocol.paper if name in by_task]
    present = [headline for headline in own if headline.value is not None]
    if not present:
        return None
    method = f"mean of {len(present)} of {len(protocol.paper)} tasks{_lacking(plan)}"
    return _mean_of_tasks(protocol, present, system, method)


def _mean_of_tasks(protocol: TaskProtocol, headlines: list[Headline], system: str, method: str) -> Headline:
    parts = [headline.component for headline in headlines]
    fixed = sum(not len(part.replicates) for part in parts)
    note = f"; {fixed} without an interval held fixed" if fixed else ""
    mean = mean_component(parts, harmonic=False)
    return Headline.of(system, mean, method + note, len(parts), protocol.bounds)


def _row(
    protocol: TaskProtocol, plan: Plan, task: str, measure: str, headline: Headline, dataset: str = ""
) -> Result:
    low, high = headline.interval
    method = f"{headline.method}; {UNVARIED}" if unvaried(headline.replicates) else headline.method
    return Result(
        protocol.name, task, dataset, "", "", "", headline.system, measure, headline.value, headline.n, low, high,
        method, plan.request.seed, headline.reason,
    )  # fmt: skip


def headline_table(protocol: TaskProtocol, plan: Plan, rows: Sequence[Result]) -> ColumnTable:
    """Every system's headline of each task, and overall; references last."""
    found = {
        (row.task, row.system): row.value
        for row in rows
        if not row.dataset and row.measure != "mean_of_present"
    }
    scopes = [*plan.tasks, "overall"]
    titles = [protocol.tasks.build(task).title for task in plan.tasks] + ["Overall"]
    ordered = sorted(plan.systems, key=lambda system: system.kind == "reference")
    return ColumnTable(
        f"{protocol.name}_tasks", "Headlines by task",
        (Column("system", "text"), *(Column(title, decimals=3) for title in titles)),
        tuple((system.name, *(found.get((scope, system.name)) for scope in scopes)) for system in ordered),
    )  # fmt: skip
