"""`embassay pteb paraphrasers`: which language model should paraphrase?"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from embassay.cli import options as given
from embassay.cli.options import column_map, default_out, settings
from embassay.protocols.pteb.paraphrasing.generation import Generation
from embassay.protocols.pteb.selection.options import SelectionOptions

if TYPE_CHECKING:
    from embassay.protocols.pteb.selection.request import SelectionRequest
    from embassay.runs.forecast import Forecasts
    from embassay.systems.remote import Ledger

Candidates = Annotated[
    list[str],
    typer.Option(
        "--paraphraser", "-p",
        help="A candidate: a chat model (ollama:gemma3:27b), `stored:FOLDER`, or a control. Repeatable.",
    ),
]  # fmt: skip
JudgeName = Annotated[
    str, typer.Option("--judge", "-j", help="The chat model that rates them; `pteb judge` helps to choose.")
]
CrossJudges = Annotated[
    list[str] | None,
    typer.Option("--cross-judge", help="Another judge of the selected one's paraphrases. Repeatable."),
]
PromptName = Annotated[str, typer.Option("--prompt", help="default, variant1 .. variant3, or a text file.")]


@settings(SelectionOptions)
@settings(Generation, "generation")
def paraphrasers(
    paraphraser: Candidates,
    judge: JudgeName,
    cross_judge: CrossJudges = None,
    dataset: given.Datasets = None,
    prompt: PromptName = "default",
    mapping: given.Mapping = None,
    split: given.Split = None,
    limit: given.Limit = None,
    seed: given.Seed = 1337,
    out: given.Out = None,
    max_cost: given.MaxCost = None,
    dry_run: given.DryRun = False,
    json: given.Json = False,
    wide: given.Wide = False,
    options: SelectionOptions = SelectionOptions(),  # noqa: B008 - replaced by `settings`
    generation: Generation = Generation(),  # noqa: B008 - replaced by `settings`
) -> None:
    """Compare paraphrasers by meaning kept, words changed and time taken, and select one by a stated rule (step 2).

    The paraphrases are kept: `pteb run -p stored:FOLDER` replays them.
    """
    from embassay.cli.running import Display, carry_out, show_plan
    from embassay.protocols.pteb.selection import run
    from embassay.protocols.pteb.selection.request import SelectionRequest

    request = SelectionRequest(
        tuple(paraphraser), datasets=tuple(dataset or ("sample",)), mapping=column_map(mapping), split=split,
        limit=limit, seed=seed, judge=judge, cross_judges=tuple(cross_judge or ()), prompt=prompt,
        generation=generation, options=options,
    )  # fmt: skip
    display = Display(json, wide)
    if dry_run:
        show_plan(partial(_forecast, request), display)
        return
    done = carry_out(
        partial(run.carry_out, request), out or default_out("paraphrasers"), display=display, max_usd=max_cost
    )
    selection = done.manifest["selection"]
    typer.echo(f"Selected: {selection['selected'] or 'none'}, {selection['because']}.", err=True)
    for warning in done.manifest["warnings"]:
        typer.echo(f"Warning: {warning}", err=True)


def _forecast(request: SelectionRequest, ledger: Ledger) -> Forecasts:
    from embassay.protocols.pteb.selection.cost import forecast
    from embassay.protocols.pteb.selection.plan import make_plan

    return forecast(make_plan(request, ledger=ledger))
