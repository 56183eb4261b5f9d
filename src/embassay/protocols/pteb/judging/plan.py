"""From a request to the cells of a judge run, and what they will take."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

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
from embassay.protocols.pteb.judging import work
from embassay.protocols.pteb.judging.chats import Judge, check_named, planned_judges
from embassay.protocols.pteb.judging.options import VERSION, JudgeRequest
from embassay.protocols.pteb.judging.ratings import Asking, Pair, Range, gold_range, parse_gold, shown
from embassay.protocols.pteb.paraphrasing.prompts import Prompt, judge_prompt
from embassay.runs.cells import Cell
from embassay.runs.files import digest
from embassay.runs.forecast import Forecast, Forecasts, remote_seconds
from embassay.systems.remote import Ledger
from embassay.systems.remote.tokens import likely_tokens

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
        _cell(request, judge, dataset, work.By(Judge(judge.spec, longest), gold, prompt, cache))
        for dataset, gold in found
        for judge in judges
    ]
    datasets = tuple(dataset for dataset, _ in found)
    return Plan(request, tuple(judges), datasets, tuple(cells), prompt=prompt)


def _longest(dataset: PlannedDataset, request: JudgeRequest) -> int:
    """The UTF-8 bytes of the longest pair."""
    data = work.load(request.dataset(dataset.source), request.limit, request.seed).data
    return max(len(shown(*pair).encode("utf-8", "replace")) for pair in work.pairs_of(data))


def _planned_dataset(
    source: str, request: JudgeRequest, ranges: Mapping[str, Range]
) -> tuple[PlannedDataset, Range]:
    how = request.dataset(source)
    dataset = opening.dataset(how)
    joined_tasks(source, dataset, [OnPairs(TASK)])
    loaded = work.load(how, request.limit, request.seed).loaded
    gold, warning = gold_range(ranges, source, dataset.name, loaded.data.scores)
    task = planned_task(TASK, loaded, len, 2 * len(loaded.data))
    if warning:
        task = replace(task, warnings=(*task.warnings, warning))
    return PlannedDataset(source, dataset.name, dataset.lang, dataset.fingerprint, (task,)), gold


def _cell(request: JudgeRequest, judge: PlannedSystem, dataset: PlannedDataset, how: work.By) -> Cell:
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
    job = work.Job(how, request.dataset(dataset.source), request.limit, request.seed, request.options)
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
        pairs = work.pairs_of(work.load(cell.job.dataset, cell.job.limit, cell.job.seed).data)
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
