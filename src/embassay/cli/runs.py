"""What is done with finished runs: `embassay compare`, `gate`, `report`, `serve`, `export` and `import`."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from embassay.cli.options import AllowHost, Json, ProxyHeaders, Wide

if TYPE_CHECKING:
    from embassay.interchange import Exported, Imported


def compare(
    folders: Annotated[
        list[Path], typer.Argument(help="A run; with two, one system in both.", metavar="DIR [DIR]")
    ],
    a: Annotated[str | None, typer.Option("-a", help="The first system. Default: compare all.")] = None,
    b: Annotated[str | None, typer.Option("-b", help="The second system.")] = None,
    task: Annotated[
        list[str] | None, typer.Option("--task", "-t", help="Only this task, or overall.")
    ] = None,
    measure: Annotated[list[str] | None, typer.Option("--measure", "-m", help="Only this measure.")] = None,
    dataset: Annotated[
        list[str] | None,
        typer.Option("--dataset", "-d", help="Only this dataset, when comparing all systems."),
    ] = None,
    seed: Annotated[int, typer.Option("--seed", help="Random seed.")] = 1337,
    json: Json = False,
    wide: Wide = False,
) -> None:
    """Tell whether two systems, or two runs, really differ.

    Paired differences with 95% intervals, Holm-corrected p, effect sizes and the difference detectable at 80% power.
    Comparing all systems adds rank ranges and the probability of being best.

    Example: embassay compare runs/sage -a minilm -b bm25
    """
    from embassay.cli.terminal import show_blocks
    from embassay.protocols import compare as comparing
    from embassay.report.terminal import fields_view, pair_view

    found = comparing.compare(
        *folders, a=a, b=b, tasks=task or [], measures=measure or [], datasets=dataset or [], seed=seed
    )
    if found.pair is None:
        if json:
            _print({"fields": found.fields})
            return
        show_blocks(fields_view(found.fields, found.protocol), wide)
        return
    if json:
        _print({name: getattr(found.pair, name) for name in ("contrasts", "across", "pairing", "among")})
        return
    show_blocks(pair_view(found.pair, found.protocol), wide)


def _print(records: dict[str, Any]) -> None:
    from dataclasses import asdict, is_dataclass

    from embassay.runs.folder import to_json

    def plain(value: Any) -> Any:
        if is_dataclass(value) and not isinstance(value, type):
            return plain(asdict(value))
        if isinstance(value, dict):
            return {key: plain(one) for key, one in value.items()}
        if isinstance(value, list | tuple):
            return [plain(one) for one in value]
        return None if isinstance(value, float) and value != value else value

    typer.echo(to_json(plain(records), indent=1))


Folder = Annotated[Path, typer.Argument(help="A run, or a folder above runs.", metavar="DIR")]
Bars = Annotated[
    list[str] | None,
    typer.Option(
        "--min", "--max", metavar="BAR",
        help="A bar, such as 'sage.overall[minilm]>=0.45@lower' or 'rag.score.Harm@10[bm25, dataset=qrels]<=0.3'.",
    ),
]  # fmt: skip
Base = Annotated[
    Path | None, typer.Option("--no-worse-than", help="An earlier run that no system may fall behind.")
]
Alpha = Annotated[
    float, typer.Option("--alpha", help="Chance of a false alarm over all tests of --no-worse-than.")
]
Margin = Annotated[
    float, typer.Option("--margin", min=0, help="Loss allowed by --no-worse-than, in the measure's unit.")
]
Systems = Annotated[
    list[str] | None, typer.Option("--system", "-s", help="Only this system, in --no-worse-than.")
]
Tasks = Annotated[list[str] | None, typer.Option("--task", "-t", help="Only this task, in --no-worse-than.")]
Measures = Annotated[
    list[str] | None, typer.Option("--measure", "-m", help="Only this measure, in --no-worse-than.")
]
Junit = Annotated[Path | None, typer.Option("--junit", help="Write the verdicts as JUnit XML.")]
Markdown = Annotated[Path | None, typer.Option("--markdown", help="Write the verdicts as Markdown.")]


def gate(
    folder: Folder,
    bars: Bars = None,
    base: Base = None,
    alpha: Alpha = 0.05,
    margin: Margin = 0.0,
    system: Systems = None,
    task: Tasks = None,
    measure: Measures = None,
    junit: Junit = None,
    markdown: Markdown = None,
    json: Json = False,
    wide: Wide = False,
) -> None:
    """Fail a build when a score is too low or has dropped.

    Exit code 1 if a bar is missed or --no-worse-than finds a loss; its tests are Holm-corrected together. A bar
    may be on the score or, with @lower or @upper, on an end of its 95% interval. A score without a value or
    interval is not tested; it fails only if a bar names it, if it had a value before, or if it fell.

    Example: embassay gate runs/sage --min 'sage.overall[minilm]>=0.45@lower'
    """
    from dataclasses import asdict

    from embassay.cli.terminal import show_blocks
    from embassay.protocols import gate as gating
    from embassay.report.terminal import gate_view
    from embassay.runs.folder import to_json, write_atomic

    made = gating.gate(
        folder, *(bars or ()), no_worse_than=base, alpha=alpha, margin=margin, systems=system or (),
        tasks=task or (), measures=measure or (),
    )  # fmt: skip
    if junit is not None:
        write_atomic(junit, made.junit())
    if markdown is not None:
        write_atomic(markdown, made.markdown())
    if json:
        record = {
            "passed": made.passed, "met": made.met, "bars": [asdict(one) for one in made.verdicts],
            "judge": made.judge,
        }  # fmt: skip
        typer.echo(to_json(record, indent=1))
    else:
        show_blocks(gate_view(made.verdicts, made.judge), wide)
    if not made.passed:
        raise typer.Exit(1)


def report(
    folders: Annotated[list[Path], typer.Argument(help="Runs, or folders above runs.", metavar="DIR...")],
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            help="The file. Default: report.html or summary.html in the common folder.",
        ),
    ] = None,
    summary: Annotated[
        bool,
        typer.Option(
            "--summary",
            help="Write two pages to print instead: what to use, how sure, on what conditions.",
        ),
    ] = False,
) -> None:
    """Write one self-contained HTML report of any set of runs.

    Example: embassay report runs/demo --out report.html
    """
    from embassay.report import write_report

    def tell(line: str) -> None:
        typer.echo(line, err=True)

    typer.echo(str(write_report(folders, out=out, summary=summary, tell=tell)))


def serve(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A folder above runs, finished or running.")],
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="Port; 0 takes a free one.")] = 8760,
    host: Annotated[str, typer.Option("--host", help="Address to listen on.")] = "127.0.0.1",
    root_path: Annotated[
        str,
        typer.Option("--root-path", metavar="/PATH", help="Path prefix set by a proxy."),
    ] = "",
    allow_host: AllowHost = None,
    proxy_headers: ProxyHeaders = False,
    stale_after: Annotated[
        float, typer.Option("--stale-after", min=0.1, help="Minutes without news after which a run is stale.")
    ] = 15.0,
    every: Annotated[
        float, typer.Option("--every", min=0.2, help="Seconds between two looks at the folder.")
    ] = 2.0,
    open_browser: Annotated[bool, typer.Option("--open", help="Open the newest board in a browser.")] = False,
) -> None:
    """Serve a folder of runs as live leaderboards.

    One board per protocol and version of the data, with rank ranges. It writes nothing, and gives out boards and
    reports only. Ctrl-C stops it.

    Example: embassay serve runs --open
    """
    from embassay.web import server
    from embassay.web.leaderboard.library import app_of, check_folder, check_prefix

    root, prefix = check_folder(folder), check_prefix(root_path)
    hosts = server.hosts_answered(host, None, tuple(allow_host or ()))
    with server.listen(host, port) as listening:
        shown = server.base_url(host, listening) + "/"

        def ready() -> None:
            typer.echo(shown)
            _say(root, host)
            if open_browser:
                typer.launch(shown)

        server.serve(
            lambda: app_of(root, hosts=hosts, root_path=prefix, stale_after=60 * stale_after, every=every),
            listening, command="serve", proxy_headers=proxy_headers, ready=ready,
        )  # fmt: skip


def _say(root: Path, host: str) -> None:
    from embassay.web.server import is_local

    typer.echo(f"The runs in {root}: read only, refreshed while the server runs.", err=True)
    if not is_local(host):
        typer.echo(
            "Everybody who reaches this address can read the boards; for TLS and a name put a proxy before it "
            "(docs/leaderboard.md).", err=True,
        )  # fmt: skip
    typer.echo("Ctrl-C stops it.", err=True)


class To(StrEnum):
    """The forms there are."""

    mteb = "mteb"
    csv = "csv"
    latex = "latex"
    parquet = "parquet"
    figures = "figures"
    mlflow = "mlflow"
    wandb = "wandb"


Folders = Annotated[list[Path], typer.Argument(help="Runs, or folders above runs.", metavar="DIR...")]
Form = Annotated[To, typer.Option("--to", help="What to write.")]
Out = Annotated[
    str,
    typer.Option(
        "--out", metavar="PATH",
        help="A folder or one file; for mlflow the tracking store: a folder, sqlite:///FILE or a URL.",
    ),
]  # fmt: skip
OneTable = Annotated[
    str,
    typer.Option(
        "--table",
        metavar="NAME",
        help="Only this table (latex) or figure, such as sage_table4 or scores.",
    ),
]
Project = Annotated[
    str,
    typer.Option("--project", help="Experiment of mlflow, or project of wandb."),
]
Online = Annotated[
    bool, typer.Option("--online", help="Send to wandb now; without it, `wandb sync` sends the folder.")
]


def export(
    folders: Folders,
    to: Form,
    out: Out,
    table: OneTable = "",
    project: Project = "embassay",
    online: Online = False,
    json: Json = False,
) -> None:
    """Write runs for MTEB, CSV, LaTeX, Parquet, MLflow or W&B.

    Values keep every digit, and missing ones their reason. What a format has no place for is counted.

    Example: embassay export runs/sage --to csv --out sage.csv
    """
    if to in (To.mlflow, To.wandb):
        _log(folders, to, out, project, online=online, json=json)
        return
    from embassay.interchange import FORMS
    from embassay.interchange import export as write

    form = next(one for one in FORMS if one == to.value)
    done = write(folders, form, Path(out), table=table)
    if json:
        _print_json(done)
        return
    _left_out(done)
    typer.echo(
        f"{done.out}: {done.rows:,} results in {done.files:,} {'file' if done.files == 1 else 'files'}."
    )


def _log(folders: list[Path], to: To, out: str, project: str, *, online: bool, json: bool) -> None:
    from embassay.interchange import log_to_mlflow, log_to_wandb
    from embassay.runs.folder import to_json

    if to is To.mlflow:
        logged = log_to_mlflow(folders, out, experiment=project)
    else:
        logged = log_to_wandb(folders, Path(out), project=project, online=online)
    if json:
        typer.echo(to_json({"logged": [vars(one) for one in logged]}, indent=1))
        return
    for one in logged:
        typer.echo(f"{one.run}: {'was there already' if one.unchanged else 'logged'} as {one.id}.")


def _left_out(done: Exported) -> None:
    for one in done.left_out:
        typer.echo(f"left out: {one.run}: {one.rows:,} rows {one.reason}.", err=True)


def _print_json(done: Exported) -> None:
    from embassay.runs.folder import to_json

    left_out = [vars(one) for one in done.left_out]
    typer.echo(to_json({**vars(done), "out": str(done.out), "left_out": left_out}, indent=1))


_SHOWN = 10
_MANY = 1_000_000
Source = Annotated[
    Path,
    typer.Argument(
        metavar="SOURCE",
        help="A clone of the public results or part of it, one file, or a bundle (.json, .json.gz).",
    ),
]
RunOut = Annotated[Path, typer.Option("--out", help="Folder of the run; replaces an earlier import.")]
ImportedMeasures = Annotated[
    list[str] | None,
    typer.Option("--measure", "-m", help="Only this measure and main_score. Default: all."),
]
MaxMb = Annotated[int, typer.Option("--max-mb", min=1, help="Leave out files larger than this, unpacked.")]


def import_(
    source: Source, out: RunOut, measure: ImportedMeasures = None, max_mb: MaxMb = 256, json: Json = False
) -> None:
    """Read published MTEB results as a run.

    `export --to mteb` gives the documents back whole. A broken file is named and left out.

    Example: embassay import results --out runs/mteb
    """
    import sys

    from embassay.cli.progress import Waiting
    from embassay.interchange import import_results
    from embassay.runs.folder import to_json

    with Waiting() as waiting:
        done = import_results(
            source, out, measures=measure or (), max_bytes=max_mb * 2**20, progress=waiting,
            command=" ".join(["embassay", *sys.argv[1:]]),
        )  # fmt: skip
    _warn(done)
    if json:
        faults = [vars(one) for one in done.faults]
        typer.echo(to_json({**vars(done), "folder": str(done.folder), "faults": faults}, indent=1))
        return
    typer.echo(
        f"{done.folder}: {done.documents:,} results of {done.systems:,} systems on {done.tasks:,} tasks, "
        f"{done.rows:,} rows."
    )


def _warn(done: Imported) -> None:
    from embassay.protocols.kernel.tables import counted

    for fault in done.faults[:_SHOWN]:
        typer.echo(f"left out: {_said(fault.path, fault.reason)}", err=True)
    if done.faults:
        more = f", {_SHOWN} shown" if len(done.faults) > _SHOWN else ""
        typer.echo(
            f"{counted(len(done.faults), 'fault')}{more}; all are in {done.folder / 'faults.jsonl'}.",
            err=True,
        )
    if done.rows > _MANY:
        typer.echo(
            f"{done.rows:,} rows are slow to read; -m main_score keeps main scores alone, and the rest stays in the "
            "documents.",
            err=True,
        )


def _said(path: str, reason: str) -> str:
    return reason if path in reason else f"{path}: {reason}"
