"""What a run holds for comparisons: headlines with replicates, and the values by item behind them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from embassay.data.rows import find_nearest_name
from embassay.errors import DataError, UsageError
from embassay.parquet import read_parquet
from embassay.protocols.kernel.comparisons import (
    OVERALL,
    REFERENCE,
    SystemHeadlineValue,
    SystemStanding,
    explain_missing_verdict,
    group_standings_by_place,
    read_standings,
)
from embassay.randomness import make_seeded_generator
from embassay.records import ResultRow
from embassay.runs.folder import RunFolder
from embassay.spec import QUERY
from embassay.stats import PairTest, resample_means, t_test
from embassay.stats.ranks import correct_tests_by_holm

Place = tuple[str, str, str]


COST = "cost"
"""The task of rows on what systems took, which a manifest has and no table of results."""
_BYTES = {"float16": 2.0, "int8": 1.0, "binary": 0.125}
"""Bytes of a number, by how vectors are quantised."""


def iterate_run_time_and_memory_rows(manifest: Mapping[str, Any]) -> Iterator[ResultRow]:
    """What each system took in a run, as rows that a threshold may be set on: the `seconds` of its finished cells, the
    most `memory` (MiB) that a process held for one, and the `bytes_per_vector`."""
    protocol = str(manifest.get("protocol", ""))
    timed = [cell for cell in manifest.get("cells", ()) if cell.get("seconds") is not None]
    for system in manifest.get("systems", ()):
        name, cells = system["name"], [cell for cell in timed if cell.get("system") == system["name"]]
        costs: dict[str, float | None] = dict.fromkeys(("seconds", "memory"))
        if cells:
            costs["seconds"] = math.fsum(cell["seconds"] for cell in cells)
        if peaks := [cell["peak_bytes"] for cell in cells if cell.get("peak_bytes") is not None]:
            costs["memory"] = max(peaks) / 2**20
        costs["bytes_per_vector"] = compute_bytes_per_vector(name, system.get("facts", {}))
        for measure, value in costs.items():
            reason = "" if value is not None else "not recorded by the run"
            yield ResultRow(protocol, COST, "", "", "", "", name, measure, value, len(cells), reason=reason)


def compute_bytes_per_vector(system: str, facts: Mapping[str, Any]) -> float | None:
    """Compute the bytes an index stores of a text; None for a system that makes no vectors.

    >>> compute_bytes_per_vector("minilm?quantize=int8", {"dims": 384}), compute_bytes_per_vector("bm25", {})
    (384.0, None)
    """
    if not facts.get("dims"):
        return None
    quantised = QUERY.parse(system).params.get("quantize")
    return float(facts["dims"]) * _BYTES.get(str(quantised), 4.0)


LOWER = frozenset({"drop"})
"""Headlines that no registry lists: what noise costs."""


def is_higher_measure_better(measure: str) -> bool:
    """Say whether a measure is better higher: unless known to be better lower, as `Harm@10`.

    >>> is_higher_measure_better("overall"), is_higher_measure_better("Harm@10"), is_higher_measure_better("drop")
    (True, False, False)
    """
    from embassay.measures import MEASURES

    if measure in LOWER:
        return False
    try:
        facts = MEASURES.get(MEASURES.parse_spec(measure).name).facts
    except UsageError:
        return True
    return dict(facts).get("direction") != "lower"


@dataclass(frozen=True)
class SystemStandingWithItemValues:
    """A system at a place, and the values of its items where the headline is their mean."""

    standing: SystemStanding
    items: PerItem | None = None

    @property
    def name(self) -> str:
        """The system's."""
        return self.standing.system


@dataclass(frozen=True)
class ComparableRun:
    """A run as comparisons see it."""

    path: Path
    manifest: Mapping[str, Any]
    standings: tuple[SystemStanding, ...]
    items: ItemValues
    known: tuple[StatedSystemContrast, ...] = ()
    """The contrasts that the run itself states."""
    unpaired: Mapping[str, str] = field(default_factory=dict)
    """By measure why its replicates are not of the items alone, so that no other run's can be paired with them."""
    groups: Mapping[str, str] = field(default_factory=dict)
    """Item -> the first item of its group, where a run says so."""
    ungraded: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """By measure and system the share of what it retrieved that has no grade and counts against it; below 0 where that
    counts for it."""

    @property
    def protocol_name(self) -> str:
        """The protocol's name: `sage`, `pteb`, `rag` or `hume`."""
        return str(self.manifest.get("protocol", ""))

    @property
    def value_places(self) -> tuple[Place, ...]:
        """All places of the run's values in their order, `overall` first."""
        return tuple(sorted(group_standings_by_place(self.standings), key=lambda place: place[0] != OVERALL))

    @property
    def systems(self) -> tuple[str, ...]:
        """The systems that are ranked, references left out."""
        return tuple(dict.fromkeys(standing.system for standing in self.standings if standing.group != REFERENCE))

    def at(self, place: Place) -> tuple[SystemStanding, ...]:
        """List the standings of ranked systems at a place."""
        return tuple(found for found in self._list_system_standings_at_place(place) if found.group != REFERENCE)

    def _list_system_standings_at_place(self, place: Place) -> list[SystemStanding]:
        """List the standing of every system at a place; over one dataset a headline is that dataset's."""
        task, dataset, measure = place
        found = [own for own in self.standings if own.place == place]
        if found or not dataset or self.list_task_datasets(task) != {dataset}:
            return found
        return [replace(own, dataset=dataset) for own in self._list_system_standings_at_place((task, "", measure))]

    def find_best_reference_score(self, place: Place, *, higher: bool) -> float | None:
        """Find what the best reference, which knows nothing, scores at a place; None without one."""
        known = [own.headline.value for own in self._list_system_standings_at_place(place) if own.group == REFERENCE]
        values = [value for value in known if value is not None]
        return (max if higher else min)(values, default=None)

    def explain_no_verdict(self, place: Place) -> str:
        """Explain why nobody is ahead at a place: a reference row reaches the leader. Else empty."""
        references = [
            standing.headline for standing in self.standings if standing.place == place and standing.group == REFERENCE
        ]
        return explain_missing_verdict(place[0], [one.headline for one in self.at(place)], references)

    def find_system_standing(self, place: Place, system: str) -> SystemStanding | None:
        """Find the standing of a system at a place; None where it is not there."""
        return next((found for found in self._list_system_standings_at_place(place) if found.system == system), None)

    def list_task_datasets(self, task: str) -> frozenset[str]:
        """List the datasets that the run has the task on; all for `overall`."""
        return frozenset(
            str(dataset["name"])
            for dataset in self.manifest.get("datasets", ())
            if task == OVERALL or task in (dataset.get("tasks") or {task: 0})
        )

    def find_system_values_at_place(self, place: Place, system: str) -> SystemStandingWithItemValues | None:
        """Find a system at a place with the values of its items."""
        found = self.find_system_standing(place, system)
        if found is None:
            return None
        value, (task, dataset, _) = found.headline.value, place
        name = dataset or self._find_only_dataset_of_task(task)
        items = (
            None
            if value is None or not name
            else self.items.find_item_values_behind_headline(task, name, system, value)
        )
        return SystemStandingWithItemValues(found, items)

    def find_known_contrast(self, place: Place, a: str, b: str) -> StatedSystemContrast | None:
        """Find what the run itself says of `a` minus `b` at a place; None where it says nothing."""
        for known in self.known:
            if known.place == place and {known.a, known.b} == {a, b}:
                return known if known.a == a else known.swap_systems()
        return None

    def find_pair_tests(self, place: Place, systems: Sequence[str]) -> tuple[PairTest, ...] | None:
        """The tests of every pair of `systems` at a place, first minus second, as the run states them; None where it
        does not state all of them."""
        pairs = [(a, b) for a, b in combinations(range(len(systems)), 2)]
        stated = [self.find_known_contrast(place, systems[a], systems[b]) for a, b in pairs]
        if not stated or not all(stated):
            return None
        known = [(pair, contrast) for pair, contrast in zip(pairs, stated, strict=True) if contrast is not None]
        tests = correct_tests_by_holm([contrast.make_pair_test(*pair) for pair, contrast in known], 1.0)
        spared = [bool(contrast.judged_less) for _, contrast in known]
        return tuple(
            replace(test, p_adjusted=1.0) if is_spared else test for test, is_spared in zip(tests, spared, strict=True)
        )

    def find_less_judged_run(
        self, other: ComparableRun, measure: str, systems: tuple[str, str], difference: float | None
    ) -> Literal["", "first", "second"]:
        """The run of which so much less is graded that the `difference` of two systems, one of each, may be due to that
        alone: the one that is behind, or with harm that no grade shows the one that is ahead."""
        ours, theirs = (
            run.ungraded.get(measure, {}).get(name, math.nan) for run, name in zip((self, other), systems, strict=True)
        )
        is_behind = ((difference or 0.0) < 0) == is_higher_measure_better(measure)
        # Against whoever is behind counts what it lacks more; the shares of Harm are below 0, so it turns round there.
        # What is not known (NaN) is no more than anything.
        if difference and (ours - theirs if is_behind else theirs - ours) >= UNEVEN:
            return "first" if abs(ours) > abs(theirs) else "second"
        return ""

    def rename_systems(self, names: Mapping[str, str]) -> ComparableRun:
        """The run with other names of some systems, old -> new; what has a new name already gives way. UsageError for
        an old one that it has not."""
        self.check(tuple(names))
        staying = (own for own in self.standings if own.system in names or own.system not in names.values())
        headlines = ((own, replace(own.headline, system=names.get(own.system, own.system))) for own in staying)
        ungraded = {
            measure: {names.get(system, system): share for system, share in shares.items()}
            for measure, shares in self.ungraded.items()
        }
        standings = tuple(replace(own, headline=new) for own, new in headlines)
        return replace(self, standings=standings, ungraded=ungraded)

    def check(self, systems: Sequence[str]) -> None:
        """Check that the run has these systems; else UsageError."""
        for name in systems:
            if name not in {standing.system for standing in self.standings}:
                near = find_nearest_name(name, self.systems)
                raise UsageError(
                    f"{self.path} has no system {name!r}.",
                    mend=f"Did you mean {near!r}?" if near else f"It has {', '.join(self.systems)}.",
                )

    def _find_only_dataset_of_task(self, task: str) -> str:
        """The only dataset of a task; empty where there are others."""
        names = self.list_task_datasets(task)
        return next(iter(names)) if len(names) == 1 else ""


@dataclass(frozen=True)
class StatedSystemContrast:
    """First minus second at a place, as the run that has both states it: with the interval (None where every resample
    gives the same), the standard error, its degrees of freedom and p of the one test. `judged_less` is the one that may
    be behind for its missing labels alone, whatever p says."""

    place: Place
    a: str
    b: str
    difference: float
    low: float | None
    high: float | None
    error: float
    df: float
    p: float
    n: int
    method: str
    judged_less: str = ""

    def swap_systems(self) -> StatedSystemContrast:
        """Swap the systems: second minus first."""
        low, high = (None if end is None else -end for end in (self.high, self.low))
        return replace(self, a=self.b, b=self.a, difference=-self.difference, low=low, high=high)

    def make_pair_test(self, a: int, b: int) -> PairTest:
        """The test of the systems at these positions, alone."""
        low, high = (self.difference if end is None else end for end in (self.low, self.high))
        score = t_test(self.difference, self.error, 1.0, self.df)[0]
        return PairTest(a, b, self.difference, low, high, self.error, score, self.p, self.p, self.df)


def read_comparable_run(folder: Path) -> ComparableRun:
    """Read a run's values; DataError for a folder without a run, or with nothing to compare."""
    run = RunFolder(folder)
    manifest = run.read_manifest()
    if manifest is None:
        raise DataError("There is no run here", path=folder, mend="Give the folder of a run (its --out).")
    items = ItemValues(folder)
    if (folder / "score.json").is_file():
        return _read_comparable_scoring_run(folder, manifest, items)
    standings = read_standings(folder)
    if not standings and manifest.get("protocol") == "rag":
        seed = int((manifest.get("arguments") or {}).get("seed") or 0)
        standings = tuple(make_standings_from_item_means(items, run.read_results(), seed))
    if not standings:
        raise DataError(
            "This run has no headlines to compare", path=folder, mend=_suggest_step_for_incomparable_run(manifest)
        )
    return ComparableRun(folder, manifest, standings, items)


def _suggest_step_for_incomparable_run(manifest: Mapping[str, Any]) -> str:
    """Suggest what to do with a run that has nothing to compare: one that has ended writes none."""
    if manifest.get("kind") == "sweep":
        return "A sweep compares its own stacks. See its report."
    if manifest.get("status") == "finished":
        return "Such runs cannot be compared. Check their scores with `embassay gate --min` or `--max`."
    return "Run its command again with the same --out to write them; finished cells are kept."


def _read_comparable_scoring_run(folder: Path, manifest: Mapping[str, Any], items: ItemValues) -> ComparableRun:
    """Read the values of a scoring, as its record says, corrected by people's grades or not."""
    from embassay.protocols.rag.scoring.standings import list_run_pair_contrasts, read_scored_runs

    scored = read_scored_runs(folder)
    return ComparableRun(
        folder, manifest, scored.standings, items, tuple(list_run_pair_contrasts(scored)), scored.unpaired,
        scored.groups,
        scored.ungraded
    )  # fmt: skip


def is_value_place_selected(place: Place, tasks: Sequence[str], measures: Sequence[str]) -> bool:
    """Say whether a place is among those named; none named is all."""
    task, _, measure = place
    return (not tasks or task in tasks) and (not measures or measure in measures)


def check_tasks_measures_datasets_in_run(
    run: ComparableRun, tasks: Sequence[str], measures: Sequence[str], datasets: Sequence[str] = ()
) -> None:
    """Check that the run has the named tasks, measures and datasets; else UsageError."""
    kinds = (("task", tasks, 0), ("dataset", datasets, 1), ("measure", measures, 2))
    for noun, names, part in kinds:
        known = [name for name in dict.fromkeys(place[part] for place in run.value_places) if name]
        for name in names:
            if name not in known:
                near = find_nearest_name(name, known)
                raise UsageError(
                    f"{run.path} has no {noun} {name!r}.",
                    mend=f"Did you mean {near!r}?" if near else f"It has {', '.join(known)}.",
                )


RESAMPLES = 2000
_NEAR = 1e-9
_RUN = "@"
"""`item@run`: the runs of an item are averaged first, for they are no items of their own."""
PerItem = Mapping[str, float]
UNEVEN = 0.05
"""Share of what was retrieved by which one run may be judged less than another."""


class ItemValues:
    """The per-item values of a run's cells; each file is read once."""

    def __init__(self, folder: Path) -> None:
        self._run = RunFolder(folder)
        self._read: dict[tuple[str, str, str], dict[tuple[str, str], dict[str, float]]] = {}

    def of(self, task: str, dataset: str, system: str) -> dict[tuple[str, str], dict[str, float]]:
        """Find values by (variant, measure) and item; over the repeats of a cell the mean."""
        key = task, dataset, system
        if key not in self._read:
            self._read[key] = _read_item_measures_over_repeats(self._run.locate_cell_items(*key))
        return self._read[key]

    def find_item_values_behind_headline(self, task: str, dataset: str, system: str, value: float) -> PerItem | None:
        """The per-item values whose mean is the headline `value`, by item; None where the headline is no such mean.

        Which measure they are is told by their mean, not by name: a headline may be called otherwise than its items.
        Where a protocol repeats its cells (seeds of PTEB), an item's value is the mean over the repeats.
        """
        for own in self.of(task, dataset, system).values():
            # An item without a value is left out of the headline and of its own mean alike.
            known = [one for one in own.values() if one == one]
            if known and abs(float(np.mean(known)) - value) <= _NEAR * max(1.0, abs(value)):
                return own
        return None


def make_standings_from_item_means(items: ItemValues, rows: list[ResultRow], seed: int) -> Iterator[SystemStanding]:
    """Headlines of a run that keeps none: its rows that are means over items, with replicates of those.

    All systems of a dataset are resampled together, over the items that they share.
    """
    at: dict[tuple[str, str, str], list[ResultRow]] = {}
    for row in rows:
        if row.value is not None and not row.variant and not row.subset and row.dataset:
            at.setdefault((row.task, row.dataset, row.measure), []).append(row)
    for (task, dataset, measure), own in at.items():
        every = {row.system: items.of(task, dataset, row.system).get(("", measure)) for row in own}
        behind = {system: values for system, values in every.items() if values is not None}
        replicates = _resample_shared_items(list(behind.values()), seed, task, dataset) if behind else []
        for row, draws in zip((row for row in own if row.system in behind), replicates, strict=True):
            headline = SystemHeadlineValue(row.system, row.value, row.n, draws, "bootstrap over items", row.reason)
            yield SystemStanding(task, dataset, measure, headline)


def _resample_shared_items(
    values: list[dict[str, float]], seed: int, task: str, dataset: str
) -> list[NDArray[np.float64]]:
    """Resample the mean of each, over the items with a value in all: none for fewer than two."""
    # NaN equals nothing, so items with NaN are left out as those without a value are.
    shared = [item for item in values[0] if all(own.get(item, np.nan) == own.get(item) for own in values)]
    if len(shared) < 2:
        return [np.empty(0) for _ in values]
    # Sorted by item: the draw must not depend on the order of the file.
    columns = np.array([[own[item] for own in values] for item in sorted(shared)])
    rng = make_seeded_generator(seed, "compare", task, dataset)
    return list(resample_means(columns, n_resamples=RESAMPLES, rng=rng).T)


def _read_item_measures_over_repeats(single: Path) -> dict[tuple[str, str], dict[str, float]]:
    if single.is_file():
        return _average_item_tables([_read_items_file(single)])
    repeats = single.with_suffix("")
    return _average_item_tables(
        [_read_items_file(path) for path in sorted(repeats.glob("*.parquet")) if path.stem != "original"]
    )


def _average_item_tables(
    tables: list[dict[tuple[str, str], dict[str, float]]],
) -> dict[tuple[str, str], dict[str, float]]:
    if len(tables) < 2:
        return tables[0] if tables else {}
    shared = [key for key in tables[0] if all(key in table for table in tables)]
    return {
        key: {item: float(np.mean([table[key].get(item, np.nan) for table in tables])) for item in tables[0][key]}
        for key in shared
    }


def _read_items_file(path: Path) -> dict[tuple[str, str], dict[str, float]]:
    try:
        table = read_parquet(path)
    except (DataError, OSError) as error:
        found = error.found or error.what if isinstance(error, DataError) else str(error)
        raise DataError(
            "The per-item values cannot be read", path=path, found=found[:80],
            mend="Run the same command again into a new folder."
        ) from error  # fmt: skip
    if not {"item_id", "variant", "measure", "value"} <= set(table.columns):
        return {}
    gathered: dict[tuple[str, str], dict[str, list[float]]] = {}
    rows: Iterator[tuple[Any, ...]] = table.select("item_id", "variant", "measure", "value").iter_rows()
    for item, variant, measure, value in rows:
        own = gathered.setdefault((variant or "", measure), {})
        own.setdefault(item.partition(_RUN)[0], []).append(float("nan") if value is None else value)
    return {key: {item: float(np.mean(values)) for item, values in own.items()} for key, own in gathered.items()}
