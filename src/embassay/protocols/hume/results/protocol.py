"""Scoring a study, from request to finished folder."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from embassay.errors import UsageError
from embassay.protocols.hume import models
from embassay.protocols.hume.options import PublishedRequest, StudyRequest
from embassay.protocols.hume.profiles import profile_table, profiles_of
from embassay.protocols.hume.published.protocol import run_published
from embassay.protocols.hume.record import Summary, write_summary
from embassay.protocols.hume.results.conclusions import comparisons, system_standings
from embassay.protocols.hume.results.contestants import TIMED, StudyPlan, forecast, make_plan
from embassay.protocols.hume.results.summary import PROTOCOL, study_rows, study_summary
from embassay.protocols.hume.results.tables import conditions_table, marked, study_tables
from embassay.protocols.hume.scoring import MAIN
from embassay.protocols.hume.tables import write_markdown
from embassay.protocols.kernel.outcome import Run
from embassay.protocols.kernel.protocol import Protocol
from embassay.protocols.kernel.request import request_of
from embassay.protocols.kernel.session import Conclusion
from embassay.protocols.kernel.tables import ColumnTable
from embassay.records import Result
from embassay.runs.execution import Workers
from embassay.runs.folder import CellRecord
from embassay.runs.forecast import Forecasts
from embassay.systems.remote import Ledger


class Scoring(Protocol):
    """Systems on the items of a study, each cell once; then people, as they have answered by now."""

    name = PROTOCOL
    reads_folder = True
    evaluate = staticmethod(models.evaluate)

    def plan(
        self, request: StudyRequest, cache: Path | None = None, ledger: Ledger | None = None
    ) -> StudyPlan:
        """Every task of the study with every system."""
        return make_plan(request, cache, ledger)

    def forecast(self, plan: StudyPlan, *, measure: bool = True) -> Forecasts:
        """The cost of every cell; a small run is done sooner than its systems are timed."""
        return forecast(plan, measure=measure and sum(cell.units for cell in plan.cells) >= TIMED)

    def headline(self, plan: StudyPlan, record: CellRecord) -> str:
        """That of the task's family."""
        return MAIN[plan.folder.task(record.dataset).family]

    def call(self, request: StudyRequest, out: Path) -> str:
        """With `embassay.hume.score`."""
        return f"embassay.hume.score({request.study!r}, {list(request.systems)!r}, out={str(out)!r})"

    def told(self, plan: StudyPlan) -> dict[str, Any]:
        """The study."""
        return plan.settings

    def conclude(self, plan: StudyPlan, records: Sequence[CellRecord], rows: Sequence[Result]) -> Conclusion:
        """People beside systems, in the record that pages and tables are made from."""
        del rows  # of the cells: the record has them beside people's
        summary, entered = study_summary(plan, records, self.folder)
        write_summary(self.folder.path, summary)
        write_markdown(self.folder.path, summary)
        tables = (*study_tables(summary, entered), *self._more(plan, summary))
        every = system_standings(plan, records, entered)
        return Conclusion(tuple(study_rows(summary)), comparisons(every), tables, every)

    def _more(self, plan: StudyPlan, summary: Summary) -> Iterator[ColumnTable]:
        """What is not of the record: conditions, and groups of annotators, whose profiles stay with the study."""
        request, study = plan.request, plan.folder.study
        told = conditions_table([one.task for one in plan.answered], plan.llms, give_k=request.give_k)
        yield marked(told, summary)
        if study.profile:
            table = profile_table(study, summary.pairs, profiles_of(plan.folder), request.smallest_group)
            yield marked(table, summary)


Paths = str | Path | Sequence[str | Path]


def score(
    study: str | Path | None = None,
    systems: Sequence[str] = (),
    *,
    out: str | Path,
    from_mteb: Paths = (),
    llm_scores: Paths = (),
    workers: Workers = 1,
    cache: Path | None = None,
    max_usd: float | None = None,
    **arguments: Any,
) -> Run:
    """Score people, systems and language models on the same items, into the folder `out`; returns the run.

    From the folder of a `study`, further arguments are those of `StudyRequest`: tasks, answers, aggregation ("paper"),
    human_ap_mode ("tie_aware"), one_annotator ("wilson"), samples_per_label, resamples (10,000), seed (1337),
    tokenizer ("cl100k"), min_answered (0.5), min_shared (10), repeats (10), neighbours (10), give_k (True),
    smallest_group (5). Or from published results
    (`from_mteb`, files or folders, and `llm_scores`), those of `PublishedRequest`: `systems` are then evaluated on
    HUME's own items and placed among its people and models. Resumes what is unfinished in `out`, and scores people
    anew.

    UsageError when `out` holds a run of other arguments, DataError for a study or files that are not what they should
    be or that nobody annotated, BudgetExceeded at `max_usd`: what is finished is kept. `read_summary(run.path)` reads
    the record.
    """
    results, llms = _texts(from_mteb), _texts(llm_scores)
    if (study is None) == (not results):
        raise UsageError("Score either a study, or published results.", mend="Give one of the two.")
    plain = _plain(arguments)
    if results:
        own = {"systems": tuple(systems), "tokenizer": plain.pop("tokenizer", "cl100k")} if systems else {}
        published = request_of(PublishedRequest, score, plain, results, llms, **own)
        if not systems:
            return run_published(published, Path(out))
        from embassay.protocols.hume.results.entrants import evaluated  # which builds on this module

        found = evaluated(published, Path(out), workers=workers, cache=cache, max_usd=max_usd)
        return run_published(published, Path(out), own=found)
    request = request_of(StudyRequest, score, plain, str(study), tuple(systems))
    return Scoring().carry_out(request, Path(out), workers=workers, cache=cache, max_usd=max_usd)


def _texts(given: Paths) -> tuple[str, ...]:
    return (str(given),) if isinstance(given, str | Path) else tuple(map(str, given))


def _plain(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Lists as tuples, paths as text: a request is a value."""
    return {
        name: _texts(value) if name in ("tasks", "answers") else value for name, value in arguments.items()
    }
