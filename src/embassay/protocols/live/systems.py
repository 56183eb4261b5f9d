"""Retrievers as systems of a run: what they answer to the questions of its tasks, beside encoders and metrics.

A retriever searches passages of its own, and a task wants certain ones searched: with sentences taken out of them, or
with old versions among them. So the run writes these passages to `served/NAME.jsonl`, and a retriever takes part once
it serves them: a function that takes `corpus` is given them, everything else is indexed by its owner, and the command
run again. One passage among them marks the collection; a retriever that does not find it by its own text serves others,
and is refused. Answers are kept in `retrieved/`, where asking goes on, and cells read them from there.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embassay.contracts import CellPartExecutor, Kind, RankedCandidates
from embassay.data.judged_runs import AnswerTextMatcher, rank_passages_by_question, read_run_entries
from embassay.errors import ModelError, UsageError
from embassay.protocols.kernel.evaluation import TaskCellJob, TaskProtocol
from embassay.protocols.kernel.inputs import SystemWithCachedVectors, charge_calls_to_account
from embassay.protocols.kernel.plan import Plan, PlannedDataset, PlannedSystem, PlannedTask
from embassay.protocols.kernel.session import CellRunAttempt, SilentListener
from embassay.protocols.live import TaskRequestWithRetrievers
from embassay.protocols.live.runs import (
    LiveRetrieverRunOutcome,
    QuestionsToAsk,
    ask_all_questions,
    describe_trial_of_retrievers,
    open_retriever_for_questions,
)
from embassay.records import TaskOutcome
from embassay.runs.execution import HERE
from embassay.runs.folder import (
    RunCell,
    RunFolder,
    format_value_as_json,
    slugify_name,
    write_file_atomically,
    write_json_lines,
)
from embassay.runs.forecast import CallRecordingSimilarity, CellForecast, RunForecast
from embassay.systems.remote import Ledger, redact_keys, run_in_remote_loop_and_wait
from embassay.systems.retrievers import PassagesToServe, Retriever
from embassay.text import open_tokenizer

KIND: Kind = "run"
RETRIEVED, SERVED = "retrieved", "served"
MARK = "mark-"
"""What the id of the passage that marks a collection begins with; digits of its passages follow, so that no other
collection has it."""
HALF = 0.5
"""Share of documents from another corpus from which on a retriever is refused."""


@dataclass(frozen=True)
class SearchQuestionsAndPassages:
    """What a task asks to be searched: the distinct questions, the passages, and how many of these are wanted."""

    questions: tuple[str, ...]
    passages: tuple[str, ...]
    depth: int

    @property
    def digest(self) -> str:
        """The digest of the passages, in their order."""
        return digest_passages(self.passages)

    def prepare_served_passages(self, dataset: str) -> PassagesToServe:
        """The passages as they are to be served, with the one that marks them."""
        texts = {f"p{place}": text for place, text in enumerate(self.passages, 1)}
        name = f"{slugify_name(dataset)}-{self.digest[:8]}"
        return PassagesToServe(name, {**texts, self.mark: make_marker_passage_text(self.digest)})

    @property
    def mark(self) -> str:
        """The id of the passage that marks these."""
        return f"{MARK}{self.digest[:12]}"


def digest_passages(passages: Sequence[str]) -> str:
    """A hexadecimal digest of texts and their order."""
    total = hashlib.blake2b(digest_size=16)
    for text in passages:
        content = text.encode("utf-8", "surrogatepass")
        total.update(len(content).to_bytes(8, "big"))
        total.update(content)
    return total.hexdigest()


def make_marker_passage_text(digest: str) -> str:
    """The text of the passage that marks a collection; asked as a question, it finds itself."""
    return f"This passage marks the collection {digest[:12]}: a retriever that finds it searches this run's passages."


def make_question_id(text: str) -> str:
    """What a question is called in the file of its answers."""
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


class SearchRehearsal(CallRecordingSimilarity):
    """Stands in for a system, and notes what it is asked to search. Every list is in the order of the passages."""

    kind: Kind = KIND

    def __init__(self) -> None:
        super().__init__(lambda *_: None)
        self.calls: list[SearchQuestionsAndPassages] = []

    def search(self, queries: Sequence[str], corpus: Sequence[str], k: int) -> RankedCandidates:
        """Note the search, and give the first k texts."""
        self.calls.append(SearchQuestionsAndPassages(tuple(dict.fromkeys(queries)), tuple(corpus), min(k, len(corpus))))
        return super().search(queries, corpus, k)


class RetrieverListSystem:
    """What a retriever answered in a run, as a system that can be searched: of nothing else has it a similarity.
    `failures` are questions that it failed on, with the reason."""

    kind: Kind = KIND

    def __init__(self, name: str, identity: str, folder: Path) -> None:
        self.name, self.identity, self._folder = name, identity, folder
        self.failures: dict[str, str] = {}
        self.notes: dict[str, None] = {}

    def search(self, queries: Sequence[str], corpus: Sequence[str], k: int) -> RankedCandidates:
        """The retriever's own lists; ModelError where it was not asked for these passages."""
        kept = read_kept_search_answers(self._folder, self.name, digest_passages(corpus))
        self.failures |= kept.failed
        self.notes |= dict.fromkeys(kept.notes)
        ranked = RankedCandidates.make_empty_candidates(len(queries), k)
        for row, query in enumerate(queries):
            hits = kept.lists.get(query, ())[:k]
            ranked.indices[row, : len(hits)] = [place for place, _ in hits]
            ranked.scores[row, : len(hits)] = [score for _, score in hits]
        return ranked

    def search_shards(
        self,
        queries: Sequence[str],
        shards: Sequence[Sequence[str]],
        k: int,
        *,
        spread: CellPartExecutor | None = None,  # noqa: ARG002 - it was searched elsewhere
    ) -> Iterator[RankedCandidates]:
        """The retriever's own lists, as those of one shard."""
        (shard,) = shards
        yield self.search(queries, shard, k)

    def pairs(self, a: Sequence[str], b: Sequence[str]) -> NDArray[np.float32]:
        """Raise UsageError: a list has no similarity of two texts."""
        del a, b
        raise self._make_no_similarity_error()

    def distances(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Raise UsageError: a list has no distances between texts."""
        del texts
        raise self._make_no_similarity_error()

    def _make_no_similarity_error(self) -> UsageError:
        return UsageError(
            f"{self.name} is a retriever: it returns lists, not the similarity of two texts.",
            mend="Name an encoder with -s.",
        )


@dataclass(frozen=True)
class RetrieverAnswersByQuestion:
    """What a retriever answered about a collection: question -> (place of a passage, score), best first, a place of -1
    for a document that is none of the passages; the questions that failed; and what is to be said."""

    lists: Mapping[str, Sequence[tuple[int, float]]]
    failed: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def read_kept_search_answers(folder: Path, name: str, digest: str) -> RetrieverAnswersByQuestion:
    """What is kept in a run's `folder`. ModelError where there is nothing."""
    path = _make_retrieved_lists_path(folder, name, digest)
    if not path.exists():
        raise ModelError(f"{name} has not searched these passages yet.", mend="Run the same command again.")
    kept = json.loads(path.read_text("utf-8"))
    if kept["error"]:
        raise ModelError(kept["error"], mend="Run the same command to try again.")
    lists = {query: [tuple(hit) for hit in hits] for query, hits in kept["lists"].items()}
    return RetrieverAnswersByQuestion(lists, kept["failed"], tuple(kept["notes"]))


def _make_retrieved_lists_path(folder: Path, name: str, digest: str) -> Path:
    return folder / RETRIEVED / f"{slugify_name(name)}-{digest[:8]}.lists.json"


class _CachedListSystemAdapter(SystemWithCachedVectors):
    """A list system where a cell expects one whose vectors are cached."""

    def __init__(self, system: RetrieverListSystem) -> None:
        self.spread, self.encoders, self.memories = HERE, [], []
        self.system: Any = system

    def add_usage_and_warnings(
        self, outcome: TaskOutcome, calls: Mapping[str, int], *, compares: bool = False
    ) -> TaskOutcome:
        """Add to the outcome how the retriever answered."""
        warned = super().add_usage_and_warnings(outcome, calls, compares=compares)
        return replace(warned, warnings=(*warned.warnings, *self.system.notes))


@dataclass(frozen=True)
class CachedRetrieverCellJob(TaskCellJob):
    """The job of a retriever's cell, which was asked before."""

    name: str
    identity: str
    folder: Path

    def open_cached_system(self, *_: Any, **__: Any) -> SystemWithCachedVectors:
        """Open what the retriever answered as a system."""
        return _CachedListSystemAdapter(RetrieverListSystem(self.name, self.identity, self.folder))


class RetrieverProtocol(TaskProtocol):
    """A protocol over tasks that are searches alone, so that a retriever can take part as a system."""

    reads_folder = True
    request = TaskRequestWithRetrievers

    def plan_run(self, request: Any, cache: Path | None = None, ledger: Ledger | None = None) -> Plan:
        """Plan the run with the retrievers as systems; UsageError for two of one name."""
        plan = super().plan_run(request, cache, ledger)
        if not getattr(request, "retrievers", ()):
            return plan
        named = {system.name for system in plan.systems}
        systems = []
        for given in request.retrievers:
            with open_retriever_for_questions(given, 1) as retriever:
                if retriever.name in named:
                    raise UsageError(
                        f"Two systems are called {retriever.name!r}.", mend="Use another name: --retriever new=SPEC."
                    )
                named.add(retriever.name)
                systems.append(_plan_retriever(given, retriever))
        ranked = [system for system in plan.systems if system.kind != "reference"]
        references = [system for system in plan.systems if system.kind == "reference"]
        whole = replace(plan, systems=(*ranked, *systems, *references))
        return replace(whole, cells=tuple(self._plan_cells(whole)))

    def _plan_cell(self, plan: Plan, system: PlannedSystem, dataset: PlannedDataset, task: PlannedTask) -> RunCell:
        cell = super()._plan_cell(plan, system, dataset, task)
        if system.kind != KIND:
            return cell
        job: Any = cell.job
        kept = {name: getattr(job, name) for name in (entry.name for entry in fields(TaskCellJob))}
        return replace(
            cell,
            job=CachedRetrieverCellJob(**kept, name=system.name, identity=system.identity, folder=self.folder.path),
        )

    def forecast_cost(self, plan: Plan, *, measure: bool = True) -> RunForecast:
        """Forecast what the others take, and how many questions retrievers are asked."""
        # Opened by their specs, which retrievers do not have among the systems.
        others = tuple(system for system in plan.systems if system.kind != KIND)
        cells = super().forecast_cost(replace(plan, systems=others), measure=measure)
        asked = [
            CellForecast(
                "asking", dataset.name, system.name, n, n, 0, requests=n,
                usd=None if system.facts["usd_per_question"] is None else n * system.facts["usd_per_question"],
            )
            for system in plan.systems if system.kind == KIND
            for dataset in plan.datasets
            for n in [sum(len(call.questions) for call in self._list_searches_of_dataset(plan, dataset))]
        ]  # fmt: skip
        return replace(cells, cells=(*cells.cells, *asked))

    def run_cells(self, session: Any, listener: SilentListener) -> None:
        """Ask the retrievers, then do the cells."""
        self.ask(session, listener)
        session.do(listener)

    def ask(self, session: CellRunAttempt, listener: SilentListener) -> None:
        """Have all retrievers asked about all datasets, and their answers kept. UsageError for one that does not serve
        the passages; one that fails has a cell that fails."""
        plan, folder = session.plan, self.folder.path
        self.live: dict[str, dict[str, Any]] = {}
        for given in getattr(plan.request, "retrievers", ()):
            for dataset in plan.datasets:
                for call in self._list_searches_of_dataset(plan, dataset):
                    served = call.prepare_served_passages(dataset.name)
                    write_served_passages(folder, served)
                    collection = _RetrieverWithPassagesToServe(given, call, served, folder, plan.request.seed)
                    collection.ask(session.accounts.ledger, listener, self.live)

    def list_closing_manifest_fields(self, session: Any) -> Mapping[str, Any]:
        """The manifest's fields on how retrievers answered."""
        more = super().list_closing_manifest_fields(session)
        live = getattr(self, "live", {})
        return {**more, "retrievers": live} if live else more

    def _list_searches_of_dataset(self, plan: Plan, dataset: PlannedDataset) -> list[SearchQuestionsAndPassages]:
        """What the tasks search on a dataset, each collection of passages once with all its questions."""
        calls: dict[str, SearchQuestionsAndPassages] = {}
        for planned in dataset.tasks:
            loaded = self.load_task_data(plan.request, dataset.source, planned.task)
            context = self.make_task_context(
                loaded, open_tokenizer(plan.request.tokenizer), plan.request.seed, self.choose_cell_options(plan)
            )
            briefly = replace(context, options=replace(context.options, resamples=1))
            rehearsal = SearchRehearsal()
            self.tasks.build(planned.task).evaluate(rehearsal, loaded.data, briefly)
            for call in rehearsal.calls:
                before = calls.get(call.digest, SearchQuestionsAndPassages((), call.passages, 0))
                questions = tuple(dict.fromkeys((*before.questions, *call.questions)))
                calls[call.digest] = SearchQuestionsAndPassages(questions, call.passages, max(call.depth, before.depth))
        return list(calls.values())

    def choose_cell_options(self, plan: Plan) -> Any:
        """The options that cells get."""
        return plan.request.options

    def describe_retriever_trial(self, request: Any, out: Path) -> Iterator[str]:
        """What each retriever answers to the first question, and which passages it is to serve; nothing is kept."""
        self.folder = RunFolder(out)
        plan = self.plan_run(request, None, Ledger())
        for dataset in plan.datasets:
            for call in self._list_searches_of_dataset(plan, dataset):
                served = call.prepare_served_passages(dataset.name)
                place = out / SERVED / f"{served.name}.jsonl"
                yield f"{len(call.passages):,} passages to serve; the run writes them to {place}"
                asked = QuestionsToAsk({make_question_id(text): text for text in call.questions}, call.depth + 1)
                known = AnswerTextMatcher(served.texts, {})
                yield from describe_trial_of_retrievers(request.retrievers, asked, known, served)


def _plan_retriever(given: str, retriever: Retriever) -> PlannedSystem:
    facts = {
        "summary": "a running retriever",
        "usd_per_question": retriever.manners.price,
        "at_once": retriever.manners.concurrency,
    }
    return PlannedSystem(given, retriever.name, redact_keys(retriever.identity), KIND, facts)


def write_served_passages(folder: Path, served: PassagesToServe) -> Path:
    """Write the passages that are to be served, unless they stand there: a line for each, with `id` and `text`."""
    path = folder / SERVED / f"{served.name}.jsonl"
    if not path.exists():
        write_json_lines(path, ({"id": key, "text": text} for key, text in served.texts.items()))
    return path


@dataclass(frozen=True)
class _RetrieverWithPassagesToServe:
    """A retriever and the passages that it is asked about."""

    given: str
    call: SearchQuestionsAndPassages
    served: PassagesToServe
    folder: Path
    seed: int

    def ask(self, ledger: Ledger, listener: SilentListener, live: dict[str, dict[str, Any]]) -> None:
        """Ask all that has no answer yet, and keep the lists. The facts of the run go into `live`."""
        # One more than is wanted: the passage that marks the collection may be among them.
        with open_retriever_for_questions(self.given, self.call.depth + 1, ledger, self.served) as retriever:
            path = self.folder / RETRIEVED / f"{slugify_name(retriever.name)}-{self.served.name}.jsonl"
            summary = _make_retrieved_lists_path(self.folder, retriever.name, self.call.digest)
            texts = {make_question_id(text): text for text in self.call.questions}
            try:
                with charge_calls_to_account(ledger, retriever.name):
                    self._check_retriever_finds_served_passages(retriever, path, texts)
                    run = ask_all_questions(
                        retriever, QuestionsToAsk(texts, self.call.depth + 1, self.seed), path, listener=listener
                    )
            except ModelError as error:
                # Its cell fails with this reason; the other systems go on.
                _write_answer_summary(summary, {}, {}, [], error.message)
                return
            live.setdefault(run.name, {})[self.served.name] = run.facts
            self._keep_ranked_lists(run, summary, texts)

    def _check_retriever_finds_served_passages(
        self, retriever: Retriever, path: Path, texts: Mapping[str, str]
    ) -> None:
        """UsageError unless the retriever finds the passage that marks the collection by its own text."""
        # What is answered already was asked of a retriever that had passed.
        answered = path.read_bytes().count(b"\n") if path.exists() else 0
        if answered >= len(texts):
            return
        marking = {self.call.mark, self.served.texts[self.call.mark]}
        answer = run_in_remote_loop_and_wait(lambda: retriever.ask(self.served.texts[self.call.mark]))
        if _contains_text_matching_predicate(answer.value, marking.__contains__):
            return
        place = self.folder / SERVED / f"{self.served.name}.jsonl"
        raise UsageError(
            f"{retriever.name} does not search the passages of this run: it did not find the marker passage.",
            mend=f"Make it serve the {len(self.served.texts):,} passages of {place} with their ids, and run "
            "this again. A function can take them as an argument: find(question, k, corpus).",
        )

    def _keep_ranked_lists(self, run: LiveRetrieverRunOutcome, summary: Path, texts: Mapping[str, str]) -> None:
        """Write the lists with places of passages; UsageError where most documents are none of them."""
        places = {f"p{place}": place - 1 for place in range(1, len(self.call.passages) + 1)}
        read = read_run_entries(run.path, known=AnswerTextMatcher(self.served.texts, {}))
        ranked = rank_passages_by_question(read)
        lists: dict[str, list[tuple[int, float]]] = {}
        unknown = total = 0
        for key, text in texts.items():
            hits = [(places.get(doc, -1), score) for doc, score in ranked.get(key, ()) if doc != self.call.mark]
            lists[text] = hits[: self.call.depth]
            unknown += sum(place < 0 for place, _ in lists[text])
            total += len(lists[text])
        # Some strangers are an index that is not quite fresh; most are another one.
        if unknown > HALF * total:
            raise UsageError(
                f"{run.name} searches other passages: {unknown:,} of {total:,} documents are not from this run.",
                mend=f"Make it serve only {self.served.name}.jsonl, with the ids in that file.",
            )
        notes = [*run.notes(), *(note for note in read.notes if "not in the corpus" not in note)]
        if unknown:
            notes.append(f"{unknown:,} of {total:,} documents are not among the passages but keep their ranks")
        if short := sum(
            len(hits) < self.call.depth for query, hits in lists.items() if make_question_id(query) in ranked
        ):
            notes.append(
                f"{short:,} of its lists have fewer than {self.call.depth} passages; the rest count as not found"
            )
        failed = {texts[key]: reason for key, reason in run.failed.items()}
        _write_answer_summary(summary, lists, failed, [f"{run.name}: {note}" for note in notes], "")


def _contains_text_matching_predicate(value: Any, is_wanted: Callable[[str], bool]) -> bool:
    """Whether a text within an answer is wanted."""
    if isinstance(value, str):
        return is_wanted(value)
    if isinstance(value, Mapping):
        return any(
            map(partial(_contains_text_matching_predicate, is_wanted=is_wanted), [*value.keys(), *value.values()])
        )
    return isinstance(value, list) and any(map(partial(_contains_text_matching_predicate, is_wanted=is_wanted), value))


def _write_answer_summary(
    path: Path,
    lists: Mapping[str, Sequence[tuple[int, float]]],
    failed: Mapping[str, str],
    notes: Sequence[str],
    error: str,
) -> None:
    plain = {"lists": dict(lists), "failed": dict(failed), "notes": list(notes), "error": error}
    write_file_atomically(path, format_value_as_json(plain) + "\n")
