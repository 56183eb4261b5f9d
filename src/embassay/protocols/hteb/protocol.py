"""An HTEB run: its plan, which grows as texts are there, what follows from its cells, and transformations alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any, ClassVar, cast, get_args

from embassay.contracts import Tokenizer
from embassay.data.catalogue.suites import DatasetSuite
from embassay.data.shapes import check_mapping_targets
from embassay.errors import ModelError, UsageError
from embassay.measures import edit_distances
from embassay.protocols.hteb.options import REFERENCE, HtebOptions, HtebRequest
from embassay.protocols.hteb.profiles import (
    TransformationScoreLevels,
    TransformationWithSeeds,
    make_hteb_standings,
    make_transformation_comparison_record,
    make_transformation_result_rows,
)
from embassay.protocols.hteb.slots import REGISTRY, TASKS, NumberedTextSlots, TransformationSlot, deduplicate_slots
from embassay.protocols.hteb.tables import TransformedTextCounts, make_hteb_tables
from embassay.protocols.hteb.transformers import (
    LLMTextTransformer,
    PendingCallCounts,
    RecordedTextTransformer,
    TextTokenCounter,
    TransformationWithParaphraser,
    has_wrong_length_change,
    open_transformers,
)
from embassay.protocols.kernel.inputs import write_frames_and_list_dataset_sources
from embassay.protocols.kernel.outcome import Run
from embassay.protocols.kernel.plan import (
    PlannedSuite,
    PlannedSystem,
    check_suites_available,
    check_unique_dataset_names,
    describe_suite_availability,
    order_tasks,
    plan_datasets_and_suites,
    plan_systems,
)
from embassay.protocols.kernel.request import choose_new_run_folder, data_frames_folder, make_request_from_call
from embassay.protocols.kernel.session import CellRunAttempt, RunConclusions, SilentListener, make_unknown_price_error
from embassay.protocols.tasks import TASK_NAMES
from embassay.protocols.wordings.protocol import (
    PARAPHRASES,
    AdaptiveRunSeeds,
    ParaphraseSetFiller,
    PlannedDatasetToParaphrase,
    Seeds,
    WordedPlan,
    WordedProtocol,
    check_baseline_is_evaluated,
    forecast_evaluation_costs,
    make_reworded_cell,
    make_wording_run_reference,
    plan_dataset_with_text_counts,
)
from embassay.protocols.wordings.records import ParaphraseOutcome, TextToParaphrase
from embassay.protocols.wordings.scores import TaskInRun, WordingRunSetup, list_planned_systems_and_datasets
from embassay.protocols.wordings.sets import ParaphraseSet
from embassay.protocols.wordings.work import find_registered_task
from embassay.records import LoadedDataset, ResultRow
from embassay.runs.execution import Workers
from embassay.runs.folder import CellRecord, RunCell, RunFolder, slugify_name
from embassay.runs.forecast import CellForecast, RunForecast, estimate_server_seconds
from embassay.systems import add_task_prompt_to_spec
from embassay.systems.encoders.batches import PromptTask
from embassay.systems.objects import register_systems_and_list_specs
from embassay.systems.remote import Ledger
from embassay.text import open_tokenizer

VERSION = 2
"""Raised when the same request would give other numbers; part of every cell's key."""


@dataclass(frozen=True)
class HtebPlan(WordedPlan):
    """An HTEB run as far as it is known: more runs may follow."""

    protocol: ClassVar[str] = "hteb"
    version: ClassVar[int] = VERSION
    registry: ClassVar[str] = REGISTRY
    request: HtebRequest
    _slots: dict[str, tuple[NumberedTextSlots, ...]] = field(default_factory=dict, kw_only=True, compare=False)

    def list_task_slots(self, dataset: PlannedDatasetToParaphrase) -> tuple[NumberedTextSlots, ...]:
        """The slots of each task on a dataset."""
        if dataset.name not in self._slots:
            options = self.request.options
            self._slots[dataset.name] = tuple(
                NumberedTextSlots.of(planned_task.task, dataset.name, self.parts(dataset, planned_task.task), options)
                for planned_task in dataset.tasks
            )
        return self._slots[dataset.name]

    def choose_system_spec(self, system: PlannedSystem, task: str) -> str:
        """Choose a system's spec: as it is, or with the prompt that the model ships for the task."""
        by_task = self.request.options.prompts == REFERENCE and task in get_args(PromptTask)
        return add_task_prompt_to_spec(system.spec, task) if by_task else system.spec

    def list_texts_to_transform(
        self, source: TransformationWithParaphraser, dataset: PlannedDatasetToParaphrase, seed: int
    ) -> tuple[TransformationSlot, ...]:
        """The distinct texts that a transformation is asked for in the run with this seed."""
        how = self.request.generation
        return deduplicate_slots(
            slot for slots in self.list_task_slots(dataset) for slot in slots.list_slots_to_fill(source.of, seed, how)
        )

    def languages(
        self, source: TransformationWithParaphraser, dataset: PlannedDatasetToParaphrase, seed: int
    ) -> Counter[str]:
        """How many texts go to, or through, each language."""
        spoken = (slot.language for slot in self.list_texts_to_transform(source, dataset, seed) if slot.language)
        return Counter(spoken)

    @cached_property
    def longest_text_bytes(self) -> int:
        """The UTF-8 bytes of the longest text."""
        rows = (row for dataset in self.datasets for slot in self.list_task_slots(dataset) for row in slot.rows)
        return max((len(text.encode("utf-8", "replace")) for _, text, _, _ in rows), default=0)


def make_plan(request: HtebRequest, cache: Path | None = None, ledger: Ledger | None = None) -> HtebPlan:
    """Open every system and dataset; the cells are those of the texts as they are.

    Raises UsageError for a dataset that joins none of the requested tasks or a baseline that is not evaluated, and
    ModelError for a system that cannot be opened: before any work is done.
    """
    tokenizer = open_tokenizer(request.tokenizer)
    systems = plan_systems(request.systems, tokenizer, request.seed, ledger)
    check_baseline_is_evaluated(request.baseline, systems)
    _require_family_members_evaluated(request, [system.name for system in systems])
    datasets, suites = open_request_datasets(request)
    plan = HtebPlan(
        request, tuple(systems), datasets, (), tokenizer.identity, cache=cache, paper=TASK_NAMES, suites=suites
    )
    return replace(plan, cells=tuple(plan.plan_original_cells()))


def open_request_datasets(
    request: HtebRequest,
) -> tuple[tuple[PlannedDatasetToParaphrase, ...], tuple[PlannedSuite, ...]]:
    """The datasets of a request, opened and counted, and the suites among what it names."""
    for name in request.tasks:
        TASKS.get(name)
    check_mapping_targets(request.mapping)
    asked = partial(_iterate_slot_source_texts, request.options)
    wanted = order_tasks(request.tasks or TASK_NAMES, TASK_NAMES)
    datasets, suites = plan_datasets_and_suites(
        request, wanted, lambda source: plan_dataset_with_text_counts(source, request, asked, "hteb", REGISTRY),
        taken=partial(_add_all_languages_to_semrel, request.options)
    )  # fmt: skip
    check_unique_dataset_names(dataset.name for dataset in datasets)
    return datasets, suites


SEMREL = "semrel2024"


def _add_all_languages_to_semrel(options: HtebOptions, suite: DatasetSuite) -> DatasetSuite:
    """A suite as it is, or, as in the reference, with all languages of SemRel wherever it has SemRel [H14]."""
    if options.semrel != REFERENCE or not suite.name.startswith("hteb"):
        return suite
    members = (replace(member, langs=()) if member.dataset == SEMREL else member for member in suite.members)
    return replace(suite, members=tuple(members))


def _iterate_slot_source_texts(
    options: HtebOptions, name: str, parts: tuple[LoadedDataset[object], ...]
) -> Iterator[TextToParaphrase]:
    for _, text, label, _ in NumberedTextSlots.of(name, "", parts, options).rows:
        yield TextToParaphrase(text, label)


def _require_family_members_evaluated(request: HtebRequest, names: Sequence[str]) -> None:
    for family, members in request.families:
        for system, _ in members:
            if system not in names:
                raise UsageError(
                    f"The family {family!r} includes {system!r}, which is not evaluated.",
                    mend=f"Choose from {', '.join(names)}.",
                )


def add_cells_of_run_to_plan(
    plan: HtebPlan,
    folder: RunFolder,
    kept: ParaphraseSet,
    sources: Sequence[TransformationWithParaphraser],
    seeds: Seeds,
) -> HtebPlan:
    """The plan with the cells of all runs whose texts are kept: `seeds` of each transformation and dataset."""
    originals = plan.plan_original_cells()
    cells = [*originals]
    kinds = {system.name: system.kind for system in plan.systems}
    for original in originals:
        for source in sources:
            for seed in seeds[source.name, original.dataset]:
                run = make_wording_run_reference(kept, source, original.dataset, seed, plan.request)
                cell = make_reworded_cell(original, source.variant(seed), run, folder)
                # Systems without vectors cluster by linkage, which has no start to draw.
                cells.append(_reseed_clustering_cell(cell, seed, plan) if kinds[cell.system] == "embedding" else cell)
    return replace(plan, cells=plan.sort_cells_by_task(cells))


def _reseed_clustering_cell(cell: RunCell, seed: int, plan: HtebPlan) -> RunCell:
    """The cell with k-means started from the seed of its run, on both sides: then the original is one of its own [H9].
    No other task depends on it."""
    fixed = plan.request.options.evaluation_seed == "fixed"
    if cell.task != "clustering" or fixed or seed == plan.request.seed:
        return cell
    return replace(cell, job=replace(cell.job, original=None, evaluated_with=seed))


def find_task_measure(name: str) -> str:
    """The measure of a task."""
    return find_registered_task(name, REGISTRY).headline


QUALITY = "texts"
"""The task of rows that are about transformed texts."""


def conclude_run(
    plan: HtebPlan,
    folder: RunFolder,
    sources: Sequence[TransformationWithParaphraser],
    seeds: Seeds,
    records: Sequence[CellRecord],
    rows: Sequence[ResultRow],
) -> RunConclusions:
    """The rows of every part on every dataset and over them, the comparisons of systems and all tables."""
    profiles = TransformationScoreLevels(make_record_of_planned_transformations(plan, sources, seeds), records)
    texts = list(iterate_transformed_text_counts(plan, folder, sources, seeds))
    quality = [row for text in texts for row in _make_transformation_outcome_rows(text)]
    summary = list(make_transformation_result_rows(profiles))
    compared = make_transformation_comparison_record(profiles, plan.request.families)
    made = tuple(make_hteb_tables(profiles, compared, texts))
    del rows
    return RunConclusions([*quality, *summary], compared, made, tuple(make_hteb_standings(profiles)))


def make_record_of_planned_transformations(
    plan: HtebPlan, sources: Sequence[TransformationWithParaphraser], seeds: Seeds
) -> WordingRunSetup:
    """The systems, datasets, tasks and transformations of a plan, with the seeds of the runs so far."""
    chosen = [
        TransformationWithSeeds(
            source.name, {dataset.name: seeds[source.name, dataset.name] for dataset in plan.datasets}
        )
        for source in sources
    ]
    return WordingRunSetup(
        *list_planned_systems_and_datasets(plan),
        tuple(TaskInRun(name, find_task_measure(name),
            find_registered_task(name, plan.registry).vectors) for name in plan.tasks),
        tuple(transformation.convert_to_wording_source() for transformation in chosen),
        plan.request.baseline, plan.request.seed, plan.request.options.resamples, "hteb"
    )  # fmt: skip


def iterate_transformed_text_counts(
    plan: HtebPlan, folder: RunFolder, sources: Sequence[TransformationWithParaphraser], seeds: Seeds
) -> Iterator[TransformedTextCounts]:
    """Count what came of the texts of every transformation, dataset and run that is kept."""
    kept = ParaphraseSet.open_or_create_in_folder(folder.path / PARAPHRASES)
    for source in sources:
        for dataset in plan.datasets:
            for seed in seeds[source.name, dataset.name]:
                if kept.has_all_wordings_of_run(source.name, dataset.name, seed):
                    rows = kept.rows(source.name, dataset.name, seed)
                    drawn = plan.languages(source, dataset, seed)
                    yield count_transformed_texts(rows, source, dataset.name, seed, dict(drawn.most_common()))


def count_transformed_texts(
    rows: Sequence[ParaphraseOutcome],
    source: TransformationWithParaphraser,
    dataset: str,
    seed: int,
    languages: dict[str, int],
) -> TransformedTextCounts:
    """The counts over the distinct texts that are not blank."""
    written = [row for row in rows if row.text.strip()]
    usable = [row for row in written if row.usable]
    ratios = sorted(len(row.wording) / len(row.text) for row in usable)
    asked = [row for row in usable if _is_question(row.text)]
    outcomes: dict[str, int] = Counter(row.outcome for row in written)
    distance = None
    if usable:
        apart = edit_distances([row.text for row in usable], [row.wording for row in usable])
        distance = float(apart.mean())
    return TransformedTextCounts(
        source.name, source.of.axis, dataset, seed, len(written), len(usable), outcomes,
        retried=sum(row.attempts > len(source.of.steps) for row in written),
        ratio=_compute_median_of_sorted_ratios(ratios),
        wrong_way=sum(has_wrong_length_change(source.of.length, row.text, row.wording) for row in usable),
        questions=len(asked),
        no_question=sum(not _is_question(row.wording) for row in asked),
        distance=distance,
        languages=languages
    )  # fmt: skip


# ASCII, full-width, Arabic and Armenian.
_QUESTION = ("?", "？", "؟", "՞")


def _is_question(text: str) -> bool:
    return text.rstrip().endswith(_QUESTION)


def _compute_median_of_sorted_ratios(ratios: Sequence[float]) -> float | None:
    n = len(ratios)
    return None if not n else (ratios[(n - 1) // 2] + ratios[n // 2]) / 2


def _make_transformation_outcome_rows(texts: TransformedTextCounts) -> Iterator[ResultRow]:
    shares = {"unchanged": texts.unchanged, "failed": texts.texts - texts.usable, "retried": texts.retried}
    variant = f"{texts.transformation}:seed={texts.seed}"
    for measure, count in shares.items():
        value = count / texts.texts if texts.texts else None
        yield ResultRow(
            "hteb", QUALITY, texts.dataset, "", "", variant, texts.transformation, measure, value, texts.texts,
            seed=texts.seed, reason="" if value is not None else "there are no texts"
        )  # fmt: skip
    yield ResultRow(
        "hteb",
        QUALITY,
        texts.dataset,
        "",
        "",
        variant,
        texts.transformation,
        "length_ratio",
        texts.ratio,
        texts.usable,
        seed=texts.seed,
        reason="" if texts.ratio is not None else "no text is usable",
        method="median",
    )


def build_transformation_sources_record(
    folder: RunFolder, sources: Sequence[TransformationWithParaphraser], growth: AdaptiveRunSeeds, plan: HtebPlan
) -> dict[str, Any]:
    """Who transformed, with which seeds and prompts, and what became of the texts; why datasets got no more runs, and
    where a stored set was written for other data."""
    kept = ParaphraseSet.open_or_create_in_folder(folder.path / PARAPHRASES)
    return {
        "folder": PARAPHRASES,
        "stopped": dict(growth.stopped),
        "warnings": [mismatch for source in sources for mismatch in _describe_mismatched_datasets(source, plan)],
        "sample": plan.request.limit is not None,
        "sources": [
            {
                "name": source.name, "axis": source.of.axis, "transformer": source.paraphraser.name,
                "identity": source.paraphraser.identity,
                "prompt": kept.sources[source.name].prompt if source.name in kept.sources else None,
                "about": dict(kept.sources[source.name].about) if source.name in kept.sources else {},
                "slug": slugify_name(source.name),
                "seeds": {of[1]: list(seeds) for of, seeds in growth.seeds.items() if of[0] == source.name},
                "outcomes": kept.count_outcomes_by_dataset_and_seed(source.name) if source.name in kept.sources else {},
            }
            for source in sources
        ]
    }  # fmt: skip


def _describe_mismatched_datasets(source: TransformationWithParaphraser, plan: HtebPlan) -> list[str]:
    compare = getattr(source.paraphraser, "describe_data_mismatches", None)
    return compare({dataset.name: dataset.fingerprint for dataset in plan.datasets}) if compare is not None else []


TOLD = "texts after"
"""Before the name of a transformation, in what is shown of the progress."""


class HtebProtocol(WordedProtocol):
    """First the texts as they are; then every transformation in every run, until there are as many runs as were asked
    for."""

    name = "hteb"
    sources: tuple[TransformationWithParaphraser, ...] = ()
    growth: AdaptiveRunSeeds

    def plan_run(self, request: HtebRequest, cache: Path | None = None, ledger: Ledger | None = None) -> HtebPlan:
        """Plan the cells of the texts as they are, and open the transformations."""
        plan = make_plan(request, cache, ledger)
        self.sources = open_transformations(request, plan.longest_text_bytes, ledger)
        self.growth = AdaptiveRunSeeds(request, plan.datasets, self.sources)
        check_recordings_leave_some_task_scored(plan, self.sources)
        return plan

    def forecast_cost(self, plan: HtebPlan, *, measure: bool = True) -> RunForecast:
        """The cost of every transformation, then of every task on every dataset with every system, all runs."""
        seeds = self.growth.seeds
        return RunForecast(
            (
                *forecast_transformations(plan, plan.datasets, self.sources, seeds),
                *forecast_evaluation_costs(plan, self.sources, seeds, measure=measure),
            )
        )

    def format_python_call(self, request: HtebRequest, out: Path) -> str:
        """Format the Python call of `embassay.hteb.run` that makes the run."""
        return (
            f"embassay.hteb.run({list(request.systems)!r}, transformer={request.transformer!r}, "
            f"datasets={list(request.datasets)!r}, out={str(out)!r})"
        )

    def check_prices_known(self, plan: HtebPlan, max_usd: float | None) -> None:
        """Check that the prices of the systems and of the transformer are known."""
        super().check_prices_known(plan, max_usd)
        check_price_is_known(self.sources, max_usd)

    def list_own_manifest_fields(self, plan: HtebPlan) -> dict[str, Any]:
        """What there is to say of the transformations."""
        return {"transformations": build_transformation_sources_record(self.folder, self.sources, self.growth, plan)}

    def run_cells(self, session: CellRunAttempt, listener: SilentListener) -> None:
        """Run the cells of the texts as they are, then round after round those of transformed texts."""
        plan: Any = session.plan
        # The plan grows with every round: before the last one it isn't known what the whole run is.
        session.whole = False
        kept = ParaphraseSet.open_or_create_in_folder(self.folder.path / PARAPHRASES)
        writer = ParaphraseSetFiller(kept, session.accounts.ledger, listener, TOLD)
        session.do(listener)
        while self.growth.grows:
            writer.write(plan.datasets, self.sources, self.growth.seeds, plan.list_texts_to_transform)
            session.plan = add_cells_of_run_to_plan(plan, self.folder, kept, self.sources, self.growth.seeds)
            session.do(listener)
            self.growth.add_needed_runs(session.list_ended_cells())
        session.whole = True

    def list_closing_manifest_fields(self, session: CellRunAttempt) -> Mapping[str, Any]:
        """List the closing manifest fields: what became of the texts."""
        return self.list_own_manifest_fields(cast(HtebPlan, session.plan))

    def draw_conclusions(
        self, plan: HtebPlan, records: Sequence[CellRecord], rows: Sequence[ResultRow]
    ) -> RunConclusions:
        """Conclude scores by transformation and axis, totals, tests and tables."""
        return conclude_run(plan, self.folder, self.sources, self.growth.seeds, records, rows)


def open_transformations(
    request: HtebRequest, longest: int, ledger: Ledger | None
) -> tuple[TransformationWithParaphraser, ...]:
    """The transformations of a request."""
    return open_transformers(
        request.transformer, request.transformations, request.generation, longest=longest, ledger=ledger
    )


def check_recordings_leave_some_task_scored(plan: HtebPlan, sources: Sequence[TransformationWithParaphraser]) -> None:
    """UsageError where the recorded transformations would leave every task without a score."""
    recorded = [source.paraphraser for source in sources if isinstance(source.paraphraser, RecordedTextTransformer)]
    if not recorded or plan.request.on_failure != "leave out":
        return
    most = plan.request.options.most_lost
    slots = [slot for dataset in plan.datasets for slot in plan.list_task_slots(dataset)]
    texts = [[text for _, text, _, _ in slot.rows] for slot in slots]
    if all(writer.compute_share_without_recording(some) > most for writer in recorded for some in texts):
        raise UsageError(
            "The sample's recorded transformations cover only 14 of its pairs, too few for its tasks.",
            mend="Add -t sts --limit 14 --languages reference, or name a language model, such as "
            "--transformer ollama:gemma3:27b.",
        )


def check_price_is_known(sources: Sequence[TransformationWithParaphraser], max_usd: float | None) -> None:
    """UsageError if the cost is limited and the price of a model is not known."""
    for source in sources if max_usd is not None else ():
        if isinstance(source.paraphraser, LLMTextTransformer) and source.paraphraser.token_price is None:
            raise make_unknown_price_error(source.paraphraser.name)


def forecast_transformations(
    plan: HtebPlan,
    datasets: Sequence[PlannedDatasetToParaphrase],
    sources: Sequence[TransformationWithParaphraser],
    seeds: Seeds,
) -> Iterator[CellForecast]:
    """The cost of every transformation of every dataset. An answer is taken to be as long as is usual for what was
    asked, and none to be drawn again. What two transformations ask alike (the expansion in `summarised_expansion`) is
    asked once."""
    seen: set[tuple[Any, ...]] = set()
    tokens = TextTokenCounter(_load_tokenizer(plan.request.tokenizer))
    for source in sources:
        for dataset in datasets:
            runs = seeds[source.name, dataset.name]
            asked = {seed: plan.list_texts_to_transform(source, dataset, seed) for seed in runs}
            texts = sum(map(len, asked.values()))
            writer = source.paraphraser
            head = CellForecast(source.name, dataset.name, writer.name, texts // max(1, len(runs)), texts, 0)
            if not isinstance(writer, LLMTextTransformer):
                yield head
                continue
            need = sum(
                (writer.count_open_calls(slots, seed, tokens, seen) for seed, slots in asked.items()),
                PendingCallCounts(),
            )
            model = cast(Any, writer.chat.model)
            yield replace(
                head,
                tokens=need.read + need.written,
                # A text takes a call for each step, so that calls say how many texts are left to ask for.
                cached=max(0, texts - need.calls // len(source.of.steps)),
                requests=need.calls,
                usd=None if writer.token_price is None else writer.token_price.usd(need.read, need.written),
                seconds=estimate_server_seconds(model, need.calls, need.read + need.written, need.written),
                assumed=True,
            )


def _load_tokenizer(name: str) -> Tokenizer | None:
    """Load the tokenizer of the run; None where it cannot be had."""
    try:
        return open_tokenizer(name)
    except ModelError:
        return None


def run(
    systems: Sequence[Any] | Mapping[str, Any],
    *,
    transformer: str = "recorded",
    datasets: Sequence[Any] | Mapping[str, Any] = ("sample",),
    out: str | Path | None = None,
    workers: Workers = 1,
    cache: Path | None = None,
    listener: SilentListener | None = None,
    max_usd: float | None = None,
    **arguments: Any,
) -> Run:
    """Evaluate systems on transformed texts, resuming what is unfinished in `out`, and return the run.

    Systems may be objects of your own and datasets frames, as in `TaskProtocol.run`. Further arguments are those of
    `HtebRequest`: tasks, transformations (all), runs (3), seed (1337), until_ci, baseline, limit, tokenizer ("cl100k"),
    families, generation, options. Raises UsageError when `out` holds a run of other arguments, BudgetExceeded when
    `max_usd` is reached: what is finished is kept.
    """
    folder = Path(out) if out is not None else choose_new_run_folder("hteb")
    request = make_request_from_call(
        HtebRequest, run, arguments, register_systems_and_list_specs(systems, workers=workers),
        datasets=write_frames_and_list_dataset_sources(datasets, data_frames_folder(folder)), transformer=transformer
    )  # fmt: skip
    return HtebProtocol().carry_out(request, folder, workers=workers, cache=cache, listener=listener, max_usd=max_usd)


def transform(
    request: HtebRequest, out: Path, *, ledger: Ledger, listener: SilentListener | None = None
) -> ParaphraseSet:
    """Have the texts transformed and kept in `out`, without any system; what is there is not asked for again."""
    plan = plan_transformation(request)
    check_suites_available(plan.suites)
    chosen = open_transformations(request, plan.longest_text_bytes, ledger)
    check_price_is_known(chosen, ledger.max_usd)
    seeds = AdaptiveRunSeeds(request, plan.datasets, chosen).seeds
    kept = ParaphraseSet.open_or_create_in_folder(out / PARAPHRASES)
    ParaphraseSetFiller(kept, ledger, listener or SilentListener(), TOLD).write(
        plan.datasets, chosen, seeds, plan.list_texts_to_transform
    )
    return kept


def plan_transformation(request: HtebRequest) -> HtebPlan:
    """Plan a transformation of texts without any systems."""
    datasets, suites = open_request_datasets(request)
    return HtebPlan(request, (), datasets, suites=suites)


def forecast_transform_cost(request: HtebRequest, ledger: Ledger | None = None) -> RunForecast:
    """Forecast what a transformation of the texts would cost."""
    plan = plan_transformation(request)
    chosen = open_transformations(request, plan.longest_text_bytes, ledger)
    seeds = AdaptiveRunSeeds(request, plan.datasets, chosen).seeds
    return RunForecast(
        tuple(forecast_transformations(plan, plan.datasets, chosen, seeds)),
        notes=describe_suite_availability(plan.suites),
    )
