"""What each transformation leaves of a system's scores, by axis and in total, on datasets and over them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embassay.measures import spearman
from embassay.protocols.hteb.options import AXES, TRANSFORMATIONS, select_axis_transformations
from embassay.protocols.kernel.comparisons import (
    ALPHA,
    CORRECTION,
    METHOD,
    SystemHeadlineValue,
    SystemStanding,
    average_headline_components,
    compare_headlines_of_all_systems,
)
from embassay.protocols.wordings.protocol import make_standings_over_wordings
from embassay.protocols.wordings.scores import (
    OVERALL,
    RunCellRecords,
    SystemScoreAndDrop,
    WordingRunSetup,
    WordingSourceInRun,
    average_headlines_of_one_system,
    average_runs_and_sources,
    average_system_scores_and_drops,
    list_scopes_with_systems,
    make_original_row,
    make_score_and_drop_rows,
)
from embassay.records import HeadlineComponent, ResampledUnitGroup, ResultRow
from embassay.runs.folder import CellRecord
from embassay.stats import Estimate, hodges_lehmann, holm, wilcoxon
from embassay.stats.intervals import scale_strata_by_weight

Floats = NDArray[np.float64]
TOTAL = ""
"""The part of a profile that is the mean of its axes."""
RESAMPLES = 1_000


def format_axis_part_name(axis: str) -> str:
    """What rows call an axis: `axis:length`."""
    return f"axis:{axis}"


class TransformationScoreLevels:
    """The levels of a run by task, dataset, system and part: a transformation, `axis:NAME`, or the total, which is the
    plain mean of the axes as these are of their transformations."""

    def __init__(self, layout: WordingRunSetup, records: Sequence[CellRecord]) -> None:
        self.layout, self.cells = layout, RunCellRecords(records)
        self.sources = {source.prefix.rstrip(":"): source for source in layout.sources}
        self.on_dataset = cache(self._compute_dataset_level)
        self.in_scope = cache(self._average_score_level_over_scope)

    @property
    def present_transformations(self) -> tuple[str, ...]:
        """The transformations of the run, in the order of the paper."""
        return tuple(transformation for transformation in TRANSFORMATIONS if transformation in self.sources)

    @property
    def axes(self) -> tuple[str, ...]:
        """The axes with a transformation in the run."""
        return tuple(axis for axis in AXES if select_axis_transformations(axis, self.present_transformations))

    @property
    def parts(self) -> tuple[str, ...]:
        """Transformations, axes, and the total."""
        return (*self.present_transformations, *(format_axis_part_name(axis) for axis in self.axes), TOTAL)

    def list_parts_averaged_by_axis(self, part: str) -> tuple[str, ...]:
        """The parts that an axis, or the total, is the mean of."""
        if part == TOTAL:
            return tuple(format_axis_part_name(axis) for axis in self.axes)
        return select_axis_transformations(part.removeprefix("axis:"), self.present_transformations)

    def headline(self, task: str) -> str:
        """Name the headline measure of a task, or `overall`."""
        return next((run_task.headline for run_task in self.layout.tasks if run_task.name == task), OVERALL)

    def _compute_dataset_level(
        self, task: str, dataset: str, system: str, part: str, lang: str = ""
    ) -> SystemScoreAndDrop:
        if part in self.sources:
            runs = self.cells.runs(task, dataset, system, self.sources[part], lang)
            return average_runs_and_sources(
                dataset, system, [runs], seed=self.layout.seed, resamples=self.layout.resamples,
                bounds=self._find_measure_bounds(task)
            )  # fmt: skip
        levels = [
            (name, self.on_dataset(task, dataset, system, name, lang))
            for name in self.list_parts_averaged_by_axis(part)
        ]
        return average_same_item_levels(levels, system, "axis" if part == TOTAL else "transformation")

    def _average_score_level_over_scope(self, scope: str, system: str, part: str) -> SystemScoreAndDrop:
        levels = [
            (f"{task} on {dataset.name}", self.on_dataset(task, dataset.name, system, part))
            for task, dataset in self.layout.list_scope_datasets(scope)
        ]
        return average_system_scores_and_drops(levels, system, noun="dataset")

    def original(self, scope: str, system: str) -> SystemHeadlineValue:
        """The original score over the datasets of a task, or over all."""
        parts = [
            (
                dataset.name,
                replace(self.cells.original(task, dataset.name, system), bounds=self._find_measure_bounds(task)),
            )
            for task, dataset in self.layout.list_scope_datasets(scope)
        ]
        for name, part in parts:
            if part.value is None:
                return SystemHeadlineValue.none(system, f"{name}: {part.reason}")
        return average_headlines_of_one_system([part for _, part in parts], system, noun="dataset")

    def _find_measure_bounds(self, task: str) -> tuple[float, float]:
        return (-1.0 if self.headline(task) == "spearman" else 0.0), 1.0


def average_same_item_levels(
    levels: Sequence[tuple[str, SystemScoreAndDrop]], system: str, noun: str
) -> SystemScoreAndDrop:
    """The plain mean of levels on the same items: these are drawn together, the runs of each by themselves. No value,
    with the reason, where one has none."""
    for name, level in levels:
        if not level.has_score:
            return SystemScoreAndDrop.none(system, f"{name}: {level.score.reason}")
    parts = [level for _, level in levels]
    if len(parts) == 1:
        return parts[0]
    score, original, delta = (
        _average_headlines([getattr(part, name) for part in parts], system, noun)
        for name in ("score", "original", "delta")
    )
    runs, deltas = (
        _average_runs_by_number([part.runs for part in parts]),
        _average_runs_by_number([part.deltas for part in parts]),
    )
    return SystemScoreAndDrop(system, score, original, delta, runs, deltas)


def _average_headlines(parts: Sequence[SystemHeadlineValue], system: str, noun: str) -> SystemHeadlineValue:
    component = average_headline_components([part.component for part in parts])
    nouns = f"{len(parts)} {'axes' if noun == 'axis' else noun + 's'}"
    merged = replace(component, strata=_join_strata_of_mean_components([part.component for part in parts]))
    words = f"mean over {nouns} of the same items; {parts[0].method}"
    return SystemHeadlineValue.of(system, merged, words, max(part.n for part in parts), parts[0].bounds)


def _join_strata_of_mean_components(parts: Sequence[HeadlineComponent]) -> tuple[ResampledUnitGroup, ...]:
    """The strata of a mean over the same items: the items once, what else was drawn for each part by itself."""
    share = 1 / len(parts)
    # `wordings.scores` puts the items first: they are the same for all parts, and are drawn once.
    first = [part.strata[0] for part in parts if part.strata]
    if len(first) < len(parts) or len({len(stratum.draws) for stratum in first}) > 1:
        return tuple(stratum for part in parts for stratum in scale_strata_by_weight(part.strata, share))
    items = ResampledUnitGroup(
        min(stratum.units for stratum in first), np.mean([stratum.draws for stratum in first], axis=0)
    )
    return (items, *(stratum for part in parts for stratum in scale_strata_by_weight(part.strata[1:], share)))


def _average_runs_by_number(parts: Sequence[tuple[Floats, ...]]) -> tuple[Floats, ...]:
    """The mean over parts of the runs with the same number, as one source."""
    every = [runs for of_part in parts for runs in of_part]
    common = min(map(len, every), default=0)
    return (np.mean([runs[:common] for runs in every], axis=0),) if every else ()


def make_transformation_result_rows(profiles: TransformationScoreLevels) -> Iterator[ResultRow]:
    """The rows of every part on every dataset, its languages, over the datasets of a task and over all."""
    layout = profiles.layout
    for task in layout.tasks:
        for dataset in layout.list_task_datasets(task.name):
            languages = profiles.cells.languages(task.name, dataset.name)
            for system in layout.systems:
                for part in profiles.parts:
                    level = profiles.on_dataset(task.name, dataset.name, system.name, part)
                    yield from make_score_and_drop_rows(layout, task.name, task.headline, level, part, dataset)
                    for lang in languages:
                        level = profiles.on_dataset(task.name, dataset.name, system.name, part, lang)
                        yield from make_score_and_drop_rows(
                            layout, task.name, task.headline, level, part, dataset, lang
                        )
    for scope in (*(task.name for task in layout.tasks), OVERALL):
        headline = profiles.headline(scope)
        for system in layout.systems:
            for part in profiles.parts:
                yield from make_score_and_drop_rows(
                    layout, scope, headline, profiles.in_scope(scope, system.name, part), part
                )
            yield make_original_row(layout, scope, headline, profiles.original(scope, system.name))


def make_hteb_standings(profiles: TransformationScoreLevels) -> Iterator[SystemStanding]:
    """Every system's HTEB total: of each task on each dataset and over them, and overall."""
    tasks = (*(task.name for task in profiles.layout.tasks), OVERALL)
    return make_standings_over_wordings(profiles.layout, profiles, [(task, profiles.headline(task)) for task in tasks])


def make_transformation_comparison_record(
    profiles: TransformationScoreLevels, families: Sequence[tuple[str, tuple[tuple[str, float], ...]]]
) -> dict[str, Any]:
    """What `comparisons.json` holds: `scopes` as in every protocol, of HTEB totals; `tests` of every part over datasets
    (`run_profile_change_tests`), `axes` (`correlate_axes`), `families` (`make_model_family_by_size_record`) and
    `groups` (`average_changes_by_language_group`)."""
    return {
        "alpha": ALPHA,
        "correction": CORRECTION,
        "method": f"{METHOD}; for the HTEB total, items and runs are resampled",
        "scopes": {
            scope.name: compare_headlines_of_all_systems(
                [profiles.in_scope(scope.task, system, TOTAL).score for system in scope.systems]
            )
            for scope in list_scopes_with_systems(profiles.layout)
        },
        "tests": run_profile_change_tests(profiles),
        "axes": correlate_axes(profiles),
        "families": [make_model_family_by_size_record(profiles, name, members) for name, members in families],
        "groups": average_changes_by_language_group(profiles),
    }


def map_datasets_to_score_changes(profiles: TransformationScoreLevels, system: str, part: str) -> dict[str, float]:
    """Task and dataset -> transformed minus original, where there is a value."""
    by_part = {}
    for task, dataset in profiles.layout.list_scope_datasets(OVERALL):
        delta = profiles.on_dataset(task, dataset.name, system, part).delta.value
        if delta is not None:
            by_part[f"{task}/{dataset.name}"] = delta
    return by_part


def run_profile_change_tests(profiles: TransformationScoreLevels) -> list[dict[str, Any]]:
    """Of every system and part the change over datasets: the Hodges-Lehmann `shift` with its bootstrap interval over
    datasets, and Wilcoxon's `p`, by Holm over the systems within the part (spec hteb 10, ours [H15])."""
    tests: list[dict[str, Any]] = []
    for part in profiles.parts:
        family = [
            _make_row_of_score_change_test(
                part,
                system.name,
                list(map_datasets_to_score_changes(profiles, system.name, part).values()),
                profiles.layout.seed,
            )
            for system in profiles.layout.ranked
        ]
        # Holm counts the tests that were made, not the systems.
        tested = [row for row in family if row["p"] is not None]
        for row, adjusted in zip(tested, holm([row["p"] for row in tested]) if tested else (), strict=True):
            row["p_holm"] = adjusted
        tests += family
    return tests


def _make_row_of_score_change_test(part: str, system: str, d: Sequence[float], seed: int) -> dict[str, Any]:
    row: dict[str, Any] = {"part": part, "system": system, "n": len(d)}
    nothing = dict.fromkeys(("shift", "ci_low", "ci_high", "p", "p_holm"))
    if not d:
        return {**row, **nothing, "method": "", "reason": "no dataset has a score"}
    shift = hodges_lehmann(d, n_resamples=RESAMPLES, seed=seed)
    known = {"shift": shift.value, "ci_low": shift.low, "ci_high": shift.high}
    if len(d) < 2:
        return {**row, **nothing, **known, "method": "", "reason": "a single dataset cannot be tested"}
    test = wilcoxon(d)
    return {**row, **known, "p": test.p, "p_holm": test.p, "method": test.method, "reason": ""}


def correlate_axes(profiles: TransformationScoreLevels) -> dict[str, Any]:
    """How far the axes go together: `systems` with their change on each axis, also less their mean over axes
    (`relative`) and their rank by it (1 = keeps most); `spearman` of every two axes over the systems (None of fewer
    than three)."""
    systems = []
    for system in profiles.layout.ranked:
        deltas = {
            axis: profiles.in_scope(OVERALL, system.name, format_axis_part_name(axis)).delta for axis in profiles.axes
        }
        if all(delta.value is not None for delta in deltas.values()):
            systems.append((system.name, deltas))
    rows = []
    for name, deltas in systems:
        values = {axis: delta.value or 0.0 for axis, delta in deltas.items()}
        mean = float(np.mean(list(values.values())))
        rows.append(
            {
                "system": name,
                "change": values,
                "interval": {axis: list(delta.interval) for axis, delta in deltas.items()},
                "relative": {axis: value - mean for axis, value in values.items()},
                "rank": {
                    # Equal changes share the better rank.
                    axis: 1 + sum((o[axis].value or 0.0) > value for _, o in systems)
                    for axis, value in values.items()
                },
            }
        )
    return {"axes": list(profiles.axes), "systems": rows, "spearman": _correlate_axis_pairs(profiles.axes, rows)}


def _correlate_axis_pairs(axes: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    pairs = [(a, b) for place, a in enumerate(axes) for b in axes[place + 1 :]]
    coupled = []
    for a, b in pairs:
        few = len(rows) < 3
        rho = None if few else float(spearman([row["change"][a] for row in rows], [row["change"][b] for row in rows]))
        coupled.append({"a": a, "b": b, "n": len(rows), "rho": rho if rho is None or np.isfinite(rho) else None})
    return coupled


def make_model_family_by_size_record(
    profiles: TransformationScoreLevels, name: str, members: Sequence[tuple[str, float]]
) -> dict[str, Any]:
    """A family by size: total, change and change of each axis of each member; `shift` is the Hodges-Lehmann shift over
    datasets of the largest member's change minus the smallest's (above 0: the gap is smaller), with its interval, and
    `slope` the least-squares change of the gap per doubling."""
    rows: list[dict[str, Any]] = []
    for system, billions in members:
        level = profiles.in_scope(OVERALL, system, TOTAL)
        axes = {
            axis: profiles.in_scope(OVERALL, system, format_axis_part_name(axis)).delta.value for axis in profiles.axes
        }
        rows.append({"system": system, "billions": billions, "total": level.score.value,
                     "change": level.delta.value, "axes": axes})  # fmt: skip
    points = [(row["billions"], row["change"]) for row in rows if row["change"] is not None]
    slope = None
    if len({size for size, _ in points}) > 1:
        slope = float(np.polyfit(np.log2([size for size, _ in points]), [gap for _, gap in points], 1)[0])
    # Members come by size, smallest first.
    small, large = (map_datasets_to_score_changes(profiles, members[place][0], TOTAL) for place in (0, -1))
    shared = [large[place] - small[place] for place in small if place in large]
    shift = hodges_lehmann(shared, n_resamples=RESAMPLES, seed=profiles.layout.seed) if shared else Estimate(None)
    return {
        "family": name, "members": rows, "slope": slope, "n": len(shared),
        "shift": shift.value,
        "ci_low": shift.low,
        "ci_high": shift.high
    }  # fmt: skip


def average_changes_by_language_group(profiles: TransformationScoreLevels) -> list[dict[str, Any]]:
    """English datasets and the others: the mean change of a dataset, over systems, of every part. Not a paired test."""
    english = {"en", "eng", "en-en", "eng-eng"}
    rows = []
    for group, is_english in (("English", True), ("multilingual", False)):
        places = [
            (task, dataset)
            for task, dataset in profiles.layout.list_scope_datasets(OVERALL)
            if (set(dataset.languages or (dataset.lang,)) <= english) == is_english
        ]
        for part in profiles.parts if places else ():
            means = [_average_change_over_systems(profiles, task, dataset.name, part) for task, dataset in places]
            defined = [mean for mean in means if mean is not None]
            shift = (
                hodges_lehmann(defined, n_resamples=RESAMPLES, seed=profiles.layout.seed) if defined else Estimate(None)
            )
            rows.append(
                {
                    "group": group, "part": part, "datasets": len(defined),
                    "change": float(np.mean(defined)) if defined else None,
                    "ci_low": shift.low,
                    "ci_high": shift.high,
                }
            )  # fmt: skip
    return rows


def _average_change_over_systems(
    profiles: TransformationScoreLevels, task: str, dataset: str, part: str
) -> float | None:
    changes = [profiles.on_dataset(task, dataset, system.name, part).delta.value for system in profiles.layout.ranked]
    defined = [change for change in changes if change is not None]
    return float(np.mean(defined)) if defined else None


@dataclass(frozen=True)
class TransformationWithSeeds:
    """A transformation of the run with its seeds on each dataset."""

    name: str
    seeds: Mapping[str, tuple[int, ...]]

    def convert_to_wording_source(self) -> WordingSourceInRun:
        """As the levels know it."""
        return WordingSourceInRun("", self.seeds, prefix=f"{self.name}:")
