"""Doing one cell of a judge run: have the pairs of a dataset rated, and score the ratings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

from semblance.protocols import opening
from semblance.protocols.pteb.judging.agreement import Context, Judged, agreement
from semblance.protocols.pteb.judging.chats import Judge
from semblance.protocols.pteb.judging.gold import Range
from semblance.protocols.pteb.judging.options import JudgeOptions
from semblance.protocols.pteb.judging.rating import Asking, Pair, rate
from semblance.protocols.pteb.paraphrasing.prompts import Prompt
from semblance.protocols.request import DatasetRequest
from semblance.records import Loaded, ScoredPairs, TaskOutcome
from semblance.systems.remote import Ledger


@dataclass(frozen=True)
class By:
    """Who rates, by which instructions, the range of the gold scores, and the file of kept answers."""

    judge: Judge
    gold: Range
    prompt: Prompt
    cache: Path | None


@dataclass(frozen=True)
class Job:
    """All that is needed to do a cell."""

    by: By
    dataset: DatasetRequest
    limit: int | None
    seed: int
    options: JudgeOptions

    @property
    def asking(self) -> Asking:
        """How its pairs are rated."""
        return Asking(self.by.prompt.text, self.options, self.seed)


def evaluate(job: Job, advance: Callable[[int], None], *, ledger: Ledger | None = None) -> TaskOutcome:
    """The outcome of one cell, with the answers that were asked for and had, and the calls charged to `ledger`."""
    loaded = load(job.dataset, job.limit, job.seed)
    data = loaded.data
    with (
        job.by.judge.with_kept_answers(ledger, job.by.cache) as chat,
        opening.charged(ledger, chat.name) as calls,
    ):
        ratings = rate(chat, pairs_of(data), job.asking, advance)
    context = Context(loaded.dataset, seed=job.seed, options=job.options)
    outcome = agreement(ratings, Judged.of(data, *job.by.gold), job.options, context)
    answers = {"answers_asked": chat.counts.asked, "answers_cached": chat.counts.cached}
    return replace(outcome, counts={**outcome.counts, **answers, **calls})


def pairs_of(data: ScoredPairs) -> list[Pair]:
    """Both texts of every pair."""
    return list(zip(data.first, data.second, strict=True))


@lru_cache(maxsize=2)
def load(request: DatasetRequest, limit: int | None, seed: int) -> Loaded[ScoredPairs]:
    """The scored pairs of a dataset; the last two stay in memory."""
    return opening.dataset(request).load("pairs", limit=limit, seed=seed)
