"""Doing one cell: open the system and the data it names, evaluate. Runs in the parent or in a worker process."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from embassay.contracts import Spread
from embassay.protocols.opening import CachedSystem, charged, dataset
from embassay.protocols.request import DatasetRequest
from embassay.protocols.sage.context import Context
from embassay.protocols.sage.edits import chosen_edits
from embassay.protocols.sage.footprint import needed
from embassay.protocols.sage.options import ALL, SageOptions
from embassay.protocols.sage.tasks import PAIR_CORPUS, TASKS, Task
from embassay.records import Loaded, TaskOutcome
from embassay.runs.execution import HERE
from embassay.runs.forecast import Hear, Rehearsal
from embassay.runs.memory import room_for
from embassay.systems.remote import Ledger
from embassay.text import open_tokenizer

REHEARSED = 400_000
"""Texts of a task up to which it is rehearsed."""


@dataclass(frozen=True)
class Job:
    """All that a worker needs to do a cell."""

    task: str
    system: str
    dataset: DatasetRequest
    limit: int | None
    seed: int
    tokenizer: str
    options: SageOptions
    cache: Path | None


def evaluate(
    job: Job, advance: Callable[[int], None], *, ledger: Ledger | None = None, spread: Spread = HERE
) -> TaskOutcome:
    """The outcome of one cell, with how many texts were encoded, taken from the cache and cut, and the calls that
    were charged to `ledger`."""
    data = load(job.task, job.dataset, job.options.drawn(job.task, job.limit), job.seed)
    tokenizer = open_tokenizer(job.tokenizer)
    opened = CachedSystem(
        job.system,
        tokenizer=tokenizer,
        seed=job.seed,
        cache=job.cache,
        advance=advance,
        ledger=ledger,
        spread=spread,
        pair_corpus=PAIR_CORPUS,
    )
    context = Context(data.dataset, tokenizer, job.seed, job.options, spread=spread, lang=data.lang)
    if not opened.encoders:
        context = replace(context, advance=advance)
    what, system = task(job.task), opened.system
    need = needed(job.task, system, data.data, what.fields(data.data), job.options)
    with room_for(need), charged(ledger, system.name) as calls:
        opened.prefetch(lambda hear: rehearse(job.task, data.data, context, hear))
        outcome = what.evaluate(system, data.data, context)
    return opened.told(outcome, calls)


def rehearse(task_name: str, data: Any, context: Context, hear: Hear) -> bool:
    """Do the task in vain, and tell `hear` of every call that it would make of an encoder. False, and nothing done, for
    more than `REHEARSED` texts."""
    what = task(task_name)
    if texts(what, data, context.options) > REHEARSED:
        return False
    briefly = replace(context, options=replace(context.options, resamples=1), spread=HERE)
    what.evaluate(Rehearsal(hear), data, briefly)
    return True


def texts(what: Task, data: Any, options: SageOptions) -> int:
    """How many texts a system sees, for plans and progress."""
    each = what.texts_per_item
    if what.name == "retrieval" and options.retrieval_edits != ALL:
        each = 1 + len(chosen_edits(options.retrieval_edits))
    return what.size(data) * each


def task(name: str) -> Task:
    """The task called `name`."""
    return TASKS.build(name)


@lru_cache(maxsize=2)
def load(task_name: str, request: DatasetRequest, limit: int | None, seed: int) -> Loaded[Any]:
    """The dataset in the task's shape; the last two stay in memory."""
    return task(task_name).load(dataset(request), limit, seed)
