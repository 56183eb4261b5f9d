"""`embassay calibrate`: what a similarity means, thresholds that keep a promise, and one model's in another's scale."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

from embassay.cli import options as given
from embassay.cli.options import DETAILS, column_map, default_out, settings, within_memory
from embassay.errors import UsageError
from embassay.protocols.calibration.options import CalibrationOptions

if TYPE_CHECKING:
    from pathlib import Path

    from embassay.cli.session import Display

From = Annotated[
    str | None,
    typer.Option(
        "--from", metavar="SYSTEM=SCORE", help="A threshold of one of the systems, to say in the others' scales.",
        rich_help_panel=DETAILS,
    ),
]  # fmt: skip
To = Annotated[
    list[str] | None,
    typer.Option(
        "--to", metavar="SYSTEM", help="Whose scale --from is told in; by default every other system's.",
        rich_help_panel=DETAILS,
    ),
]  # fmt: skip


Systems = Annotated[
    list[str] | None,
    typer.Option(
        "--system", "-s", metavar="NAME", help="A system from `embassay list systems`.",
        rich_help_panel="Systems and models",
    ),
]  # fmt: skip
Runs = Annotated[
    list[str] | None,
    typer.Option(
        "--run", metavar="FILE",
        help="Instead of a system, what an engine retrieved: the score from which on to answer a question.",
    ),
]  # fmt: skip
Qrels = Annotated[
    str | None,
    typer.Option("--qrels", metavar="FILE", help="With --run: graded judgements of passages."),
]  # fmt: skip
Cutoff = Annotated[
    int, typer.Option("-k", min=1, help="With --run: passages that an answer is made from.")
]  # fmt: skip


@within_memory
@settings(CalibrationOptions)
def calibrate(
    system: Systems = None,
    dataset: given.Datasets = None,
    run: Runs = None,
    qrels: Qrels = None,
    k: Cutoff = 10,
    origin: From = None,
    target: To = None,
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
    options: CalibrationOptions = CalibrationOptions(),  # noqa: B008 - replaced by `settings`
) -> None:
    """Tell what a similarity means, and from which one on to accept.

    It is fitted to labelled or graded pairs; or to a run and judgements: from which score on to answer a question.

    Example: embassay calibrate -s wordllama -d pairs.jsonl --precision 0.9
    """
    from embassay.cli.session import Display, carry_out, show_plan
    from embassay.protocols.calibration.protocol import Calibrations
    from embassay.protocols.kernel.request import TaskRequest

    asked = _threshold(origin) if origin else None
    check_sources(system, dataset, run, qrels)
    display, out = Display(json, wide), out or default_out("calibration")
    if run:
        files = {"qrels": qrels, "runs": tuple(run), "grades": grades, "seed": seed, "split": split}
        _calibrate_runs(files | {"mapping": column_map(mapping)}, k, options, out, display)
        if asked is not None and not json:
            _show_translations(out, *asked, target or (), wide)
        return
    request = TaskRequest(
        tuple(system or ()), (), tuple(dataset or ("sample",)), column_map(mapping), split, grades, limit, seed,
        tokenizer, options,
    )  # fmt: skip
    protocol = Calibrations.of(options)
    if dry_run:
        show_plan(partial(protocol.foreseen, request), display)
        return
    crew = given.crew(workers, engine, address)
    carry_out(partial(protocol.carry_out, request), out, display=display, workers=crew, max_usd=max_cost)
    if asked is not None and not json:
        _show_translations(out, *asked, target or (), wide)


def check_sources(
    system: list[str] | None, dataset: list[str] | None, run: list[str] | None, qrels: str | None
) -> None:
    """UsageError unless there are systems, or runs with judgements."""
    if run and not qrels:
        raise UsageError("--run has no judgements.", mend="Add --qrels FILE.")
    if run and (system or dataset):
        raise UsageError("--run takes the place of --system and --dataset.", mend="Leave one of them out.")
    if qrels and not run:
        raise UsageError("--qrels is of --run.", mend="Add --run FILE.")
    if not run and not system:
        raise UsageError("There is nothing to calibrate.", mend="Name a --system, or a --run with --qrels.")


def _calibrate_runs(
    files: dict[str, Any], cutoff: int, options: CalibrationOptions, out: Path, display: Display
) -> None:
    import shlex
    import sys

    from embassay.cli.session import show_run
    from embassay.protocols.rag.scoring.inputs import ScoreRequest
    from embassay.protocols.rag.scoring.threshold import RunCalibrationRequest, calibrate_runs

    calibrate_runs(
        RunCalibrationRequest(ScoreRequest(**files), cutoff, options),
        out,
        shlex.join(["embassay", *sys.argv[1:]]),
    )
    show_run(out, display, True)


def _threshold(text: str) -> tuple[str, float]:
    """
    >>> _threshold("st:a/b?dims=64=0.62")
    ('st:a/b?dims=64', 0.62)
    """
    name, equals, value = text.rpartition("=")
    try:
        if name and equals:
            return name, float(value)
    except ValueError:
        pass
    raise UsageError(f"--from is {text!r}.", mend="Write a system and a threshold of it: --from minilm=0.62.")


def _show_translations(
    out: Path, origin: str, score: float, targets: list[str] | tuple[str, ...], wide: bool
) -> None:
    from embassay.cli.terminal import show_blocks
    from embassay.protocols.calibration.probability import translations
    from embassay.report.calibration import translation_view

    show_blocks(translation_view(translations(out, origin, score, targets)), wide)
