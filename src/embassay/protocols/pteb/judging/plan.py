"""From a request to the cells of a judge run, and what they will take."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from embassay.contracts import Spread
from embassay.data.shapes import check_targets
from embassay.protocols.kernel import inputs as opening
from embassay.protocols.kernel import plan as planning
from embassay.protocols.kernel.plan import (
    PlannedDataset,
    PlannedSystem,
    check_names,
    joined_tasks,
    planned_task,
)
from embassay.protocols.kernel.request import DatasetRequest
from embassay.protocols.pteb.judging.agreement import Context, Judged, agreement
from embassay.protocols.pteb.judging.options import VERSION, JudgeOptions, JudgeRequest
from embassay.protocols.pteb.judging.ratings import (
    Asking,
    Judge,
    Pair,
    Range,
    check_named,
    gold_range,
    parse_gold,
    planned_judges,
    rate,
    shown,
)
from embassay.protocols.pteb.paraphrasing.paraphrasers import Prompt, judge_prompt
from embassay.records import Loaded, ScoredPairs, TaskOutcome
from embassay.runs.execution import HERE
from embassay.runs.folder import Cell, digest
from embassay.runs.forecast import Forecast, Forecasts, remote_seconds
from embassay.systems.remote import Ledger
from embassay.systems.remote.ledger import likely_tokens


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


TASK = "judge"


@dataclass(frozen=True)
class OnPairs:
    """A step that needs scored pairs, as planning knows tasks."""

    name: str
    shapes: tuple[str, ...] = ("pairs",)


@dataclass(frozen=True)
class Plan(planning.Plan):
    """A judge run: the judges are its systems, and all get the same prompt."""

    request: JudgeRequest
    prompt: Prompt = field(kw_only=True)


def make_plan(request: JudgeRequest, cache: Path | None = None, ledger: Ledger | None = None) -> Plan:
    """Open every judge and dataset, and cut the work into cells, one per judge and dataset.

    Raises UsageError for a dataset without scored pairs, for scores outside their range, and for a judge whose price
    is not known where the cost is limited; ModelError for one that cannot be opened.
    """
    check_targets(request.mapping)
    check_named(request.systems)
    prompt, ranges = judge_prompt(), parse_gold(request.gold)
    found = [_planned_dataset(source, request, ranges) for source in dict.fromkeys(request.datasets)]
    check_names(dataset.name for dataset, _ in found)
    longest = max(_longest(dataset, request) for dataset, _ in found)
    judges = planned_judges(request.systems, longest, ledger)
    cells = [
        _cell(request, judge, dataset, By(Judge(judge.spec, longest), gold, prompt, cache))
        for dataset, gold in found
        for judge in judges
    ]
    datasets = tuple(dataset for dataset, _ in found)
    return Plan(request, tuple(judges), datasets, tuple(cells), prompt=prompt)


def _longest(dataset: PlannedDataset, request: JudgeRequest) -> int:
    """The UTF-8 bytes of the longest pair."""
    data = load(request.dataset(dataset.source), request.limit, request.seed).data
    return max(len(shown(*pair).encode("utf-8", "replace")) for pair in pairs_of(data))


def _planned_dataset(
    source: str, request: JudgeRequest, ranges: Mapping[str, Range]
) -> tuple[PlannedDataset, Range]:
    how = request.dataset(source)
    dataset = opening.dataset(how)
    joined_tasks(source, dataset, [OnPairs(TASK)])
    loaded = load(how, request.limit, request.seed).loaded
    gold, warning = gold_range(ranges, source, dataset.name, loaded.data.scores)
    task = planned_task(TASK, loaded, len, 2 * len(loaded.data))
    if warning:
        task = replace(task, warnings=(*task.warnings, warning))
    return PlannedDataset(source, dataset.name, dataset.lang, dataset.fingerprint, (task,)), gold


def _cell(request: JudgeRequest, judge: PlannedSystem, dataset: PlannedDataset, how: By) -> Cell:
    key = digest(
        {
            "protocol": "pteb",
            "step": TASK,
            "version": VERSION,
            "system": [judge.name, judge.identity],
            "prompt": how.prompt.identity,
            "dataset": [dataset.name, dataset.fingerprint, *how.gold],
            "limit": request.limit,
            "seed": request.seed,
            "options": request.options.as_dict(),
        }
    )
    job = Job(how, request.dataset(dataset.source), request.limit, request.seed, request.options)
    return Cell(TASK, dataset.name, judge.name, key, dataset.tasks[0].n, job, remote=True)


ANSWER_TOKENS = 10
"""Of `{"score": 3.5}`; a model that thinks writes more."""


@dataclass(frozen=True)
class Asked:
    """Questions to a model: `texts` (or pairs) in all, `requests` for those without a kept answer, and the tokens that
    these read and write."""

    texts: int
    requests: int
    read: int
    written: int


def forecast(plan: Plan) -> Forecasts:
    """The cost of every cell, in the order of the plan. A pair is asked for once, and failures come on top."""
    found = []
    for cell in plan.cells:
        pairs = pairs_of(load(cell.job.dataset, cell.job.limit, cell.job.seed).data)
        head = Forecast(cell.task, cell.dataset, cell.system, len(pairs), 0, 0)
        found.append(of_ratings(head, cell.job.by.judge, pairs, cell.job.asking, cell.job.by.cache))
    return Forecasts(tuple(found))


def of_ratings(
    head: Forecast, judge: Judge, pairs: Sequence[Pair], asking: Asking, cache: Path | None
) -> Forecast:
    """`head` with what the ratings of the distinct pairs take; `texts` counts pairs."""
    distinct = list(dict.fromkeys(pairs))
    with judge.with_kept_answers(None, cache) as chat:
        questions = [one for pair in distinct if not chat.kept(one := asking.question(pair))]
    read = sum(likely_tokens([message.content for message in one.messages]) for one in questions)
    asked = Asked(len(distinct), len(questions), read, ANSWER_TOKENS * len(questions))
    return of_questions(head, judge.open(), asked)


def of_questions(head: Forecast, chat: Any, asked: Asked) -> Forecast:
    """`head` with what the questions to a model come to, added."""
    price, tokens = getattr(chat, "price", None), asked.read + asked.written
    usd = None if price is None or head.usd is None else head.usd + price.usd(asked.read, asked.written)
    seconds = remote_seconds(chat, asked.requests, tokens)
    return replace(
        head,
        texts=head.texts + asked.texts,
        cached=head.cached + asked.texts - asked.requests,
        tokens=head.tokens + tokens,
        requests=(head.requests or 0) + asked.requests,
        usd=usd,
        seconds=(head.seconds or 0.0) + seconds,
        assumed=True,
    )
