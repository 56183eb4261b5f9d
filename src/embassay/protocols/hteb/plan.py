"""The cells of an HTEB run: of the originals at first, and of each transformation and seed as its texts are there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import ClassVar, get_args

from embassay.data.catalogue.suites import Suite
from embassay.data.shapes import check_targets
from embassay.errors import UsageError
from embassay.protocols.hteb.options import REFERENCE, HtebOptions, Request
from embassay.protocols.hteb.slots import REGISTRY, TASKS, Slot, Slots, distinct
from embassay.protocols.hteb.transformers import Source
from embassay.protocols.kernel.plan import PlannedSuite, PlannedSystem, check_names, in_order, planned_systems
from embassay.protocols.kernel.suites import planned_datasets
from embassay.protocols.tasks import TASK_NAMES
from embassay.protocols.wordings.plan import (
    PlannedDataset,
    Seeds,
    WordedPlan,
    check_baseline,
    planned_dataset,
    reworded,
    run_of,
)
from embassay.protocols.wordings.records import SourceText
from embassay.protocols.wordings.sets import ParaphraseSet
from embassay.protocols.wordings.work import task
from embassay.records import Loaded
from embassay.runs.folder import Cell, RunFolder
from embassay.systems import prompted
from embassay.systems.encoders.batches import PromptTask
from embassay.systems.remote import Ledger
from embassay.text import open_tokenizer

VERSION = 1
"""Raised when the same request would give other numbers; part of every cell's key."""


@dataclass(frozen=True)
class HtebPlan(WordedPlan):
    """An HTEB run as far as it is known: more runs may follow."""

    protocol: ClassVar[str] = "hteb"
    version: ClassVar[int] = VERSION
    registry: ClassVar[str] = REGISTRY
    request: Request
    _slots: dict[str, tuple[Slots, ...]] = field(default_factory=dict, kw_only=True, compare=False)

    def slots(self, dataset: PlannedDataset) -> tuple[Slots, ...]:
        """The slots of each task on a dataset."""
        if dataset.name not in self._slots:
            options = self.request.options
            self._slots[dataset.name] = tuple(
                Slots.of(one.task, dataset.name, self.parts(dataset, one.task), options)
                for one in dataset.tasks
            )
        return self._slots[dataset.name]

    def opened_as(self, system: PlannedSystem, task: str) -> str:
        """As it is, or, as in the reference, with the prompt that the model ships for the task [H12]."""
        by_task = self.request.options.prompts == REFERENCE and task in get_args(PromptTask)
        return prompted(system.spec, task) if by_task else system.spec

    def asked(self, source: Source, dataset: PlannedDataset, seed: int) -> tuple[Slot, ...]:
        """The distinct texts that a transformation is asked for in the run with this seed."""
        how = self.request.generation
        return distinct(slot for one in self.slots(dataset) for slot in one.asked(source.of, seed, how))

    def languages(self, source: Source, dataset: PlannedDataset, seed: int) -> Counter[str]:
        """How many texts go to, or through, each language."""
        found = (slot.language for slot in self.asked(source, dataset, seed) if slot.language)
        return Counter(found)

    @cached_property
    def longest(self) -> int:
        """The UTF-8 bytes of the longest text."""
        rows = (row for dataset in self.datasets for one in self.slots(dataset) for row in one.rows)
        return max((len(text.encode("utf-8", "replace")) for _, text, _, _ in rows), default=0)


def make_plan(request: Request, cache: Path | None = None, ledger: Ledger | None = None) -> HtebPlan:
    """Open every system and dataset; the cells are those of the texts as they are.

    Raises UsageError for a dataset that joins none of the requested tasks or a baseline that is not evaluated, and
    ModelError for a system that cannot be opened: before any work is done.
    """
    tokenizer = open_tokenizer(request.tokenizer)
    systems = planned_systems(request.systems, tokenizer, request.seed, ledger)
    check_baseline(request.baseline, systems)
    _check_families(request, [one.name for one in systems])
    datasets, suites = datasets_of(request)
    plan = HtebPlan(
        request,
        tuple(systems),
        datasets,
        (),
        tokenizer.identity,
        cache=cache,
        paper=TASK_NAMES,
        suites=suites,
    )
    return replace(plan, cells=tuple(plan.originals()))


def datasets_of(request: Request) -> tuple[tuple[PlannedDataset, ...], tuple[PlannedSuite, ...]]:
    """The datasets of a request, opened and counted, and the suites among what it names."""
    for name in request.tasks:
        TASKS.get(name)
    check_targets(request.mapping)
    asked = partial(_asked, request.options)
    wanted = in_order(request.tasks or TASK_NAMES, TASK_NAMES)
    datasets, suites = planned_datasets(
        request, wanted, lambda source: planned_dataset(source, request, asked, "hteb", REGISTRY),
        taken=partial(_taken, request.options),
    )  # fmt: skip
    check_names(dataset.name for dataset in datasets)
    return datasets, suites


SEMREL = "semrel2024"


def _taken(options: HtebOptions, suite: Suite) -> Suite:
    """A suite as it is, or, as in the reference, with all languages of SemRel wherever it has SemRel [H14]."""
    if options.semrel != REFERENCE or not suite.name.startswith("hteb"):
        return suite
    members = (replace(one, langs=()) if one.dataset == SEMREL else one for one in suite.members)
    return replace(suite, members=tuple(members))


def _asked(options: HtebOptions, name: str, parts: tuple[Loaded[object], ...]) -> Iterator[SourceText]:
    for _, text, label, _ in Slots.of(name, "", parts, options).rows:
        yield SourceText(text, label)


def _check_families(request: Request, names: Sequence[str]) -> None:
    for family, members in request.families:
        for system, _ in members:
            if system not in names:
                raise UsageError(
                    f"The family {family!r} has the system {system!r}, which is not evaluated.",
                    mend=f"Name some of {', '.join(names)}.",
                )


def with_runs(
    plan: HtebPlan, folder: RunFolder, kept: ParaphraseSet, sources: Sequence[Source], seeds: Seeds
) -> HtebPlan:
    """The plan with the cells of all runs whose texts are kept: `seeds` of each transformation and dataset."""
    originals = plan.originals()
    cells = [*originals]
    kinds = {one.name: one.kind for one in plan.systems}
    for original in originals:
        for source in sources:
            for seed in seeds[source.name, original.dataset]:
                run = run_of(kept, source, original.dataset, seed, plan.request)
                cell = reworded(original, source.variant(seed), run, folder)
                cells.append(_started_from(cell, seed, plan) if kinds[cell.system] == "embedding" else cell)
    return replace(plan, cells=plan.in_order(cells))


def _started_from(cell: Cell, seed: int, plan: HtebPlan) -> Cell:
    """The cell with k-means started from the seed of its run, on both sides: then the original is one of its own [H9].
    No other task depends on it."""
    fixed = plan.request.options.evaluation_seed == "fixed"
    if cell.task != "clustering" or fixed or seed == plan.request.seed:
        return cell
    return replace(cell, job=replace(cell.job, original=None, evaluated_with=seed))


def headline_of(name: str) -> str:
    """The measure of a task."""
    return task(name, REGISTRY).headline
