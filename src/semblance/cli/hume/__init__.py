"""`semblance hume`: how would people do on the same items? One command per module."""

from __future__ import annotations

import typer

from semblance.cli.hume import annotate, export, import_, offline, sample, score, serve, simulate
from semblance.cli.options import within_memory

app = typer.Typer(
    help="HUME: how would people do on the same items, and how well do they agree?", no_args_is_help=True,
    rich_markup_mode=None,
)  # fmt: skip


@app.callback()
def group() -> None:
    """HUME: how would people do on the same items, how well do they agree, and how should a model's score be read?"""


app.command("annotate")(annotate.annotate)
app.command("score")(within_memory(score.score))
app.command("sample")(sample.sample)
app.command("simulate")(simulate.simulate)
app.command("serve")(serve.serve)
app.command("offline")(offline.offline)
app.command("links")(serve.links)
app.command("import")(import_.import_)
app.command("export")(export.export)
