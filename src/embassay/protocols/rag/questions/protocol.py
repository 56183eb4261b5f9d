"""Questions from request to finished folder: each draft is kept the moment it is decided."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from embassay.protocols.kernel.outcome import Run
from embassay.protocols.kernel.protocol import Protocol
from embassay.protocols.kernel.request import request_of
from embassay.protocols.kernel.session import Accounts, Attempt, Silent
from embassay.protocols.kernel.tables import write_tables
from embassay.protocols.questions import drafts
from embassay.protocols.questions.drafts import DRAFTS, Draft, prompt, read_drafts
from embassay.protocols.questions.options import OF_MODELS
from embassay.protocols.rag.questions.dataset import (
    Gathered,
    QuestionsPlan,
    forecast,
    gathered,
    make_plan,
    rows_of,
    tables,
    write_export,
)
from embassay.protocols.rag.questions.options import QuestionsRequest
from embassay.runs.execution import Workers
from embassay.runs.folder import Cell, CellRecord
from embassay.runs.forecast import Forecasts
from embassay.systems.remote import Ledger


def questions(
    corpus: str | Path,
    *,
    out: str | Path,
    llm: str = "",
    cache: Path | None = None,
    listener: Silent | None = None,
    max_usd: float | None = None,
    **arguments: Any,
) -> Run:
    """Write questions about a `corpus` (a folder of documents, a table or a dataset), resuming what is unfinished in
    `out`.

    Further arguments are those of `QuestionsRequest`: checker, queries, kinds, mapping, seed (1337), options
    (`QuestionsOptions`). Without an `llm` the documents ask themselves. Raises UsageError when `out` holds questions of
    other arguments, BudgetExceeded at `max_usd`: what is finished is kept.
    """
    request = request_of(QuestionsRequest, questions, arguments, str(corpus), llm)
    return Questioning().carry_out(request, Path(out), cache=cache, listener=listener, max_usd=max_usd)


class Questioning(Protocol):
    """One attempt at the questions of a corpus."""

    name = "rag"

    def plan(
        self, request: QuestionsRequest, cache: Path | None = None, ledger: Ledger | None = None
    ) -> QuestionsPlan:
        """Open the corpus and the models, and draw passages; a cell is a kind of question."""
        return make_plan(request, cache, ledger)

    def forecast(self, plan: QuestionsPlan, *, measure: bool = True) -> Forecasts:
        """Two calls for every draft that is not in the folder."""
        del measure
        return forecast(plan, read_drafts(self.folder.path / DRAFTS))

    def check_prices(self, plan: QuestionsPlan, max_usd: float | None) -> None:
        """Planning has looked at them."""

    def call(self, request: QuestionsRequest, out: Path) -> str:
        """The call from Python that makes the run, for its manifest."""
        named = {"llm": request.llm, "checker": request.checker, "queries": request.queries}
        said = "".join(f", {name}={value!r}" for name, value in named.items() if value)
        kinds = f", kinds={list(request.kinds)!r}" if request.kinds else ""
        return f"embassay.rag.questions({request.corpus!r}{said}{kinds}, out={str(out)!r})"

    def attempt(
        self, plan: QuestionsPlan, accounts: Accounts, workers: Workers, command: str
    ) -> QuestionsSession:
        """All kinds together, at the pace of the model."""
        del workers
        return QuestionsSession(self.folder, plan, self, accounts, command=command)


class QuestionsSession(Attempt):
    """One attempt at questions; what earlier ones decided stands in `drafts.jsonl`."""

    plan: QuestionsPlan

    def __init__(self, *given: Any, command: str) -> None:
        super().__init__(*given, command=command)
        self.drafts: dict[str, Draft] = {}
        self.done_now = 0
        self.found: Gathered | None = None
        self.failed: dict[tuple[str, str], str] = {}
        """Kind and passage -> why it has no draft: a call that failed, which the next attempt tries again."""

    def begin(self, listener: Silent) -> None:
        """Read the drafts that are there."""
        del listener
        self.drafts = read_drafts(self.folder.path / DRAFTS)
        if self.plan.writer is not None:
            self.forecast = self.previous.get("forecast") or self.protocol.forecast(self.plan).as_dict()
        self.write_manifest("running")

    def do(self, listener: Silent) -> None:
        """Have every question written and checked that is not there."""
        writer = self.plan.writer
        if writer is None:
            return
        path = self.folder.path / DRAFTS
        before = len(self.drafts)
        ledger = self.accounts.ledger
        self.failed = drafts.write(writer, self.plan.drawn, path, self.drafts, listener, ledger)
        self.done_now = len(self.drafts) - before

    def end(self) -> None:
        """Put together what is there: export, rows and tables; whatever has happened."""
        plan = self.plan
        self.found = found = gathered(plan, self.decided())
        write_export(self.folder.path / "export", plan, found)
        self.folder.write_results(rows_of(plan, found))
        write_tables(self.folder.path, tables(plan, found))
        if plan.writer is not None:
            plan.writer.chat.cache.close()
        self.accounts.spending.close()
        self.records = {cell.key: record for cell in plan.cells if (record := self._record(cell)) is not None}
        whole = [record for record in self.records.values() if record.done]
        self.write_manifest("finished" if len(whole) == len(plan.cells) else "partial")

    def _record(self, cell: Cell) -> CellRecord | None:
        """What is known of a kind: None where drafts are wanting for no reason but that the work stopped."""
        assert self.found is not None
        failed = [reason for (kind, _), reason in self.failed.items() if kind == cell.variant]
        if not failed and not self.found.is_whole(cell.variant):
            return None
        reason = f"{len(failed)} calls failed; the first: {failed[0]}" if failed else ""
        return CellRecord(
            cell.key, cell.task, cell.dataset, cell.system, "failed" if failed else "done", reason, 0.0, (), {},
            counts=self.found.counts(cell.variant), variant=cell.variant,
        )  # fmt: skip

    def decided(self) -> dict[str, list[Draft]]:
        """Kind -> the drafts of its passages that are decided, in the order of the draw."""
        writer = self.plan.writer
        return {} if writer is None else drafts.decided(writer, self.plan.drawn, self.drafts)

    def facts(self) -> dict[str, Any]:
        """What it is made with, and where questions came from."""
        kinds = [kind for kind in self.plan.request.chosen if kind in OF_MODELS]
        into = self.plan.request.options.into
        prompts = [prompt(kind, into).as_dict() for kind in (*kinds, "check")] if kinds else []
        return {
            "kind": "questions", "prompts": prompts, "shares": {} if self.found is None else self.found.shares(),
            "failed": {f"{kind} {one}": reason for (kind, one), reason in self.failed.items()},
        }  # fmt: skip

    def counted(self) -> dict[str, Any]:
        """Drafts that were decided."""
        return {"drafts_done": self.done_now}
