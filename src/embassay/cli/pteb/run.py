"""`embassay pteb run`, `prompts`, `judge` and `paraphrasers`: systems on fresh paraphrases, how much the prompt
matters, which model rates as people do, and which rewords."""

from __future__ import annotations

import typer

from embassay.cli.options import Running, Spread, of_records
from embassay.protocols.pteb.candidates import SelectionRequest
from embassay.protocols.pteb.options import PROMPT_NAMES, JudgeRequest, Request

UNTIL_CI = (
    "--until-ci narrows the noise of paraphrasing only: the interval over runs. It does not make up for few items; "
    "both intervals are shown at the end."
)


@of_records(defaults={"paraphrasers": ()})
def run(request: Request, running: Spread) -> None:
    """Score systems on original texts and on fresh paraphrases.

    The paraphrases stay in the run: `-p stored:FOLDER` replays them without a model.

    Example: embassay pteb run -s minilm -p recorded
    """
    from embassay.cli.session import do
    from embassay.protocols.pteb.protocol import Pteb

    if request.until_ci is not None:
        typer.echo(UNTIL_CI, err=True)
    do(Pteb(), request, running, "pteb")


OF_RUNS = {
    "grades", "until_ci", "max_runs", "control", "baseline", "on_failure", "exclude_copied", "seed_per", "last_seeds",
    "original_only",
}  # fmt: skip
"""What can be told a run, and means nothing where prompts are compared."""


@of_records(
    tasks=("sts",),
    without=OF_RUNS,
    defaults={"paraphrasers": ..., "prompts": PROMPT_NAMES, "runs": 1},
)
def prompts(request: Request, running: Spread) -> None:
    """Measure how much STS scores depend on the paraphrasing prompt.

    Example: embassay pteb prompts -s minilm -p ollama:gemma3:27b
    """
    from embassay.cli.session import do
    from embassay.protocols.pteb.protocol import Pteb

    do(Pteb(), request, running, "prompts")


OF_CELLS = ("tokenizer", "tasks", "grades")
"""What is asked of a run over tasks, and of nothing that rates pairs."""


@of_records(without=OF_CELLS)
def judge(request: JudgeRequest, running: Running) -> None:
    """Find the language model that rates pairs as people do.

    Models rate pairs of texts from 0 to 5; their ratings are compared with gold scores.

    Example: embassay pteb judge -j ollama:gemma3:27b -d sample
    """
    from embassay.cli.session import do
    from embassay.protocols.pteb.judging import Judging

    do(Judging(), request, running, "judge")


@of_records(without=OF_CELLS, defaults={"judge": ...})
def paraphrasers(request: SelectionRequest, running: Running) -> None:
    """Select the paraphraser that keeps meaning and changes words.

    A stated rule selects by rated similarity, edit distance and time. `pteb run -p stored:FOLDER` replays the
    paraphrases.

    Example: embassay pteb paraphrasers -p ollama:gemma3:27b -j ollama:gemma3:27b
    """
    from embassay.cli.session import do
    from embassay.protocols.pteb.selection import Selecting

    done = do(Selecting(), request, running, "paraphrasers")
    if done is None:
        return
    selection = done.manifest["selection"]
    typer.echo(f"Selected: {selection['selected'] or 'none'}, {selection['because']}.", err=True)
    for warning in done.manifest["warnings"]:
        typer.echo(f"Warning: {warning}", err=True)
