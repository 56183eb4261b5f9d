"""A retriever as a stack of a sweep: its lists of the dataset's documents, its time and its price, as it runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from embassay.contracts import IndexFacts
from embassay.data.judged_runs import AnswerTextMatcher, rank_passages_by_question, read_run_entries
from embassay.errors import ModelError, UsageError
from embassay.protocols.kernel.estimates import MOST_LOST
from embassay.protocols.kernel.plan import PlannedSystem
from embassay.protocols.live.runs import (
    LiveRetrieverRunOutcome,
    QuestionsToAsk,
    ask_retrievers_for_runs,
    open_retriever_for_questions,
)
from embassay.protocols.rag.sweep.config import SweepRequest
from embassay.protocols.rag.sweep.measurement import Names, QueryLatencyRecorder, RagStackMeasurer
from embassay.protocols.rag.sweep.parts import ChunkedDatasetEvaluation, Listed
from embassay.protocols.rag.sweep.signals import compute_margins_of_first_over_tenth
from embassay.protocols.rag.sweep.stacks import LIVE, NONE, MeasuredStackArrays, StackConfiguration
from embassay.runs.folder import RunFolder, slugify_name
from embassay.systems.remote import redact_keys

HALF = 0.5
"""Share of unknown documents from which on a retriever serves another corpus."""


def open_planned_retrievers(request: SweepRequest) -> dict[str, PlannedSystem]:
    """Name -> the retrievers of a request, opened to see that they can be. UsageError for two of one name, and for one
    whose price nobody has given: stacks are compared by cost."""
    systems: dict[str, PlannedSystem] = {}
    for given in request.retriever:
        with open_retriever_for_questions(given, compute_retrieval_depth(request)) as retriever:
            if retriever.name in systems or retriever.name in request.encoder:
                raise UsageError(
                    f"Two stacks are called {retriever.name!r}.", mend="Rename one: retriever: [new=SPEC]."
                )
            price = retriever.manners.price
            if price is None:
                raise UsageError(
                    f"The price of the retriever {retriever.name} is unknown.",
                    mend="Give US dollars per question (0 if it is free): module:function?price=0.001, or "
                    '"price": 0.001 in the template of a server.',
                )
            facts = {"summary": "a running retriever", "usd_per_question": price}
            identity = redact_keys(retriever.identity)
            systems[retriever.name] = PlannedSystem(given, retriever.name, identity, "run", facts)
    return systems


def compute_retrieval_depth(request: SweepRequest) -> int:
    """Compute how many documents a retriever is asked for: as many as the deepest stack retrieves."""
    return max(request.k)


def make_stack_configuration_of_retriever(name: str, request: SweepRequest) -> StackConfiguration:
    """Make the stack configuration that a retriever is."""
    return StackConfiguration(name, None, NONE, compute_retrieval_depth(request), NONE, LIVE)


@dataclass
class RetrieverListEvaluation(RagStackMeasurer):
    """A bench of the lists that a retriever answered to the queries."""

    bench: ChunkedDatasetEvaluation
    watch: QueryLatencyRecorder
    run: LiveRetrieverRunOutcome

    @classmethod
    def of(
        cls, bench: ChunkedDatasetEvaluation, watch: QueryLatencyRecorder, system: PlannedSystem, folder: RunFolder
    ) -> RetrieverListEvaluation:
        """Ask what has no answer yet; answers are kept in the sweep's folder. ModelError where it answers nothing, or
        fails on too many queries."""
        collection, request = bench.collection, bench.parts.request
        texts = dict(zip(collection.query_ids, collection.queries, strict=True))
        asked = QuestionsToAsk(texts, compute_retrieval_depth(request) + bench.extra_search_depth, request.seed)
        # A folder for each dataset: the ids of queries are its own.
        place = folder.path / "asked" / slugify_name(collection.name)
        with (
            bench.parts.charge_model_calls_to_account(system.name),
            ask_retrievers_for_runs(
                [f"{system.name}={_get_retriever_spec_without_name(system)}"],
                asked,
                place,
                listener=bench.parts.listener,
                ledger=bench.parts.ledger,
            ) as runs,
        ):
            made = cls(bench, watch, runs[0])
        if len(made.run.failed) > MOST_LOST * len(texts):
            reason = next(iter(made.run.failed.values()))
            raise ModelError(f"{system.name} failed on {len(made.run.failed):,} of {len(texts):,} queries: {reason}.")
        return made

    @property
    def facts(self) -> IndexFacts:
        """The facts of what is searched: documents; nobody knows what the retriever holds of them."""
        return IndexFacts(len(self.bench.passages), 0, 0.0, None, None)

    @property
    def charged_account(self) -> str:
        """Itself."""
        return self.run.name

    @cached_property
    def lists(self) -> list[Listed]:
        """The lists found for each query; ModelError where most documents are none of the dataset's."""
        passages = self.bench.passages
        texts = dict(zip(passages.ids, passages.texts, strict=True))
        queries = dict(zip(self.bench.collection.query_ids, self.bench.queries, strict=True))
        ranked = rank_passages_by_question(read_run_entries(self.run.path, known=AnswerTextMatcher(texts, queries)))
        places = {key: place for place, key in enumerate(passages.ids)}
        total = sum(map(len, ranked.values()))
        unknown = sum(doc not in places for hits in ranked.values() for doc, _ in hits)
        if unknown > HALF * total:
            stranger = next(doc for hits in ranked.values() for doc, _ in hits if doc not in places)
            raise ModelError(
                f"{self.run.name} serves another corpus: {unknown:,} of {total:,} documents are not from "
                f"{self.bench.collection.name}, such as {stranger!r}.",
                mend="Make it return the dataset's documents by their ids.",
            )
        lists = []
        for query, own in zip(self.bench.collection.query_ids, self.bench.own_passages_by_query, strict=True):
            hits = [(places[doc], score) for doc, score in ranked.get(query, ()) if doc in places]
            kept = [(place, score) for place, score in hits if place not in own]
            lists.append((tuple(place for place, _ in kept), tuple(score for _, score in kept)))
        return lists

    def candidates(self, configuration: StackConfiguration) -> list[Listed]:
        """Find the retriever's lists."""
        return [(places[: configuration.k], scores[: configuration.k]) for places, scores in self.lists]

    def compute_routing_signals(self, configuration: StackConfiguration) -> dict[str, NDArray[np.float64]]:
        """Compute the margin of the retriever's scores."""
        return {"margin": compute_margins_of_first_over_tenth([scores for _, scores in self.candidates(configuration)])}

    def time_candidate_stages(self, configuration: StackConfiguration) -> Names:
        """Take the time of the whole retriever, as it was when it was asked."""
        what = {"stage": "retrieve", **self.bench.what, "retriever": self.run.name, "depth": configuration.k}
        seconds = iter(self._select_seconds_of_timed_queries())
        return {
            "retrieve": self.watch.keep_reported_times(
                what, self.bench.collection.timed, lambda _: 1000 * next(seconds)
            )
        }

    def _select_seconds_of_timed_queries(self) -> list[float]:
        """List as many times as queries are timed; of a query that failed another stands for it."""
        answered = list(self.run.seconds)
        n = len(self.bench.collection.timed)
        # Spread over the whole time of asking, since the first answers may be slower.
        step = max(1, len(answered) // n)
        spread = answered[::step][:n]
        return [spread[place % len(spread)] for place in range(n)]

    def list_timed_reranker_input(self, configuration: StackConfiguration, query: int) -> Listed:
        """What it found."""
        return self.candidates(configuration)[query]

    def find(self, configuration: StackConfiguration, query: int) -> Listed:
        """Find what the retriever answered: it is not asked again for the clock."""
        return self.candidates(configuration)[query]

    def _measure_stack(self, configuration: StackConfiguration, *, load: bool) -> MeasuredStackArrays:
        """Measure the stack without a value for failed queries, nor times under another load."""
        del load
        stack = super()._measure_stack(configuration, load=False)
        is_failed = np.array([query in self.run.failed for query in self.bench.collection.query_ids])
        return replace(
            stack,
            quality=_blank_failed_queries(stack.quality, is_failed),
            ceiling=_blank_failed_queries(stack.ceiling, is_failed),
        )

    @property
    def warnings(self) -> Sequence[str]:
        """Warnings about how the retriever answered."""
        return [f"{self.run.name}: {note}" for note in self.run.notes()]


def _get_retriever_spec_without_name(system: PlannedSystem) -> str:
    """Strip the name from a retriever given as `spec` or `name=spec`, and keep its spec."""
    return system.spec.removeprefix(f"{system.name}=")


def _blank_failed_queries(
    values: Mapping[str, NDArray[np.float64]], is_failed: NDArray[np.bool_]
) -> dict[str, NDArray[np.float64]]:
    return {name: np.where(is_failed, np.nan, column) for name, column in values.items()}
