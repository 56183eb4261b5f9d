"""What a plan takes before it is carried out: wordings, and the evaluation of the texts as they are and in each run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Literal

from embassay.contracts import Tokenizer
from embassay.protocols.footprint import largest
from embassay.protocols.forecasting import Forecaster, Work
from embassay.protocols.planning import PlannedTask
from embassay.protocols.pteb import work
from embassay.protocols.pteb.context import Context
from embassay.protocols.pteb.footprint import needed
from embassay.protocols.pteb.paraphrasing.llm import LLMParaphraser
from embassay.protocols.pteb.paraphrasing.records import Asked
from embassay.protocols.pteb.plan import Plan, PlannedDataset, Seeds
from embassay.protocols.pteb.slices import task
from embassay.protocols.pteb.sources import Source
from embassay.records import RetrievalSet
from embassay.runs.forecast import Forecast, Forecasts, Hear, remote_seconds, tokens_of
from embassay.systems.remote.tokens import likely_tokens
from embassay.text import open_tokenizer

MOST_REHEARSED = 400_000
"""Texts of a task up to which it is rehearsed."""
KINDS: dict[str, Literal["distances", "search"]] = {"clustering": "distances", "retrieval": "search"}


def forecast(plan: Plan, sources: Sequence[Source], seeds: Seeds, *, measure: bool = True) -> Forecasts:
    """The cost of every source's wordings, then of every task on every dataset with every system, all runs together.

    Wordings are taken to be as long as their texts, and none to be drawn again. With `measure`, systems on this machine
    are timed on a few texts.
    """
    return Forecasts((*_wordings(plan, sources, seeds), *_evaluations(plan, sources, seeds, measure=measure)))


def _wordings(plan: Plan, sources: Sequence[Source], seeds: Seeds) -> Iterator[Forecast]:
    for source in sources:
        for dataset in plan.datasets:
            runs = seeds[source.name, dataset.name]
            head = Forecast(
                "paraphrases", dataset.name, source.name, dataset.asked, dataset.asked * len(runs), 0
            )
            writer = source.paraphraser
            yield (
                _by_model(head, writer, plan.asked(dataset), runs)
                if isinstance(writer, LLMParaphraser)
                else head
            )


def _by_model(
    head: Forecast, writer: LLMParaphraser, asked: Sequence[Asked], runs: Sequence[int]
) -> Forecast:
    """`head` with what the answers come to that the cache does not have."""
    missing = [(one, seed) for seed in runs for one in asked if not writer.kept(one, seed)]
    written = likely_tokens([one.text for one, _ in missing])
    questions = [writer.question(one, seed) for one, seed in missing]
    read = likely_tokens([message.content for question in questions for message in question.messages])
    model: Any = writer.chat.model
    return replace(
        head,
        tokens=read + written,
        cached=head.texts - len(missing),
        requests=len(missing),
        usd=None if writer.price is None else writer.price.usd(read, written),
        seconds=remote_seconds(model, len(missing), read + written),
        assumed=True,
    )


def _evaluations(plan: Plan, sources: Sequence[Source], seeds: Seeds, *, measure: bool) -> Iterator[Forecast]:
    request, tokenizer = plan.request, open_tokenizer(plan.request.tokenizer)
    forecaster = Forecaster(plan.systems, tokenizer, request.seed, plan.cache, measure=measure)
    for name in plan.tasks:
        for dataset in plan.datasets:
            rounds = sum(len(seeds[source.name, dataset.name]) for source in sources)
            for planned in dataset.tasks:
                if planned.task == name:
                    yield from forecaster.cells(_work(plan, dataset, planned, tokenizer, rounds))


def _work(
    plan: Plan, dataset: PlannedDataset, planned: PlannedTask, tokenizer: Tokenizer, rounds: int
) -> Work:
    what, parts = task(planned.task), plan.parts(dataset, planned.task)
    texts = [text for part in parts for _, text in what.texts(part.data)]
    sets = [part.data for part in parts if isinstance(part.data, RetrievalSet)]
    corpus = [text for one in sets for text in one.corpus.texts]
    tokens, _ = tokens_of(corpus + texts, tokenizer)

    def rehearse(hear: Hear, *, mark: str = "") -> bool:
        if len(texts) + len(corpus) > MOST_REHEARSED:
            return False
        for part in parts:
            context = Context(part.dataset, tokenizer, plan.request.seed, plan.request.options)
            work.rehearse(what, _marked(what, part.data, mark) if mark else part.data, context, hear)
        return True

    # Other words of the same length: a mark makes a text one that no cache has.
    return Work(
        planned.task, dataset.name, planned.n, len(texts) + len(corpus), tokens, rehearse, corpus or texts,
        texts if corpus else (), KINDS.get(planned.task, "pairs"),
        again=lambda hear: rehearse(hear, mark=" \u2020"), rounds=rounds,
        footprint=lambda system: largest(
            needed(system, part.data, [text for _, text in what.texts(part.data)], plan.request.options.resamples)
            for part in parts
        ),
    )  # fmt: skip


def _marked(what: Any, data: Any, mark: str) -> Any:
    return what.reword(data, lambda _, text: text + mark).paraphrased
