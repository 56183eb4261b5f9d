"""`embassay rag`: what a retriever puts into the prompt."""

from __future__ import annotations

from embassay.cli.options import TitledCommandApp, add_memory_option, stopping_at_memory
from embassay.cli.rag import golden, probes, questions, score, sweep, trace

app = TitledCommandApp("RAG: do the top K passages contain the evidence?")


@app.callback()
def group() -> None:
    """RAG: do the top K passages contain the evidence?"""


app.command("score")(stopping_at_memory(score.score))
app.command("answer")(add_memory_option(questions.answer))
app.command("golden")(add_memory_option(golden.golden))
app.command("judges")(stopping_at_memory(golden.judges))
app.command("questions")(add_memory_option(questions.questions))
app.command("sweep")(add_memory_option(sweep.sweep))
app.command("trace")(add_memory_option(trace.trace))
app.command("prompts")(golden.prompts)
app.add_typer(golden.check_app, name="check")
app.add_typer(probes.app, name="probe")
