"""A golden set from request to finished folder, stage by stage, resuming what is there."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from embassay.errors import UsageError
from embassay.protocols.kernel.outcome import Run, manifest, moment, sessions, spent
from embassay.protocols.kernel.plan import Plan, PlannedDataset, PlannedSystem, PlannedTask
from embassay.protocols.kernel.request import request_of
from embassay.protocols.kernel.session import Accounts, Silent, check_prices, lock, opened, read_previous
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
    redo = "S1" if force else from_stage
    return carry_out(request, Path(out), redo=redo, listener=listener or Silent(), max_usd=max_usd)


def carry_out(
    request: GoldenRequest,
    out: Path,
    *,
    settings: Settings | None = None,
    redo: str | None = None,
    listener: Silent,
    command: str = "",
    max_usd: float | None = None,
) -> Run:
    """`golden` for a request that is made; `settings` say where its values are from."""
    if redo is not None and redo not in STAGES:
        raise UsageError(f"There is no stage {redo!r}.", mend=f"Stages are {', '.join(STAGES)}.")
    check = partial(check_resumable, redo=redo)
    with opened(out, request, max_usd, check=check) as (folder, accounts, held):
        work = Work(request, read_inputs(request), out, accounts.ledger, listener)
        systems = planned_systems(work)
        ENGINES.build(request.engine)
        check_prices(systems, max_usd)
        lock(folder, held)
        session = GoldenSession(folder, work, systems, accounts, command or python_call(request, out))
        session.config = snapshot(settings) if settings else {}
        session.begin(redo)
        try:
            session.do()
        finally:
            session.end()
    return Run(out)


def forecast_of(request: GoldenRequest, out: Path, ledger: Ledger) -> Forecasts:
    """What a request would take, less what `out` holds of it already; nothing is sent."""
    return forecast(Work(request, read_inputs(request), out, ledger))


def python_call(request: GoldenRequest, out: Path) -> str:
    """The call that makes the run, for its manifest."""
    named = {"dataset": request.dataset, "corpus": request.corpus, "queries": request.queries}
    read = ", ".join(f"{name}={value!r}" for name, value in named.items() if value)
    return f"embassay.rag.golden({request.encoder!r}, {request.judge!r}, {read}, out={str(out)!r})"


@dataclass
class GoldenSession:
    """One attempt at a golden set."""

    folder: RunFolder
    work: Work
    systems: Sequence[PlannedSystem]
    accounts: Accounts
    command: str
    config: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.previous = read_previous(self.folder, self.systems)
        self.run_id = self.previous.get("run_id") or self.folder.path.resolve().name
        self.stages: dict[str, dict[str, Any]] = dict(self.previous.get("stages", {}))
        self.repeated: Repeated | None = None
        self.failed: dict[str, tuple[str, str]] = {}
        """Query id -> stage and reason."""
        self.done_now = 0
        self._clock = time.perf_counter()

    def begin(self, redo: str | None) -> None:
        """Undo what is to be redone, and write down what is asked."""
        if redo is not None:
            for asked in self.work.queries:
                stages.forget(asked.folder, redo)
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

    def do(self) -> None:
        """All stages, each for the queries that came through the ones before."""
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

    def write_manifest(self, status: str) -> None:
        """Replace the manifest."""
        plan, states = self._plan(), self.states()
        spending = self.accounts.spending
        now = {
            "name": self.folder.path.name,
            "status": status,
            "created": self.previous.get("created", spending.session),
            "updated": moment(since=spending.session),
            "command": self.command,
            "kind": "golden",
            "run_id": self.run_id,
            "config": dict(self.config) or self.previous.get("config", {}),
            "seeds": {"run": self.work.request.seed},
            "inputs": {
                part: [{"path": one.path, "sha256": one.sha256} for one in files]
                for part, files in self.work.read.files.items()
            },
            "stages": self.stages,
            "sessions": sessions(self.previous, self._entry(), spending),
            "spent": spent(spending, self.accounts.ledger.max_usd),
            "warnings": list(self.work.warnings),
        }
        records = {
            cell.key: record
            for cell, one in zip(plan.cells, states, strict=True)
            if (record := _record(cell, one)) is not None
        }
        said = manifest("rag", plan, records, now)
        for cell, one in zip(said["cells"], states, strict=True):
            cell |= {"query_id": one.id, "folder": one.folder.name, "stage": one.stage}
        self.folder.write_manifest(said)

    def _plan(self) -> Plan:
        read, work = self.work.read, self.work
        n = len(work.queries)
        task = PlannedTask(TASK, n, len(read.documents), read.skipped, read.warnings)
        source = work.request.dataset or work.request.corpus
        judge = next(one for one in self.systems if one.kind == "llm")
        cells = tuple(
            Cell(TASK, read.name, judge.name, digest([TASK, asked.id]), 1, None, variant=asked.id)
            for asked in work.queries
        )
        dataset = PlannedDataset(source, read.name, read.lang, read.fingerprint, (task,))
        return Plan(work.request, tuple(self.systems), (dataset,), cells, work.tokenizer.identity)

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

    def _entry(self) -> dict[str, Any]:
        return {
            "started": self.accounts.spending.session,
            "ended": moment(since=self.accounts.spending.session),
            "queries_done": self.done_now,
            "seconds": round(time.perf_counter() - self._clock, 3),
        }


def _record(cell: Cell, state: State) -> CellRecord | None:
    if state.status == "not run":
        return None
    return CellRecord(
        cell.key, cell.task, cell.dataset, cell.system, state.status, state.reason, 0.0, (), {},
        counts=state.counts, variant=cell.variant,
    )  # fmt: skip
