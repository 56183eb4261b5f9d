"""The paper's tables 1-6 and ours beside them, from the rows of a run. Values are exact; rounding is for Markdown."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import numpy as np

from embassay.contracts import Kind
from embassay.protocols.kernel.comparisons import SystemHeadlineValue, SystemStanding
from embassay.protocols.kernel.tables import (
    ColumnTable,
    ComputedColumn,
    First,
    FormattedReportTable,
    RunTable,
    Style,
    format_csv_rows,
    number_column,
    text,
)
from embassay.protocols.sage.attack import BY_CHANCE, FLIPPED
from embassay.protocols.sage.attack import HEADLINE as WITHSTOOD
from embassay.protocols.sage.preference import CHOICES
from embassay.protocols.sage.robustness import JOINT, RELATIONS
from embassay.protocols.sage.tasks import EDITS, INSERTIONS, REMOVALS, RETRIEVAL_EDITS
from embassay.records import ResultRow
from embassay.text import FURTHER

GROUPS: tuple[tuple[Kind, str], ...] = (
    ("embedding", "Embedding models"),
    ("classical", "Classical metrics"),
    ("reference", "Reference rows, not ranked"),
)
TABLE_1 = (
    ("Clustering", "clustering"),
    ("Human Pref.", "preference"),
    ("Robustness", "robustness"),
    ("Sensitivity", "sensitivity"),
    ("Retrieval", "retrieval"),
    ("Overall", "overall"),
)


@dataclass(frozen=True)
class SageTable(RunTable):
    """A table of values: one row per system, grouped by kind; None where there is no value. `tasks` are those that its
    columns are the headlines of, where they are."""

    name: str
    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Kind, str, tuple[float | None, ...]], ...]
    tasks: tuple[str, ...] = ()
    task: str = ""

    def as_csv(self) -> str:
        """Full precision, empty where there is no value."""
        return format_csv_rows(
            [["kind", "system", *self.columns], *([kind, system, *v] for kind, system, v in self.rows)]
        )

    def format_table_for_printing(self, first: First | None = None) -> FormattedReportTable:
        """Three decimals, `n/a` where there is no value, systems under their group as in the paper."""
        body: list[Sequence[str] | str] = []
        best = set()
        for kind, heading in GROUPS:
            of_kind = [(system, values) for row_kind, system, values in self.rows if row_kind == kind]
            body += [heading] * bool(of_kind)
            for system, values in of_kind:
                best |= {
                    (len(body), column)
                    for column, task in enumerate(self.tasks, 1)
                    if system in (first or {}).get(task, ())
                }
                body.append([system, *("n/a" if value is None else f"{value:.3f}" for value in values)])
        heads = ["Model/Metric", *self.columns]
        return FormattedReportTable(self.title, heads, "l" + "r" * len(self.columns), body, first=frozenset(best))


class _SageResultRows:
    """Rows of a run by what identifies them."""

    def __init__(self, rows: Sequence[ResultRow]) -> None:
        self._values = {
            (row.task, row.dataset, row.variant, row.subset, row.system, row.measure): row.value for row in rows
        }
        self.axes = list(
            dict.fromkeys(row.variant for row in rows if row.task == "preference" and row.measure == "score")
        )
        self.variants = tuple(dict.fromkeys(row.variant for row in rows))
        self.side_of_summary = {
            row.variant: row.measure for row in rows if row.measure in ("above_summary", "below_summary")
        }
        # In the order of the run; a dict keeps each dataset once.
        self._datasets: dict[tuple[str, str, str | None], dict[str, None]] = {}
        for row in rows:
            for variant in (None, row.variant) if row.dataset else ():
                self._datasets.setdefault((row.task, row.measure, variant), {})[row.dataset] = None

    def value(self, system: str, task: str, measure: str, dataset: str = "", variant: str = "") -> float | None:
        return self._values.get((task, dataset, variant, "", system, measure))

    def datasets(self, task: str, measure: str, variant: str | None = None) -> list[str]:
        """Datasets with a row of the measure, in the order of the run."""
        return list(self._datasets.get((task, measure, variant), ()))

    def mean(self, system: str, task: str, measure: str, variant: str = "") -> float | None:
        """Mean over the datasets that have the row; None if any of them has no value."""
        names = self.datasets(task, measure, variant)
        values = [self.value(system, task, measure, name, variant) for name in names]
        defined = [value for value in values if value is not None]
        return sum(defined) / len(defined) if defined and len(defined) == len(values) else None


Cell = Callable[[str], float | None]


def make_sage_tables(rows: Sequence[ResultRow], kinds: dict[str, Kind]) -> Iterator[SageTable]:
    """All tables that the rows can fill; `kinds` gives the systems in display order."""
    look = _SageResultRows(rows)
    tasks = {row.task for row in rows}

    def table(name: str, title: str, columns: Sequence[tuple[str, Cell]]) -> SageTable:
        body = tuple((kind, system, tuple(cell(system) for _, cell in columns)) for system, kind in kinds.items())
        return SageTable(name, title, tuple(heading for heading, _ in columns), body)

    headlines = {row.task: row.measure for row in rows if not row.dataset and row.measure != "mean_of_present"}
    overall = table(
        "sage_table1",
        "SAGE table 1: overall",
        [(title, _make_system_value_getter(look, task, headlines.get(task, ""))) for title, task in TABLE_1],
    )
    yield replace(overall, tasks=tuple(task for _, task in TABLE_1))
    if "preference" in tasks:
        yield from _set_task_of_tables("preference", _make_preference_tables(look, table))
    if "robustness" in tasks:
        yield from _set_task_of_tables("robustness", _make_robustness_tables(look, table))
    if "sensitivity" in tasks:
        yield from _set_task_of_tables("sensitivity", _make_sensitivity_tables(look, table))
    if "clustering" in tasks:
        names = look.datasets("clustering", "v_measure")
        columns = [(name, _make_dataset_value_getter(look, "clustering", "v_measure", name)) for name in names]
        yield replace(table("clustering_by_dataset", "V-measure by dataset", columns), task="clustering")
    if "retrieval" in tasks:
        yield from _set_task_of_tables("retrieval", _make_retrieval_tables(look, table))
    if "attack" in tasks:
        yield from _set_task_of_tables("attack", _make_attack_tables(look, table))


def _set_task_of_tables(task: str, made: Iterator[SageTable]) -> Iterator[SageTable]:
    """The tables of a task, which they name."""
    return (replace(table, task=task) for table in made)


Make = Callable[[str, str, Sequence[tuple[str, Cell]]], SageTable]


def _make_preference_tables(look: _SageResultRows, table: Make) -> Iterator[SageTable]:
    if look.datasets("preference", "accuracy"):
        columns = [(name.capitalize(), _make_mean_getter_by_system(look, "preference", name)) for name in CHOICES]
        yield table("sage_table2", "SAGE table 2: comparisons", columns)
    if look.axes:
        columns = [
            (axis.capitalize(), _make_mean_getter_by_system(look, "preference", "score", axis)) for axis in look.axes
        ]
        yield table("sage_table3", "SAGE table 3: ratings, (r + 1) / 2", columns)


def _make_robustness_tables(look: _SageResultRows, table: Make) -> Iterator[SageTable]:
    names = look.datasets("robustness", "robustness")
    yield table(
        "sage_table4",
        "SAGE table 4: robustness",
        [(name, _make_dataset_value_getter(look, "robustness", "robustness", name)) for name in names],
    )
    shares = [(name, _make_mean_getter_by_system(look, "robustness", "share", name)) for name in (*RELATIONS, JOINT)]
    yield table("robustness_shares", "Share of documents for which each relation holds", shares)
    further = [name for name in FURTHER if name in look.side_of_summary]
    edits = ("original", *EDITS, *further, "summary")
    yield table(
        "robustness_by_edit",
        "Mean similarity to the original, by edit",
        [(name, _make_mean_getter_by_system(look, "robustness", "similarity", name)) for name in edits],
    )
    measure_of = look.side_of_summary
    columns = [
        (
            f"{edit} {measure_of[edit].replace('_', ' ')}",
            _make_mean_getter_by_system(look, "robustness", measure_of[edit], edit),
        )
        for edit in (*EDITS, *further)
        if edit in measure_of
    ]
    yield table(
        "robustness_against_summary", "Share of documents with the edit on the correct side of the summary", columns
    )


def _make_sensitivity_tables(look: _SageResultRows, table: Make) -> Iterator[SageTable]:
    for place, kind in ((5, "insertion"), (6, "removal")):
        names = look.datasets("sensitivity", "sensitivity", kind)
        yield table(
            f"sage_table{place}",
            f"SAGE table {place}: sensitivity to {kind}",
            [(name, _make_dataset_value_getter(look, "sensitivity", "sensitivity", name, kind)) for name in names],
        )
    variants = (*INSERTIONS, *REMOVALS)
    for measure, title in (("similarity", "Mean similarity"), ("sensitivity", "Sensitivity")):
        columns = [
            (variant, _make_mean_getter_by_system(look, "sensitivity", measure, variant)) for variant in variants
        ]
        yield table(f"sensitivity_{measure}_by_variant", f"{title} by size and position", columns)
    extra = [
        (f"{kind}: {measure.replace('_', ' ')}", _make_mean_getter_by_system(look, "sensitivity", measure, kind))
        for measure in ("falls_at_every_step", "sensitivity_calibrated")
        for kind in ("insertion", "removal")
    ]
    yield table(
        "sensitivity_monotone",
        "Share of documents whose similarity falls at every step, and score after the best monotone rescaling",
        extra,
    )


def _make_retrieval_tables(look: _SageResultRows, table: Make) -> Iterator[SageTable]:
    names = look.datasets("retrieval", "retention")
    for variant, title in (("augmented", "augmented corpus"), ("replaced", "replaced corpora (harmonic mean)")):
        columns = [(name, _make_dataset_value_getter(look, "retrieval", "retention", name, variant)) for name in names]
        yield table(f"retrieval_{variant}", f"Share of nDCG@10 kept: {title}", columns)
    yield table(
        "retrieval_ndcg",
        "nDCG@10 on the clean corpus",
        [(name, _make_dataset_value_getter(look, "retrieval", "ndcg@10", name, "original")) for name in names],
    )
    edits = (
        *RETRIEVAL_EDITS,
        *(edit for edit in FURTHER if look.datasets("retrieval", "retention", f"replaced:{edit}")),
    )
    columns = [
        (edit, _make_mean_getter_by_system(look, "retrieval", "retention", f"replaced:{edit}")) for edit in edits
    ]
    yield table("retrieval_by_perturbation", "Share of nDCG@10 kept on each replaced corpus", columns)


def _make_attack_tables(look: _SageResultRows, table: Make) -> Iterator[SageTable]:
    sizes = [name for name in look.variants if name.startswith("changes=")]
    columns = [
        (name, _make_mean_getter_by_system(look, "attack", name)) for name in ("right", WITHSTOOD, "median changes")
    ]
    columns += [(f"{FLIPPED}, {size}", _make_mean_getter_by_system(look, "attack", FLIPPED, size)) for size in sizes]
    columns += [
        (f"{BY_CHANCE}, {size}", _make_mean_getter_by_system(look, "attack", BY_CHANCE, size)) for size in sizes[-1:]
    ]
    yield table("sage_attack", "Pair orders flipped, by number of changed words", columns)


def _make_system_value_getter(look: _SageResultRows, task: str, measure: str) -> Cell:
    return lambda system: look.value(system, task, measure)


def _make_dataset_value_getter(look: _SageResultRows, task: str, measure: str, dataset: str, variant: str = "") -> Cell:
    return lambda system: look.value(system, task, measure, dataset, variant)


def _make_mean_getter_by_system(look: _SageResultRows, task: str, measure: str, variant: str = "") -> Cell:
    return lambda system: look.mean(system, task, measure, variant)


class TaskGroupValues(NamedTuple):
    """Value and interval of each group and of their difference on a task."""

    task: str
    values: tuple[tuple[float | None, ...], ...]


def make_system_group_table(standings: Sequence[SystemStanding], kinds: dict[str, Kind]) -> Iterator[ColumnTable]:
    """Embedding models against classical metrics as groups: the mean of either, task by task, and the first minus the
    second, with 95% intervals of paired draws. Nothing where a group has no member."""
    members = {kind: [name for name, own in kinds.items() if own == kind] for kind in ("embedding", "classical")}
    if not all(members.values()):
        return
    known = {(row.task, row.system): row.headline for row in standings if not row.dataset}
    present = {task for task, _ in known}
    rows = []
    for title, task in TABLE_1:
        # A run may be of some of the tasks.
        if task in present:
            both = [_average_headlines_of_systems([known[task, name] for name in names]) for names in members.values()]
            shown = (*both, _subtract_headlines(*both))
            rows.append(TaskGroupValues(title, tuple((mean.value, *mean.interval) for mean in shown)))
    first, second = (f"{kind} ({len(own)})" for kind, own in members.items())
    yield ColumnTable.of(
        "sage_groups", "Embedding models and classical metrics as groups", rows, text("task"),
        *_make_value_and_interval_columns(first, 0), *_make_value_and_interval_columns(second, 1),
        *_make_value_and_interval_columns("difference", 2, "signed"),
        note=("Means over the systems of a group, with 95% intervals. A mean is missing if one of the "
            "systems has no value."),
    )  # fmt: skip


def _make_value_and_interval_columns(name: str, group: int, style: Style = "number") -> Iterator[ComputedColumn]:
    for place, end in enumerate(("", " low", " high")):
        yield number_column(name + end, partial(_read_group_value, group, place), 3, style)


def _read_group_value(group: int, place: int, row: TaskGroupValues) -> float | None:
    return row.values[group][place]


class BestSystemsOfGroups(NamedTuple):
    """The best system of each group on a task; the first divided by the second, with its interval."""

    task: str
    embedding: SystemHeadlineValue
    classical: SystemHeadlineValue
    times: float | None
    low: float | None
    high: float | None


def make_best_encoder_vs_metric_table(
    standings: Sequence[SystemStanding], kinds: dict[str, Kind]
) -> Iterator[ColumnTable]:
    """The best embedding model against the best classical metric, task by task, as SAGE states it: how many times as
    high, with the 95% interval of paired draws, and how much higher in percent. Nothing where a group has no member."""
    whole = [row for row in standings if not row.dataset and row.headline.value is not None]
    # Worst first, so that of each place the best one stays.
    rising = sorted(whole, key=lambda row: row.headline.value or 0.0)
    best = {(row.task, kinds.get(row.system)): row.headline for row in rising}
    rows = []
    for title, task in TABLE_1:
        embedding, classical = best.get((task, "embedding")), best.get((task, "classical"))
        if embedding and classical:
            rows.append(
                BestSystemsOfGroups(
                    title, embedding, classical, *_compute_ratio_of_headline_scores(embedding, classical)
                )
            )
    if rows:
        yield ColumnTable.of(
            "sage_best", "The best embedding model and the best classical metric", rows, text("task"),
            text("embedding", "embedding.system"), number_column("value", "embedding.value", 3),
            text("classical", "classical.system"), number_column("classical value", "classical.value", 3),
            number_column("times"),
            number_column("times low", "low"), number_column("times high", "high"),
            number_column("percent higher", _compute_lead_in_percent, 1, "signed"),
            note="Times: the first value divided by the second, with the 95% interval from paired draws. Both were "
                "chosen as the best on these items, so both values are slightly too high.",
        )  # fmt: skip


def _compute_lead_in_percent(row: BestSystemsOfGroups) -> float | None:
    return None if row.times is None else 100 * (row.times - 1)


def _compute_ratio_of_headline_scores(
    one: SystemHeadlineValue, other: SystemHeadlineValue
) -> tuple[float | None, float | None, float | None]:
    """One divided by the other, drawn together; no interval where a draw of the other is 0 or below."""
    if not one.value or not other.value:
        return None, None, None
    times = one.value / other.value
    drawn = len(one.replicates) == len(other.replicates) > 0
    if not drawn or (other.replicates <= 0).any():
        return times, None, None
    low, high = np.percentile(one.replicates / other.replicates, [2.5, 97.5]).tolist()
    return times, min(low, times), max(high, times)


def _average_headlines_of_systems(systems: Sequence[SystemHeadlineValue]) -> SystemHeadlineValue:
    """The mean of systems, drawn together."""
    lacking = next((system for system in systems if system.value is None), None)
    if lacking is not None:
        return SystemHeadlineValue.none("", lacking.reason)
    first = systems[0]
    drawn = {len(system.replicates) for system in systems}
    replicates = np.mean([system.replicates for system in systems], axis=0) if len(drawn) == 1 else np.empty(0)
    value = float(np.mean([system.value for system in systems]))
    return replace(first, system="", value=value, replicates=replicates)


def _subtract_headlines(one: SystemHeadlineValue, other: SystemHeadlineValue) -> SystemHeadlineValue:
    """One minus the other, drawn together."""
    if one.value is None or other.value is None:
        return SystemHeadlineValue.none("", one.reason or other.reason)
    paired = len(one.replicates) == len(other.replicates)
    replicates = one.replicates - other.replicates if paired else np.empty(0)
    return replace(one, value=one.value - other.value, replicates=replicates, bounds=(-1.0, 1.0))
