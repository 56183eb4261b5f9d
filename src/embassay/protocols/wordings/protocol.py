"""Runs on texts in other words: the originals first, then what a model writes for each run, and what all that takes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from time import perf_counter
from typing import Any, ClassVar, Literal
from typing import Protocol as Contract

import numpy as np

from embassay.contracts import Completion, Tokenizer
from embassay.errors import ModelError, TextRefused, Unanswered, UsageError, Why
from embassay.protocols.kernel import inputs as opening
from embassay.protocols.kernel import plan as planning
from embassay.protocols.kernel.comparisons import CLASSICAL, RANKED, REFERENCE, SystemStanding
from embassay.protocols.kernel.forecast import TaskCostForecaster, TaskWorkloadForForecast, choose_largest_footprint
from embassay.protocols.kernel.inputs import charge_calls_to_account
from embassay.protocols.kernel.plan import (
    REFERENCES,
    PlannedSystem,
    PlannedTask,
    choose_tasks_for_dataset,
    order_tasks,
    plan_task,
)
from embassay.protocols.kernel.protocol import EvaluationProtocol
from embassay.protocols.kernel.session import SilentListener
from embassay.protocols.tasks import TASK_NAMES
from embassay.protocols.tasks.task import PtebContext, estimate_dataset_part_memory
from embassay.protocols.wordings import sets, work
from embassay.protocols.wordings.records import USABLE, Outcome, ParaphraseOutcome, Paraphraser, TextToParaphrase
from embassay.protocols.wordings.scores import (
    ALL,
    ORIGINAL,
    OVERALL,
    WordingRunSetup,
    list_scopes_with_systems,
    needs_more_runs,
)
from embassay.protocols.wordings.sets import ParaphraseSet
from embassay.protocols.wordings.work import (
    PTEB_TASKS,
    PtebJob,
    WordingRunReference,
    find_registered_task,
    load_language_slices,
)
from embassay.records import LoadedDataset, RetrievalSet
from embassay.registry import import_attribute
from embassay.runs.execution import ModelLossDetector
from embassay.runs.folder import CellRecord, RunCell, RunFolder, digest_json
from embassay.runs.forecast import CellForecast, Hear, count_tokens_by_sample
from embassay.runs.store import CachedChatModel, ChatQuestion
from embassay.systems.remote import Ledger
from embassay.systems.remote.calls import iterate_finished_jobs
from embassay.systems.remote.ledger import TokenPrice
from embassay.text import open_tokenizer

Seeds = Mapping[tuple[str, str], tuple[int, ...]]
"""(source, dataset) -> the seeds of its runs."""


class WordingOrigin(Contract):
    """Where wordings come from: who writes them, and what the run's set calls it."""

    @property
    def name(self) -> str: ...
    @property
    def paraphraser(self) -> Paraphraser: ...
    def variant(self, seed: int) -> str:
        """Name the variant of the cells of one run."""
        ...


@dataclass(frozen=True)
class PlannedDatasetToParaphrase(planning.PlannedDataset):
    """A dataset, its languages by task, and how many distinct texts are to be written anew in one run."""

    languages: Mapping[str, tuple[str, ...]]
    asked: int


@dataclass(frozen=True)
class WordedPlan(planning.Plan):
    """A run as far as it is known: more runs may follow."""

    protocol: ClassVar[str]
    version: ClassVar[int]
    registry: ClassVar[str] = PTEB_TASKS
    """Where the tasks are: "module:NAME"."""
    request: Any
    datasets: tuple[PlannedDatasetToParaphrase, ...]

    def parts(self, dataset: planning.PlannedDataset, name: str) -> tuple[LoadedDataset[Any], ...]:
        """List the data of a task on a dataset, by language."""
        request = self.request
        how = request.dataset(dataset.source)
        return load_language_slices(name, how, request.limit, request.seed, request.options.languages, self.registry)

    def plan_original_cells(self) -> list[RunCell]:
        """Plan the cells of the texts as they are."""
        return [
            self._plan_original_cell(system, dataset, part.task, part.texts)
            for name in self.tasks
            for dataset in self.datasets
            for part in dataset.tasks
            if part.task == name
            for system in self.systems
        ]

    def _plan_original_cell(
        self, system: PlannedSystem, dataset: PlannedDatasetToParaphrase, name: str, texts: int
    ) -> RunCell:
        request = self.request
        job = PtebJob(
            self.choose_system_spec(system, name), request.seed, request.tokenizer, self.cache, name,
            request.dataset(dataset.source), request.limit, request.options, ORIGINAL, registry=self.registry
        )  # fmt: skip
        depends = {
            "protocol": self.protocol,
            "version": self.version,
            "task": name,
            "system": [system.name, system.identity],
            "dataset": [dataset.name, dataset.fingerprint],
            "tokenizer": self.tokenizer_identity,
            "limit": request.limit,
            "seed": request.seed,
            "options": asdict(request.options),
        }
        # Only encoders tell progress by text.
        units = texts if system.kind == "embedding" else 0
        return RunCell(
            name, dataset.name, system.name, digest_json(depends), units, job,
            remote=system.remote is not None, variant=ORIGINAL
        )  # fmt: skip

    def choose_system_spec(self, system: PlannedSystem, task: str) -> str:  # noqa: ARG002
        """Choose the spec string by which a system is opened for a task."""
        return system.spec

    def sort_cells_by_task(self, cells: Iterable[RunCell]) -> tuple[RunCell, ...]:
        """The cells by task, else as they come."""
        order = {name: place for place, name in enumerate(self.tasks)}
        return tuple(sorted(cells, key=lambda cell: order[cell.task]))


def make_wording_run_reference(
    paraphrases: ParaphraseSet, source: WordingOrigin, dataset: str, seed: int, request: Any
) -> WordingRunReference:
    """What a worker needs to find the wordings of one run; `request` says what is done with texts without any."""
    return WordingRunReference(
        paraphrases.path, source.name, dataset, seed, paraphrases.digest(source.name, dataset, seed),
        request.on_failure, request.exclude_copied
    )  # fmt: skip


def make_reworded_cell(original: RunCell, variant: str, run: WordingRunReference, folder: RunFolder) -> RunCell:
    """The cell of the same system on the same data in the wordings of a run."""
    # The original's key says all of system and data; the digest is of the wordings, so a set that changed gives new
    # cells.
    depends = [original.key, variant, run.digest, run.on_failure, run.exclude_copied]
    job = replace(original.job, variant=variant, run=run, original=folder.get_cell_record_path(original))
    return replace(original, key=digest_json(depends), variant=variant, job=job)


Asked = Callable[[str, tuple[LoadedDataset[Any], ...]], Iterator[TextToParaphrase]]
"""From a task and its data by language to the texts that are to be written anew, as often as they occur."""


def plan_dataset_with_text_counts(
    source: str, request: Any, asked: Asked, protocol: str = "pteb", registry: str = PTEB_TASKS
) -> PlannedDatasetToParaphrase:
    """A dataset, opened and counted. UsageError where it joins none of the tasks."""
    how = request.dataset(source)
    opened = opening.open_request_dataset(how)
    wanted = [find_registered_task(name, registry) for name in order_tasks(request.tasks or TASK_NAMES, TASK_NAMES)]
    tasks, languages, distinct = [], {}, set[tuple[str, str, str]]()
    for what in choose_tasks_for_dataset(source, opened, wanted, protocol, import_attribute(registry)):
        parts = load_language_slices(what.name, how, request.limit, request.seed, request.options.languages, registry)
        distinct.update((text.lang, text.text, text.place) for text in asked(what.name, parts))
        texts = sum(count_encoded_texts(what, part.data) for part in parts)
        planned = [plan_task(what.name, part, what.size, texts) for part in parts]
        tasks.append(
            replace(
                planned[0],
                n=sum(task.n for task in planned),
                skipped=tuple(skip for task in planned for skip in task.skipped),
                warnings=tuple(dict.fromkeys(warning for task in planned for warning in task.warnings)),
            )
        )
        languages[what.name] = tuple(part.lang for part in parts)
    return PlannedDatasetToParaphrase(
        source, opened.name, opened.lang, opened.fingerprint, tuple(tasks), languages, len(distinct)
    )


def count_encoded_texts(task: Any, data: Any) -> int:
    """The texts of a cell that an encoder reads: those that may be paraphrased, and a corpus, which keeps its words."""
    return sum(1 for _ in task.texts(data)) + len(getattr(data, "corpus", ()))


def check_baseline_is_evaluated(baseline: str, systems: Sequence[PlannedSystem]) -> None:
    """UsageError for a baseline that is not evaluated."""
    names = [system.name for system in systems if system.kind != "reference"]
    if baseline and baseline not in names:
        raise UsageError(
            f"The baseline {baseline!r} is not one of the systems.", mend=f"Name one of {', '.join(names)}."
        )


class ExtendableParaphraseSource(WordingOrigin, Contract):
    """A source that can be asked for more runs."""

    @property
    def label(self) -> str: ...
    @property
    def is_control(self) -> bool: ...
    def list_run_seeds(self, dataset: str, runs: int, request: Any) -> tuple[int, ...]:
        """List the seeds of the runs on a dataset. UsageError when there are fewer."""
        ...


class AdaptiveRunSeeds:
    """The seeds of every source on every dataset so far (`seeds`), and whether there is a round to do (`grows`).

    UsageError where a source has fewer runs than were asked for.
    """

    def __init__(
        self,
        request: Any,
        datasets: Sequence[PlannedDatasetToParaphrase],
        sources: Sequence[ExtendableParaphraseSource],
    ) -> None:
        self.request, self.sources = request, sources
        self.runs = {dataset.name: request.runs for dataset in datasets}
        self.stopped: dict[str, str] = {}
        self.seeds = self._map_sources_to_run_seeds()
        self.grows = True

    def add_needed_runs(self, records: Sequence[CellRecord]) -> None:
        """Give one run more to each dataset that needs it, by the cells of the runs so far."""
        self.grows = False
        if self.request.until_ci is None:
            return
        for dataset, runs in self.runs.items():
            if needs_more_runs(self._measure_run_drops(dataset, records), self.request.until_ci):
                self._raise_dataset_run_count(dataset, runs + 1)
        self.seeds = self._map_sources_to_run_seeds()

    def _raise_dataset_run_count(self, dataset: str, runs: int) -> None:
        if runs > self.request.max_runs:
            self.stopped[dataset] = f"--max-runs {self.request.max_runs} is reached"
            return
        try:
            for source in self.sources:
                source.list_run_seeds(dataset, runs, self.request)
        except UsageError as error:
            self.stopped[dataset] = error.message
            return
        # Only after every source agreed: sources of one dataset have as many runs.
        self.runs[dataset], self.grows = runs, True

    def _measure_run_drops(
        self, dataset: str, records: Sequence[CellRecord]
    ) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
        """Paraphrased minus original, a row for each task, ranked system and source (no control), a column for each
        run."""
        by_scope: dict[tuple[str, ...], list[float]] = {}
        variants = {
            source.variant(seed): source.label
            for source in self.sources
            if not source.is_control
            for seed in self.seeds[source.name, dataset]
        }
        for record in records:
            # References are not waited for: random similarities would ask for runs without end.
            if record.dataset != dataset or record.variant not in variants or record.system in REFERENCES:
                continue
            key = (record.task, record.system, variants[record.variant])
            by_scope.setdefault(key, []).append(_compute_cell_drop(record))
        return np.array(list(by_scope.values()), dtype=np.float64).reshape(len(by_scope), self.runs[dataset])

    def _map_sources_to_run_seeds(self) -> dict[tuple[str, str], tuple[int, ...]]:
        return {
            (source.name, dataset): source.list_run_seeds(dataset, runs, self.request)
            for source in self.sources
            for dataset, runs in self.runs.items()
        }


def _compute_cell_drop(record: CellRecord) -> float:
    """Compute the drop of a cell; NaN where it has none."""
    score, original = (record.components.get(name) for name in ("score", "original"))
    if score is None or original is None or score.value is None or original.value is None:
        return float("nan")
    return score.value - original.value


_AT_ONCE = 512
"""Texts that are worked on at once; the model's own pace decides how many requests are in flight."""


@dataclass(frozen=True)
class WordingRequestResult:
    """What came of asking for one text: `rejected` are the outcomes that could not be used, the last one included."""

    text: str
    outcome: Outcome = "ok"
    reason: str = ""
    attempts: int = 1
    seed: int = 0
    seconds: float = 0.0
    rejected: tuple[str, ...] = ()


def make_blank_text_outcome(asked: TextToParaphrase, seed: int) -> ParaphraseOutcome:
    """A text without words stays what it is, and nobody is asked."""
    return ParaphraseOutcome(asked.text, asked.lang, asked.place, asked.text, "ok", attempts=0, seed=seed)


class UnlimitedRunsParaphraser:
    """Whoever words texts anew in any number of runs."""

    def seeds(self, runs: int, first: int, *, dataset: str = "") -> tuple[int, ...]:  # noqa: ARG002 - the contract's
        """Choose `first`, `first + 1` and so on as the seeds of the runs."""
        return tuple(range(first, first + runs))


class LLMTextRewriter(UnlimitedRunsParaphraser, ABC):
    """A language model that writes texts anew. Two runs with one seed get the same answers from the cache behind
    `chat`. A text is drawn again up to `retries` times."""

    remote = True
    UNANSWERED: ClassVar[Mapping[Why, Outcome]] = {
        "cut": "too long", "withheld": "refused", "declined": "refused", "empty": "empty", "thinking": "thinking"
    }  # fmt: skip
    """What an answer without a text is, by why there is none."""

    def __init__(self, chat: CachedChatModel, retries: int) -> None:
        self.chat, self._retries = chat, retries
        self._models: set[str] = set()
        self._hope = ModelLossDetector()

    @property
    def name(self) -> str:
        """The model's spec."""
        return self.chat.name

    @property
    def token_price(self) -> TokenPrice | None:
        """The price of the model's tokens; None where it is not known."""
        return getattr(self.chat.model, "price", None)

    def described(self, **more: Any) -> Mapping[str, Any]:
        """The model as its server names it, what was left out of requests and the size of its context, with `more`
        before these; without what is not known."""
        model = self.chat.model
        told = {
            "model": ", ".join(sorted(self._models)),
            **more,
            "left_out": list(getattr(model, "left_out", ())),
            "num_ctx": getattr(model, "num_ctx", None),
        }
        return {key: value for key, value in told.items() if value not in (None, "", [])}

    def write(
        self,
        asked: Sequence[TextToParaphrase],
        *,
        seed: int,
        run: int,  # noqa: ARG002 - the contract's
        dataset: str = "",  # noqa: ARG002
        hear: Callable[[int], None] = lambda _: None,
    ) -> Iterator[tuple[int, ParaphraseOutcome]]:
        """See `Paraphraser.write`; many calls are in flight at once, and one text's one after another."""
        self._hope = ModelLossDetector()
        jobs: Iterator[Callable[[], Awaitable[ParaphraseOutcome]]] = (
            partial(self._reword_or_keep_blank, text, seed) for text in asked
        )
        for done, (position, paraphrase) in enumerate(iterate_finished_jobs(jobs, at_once=_AT_ONCE), start=1):
            hear(done)
            yield position, paraphrase

    async def _reword_or_keep_blank(self, asked: TextToParaphrase, seed: int) -> ParaphraseOutcome:
        return await self.reword(asked, seed) if asked.text.strip() else make_blank_text_outcome(asked, seed)

    @abstractmethod
    async def reword(self, asked: TextToParaphrase, seed: int) -> ParaphraseOutcome:
        """Reword one text that isn't blank."""

    def name_refusal_outcome(self, error: TextRefused) -> Outcome:  # noqa: ARG002 - for those that tell refusals apart
        """Name the outcome of a text that the server does not take."""
        return "refused"

    async def draw(
        self, ask: Callable[[int], ChatQuestion], read: Callable[[Completion], WordingRequestResult]
    ) -> WordingRequestResult:
        """What came of a question, drawn until `read` finds an answer usable, or as often as may be. `ask` gets the
        number of the draw, from 0."""
        rejected, seconds = [], 0.0
        for attempt in range(self._retries + 1):
            question = ask(attempt)
            drawn, again = await self._request_wording_and_check_retry(question, read)
            seconds += drawn.seconds
            # The first usable one is taken: choosing among several would prefer some kind of wording.
            if drawn.outcome in USABLE:
                break
            rejected.append(drawn.outcome)
            if not again:
                break
        return replace(
            drawn, attempts=attempt + 1, seed=question.sampling.seed or 0, seconds=seconds, rejected=tuple(rejected)
        )

    async def _request_wording_and_check_retry(
        self, question: ChatQuestion, read: Callable[[Completion], WordingRequestResult]
    ) -> tuple[WordingRequestResult, bool]:
        """What an answer is, and whether another draw could be better."""
        begun = perf_counter()
        try:
            answer = await self.chat.complete(
                question.messages, sampling=question.sampling, schema=question.schema, attempt=question.attempt
            )
        except Unanswered as error:
            self._hope.answered()
            return WordingRequestResult("", self.UNANSWERED[error.why], str(error)), True
        except TextRefused as error:
            self._hope.answered()
            return WordingRequestResult("", self.name_refusal_outcome(error), str(error)), False
        except ModelError as error:
            if self._hope.is_model_lost_after_failure(begun):
                raise
            return WordingRequestResult("", "failed", str(error)), False
        self._hope.answered()
        self._models.add(answer.model)
        return replace(read(answer), seconds=answer.usage.seconds), True


def map_systems_to_method_groups(layout: WordingRunSetup) -> dict[tuple[str, str], str]:
    """(task, system) -> the group of systems that one method scored; references are in none."""
    return {
        (scope.task, system): CLASSICAL if ":" in scope.name else RANKED
        for scope in list_scopes_with_systems(layout)
        for system in scope.systems
    }


def make_standings_over_wordings(
    layout: WordingRunSetup, levels: Any, headlines: Iterable[tuple[str, str]]
) -> Iterator[SystemStanding]:
    """Every system's score in all wordings together: of each task (or `overall`, each with the measure of its headline)
    on each dataset and over them. `levels` has `on_dataset` and `in_scope`, as `RunScoresAndDrops`."""
    group = map_systems_to_method_groups(layout)
    for task_name, headline in headlines:
        datasets = [] if task_name == OVERALL else [dataset.name for dataset in layout.list_task_datasets(task_name)]
        for system in layout.systems:
            of = group.get((task_name, system.name), REFERENCE)
            # Over one dataset is on it: the row would stand twice.
            for dataset in datasets if len(datasets) > 1 else ():
                score = levels.on_dataset(task_name, dataset, system.name, ALL).score
                yield SystemStanding(task_name, dataset, headline, score, of)
            yield SystemStanding(task_name, "", headline, levels.in_scope(task_name, system.name, ALL).score, of)


PARAPHRASES = "paraphrases"
"""The folder of a run's set."""


MOST_REHEARSED = 400_000
"""Texts of a task up to which it is rehearsed."""
KINDS: dict[str, Literal["distances", "search"]] = {"clustering": "distances", "retrieval": "search"}


@dataclass(frozen=True)
class _MissingTexts:
    """Texts of one run on a dataset without a wording yet: `known` is what there is of the others."""

    dataset: PlannedDatasetToParaphrase
    seed: int
    run: int
    asked: tuple[TextToParaphrase, ...]
    known: tuple[ParaphraseOutcome, ...]


Wished = Callable[[Any, Any, int], tuple[TextToParaphrase, ...]]
"""From a source, a dataset and the seed of a run to the distinct texts that are asked for."""


class ParaphraseSetFiller:
    """Fills the run's set. What the set has is not asked for again, but for calls that failed in an earlier session.
    `told` stands before the name of who writes, where progress is shown."""

    def __init__(
        self, paraphrases: sets.ParaphraseSet, ledger: Ledger, listener: SilentListener, told: str = "paraphrases by"
    ) -> None:
        self.paraphrases, self.ledger, self.listener, self.told = paraphrases, ledger, listener, told
        self._seen: set[tuple[str, str, int]] = set()

    def write(self, datasets: Sequence[Any], sources: Sequence[WordingOrigin], seeds: Seeds, asked: Wished) -> None:
        """Have every text of every run worded. BudgetExceeded when the money ends, ModelError for a paraphraser that
        cannot be had; what was answered is in the answer cache."""
        for source in sources:
            self._record_source_in_set(source)
            gaps = [
                gap
                for dataset in datasets
                for run, seed in enumerate(seeds[source.name, dataset.name])
                if (gap := self._find_texts_without_wording(source, dataset, seed, run, asked)) is not None
            ]
            if gaps:
                total = sum(len(gap.asked) for gap in gaps)
                self.listener.announce_paraphrasing(f"{self.told} {source.name}", total)
                with charge_calls_to_account(self.ledger, source.paraphraser.name):
                    for gap in gaps:
                        self._write_missing_texts(source, gap)
                self._record_source_in_set(source)

    def _record_source_in_set(self, source: WordingOrigin) -> None:
        """Say in the set who writes; again at the end, when it is known what the server calls its model."""
        own, about = getattr(source.paraphraser, "prompt", None), dict(source.paraphraser.about())
        prompt = about.pop("prompt", None) if own is None else own.as_dict()
        self.paraphrases.add(
            sets.WordingSource(
                name=source.name,
                paraphraser=source.paraphraser.name,
                identity=source.paraphraser.identity,
                prompt=prompt,
                about=about,
            )
        )

    def _find_texts_without_wording(
        self, source: WordingOrigin, dataset: PlannedDatasetToParaphrase, seed: int, run: int, by: Wished
    ) -> _MissingTexts | None:
        key = (source.name, dataset.name, seed)
        if key in self._seen:
            return None
        self._seen.add(key)
        asked = by(source, dataset, seed)
        if not self.paraphrases.has_all_wordings_of_run(*key):
            return _MissingTexts(dataset, seed, run, asked, ())
        # What failed was never answered, and is asked again; refusals and the like are answers.
        rows = tuple(row for row in self.paraphrases.rows(*key) if row.outcome != "failed")
        had = {(row.lang, row.text, row.place) for row in rows}
        missing = tuple(text for text in asked if (text.lang, text.text, text.place) not in had)
        return _MissingTexts(dataset, seed, run, missing, rows) if missing else None

    def _write_missing_texts(self, source: WordingOrigin, gap: _MissingTexts) -> None:
        worded: list[ParaphraseOutcome | None] = [None] * len(gap.asked)
        # Answers come as they are finished: their position puts them into the order of the texts.
        written = source.paraphraser.write(gap.asked, seed=gap.seed, run=gap.run, dataset=gap.dataset.name)
        for position, paraphrase in written:
            worded[position] = paraphrase
            self.listener.advanced_by(1)
        rows = [*gap.known, *(row for row in worded if row is not None)]
        dataset = gap.dataset
        self.paraphrases.keep(source.name, dataset.name, gap.seed, rows, fingerprint=dataset.fingerprint)


def save_item_texts(plan: WordedPlan, folder: RunFolder) -> None:
    """Write `texts/TASK/DATASET.parquet` of every task: the texts that are paraphrased, as `item_id`, `field` (both
    from the place, `first:ID`), `text` and `lang`."""
    for dataset in plan.datasets:
        for part in dataset.tasks:
            folder.write_texts_once(
                part.task, dataset.name, partial(_list_dataset_texts_as_columns, plan, dataset, part.task)
            )


def _list_dataset_texts_as_columns(
    plan: WordedPlan, dataset: PlannedDatasetToParaphrase, name: str
) -> dict[str, list[str]]:
    columns: dict[str, list[str]] = {"item_id": [], "field": [], "text": [], "lang": []}
    for part in plan.parts(dataset, name):
        for place, text in find_registered_task(name, plan.registry).texts(part.data):
            field, _, item = place.partition(":")
            for column, value in zip(columns, (item, field, text, part.lang), strict=True):
                columns[column].append(value)
    return columns


def forecast_evaluation_costs(
    plan: WordedPlan, sources: Sequence[WordingOrigin], seeds: Seeds, *, measure: bool
) -> Iterator[CellForecast]:
    """The cost of every task on every dataset with every system, the originals and all runs together. With `measure`,
    systems on this machine are timed on a few texts."""
    request, tokenizer = plan.request, open_tokenizer(plan.request.tokenizer)
    forecaster = TaskCostForecaster(plan.systems, tokenizer, request.seed, plan.cache, measure=measure)
    for name in plan.tasks:
        for dataset in plan.datasets:
            rounds = sum(len(seeds[source.name, dataset.name]) for source in sources)
            for planned in dataset.tasks:
                if planned.task == name:
                    yield from forecaster.cells(_estimate_task_effort(plan, dataset, planned, tokenizer, rounds))


def _estimate_task_effort(
    plan: WordedPlan, dataset: PlannedDatasetToParaphrase, planned: PlannedTask, tokenizer: Tokenizer, rounds: int
) -> TaskWorkloadForForecast:
    what, parts = find_registered_task(planned.task, plan.registry), plan.parts(dataset, planned.task)
    texts = [text for part in parts for _, text in what.texts(part.data)]
    sets = [part.data for part in parts if isinstance(part.data, RetrievalSet)]
    corpus = [text for retrieval_set in sets for text in retrieval_set.corpus.texts]
    tokens, _ = count_tokens_by_sample(corpus + texts, tokenizer)

    def rehearse_calls(hear: Hear, *, mark: str = "") -> bool:
        if len(texts) + len(corpus) > MOST_REHEARSED:
            return False
        for part in parts:
            context = PtebContext(part.dataset, tokenizer, plan.request.seed, plan.request.options)
            work.rehearse_task_encoder_calls(
                what, _append_mark_to_texts(what, part.data, mark) if mark else part.data, context, hear
            )
        return True

    # Other words of the same length: a mark makes a text one that no cache has.
    return TaskWorkloadForForecast(
        planned.task, dataset.name, planned.n, len(texts) + len(corpus), tokens, rehearse_calls, corpus or texts,
        texts if corpus else (), KINDS.get(planned.task, "pairs"),
        again=lambda hear: rehearse_calls(hear, mark=" \u2020"), rounds=rounds,
        footprint=lambda system: choose_largest_footprint(
            estimate_dataset_part_memory(system, part.data, [text for _, text in what.texts(part.data)],
                            plan.request.options.resamples)
            for part in parts
        )
    )  # fmt: skip


def _append_mark_to_texts(what: Any, data: Any, mark: str) -> Any:
    return what.reword(data, lambda _, text: text + mark).paraphrased


class WordedProtocol(EvaluationProtocol):
    """A protocol over runs in other wordings."""

    reads_folder = True
    by_language = True
    evaluate = staticmethod(work.evaluate_pteb_cell)

    def headline(self, plan: Any, record: CellRecord) -> str:
        """Name the headline measure of the task."""
        return find_registered_task(record.task, plan.registry).headline

    def keep(self, plan: Any) -> None:
        """Keep the texts of the items as they are."""
        save_item_texts(plan, self.folder)
