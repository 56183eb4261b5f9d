"""`embassay choose`: which system to use on your documents, without labels."""

from __future__ import annotations

from functools import partial
from typing import Annotated

import typer

from embassay.cli import options as given
from embassay.cli.options import column_map, default_out, settings, within_memory
from embassay.protocols.choose.options import ChoiceOptions

Corpus = Annotated[
    str, typer.Argument(help="Your documents: a folder, a table with a column text, or a catalogue name.")
]


@within_memory
@settings(ChoiceOptions)
def choose(
    corpus: Corpus,
    system: given.Systems,
    mapping: given.Mapping = None,
    split: given.Split = None,
    limit: given.Limit = None,
    seed: given.Seed = 1337,
    tokenizer: given.TokenizerName = "words",
    out: given.Out = None,
    workers: given.Workers = 1,
    engine: given.Engine = given.EngineName.local,
    address: given.Address = None,
    max_cost: given.MaxCost = None,
    dry_run: given.DryRun = False,
    json: given.Json = False,
    wide: given.Wide = False,
    options: ChoiceOptions = ChoiceOptions(),  # noqa: B008 - replaced by `settings`
) -> None:
    """Choose a system for your documents, without labels.

    Example: embassay choose docs/ -s bm25 -s wordllama -s minilm
    """
    from embassay.cli.session import Display, carry_out, show_plan
    from embassay.protocols.choose.protocol import Choices
    from embassay.protocols.kernel.request import TaskRequest

    request = TaskRequest(
        tuple(system), (), (corpus,), column_map(mapping), split, None, limit, seed, tokenizer, options
    )
    display, out = Display(json, wide), out or default_out("choose")
    if dry_run:
        show_plan(partial(Choices().foreseen, request), display)
        return
    crew = given.crew(workers, engine, address)
    carry_out(partial(Choices().carry_out, request), out, display=display, workers=crew, max_usd=max_cost)
