"""What cells say of one system on one dataset: its original score, every run's, and whether more runs are due."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from embassay.contracts import Kind
from embassay.errors import UsageError
from embassay.protocols.kernel.comparisons import Headline
from embassay.records import Component
from embassay.runs.folder import CellRecord
from embassay.stats.intervals import resampled_units, t_quantile

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


Floats = NDArray[np.float64]


def _nothing() -> Floats:
    return np.empty(0)


@dataclass(frozen=True)
class Runs:
    """The runs of one source on one dataset: `scores` (runs,) in its wordings and `originals` (runs,) on the items that
    were kept in each, with the replicates of both, (runs, resamples); the latter have no column where the items cannot
    be resampled. `units` are what is resampled, if not the `n` items. `reason` says why there are none. `method` is the
    task's own, of one run."""

    source: RunSource
    scores: Floats = field(default_factory=_nothing)
    originals: Floats = field(default_factory=_nothing)
    score_draws: Floats = field(default_factory=_nothing)
    original_draws: Floats = field(default_factory=_nothing)
    n: int = 0
    method: str = ""
    reason: str = ""
    units: int | None = None

    @property
    def deltas(self) -> Floats:
        """Paraphrased less original, (runs,)."""
        return self.scores - self.originals

    @property
    def delta_draws(self) -> Floats:
        """Their replicates, paired by item, (runs, resamples)."""
        return self.score_draws - self.original_draws


class Cells:
    """The records of a run by what identifies them."""

    def __init__(self, records: Sequence[CellRecord]) -> None:
        self._records = {(one.task, one.dataset, one.system, one.variant): one for one in records}

    def languages(self, task: str, dataset: str) -> tuple[str, ...]:
        """The languages that have scores of their own, where a dataset has several."""
        records = (one for key, one in self._records.items() if key[:2] == (task, dataset))
        names = dict.fromkeys(name for record in records for name in record.components)
        return tuple(name.removeprefix("score:") for name in names if name.startswith("score:"))

    def original(self, task: str, dataset: str, system: str) -> Headline:
        """The score on all items as they were written."""
        record = self._records.get((task, dataset, system, ORIGINAL))
        parts = _components(record, "score")
        if isinstance(parts, str):
            return Headline.none(system, parts)
        return Headline.of(system, parts[0], _method(record))

    def runs(self, task: str, dataset: str, system: str, source: RunSource, lang: str = "") -> Runs:
        """The score of every run of a source; none of them where one is missing, as a mean over what happens to be
        there is not the mean that was asked for. `lang` is one language of a dataset that has several."""
        found: list[tuple[Component, Component]] = []
        method, suffix = "", f":{lang}" if lang else ""
        for seed in source.seeds.get(dataset, ()):
            record = self._records.get((task, dataset, system, source.variant(seed)))
            parts = _components(record, f"score{suffix}", f"original{suffix}")
            if isinstance(parts, str):
                return Runs(source, reason=f"{source.variant(seed)}: {parts}")
            found.append((parts[0], parts[1]))
            method = method or _method(record, lang)
        if not found:
            return Runs(source, reason="no run")
        scores, originals = zip(*found, strict=True)
        draws = _draws([*scores, *originals])
        return Runs(
            source, _values(scores), _values(originals), draws[: len(found)], draws[len(found) :],
            max(part.n for part in scores), method, units=min(resampled_units(part) for part in scores),
        )  # fmt: skip


def _components(record: CellRecord | None, *names: str) -> list[Component] | str:
    """The components of a finished cell, or why it has no score."""
    if record is None:
        return "not run yet"
    if not record.done:
        return record.reason
    for name in names:
        part = record.components.get(name)
        if part is None or part.value is None:
            reasons = [part.reason if part else "", *(score.reason for score in record.scores)]
            return next(filter(None, reasons), "no score")
    return [record.components[name] for name in names]


def _method(record: CellRecord | None, lang: str = "") -> str:
    methods = [score.method for score in record.scores if score.subset == lang] if record else []
    return next(filter(None, methods), "")


def _values(parts: Sequence[Component]) -> Floats:
    return np.array([part.value for part in parts], dtype=np.float64)


def _draws(parts: Sequence[Component]) -> Floats:
    """The replicates of all, (parts, resamples); those of a part without are its value."""
    resamples = max(len(part.replicates) for part in parts)
    rows = [
        part.replicates if len(part.replicates) else np.full(resamples, part.value, dtype=np.float64)
        for part in parts
    ]
    return np.stack(rows)


CONFIDENCE = 0.95


def half_widths(deltas: ArrayLike) -> NDArray[np.float64]:
    """Half the width of the 95% t interval of each system's mean drop, (systems, runs) -> (systems,).

    In the unit of `deltas`: t(0.975, runs - 1) x sample sd / sqrt(runs), a sample being the runs of one dataset.
    Infinite with one run; NaN for a system that lacks a run. Raises UsageError for other shapes, or no runs.

    >>> half_widths([[-0.010, -0.012, -0.014]]).round(4).tolist()
    [0.005]
    """
    values = np.asarray(deltas, dtype=np.float64)
    if values.ndim != 2 or not values.shape[1]:
        raise UsageError(
            f"The drops have the shape {values.shape}.", mend="Give (systems, runs), one run at least."
        )
    systems, runs = values.shape
    if runs == 1:
        return np.full(systems, math.inf)
    spread = np.std(values, axis=1, ddof=1) / math.sqrt(runs)
    return np.asarray(t_quantile(0.5 + CONFIDENCE / 2, runs - 1) * spread)


def over_runs(sources: Sequence[NDArray[np.float64]]) -> float | None:
    """Half the width of the 95% t interval of a drop that is the mean of several sources' means over runs, (runs,)
    each; None where one has a single run. Of one source it is `half_widths`.

    >>> round(over_runs([np.array([-0.010, -0.012, -0.014])]), 4)
    0.005
    """
    if not sources or min(map(len, sources)) < 2:
        return None
    variance = sum(float(np.var(runs, ddof=1)) / len(runs) for runs in sources) / len(sources) ** 2
    freedom = sum(len(runs) - 1 for runs in sources)
    return float(t_quantile(0.5 + CONFIDENCE / 2, freedom)) * math.sqrt(variance)


def more_runs_needed(deltas: ArrayLike, points: float) -> bool:
    """Whether any system's drop on a dataset is still known to less than +- `points` (1 point = 0.01).

    `deltas` (systems, runs) are fractions, paraphrased less original. A system with NaN for a run (it has no score
    there) is not waited for, as more runs would not mend it; so without any other the answer is no.
    Raises UsageError for other shapes, no runs, or `points` that are not positive.

    >>> drops = [[-0.010, -0.012, -0.014]]
    >>> more_runs_needed(drops, points=0.4), more_runs_needed(drops, points=0.5)
    (True, False)
    """
    if not points > 0:
        raise UsageError(
            f"The half-width to reach is {points} points.", mend="Give a number above 0, as 0.5."
        )
    values = np.asarray(deltas, dtype=np.float64)
    return bool((100 * half_widths(values)[~np.isnan(values).any(axis=-1)] > points).any())
