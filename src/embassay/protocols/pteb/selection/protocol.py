"""A selection of paraphrasers from request to finished folder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from embassay.protocols.kernel.estimates import cell_rows
from embassay.protocols.kernel.outcome import Run
from embassay.protocols.kernel.plan import PlannedDataset
from embassay.protocols.kernel.session import Conclusion, Evaluate, Session, Silent, lock, opened
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
from embassay.runs.folder import RunFolder
from embassay.runs.forecast import Forecasts


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
    request = SelectionRequest(
        tuple(candidates), datasets=tuple(str(one) for one in datasets), judge=judge,
        cross_judges=tuple(cross_judges), **arguments,
    )  # fmt: skip
    return carry_out(request, Path(out), cache=cache, listener=listener or Silent(), max_usd=max_usd)


def carry_out(
    request: SelectionRequest,
    out: Path,
    *,
    cache: Path | None = None,
    listener: Silent,
    command: str = "",
    max_usd: float | None = None,
) -> Run:
    """`paraphrasers` for a request that is made."""
    with opened(out, request, max_usd) as (folder, accounts, held):
        plan = make_plan(request, cache, accounts.ledger)
        lock(folder, held)
        steps = _Selecting(Work(plan, ParaphraseSet.create(folder.path / "paraphrases"), cache))
        session = Session(
            folder, plan, steps, accounts, workers=1, command=command or python_call(request, out)
        )
        session.extra = _told(plan)
        session.begin(listener)
        _keep_texts(plan, folder)
        try:
            session.do(listener)
            if request.cross_judges and request.options.cross_check == "selected":
                selected = selection_of(plan, session.ended()).selected
                session.plan = plan.with_cross_check([selected])
                session.do(listener)
        finally:
            session.extra |= {"selection": as_dict(plan, candidate_means(plan, session.ended()))}
            session.end()
    return Run(out)


def python_call(request: SelectionRequest, out: Path) -> str:
    """The call that makes the run, for its manifest."""
    return (
        f"embassay.pteb.paraphrasers({list(request.systems)!r}, judge={request.judge!r}, "
        f"cross_judges={list(request.cross_judges)!r}, datasets={list(request.datasets)!r}, out={str(out)!r})"
    )


@dataclass(frozen=True)
class _Selecting:
    """What a selection adds to a session."""

    work: Work
    protocol: str = "pteb"

    @property
    def evaluate(self) -> Evaluate:
        return self.work.evaluate

    def forecast(self, plan: Plan, *, measure: bool) -> Forecasts:  # noqa: ARG002 - nothing runs on this machine
        return forecast(plan)

    def rows(self, plan: Plan, record: CellRecord) -> list[Result]:
        return cell_rows("pteb", record, HEADLINE, lang=plan.lang(record.dataset), seed=plan.request.seed)

    def conclude(self, plan: Plan, records: Sequence[CellRecord], rows: Sequence[Result]) -> Conclusion:
        summary, comparisons, selection = summarise(plan, records)
        return Conclusion(summary, comparisons, tuple(tables([*rows, *summary], selection)))


def _told(plan: Plan) -> dict[str, Any]:
    """What the manifest says of a selection alone."""
    judge = Judge(plan.judges[0].spec, plan.longest).open()
    return {
        "step": TASK,
        "prompt": plan.sources[0].prompt.as_dict(),
        "judge_prompt": judge_prompt().as_dict(),
        "judges": [{"name": one.name, "identity": one.identity, "facts": one.facts} for one in plan.judges],
        "warnings": [text for source in plan.sources for text in same_model(source, judge)],
    }


def _keep_texts(plan: Plan, folder: RunFolder) -> None:
    """Keep the texts under the names that items give them, once."""
    for dataset in plan.datasets:
        folder.keep_texts(TASK, dataset.name, partial(_texts, plan, dataset))


def _texts(plan: Plan, dataset: PlannedDataset) -> dict[str, list[str]]:
    texts = [one.text for one in plan.asked(dataset)]
    return {"item_id": list(ids_of(texts)), "field": ["text"] * len(texts), "text": texts}
