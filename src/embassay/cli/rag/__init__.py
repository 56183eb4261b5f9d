"""`embassay rag`: what a retriever puts into the prompt."""

from __future__ import annotations

import typer

from embassay.cli.options import stopping_at_memory, within_memory
from embassay.cli.rag import golden, probes, score, sweep

app = typer.Typer(
    help="RAG: does the set of K passages in the prompt hold the evidence?", no_args_is_help=True,
    rich_markup_mode=None,
)  # fmt: skip


@app.callback()
def group() -> None:
    """RAG: does the set of K passages in the prompt hold the decisive evidence, and what would mend it if not?"""


app.command("score")(stopping_at_memory(score.score))
app.command("golden")(within_memory(golden.golden))
app.command("sweep")(within_memory(sweep.sweep))
app.command("prompts")(golden.prompts)
app.add_typer(golden.check_app, name="check")
app.add_typer(probes.app, name="probe")
