"""`embassay run`: any protocol over tasks, by its name; those of other packages have no other command."""

from __future__ import annotations

from functools import partial
from typing import Annotated

import typer

from embassay.cli import options as given
from embassay.cli.options import column_map, default_out, within_memory

Name = Annotated[str, typer.Argument(help="A protocol from `embassay list protocols`.")]
Options = Annotated[
    list[str] | None,
    typer.Option("--option", "-o", metavar="NAME=VALUE", help="An option of the protocol."),
]


@within_memory
def run(
    protocol: Name,
    system: given.Systems,
    task: given.Tasks = None,
    dataset: given.Datasets = None,
    option: Options = None,
    mapping: given.Mapping = None,
    split: given.Split = None,
    grades: given.Grades = None,
    limit: given.Limit = None,
    seed: given.Seed = 1337,
    tokenizer: given.TokenizerName = "cl100k",
    out: given.Out = None,
    workers: given.Workers = 1,
    engine: given.Engine = given.EngineName.local,
    address: given.Address = None,
    max_cost: given.MaxCost = None,
    dry_run: given.DryRun = False,
    json: given.Json = False,
    wide: given.Wide = False,
) -> None:
    """Run any protocol by name, also one of another package.

    Example: embassay run sage -s minilm -s bm25 -d my.jsonl
    """
    from embassay.cli.session import Display, carry_out, show_plan
    from embassay.protocols.kernel.evaluation import PROTOCOLS
    from embassay.protocols.kernel.request import TaskRequest, read_options

    made = PROTOCOLS.build(protocol)
    request = TaskRequest(
        tuple(system), tuple(task or ()), tuple(dataset or ("sample",)), column_map(mapping), split, grades,
        limit, seed, tokenizer, read_options(made.options, option or ()),
    )  # fmt: skip
    display = Display(json, wide)
    if dry_run:
        show_plan(partial(made.foreseen, request), display)
        return
    crew = given.crew(workers, engine, address)
    carry_out(
        partial(made.carry_out, request), out or default_out(protocol), display=display, workers=crew,
        max_usd=max_cost,
    )  # fmt: skip
