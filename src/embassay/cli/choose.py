"""`embassay choose`: which system to use on your documents, without labels."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import typer

from embassay.cli.options import WorkerOptions, add_memory_option, add_record_options
from embassay.protocols.choose.options import ChoiceRequest

Corpus = Annotated[
    str, typer.Argument(help="Your documents: a folder, a table with a column text, or a catalogue name.")
]


@add_memory_option
@add_record_options(tasks=(), datasets=(), grades=None, defaults={"tokenizer": "words"})
def choose(corpus: Corpus, request: ChoiceRequest, running: WorkerOptions) -> None:
    """Choose a system for your documents, without labels.

    Example: embassay choose docs/ -s bm25 -s wordllama -s minilm
    """
    from embassay.cli.session import run_session
    from embassay.protocols.choose.protocol import Choices

    run_session(Choices(), replace(request, datasets=(corpus,)), running, "choose")
