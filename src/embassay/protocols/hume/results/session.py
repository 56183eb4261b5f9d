"""Scoring a study, from request to finished folder."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from embassay.protocols.hume.models import work
from embassay.protocols.hume.results.cost import TIMED, forecast
from embassay.protocols.hume.results.headlines import comparisons, standings
from embassay.protocols.hume.results.plan import Plan, make_plan
from embassay.protocols.hume.results.request import StudyRequest
from embassay.protocols.hume.results.rows import PROTOCOL, study_rows
from embassay.protocols.hume.results.study_summary import study_summary
from embassay.protocols.hume.results.study_tables import study_tables
from embassay.protocols.hume.scoring.people import MAIN
from embassay.protocols.hume.summary.markdown import write_markdown
from embassay.protocols.hume.summary.record import write_summary
from embassay.protocols.outcome import Run
from embassay.protocols.rows import cell_rows
from embassay.protocols.session import (
    Conclusion,
    Evaluate,
    Session,
    Silent,
    check_prices,
    lock,
    opened,
)
from embassay.records import Result
from embassay.runs.cells import CellRecord
from embassay.runs.engines.contract import Workers
from embassay.runs.folder import RunFolder
from embassay.runs.forecast import Forecasts


def carry_out(
    request: StudyRequest,
    out: Path,
    *,
    workers: Workers = 1,
    cache: Path | None = None,
    listener: Silent | None = None,
    command: str = "",
    max_usd: float | None = None,
) -> Run:
    """Carry out a request: systems not yet done, then people as they have answered by now."""
    listener = listener or Silent()
    with opened(out, request, max_usd) as (folder, accounts, held):
        plan = make_plan(request, cache, accounts.ledger)
        check_prices(plan.systems, max_usd)
        lock(folder, held)
        command = (
            command or f"embassay.hume.score({request.study!r}, {list(request.systems)!r}, out={str(out)!r})"
        )
        session = Session(folder, plan, _Score(folder), accounts, workers=workers, command=command)
        session.extra = plan.settings
        session.begin(listener)
        try:
            session.do(listener)
        finally:
            session.end()
    return Run(out)


class _Score:
    """What scoring adds to a session."""

    protocol = PROTOCOL

    def __init__(self, folder: RunFolder) -> None:
        self.folder = folder
        self.evaluate: Evaluate = work.evaluate

    def forecast(self, plan: Plan, *, measure: bool) -> Forecasts:
        return forecast(plan, measure=measure and sum(cell.units for cell in plan.cells) >= TIMED)

    def rows(self, plan: Plan, record: CellRecord) -> list[Result]:
        lang = next(one.lang for one in plan.datasets if one.name == record.dataset)
        headline = MAIN[plan.folder.task(record.dataset).family]
        return cell_rows(PROTOCOL, record, headline, lang=lang, seed=plan.request.seed)

    def conclude(self, plan: Plan, records: Sequence[CellRecord], rows: Sequence[Result]) -> Conclusion:  # noqa: ARG002
        summary, entered = study_summary(plan, records, self.folder)
        write_summary(self.folder.path, summary)
        write_markdown(self.folder.path, summary)
        tables = tuple(study_tables(summary, entered))
        every = standings(plan, records, entered)
        return Conclusion(tuple(study_rows(summary)), comparisons(every), tables, every)
