"""Doing one cell: open the system and the data it names, evaluate. Runs in the parent or in a worker process."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from embassay.contracts import Similarity, Spread
from embassay.protocols.kernel.forecast import (
    dimensions,
    distances,
    footprint,
    replicates,
    text_bytes,
    token_bytes,
    vectors,
)
from embassay.protocols.kernel.inputs import CachedSystem, charged, dataset
from embassay.protocols.kernel.request import DatasetRequest
from embassay.protocols.sage.edits import Context, chosen_edits
from embassay.protocols.sage.options import ALL, SageOptions
from embassay.protocols.sage.tasks import PAIR_CORPUS, TASKS, Task
from embassay.records import LabelledTexts, Loaded, RetrievalSet, TaskOutcome
from embassay.runs.execution import HERE
from embassay.runs.forecast import Hear, Rehearsal
from embassay.runs.memory import Footprint, room_for
from embassay.search.blocks import SHARD
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


_BATCHES = {"preference": 3, "robustness": 2, "sensitivity": 2}
"""Texts of an item that are compared in one call."""


def needed(task: str, system: Similarity, data: Any, fields: Any, options: SageOptions) -> Footprint:
    """The estimate for one system on one dataset; `fields` are the task's texts (`Task.fields`)."""
    if isinstance(data, RetrievalSet):
        return _retrieval(system, data, options)
    if isinstance(data, LabelledTexts):
        return _clustering(system, data, options)
    texts = max((column for _, column in fields.values()), key=len)
    n = len(texts) * _BATCHES.get(task, 8)
    parts = {"texts": text_bytes(texts, n), "replicates": replicates(len(texts), 40, options.resamples)}
    parts |= _compared(system, texts, n)
    return footprint(parts, "Use fewer items (--limit).")


def _compared(system: Similarity, texts: Any, n: int) -> dict[str, int]:
    """What `n` of the texts are while they are compared in pairs."""
    dim = dimensions(system)
    return {"vectors": vectors(2 * n, dim)} if dim else {"tokens": token_bytes(texts, 2 * n)}


def _clustering(system: Similarity, data: LabelledTexts, options: SageOptions) -> Footprint:
    largest = max(Counter(data.sets).values(), default=0)
    embedding = system.kind == "embedding"
    n = min(largest, options.embedding_cap if embedding else options.string_cap)
    parts = {f"the distances of {n:,} texts": distances(n), "texts": text_bytes(data.texts, n)}
    dim = dimensions(system)
    parts |= {"vectors": vectors(n, dim)} if dim else {"tokens": token_bytes(data.texts, n)}
    return footprint(parts, f"Cluster fewer texts (--{'embedding' if embedding else 'string'}-cap, --limit).")


def _retrieval(system: Similarity, data: RetrievalSet, options: SageOptions) -> Footprint:
    """One shard is held at a time, and the best of every version."""
    chosen = options.retrieval_edits
    versions = 19 if chosen == ALL else 1 + len(chosen_edits(chosen))
    shard, queries, texts = min(SHARD, len(data.corpus)), len(data), data.corpus.texts
    dim = dimensions(system)
    parts = {
        # As they are, edited, and as the keys of what is looked up.
        f"a shard's {shard:,} texts": 3 * text_bytes(texts, shard),
        "what was found": 16 * queries * 11 * (4 * versions + 8),
        "replicates": replicates(queries, versions + 2, options.resamples),
    }
    if dim:
        parts["vectors"] = vectors(shard, dim) + vectors(queries, dim)
    else:
        asked = data.queries.texts
        parts["tokens"] = token_bytes(texts, shard) + token_bytes(asked)
    return footprint(parts, "Search a smaller corpus (--limit)")
