"""`embassay rag`: what a retriever puts into the prompt."""

from __future__ import annotations

from embassay.cli.options import App, stopping_at_memory, within_memory
from embassay.cli.rag import golden, probes, questions, score, sweep, trace

app = App("RAG: do the top K passages contain the evidence?")


@app.callback()
def group() -> None:
    """RAG: do the top K passages contain the evidence?"""


app.command("score")(stopping_at_memory(score.score))
app.command("answer")(within_memory(questions.answer))
app.command("golden")(within_memory(golden.golden))
app.command("judges")(stopping_at_memory(golden.judges))
app.command("questions")(within_memory(questions.questions))
app.command("sweep")(within_memory(sweep.sweep))
app.command("trace")(within_memory(trace.trace))
app.command("prompts")(golden.prompts)
app.add_typer(golden.check_app, name="check")
app.add_typer(probes.app, name="probe")
