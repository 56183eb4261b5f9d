"""`embassay pteb judge` and `pteb paraphrasers`: which language model rates as people do, and which paraphrases."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from embassay.cli import options as given
from embassay.cli.options import column_map, default_out, settings
from embassay.protocols.pteb.judging.options import JudgeOptions
from embassay.protocols.pteb.selection.plan import SelectionOptions
from embassay.protocols.wordings.records import Generation

if TYPE_CHECKING:
    pass

Judges = Annotated[list[str], typer.Option("--judge", "-j", help="A chat model, such as ollama:gemma3:27b.")]
Gold = Annotated[
    list[str] | None,
    typer.Option(
        "--gold", metavar="[DATASET=]LOW-HIGH",
        help="Range of the gold scores: 1-5, or sick=1-5. Default: the catalogue's, else 0-5.",
    ),
]  # fmt: skip


@settings(JudgeOptions)
def judge(
    judge: Judges,
    dataset: given.Datasets = None,
    gold: Gold = None,
    mapping: given.Mapping = None,
    split: given.Split = None,
    limit: given.Limit = None,
    seed: given.Seed = 1337,
    out: given.Out = None,
    max_cost: given.MaxCost = None,
    dry_run: given.DryRun = False,
    json: given.Json = False,
    wide: given.Wide = False,
    options: JudgeOptions = JudgeOptions(),  # noqa: B008 - replaced by `settings`
) -> None:
    """Find the language model that rates pairs as people do.

    Models rate pairs of texts from 0 to 5; their ratings are compared with gold scores.

    Example: embassay pteb judge -j ollama:gemma3:27b -d sample
    """
    from embassay.cli.session import Display, carry_out, show_plan
    from embassay.protocols.pteb.judging.options import JudgeRequest
    from embassay.protocols.pteb.judging.protocol import Judging

    request = JudgeRequest(
        tuple(judge), datasets=tuple(dataset or ("sample",)), mapping=column_map(mapping), split=split, limit=limit,
        seed=seed, gold=tuple(gold or ()), options=options,
    )  # fmt: skip
    display = Display(json, wide)
    if dry_run:
        show_plan(partial(Judging().foreseen, request), display)
        return
    carry_out(
        partial(Judging().carry_out, request), out or default_out("judge"), display=display, max_usd=max_cost
    )


Candidates = Annotated[
    list[str],
    typer.Option(
        "--paraphraser", "-p",
        help="A candidate: a chat model, `stored:FOLDER`, or a control.",
    ),
]  # fmt: skip
JudgeName = Annotated[
    str, typer.Option("--judge", "-j", help="The chat model that rates them; choose it with `pteb judge`.")
]
CrossJudges = Annotated[
    list[str] | None,
    typer.Option("--cross-judge", help="Another judge, to check the selection."),
]
PromptName = Annotated[str, typer.Option("--prompt", help="default, variant1 to variant3, or a text file.")]


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
    """Select the paraphraser that keeps meaning and changes words.

    A stated rule selects by rated similarity, edit distance and time. `pteb run -p stored:FOLDER` replays the
    paraphrases.

    Example: embassay pteb paraphrasers -p ollama:gemma3:27b -j ollama:gemma3:27b
    """
    from embassay.cli.session import Display, carry_out, show_plan
    from embassay.protocols.pteb.selection.plan import SelectionRequest
    from embassay.protocols.pteb.selection.protocol import Selecting

    request = SelectionRequest(
        tuple(paraphraser), datasets=tuple(dataset or ("sample",)), mapping=column_map(mapping), split=split,
        limit=limit, seed=seed, judge=judge, cross_judges=tuple(cross_judge or ()), prompt=prompt,
        generation=generation, options=options,
    )  # fmt: skip
    display = Display(json, wide)
    if dry_run:
        show_plan(partial(Selecting().foreseen, request), display)
        return
    done = carry_out(
        partial(Selecting().carry_out, request),
        out or default_out("paraphrasers"),
        display=display,
        max_usd=max_cost,
    )
    selection = done.manifest["selection"]
    typer.echo(f"Selected: {selection['selected'] or 'none'}, {selection['because']}.", err=True)
    for warning in done.manifest["warnings"]:
        typer.echo(f"Warning: {warning}", err=True)
