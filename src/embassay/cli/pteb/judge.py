"""`embassay pteb judge`: which language model rates the similarity of texts as people do?"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from embassay.cli import options as given
from embassay.cli.options import column_map, default_out, settings
from embassay.protocols.pteb.judging.options import JudgeOptions

if TYPE_CHECKING:
    from embassay.protocols.pteb.judging.request import JudgeRequest
    from embassay.runs.forecast import Forecasts
    from embassay.systems.remote import Ledger

Judges = Annotated[
    list[str], typer.Option("--judge", "-j", help="A chat model, such as ollama:gemma3:27b. Repeatable.")
]
Gold = Annotated[
    list[str] | None,
    typer.Option(
        "--gold", metavar="[DATASET=]LOW-HIGH",
        help="The range of gold scores: 1-5, or sick=1-5. Default: the catalogue's, else 0-5. Repeatable.",
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
    """Have language models rate pairs of texts from 0 to 5, and compare with gold scores (step 1; tables 2 and 3)."""
    from embassay.cli.running import Display, carry_out, show_plan
    from embassay.protocols.pteb.judging import run
    from embassay.protocols.pteb.judging.request import JudgeRequest

    request = JudgeRequest(
        tuple(judge), datasets=tuple(dataset or ("sample",)), mapping=column_map(mapping), split=split, limit=limit,
        seed=seed, gold=tuple(gold or ()), options=options,
    )  # fmt: skip
    display = Display(json, wide)
    if dry_run:
        show_plan(partial(_forecast, request), display)
        return
    carry_out(partial(run.carry_out, request), out or default_out("judge"), display=display, max_usd=max_cost)


def _forecast(request: JudgeRequest, ledger: Ledger) -> Forecasts:
    from embassay.protocols.pteb.judging.cost import forecast
    from embassay.protocols.pteb.judging.plan import make_plan

    return forecast(make_plan(request, ledger=ledger))
