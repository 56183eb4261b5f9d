"""`embassay pteb run` and `pteb prompts`: systems on fresh paraphrases; how much the prompt matters."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from embassay.cli import options as given
from embassay.cli.options import column_map, default_out, last_seeds, one_of, settings
from embassay.protocols.tasks.task import PtebOptions
from embassay.protocols.wordings.records import Generation

if TYPE_CHECKING:
    from embassay.cli.session import Display
    from embassay.protocols.pteb import Request

Paraphrasers = Annotated[
    list[str],
    typer.Option(
        "--paraphraser", "-p",
        help="A chat model (ollama:gemma3:27b), `recorded`, `stored:FOLDER`, or a control (`copied`, `permuted`).",
    ),
]  # fmt: skip
OriginalOnly = Annotated[
    bool, typer.Option("--original-only", help="Score the texts as they are, without paraphrasing.")
]  # fmt: skip
SomeParaphrasers = Annotated[list[str] | None, *Paraphrasers.__metadata__]
Prompts = Annotated[
    list[str] | None,
    typer.Option("--prompt", help="default, variant1 to variant3, or a text file."),
]  # fmt: skip
Runs = Annotated[int, typer.Option("--runs", min=1, help="Runs, each with fresh paraphrases.")]
UntilCi = Annotated[
    float | None,
    typer.Option(
        "--until-ci", metavar="POINTS",
        help="Add runs until every drop is known to +- this many points over runs (95%); few items stay few.",
    ),
]  # fmt: skip
MaxRuns = Annotated[int, typer.Option("--max-runs", min=1, help="Most runs under --until-ci.")]
Control = Annotated[
    bool,
    typer.Option("--control", help="Add a control: texts with words permuted as far as paraphrasing changed them."),
]  # fmt: skip
Baseline = Annotated[
    str,
    typer.Option(
        "--baseline", help="The system that others are compared with. Default: the first embedding."
    ),
]
OnFailure = Annotated[
    str,
    typer.Option(
        "--on-failure",
        help="Leave out a text without a usable paraphrase (`leave-out`), or keep it (`original`, the authors' code).",
    ),
]  # fmt: skip
Exclude = Annotated[
    str | None, typer.Option("--exclude", help="`copied`: leave out texts that paraphrasing did not change.")
]
SeedPer = Annotated[
    str, typer.Option("--seed-per", help="One seed per `run` (equal texts stay equal) or per `text`.")
]  # fmt: skip
LastSeed = Annotated[
    list[str] | None,
    typer.Option("--last-seed", metavar="DATASET=SEED", help="Another seed for a dataset's last run."),
]  # fmt: skip


UNTIL_CI = (
    "--until-ci narrows the noise of paraphrasing only: the interval over runs. What few items leave open stays open; "
    "both intervals are told at the end."
)


@settings(PtebOptions)
@settings(Generation, "generation")
def run(
    system: given.Systems,
    paraphraser: SomeParaphrasers = None,
    original_only: OriginalOnly = False,
    task: given.Tasks = None,
    dataset: given.Datasets = None,
    mapping: given.Mapping = None,
    split: given.Split = None,
    grades: given.Grades = None,
    limit: given.Limit = None,
    runs: Runs = 6,
    seed: given.Seed = 1337,
    until_ci: UntilCi = None,
    max_runs: MaxRuns = 20,
    prompt: Prompts = None,
    control: Control = False,
    baseline: Baseline = "",
    on_failure: OnFailure = "leave-out",
    exclude: Exclude = None,
    seed_per: SeedPer = "run",
    last_seed: LastSeed = None,
    tokenizer: given.TokenizerName = "cl100k",
    out: given.Out = None,
    workers: given.Workers = 1,
    engine: given.Engine = given.EngineName.local,
    address: given.Address = None,
    max_cost: given.MaxCost = None,
    dry_run: given.DryRun = False,
    json: given.Json = False,
    wide: given.Wide = False,
    options: PtebOptions = PtebOptions(),  # noqa: B008 - replaced by `settings`
    generation: Generation = Generation(),  # noqa: B008 - replaced by `settings`
) -> None:
    """Score systems on original texts and on fresh paraphrases.

    The paraphrases stay in the run: `-p stored:FOLDER` replays them without a model.

    Example: embassay pteb run -s minilm -p recorded
    """
    from embassay.cli.session import Display
    from embassay.protocols.pteb import Request

    request = Request(
        tuple(system), tuple(task or ()), tuple(dataset or ("sample",)), column_map(mapping), split, grades,
        limit, seed, tokenizer, tuple(paraphraser or ()), tuple(prompt or ("default",)), runs, until_ci, max_runs,
        control, baseline, one_of("--on-failure", on_failure, {"leave-out": "leave out", "original": "original"}),
        one_of("--exclude", exclude, {"copied": "copied"}) == "copied",
        one_of("--seed-per", seed_per, {"run": "run", "text": "text"}), last_seeds(last_seed), generation, options,
        original_only,
    )  # fmt: skip
    display, out = Display(json, wide), out or default_out("pteb")
    if dry_run:
        plan_pteb(request, display)
    else:
        crew = given.crew(workers, engine, address)
        run_pteb(request, out, display, workers=crew, max_usd=max_cost)


@settings(PtebOptions)
@settings(Generation, "generation")
def prompts(
    system: given.Systems,
    paraphraser: Paraphrasers,
    dataset: given.Datasets = None,
    prompt: Prompts = None,
    mapping: given.Mapping = None,
    split: given.Split = None,
    limit: given.Limit = None,
    runs: Runs = 1,
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
    options: PtebOptions = PtebOptions(),  # noqa: B008 - replaced by `settings`
    generation: Generation = Generation(),  # noqa: B008 - replaced by `settings`
) -> None:
    """Tell how much STS scores depend on the paraphrasing prompt.

    Example: embassay pteb prompts -s minilm -p ollama:gemma3:27b
    """
    from embassay.cli.session import Display
    from embassay.protocols.pteb import Request
    from embassay.protocols.pteb.paraphrasing.paraphrasers import PROMPT_NAMES

    request = Request(
        tuple(system), ("sts",), tuple(dataset or ("sample",)), column_map(mapping), split, None, limit, seed,
        tokenizer, tuple(paraphraser), tuple(prompt or PROMPT_NAMES), runs, generation=generation, options=options,
    )  # fmt: skip
    display, out = Display(json, wide), out or default_out("prompts")
    if dry_run:
        plan_pteb(request, display)
    else:
        crew = given.crew(workers, engine, address)
        run_pteb(request, out, display, workers=crew, max_usd=max_cost)


def run_pteb(request: Request, out: Path, display: Display, *, report: bool = True, **arguments: Any) -> None:
    """Carry out a request."""
    from embassay.cli.session import carry_out
    from embassay.protocols.pteb.protocol import Pteb

    _say_what_is_narrowed(request)
    carry_out(partial(Pteb().carry_out, request), out, display=display, report=report, **arguments)


def plan_pteb(request: Request, display: Display) -> None:
    """Show what a request would take."""
    from embassay.cli.session import show_plan
    from embassay.protocols.pteb.protocol import Pteb

    _say_what_is_narrowed(request)
    show_plan(partial(Pteb().foreseen, request), display)


def _say_what_is_narrowed(request: Request) -> None:
    if request.until_ci is not None:
        typer.echo(UNTIL_CI, err=True)
