"""A judge run from request to finished folder."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from embassay.protocols.kernel.outcome import Run
from embassay.protocols.kernel.protocol import Protocol
from embassay.protocols.kernel.request import request_of
from embassay.protocols.kernel.session import Conclusion, Silent
from embassay.protocols.pteb.judging import work
from embassay.protocols.pteb.judging.agreement import HEADLINE
from embassay.protocols.pteb.judging.conclusions import summarise
from embassay.protocols.pteb.judging.options import JudgeRequest
from embassay.protocols.pteb.judging.plan import Plan, forecast, make_plan
from embassay.protocols.pteb.judging.tables import tables
from embassay.records import Result
from embassay.runs.cells import CellRecord
from embassay.runs.forecast import Forecasts
from embassay.systems.remote import Ledger


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
    request = request_of(
        JudgeRequest, judge, arguments, tuple(judges), datasets=tuple(str(one) for one in datasets)
    )
    return Judging().carry_out(request, Path(out), cache=cache, listener=listener, max_usd=max_usd)


class Judging(Protocol):
    """Every judge rates the pairs of every dataset, and is held against their gold scores."""

    name = "pteb"
    reads_folder = True
    evaluate = staticmethod(work.evaluate)

    def plan(self, request: JudgeRequest, cache: Path | None = None, ledger: Ledger | None = None) -> Plan:
        """One cell per judge and dataset."""
        return make_plan(request, cache, ledger)

    def forecast(self, plan: Plan, *, measure: bool = True) -> Forecasts:
        """Nothing runs on this machine that could be timed."""
        del measure
        return forecast(plan)

    def headline(self, plan: Plan, record: CellRecord) -> str:
        """Agreement with gold scores."""
        del plan, record
        return HEADLINE

    def call(self, request: JudgeRequest, out: Path) -> str:
        """With `embassay.pteb.judge`."""
        return f"embassay.pteb.judge({list(request.systems)!r}, datasets={list(request.datasets)!r}, out={str(out)!r})"

    def check_prices(self, plan: Plan, max_usd: float | None) -> None:
        """Planning has looked at them."""

    def told(self, plan: Plan) -> dict[str, Any]:
        """Which step of PTEB it is, and the prompt."""
        return {"step": "judge", "prompt": plan.prompt.as_dict()}

    def keep(self, plan: Plan) -> None:
        """The pairs."""
        for dataset in plan.datasets:
            for one in dataset.tasks:
                self.folder.keep_texts(one.task, dataset.name, partial(_texts, plan, dataset.source))

    def conclude(self, plan: Plan, records: Sequence[CellRecord], rows: Sequence[Result]) -> Conclusion:
        """Means over datasets, and which judges can be told apart."""
        summary, comparisons = summarise(plan, records)
        return Conclusion(summary, comparisons, tuple(tables([*rows, *summary])))


def _texts(plan: Plan, source: str) -> dict[str, list[str]]:
    request = plan.request
    data = work.load(request.dataset(source), request.limit, request.seed).data
    n = len(data)
    return {
        "item_id": [*data.ids, *data.ids],
        "field": ["first"] * n + ["second"] * n,
        "text": [*data.first, *data.second],
    }
