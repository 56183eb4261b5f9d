"""`embassay hteb run`: systems on texts that were rewritten in eight ways."""

from __future__ import annotations

from functools import partial
from typing import Annotated

import typer

from embassay.cli import options as given
from embassay.cli.options import column_map, default_out, last_seeds, one_of, settings
from embassay.protocols.hteb.options import HtebOptions, TransformOptions

TransformerName = Annotated[
    str,
    typer.Option(
        "--transformer",
        help="A chat model (ollama:gemma3:27b), `recorded` (the sample's), or `stored:FOLDER`.",
    ),
]
Names = Annotated[
    str,
    typer.Option(
        "--transformations", metavar="NAME,...",
        help="Transformations, or axes: style, length, language. Default: all.",
    ),
]  # fmt: skip
Runs = Annotated[int, typer.Option("--runs", min=1, help="Runs, each with freshly transformed texts.")]
UntilCi = Annotated[
    float | None,
    typer.Option(
        "--until-ci", metavar="POINTS",
        help="Add runs until every change is known to +- this many points over runs (95%); few items stay few.",
    ),
]  # fmt: skip
MaxRuns = Annotated[int, typer.Option("--max-runs", min=1, help="Most runs under --until-ci.")]
Baseline = Annotated[str, typer.Option("--baseline", help="The system that others are compared with.")]
Failed = Annotated[
    str,
    typer.Option(
        "--failed",
        help="Leave out a text that failed (`leave-out`), or put the original in its place (`reference`).",
    ),
]
Exclude = Annotated[
    bool, typer.Option("--exclude-unchanged", help="Leave out texts that came back as they were.")
]
LastSeed = Annotated[
    list[str] | None,
    typer.Option("--last-seed", metavar="DATASET=SEED", help="Another seed for a dataset's last run."),
]  # fmt: skip
Family = Annotated[
    list[str] | None,
    typer.Option(
        "--family", metavar="NAME=SYSTEM:BILLIONS,...",
        help="Sizes of the models of a family, to see whether its gap shrinks.",
    ),
]  # fmt: skip
Reference = Annotated[
    bool,
    typer.Option(
        "--reference", help="Set every option to its value `reference`, as the authors' code has it."
    ),
]


@settings(HtebOptions)
@settings(TransformOptions, "generation")
def run(
    system: given.Systems,
    transformer: TransformerName,
    transformations: Names = "",
    task: given.Tasks = None,
    dataset: given.Datasets = None,
    mapping: given.Mapping = None,
    split: given.Split = None,
    grades: given.Grades = None,
    limit: given.Limit = None,
    runs: Runs = 3,
    seed: given.Seed = 1337,
    until_ci: UntilCi = None,
    max_runs: MaxRuns = 20,
    baseline: Baseline = "",
    failed: Failed = "leave-out",
    exclude_unchanged: Exclude = False,
    last_seed: LastSeed = None,
    family: Family = None,
    reference: Reference = False,
    tokenizer: given.TokenizerName = "cl100k",
    out: given.Out = None,
    workers: given.Workers = 1,
    engine: given.Engine = given.EngineName.local,
    address: given.Address = None,
    max_cost: given.MaxCost = None,
    dry_run: given.DryRun = False,
    json: given.Json = False,
    wide: given.Wide = False,
    options: HtebOptions = HtebOptions(),  # noqa: B008 - replaced by `settings`
    generation: TransformOptions = TransformOptions(),  # noqa: B008 - replaced by `settings`
) -> None:
    """Score systems on texts as they are and rewritten in eight ways.

    Axes: wording and style, length, language. The texts stay in the run: `--transformer stored:FOLDER` replays them.

    Example: embassay hteb run -s minilm --transformer ollama:gemma3:27b --limit 50
    """
    from embassay.cli.session import Display, carry_out, show_plan
    from embassay.protocols.hteb.options import Request, as_reference, read_families, read_transformations
    from embassay.protocols.hteb.protocol import Hteb

    if reference:
        options, generation, failed = as_reference(options), as_reference(generation), "reference"
    request = Request(
        tuple(system), tuple(task or ()), tuple(dataset or ("sample",)), column_map(mapping), split, grades, limit,
        seed, tokenizer, transformer, read_transformations(transformations), runs, until_ci, max_runs, baseline,
        one_of("--failed", failed, {"leave-out": "leave out", "reference": "original"}),
        exclude_unchanged, last_seeds(last_seed), read_families(family), generation, options,
    )  # fmt: skip
    display, crew = Display(json, wide), given.crew(workers, engine, address)
    if dry_run:
        show_plan(partial(Hteb().foreseen, request), display)
        return
    carry_out(partial(Hteb().carry_out, request), out or default_out("hteb"), display=display,
              workers=crew, max_usd=max_cost)  # fmt: skip
