"""What a protocol declares, and the one way in which a run of any of them is opened, done and concluded."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar
from typing import Protocol as Contract

from embassay.contracts import CellPartExecutor
from embassay.errors import ModelError
from embassay.protocols.kernel.absentees import (
    AbsentDataset,
    describe_absent_datasets,
    find_absent_datasets,
    forecast_absent_datasets,
    list_absent_suite_datasets,
)
from embassay.protocols.kernel.estimates import make_cell_rows
from embassay.protocols.kernel.outcome import Run
from embassay.protocols.kernel.plan import Plan, check_suites_available, describe_suite_availability
from embassay.protocols.kernel.session import (
    CellRunAttempt,
    RunAccounts,
    RunAttempt,
    RunConclusions,
    SilentListener,
    check_same_run_arguments,
    check_system_prices_known,
    lock_run_folder,
    open_run,
)
from embassay.records import ResultRow, TaskOutcome
from embassay.runs.execution import HERE, Workers
from embassay.runs.folder import CellRecord, RunFolder
from embassay.runs.forecast import RunForecast
from embassay.systems.remote import Ledger
from embassay.text import open_tokenizer


class CellEvaluator(Contract):
    """A protocol's work on one cell."""

    def __call__(
        self, job: Any, advance: Callable[[int], None], *, ledger: Ledger | None = None, spread: CellPartExecutor = HERE
    ) -> TaskOutcome: ...


class EvaluationProtocol:
    """One attempt at a run of a protocol: the steps in which protocols differ.

    What a step finds out and later ones need is kept on the object, which serves one attempt.
    """

    name: ClassVar[str]
    """In manifests and rows."""
    reads_folder: ClassVar[bool] = False
    """Whether cells read files of the run's folder, so that other machines need it too."""
    by_task: ClassVar[bool] = True
    """Whether a dataset is taken for tasks that it is named with; False for steps that have one of their own."""
    by_language: ClassVar[bool] = False
    """Whether the subsets of a dataset are languages."""
    cheapest_first: ClassVar[bool] = False
    """Whether cells that take less time are done before others, so that there is something to tell soon."""
    evaluate: CellEvaluator
    """How a cell is done; a function of a module, for it travels to worker processes."""
    folder: RunFolder
    """The run's, from before the plan is made."""
    listener: SilentListener = SilentListener()
    """Who hears of the work, from before the plan is made."""

    def check(self, folder: RunFolder, request: Any) -> None:
        """UsageError if the folder holds a run that this one cannot go on with."""
        check_same_run_arguments(folder, request)

    def plan_run(self, request: Any, cache: Path | None = None, ledger: Ledger | None = None) -> Plan:
        """Open all that was named, and cut the work into cells; whatever is wrong is raised here, before any work."""
        raise NotImplementedError

    def forecast_cost(self, plan: Any, *, measure: bool = True) -> RunForecast:
        """What the plan takes; with `measure`, systems on this machine may be timed."""
        raise NotImplementedError

    def forecast_run_cost(self, request: Any, ledger: Ledger | None = None, out: Path = Path()) -> RunForecast:
        """What a request would take, less what `out` holds of it; nothing is sent, and nothing is kept.

        Datasets of the catalogue that are not on this machine are planned by the catalogue's figures.
        """
        request, notes = _replace_unavailable_tokenizer(request)
        named = find_absent_datasets(request) if hasattr(request, "datasets") else {}
        if not named:
            return self._forecast_with_absent_datasets(request, ledger, out, [], notes)
        here = tuple(source for source in request.datasets if source not in named)
        return self._forecast_with_absent_datasets(
            replace(request, datasets=here), ledger, out, list(named.values()), notes
        )

    def _forecast_with_absent_datasets(
        self, request: Any, ledger: Ledger | None, out: Path, absent: list[AbsentDataset], notes: tuple[str, ...]
    ) -> RunForecast:
        forecasts = RunForecast(())
        alone = {item.record.name for item in absent}
        # Where all that was named is absent, nothing is left to plan as it is.
        if not alone or request.datasets:
            self.folder = RunFolder(out)
            plan = self.plan_run(request, None, ledger)
            forecasts = self.forecast_cost(plan)
            absent = [*absent, *list_absent_suite_datasets(plan.suites, request)] if plan.suites else absent
            notes = (*notes, *forecasts.notes, *describe_suite_availability(plan.suites))
        planned = forecast_absent_datasets(
            absent, request, lambda small, timed: self._forecast_miniature_request(small, ledger, measure=timed),
            drawn=lambda task: self.find_item_limit(task, request), protocol=self.name, by_task=self.by_task
        )  # fmt: skip
        lines = dict.fromkeys([*notes, *describe_absent_datasets(absent, alone)])
        return RunForecast((*forecasts.cells, *planned), tuple(lines))

    def _forecast_miniature_request(self, request: Any, ledger: Ledger | None, *, measure: bool) -> RunForecast:
        """What a request takes, planned by another object: this one is for what is on the machine."""
        other = type(self)()
        other.folder = RunFolder(Path())
        return other.forecast_cost(other.plan_run(request, None, ledger), measure=measure)

    def find_item_limit(self, task: str, request: Any) -> int | None:
        """How many items of a task are drawn at most; None for all."""
        del task
        limit: int | None = getattr(request, "limit", None)
        return limit

    def headline(self, plan: Any, record: CellRecord) -> str:
        """The measure that stands for a cell; one that failed has a row of this without a value."""
        raise NotImplementedError

    def draw_conclusions(self, plan: Any, records: Sequence[CellRecord], rows: Sequence[ResultRow]) -> RunConclusions:
        """What follows from all cells that have ended, and their rows."""
        raise NotImplementedError

    def format_python_call(self, request: Any, out: Path) -> str:
        """The call from Python that makes the run, for its manifest."""
        return (
            f"embassay.{self.name}.run({list(request.systems)!r}, datasets={list(request.datasets)!r}, "
            f"out={str(out)!r})"
        )

    def check_prices_known(self, plan: Any, max_usd: float | None) -> None:
        """UsageError if the cost is limited to `max_usd` and the price of something is not known."""
        check_system_prices_known(plan.systems, max_usd)

    def list_own_manifest_fields(self, plan: Any) -> dict[str, Any]:
        """What only this protocol's manifests say."""
        del plan
        return {}

    def keep(self, plan: Any) -> None:
        """Keep what people look at beside the results, once: the texts of items."""

    def start_run_attempt(self, plan: Any, accounts: RunAccounts, workers: Workers, command: str) -> RunAttempt:
        """How the work is done: cells that engines do, where a protocol has no stages of its own."""
        return CellRunAttempt(self.folder, plan, self, accounts, workers=workers, command=command)

    def run_cells(self, session: Any, listener: SilentListener) -> None:
        """Do the cells; a protocol that plans as it goes gives the session more of them."""
        session.do(listener)

    def report_interim_results(self, session: Any, listener: SilentListener) -> None:
        """Say what the cells that have ended show; by default nothing."""

    def list_closing_manifest_fields(self, session: Any) -> Mapping[str, Any]:
        """What manifests say besides, or anew, once the work has stopped, for whatever reason."""
        del session
        return {}

    def rows(self, plan: Plan, record: CellRecord) -> list[ResultRow]:
        """The rows of a cell that has ended."""
        return make_cell_rows(
            self.name, record, self.headline(plan, record), lang=plan.lang(record.dataset),
            seed=plan.request.seed, by_language=self.by_language
        )  # fmt: skip

    def carry_out(
        self,
        request: Any,
        out: Path,
        *,
        workers: Workers = 1,
        cache: Path | None = None,
        listener: SilentListener | None = None,
        command: str = "",
        max_usd: float | None = None,
    ) -> Run:
        """Do what is unfinished of a request in `out`. `command` resumes it; `max_usd` is what it may cost, earlier
        attempts included.

        Raises UsageError when `out` holds a run of other arguments, BudgetExceeded when the limit is reached: what is
        finished is kept.
        """
        self.listener = listener = listener or SilentListener()
        with open_run(out, request, max_usd, check=self.check) as (self.folder, accounts, held):
            listener.on_systems_opening([str(name) for name in getattr(request, "systems", ())])
            plan = self.plan_run(request, cache, accounts.ledger)
            check_suites_available(plan.suites)
            self.check_prices_known(plan, max_usd)
            lock_run_folder(self.folder, held)
            session = self.start_run_attempt(plan, accounts, workers, command or self.format_python_call(request, out))
            session.extra = self.list_own_manifest_fields(plan)
            session.begin_run_attempt(listener)
            self.keep(plan)
            try:
                self.run_cells(session, listener)
            finally:
                session.extra |= self.list_closing_manifest_fields(session)
                session.finish_run_attempt()
        return Run(out)


STAND_IN = "wordllama"
"""The tokenizer that a plan counts with where the run's own is not to be had; it comes with the package."""


def _replace_unavailable_tokenizer(request: Any) -> tuple[Any, tuple[str, ...]]:
    """The request as a plan can count its tokens, and what there is to say of that."""
    wanted = getattr(request, "tokenizer", "")
    if not wanted:
        return request, ()
    try:
        open_tokenizer(wanted)
    except ModelError:
        note = (
            f"The tokenizer {wanted} is not on this machine and cannot be downloaded now, so tokens are "
            f"counted with {STAND_IN}, which gives about a sixth more in English."
        )
        return replace(request, tokenizer=STAND_IN), (note,)
    return request, ()
