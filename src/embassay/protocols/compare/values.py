"""What a run holds for comparisons: headlines with replicates, and the values by item behind them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from embassay.data.rows import nearest
from embassay.errors import DataError, UsageError
from embassay.protocols.compare.items import ItemValues, PerItem, from_items
from embassay.protocols.comparisons import known_by_nothing
from embassay.protocols.standings import OVERALL, REFERENCE, Standing, by_place, read_standings
from embassay.runs.folder import RunFolder

Place = tuple[str, str, str]


@dataclass(frozen=True)
class Side:
    """A system at a place, and the values of its items where the headline is their mean."""

    standing: Standing
    items: PerItem | None = None

    @property
    def name(self) -> str:
        """The system's."""
        return self.standing.system


@dataclass(frozen=True)
class RunValues:
    """A run as comparisons see it."""

    path: Path
    manifest: Mapping[str, Any]
    standings: tuple[Standing, ...]
    items: ItemValues

    @property
    def protocol(self) -> str:
        """`sage`, `pteb`, `rag` or `hume`."""
        return str(self.manifest.get("protocol", ""))

    @property
    def places(self) -> tuple[Place, ...]:
        """All places in their order, `overall` first."""
        return tuple(sorted(by_place(self.standings), key=lambda place: place[0] != OVERALL))

    @property
    def systems(self) -> tuple[str, ...]:
        """Those that are ranked, references left out."""
        return tuple(dict.fromkeys(one.system for one in self.standings if one.group != REFERENCE))

    def at(self, place: Place) -> tuple[Standing, ...]:
        """The ranked systems at a place."""
        return tuple(one for one in self.standings if one.place == place and one.group != REFERENCE)

    def no_verdict(self, place: Place) -> str:
        """Why nobody is ahead at a place whatever the values: a reference row reaches the leader. Else empty."""
        references = [one.headline for one in self.standings if one.place == place and one.group == REFERENCE]
        return known_by_nothing(place[0], [one.headline for one in self.at(place)], references)

    def standing(self, place: Place, system: str) -> Standing | None:
        """A system at a place; None where it is not there."""
        return next((one for one in self.standings if one.place == place and one.system == system), None)

    def side(self, place: Place, system: str) -> Side | None:
        """The same with the values of its items."""
        found = self.standing(place, system)
        if found is None:
            return None
        value, (task, dataset, _) = found.headline.value, place
        name = dataset or self._only_dataset(task)
        items = None if value is None or not name else self.items.behind(task, name, system, value)
        return Side(found, items)

    def check(self, systems: Sequence[str]) -> None:
        """UsageError for a system that the run has not."""
        for name in systems:
            if name not in {one.system for one in self.standings}:
                near = nearest(name, self.systems)
                raise UsageError(
                    f"{self.path} has no system {name!r}.",
                    mend=f"Did you mean {near!r}?" if near else f"It has {', '.join(self.systems)}.",
                )

    def _only_dataset(self, task: str) -> str:
        """Over one dataset a headline is that dataset's."""
        names = [
            str(one["name"])
            for one in self.manifest.get("datasets", ())
            if task in (one.get("tasks") or {task: 0})
        ]
        return names[0] if len(names) == 1 else ""


def read_values(folder: Path) -> RunValues:
    """A run's values. DataError for a folder without a run, or one in which there is nothing to compare."""
    run = RunFolder(folder)
    manifest = run.read_manifest()
    if manifest is None:
        raise DataError("There is no run here", path=folder, mend="Give the folder of a run (its --out).")
    standings, items = read_standings(folder), ItemValues(folder)
    if not standings and manifest.get("protocol") == "rag":
        seed = int((manifest.get("arguments") or {}).get("seed") or 0)
        standings = tuple(from_items(items, run.read_results(), seed))
    if not standings:
        raise DataError(
            "This run has no headlines to compare", path=folder,
            mend="A sweep compares its stacks itself; see its report."
            if manifest.get("kind") == "sweep"
            else "Run its command once more with the same --out: finished cells are kept, and it writes them.",
        )  # fmt: skip
    return RunValues(folder, manifest, standings, items)


def wanted(place: Place, tasks: Sequence[str], measures: Sequence[str]) -> bool:
    """Whether a place is among those named; none named is all."""
    task, _, measure = place
    return (not tasks or task in tasks) and (not measures or measure in measures)


def check_names(
    run: RunValues, tasks: Sequence[str], measures: Sequence[str], datasets: Sequence[str] = ()
) -> None:
    """UsageError for a task, measure or dataset that the run has not, with what is near or all there are."""
    kinds = (("task", tasks, 0), ("dataset", datasets, 1), ("measure", measures, 2))
    for noun, names, part in kinds:
        known = [name for name in dict.fromkeys(place[part] for place in run.places) if name]
        for name in names:
            if name not in known:
                near = nearest(name, known)
                raise UsageError(
                    f"{run.path} has no {noun} {name!r}.",
                    mend=f"Did you mean {near!r}?" if near else f"It has {', '.join(known)}.",
                )
