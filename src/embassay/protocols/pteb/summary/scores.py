"""All scores of a run at every level, each worked out once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache

from embassay.protocols.comparisons import Headline
from embassay.protocols.pteb.summary.layout import Layout, RunDataset
from embassay.protocols.pteb.summary.levels import Level, on_dataset, over, over_headlines
from embassay.protocols.pteb.summary.runs import Cells
from embassay.protocols.pteb.summary.scopes import OVERALL
from embassay.runs.cells import CellRecord

ALL = ""
"""The label of the mean over all sources but controls."""


class Scores:
    """The levels of a run by task (or `overall`), dataset, system and source."""

    def __init__(self, layout: Layout, records: Sequence[CellRecord]) -> None:
        self.layout = layout
        self.cells = Cells(records)
        # Every scope is asked for by rows, comparisons and ranks; the replicates of a dataset are made once.
        self.on_dataset = cache(self._on_dataset)
        self.in_scope = cache(self._in_scope)

    @property
    def labels(self) -> tuple[str, ...]:
        """All sources together, and each by itself where there are several."""
        # A single source beside controls has no label: it is all of the mean.
        return tuple(dict.fromkeys((ALL, *(source.label for source in self.layout.sources if source.label))))

    @property
    def scopes(self) -> list[tuple[str, str]]:
        """The tasks and `overall`, with the measure of their headline."""
        return [*((task.name, task.headline) for task in self.layout.tasks), (OVERALL, OVERALL)]

    def parts(self, scope: str) -> list[tuple[str, RunDataset]]:
        """The tasks and datasets that make up a task or `overall`."""
        names = [task.name for task in self.layout.tasks if scope in (OVERALL, task.name)]
        return [(name, dataset) for name in names for dataset in self.layout.of_task(name)]

    def original(self, scope: str, system: str) -> Headline:
        """The original score over the datasets of a task, or over tasks."""
        if scope == OVERALL:
            names = [task.name for task in self.layout.tasks]
            parts, noun = [(name, self.original(name, system)) for name in names], "task"
        else:
            datasets = [dataset.name for _, dataset in self.parts(scope)]
            parts, noun = (
                [
                    (name, replace(self.cells.original(scope, name, system), bounds=self._bounds(scope)))
                    for name in datasets
                ],
                "dataset",
            )
        for name, part in parts:
            if part.value is None:
                return Headline.none(system, f"{name}: {part.reason}")
        return over_headlines([part for _, part in parts], system, noun=noun)

    def _on_dataset(self, task: str, dataset: str, system: str, label: str = ALL, lang: str = "") -> Level:
        sources = [
            self.cells.runs(task, dataset, system, source, lang) for source in self.layout.sources_of(label)
        ]
        return on_dataset(
            dataset, system, sources, seed=self.layout.seed, resamples=self.layout.resamples, bounds=self._bounds(task)
        )  # fmt: skip

    def _bounds(self, task: str) -> tuple[float, float]:
        """What scores of a task lie between: correlations from -1, shares from 0."""
        measure = next(one.headline for one in self.layout.tasks if one.name == task)
        return (-1.0 if measure in ("spearman", "pearson") else 0.0), 1.0

    def _in_scope(self, scope: str, system: str, label: str = ALL) -> Level:
        if scope == OVERALL:
            tasks = [task.name for task in self.layout.tasks]
            levels = [(name, self.in_scope(name, system, label)) for name in tasks]
            return over(levels, system, noun="task")
        levels = [
            (dataset.name, self.on_dataset(scope, dataset.name, system, label))
            for _, dataset in self.parts(scope)
        ]
        return over(levels, system, noun="dataset")
