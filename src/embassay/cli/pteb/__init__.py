"""`embassay pteb`: evaluation on fresh paraphrases."""

from __future__ import annotations

import typer

from embassay.cli.options import stopping_at_memory, within_memory
from embassay.cli.pteb import models, run, validation

app = typer.Typer(
    help="PTEB: benchmark scores after every text was paraphrased.", no_args_is_help=True,
    rich_markup_mode=None,
)  # fmt: skip


@app.callback()
def group() -> None:
    """PTEB: benchmark scores after a language model has paraphrased every text, over several seeds."""


app.command("judge")(stopping_at_memory(models.judge))
app.command("paraphrasers")(stopping_at_memory(models.paraphrasers))
app.command("run")(within_memory(run.run))
app.command("prompts")(within_memory(run.prompts))
app.add_typer(validation.app, name="validate")
