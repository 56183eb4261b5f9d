"""What a plan takes before it is carried out."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Literal

from embassay.contracts import Tokenizer
from embassay.protocols.forecasting import Forecaster, Work
from embassay.protocols.planning import PlannedTask
from embassay.protocols.sage import work
from embassay.protocols.sage.context import Context
from embassay.protocols.sage.edits import corpora_length
from embassay.protocols.sage.footprint import needed
from embassay.protocols.sage.plan import Plan
from embassay.runs.forecast import Forecast, Forecasts, tokens_of
from embassay.text import open_tokenizer

LENGTHS = {"robustness": 7.0, "sensitivity": 1 + 3 * (1.15 + 1.5 + 2) + 3 * (0.85 + 0.5 + 0.1)}
"""Tokens of all versions of a document together, in units of the original's; other tasks see it once."""
KINDS: dict[str, Literal["distances", "search"]] = {"clustering": "distances", "retrieval": "search"}


def forecast(plan: Plan, *, measure: bool = True) -> Forecasts:
    """The cost of every cell, in the order of the plan.

    With `measure`, systems on this machine are timed on a few texts, for which they are loaded here.
    """
    return Forecasts(tuple(_cells(plan, measure=measure)))


def _cells(plan: Plan, *, measure: bool) -> Iterator[Forecast]:
    request, tokenizer = plan.request, open_tokenizer(plan.request.tokenizer)
    cache = plan.cells[0].job.cache
    forecaster = Forecaster(plan.systems, tokenizer, request.seed, cache, measure=measure)
    for name in plan.tasks:
        for dataset in plan.datasets:
            for planned in dataset.tasks:
                if planned.task == name:
                    yield from forecaster.cells(_work(plan, planned, dataset.source, tokenizer))


def _length(name: str, context: Context) -> float:
    return corpora_length(context) if name == "retrieval" else LENGTHS.get(name, 1.0)


def _work(plan: Plan, planned: PlannedTask, source: str, tokenizer: Tokenizer) -> Work:
    request, name = plan.request, planned.task
    limit = request.options.drawn(name, request.limit)
    loaded = work.load(name, request.dataset(source), limit, request.seed)
    fields = work.task(name).fields(loaded.data)
    first = {"retrieval": "document", "preference": "source"}.get(name, "text")
    texts, queries = fields[first][1], fields.get("query", ((), ()))[1]
    tokens, _ = tokens_of(texts, tokenizer)
    context = Context(loaded.dataset, tokenizer, request.seed, request.options)
    return Work(
        name, loaded.dataset, planned.n, planned.texts, round(tokens * _length(name, context)),
        partial(work.rehearse, name, loaded.data, context), texts, queries, KINDS.get(name, "pairs"),
        footprint=lambda system: needed(name, system, loaded.data, fields, request.options),
    )  # fmt: skip
