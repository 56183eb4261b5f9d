"""A golden set from request to finished folder, stage by stage, resuming what is there."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from embassay.errors import UsageError
from embassay.protocols.kernel.outcome import Run, moment
from embassay.protocols.kernel.plan import Plan, PlannedDataset, PlannedTask
from embassay.protocols.kernel.protocol import Protocol
from embassay.protocols.kernel.request import request_of
from embassay.protocols.kernel.session import Accounts, Attempt, Silent
from embassay.protocols.kernel.tables import write_tables
from embassay.protocols.rag.golden import conclusions, stages
from embassay.protocols.rag.golden.conclusions import Gathered, gather, result_rows, tables
from embassay.protocols.rag.golden.corpus import Work, read_inputs
from embassay.protocols.rag.golden.cost import forecast, planned_systems
from embassay.protocols.rag.golden.final_lists import CorpusText, Finished, write_export
from embassay.protocols.rag.golden.human_check import Sampling, checked_questions, read_checks, sample_check
from embassay.protocols.rag.golden.options import GoldenRequest, Settings, check_resumable, snapshot
from embassay.protocols.rag.golden.repeatability import repeat
from embassay.protocols.rag.golden.stages import STAGES, Asked, Outcome, State, States, states_of
from embassay.protocols.rag.golden.summary import Golden, Repeated, write_golden
from embassay.protocols.rag.ranking.engines import ENGINES
from embassay.runs.execution import Workers
from embassay.runs.folder import Cell, CellRecord, RunFolder, digest, to_json, write_atomic
from embassay.runs.forecast import Forecasts
from embassay.runs.memory import PeakMemory
from embassay.systems.remote import Ledger

if TYPE_CHECKING:
    from embassay.protocols.rag.golden.stages import Step


def all_steps(work: Work) -> list[Step]:
    """S1 to S6 for a run."""
    from embassay.protocols.rag.golden.candidates import Fusion, Retrieval, Rewriting
    from embassay.protocols.rag.golden.grades import Cut, Grades
    from embassay.protocols.rag.golden.order import Order

    return [Rewriting(work), Retrieval(work), Fusion(work), Grades(work), Cut(work), Order(work)]


CHECK = "human_check.csv"


def conclude(
    folder: RunFolder,
    work: Work,
    queries: Sequence[Gathered],
    told: Mapping[str, Mapping[str, Any]],
    *,
    profile: str = "",
    repeated: Repeated | None = None,
) -> Golden:
    """Write everything that follows from the queries that are done. `told` is what each stage took."""
    done = any(one.is_done for one in queries)
    labels = conclusions.labels_of(queries, checked_questions(folder.path) if done else 0)
    exports = _export(folder, work, queries)
    golden = Golden(
        settings=conclusions.settings_of(work, profile),
        queries=tuple(map(conclusions.query_of, queries)),
        stages=conclusions.stages_of(told, queries),
        judge=conclusions.judge_of(work, queries, told),
        ranking=conclusions.ranking_of(work.request.engine, queries, work.request.seed),
        labels=labels,
        tokens=conclusions.tokens_of(queries, work.request.tokenizer),
        repeated=repeated,
        human=read_checks(folder.path) if done else (),
        exports={name: f"export/{path}" for name, path in exports.items()},
        notes=conclusions.notes_of(work, queries),
        verdict=conclusions.verdict_of(queries, labels),
    )
    write_golden(folder.path / "golden.json", golden)
    folder.write_results(result_rows(golden, work.read.name, work.read.lang))
    write_tables(folder.path, tables(golden))
    return golden


def write_human_check(folder: RunFolder, work: Work) -> None:
    """Write the lists of some questions for a person to edit, unless the file is there already: it may be edited."""
    path, share = folder.path / CHECK, work.request.options.human
    if share and not path.exists() and any(one.folder.success("S6").exists() for one in work.queries):
        sample_check(folder.path, path, Sampling(share, seed=work.request.seed))


def _export(folder: RunFolder, work: Work, queries: Sequence[Gathered]) -> dict[str, str]:
    finished = [
        Finished(
            one.state.id, one.state.text, one.rewrite, [row for row in one.rows if row["grade"] is not None]
        )
        for one in queries
        if one.is_done
    ]
    about = {
        "questions": work.request.queries or work.request.dataset,
        "corpus": work.request.corpus or work.request.dataset,
        "encoder": work.encoder.name,
        "judge": work.judge.name,
        "ranking": work.request.engine,
        "seed": work.request.seed,
    }
    return write_export(folder.path / "export", finished, _corpus(work), about)


def _corpus(work: Work) -> list[CorpusText]:
    if work.request.options.chunk is None:
        return [CorpusText(one.id, one.text, one.title) for one in work.read.documents]
    return [CorpusText(key, text) for key, text in zip(work.passages.ids, work.passages.texts, strict=True)]


TASK = "golden"


def golden(  # noqa: PLR0913 - the arguments of a user
    encoder: str,
    judge: str,
    *,
    out: str | Path,
    dataset: str | Path = "",
    corpus: str | Path = "",
    queries: str | Path = "",
    from_stage: str | None = None,
    force: bool = False,
    listener: Silent | None = None,
    max_usd: float | None = None,
    **arguments: Any,
) -> Run:
    """Make a golden set of the questions of a `dataset`, or of two files, resuming what is unfinished in `out`.

    Further arguments are those of `GoldenRequest`: mapping, split, limit, seed (1337), rewriter ("identity"), ranking,
    tokenizer ("words"), options (`GoldenOptions`). `from_stage` ("S1" to "S6") redoes that stage and all later ones,
    `force` all. Raises UsageError when `out` holds a golden set of other arguments, BudgetExceeded at `max_usd`: what
    is finished is kept. Questions that failed are `failed` in the manifest's cells; the same call tries them again.
    """
    request = request_of(
        GoldenRequest, golden, arguments, encoder, judge,
        corpus=str(corpus), queries=str(queries), dataset=str(dataset),
    )  # fmt: skip
    making = Making(redo="S1" if force else from_stage)
    return making.carry_out(request, Path(out), listener=listener, max_usd=max_usd)


@dataclass(frozen=True, kw_only=True)
class GoldenPlan(Plan):
    """A golden set as manifests know it, a cell a question; `work` has its inputs and models."""

    work: Work


class Making(Protocol):
    """One attempt at a golden set. `settings` say where the request's values are from; the stage `redo` and all later
    ones are done again."""

    name = "rag"

    def __init__(self, settings: Settings | None = None, redo: str | None = None) -> None:
        self.settings, self.redo = settings, redo

    def check(self, folder: RunFolder, request: GoldenRequest) -> None:
        """UsageError if the folder holds a run that this one cannot go on with, or the stage is none."""
        if self.redo is not None and self.redo not in STAGES:
            raise UsageError(f"There is no stage {self.redo!r}.", mend=f"Stages are {', '.join(STAGES)}.")
        check_resumable(folder, request, redo=self.redo)

    def plan(
        self, request: GoldenRequest, cache: Path | None = None, ledger: Ledger | None = None
    ) -> GoldenPlan:
        """Open the encoder, the judge and the inputs, and make a cell of each question."""
        del cache
        work = Work(request, read_inputs(request), self.folder.path, ledger or Ledger(), self.listener)
        systems = planned_systems(work)
        ENGINES.build(request.engine)
        read, judge = work.read, next(one for one in systems if one.kind == "llm")
        task = PlannedTask(TASK, len(work.queries), len(read.documents), read.skipped, read.warnings)
        cells = tuple(
            Cell(TASK, read.name, judge.name, digest([TASK, asked.id]), 1, None, variant=asked.id)
            for asked in work.queries
        )
        source = request.dataset or request.corpus
        dataset = PlannedDataset(source, read.name, read.lang, read.fingerprint, (task,))
        return GoldenPlan(request, tuple(systems), (dataset,), cells, work.tokenizer.identity, work=work)

    def forecast(self, plan: GoldenPlan, *, measure: bool = True) -> Forecasts:
        """What the stages take that are not done."""
        del measure
        return forecast(plan.work)

    def call(self, request: GoldenRequest, out: Path) -> str:
        """The call from Python that makes the run, for its manifest."""
        named = {"dataset": request.dataset, "corpus": request.corpus, "queries": request.queries}
        read = ", ".join(f"{name}={value!r}" for name, value in named.items() if value)
        return f"embassay.rag.golden({request.encoder!r}, {request.judge!r}, {read}, out={str(out)!r})"

    def attempt(self, plan: GoldenPlan, accounts: Accounts, workers: Workers, command: str) -> GoldenSession:
        """Stage by stage, for all questions together."""
        del workers
        config = snapshot(self.settings) if self.settings else {}
        return GoldenSession(
            self.folder, plan, self, accounts, command=command, redo=self.redo, config=config
        )


class GoldenSession(Attempt):
    """One attempt at a golden set."""

    plan: GoldenPlan

    def __init__(self, *given: Any, command: str, redo: str | None, config: Mapping[str, Any]) -> None:
        super().__init__(*given, command=command)
        self.work, self.redo = self.plan.work, redo
        self.config = config or self.previous.get("config", {})
        self.run_id = self.previous.get("run_id") or self.folder.path.resolve().name
        self.stages: dict[str, dict[str, Any]] = dict(self.previous.get("stages", {}))
        self.repeated: Repeated | None = None
        self.failed: dict[str, tuple[str, str]] = {}
        """Query id -> stage and reason."""
        self.done_now = 0

    def begin(self, listener: Silent) -> None:
        """Undo what is to be redone, and write down what is asked."""
        del listener  # the work has it
        if self.redo is not None:
            for asked in self.work.queries:
                stages.forget(asked.folder, self.redo)
            (self.folder.path / "refinement.json").unlink(missing_ok=True)
            check = self.folder.path / CHECK
            if check.exists():
                # It may be edited, and then it is of the old lists.
                check.replace(check.with_stem(f"{check.stem}.until-{moment().replace(':', '')[:17]}"))
        questions = {
            "run_id": self.run_id,
            "pack": self.work.request.queries or self.work.request.dataset,
            "count": len(self.work.queries),
            "selected": [asked.id for asked in self.work.queries],
            "folders": {asked.id: asked.folder.name for asked in self.work.queries},
            "texts": {asked.id: asked.text for asked in self.work.queries},
        }
        write_atomic(self.folder.path / "questions_manifest.json", to_json(questions, indent=1) + "\n")
        self.write_manifest("running")

    def do(self, listener: Silent) -> None:
        """All stages, each for the queries that came through the ones before."""
        del listener
        going: Sequence[Asked] = self.work.queries
        for step in all_steps(self.work):
            began, memory = time.perf_counter(), PeakMemory()
            outcome = None
            try:
                outcome = stages.carry_out(step, going, self.run_id)
            finally:
                self._note(step.stage, outcome, time.perf_counter() - began, memory.bytes)
            self.failed |= {key: (step.stage, reason) for key, reason in outcome.failed.items()}
            through = {*outcome.done, *outcome.kept}
            self.done_now += len(outcome.done) if step.stage == "S6" else 0
            going = [asked for asked in going if asked.id in through]
            self.write_manifest("running")
        write_human_check(self.folder, self.work)
        if items := self.work.request.options.repeat:
            self.repeated = repeat(self.work, gather(self.states(), self.work.request.options), items)

    def end(self) -> None:
        """Write what follows from all that is done, whatever has happened."""
        states = self.states()
        conclude(
            self.folder, self.work, gather(states, self.work.request.options), self.stages,
            profile=self._profile(), repeated=self.repeated,
        )  # fmt: skip
        for model in (self.work.judge, self.work.rewriter):
            getattr(model, "close", lambda: None)()
        self.accounts.spending.close()
        finished = all(one.status == "done" for one in states)
        self.write_manifest("finished" if finished else "partial")

    def _profile(self) -> str:
        origins = [str(one["from"]) for one in self.config.values()]
        return next((one.removeprefix("profile ") for one in origins if one.startswith("profile ")), "")

    def states(self) -> States:
        """How far every query has come."""
        return states_of(self.work.queries, self.failed)

    def facts(self) -> dict[str, Any]:
        """What it is made of, and what its stages took."""
        return {
            "kind": "golden",
            "run_id": self.run_id,
            "config": dict(self.config),
            "seeds": {"run": self.work.request.seed},
            "inputs": {
                part: [{"path": one.path, "sha256": one.sha256} for one in files]
                for part, files in self.work.read.files.items()
            },
            "stages": self.stages,
        }

    def manifest(self, status: str) -> dict[str, Any]:
        """With how far each question has come."""
        states = self.states()
        self.extra = {"warnings": list(self.work.warnings)}
        self.records = {
            cell.key: record
            for cell, one in zip(self.plan.cells, states, strict=True)
            if (record := _record(cell, one)) is not None
        }
        said = super().manifest(status)
        for cell, one in zip(said["cells"], states, strict=True):
            cell |= {"query_id": one.id, "folder": one.folder.name, "stage": one.stage}
        return said

    def counted(self) -> dict[str, Any]:
        """Questions that came to their end."""
        return {"queries_done": self.done_now}

    def _note(self, stage: str, outcome: Outcome | None, seconds: float, peak: int | None) -> None:
        """Add what a stage took to what earlier sessions took."""
        before = self.stages.get(stage, {})
        calls = {name: before.get("calls", {}).get(name, 0) for name in before.get("calls", {})}
        for name, count in self.work.calls.pop(stage, {}).items():
            calls[name] = calls.get(name, 0) + count
        self.stages[stage] = {
            "seconds": round(before.get("seconds", 0.0) + seconds, 3),
            "peak_bytes": max(peak or 0, before.get("peak_bytes") or 0) or None,
            "done": len(outcome.done) if outcome else 0,
            "kept": len(outcome.kept) if outcome else 0,
            "failed": len(outcome.failed) if outcome else 0,
            "calls": calls,
        }


def _record(cell: Cell, state: State) -> CellRecord | None:
    if state.status == "not run":
        return None
    return CellRecord(
        cell.key, cell.task, cell.dataset, cell.system, state.status, state.reason, 0.0, (), {},
        counts=state.counts, variant=cell.variant,
    )  # fmt: skip
