"""`embassay choose`: which system to use on your documents, without labels."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from textwrap import indent
from typing import Annotated

import typer

from embassay.cli.options import (
    RankMatrixPrintOptions,
    WorkerOptions,
    add_memory_option,
    add_options_from_record_parameters,
)
from embassay.protocols.choose.options import ChoiceRequest
from embassay.protocols.kernel.request import OUTPUT, option
from embassay.runs.folder import format_value_as_json

Corpus = Annotated[
    str, typer.Argument(help="Your documents: a folder, a table with a `text` column, or a catalogue name.")
]


@dataclass(frozen=True)
class SystemChoicePrintOptions(RankMatrixPrintOptions):
    """Options for what is printed beside a choice, or in its place."""

    show_passages: int = option(
        0, "Print this many passages with their ids and questions, and exit.", least=0, value="N", group=OUTPUT
    )


@add_memory_option
@add_options_from_record_parameters(tasks=(), datasets=(), grades=None, defaults={"tokenizer": "words", "systems": ()})
def choose(corpus: Corpus, request: ChoiceRequest, running: WorkerOptions, shown: SystemChoicePrintOptions) -> None:
    """Choose a system for your documents, without labels.

    Example: embassay choose docs/ -s bm25 -s wordllama -s minilm
    """
    from embassay.cli.session import print_rank_matrix_of_first_questions, run_or_plan_protocol
    from embassay.protocols.choose.protocol import SystemChoiceProtocol

    request = replace(request, datasets=(corpus,))
    if shown.show_passages:
        _print_passages_with_search_sentences(request, shown.show_passages, as_json=running.json)
        return
    run = run_or_plan_protocol(SystemChoiceProtocol(), request, running, "choose")
    if shown.matrix and run is not None and not running.json:
        print_rank_matrix_of_first_questions(run.path, wide=running.wide)


def _print_passages_with_search_sentences(request: ChoiceRequest, n: int, *, as_json: bool) -> None:
    """Print each passage's id and text, and the sentence taken out of it to be looked for."""
    from embassay.protocols.choose.protocol import list_first_searched_passages

    for passage in list_first_searched_passages(request, n):
        if as_json:
            typer.echo(format_value_as_json(asdict(passage)))
            continue
        typer.echo(f"{passage.id}\n")
        typer.echo(indent(passage.text, "    "))
        typer.echo(f"\n    question: {passage.question}\n" if passage.question else "")
