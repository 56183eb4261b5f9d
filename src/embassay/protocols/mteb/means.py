"""Means of published main scores over tasks, as MTEB's own tables have them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from embassay.protocols.comparisons import Headline, compared
from embassay.protocols.mteb.document import MAIN
from embassay.protocols.mteb.rows import PROTOCOL
from embassay.protocols.mteb.survey import Survey
from embassay.protocols.standings import OVERALL, Standing
from embassay.records import Result

WHY = "no test: published scores come without the items behind them"


@dataclass
class MainScores:
    """Main scores of whole tasks, by system, collected from rows as they pass."""

    values: dict[str, dict[str, float | None]] = field(default_factory=dict)

    def add(self, row: Result) -> None:
        """Keep the row's value if it is a system's main score on a whole task."""
        if row.measure == MAIN and not row.subset and not row.variant:
            self.values.setdefault(row.system, {})[row.dataset] = row.value


def mean_rows(scores: MainScores, survey: Survey) -> Iterator[Result]:
    """For every system and type of task the mean over its tasks, and `overall` over all: only where the system has them
    all, since means over other tasks do not compare."""
    for system in survey.systems():
        own = scores.values.get(system, {})
        for kind, tasks in survey.kinds.items():
            yield _mean(kind, MAIN, system, own, tasks)
        yield _mean(OVERALL, OVERALL, system, own, list(survey.tasks))


def standings_of(rows: Iterable[Result]) -> list[Standing]:
    """The means as standings without replicates."""
    return [Standing(row.task, "", row.measure, _headline(row)) for row in rows]


def comparisons_of(standings: Sequence[Standing]) -> Mapping[str, object]:
    """What goes into comparisons.json: the order of systems on every type of task, and why nothing is tested."""
    by_task: dict[str, list[Headline]] = {}
    for one in standings:
        by_task.setdefault(one.task, []).append(one.headline)
    scopes = {task: {**compared(headlines), "reason": WHY} for task, headlines in by_task.items()}
    return {"alpha": 0.05, "correction": "", "method": WHY, "scopes": scopes}


def _mean(
    task: str, measure: str, system: str, own: Mapping[str, float | None], tasks: Sequence[str]
) -> Result:
    where = (PROTOCOL, task, "", "", "", "", system, measure)
    values = [value for name in tasks if (value := own.get(name)) is not None]
    if len(values) < len(tasks):
        return Result(*where, None, len(values), reason=f"has {len(values)} of {len(tasks)} tasks")
    method = f"mean over {len(tasks)} tasks" if len(tasks) > 1 else "one task"
    return Result(*where, math.fsum(values) / len(values), len(values), method=method)


def _headline(row: Result) -> Headline:
    return Headline(row.system, row.value, row.n, np.empty(0), row.method, row.reason)
