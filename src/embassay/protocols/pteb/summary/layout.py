"""What a summary knows of a run besides its cells: who was evaluated, on what, in whose wordings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from embassay.contracts import Kind

ORIGINAL = "original"
CONTROLS = ("copied", "permuted")
"""Paraphrasers that nobody wants the score of: it is shown beside the others'."""


@dataclass(frozen=True)
class RunSystem:
    """A system of the run. `vectors` is False for one that other methods stand in for where a task needs vectors."""

    name: str
    kind: Kind
    vectors: bool = True

    @property
    def ranked(self) -> bool:
        """References stand beside the others, and are neither ranked nor compared."""
        return self.kind != "reference"


@dataclass(frozen=True)
class RunTask:
    """A task of the run: the measure of its headline, and whether it needs vectors (`Task.vectors`)."""

    name: str
    headline: str
    vectors: bool = False


@dataclass(frozen=True)
class RunDataset:
    """A dataset with the tasks it is used for; `lang` is what its result rows say, `languages` are all of them."""

    name: str
    lang: str
    tasks: tuple[str, ...]
    languages: tuple[str, ...] = ()


@dataclass(frozen=True)
class RunSource:
    """Where wordings come from: a paraphraser with a prompt, and its seeds per dataset, one for every run.

    `label` tells several sources apart, as variants spell it: `by=NAME`, `prompt=NAME`, `by=NAME,prompt=NAME`; it is
    empty where there is one source. A `control` (the text itself, its words in another order) stands beside the others:
    it has rows of its own, and is no part of the mean over sources unless there are only controls.
    """

    label: str
    seeds: Mapping[str, tuple[int, ...]]
    control: bool = False

    def variant(self, seed: int) -> str:
        """The variant of the cells of one run: `paraphrase:seed=1337`, `paraphrase:by=NAME,seed=1337`."""
        return "paraphrase:" + ",".join(filter(None, (self.label, f"seed={seed}")))


@dataclass(frozen=True)
class Layout:
    """The whole run. `baseline` is the system others are compared with; empty, it is the first embedding."""

    systems: tuple[RunSystem, ...]
    datasets: tuple[RunDataset, ...]
    tasks: tuple[RunTask, ...]
    sources: tuple[RunSource, ...]
    baseline: str = ""
    seed: int = 1337
    resamples: int = 1_000

    @property
    def ranked(self) -> tuple[RunSystem, ...]:
        """All systems but the references."""
        return tuple(system for system in self.systems if system.ranked)

    @property
    def compared_with(self) -> str:
        """The name of the baseline: as asked for, else the first embedding, else the first system."""
        names = [
            *(one.name for one in self.ranked if one.kind == "embedding"),
            *(one.name for one in self.ranked),
        ]
        return self.baseline or next(iter(names), "")

    def sources_of(self, label: str) -> tuple[RunSource, ...]:
        """The source with this label, or for the empty one all that the PTEB score is the mean of."""
        if label:
            return tuple(source for source in self.sources if source.label == label)
        return tuple(source for source in self.sources if not source.control) or self.sources

    def of_task(self, task: str) -> Iterator[RunDataset]:
        """The datasets of a task, in the order of the run."""
        return (dataset for dataset in self.datasets if task in dataset.tasks)


OVERALL = "overall"


@dataclass(frozen=True)
class Scope:
    """A task, or `overall`, and the systems that were evaluated on it by one method."""

    name: str
    task: str
    systems: tuple[str, ...]


def scopes(layout: Layout) -> Iterator[Scope]:
    """`overall` and every task, references left out.

    Where a task needs vectors, systems that have none were evaluated by another method and are never ranked with the
    others: they have a scope `NAME:classical` of their own (or NAME, when no system has vectors).
    """
    needing = {task.name for task in layout.tasks if task.vectors}
    for name in (OVERALL, *(task.name for task in layout.tasks)):
        everyone = tuple(system.name for system in layout.ranked)
        with_vectors = tuple(system.name for system in layout.ranked if system.vectors)
        differs = bool(needing) if name == OVERALL else name in needing
        if not differs or not with_vectors or with_vectors == everyone:
            yield Scope(name, name, everyone)
            continue
        yield Scope(name, name, with_vectors)
        yield Scope(f"{name}:classical", name, tuple(one for one in everyone if one not in with_vectors))
