"""The rows of results that cells give."""

from __future__ import annotations

from semblance.protocols.pteb.plan import Plan
from semblance.protocols.pteb.slices import task
from semblance.records import Result
from semblance.runs.cells import CellRecord


def cell_rows(plan: Plan, record: CellRecord) -> list[Result]:
    """The rows of a cell that has ended: of all its languages and of their mean; of one that failed, its headline
    without a value."""
    where = ("pteb", record.task, record.dataset)
    lang, seed = plan.dataset(record.dataset).lang, plan.request.seed
    if not record.done:
        headline = task(record.task).headline
        named = (record.variant, record.system, headline)
        return [Result(*where, "", lang, *named, None, 0, seed=seed, reason=record.reason)]
    return [
        Result(
            *where, score.subset, score.subset or lang, score.variant, record.system, score.measure, score.value,
            score.n, score.ci_low, score.ci_high, score.method, seed, score.reason,
        )
        for score in record.scores
    ]  # fmt: skip
