"""Doing one cell of a judge run: have the pairs of a dataset rated, and score the ratings."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

import numpy as np

from embassay.contracts import Spread
from embassay.protocols.kernel import inputs as opening
from embassay.protocols.kernel.request import DatasetRequest
from embassay.protocols.pteb.judging.agreement import Context, Judged, agreement
from embassay.protocols.pteb.judging.chats import Judge
from embassay.protocols.pteb.judging.options import JudgeOptions
from embassay.protocols.pteb.judging.ratings import Asking, Pair, Range, rate
from embassay.protocols.pteb.paraphrasing.prompts import Prompt
from embassay.records import Loaded, ScoredPairs, TaskOutcome
from embassay.runs.execution import HERE
from embassay.systems.remote import Ledger


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


def evaluate(
    job: Job, advance: Callable[[int], None], *, ledger: Ledger | None = None, spread: Spread = HERE
) -> TaskOutcome:
    """The outcome of one cell, with the answers that were asked for and had, and the calls charged to `ledger`.
    A server does the work: there is nothing to spread."""
    del spread
    pairs = load(job.dataset, job.limit, job.seed)
    with (
        job.by.judge.with_kept_answers(ledger, job.by.cache) as chat,
        opening.charged(ledger, chat.name) as calls,
    ):
        ratings = rate(chat, pairs_of(pairs.data), job.asking, advance)
    context = Context(pairs.loaded.dataset, seed=job.seed, options=job.options)
    outcome = agreement(ratings, Judged.of(pairs.data, pairs.langs, *job.by.gold), job.options, context)
    answers = {"answers_asked": chat.counts.asked, "answers_cached": chat.counts.cached}
    return replace(outcome, counts={**outcome.counts, **answers, **calls})


def pairs_of(data: ScoredPairs) -> list[Pair]:
    """Both texts of every pair."""
    return list(zip(data.first, data.second, strict=True))


@dataclass(frozen=True)
class Pairs:
    """The scored pairs of a dataset, and the language of each, (n,)."""

    loaded: Loaded[ScoredPairs]
    langs: tuple[str, ...]

    @property
    def data(self) -> ScoredPairs:
        """The pairs, language by language."""
        return self.loaded.data


@lru_cache(maxsize=2)
def load(request: DatasetRequest, limit: int | None, seed: int) -> Pairs:
    """The scored pairs of a dataset, a limit holding for each language; the last two stay in memory."""
    dataset = opening.dataset(request)
    parts = {
        lang: one.load("pairs", limit=limit, seed=seed) for lang, one in dataset.subsets("pairs").items()
    }
    langs = tuple(lang for lang, one in parts.items() for _ in one.data.ids)
    whole = replace(
        next(iter(parts.values())),
        data=_joined([one.data for one in parts.values()]),
        lang=dataset.lang,
        skipped=tuple(skip for one in parts.values() for skip in one.skipped),
        warnings=tuple(dict.fromkeys(warning for one in parts.values() for warning in one.warnings)),
    )
    return Pairs(whole, langs)


def _joined(parts: Sequence[ScoredPairs]) -> ScoredPairs:
    """The pairs of all parts, one after another."""
    ids, first, second = (
        tuple(value for part in parts for value in getattr(part, name)) for name in ("ids", "first", "second")
    )
    return ScoredPairs(ids, first, second, np.concatenate([part.scores for part in parts]))
