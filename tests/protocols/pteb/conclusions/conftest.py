"""Cells of PTEB runs that were never run: scores as a test wants them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np
import pytest

from embassay.protocols.pteb.drops import HEADLINES
from embassay.protocols.wordings.scores import DatasetInRun, SystemInRun, TaskInRun, WordingRunSetup, WordingSourceInRun
from embassay.records import HeadlineComponent, ResultRow, Score
from embassay.runs.folder import CellRecord

RESAMPLES = 200


class Made:
    """Makes layouts and cell records. The replicates of all systems on a dataset share their resamples: a value plus
    the dataset's noise `items`, the same for originals and paraphrases."""

    def __init__(self) -> None:
        self.items = 0.01

    def layout(
        self,
        datasets: Mapping[str, str | Sequence[str]],
        systems: Sequence[str] = ("a", "b"),
        *,
        runs: int | Mapping[str, int] = 3,
        labels: Sequence[str] = ("",),
        lang: str = "eng",
        **more: str,
    ) -> WordingRunSetup:
        """`datasets` maps names to tasks; a system called `lexical...` has no vectors, `constant` is a reference."""
        tasks = {name: (given,) if isinstance(given, str) else tuple(given) for name, given in datasets.items()}
        counts = dict.fromkeys(datasets, runs) if isinstance(runs, int) else runs
        seeds = {name: tuple(range(1337, 1337 + counts[name])) for name in datasets}
        return WordingRunSetup(
            tuple(self._system(name) for name in systems),
            tuple(DatasetInRun(name, lang, of, (lang,)) for name, of in tasks.items()),
            tuple(
                TaskInRun(task, HEADLINES[task], task in ("classification", "clustering"))
                for task in dict.fromkeys(task for of in tasks.values() for task in of)
            ),
            tuple(WordingSourceInRun(label, seeds) for label in labels),
            resamples=RESAMPLES,
            **more,
        )

    @staticmethod
    def _system(name: str) -> SystemInRun:
        if name.startswith("lexical"):
            return SystemInRun(name, "classical", vectors=False)
        return SystemInRun(name, "reference" if name == "constant" else "embedding")

    def records(
        self,
        layout: WordingRunSetup,
        score: Callable[[str, str, str, int], float],
        original: Callable[[str, str], float] = lambda dataset, system: 0.8,
        *,
        fixed: Sequence[str] = (),
    ) -> list[CellRecord]:
        """All cells; `score(dataset, system, label, run)`. Datasets in `fixed` have no replicates."""
        records = []
        for task in layout.tasks:
            for dataset in layout.list_task_datasets(task.name):
                for system in layout.systems:
                    where = (task, dataset.name, system.name)
                    before = self.component(dataset.name, original(dataset.name, system.name), dataset.name in fixed)
                    records.append(self._record(*where, "original", {"score": before}))
                    for source in layout.sources:
                        for run, seed in enumerate(source.seeds[dataset.name]):
                            value = score(dataset.name, system.name, source.label, run)
                            part = self.component(dataset.name, value, dataset.name in fixed)
                            parts = {"score": part, "original": before}
                            records.append(self._record(*where, source.variant(seed), parts))
        return records

    def component(self, dataset: str, value: float, fixed: bool = False) -> HeadlineComponent:
        """100 items with replicates around the value."""
        noise = np.random.default_rng(len(dataset) + sum(map(ord, dataset))).normal(0, self.items, RESAMPLES)
        return HeadlineComponent(value, 100, np.empty(0) if fixed else value + noise)

    @staticmethod
    def _record(
        task: TaskInRun, dataset: str, system: str, variant: str, parts: dict[str, HeadlineComponent]
    ) -> CellRecord:
        row = Score(task.headline, parts["score"].value, 100, method="bootstrap over pairs")
        return CellRecord(
            f"{task.name}{dataset}{system}{variant}", task.name, dataset, system, "done", "", 1.0, (row,), parts,
            variant=variant,
        )  # fmt: skip

    @staticmethod
    def rows(layout: WordingRunSetup, records: Sequence[CellRecord]) -> Iterator[ResultRow]:
        """The rows of the cells themselves."""
        langs = {one.name: one.lang for one in layout.datasets}
        for record in records:
            where = ("pteb", record.task, record.dataset, "", langs[record.dataset], record.variant, record.system)
            for score in record.scores:
                yield ResultRow(*where, score.measure, score.value, score.n, reason=score.reason)
            if "original" in record.components:
                values = [record.components[name].value for name in ("score", "original")]
                delta = None if None in values else values[0] - values[1]
                yield ResultRow(*where, "delta", delta, 100, reason="" if delta is not None else "lost")


@pytest.fixture
def made() -> Made:
    """A maker of cells."""
    return Made()
