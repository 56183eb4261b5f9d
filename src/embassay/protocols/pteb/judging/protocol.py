"""A judge run from request to finished folder."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from embassay.protocols.kernel.estimates import cell_rows
from embassay.protocols.kernel.outcome import Run
from embassay.protocols.kernel.session import Conclusion, Evaluate, Session, Silent, lock, opened
from embassay.protocols.pteb.judging import work
from embassay.protocols.pteb.judging.agreement import HEADLINE
from embassay.protocols.pteb.judging.conclusions import summarise
from embassay.protocols.pteb.judging.options import JudgeRequest
from embassay.protocols.pteb.judging.plan import Plan, forecast, make_plan
from embassay.protocols.pteb.judging.tables import tables
from embassay.records import Result
from embassay.runs.cells import CellRecord
from embassay.runs.folder import RunFolder
from embassay.runs.forecast import Forecasts


def judge(
    judges: Sequence[str],
    *,
    datasets: Sequence[str | Path] = ("sample",),
    out: str | Path,
    cache: Path | None = None,
    listener: Silent | None = None,
    max_usd: float | None = None,
    **arguments: Any,
) -> Run:
    """Have language models rate pairs with gold scores, resuming what is unfinished in `out`.

    Further arguments are those of `JudgeRequest`: mapping, split, limit, seed (1337), gold, options. `cache` is the
    file of the answers, by default the user's. Raises UsageError when `out` holds a run of other arguments,
    BudgetExceeded at `max_usd`: what is finished is kept.
    """
    request = JudgeRequest(tuple(judges), datasets=tuple(str(one) for one in datasets), **arguments)
    listener = listener or Silent()
    return carry_out(request, Path(out), cache=cache, listener=listener, max_usd=max_usd)


def carry_out(
    request: JudgeRequest,
    out: Path,
    *,
    cache: Path | None = None,
    listener: Silent,
    command: str = "",
    max_usd: float | None = None,
) -> Run:
    """`judge` for a request that is made."""
    with opened(out, request, max_usd) as (folder, accounts, held):
        plan = make_plan(request, cache, accounts.ledger)
        lock(folder, held)
        command = command or (
            f"embassay.pteb.judge({list(request.systems)!r}, datasets={list(request.datasets)!r}, out={str(out)!r})"
        )
        session = Session(folder, plan, _Judging(), accounts, workers=1, command=command)
        session.extra = {"step": "judge", "prompt": plan.prompt.as_dict()}
        session.begin(listener)
        _keep_texts(plan, folder)
        try:
            session.do(listener)
        finally:
            session.end()
    return Run(out)


class _Judging:
    """What judging adds to a session."""

    protocol = "pteb"
    evaluate: Evaluate = staticmethod(work.evaluate)

    def forecast(self, plan: Plan, *, measure: bool) -> Forecasts:  # noqa: ARG002 - nothing runs on this machine
        return forecast(plan)

    def rows(self, plan: Plan, record: CellRecord) -> list[Result]:
        return cell_rows("pteb", record, HEADLINE, lang=plan.lang(record.dataset), seed=plan.request.seed)

    def conclude(self, plan: Plan, records: Sequence[CellRecord], rows: Sequence[Result]) -> Conclusion:
        summary, comparisons = summarise(plan, records)
        return Conclusion(summary, comparisons, tuple(tables([*rows, *summary])))


def _keep_texts(plan: Plan, folder: RunFolder) -> None:
    """Keep the pairs beside their ratings, once."""
    for dataset in plan.datasets:
        for one in dataset.tasks:
            folder.keep_texts(one.task, dataset.name, partial(_texts, plan, dataset.source))


def _texts(plan: Plan, source: str) -> dict[str, list[str]]:
    request = plan.request
    data = work.load(request.dataset(source), request.limit, request.seed).data
    n = len(data)
    return {
        "item_id": [*data.ids, *data.ids],
        "field": ["first"] * n + ["second"] * n,
        "text": [*data.first, *data.second],
    }
