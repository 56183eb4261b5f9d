"""`embassay pteb`: evaluation on fresh paraphrases."""

from __future__ import annotations

from embassay.cli.options import App, stopping_at_memory, within_memory
from embassay.cli.pteb import run, validation

app = App("PTEB: benchmark scores after every text was paraphrased.")


@app.callback()
def group() -> None:
    """PTEB: benchmark scores after every text was paraphrased."""


app.command("judge")(stopping_at_memory(run.judge))
app.command("paraphrasers")(stopping_at_memory(run.paraphrasers))
app.command("run")(within_memory(run.run))
app.command("prompts")(within_memory(run.prompts))
app.add_typer(validation.app, name="validate")
