"""From a judge request to the cells of a run, before anything is asked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from embassay.data.shapes import check_targets
from embassay.protocols import opening
from embassay.protocols.planning import (
    PlannedDataset,
    PlannedSystem,
    check_names,
    joined_tasks,
    planned_task,
)
from embassay.protocols.pteb.judging import work
from embassay.protocols.pteb.judging.chats import Judge, check_named, planned_judges
from embassay.protocols.pteb.judging.gold import Range, gold_range, parse_gold
from embassay.protocols.pteb.judging.rating import shown
from embassay.protocols.pteb.judging.request import VERSION, JudgeRequest
from embassay.protocols.pteb.paraphrasing.prompts import Prompt, judge_prompt
from embassay.runs.cells import Cell
from embassay.runs.files import digest
from embassay.systems.remote import Ledger

TASK = "judge"


@dataclass(frozen=True)
class OnPairs:
    """A step that needs scored pairs, as planning knows tasks."""

    name: str
    shapes: tuple[str, ...] = ("pairs",)


@dataclass(frozen=True)
class Plan:
    """Everything a judge run will do, in its order."""

    request: JudgeRequest
    systems: tuple[PlannedSystem, ...]
    datasets: tuple[PlannedDataset, ...]
    cells: tuple[Cell, ...]
    prompt: Prompt
    tokenizer_identity: str = ""

    def lang(self, dataset: str) -> str:
        """The language of a dataset."""
        return next(one.lang for one in self.datasets if one.name == dataset)


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
    return Plan(request, tuple(judges), tuple(dataset for dataset, _ in found), tuple(cells), prompt)


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
