"""A SAGE run from request to finished folder."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from embassay.protocols.outcome import Run
from embassay.protocols.rows import cell_rows
from embassay.protocols.sage import work
from embassay.protocols.sage.cost import forecast
from embassay.protocols.sage.kept_texts import keep_found_texts, keep_texts
from embassay.protocols.sage.plan import Plan, make_plan
from embassay.protocols.sage.request import Request
from embassay.protocols.sage.summary import standings, summarise
from embassay.protocols.sage.tables import tables
from embassay.protocols.session import (
    Conclusion,
    Evaluate,
    Session,
    Silent,
    check_prices,
    kinds,
    lock,
    opened,
)
from embassay.records import Result
from embassay.runs.cells import CellRecord
from embassay.runs.engines.contract import Workers
from embassay.runs.forecast import Forecasts


def run(
    systems: Sequence[str],
    *,
    datasets: Sequence[str | Path] = ("sample",),
    tasks: Sequence[str] = (),
    out: str | Path,
    workers: Workers = 1,
    cache: Path | None = None,
    listener: Silent | None = None,
    max_usd: float | None = None,
    **arguments: Any,
) -> Run:
    """Evaluate systems with SAGE, resuming what is unfinished in `out`, and return the run.

    Further arguments are those of `Request`: mapping, split, grades, limit, seed (1337), tokenizer ("cl100k"),
    options. `max_usd` limits what the run may cost, earlier sessions in `out` included. Raises UsageError when `out`
    holds a run of other arguments, BudgetExceeded when the limit is reached: what is finished is kept.
    """
    request = Request(tuple(systems), tuple(tasks), tuple(str(one) for one in datasets), **arguments)
    listener = listener or Silent()
    return carry_out(request, Path(out), workers=workers, cache=cache, listener=listener, max_usd=max_usd)


def carry_out(
    request: Request,
    out: Path,
    *,
    workers: Workers = 1,
    cache: Path | None = None,
    listener: Silent,
    command: str = "",
    max_usd: float | None = None,
) -> Run:
    """`run` for a request that is made."""
    with opened(out, request, max_usd) as (folder, accounts, held):
        plan = make_plan(request, cache, accounts.ledger)
        check_prices(plan.systems, max_usd)
        lock(folder, held)
        command = command or python_call(request, out)
        session = Session(folder, plan, _Sage(), accounts, workers=workers, command=command)
        session.begin(listener)
        keep_texts(plan, folder)
        try:
            session.do(listener)
            keep_found_texts(plan, folder)
        finally:
            session.end()
    return Run(out)


def python_call(request: Request, out: Path) -> str:
    """The call that makes the run, for its manifest."""
    return (
        f"embassay.sage.run({list(request.systems)!r}, datasets={list(request.datasets)!r}, out={str(out)!r})"
    )


class _Sage:
    """What SAGE adds to a session."""

    protocol = "sage"
    evaluate: Evaluate = staticmethod(work.evaluate)

    def forecast(self, plan: Plan, *, measure: bool) -> Forecasts:
        return forecast(plan, measure=measure)

    def rows(self, plan: Plan, record: CellRecord) -> list[Result]:
        headline, lang = work.task(record.task).headline, plan.lang(record.dataset)
        return cell_rows("sage", record, headline, lang=lang, seed=plan.request.seed)

    def conclude(self, plan: Plan, records: Sequence[CellRecord], rows: Sequence[Result]) -> Conclusion:
        summary, comparisons = summarise(plan, list(records))
        made = tuple(tables([*rows, *summary], kinds(plan)))
        return Conclusion(summary, comparisons, made, tuple(standings(plan, list(records))))
