"""From a request to the cells of a run: of the originals at first, and of the runs as their wordings are there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

from embassay.data.shapes import check_mapping_targets
from embassay.errors import UsageError
from embassay.protocols.kernel import inputs as opening
from embassay.protocols.kernel.plan import (
    check_unique_dataset_names,
    order_tasks,
    plan_datasets_and_suites,
    plan_systems,
)
from embassay.protocols.pteb.options import Request
from embassay.protocols.pteb.paraphrasing import PermutingParaphraser, Prompt, open_paraphrase_prompt, open_paraphraser
from embassay.protocols.tasks import TASK_NAMES, TASKS
from embassay.protocols.wordings.protocol import (
    PlannedDatasetToParaphrase,
    Seeds,
    WordedPlan,
    check_baseline_is_evaluated,
    make_reworded_cell,
    make_wording_run_reference,
    plan_dataset_with_text_counts,
)
from embassay.protocols.wordings.records import Paraphraser, TextToParaphrase
from embassay.protocols.wordings.scores import CONTROLS
from embassay.protocols.wordings.sets import ParaphraseSet
from embassay.protocols.wordings.work import find_registered_task, list_texts_to_paraphrase
from embassay.records import LoadedDataset, TextsWithParaphrases
from embassay.runs.folder import RunFolder
from embassay.systems.remote import Ledger
from embassay.text import open_tokenizer

VERSION = 5
"""Raised when the same request would give other numbers; part of every cell's key."""


@dataclass(frozen=True)
class PtebPlan(WordedPlan):
    """A PTEB run as far as it is known: more runs may follow."""

    protocol: ClassVar[str] = "pteb"
    version: ClassVar[int] = VERSION
    request: Request

    def list_texts_to_rewrite(self, dataset: PlannedDatasetToParaphrase) -> list[TextToParaphrase]:
        """The distinct texts of all the dataset's tasks that are to be paraphrased, in the order of the data."""
        texts = (
            asked
            for planned_task in dataset.tasks
            for asked in _list_task_texts_to_paraphrase(
                self.request, planned_task.task, self.parts(dataset, planned_task.task)
            )
        )
        return list({(text.lang, text.text, text.place): text for text in texts}.values())

    def collect_dataset_paraphrases(self) -> dict[str, TextsWithParaphrases]:
        """The wordings that datasets bring themselves."""
        opened = {data.name: opening.open_request_dataset(self.request.dataset(data.source)) for data in self.datasets}
        return {
            name: dataset.load("paraphrases").data
            for name, dataset in opened.items()
            if not dataset.missing("paraphrases")
        }


def make_plan(request: Request, cache: Path | None = None, ledger: Ledger | None = None) -> PtebPlan:
    """Open every system and dataset; the cells are those of the texts as they are.

    Raises UsageError for a dataset that joins none of the requested tasks or a baseline that is not evaluated, and
    ModelError for a system that cannot be opened: before any work is done.
    """
    for name in request.tasks:
        TASKS.get(name)
    check_mapping_targets(request.mapping)
    tokenizer = open_tokenizer(request.tokenizer)
    systems = plan_systems(request.systems, tokenizer, request.seed, ledger)
    check_baseline_is_evaluated(request.baseline, systems)
    wanted, texts = (
        order_tasks(request.tasks or TASK_NAMES, TASK_NAMES),
        partial(_list_task_texts_to_paraphrase, request),
    )
    datasets, suites = plan_datasets_and_suites(
        request, wanted, lambda source: plan_dataset_with_text_counts(source, request, texts)
    )
    check_unique_dataset_names(dataset.name for dataset in datasets)
    _check_last_seeds_name_run_datasets(request, datasets)
    plan = PtebPlan(
        request, tuple(systems), datasets, (), tokenizer.identity, cache=cache, paper=TASK_NAMES, suites=suites
    )
    return replace(plan, cells=tuple(plan.plan_original_cells()))


def _list_task_texts_to_paraphrase(
    request: Request, name: str, parts: tuple[LoadedDataset[Any], ...]
) -> Iterator[TextToParaphrase]:
    kept, by_place = find_registered_task(name).unworded(request.options), request.seed_per == "text"
    return list_texts_to_paraphrase(name, parts, by_place=by_place, unworded=kept)


def add_cells_of_reworded_runs(
    plan: PtebPlan,
    folder: RunFolder,
    paraphrases: ParaphraseSet,
    sources: tuple[ParaphraserWithPrompt, ...],
    seeds: Seeds,
) -> PtebPlan:
    """The plan with the cells of all runs whose wordings are kept: `seeds` of each source and dataset."""
    originals = plan.plan_original_cells()
    cells = [*originals]
    for original in originals:
        for source in sources:
            for seed in seeds[source.name, original.dataset]:
                run = make_wording_run_reference(paraphrases, source, original.dataset, seed, plan.request)
                cells.append(make_reworded_cell(original, source.variant(seed), run, folder))
    return replace(plan, cells=plan.sort_cells_by_task(cells))


def _check_last_seeds_name_run_datasets(request: Request, datasets: Sequence[PlannedDatasetToParaphrase]) -> None:
    names = [dataset.name for dataset in datasets]
    for name, _ in request.last_seeds:
        if name not in names:
            raise UsageError(
                f"A last seed was given for {name!r}, which is not one of the datasets.",
                mend=f"Name one of {', '.join(names)}.",
            )


CONTROL = "permuted"


@dataclass(frozen=True)
class ParaphraserWithPrompt:
    """A paraphraser with a prompt. `label` tells several sources of a run apart (`by=NAME`, `prompt=NAME`); `name` is
    what the run's set of paraphrases calls it."""

    label: str
    name: str
    paraphraser: Paraphraser
    prompt: Prompt

    @property
    def is_control(self) -> bool:
        """Whether the source is a control: beside the others, and no part of the mean over sources."""
        return self.paraphraser.name.partition(":")[0] in CONTROLS

    def variant(self, seed: int) -> str:
        """The variant of the cells of one run: `paraphrase:seed=1337`, `paraphrase:by=NAME,seed=1337`."""
        return "paraphrase:" + ",".join(filter(None, (self.label, f"seed={seed}")))

    def list_run_seeds(self, dataset: str, runs: int, request: Request) -> tuple[int, ...]:
        """The seeds of the runs on a dataset. UsageError when the paraphraser has fewer."""
        seeds = self.paraphraser.seeds(runs, request.seed, dataset=dataset)
        last = dict(request.last_seeds).get(dataset)
        return (
            seeds if last is None or runs < request.runs else (*seeds[: request.runs - 1], last, *seeds[request.runs :])
        )


def open_paraphrase_sources(
    request: Request, recorded: Mapping[str, TextsWithParaphrases], longest: int, *, ledger: Ledger | None = None
) -> tuple[ParaphraserWithPrompt, ...]:
    """Every paraphraser with every prompt, opened. `longest` is the bytes of the longest text. UsageError for names
    that are unknown or given twice."""
    prompts = [open_paraphrase_prompt(name) for name in request.prompts]
    _check_names_distinct("paraphraser", (*request.paraphrasers, *([CONTROL] if request.control else [])))
    _check_names_distinct("prompt", [prompt.name for prompt in prompts])
    opened = []
    for text in request.paraphrasers:
        for prompt in prompts:
            paraphraser = open_paraphraser(
                text, prompt=prompt, generation=request.generation, ledger=ledger,
                recorded=recorded, longest=longest
            )  # fmt: skip
            parts = [f"by={paraphraser.name}"] if len(request.paraphrasers) > 1 else []
            parts += [f"prompt={prompt.name}"] if len(prompts) > 1 else []
            name = paraphraser.name if len(prompts) == 1 else f"{paraphraser.name} {prompt.name}"
            opened.append(ParaphraserWithPrompt(",".join(parts), name, paraphraser, prompt))
    if request.control:
        opened.append(
            ParaphraserWithPrompt(
                f"by={CONTROL}", CONTROL, PermutingParaphraser(CONTROL, opened[0].paraphraser), prompts[0]
            )
        )
    return tuple(opened)


def _check_names_distinct(what: str, names: Sequence[str]) -> None:
    for name in names:
        if list(names).count(name) > 1:
            raise UsageError(f"The {what} {name!r} was given twice.", mend="Give each only once.")
