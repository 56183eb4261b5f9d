"""`embassay rag questions`: questions about documents, written by a language model or asked by themselves."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from embassay.cli import options as given
from embassay.cli.options import default_out, settings
from embassay.protocols.kernel.request import column_map
from embassay.protocols.questions.options import QuestionsOptions

if TYPE_CHECKING:
    from embassay.cli.session import Display

Corpus = Annotated[
    str,
    typer.Option("--corpus", help="A folder of documents, a table with `text`, or a dataset."),
]
Writer = Annotated[
    str,
    typer.Option("--llm", help="The chat model that writes: ollama:gemma3:27b. Without one, documents ask."),
]
Checker = Annotated[
    str,
    typer.Option(
        "--checker", help="The chat model that checks whether a question is answered. Default: --llm."
    ),
]
Queries = Annotated[
    Path | None, typer.Option("--queries", help="Users' own questions: a table with `text`. They come first.")
]
KindNames = Annotated[
    list[str] | None,
    typer.Option(
        "--kind", "-k",
        help="fact, comparison, procedure, keywords, typo, language; title, heading, faq, sentence. Default: all.",
    ),
]  # fmt: skip


@settings(QuestionsOptions)
def questions(
    corpus: Corpus,
    llm: Writer = "",
    checker: Checker = "",
    queries: Queries = None,
    kind: KindNames = None,
    mapping: given.Mapping = None,
    seed: given.Seed = 1337,
    out: given.Out = None,
    max_cost: given.MaxCost = None,
    dry_run: given.DryRun = False,
    json: given.Json = False,
    wide: given.Wide = False,
    options: QuestionsOptions = QuestionsOptions(),  # noqa: B008 - replaced by `settings`
) -> None:
    """Write questions about documents, each with its evidence.

    A second call checks that the passage answers; copies and repeats go.

    Example: embassay rag questions --corpus docs --llm ollama:gemma3:27b
    """
    from embassay.cli.session import Display, carry_out, show_plan
    from embassay.protocols.rag.questions.options import QuestionsRequest
    from embassay.protocols.rag.questions.protocol import Questioning

    request = QuestionsRequest(
        corpus, llm, checker, str(queries or ""), tuple(kind or ()), column_map(mapping), seed, options
    )
    display, place = Display(json, wide), out or default_out("questions")
    if dry_run:
        show_plan(partial(Questioning().foreseen, request, out=place), display)
        return
    carry_out(
        partial(Questioning().carry_out, request), place, display=display, max_usd=max_cost,
        show=_show,
    )  # fmt: skip


def _show(path: Path, display: Display, report: bool) -> None:
    """The results as JSON, or the tables and where the set is."""
    from embassay.cli.session import show_run
    from embassay.report.rag.questions import questions_view

    show_run(path, display, report, view=questions_view)
