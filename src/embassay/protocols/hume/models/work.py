"""Doing one cell: a system on the items of a task, and the memory it takes. Runs in any process."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from embassay.contracts import Similarity, Spread, Tokenizer
from embassay.protocols.hume.folder import StudyFolder, read_study
from embassay.protocols.hume.models.classification import FewLabelled
from embassay.protocols.hume.models.families import Settings, data_of, evaluation, texts_of
from embassay.protocols.kernel import inputs
from embassay.protocols.kernel.forecast import dimensions, remembered
from embassay.protocols.kernel.inputs import charged
from embassay.protocols.tasks import task as footprint
from embassay.protocols.tasks.options import PtebOptions
from embassay.protocols.tasks.task import Context
from embassay.records import TaskOutcome
from embassay.runs.execution import HERE
from embassay.runs.forecast import Hear, Rehearsal
from embassay.runs.memory import Footprint, room_for
from embassay.systems.remote import Ledger
from embassay.text import open_tokenizer


@dataclass(frozen=True)
class Job(inputs.Job):
    """All that a worker needs to do a cell. `content` is the study's, so that a changed study is read anew."""

    study: Path
    content: str
    task: str
    settings: Settings
    resamples: int
    neighbours: int


def evaluate(
    job: Job, advance: Callable[[int], None], *, ledger: Ledger | None = None, spread: Spread = HERE
) -> TaskOutcome:
    """The outcome of one cell, with how many texts were encoded and taken from the cache."""
    tokenizer = open_tokenizer(job.tokenizer)
    data, family = held(job.study, job.content, job.task, job.settings)
    context = _context(job, tokenizer)
    opened = job.opened(advance, ledger=ledger, spread=spread)
    with room_for(needed(opened.system, data, job.resamples)), charged(ledger, opened.system.name) as calls:
        opened.prefetch(lambda hear: rehearse(job, hear))
        opened.remember(lambda hear: rehearse(job, hear))
        outcome = evaluation(family)(opened.system, data, context)
    return opened.told(outcome, calls)


def rehearse(job: Job, hear: Hear) -> bool:
    """Tell of the calls that a cell makes of an encoder."""
    data, family = held(job.study, job.content, job.task, job.settings)
    context = _context(replace(job, resamples=1), open_tokenizer(job.tokenizer))
    evaluation(family)(Rehearsal(hear), data, context)
    return True


@lru_cache(maxsize=64)
def held(study: Path, content: str, task: str, settings: Settings) -> tuple[Any, Any]:
    """The data of a task, read once per process, and its family."""
    folder = _study(study, content)
    found = folder.task(task)
    return data_of(found, folder.items_of(task), folder.gold(task), settings), found.family


@lru_cache(maxsize=2)
def _study(path: Path, content: str) -> StudyFolder:  # noqa: ARG001 - part of what is remembered
    return read_study(path)


def _context(job: Job, tokenizer: Tokenizer) -> Context:
    options = PtebOptions(resamples=job.resamples, neighbours=job.neighbours)
    return Context(job.task, tokenizer, job.seed, options)


_LEARNT = 4 * 8
"""Bytes of a value while a classifier learns from it and applies what it has learnt."""


def needed(system: Similarity, data: Any, resamples: int) -> Footprint:
    """The estimate for one system on the items of a task (`data_of`): that of PTEB for as many texts, with what a
    classifier of vectors takes."""
    texts, dim = texts_of(data), dimensions(system)
    found = footprint.needed(system, data, texts, resamples)
    parts = dict(found.parts)
    if dim:
        parts["vectors"] += remembered(len(texts), dim)
        if isinstance(data, FewLabelled):
            parts["the classifier"] = _LEARNT * len(texts) * dim
    return replace(found, parts=parts, mend="Sample fewer items, or score fewer tasks (--task)")
