"""Over datasets and tasks: the headline of each task, the overall score, and which systems they tell apart.

A task's headline is the mean over its datasets, a group of datasets counting as one; overall is the plain mean of the
protocol's tasks, and undefined where one of them is missing. A `TaskProtocol` says which tasks these are, between which
bounds they lie, and where a task is concluded otherwise. Headlines are kept with their replicates.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from embassay.errors import DataError
from embassay.parquet import read_parquet
from embassay.protocols.kernel.estimates import DEFINED, UNVARIED, bootstrap_interval, clip_interval_to_bounds
from embassay.protocols.kernel.plan import Plan
from embassay.protocols.kernel.tables import Column, ColumnTable, format_p_value, format_small_count_in_words
from embassay.records import HeadlineComponent, ResampledUnitGroup, ResultRow
from embassay.runs.folder import CellRecord, convert_none_to_nan_array, convert_numbers_to_json, write_parquet_columns
from embassay.stats import compare_replicates
from embassay.stats.intervals import degrees_of_freedom_of_strata, list_resampled_strata, scale_strata_by_weight
from embassay.stats.ranks import make_rank_ranges
from embassay.stats.resampling import are_replicates_constant

if TYPE_CHECKING:
    from embassay.protocols.kernel.evaluation import TaskProtocol

ALPHA = 0.05
CORRECTION = "holm"
METHOD = (
    "paired bootstrap: two-sided t test of the difference with its bootstrap standard error, Satterthwaite's degrees "
    "of freedom over what was resampled, shared by all pairs"
)


def describe_undecided_pair(p: float, p_adjusted: float, systems: int) -> str:
    """What is said of two systems that no test tells apart when all pairs of so many systems are tested. Alone the pair
    may be: then the families are named.

    >>> describe_undecided_pair(0.2, 0.6, 3), describe_undecided_pair(0.02, 0.18, 6)
    ('cannot be told apart', 'cannot be told apart among 15 pairs (p 0.180 by Holm; alone p 0.020)')
    """
    if p >= ALPHA:
        return "cannot be told apart"
    pairs = systems * (systems - 1) // 2
    return (
        f"cannot be told apart among {pairs} pairs (p {format_p_value(p_adjusted)} by Holm; alone p "
        f"{format_p_value(p)})"
    )


def explain_missing_verdict(
    task: str, ranked: Iterable[SystemHeadlineValue], references: Iterable[SystemHeadlineValue]
) -> str:
    """Why there is no verdict on a task: on retrieval where a reference row reaches the leader. Retention is the share
    that is kept of what was found, and to keep all of what was found by knowing nothing is no merit. Else empty."""
    ranked = tuple(ranked)
    if not (equal := find_reference_above_leader(task, ranked, references)):
        return ""
    best = max(headline.value for headline in ranked if headline.value is not None)
    why = f"a baseline that ignores the text, reaches the leader's {best:.3f}"
    return f"{equal}, {why}; see nDCG@10 on the clean corpus"


def find_reference_above_leader(
    task: str, ranked: Iterable[SystemHeadlineValue], references: Iterable[SystemHeadlineValue]
) -> str:
    """The first reference row that reaches the leader on retrieval; empty where none does, and for other tasks."""
    best = max((headline.value for headline in ranked if headline.value is not None), default=None)
    if task != "retrieval" or best is None:
        return ""
    return next((row.system for row in references if row.value is not None and row.value >= best), "")


@dataclass(frozen=True)
class SystemHeadlineValue:
    """One system's value for a task (or overall) with its replicates, or the reason why there is none. `strata` are
    what was resampled by itself; where left out, the `n` items together."""

    system: str
    value: float | None
    n: int
    replicates: NDArray[np.float64]
    method: str = ""
    reason: str = ""
    strata: tuple[ResampledUnitGroup, ...] = ()
    bounds: tuple[float, float] = (-math.inf, math.inf)
    """What values of the measure lie between: the interval does not leave it."""
    stated: tuple[float | None, float | None] | None = None
    """The interval that its run states, where that is not made from the replicates alone."""

    @classmethod
    def of(
        cls,
        system: str,
        part: HeadlineComponent,
        method: str,
        n: int | None = None,
        bounds: tuple[float, float] = (-math.inf, math.inf),
    ) -> SystemHeadlineValue:
        """A system's headline value from a component, of `n` items where these are counted otherwise."""
        many = part.n if n is None else n
        return cls(system, part.value, many, part.replicates, method, part.reason, list_resampled_strata(part), bounds)

    @classmethod
    def none(cls, system: str, reason: str) -> SystemHeadlineValue:
        """Make a headline value that has no value, and says why."""
        return cls(system, None, 0, np.empty(0), reason=reason)

    @property
    def component(self) -> HeadlineComponent:
        """As a part of a mean."""
        return HeadlineComponent(self.value, self.n, self.replicates, self.reason, strata=self.strata)

    @property
    def list_separately_resampled_strata(self) -> tuple[ResampledUnitGroup, ...]:
        """What was resampled by itself."""
        return list_resampled_strata(self.component)

    @property
    def interval(self) -> tuple[float | None, float | None]:
        """The 95% interval, (None, None) where there is none."""
        if self.stated is not None:
            return self.stated
        ends = bootstrap_interval(
            self.replicates, self.value, degrees_of_freedom_of_strata(self.list_separately_resampled_strata)
        )
        return clip_interval_to_bounds(ends, self.value, self.bounds)


def clip_difference_interval(
    low: float, high: float, a: SystemHeadlineValue, b: SystemHeadlineValue
) -> tuple[float, float]:
    """The interval of a - b, cut to what a difference of two such values can be: the truth lies there."""
    return max(low, a.bounds[0] - b.bounds[1]), min(high, a.bounds[1] - b.bounds[0])


def stack_replicates(parts: Sequence[HeadlineComponent]) -> NDArray[np.float64]:
    """The replicates of all, (parts, resamples); those of a part without are its value."""
    resamples = max(len(part.replicates) for part in parts)
    return np.stack(
        [
            part.replicates if len(part.replicates) else np.full(resamples, part.value, dtype=np.float64)
            for part in parts
        ]
    )


def average_headline_components(parts: Sequence[HeadlineComponent], *, harmonic: bool = False) -> HeadlineComponent:
    """Mean over datasets or tasks; `n` is their sum and replicates are paired by position.

    A part without an interval (of one item) is held fixed in the resamples.
    """
    columns = stack_replicates(parts)
    values = np.array([part.value for part in parts], dtype=np.float64)
    n = sum(part.n for part in parts)
    if not harmonic:
        strata = scale_strata_by_part_weights(parts, np.full(len(parts), 1 / len(parts)))
        return HeadlineComponent(float(values.mean()), n, np.mean(columns, axis=0), strata=strata)
    with np.errstate(divide="ignore", invalid="ignore"):
        value = float(len(values) / (1 / values).sum())
        # The derivative of the harmonic mean by each part says how far the part's error carries.
        slopes = np.where(values > 0, value * value / (len(values) * values * values), 1.0)
        draws = len(columns) / (1 / columns).sum(axis=0)
    return HeadlineComponent(value, n, draws, strata=scale_strata_by_part_weights(parts, slopes))


def scale_strata_by_part_weights(
    parts: Sequence[HeadlineComponent], weights: NDArray[np.float64]
) -> tuple[ResampledUnitGroup, ...]:
    """What was resampled of a mean with these weights, (parts,)."""
    pairs = zip(parts, weights.tolist(), strict=True)
    return tuple(
        stratum for part, weight in pairs for stratum in scale_strata_by_weight(list_resampled_strata(part), weight)
    )


def compare_headlines_of_all_systems(headlines: Sequence[SystemHeadlineValue]) -> dict[str, Any]:
    """Rank ranges and pairwise differences of the systems that have a value and an interval, as in comparisons.json.

    Keys `systems` (best first), `rank_low`, `rank_high`, `best` (who may hold rank 1), `pairs`, and `reason` where
    there are no pairs.
    """
    complete = sorted(
        (headline for headline in headlines if headline.value is not None),
        # Equal values by name, so that the order of the command line decides nothing.
        key=lambda headline: (-(headline.value or 0), headline.system),
    )
    names = [headline.system for headline in complete]
    empty = {"systems": names, "rank_low": [], "rank_high": [], "best": [], "pairs": []}
    if len(complete) < 2:
        return {**empty, "reason": "fewer than two systems with a value"}
    if not all(len(headline.replicates) for headline in complete):
        return {**empty, "reason": "no interval: one item cannot be resampled"}
    replicates = np.stack([headline.replicates for headline in complete])
    # A resample without a value for one system is left out for all: pairs stay paired.
    defined = np.isfinite(replicates).all(axis=0)
    if defined.mean() < DEFINED:
        return {**empty, "reason": "no interval: too few items"}
    replicates = replicates[:, defined]
    values = np.array([headline.value for headline in complete], dtype=np.float64)
    strata = [headline.list_separately_resampled_strata for headline in complete]
    pairs = compare_replicates(replicates, values, strata=strata)
    ranges = make_rank_ranges(pairs, len(names), alpha=ALPHA)
    best = [name for name, (low, _) in zip(names, ranges, strict=True) if low == 1]
    return {
        "systems": names,
        "rank_low": [low for low, _ in ranges],
        "rank_high": [high for _, high in ranges],
        "best": best,
        "pairs": [
            {
                "a": names[pair.a], "b": names[pair.b], "difference": pair.difference,
                "ci_low": low, "ci_high": high, "p": pair.p, "p_adjusted": pair.p_adjusted,
            }
            for pair in pairs
            for low, high in [clip_difference_interval(pair.low, pair.high, complete[pair.a], complete[pair.b])]
        ],
        "reason": ""
    }  # fmt: skip


FILE = "headlines.parquet"
OVERALL = "overall"
RANKED, CLASSICAL, REFERENCE = "", "classical", "reference"
"""Groups of systems: those of one group were scored by one method. References are never ranked."""


@dataclass(frozen=True)
class SystemStanding:
    """A system's value at a place of a run: for a task or `overall`, over datasets (`dataset` empty) or on one."""

    task: str
    dataset: str
    measure: str
    headline: SystemHeadlineValue
    group: str = RANKED

    @property
    def system(self) -> str:
        """The name of the system whose standing it is."""
        return self.headline.system

    @property
    def place(self) -> tuple[str, str, str]:
        """Task, dataset and measure: what values can be compared at."""
        return self.task, self.dataset, self.measure


def write_standings(folder: Path, standings: Iterable[SystemStanding]) -> None:
    """Write `headlines.parquet` of a run; nothing where there are none."""
    rows = [_standing_row(standing) for standing in standings]
    if rows:
        write_parquet_columns(folder / FILE, {name: [row[name] for row in rows] for name in rows[0]})


def find_possible_leaders(comparisons: Mapping[str, Any]) -> dict[str, frozenset[str]]:
    """Who may hold rank 1 on each task, of every group of systems, by the tests of a run's `comparisons`."""
    first: dict[str, frozenset[str]] = {}
    for name, scope in (comparisons.get("scopes") or {}).items():
        task = name.partition(":")[0]
        first[task] = first.get(task, frozenset()) | frozenset(scope["best"])
    return first


def read_standings(folder: Path) -> tuple[SystemStanding, ...]:
    """The standings of a run in the order of the file; empty where it has none. DataError for a broken file."""
    path = folder / FILE
    if not path.is_file():
        return ()
    try:
        return tuple(_read_standing(row) for row in read_parquet(path).iter_rows(named=True))
    except (DataError, OSError, ValueError, KeyError, TypeError) as error:
        fault = error.found or error.what if isinstance(error, DataError) else str(error)
        raise DataError(
            "The headlines cannot be read", path=path, found=fault[:80],
            mend="Run the same command again to write them from the finished cells."
        ) from error  # fmt: skip


def group_standings_by_place(
    standings: Sequence[SystemStanding],
) -> Mapping[tuple[str, str, str], Sequence[SystemStanding]]:
    """The standings at each place, places in their order."""
    groups: dict[tuple[str, str, str], list[SystemStanding]] = {}
    for standing in standings:
        groups.setdefault(standing.place, []).append(standing)
    return groups


def _standing_row(standing: SystemStanding) -> dict[str, Any]:
    headline = standing.headline
    # Text keeps every bit of a number, and reads the same on any machine.
    replicates = json.dumps(convert_numbers_to_json(headline.replicates))
    return {
        "task": standing.task, "dataset": standing.dataset, "measure": standing.measure, "group": standing.group,
        "system": headline.system, "value": headline.value, "n": str(headline.n), "method": headline.method,
        "reason": headline.reason, "replicates": replicates, "strata": _format_resampled_strata(headline.strata),
        "bounds": json.dumps([end if math.isfinite(end) else None for end in headline.bounds])
    }  # fmt: skip


def _read_standing(row: Mapping[str, Any]) -> SystemStanding:
    headline = SystemHeadlineValue(
        row["system"], row["value"], int(row["n"]), convert_none_to_nan_array(json.loads(row["replicates"])),
        row["method"],
        row["reason"], _parse_resampled_strata(row.get("strata") or "[]"),
        _parse_value_bounds(row.get("bounds") or "[null, null]")
    )  # fmt: skip
    return SystemStanding(row["task"], row["dataset"], row["measure"], headline, row["group"])


def _parse_value_bounds(text: str) -> tuple[float, float]:
    least, most = json.loads(text)
    return -math.inf if least is None else least, math.inf if most is None else most


def _format_resampled_strata(strata: Sequence[ResampledUnitGroup]) -> str:
    """Six digits are plenty: the draws only tell how much of the variance is a stratum's."""
    short = [
        (stratum.units, [value and float(f"{value:.6g}") for value in convert_numbers_to_json(stratum.draws)])
        for stratum in strata
    ]
    return json.dumps(short)


def _parse_resampled_strata(text: str) -> tuple[ResampledUnitGroup, ...]:
    return tuple(ResampledUnitGroup(units, convert_none_to_nan_array(draws)) for units, draws in json.loads(text))


def make_rows_and_comparisons_over_datasets(
    protocol: TaskProtocol, plan: Plan, records: Sequence[CellRecord]
) -> tuple[list[ResultRow], dict[str, Any]]:
    """The rows over datasets, and the paired comparisons of every scope."""
    ranked = [system.name for system in plan.systems if system.kind != "reference"]
    by_task = {
        name: {system.name: _task_headline(protocol, plan, records, name, system.name) for system in plan.systems}
        for name in plan.tasks
    }
    rows = [
        _headline_row(protocol, plan, name, protocol.tasks.build(name).headline, headline)
        for name, headlines in by_task.items()
        for headline in headlines.values()
    ]
    rows += [
        _headline_row(
            protocol,
            plan,
            name,
            protocol.tasks.build(name).headline,
            _task_headline(protocol, plan, records, name, system.name, members),
            group,
        )
        for name in plan.tasks
        for group, members in _map_dataset_groups_to_members(plan, name).items()
        for system in plan.systems
    ]
    overall = {system.name: _overall_headline(protocol, plan, by_task, system.name) for system in plan.systems}
    rows += [_headline_row(protocol, plan, "overall", "overall", headline) for headline in overall.values()]
    rows += [
        _headline_row(protocol, plan, "overall", "mean_of_present", present)
        for headline in overall.values()
        if headline.value is None
        and (present := _average_system_headline_over_tasks(protocol, plan, by_task, headline.system)) is not None
    ]
    scopes = {"overall": overall, **by_task}
    comparisons = {
        "alpha": ALPHA,
        "correction": CORRECTION,
        "method": METHOD,
        "scopes": {name: _compare_systems_in_scope(plan, name, scope, ranked) for name, scope in scopes.items()},
    }
    return rows, comparisons


def _compare_systems_in_scope(
    plan: Plan, task: str, scope: dict[str, SystemHeadlineValue], ranked: Sequence[str]
) -> dict[str, Any]:
    """The comparisons of a scope; none where a reference row reaches the leader."""
    headlines = [scope[system] for system in ranked]
    comparisons = compare_headlines_of_all_systems(headlines)
    reason = explain_missing_verdict(
        task, headlines, [scope[system.name] for system in plan.systems if system.kind == "reference"]
    )
    if not reason or not comparisons["pairs"]:
        return comparisons
    return {**comparisons, "rank_low": [], "rank_high": [], "best": [], "pairs": [], "reason": reason}


def make_standings(protocol: TaskProtocol, plan: Plan, records: Sequence[CellRecord]) -> Iterator[SystemStanding]:
    """Every system's headlines: of each task on each dataset and over them, and overall."""
    groups = {entry.name: REFERENCE if entry.kind == "reference" else RANKED for entry in plan.systems}
    by_task: dict[str, dict[str, SystemHeadlineValue]] = {}
    for task in plan.tasks:
        measure, datasets = protocol.tasks.build(task).headline, _list_dataset_names_of_task(plan, task)
        by_task[task] = {name: _task_headline(protocol, plan, records, task, name) for name in groups}
        for system, group in groups.items():
            shown = {name: (name,) for name in datasets} | _map_dataset_groups_to_members(plan, task)
            for dataset, members in shown.items() if len(datasets) > 1 else ():
                headline = _task_headline(protocol, plan, records, task, system, members)
                yield SystemStanding(task, dataset, measure, headline, group)
            yield SystemStanding(task, "", measure, by_task[task][system], group)
    for system, group in groups.items():
        yield SystemStanding(OVERALL, "", OVERALL, _overall_headline(protocol, plan, by_task, system), group)


def _map_dataset_groups_to_members(plan: Plan, task: str) -> dict[str, list[str]]:
    """The groups of two datasets or more that the task has, with their members."""
    members_of: dict[str, list[str]] = {}
    for dataset in plan.datasets:
        if dataset.group and any(part.task == task for part in dataset.tasks):
            members_of.setdefault(dataset.group, []).append(dataset.name)
    return {group: members for group, members in members_of.items() if len(members) > 1}


def _list_dataset_names_of_task(plan: Plan, task: str) -> tuple[str, ...]:
    return tuple(data.name for data in plan.datasets if any(part.task == task for part in data.tasks))


def _task_headline(
    protocol: TaskProtocol,
    plan: Plan,
    records: Sequence[CellRecord],
    task: str,
    system: str,
    datasets: Sequence[str] | None = None,
) -> SystemHeadlineValue:
    """Mean over the parts of the task of the mean over the datasets (all) that have the part."""
    of_task = [record for record in records if (record.task, record.system) == (task, system)]
    by_dataset = {record.dataset: record for record in of_task if record.done}
    expected = _list_dataset_names_of_task(plan, task) if datasets is None else datasets
    for name in expected:
        if name not in by_dataset:
            reason = next((cell.reason for cell in of_task if cell.dataset == name), "") or "not run yet"
            return SystemHeadlineValue.none(system, f"{name}: {reason}")
    parts: dict[str, dict[str, list[HeadlineComponent]]] = {}
    left_out = []
    groups = {dataset.name: dataset.group or dataset.name for dataset in plan.datasets}
    for name in expected:
        record = by_dataset[name]
        if not record.components:
            return SystemHeadlineValue.none(system, f"{name}: {record.scores[0].reason}")
        for part, component in record.components.items():
            if component.value is not None:
                parts.setdefault(part, {}).setdefault(groups[name], []).append(component)
            elif protocol.is_mean_of_defined_datasets(task):
                left_out.append(name)
            else:
                return SystemHeadlineValue.none(system, f"{name}: {component.reason}")
    if not parts:
        return SystemHeadlineValue.none(system, f"undefined on {', '.join(left_out)}")
    harmonic = protocol.is_mean_harmonic(task, plan.request.options)
    # A group of datasets is one: the mean of its members, whatever mean is taken over datasets.
    joined = {
        part: [average_headline_components(members) if len(members) > 1 else members[0] for members in of_part.values()]
        for part, of_part in parts.items()
    }
    means = [average_headline_components(components, harmonic=harmonic) for components in joined.values()]
    method = _describe_averaging_method(protocol, task, joined, left_out)
    if datasets is None:
        method += "".join(
            f"; {said.rstrip('.')}" for suite in plan.suites if (said := suite.describe_present_sets(task))
        )
    return _make_headline_of_parts(protocol, system, means, method)


def _make_headline_of_parts(
    protocol: TaskProtocol, system: str, parts: list[HeadlineComponent], method: str
) -> SystemHeadlineValue:
    mean = average_headline_components(parts, harmonic=False)
    return SystemHeadlineValue.of(system, mean, method, max(part.n for part in parts), protocol.bounds)


def _describe_averaging_method(
    protocol: TaskProtocol, task: str, parts: dict[str, list[HeadlineComponent]], left_out: list[str]
) -> str:
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


def _describe_suite_sets(plan: Plan) -> str:
    """What the mean over tasks has of the run's suites, after what is said of it."""
    return "".join(f"; {suite.describe_present_sets().rstrip('.')}" for suite in plan.suites)


def _overall_headline(
    protocol: TaskProtocol, plan: Plan, by_task: dict[str, dict[str, SystemHeadlineValue]], system: str
) -> SystemHeadlineValue:
    """Unweighted mean of the protocol's tasks; undefined when one is missing."""
    for name in protocol.paper:
        if name not in by_task:
            return SystemHeadlineValue.none(system, f"{name} was not part of the run")
        if by_task[name][system].value is None:
            return SystemHeadlineValue.none(system, f"{name}: {by_task[name][system].reason}")
    return _average_task_headlines(
        protocol,
        [by_task[name][system] for name in protocol.paper],
        system,
        f"mean of the {format_small_count_in_words(len(protocol.paper))} tasks{_describe_suite_sets(plan)}",
    )


def _average_system_headline_over_tasks(
    protocol: TaskProtocol, plan: Plan, by_task: dict[str, dict[str, SystemHeadlineValue]], system: str
) -> SystemHeadlineValue | None:
    headlines = [by_task[name][system] for name in protocol.paper if name in by_task]
    present = [headline for headline in headlines if headline.value is not None]
    if not present:
        return None
    method = f"mean of {len(present)} of {len(protocol.paper)} tasks{_describe_suite_sets(plan)}"
    return _average_task_headlines(protocol, present, system, method)


def _average_task_headlines(
    protocol: TaskProtocol, headlines: list[SystemHeadlineValue], system: str, method: str
) -> SystemHeadlineValue:
    parts = [headline.component for headline in headlines]
    fixed = sum(not len(part.replicates) for part in parts)
    note = f"; {fixed} without an interval held fixed" if fixed else ""
    mean = average_headline_components(parts, harmonic=False)
    return SystemHeadlineValue.of(system, mean, method + note, len(parts), protocol.bounds)


def _headline_row(
    protocol: TaskProtocol, plan: Plan, task: str, measure: str, headline: SystemHeadlineValue, dataset: str = ""
) -> ResultRow:
    low, high = headline.interval
    method = f"{headline.method}; {UNVARIED}" if are_replicates_constant(headline.replicates) else headline.method
    return ResultRow(
        protocol.name, task, dataset, "", "", "", headline.system, measure, headline.value, headline.n, low, high,
        method, plan.request.seed, headline.reason
    )  # fmt: skip


def headline_table(protocol: TaskProtocol, plan: Plan, rows: Sequence[ResultRow]) -> ColumnTable:
    """Every system's headline of each task, and overall; references last."""
    values = {(row.task, row.system): row.value for row in rows if not row.dataset and row.measure != "mean_of_present"}
    scopes = [*plan.tasks, "overall"]
    titles = [protocol.tasks.build(task).title for task in plan.tasks] + ["Overall"]
    ordered = sorted(plan.systems, key=lambda system: system.kind == "reference")
    return ColumnTable(
        f"{protocol.name}_tasks", "Headlines by task",
        (Column("system", "text"), *(Column(title, decimals=3) for title in titles)),
        tuple((system.name, *(values.get((scope, system.name)) for scope in scopes)) for system in ordered)
    )  # fmt: skip
