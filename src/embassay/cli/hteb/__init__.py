"""`embassay hteb`: benchmark scores after eight transformations on three axes."""

from __future__ import annotations

from embassay.cli.hteb import people, texts
from embassay.cli.options import App, stopping_at_memory, within_memory

app = App("HTEB: what eight transformations on three axes leave of scores.")


@app.callback()
def group() -> None:
    """HTEB: what eight transformations on three axes leave of scores."""


app.command("run")(within_memory(texts.run))
app.command("transform")(stopping_at_memory(texts.transform))
app.command("import")(stopping_at_memory(texts.import_))
app.command("export")(stopping_at_memory(texts.export))
app.add_typer(people.app, name="validate")
