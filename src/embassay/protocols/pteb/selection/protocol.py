"""A selection of paraphrasers from request to finished folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from embassay.protocols.kernel.outcome import Run
from embassay.protocols.kernel.plan import PlannedDataset
from embassay.protocols.kernel.protocol import Protocol
from embassay.protocols.kernel.request import request_of
from embassay.protocols.kernel.session import Conclusion, Session, Silent
from embassay.protocols.pteb.judging.chats import Judge
from embassay.protocols.pteb.paraphrasing.prompts import judge_prompt
from embassay.protocols.pteb.paraphrasing.sets import ParaphraseSet
from embassay.protocols.pteb.selection.conclusions import as_dict, candidate_means, selection_of, summarise
from embassay.protocols.pteb.selection.criteria import HEADLINE, Work, ids_of, same_model
from embassay.protocols.pteb.selection.options import SelectionRequest
from embassay.protocols.pteb.selection.plan import TASK, Plan, forecast, make_plan
from embassay.protocols.pteb.selection.tables import tables
from embassay.records import Result
from embassay.runs.cells import CellRecord
from embassay.runs.forecast import Forecasts
from embassay.systems.remote import Ledger


def paraphrasers(
    candidates: Sequence[str],
    *,
    judge: str,
    cross_judges: Sequence[str] = (),
    datasets: Sequence[str | Path] = ("sample",),
    out: str | Path,
    cache: Path | None = None,
    listener: Silent | None = None,
    max_usd: float | None = None,
    **arguments: Any,
) -> Run:
    """Compare paraphrasers and select one, resuming what is unfinished in `out`.

    `judge` rates the paraphrases of all candidates, `cross_judges` those of the selected one. Further arguments are
    those of `SelectionRequest`: mapping, split, limit, seed (1337), prompt, generation, options. `cache` is the file
    of kept answers, by default the user's. Raises UsageError when `out` holds a run of other arguments, BudgetExceeded
    at `max_usd`: what is finished is kept.
    """
    request = request_of(
        SelectionRequest, paraphrasers, arguments, tuple(candidates), judge=judge,
        datasets=tuple(str(one) for one in datasets), cross_judges=tuple(cross_judges),
    )  # fmt: skip
    return Selecting().carry_out(request, Path(out), cache=cache, listener=listener, max_usd=max_usd)


class Selecting(Protocol):
    """Every candidate paraphrases every dataset, and a judge rates what came of it."""

    name = "pteb"
    reads_folder = True

    def plan(
        self, request: SelectionRequest, cache: Path | None = None, ledger: Ledger | None = None
    ) -> Plan:
        """One cell per candidate and dataset; those of other judges may follow."""
        return make_plan(request, cache, ledger)

    def forecast(self, plan: Plan, *, measure: bool = True) -> Forecasts:
        """Nothing runs on this machine that could be timed."""
        del measure
        return forecast(plan)

    def headline(self, plan: Plan, record: CellRecord) -> str:
        """The judge's rating."""
        del plan, record
        return HEADLINE

    def call(self, request: SelectionRequest, out: Path) -> str:
        """With `embassay.pteb.paraphrasers`."""
        return (
            f"embassay.pteb.paraphrasers({list(request.systems)!r}, judge={request.judge!r}, "
            f"cross_judges={list(request.cross_judges)!r}, datasets={list(request.datasets)!r}, out={str(out)!r})"
        )

    def check_prices(self, plan: Plan, max_usd: float | None) -> None:
        """Planning has looked at them."""

    def told(self, plan: Plan) -> dict[str, Any]:
        """Prompts and judges."""
        judge = Judge(plan.judges[0].spec, plan.longest).open()
        return {
            "step": TASK,
            "prompt": plan.sources[0].prompt.as_dict(),
            "judge_prompt": judge_prompt().as_dict(),
            "judges": [
                {"name": one.name, "identity": one.identity, "facts": one.facts} for one in plan.judges
            ],
            "warnings": [text for source in plan.sources for text in same_model(source, judge)],
        }

    def keep(self, plan: Plan) -> None:
        """The texts, under the names that items give them; and the set that paraphrases are written to."""
        for dataset in plan.datasets:
            self.folder.keep_texts(TASK, dataset.name, partial(_texts, plan, dataset))
        paraphrases = ParaphraseSet.create(self.folder.path / "paraphrases")
        self.evaluate = Work(plan, paraphrases, plan.cache).evaluate

    def work(self, session: Session, listener: Silent) -> None:
        """The other judges rate the candidate that is selected."""
        session.do(listener)
        plan: Any = session.plan
        if plan.request.cross_judges and plan.request.options.cross_check == "selected":
            selected = selection_of(plan, session.ended()).selected
            session.plan = plan.with_cross_check([selected])
            session.do(listener)

    def told_at_the_end(self, session: Session) -> Mapping[str, Any]:
        """What was selected."""
        plan: Any = session.plan
        return {"selection": as_dict(plan, candidate_means(plan, session.ended()))}

    def conclude(self, plan: Plan, records: Sequence[CellRecord], rows: Sequence[Result]) -> Conclusion:
        """The criteria over all datasets, and the rule that selects."""
        summary, comparisons, selection = summarise(plan, records)
        return Conclusion(summary, comparisons, tuple(tables([*rows, *summary], selection)))


def _texts(plan: Plan, dataset: PlannedDataset) -> dict[str, list[str]]:
    texts = [one.text for one in plan.asked(dataset)]
    return {"item_id": list(ids_of(texts)), "field": ["text"] * len(texts), "text": texts}
