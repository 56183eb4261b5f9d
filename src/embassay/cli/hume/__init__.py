"""`embassay hume`: how would people do on the same items?"""

from __future__ import annotations

from embassay.cli.hume import annotation, exchange, results, sample
from embassay.cli.options import App, stopping_at_memory, within_memory

app = App("HUME: how well would people do on the same items?")


@app.callback()
def group() -> None:
    """HUME: how well would people do on the same items?"""


app.command("annotate")(stopping_at_memory(annotation.annotate))
app.command("score")(within_memory(results.score))
app.command("sample")(stopping_at_memory(sample.sample))
app.command("hybrid")(stopping_at_memory(annotation.hybrid))
app.command("simulate")(stopping_at_memory(annotation.simulate))
app.command("serve")(stopping_at_memory(annotation.serve))
app.command("offline")(stopping_at_memory(annotation.offline))
app.command("links")(annotation.links)
app.command("import")(stopping_at_memory(exchange.import_))
app.command("export")(stopping_at_memory(exchange.export))
