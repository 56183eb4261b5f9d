"""What is done with finished runs: `embassay compare`, `gate`, `report`, `serve`, `export` and `import`."""

from __future__ import annotations

from dataclasses import MISSING, asdict, dataclass, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from embassay.cli.options import (
    PrintOptions,
    RunOptions,
    ServerOptions,
    add_options_from_record_parameters,
    make_default_run_folder,
)
from embassay.cli.terminal import find_unfiltered_stream, format_command_line, print_view_blocks
from embassay.protocols.kernel.request import (
    DATA,
    OUTPUT,
    SERVER,
    SPEED,
    STATISTICS,
    SYSTEMS,
    RunRequest,
    option,
    redeclare_option,
)
from embassay.protocols.live import RetrieverOption

if TYPE_CHECKING:
    from collections.abc import Mapping

    from embassay.interchange import Exported, Imported


@dataclass(frozen=True)
class SystemComparisonOptions:
    """Options for which systems are compared, and on what."""

    a: str | None = option(None, "The first system. Default: compare all.", name="-a", group=SYSTEMS)
    b: str | None = option(None, "The second system.", name="-b", group=SYSTEMS)
    tasks: tuple[str, ...] = option((), "Only this task, or `overall`.", name="--task -t")
    measures: tuple[str, ...] = option((), "Only this measure.", name="--measure -m")
    datasets: tuple[str, ...] = redeclare_option(
        RunRequest, "datasets", default=(), help="Only this dataset, when comparing all systems."
    )
    seed: int = redeclare_option(RunRequest, "seed")


@add_options_from_record_parameters()
def compare(
    folders: Annotated[
        list[Path], typer.Argument(help="A run, or two runs to compare one system in both.", metavar="DIR [DIR]")
    ],
    asked: SystemComparisonOptions,
    shown: PrintOptions,
) -> None:
    """Test whether two systems, or two runs, really differ.

    Paired differences with 95% intervals, Holm-corrected p, effect sizes and the difference detectable at 80% power.
    Comparing all systems adds rank ranges and the probability of being best.

    Example: embassay compare runs/sage -a minilm -b bm25
    """
    from embassay.protocols import compare as comparing
    from embassay.report.terminal import compared_pair_view, ranked_groups_view

    comparison = comparing.compare(*folders, **vars(asked))
    if comparison.pair is None:
        if shown.json:
            _print_records_json({"fields": comparison.fields})
            return
        print_view_blocks(ranked_groups_view(comparison.fields, comparison.protocol), shown.wide)
        return
    if shown.json:
        _print_records_json(
            {name: getattr(comparison.pair, name) for name in ("contrasts", "across", "pairing", "among")}
        )
        return
    print_view_blocks(compared_pair_view(comparison.pair, comparison.protocol), shown.wide)


def _print_records_json(records: dict[str, Any]) -> None:
    from math import isfinite

    from embassay.runs.folder import format_value_as_json

    def make_json_safe(value: Any) -> Any:
        if is_dataclass(value) and not isinstance(value, type):
            return make_json_safe(asdict(value))
        if isinstance(value, dict):
            return {key: make_json_safe(item) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [make_json_safe(item) for item in value]
        # JSON has no NaN and no infinity: null stands for them.
        return None if isinstance(value, float) and not isfinite(value) else value

    typer.echo(format_value_as_json(make_json_safe(records), indent=1))


Folder = Annotated[Path, typer.Argument(help="A run, or a folder that contains runs.", metavar="DIR")]


@dataclass(frozen=True)
class BuildGateOptions:
    """Options for what a build must reach, may not fall behind, and where that is written."""

    bars: tuple[str, ...] = option(
        (),
        "A threshold, such as 'sage.overall[minilm]>=0.45@lower' or 'rag.score.Harm@10[bm25, dataset=qrels]<=0.3'.",
        name="--min --max", value="THRESHOLD"
    )  # fmt: skip
    no_worse_than: Path | None = option(
        None, "An earlier run. Fail if a system scores worse than it did there.", group=STATISTICS
    )
    names: tuple[str, ...] = option(
        (), "A system that has a different name in the earlier run.", name="--as", value="NEW=OLD", group=STATISTICS
    )
    listed: bool = option(False, "List the scores available for thresholds, and exit.", name="--list", group=OUTPUT)
    alpha: float = option(0.05, "Probability of a false alarm over all tests of --no-worse-than.", group=STATISTICS)
    margin: float = option(0.0, "Drop allowed by --no-worse-than, in the measure's unit.", least=0, group=STATISTICS)
    systems: tuple[str, ...] = redeclare_option(
        RunRequest, "systems", default=(), help="With --no-worse-than: only this system."
    )
    tasks: tuple[str, ...] = option((), "With --no-worse-than: only this task.", name="--task -t")
    measures: tuple[str, ...] = option((), "With --no-worse-than: only this measure.", name="--measure -m")
    junit: Path | None = option(None, "Write the verdicts as JUnit XML.", group=OUTPUT)
    markdown: Path | None = option(None, "Write the verdicts as Markdown.", group=OUTPUT)


@dataclass(frozen=True)
class LiveRetrieverOptions:
    """Options for a retriever that is asked now and held against the stored scoring."""

    retrievers: tuple[str, ...] = redeclare_option(
        RetrieverOption, "retrievers",
        help="Query a retriever now, score it like DIR, and compare it with DIR: SPEC or NAME=SPEC, as in rag score."
    )  # fmt: skip
    queries: str = option("", "With --retriever: the questions. Default: DIR's.", value="FILE", group=DATA)
    out: Path | None = redeclare_option(
        RunOptions, "out", help="With --retriever: folder for its answers and scores. Default: under runs/."
    )
    max_cost: float | None = redeclare_option(RunOptions, "max_cost")
    dry_run: bool = redeclare_option(
        RunOptions, "dry_run", help="Send each --retriever one question, show its answer, and exit."
    )


@add_options_from_record_parameters()
def gate(folder: Folder, asked: BuildGateOptions, now: LiveRetrieverOptions, shown: PrintOptions) -> None:
    """Fail a build when a score is too low or has dropped.

    Exit code 1 if a threshold is missed or --no-worse-than finds a drop; its tests are Holm-corrected together. A
    threshold applies to the score or, with @lower or @upper, to one end of its 95% interval. A score without a value
    or interval is not tested; it fails only if a threshold names it, or if it had a value before or dropped. With
    --retriever, DIR is a stored rag score run; the retriever is queried now and must not score worse.

    Example: embassay gate runs/sage --min 'sage.overall[minilm]>=0.45@lower'
    """

    from embassay.protocols import gate as gating
    from embassay.report.terminal import gate_verdicts_view
    from embassay.runs.folder import format_value_as_json, write_file_atomically

    if asked.listed:
        _print_scores_usable_as_thresholds(folder, asked, shown)
        return
    earlier, names = asked.no_worse_than, gating.parse_system_renames(asked.names)
    if now.retrievers:
        scored = _score_live_retrievers_like_stored_run(folder, now, names)
        if scored is None:
            return
        earlier, (folder, names) = earlier or folder, scored
    outcome = gating.gate(
        folder, *asked.bars, no_worse_than=earlier, names=names,
        alpha=asked.alpha, margin=asked.margin,
        systems=asked.systems, tasks=asked.tasks, measures=asked.measures
    )  # fmt: skip
    if asked.junit is not None:
        write_file_atomically(asked.junit, outcome.format_junit())
    if asked.markdown is not None:
        write_file_atomically(asked.markdown, outcome.markdown())
    if shown.json:
        record = {
            "passed": outcome.passed, "met": outcome.is_every_bar_met,
            "bars": [asdict(verdict) for verdict in outcome.verdicts],
            "judge": outcome.judge
        }  # fmt: skip
        typer.echo(format_value_as_json(record, indent=1))
    else:
        print_view_blocks(gate_verdicts_view(outcome.verdicts, outcome.judge), shown.wide)
    if not outcome.passed:
        raise typer.Exit(1)


def _score_live_retrievers_like_stored_run(
    stored: Path, now: LiveRetrieverOptions, names: Mapping[str, str]
) -> tuple[Path, dict[str, str]] | None:
    """Ask and score retrievers as a stored scoring was: the new folder, and the name of each in the stored one -> its
    own; None where they were only tried."""

    from embassay.cli.progress import make_progress_listener
    from embassay.cli.rag.score import list_preview_lines_of_retriever_answers
    from embassay.protocols.compare import find_run_folder
    from embassay.protocols.rag.scoring.protocol import read_request_of_stored_scoring, score_runs_of_request

    scoring = read_request_of_stored_scoring(find_run_folder(stored))
    request = scoring.make_request_to_score_retrievers(now.retrievers, now.queries)
    if now.dry_run:
        for line in list_preview_lines_of_retriever_answers(request):
            typer.echo(line)
        return None
    out, heard = now.out or make_default_run_folder("gate"), make_progress_listener()
    command = format_command_line()
    try:
        scored = score_runs_of_request(request, out, command, listener=heard, max_usd=now.max_cost)
    finally:
        heard.announce_run_end()
    return out, scoring.match_runs_to_retrievers([run.name for run in scored.record.runs], names)


def _print_scores_usable_as_thresholds(folder: Path, asked: BuildGateOptions, shown: PrintOptions) -> None:
    from embassay.protocols.thresholds import list_threshold_scores
    from embassay.report.terminal import gateable_scores_view

    scores = list_threshold_scores(folder, systems=asked.systems, tasks=asked.tasks, measures=asked.measures)
    if shown.json:
        facts = {name: {"value": row.value, "low": row.ci_low, "high": row.ci_high, "n": row.n} for name, row in scores}
        _print_records_json({"scores": facts})
        return
    print_view_blocks(gateable_scores_view(scores), shown.wide)


@dataclass(frozen=True)
class ReportPageOptions:
    """Options for which page is written, and where."""

    out: Path | None = option(
        None, "Output file. Default: report.html or summary.html in the common folder.", group=OUTPUT
    )
    summary: bool = option(
        False, "Write a two-page summary to print: what to use, how certain that is, and under what conditions.",
        name="--summary", group=OUTPUT
    )  # fmt: skip


Folders = Annotated[list[Path], typer.Argument(help="Runs, or folders that contain runs.", metavar="DIR...")]


@add_options_from_record_parameters()
def report(folders: Folders, page: ReportPageOptions) -> None:
    """Write one self-contained HTML report for any set of runs.

    Example: embassay report runs/demo --out report.html
    """
    from embassay.report import write_report

    def print_on_stderr(line: str) -> None:
        typer.echo(line, err=True)

    typer.echo(str(write_report(folders, out=page.out, summary=page.summary, tell=print_on_stderr)))


@dataclass(frozen=True)
class LeaderboardServerOptions(ServerOptions):
    """Options for how boards are served and kept up to date."""

    port: int = redeclare_option(ServerOptions, "port", default=8760)
    root_path: str = option("", "Path prefix set by a proxy.", value="/PATH", group=SERVER)
    stale_after: float = option(15.0, "Minutes without output after which a run is stale.", least=0.1, group=SERVER)
    every: float = option(2.0, "Seconds between checks of the folder.", least=0.2, group=SERVER)
    open: bool = redeclare_option(ServerOptions, "open", help="Open the newest board in a browser.")


@add_options_from_record_parameters()
def serve(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A folder that contains finished or running runs.")],
    boards: LeaderboardServerOptions,
) -> None:
    """Serve a folder of runs as live leaderboards.

    Shows one board per protocol and data version, with rank ranges. Writes nothing, and serves only boards and
    reports. Press Ctrl-C to stop.

    Example: embassay serve runs --open
    """
    from embassay.web import server
    from embassay.web.leaderboard.library import make_folder_app, normalise_url_prefix, resolve_runs_folder_links

    host = boards.host
    root, prefix = resolve_runs_folder_links(folder), normalise_url_prefix(boards.root_path)
    hosts = server.list_allowed_host_names(host, None, boards.allow_host)
    with server.open_listening_socket(host, boards.port) as listening:
        shown = server.build_base_url(host, listening) + "/"

        def announce_server_ready() -> None:
            typer.echo(shown)
            _announce_served_folder(root, host)
            if boards.open:
                typer.launch(shown)

        server.serve_until_signal(
            lambda: make_folder_app(
                root, hosts=hosts, root_path=prefix, stale_after=60 * boards.stale_after, every=boards.every
            ),
            listening, command="serve", proxy_headers=boards.proxy_headers, ready=announce_server_ready
        )  # fmt: skip


def _announce_served_folder(root: Path, host: str) -> None:
    from embassay.web.server import is_local_only_host

    typer.echo(f"Showing the runs in {root}: read-only, and refreshed while the server runs.", err=True)
    if not is_local_only_host(host):
        typer.echo(
            "Anyone who can reach this address can read the boards. For TLS and a host name, put a "
            "proxy in front of it (docs/leaderboard.md).", err=True
        )  # fmt: skip
    typer.echo("Press Ctrl-C to stop.", err=True)


@dataclass(frozen=True)
class RunExportOptions:
    """The form in which runs are exported, and where they go."""

    to: Literal["mteb", "csv", "latex", "parquet", "figures", "eee", "hub", "mlflow", "wandb", "trackio"] = option(
        MISSING, "What to write.", name="--to --format", group=OUTPUT
    )
    out: str = option(
        MISSING,
        "A folder or one file; for mlflow the tracking store: a folder, sqlite:///FILE or a URL.",
        value="PATH", group=OUTPUT
    )  # fmt: skip
    table: str = option(
        "", "Only this table (latex) or figure, such as sage_table4 or scores.", value="NAME", group=OUTPUT
    )
    project: str = option("embassay", "The mlflow experiment, or the wandb or trackio project.", group=OUTPUT)
    source: str = option("", "Who ran the evaluation (eee), or its URL (hub).", value="NAME", group=OUTPUT)
    online: bool = option(
        False, "Send to wandb now; otherwise, use `wandb sync` to send the folder.", name="--online", group=OUTPUT
    )


@add_options_from_record_parameters(wide=False)
def export(folders: Folders, asked: RunExportOptions, shown: PrintOptions) -> None:
    """Export runs for model pages, other tools and trackers.

    Values keep full precision; missing values keep their reason. Rows that a format cannot represent are counted.

    Example: embassay export runs/sage --to csv --out sage.csv
    """
    if asked.to in ("mlflow", "wandb", "trackio"):
        _log_runs_to_tracker(folders, asked, json=shown.json)
        return
    from embassay.interchange import FORMS
    from embassay.interchange import export as write

    form = next(name for name in FORMS if name == asked.to)
    done = write(folders, form, Path(asked.out), table=asked.table, source=asked.source)
    if shown.json:
        _print_export_outcome_json(done)
        return
    _print_left_out_results(done)
    typer.echo(f"{done.out}: {done.rows:,} results in {done.files:,} {'file' if done.files == 1 else 'files'}.")


def _log_runs_to_tracker(folders: list[Path], asked: RunExportOptions, *, json: bool) -> None:
    from embassay.interchange import log_to_mlflow, log_to_trackio, log_to_wandb
    from embassay.runs.folder import format_value_as_json

    if asked.to == "mlflow":
        logged = log_to_mlflow(folders, asked.out, experiment=asked.project)
    elif asked.to == "trackio":
        logged = log_to_trackio(folders, Path(asked.out), project=asked.project)
    else:
        logged = log_to_wandb(folders, Path(asked.out), project=asked.project, online=asked.online)
    if json:
        typer.echo(format_value_as_json({"logged": [vars(entry) for entry in logged]}, indent=1))
        return
    for entry in logged:
        typer.echo(f"{entry.run}: {'was already there' if entry.unchanged else 'logged'} as {entry.id}.")


def _print_left_out_results(done: Exported) -> None:
    for out in done.left_out:
        typer.echo(f"left out: {out.run}: {out.rows:,} rows {out.reason}.", err=True)


def _print_export_outcome_json(done: Exported) -> None:

    from embassay.runs.folder import format_value_as_json

    left_out = [vars(out) for out in done.left_out]
    typer.echo(format_value_as_json({**vars(done), "out": str(done.out), "left_out": left_out}, indent=1))


_SHOWN = 10
_MANY = 1_000_000
Source = Annotated[
    Path,
    typer.Argument(
        metavar="SOURCE",
        help="A clone of MTEB's public results or part of it, Every Eval Ever files, or a bundle (.json, .json.gz).",
    ),
]


@dataclass(frozen=True)
class ResultsImportOptions:
    """Options for what of published results is read, and into which run."""

    out: Path = option(MISSING, "Folder for the run; replaces an earlier import.", group=OUTPUT)
    measures: tuple[str, ...] = option((), "Only this measure and main_score. Default: all.", name="--measure -m")
    max_mb: int = option(256, "Leave out files larger than this many MB, unpacked.", least=1, group=DATA)


@add_options_from_record_parameters(wide=False)
def import_(source: Source, asked: ResultsImportOptions, shown: PrintOptions) -> None:
    """Read published results of MTEB or Every Eval Ever as a run.

    `export --to mteb` restores the documents in full. Damaged files are reported and left out.

    Example: embassay import results --out runs/mteb
    """
    import sys

    from embassay.cli.progress import StderrProgressNotice
    from embassay.interchange import import_results
    from embassay.runs.folder import format_value_as_json

    with StderrProgressNotice() as waiting:
        done = import_results(
            source, asked.out, measures=asked.measures, max_bytes=asked.max_mb * 2**20, progress=waiting,
            command=" ".join(["embassay", *sys.argv[1:]])
        )  # fmt: skip
    _warn_of_import_faults(done)
    for warning in done.warnings:
        typer.echo(f"warning: {warning}.", err=True)
    if shown.json:
        faults = [vars(fault) for fault in done.faults]
        typer.echo(format_value_as_json({**vars(done), "folder": str(done.folder), "faults": faults}, indent=1))
        return
    typer.echo(
        f"{done.folder}: {done.documents:,} results of {done.systems:,} systems on {done.tasks:,} tasks, "
        f"{done.rows:,} rows."
    )


def _warn_of_import_faults(done: Imported) -> None:
    from embassay.protocols.kernel.tables import format_noun_count

    for fault in done.faults[:_SHOWN]:
        typer.echo(f"left out: {_format_fault_with_path(fault.path, fault.reason)}", err=True)
    if done.faults:
        more = f", {_SHOWN} shown" if len(done.faults) > _SHOWN else ""
        where = f"{'it is' if len(done.faults) == 1 else 'all are'} in {done.folder / 'faults.jsonl'}"
        typer.echo(f"{format_noun_count(len(done.faults), 'problem')}{more}; {where}.", err=True)
    if done.rows > _MANY:
        typer.echo(
            f"{done.rows:,} rows are slow to read. Use -m main_score to keep only the main scores; the documents keep "
            "the rest.",
            err=True,
        )


def _format_fault_with_path(path: str, reason: str) -> str:
    return reason if path in reason else f"{path}: {reason}"


@dataclass(frozen=True)
class AgentRights:
    """What coding agents may do."""

    folder: Path = option(Path(), "Folder that must contain every path that the agent uses.", name="FOLDER")
    allow_runs: bool = option(False, "Let the agent create runs in the folder.", name="--allow-runs")
    max_cost: float = option(
        0.0, "Maximum total cost of the runs that this server starts.", least=0, value="USD", group=SPEED
    )


@add_options_from_record_parameters()
def serve_agents(rights: AgentRights) -> None:
    """Let coding agents check data, plan, run, score and gate (MCP).

    An MCP server on standard input and output. Reads only FOLDER; runs need --allow-runs, and paid systems need
    --max-cost.

    Example: embassay mcp ~/project --allow-runs
    """
    import sys

    from embassay.errors import UsageError
    from embassay.web.agents import AgentPermissions, make_agent_server

    if not rights.folder.is_dir():
        raise UsageError(
            f"There is no folder {rights.folder}.", mend="Name the folder that contains your data and runs."
        )
    server = make_agent_server(AgentPermissions(rights.folder.resolve(), rights.allow_runs, rights.max_cost))
    # The protocol writes bytes, which the filtered stream does not take.
    sys.stdout = find_unfiltered_stream(sys.stdout)
    server.run("stdio")
