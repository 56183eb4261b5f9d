"""`embassay hume`: how would people do on the same items?"""

from __future__ import annotations

import typer

from embassay.cli.hume import annotation, annotators, exchange, results, sample
from embassay.cli.options import stopping_at_memory, within_memory

app = typer.Typer(
    help="HUME: how would people do on the same items, and how well do they agree?", no_args_is_help=True,
    rich_markup_mode=None,
)  # fmt: skip


@app.callback()
def group() -> None:
    """HUME: how would people do on the same items, how well do they agree, and how should a model's score be read?"""


app.command("annotate")(stopping_at_memory(annotators.annotate))
app.command("score")(within_memory(results.score))
app.command("sample")(stopping_at_memory(sample.sample))
app.command("simulate")(stopping_at_memory(annotators.simulate))
app.command("serve")(stopping_at_memory(annotation.serve))
app.command("offline")(stopping_at_memory(annotation.offline))
app.command("links")(annotation.links)
app.command("import")(stopping_at_memory(exchange.import_))
app.command("export")(stopping_at_memory(exchange.export))
