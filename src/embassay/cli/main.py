"""The `embassay` command: one app, one group per module, errors turned into one line and an exit code."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from embassay import __version__
from embassay.cli import (
    cache,
    compare,
    data,
    demo,
    doctor,
    export,
    gate,
    hume,
    import_,
    listing,
    pteb,
    rag,
    report,
    sage,
    serve,
)
from embassay.cli.controls import only_visible
from embassay.cli.options import stopping_at_memory
from embassay.errors import EmbassayError

app = typer.Typer(
    name="embassay",
    help="Does an embedding model, a similarity metric or a retrieval stack understand what it compares?",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("demo")(stopping_at_memory(demo.demo))
app.command("doctor")(doctor.doctor)
app.command("list")(listing.show)
app.add_typer(sage.app, name="sage")
app.add_typer(pteb.app, name="pteb")
app.add_typer(rag.app, name="rag")
app.add_typer(hume.app, name="hume")
app.command("report")(stopping_at_memory(report.report))
app.command("compare")(stopping_at_memory(compare.compare))
app.command("gate")(stopping_at_memory(gate.gate))
app.command("serve")(stopping_at_memory(serve.serve))
app.command("export")(stopping_at_memory(export.export))
app.command("import")(stopping_at_memory(import_.import_))
app.add_typer(data.app, name="data")
app.add_typer(cache.app, name="cache")

_debug = False


def _version(value: bool) -> None:
    if value:
        typer.echo(f"embassay {__version__}")
        raise typer.Exit


@app.callback()
def main(
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
    version: Annotated[  # noqa: ARG001 - answered by its callback
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and stop.")
    ] = False,
) -> None:
    """Does an embedding model, a similarity metric or a retrieval stack understand what it compares?"""
    global _debug
    _debug = debug


def run() -> None:
    """Entry point: run the app; a known error is one line on stderr, its mend, and its exit code."""
    with only_visible():
        _run()


def _run() -> None:
    try:
        app()
    except EmbassayError as error:
        if _debug:
            _show_traceback(error)
        else:
            typer.echo(f"embassay: {error.message}", err=True)
            if error.mend:
                typer.echo(f"           {error.mend}", err=True)
        sys.exit(error.exit_code)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(0)
    except Exception as error:  # a mistake of ours keeps its traceback
        _show_traceback(error)
        sys.exit(1)


def _show_traceback(error: Exception) -> None:
    """Without the keys that were read: what a server or a driver says may repeat them."""
    import traceback

    from embassay.systems.remote.keys import redacted

    typer.echo(redacted("".join(traceback.format_exception(error))), err=True, nl=False)
