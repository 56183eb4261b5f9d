"""All rows over runs, datasets and tasks, and all comparisons of systems."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from embassay.protocols.kernel.comparisons import (
    ALPHA,
    CLASSICAL,
    CORRECTION,
    METHOD,
    RANKED,
    REFERENCE,
    Headline,
    Standing,
    compared,
)
from embassay.protocols.pteb.summary.layout import OVERALL, Layout, Scope, scopes
from embassay.protocols.pteb.summary.levels import Scores, drop_rows, level_rows, original_row
from embassay.protocols.pteb.summary.ranks import against_baseline, rank_stability
from embassay.records import Result
from embassay.runs.cells import CellRecord


def summarise(layout: Layout, records: Sequence[CellRecord]) -> tuple[list[Result], dict[str, Any]]:
    """The summary rows of a PTEB run, and what `comparisons.json` holds.

    `records` are the run's cells in any order, finished or failed; what is missing leads to rows without a value and
    with the reason. A cell of variant `original` has the component `score`; one of a paraphrase `score` and `original`,
    the latter on the items kept in that run. All values are fractions.

    Rows, protocol `pteb`, for every system (references too):

    - variant "": the task's headline = mean over runs of the paraphrased score; `delta` = mean over runs of paraphrased
      less original, `original` the latter (both on the items that have a wording in the run); `sd` and `delta_sd` =
      sample standard deviations of the paraphrased score and of the drop over runs. Per dataset (there `delta_runs`,
      the drop with its interval over runs alone); over datasets (dataset ""; unweighted); over tasks (task and measure
      `overall`; unweighted). With several sources the mean over the sources, and the sd within a source. Of a dataset
      with several languages also each of them, in `subset`.
    - variant of a source's label (`by=NAME`), where there are several sources: the same of each source. Controls have
      these rows alone.
    - dataset "", variant `original`: the original score over datasets; `overall` likewise.
    - dataset "", variant "": `delta_mixed`, the drop with an interval for other datasets and runs, and what that comes
      from, `delta_sd:datasets`, `delta_sd:runs`, `delta_sd:residual`.

    The dict has `alpha`, `correction`, `method` and `scopes` as SAGE's, a scope being `overall` or a task, and beside
    it `NAME:classical` where systems without vectors were evaluated by another method; further `baseline` (spec 9:
    tables 7 and 14; `against_baseline`) and `rank_stability` (`rank_stability`), both by scope.
    """
    scores = Scores(layout, records)
    every = list(scopes(layout))
    comparisons = {
        "alpha": ALPHA,
        "correction": CORRECTION,
        "method": f"{METHOD}; of the PTEB score, items and runs resampled",
        "scopes": {scope.name: _compared(scores, scope) for scope in every},
        "baseline": {
            "system": layout.compared_with,
            "scopes": {scope.name: against_baseline(scores, scope) for scope in every},
        },
        "rank_stability": {scope.name: rank_stability(scores, scope) for scope in every},
    }
    return list(_rows(scores)), comparisons


def standings(layout: Layout, records: Sequence[CellRecord]) -> Iterator[Standing]:
    """Every system's PTEB score: of each task on each dataset and over them, and overall, items and runs resampled.

    Systems without vectors, where they were scored by another method, are a group of their own.
    """
    scores = Scores(layout, records)
    group = _groups(list(scopes(layout)))
    for task, headline in scores.scopes:
        datasets = [] if task == OVERALL else [dataset.name for dataset in layout.of_task(task)]
        for system in layout.systems:
            of = group.get((task, system.name), REFERENCE)
            for dataset in datasets if len(datasets) > 1 else ():
                yield Standing(
                    task, dataset, headline, scores.on_dataset(task, dataset, system.name).score, of
                )
            yield Standing(task, "", headline, scores.in_scope(task, system.name).score, of)


def summarise_originals(
    layout: Layout, records: Sequence[CellRecord]
) -> tuple[list[Result], dict[str, Any], list[Standing]]:
    """Of a run without paraphrases: the rows over datasets and tasks and of each dataset (variant ""), what
    `comparisons.json` holds, and the standings; all of the scores on the texts as they are."""
    scores = Scores(layout, records)
    every = list(scopes(layout))
    compare = {
        scope.name: compared([scores.original(scope.task, system) for system in scope.systems])
        for scope in every
    }
    comparisons = {"alpha": ALPHA, "correction": CORRECTION, "method": METHOD, "scopes": compare}
    group = _groups(every)
    standing = [
        Standing(task, dataset, headline, found, group.get((task, system.name), REFERENCE))
        for task, headline in scores.scopes
        for system in layout.systems
        for dataset, found in _originals(scores, task, system.name)
    ]
    langs = {dataset.name: dataset.lang for dataset in layout.datasets}
    rows = [
        replace(
            original_row(layout, one.task, one.measure, one.headline),
            dataset=one.dataset, lang=langs.get(one.dataset, ""), variant="",
        )
        for one in standing
    ]  # fmt: skip
    return rows, comparisons, standing


def _originals(scores: Scores, task: str, system: str) -> Iterator[tuple[str, Headline]]:
    """The original score on each dataset of a task (or overall, on none), then over them."""
    for dataset in () if task == OVERALL else scores.layout.of_task(task):
        yield dataset.name, scores.cells.original(task, dataset.name, system)
    yield "", scores.original(task, system)


def _groups(every: Sequence[Scope]) -> dict[tuple[str, str], str]:
    """(task, system) -> the group of systems that one method scored."""
    return {
        (scope.task, system): CLASSICAL if ":" in scope.name else RANKED
        for scope in every
        for system in scope.systems
    }


def _compared(scores: Scores, scope: Scope) -> dict[str, Any]:
    return compared([scores.in_scope(scope.task, system).score for system in scope.systems])


def _rows(scores: Scores) -> Iterator[Result]:
    layout = scores.layout
    for task in layout.tasks:
        for dataset in layout.of_task(task.name):
            languages = scores.cells.languages(task.name, dataset.name)
            for system in layout.systems:
                for label in scores.labels:
                    level = scores.on_dataset(task.name, dataset.name, system.name, label)
                    yield from level_rows(layout, task.name, task.headline, level, label, dataset)
                for lang in languages:
                    level = scores.on_dataset(task.name, dataset.name, system.name, lang=lang)
                    yield from level_rows(layout, task.name, task.headline, level, "", dataset, lang)
    for name, headline in scores.scopes:
        for system in layout.systems:
            for label in scores.labels:
                level = scores.in_scope(name, system.name, label)
                yield from level_rows(layout, name, headline, level, label)
            yield original_row(layout, name, headline, scores.original(name, system.name))
            yield from drop_rows(scores, name, system.name)
