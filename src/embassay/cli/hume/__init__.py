"""`embassay hume`: how would people do on the same items?"""

from __future__ import annotations

from embassay.cli.hume import results, study
from embassay.cli.options import TitledCommandApp, add_memory_option, stopping_at_memory

app = TitledCommandApp("HUME: how well would people do on the same items?")


@app.callback()
def group() -> None:
    """HUME: how well would people do on the same items?"""


app.command("annotate")(stopping_at_memory(study.annotate))
app.command("score")(add_memory_option(results.score))
app.command("sample")(stopping_at_memory(study.sample))
app.command("hybrid")(stopping_at_memory(study.hybrid))
app.command("simulate")(stopping_at_memory(study.simulate))
app.command("serve")(stopping_at_memory(study.serve))
app.command("offline")(stopping_at_memory(study.offline))
app.command("links")(study.links)
app.command("import")(stopping_at_memory(study.import_))
app.command("export")(stopping_at_memory(study.export))
