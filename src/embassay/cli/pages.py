"""`embassay report` and `embassay serve`: runs as one HTML file, and a folder of them as a leaderboard."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from embassay.cli.options import AllowHost, ProxyHeaders


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

    typer.echo(f"The runs in {root}: read only, looked at again while it runs.", err=True)
    if not is_local(host):
        typer.echo(
            "Everybody who reaches this address can read the boards; for TLS and a name put a proxy before it "
            "(docs/leaderboard.md).", err=True,
        )  # fmt: skip
    typer.echo("Ctrl-C stops it.", err=True)
