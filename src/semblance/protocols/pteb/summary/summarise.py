"""All rows over runs, datasets and tasks, and all comparisons of systems."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from semblance.protocols.pteb.summary.layout import Layout
from semblance.records import Result
from semblance.runs.cells import CellRecord


def summarise(layout: Layout, records: Sequence[CellRecord]) -> tuple[list[Result], dict[str, Any]]:
    """The summary rows of a PTEB run, and what `comparisons.json` holds.

    `records` are the run's cells in any order, finished or failed; what is missing leads to rows without a value and
    with the reason. A cell of variant `original` has the component `score`; one of a paraphrase `score` and `original`,
    the latter on the items kept in that run. All values are fractions.

    Rows, protocol `pteb`, for every system (references too):

    - variant "": the task's headline = mean over runs of the paraphrased score; `delta` = mean over runs of paraphrased
      less original; `sd` = sample standard deviation of the paraphrased score over runs. Per dataset; over datasets
      (dataset ""; unweighted); over tasks (task and measure `overall`; unweighted). With several sources the mean over
      the sources, and the sd within a source.
    - variant of a source's label (`by=NAME`), where there are several sources: the same of each source.
    - dataset "", variant `original`: the original score over datasets; `overall` likewise.
    - dataset "", variant "": `delta_mixed`, the drop with an interval for other datasets and runs, and its `sd:datasets`,
      `sd:runs`, `sd:residual`.

    The dict has `alpha`, `correction`, `method` and `scopes` as SAGE's, a scope being `overall` or a task, and beside it
    `NAME:classical` where systems without vectors were evaluated by another method; further `baseline` (spec 9: tables 7
    and 14) and `rank_stability`, both by scope.
    """
    raise NotImplementedError
