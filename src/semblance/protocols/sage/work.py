"""Doing one cell: open the system and the data it names, evaluate. Runs in the parent or in a worker process."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from semblance.contracts import Encoder, Role, Similarity, Tokenizer
from semblance.data import Dataset, open_dataset
from semblance.protocols.sage.context import Context
from semblance.protocols.sage.options import SageOptions
from semblance.protocols.sage.request import DatasetRequest
from semblance.protocols.sage.tasks import TASKS, Task
from semblance.records import Loaded, TaskOutcome
from semblance.runs.cached_encoder import CachedEncoder
from semblance.runs.embedding_cache import EmbeddingCache
from semblance.runs.rehearsal import Hear, Rehearsal
from semblance.runs.spending import Spending, Spent
from semblance.systems import open_system
from semblance.systems.remote import Ledger
from semblance.text import open_tokenizer

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


def evaluate(job: Job, advance: Callable[[int], None], *, ledger: Ledger | None = None) -> TaskOutcome:
    """The outcome of one cell, with how many texts were encoded, taken from the cache and cut, and the calls that
    were charged to `ledger`."""
    data = load(job.task, job.dataset, job.limit, job.seed)
    journal = _spending(ledger)
    encoders: list[CachedEncoder] = []

    def cached(encoder: Encoder) -> Encoder:
        kept = journal.encoded if journal is not None else None
        encoders.append(CachedEncoder(encoder, open_cache(job.cache), progress=advance, kept=kept))
        return encoders[-1]

    tokenizer = open_tokenizer(job.tokenizer)
    system = open_system(job.system, tokenizer=tokenizer, wrap=cached, seed=job.seed, ledger=ledger)
    context = Context(data.dataset, tokenizer, job.seed, job.options)
    with charged(ledger, system.name) as calls:
        for encoder in encoders:
            _prefetch(encoder, job.task, data.data, context)
        outcome = task(job.task).evaluate(system, data.data, context)
    return replace(outcome, counts={**outcome.counts, **_encoding_counts(encoders), **calls})


def rehearse(task_name: str, data: Any, context: Context, hear: Hear) -> bool:
    """Do the task in vain, and tell `hear` of every call that it would make of an encoder. False, and nothing done, for
    more than `REHEARSED` texts."""
    what = task(task_name)
    if what.size(data) * what.texts_per_item > REHEARSED:
        return False
    briefly = replace(context, options=replace(context.options, resamples=1))
    what.evaluate(Rehearsal(hear), data, briefly)
    return True


def _prefetch(encoder: CachedEncoder, task_name: str, data: Any, context: Context) -> None:
    """Ask a server for the vectors of all the task's calls at once: one call alone seldom keeps it busy."""
    if hasattr(encoder.encoder, "encode_chunks"):
        asked: list[tuple[Sequence[str], Role | None]] = []
        rehearse(task_name, data, context, lambda texts, role: asked.append((texts, role)))
        encoder.prefetch(asked)


@contextmanager
def charged(ledger: Ledger | None, account: str) -> Iterator[dict[str, int]]:
    """Charge calls to the account; the mapping holds at the end what they came to."""
    calls: dict[str, int] = {}
    journal = _spending(ledger)
    if journal is None:
        yield calls
        return
    before = journal.by_account().get(account, Spent())
    journal.account = account
    try:
        yield calls
    finally:
        journal.account = ""
    came_to = journal.by_account().get(account, Spent()).since(before)
    calls |= {
        "requests": came_to.requests,
        "retries": came_to.retries,
        "calls_failed": came_to.failed,
        "input_tokens": came_to.input_tokens,
    }


def _spending(ledger: Ledger | None) -> Spending | None:
    journal = ledger.journal if ledger else None
    return journal if isinstance(journal, Spending) else None


def task(name: str) -> Task:
    """The task called `name`."""
    return TASKS.build(name)


@lru_cache(maxsize=8)
def dataset(request: DatasetRequest) -> Dataset:
    """The dataset, opened once per process."""
    return open_dataset(
        request.source, mapping=dict(request.mapping), split=request.split, grades=request.grades
    )


@lru_cache(maxsize=2)
def load(task_name: str, request: DatasetRequest, limit: int | None, seed: int) -> Loaded[Any]:
    """The dataset in the task's shape; the last two stay in memory."""
    return task(task_name).load(dataset(request), limit, seed)


@lru_cache(maxsize=1)
def open_cache(path: Path | None) -> EmbeddingCache:
    """The embedding cache of this process."""
    return EmbeddingCache.open(path)


def describe(text: str, tokenizer: Tokenizer, seed: int, ledger: Ledger | None = None) -> Similarity:
    """The system that a spec string names, without a cache: for its name, kind and identity."""
    return open_system(text, tokenizer=tokenizer, seed=seed, ledger=ledger)


def _encoding_counts(encoders: list[CachedEncoder]) -> dict[str, int]:
    if not encoders:
        return {}
    return {
        "texts_encoded": sum(encoder.counts.encoded for encoder in encoders),
        "texts_cached": sum(encoder.counts.cached for encoder in encoders),
        "texts_truncated": sum(encoder.counts.truncated for encoder in encoders),
        "texts_failed": sum(len(encoder.failures) for encoder in encoders),
    }
