"""A run on disk, from Python: its rows, tables and comparisons, and what its manifest says."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Literal

from embassay import __version__
from embassay.errors import DataError, UsageError
from embassay.limits import parse_json_written_by_embassay, read_bounded_file
from embassay.protocols.kernel.plan import Plan, PlannedDataset, collect_system_facts
from embassay.registry import import_attribute
from embassay.runs.folder import CellRecord, RunCell, RunFolder, collect_hardware_facts, list_package_versions
from embassay.runs.memory import find_memory_use_and_promise
from embassay.runs.spending import RunSpendingJournal

if TYPE_CHECKING:
    import polars as pl


PROTOCOLS = {
    "sage": "sage", "pteb": "pteb", "hteb": "hteb", "original": "pteb", "judge": "pteb", "paraphrasers": "pteb",
    "validation": "pteb",
    "golden": "rag", "questions": "rag", "score": "rag", "sweep": "rag", "names": "rag", "noise": "rag",
    "sessions": "rag", "versions": "rag", "trace": "rag", "hume": "hume",
    "calibration": "calibration"
}  # fmt: skip
"""The paper behind each kind of run."""


@dataclass(frozen=True)
class PaperReference:
    """A paper as a sentence and as BibTeX, with the fields that are known."""

    title: str
    said: str
    bibtex: str


@dataclass(frozen=True)
class PaperCitedByReport:
    """A paper; `used` where a run of this report rests on it."""

    paper: PaperReference
    used: bool


MAIN = ("sage", "pteb", "rag", "hume")
PAPERS = {
    "sage": PaperReference(
        "SAGE",
        "Goel, Lee and Ramchandran, “SAGE: A Realistic Benchmark for Semantic Understanding”, NeurIPS 2025 workshop.",
        "@inproceedings{goel2025sage,\n"
        "title = {{SAGE}: A Realistic Benchmark for Semantic Understanding},\n"
        "author = {Goel and Lee and Ramchandran},\n"
        "booktitle = {NeurIPS 2025 Workshop},\nyear = {2025}\n}",
    ),
    "pteb": PaperReference(
        "PTEB",
        "Frank and Afli, “PTEB: Towards Robust Text Embedding Evaluation via Stochastic Paraphrasing at Evaluation "
        "Time with LLMs”, EACL 2026.",
        "@inproceedings{frank2026pteb,\n"
        "title = {{PTEB}: Towards Robust Text Embedding Evaluation via Stochastic Paraphrasing at Evaluation Time "
        "with {LLMs}},\nauthor = {Frank and Afli},\nbooktitle = {EACL},\nyear = {2026}\n}",
    ),
    "hteb": PaperReference(
        "HTEB",
        "Frank and Afli, “The Harder Text Embedding Benchmark (HTEB): Beyond One-dimensional Static Robustness”, EMNLP "
        "2026.",
        "@inproceedings{frank2026hteb,\n"
        "title = {The Harder Text Embedding Benchmark ({HTEB}): Beyond One-dimensional Static Robustness},\n"
        "author = {Frank and Afli},\nbooktitle = {EMNLP},\nyear = {2026}\n}",
    ),
    "rag": PaperReference(
        "RAG",
        "Dallaire, “Practical RAG Evaluation”, arXiv 2511.09545, 2025.",
        "@misc{dallaire2025practical,\n"
        "title = {Practical {RAG} Evaluation},\n"
        "author = {Dallaire},\nyear = {2025},\neprint = {2511.09545},\narchivePrefix = {arXiv}\n}",
    ),
    "hume": PaperReference(
        "HUME",
        "El Assadi, Chung, Solomatin, Muennighoff and Enevoldsen, “HUME: Measuring the Human-Model Performance Gap in "
        "Text Embedding Tasks”.",
        "@misc{elassadi_hume,\n"
        "title = {{HUME}: Measuring the Human-Model Performance Gap in Text Embedding Tasks},\n"
        "author = {El Assadi and Chung and Solomatin and Muennighoff and Enevoldsen}\n}",
    ),
    "calibration": PaperReference(
        "Calibration",
        "Kull, Silva Filho and Flach, “Beta Calibration”, AISTATS 2017; Angelopoulos, Bates, Candès, Jordan and Lei, "
        "“Learn Then Test: Calibrating Predictive Algorithms to Achieve Risk Control”, arXiv 2110.01052, 2021.",
        "@inproceedings{kull2017beta,\n"
        "title = {Beta Calibration},\nauthor = {Kull and Silva Filho and Flach},\n"
        "booktitle = {AISTATS},\nyear = {2017}\n}\n\n"
        "@misc{angelopoulos2021learn,\n"
        "title = {Learn Then Test: Calibrating Predictive Algorithms to Achieve Risk Control},\n"
        "author = {Angelopoulos and Bates and Cand{\\`e}s and Jordan and Lei},\n"
        "year = {2021},\neprint = {2110.01052},\narchivePrefix = {arXiv}\n}",
    ),
}


def list_paper_citations(kinds: Collection[str]) -> tuple[PaperCitedByReport, ...]:
    """The four of the protocols and any other that the kinds of run rest on, those used first."""
    used = {PROTOCOLS[kind] for kind in kinds if kind in PROTOCOLS}
    cited = [PaperCitedByReport(paper, name in used) for name, paper in PAPERS.items() if name in {*MAIN, *used}]
    return tuple(sorted(cited, key=lambda citation: not citation.used))


def format_bibtex_of_protocols(protocols: Iterable[str]) -> str:
    """The entries of the papers behind runs of these protocols, for a `.bib` file; empty where none has a paper."""
    names = dict.fromkeys(name for name in protocols if name in PAPERS)
    return "\n\n".join(PAPERS[name].bibtex for name in names) + "\n" * bool(names)


Plain = dict[str, Any]

RESAMPLING = 2
"""Raised when the same items would be drawn otherwise: runs of other rules are not paired."""


def make_run_manifest(protocol: str, plan: Plan, records: Mapping[str, CellRecord], now: Mapping[str, Any]) -> Plain:
    """The manifest of a plan of which `records` (by cell key) have ended; `now` are the fields of the session."""
    head = ("name", "status", "created", "updated", "command")
    return {
        "embassay": __version__,
        "protocol": protocol,
        **{key: now[key] for key in head},
        "arguments": plan.request.as_dict(),
        "tokenizer": {"name": plan.request.tokenizer, "identity": plan.tokenizer_identity},
        "systems": [
            {
                "name": system.name,
                "kind": system.kind,
                "identity": system.identity,
                "facts": collect_system_facts(system),
            }
            for system in plan.systems
        ],
        "datasets": [_make_manifest_entry_of_dataset(dataset) for dataset in plan.datasets],
        **({"suites": [suite.as_dict() for suite in plan.suites]} if plan.suites else {}),
        "hardware": collect_hardware_facts(),
        "versions": list_package_versions(),
        "resampling": RESAMPLING,
        "cells": [_make_manifest_cell(cell, records.get(cell.key)) for cell in plan.cells],
        **{key: value for key, value in now.items() if key not in head},
        **({} if (memory := find_memory_use_and_promise()) is None else {"memory": memory}),
        "problems": {"failed_cells": sum(not record.done for record in records.values())},
    }


def make_manifest_of_file_based_run(
    folder: RunFolder,
    protocol: str,
    command: str,
    arguments: Plain,
    *,
    systems: Iterable[Plain],
    datasets: Iterable[Plain],
    cells: Iterable[Plain] = (),
    kind: str = "",
) -> Plain:
    """The manifest of a run that reads files, asks nobody and is done in one go; written anew it keeps its beginning
    and its earlier sessions."""
    before, now = folder.read_manifest() or {}, format_current_utc_time()
    return {
        "embassay": __version__,
        "protocol": protocol,
        **({"kind": kind} if kind else {}),
        "name": folder.path.resolve().name,
        "status": "finished",
        "created": before.get("created", now),
        "updated": now,
        "command": command,
        "arguments": arguments,
        "tokenizer": {"name": "", "identity": ""},
        "systems": list(systems),
        "datasets": list(datasets),
        "hardware": collect_hardware_facts(),
        "versions": list_package_versions(),
        "cells": list(cells),
        "sessions": [*before.get("sessions", ()), {"started": now, "ended": now, "spent": {}}],
        "spent": {"usd": 0.0, "max_usd": None, "systems": {}},
        "problems": {"failed_cells": 0},
    }


def list_run_sessions(previous: Mapping[str, Any], this: Plain, spending: RunSpendingJournal) -> list[Plain]:
    """All attempts at the run with what each has spent: one that was killed could not say so itself."""
    return [
        {
            **session,
            "spent": {
                name: asdict(spent) for name, spent in spending.sum_spending_by_account(session["started"]).items()
            },
        }
        for session in [*previous.get("sessions", ()), this]
    ]


def summarise_run_spending(spending: RunSpendingJournal, max_usd: float | None) -> Plain:
    """What the run was billed, what may be billed beside it and what is held aside for requests in flight, by system
    and together; the limit of this session."""
    by_system = spending.sum_spending_by_account()
    priced = all(spent.usd is not None for spent in by_system.values())
    return {
        "usd": spending.usd if priced else None,
        "possible_usd": spending.possibly_billed_usd,
        "reserved_usd": spending.reserved_usd,
        "max_usd": max_usd,
        "systems": {name: asdict(spent) for name, spent in by_system.items()},
    }


def format_current_utc_time(precision: Literal["seconds", "milliseconds"] = "seconds", *, since: str = "") -> str:
    """Now, in UTC; not before the moment `since`, where the clock was put back meanwhile."""
    return max(datetime.now(UTC).isoformat(timespec=precision), since)


def _make_manifest_cell(cell: RunCell, record: CellRecord | None) -> Plain:
    where = {"key": cell.key, "task": cell.task, "dataset": cell.dataset, "system": cell.system}
    where |= {"variant": cell.variant} if cell.variant else {}
    if record is None:
        empty: Plain = {"counts": {}, "skipped": [], "warnings": []}
        return {**where, "status": "not run", "reason": "", "seconds": None, **empty}
    return {
        **where,
        "status": record.status,
        "reason": record.reason,
        "seconds": round(record.seconds, 3),
        "peak_bytes": record.peak_bytes,
        "counts": dict(record.counts),
        "skipped": [asdict(skip) for skip in record.skipped],
        "warnings": list(record.warnings),
    }


def _make_manifest_entry_of_dataset(dataset: PlannedDataset) -> Plain:
    return {
        "name": dataset.name,
        "source": dataset.source,
        "lang": dataset.lang,
        "fingerprint": dataset.fingerprint,
        "tasks": {
            task.task: {
                "n": task.n,
                "skipped": [asdict(skip) for skip in task.skipped],
                "warnings": list(task.warnings),
            }
            for task in dataset.tasks
        },
    }


_SHOWN = "embassay.report"  # how a run looks is said above the protocols, and found when somebody looks


def render_terminal_view(view: str, *of: object) -> str:
    """What one of the report's terminal views says of something, in 80 columns."""
    blocks = import_attribute(f"{_SHOWN}.terminal:{view}")(*of)
    return str(import_attribute("embassay.document.terminal:draw_terminal_blocks")(blocks).plain)


_NOTEBOOK = (
    "<style>.embassay table{border-collapse:collapse;margin:.5em 0}.embassay th,.embassay td{padding:.2em .7em;"
    "border-bottom:1px solid #8886;text-align:left}.embassay .num{text-align:right;font-variant-numeric:tabular-nums}"
    ".embassay .sr{display:none}.embassay h1{font-size:1.2em}.embassay ul{margin:.3em 0}.embassay small{opacity:.75}"
    "</style>"
)
"""How a view looks in a notebook, which has no style of a report."""


def render_view_as_html(view: str, *of: object) -> str:
    """The same as HTML, for a notebook."""
    blocks = import_attribute(f"{_SHOWN}.terminal:{view}")(*of)
    drawn = import_attribute("embassay.document.html:render_blocks_as_html")(blocks)
    return f'<div class="embassay">{_NOTEBOOK}{drawn}</div>'


_MAIN = {
    "score": "rag_score", "golden": "rag_table14", "sweep": "rag_frontier", "names": "rag_table10",
    "noise": "rag_table12", "choose": "choice"
}  # fmt: skip
"""The table that says most of a run that ranks no systems over tasks."""


@dataclass(frozen=True)
class Run:
    """A finished (or partly finished) run on disk."""

    path: Path

    @property
    def results(self) -> pl.DataFrame:
        """Every row, in the order of the plan."""
        import polars as pl

        rows = [row.as_dict() for row in RunFolder(self.path).read_results()]
        types = {"value": pl.Float64, "ci_low": pl.Float64, "ci_high": pl.Float64, "seed": pl.Int64, "n": pl.Int64}
        return pl.DataFrame(rows, schema_overrides=types, infer_schema_length=None)

    @property
    def manifest(self) -> dict[str, Any]:
        """What was run, on what, and how it went."""
        return RunFolder(self.path).read_manifest() or {}

    def table(self, name: str = "overall") -> pl.DataFrame:
        """A table of the run by its file name (`sage_table4`, `robustness_by_edit`, ...); `overall` is every system
        with its value, interval and ranks, as `ranks` has them, and its value on each task."""
        import polars as pl

        if name == "overall":
            try:
                return self._make_ranks_with_task_values()
            except UsageError:  # a run of another kind
                name = _MAIN.get(self.manifest.get("protocol", ""), name)
        path = self.path / "tables" / f"{name}.csv"
        if not path.exists():
            names = ", ".join(sorted(file.stem for file in path.parent.glob("*.csv")))
            raise UsageError(f"The run has no table {name!r}.", mend=f"It has: {names}.")
        return pl.read_csv(path)

    def _make_ranks_with_task_values(self) -> pl.DataFrame:
        """`ranks()`, and a column of values per task."""
        import polars as pl

        ranks = self.ranks()
        every = [standing for standing in self._read_overall_standings() if standing.task != "overall"]
        for task in dict.fromkeys(standing.task for standing in every):
            values = {standing.system: standing.headline.value for standing in every if standing.task == task}
            named = pl.Series(task, [values.get(system) for system in ranks["system"]], dtype=pl.Float64)
            ranks = ranks.with_columns(named)
        return ranks

    def ranks(self, task: str = "") -> pl.DataFrame:
        """Every system on a task or `overall`, best first: `value`, `ci_low`, `ci_high`, `n`, and the places that
        paired tests allow, `rank_low` to `rank_high` (null for references, and where nothing is tested), among those of
        its `group` (systems that one method scored). By default `overall`, in a run of too few tasks for that the first
        of them. UsageError for a task on which no system has a value."""
        import polars as pl

        every = self._read_overall_standings()
        scopes = dict.fromkeys(standing.task for standing in every)
        task = task or ("overall" if "overall" in scopes else next(iter(scopes), "overall"))
        of_task = [standing for standing in every if standing.task == task]
        if not of_task:
            raise UsageError(f"The run has no ranking on {task!r}.", mend=f"It has: {', '.join(scopes) or 'none'}.")
        places = self._read_rank_ranges(task)
        rows = [
            {
                "task": task, "system": standing.system, "group": standing.group, "value": standing.headline.value,
                **dict(zip(("ci_low", "ci_high"), standing.headline.interval, strict=True)), "n": standing.headline.n,
                **dict(zip(("rank_low", "rank_high"), places.get(standing.system, (None, None)), strict=True)),
            }
            for standing in of_task
        ]  # fmt: skip
        return pl.DataFrame(rows, infer_schema_length=None).sort("group", "value", descending=[False, True])

    def _read_overall_standings(self) -> list[Any]:
        """What has a value over all datasets of a task, or of all tasks."""
        from embassay.protocols.kernel.comparisons import read_standings

        rows = read_standings(self.path)
        return [row for row in rows if not row.dataset and row.headline.value is not None]

    def _read_rank_ranges(self, task: str) -> dict[str, tuple[int, int]]:
        """The rank range of each ranked system on a task, of every group."""
        path = self.path / "comparisons.json"
        scopes = (
            parse_json_written_by_embassay(read_bounded_file(path).decode("utf-8"))["scopes"] if path.exists() else {}
        )
        return {
            system: (low, high)
            for name, scope in scopes.items()
            if name.partition(":")[0] == task
            for system, low, high in zip(scope["systems"], scope["rank_low"], scope["rank_high"], strict=False)
        }

    def report(self, out: str | Path | None = None, *, summary: bool = False) -> Path:
        """Write the report, one HTML file, by default `report.html` in the run's folder; where it is. With `summary`
        the two pages for whoever decides, `summary.html`."""
        target = None if out is None else Path(out)
        written: Path = import_attribute(f"{_SHOWN}:write_report")([self.path], out=target, summary=summary)
        return written

    def export(self, form: str, out: str | Path, *, table: str = "") -> Path:
        """Write the run for other tools, as `embassay export --to FORM` does: `csv`, `latex`, `parquet`, `mteb`,
        `figures`, `eee` or `hub`; `out` is a folder, or one file by its name's end. UsageError for another form."""
        export = import_attribute("embassay.interchange.forms:export")
        written: Path = export([self.path], form, Path(out), table=table).out
        return written

    def latex(self, table: str = "") -> str:
        """A table of the run by its file name as LaTeX with booktabs; by default its headlines. UsageError for a table
        that the run has not."""
        with TemporaryDirectory(prefix="embassay-") as folder:
            return self.export("latex", Path(folder) / "table.tex", table=table).read_text("utf-8")

    def plot(self, name: str = "scores") -> Any:
        """A figure of the run, which shows itself in a notebook and has `save(path)` for SVG and PDF: `scores`, or one
        of its tables that is drawn (docs/interchange.md). UsageError without the extra `figures`, or for another name.
        """
        return import_attribute("embassay.interchange.papers:plot_run_figure")(self.path, name)

    def __str__(self) -> str:
        """The verdict, one table and notes, as the command says them."""
        return render_terminal_view("make_run_terminal_blocks", self.path)

    def _repr_html_(self) -> str:
        """Show the run as HTML in a notebook, without times, which differ from run to run."""
        return render_view_as_html("make_run_terminal_blocks", self.path)

    def compare(self, a: str, b: str, task: str = "") -> Any:
        """System a minus system b, overall and in its parts or on one `task`: a `SystemsComparison` of
        `embassay.protocols.compare`, which prints itself. UsageError for a name that is not in the run."""
        return import_attribute("embassay.protocols.compare:compare")(self.path, a=a, b=b, tasks=[task] if task else ())


def open_run(folder: str | Path) -> Run:
    """The run of a folder, of any protocol, finished or not. DataError for a folder without one."""
    if RunFolder(Path(folder)).read_manifest() is None:
        raise DataError("There is no run here", path=Path(folder), mend="Give the folder of a run (its out=).")
    return Run(Path(folder))
