"""`embassay calibrate`: what a similarity means, thresholds that keep a promise, and one model's in another's scale."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from embassay.cli import options as given
from embassay.cli.options import DETAILS, column_map, default_out, settings, within_memory
from embassay.errors import UsageError
from embassay.protocols.calibration.options import CalibrationOptions

if TYPE_CHECKING:
    from pathlib import Path

From = Annotated[
    str | None,
    typer.Option(
        "--from", metavar="SYSTEM=SCORE", help="A threshold of one system, to translate into the others' scales.",
        rich_help_panel=DETAILS,
    ),
]  # fmt: skip
To = Annotated[
    list[str] | None,
    typer.Option(
        "--to", metavar="SYSTEM", help="Systems to translate --from for. Default: all others.",
        rich_help_panel=DETAILS,
    ),
]  # fmt: skip


@within_memory
@settings(CalibrationOptions)
def calibrate(
    system: given.Systems,
    dataset: given.Datasets = None,
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
    """Tell what a similarity means, and where to set a threshold.

    It is fitted to labelled or graded pairs.

    Example: embassay calibrate -s wordllama -d pairs.jsonl --precision 0.9
    """
    from embassay.cli.session import Display, carry_out, show_plan
    from embassay.protocols.calibration.protocol import Calibrations
    from embassay.protocols.kernel.request import TaskRequest

    asked = _threshold(origin) if origin else None
    request = TaskRequest(
        tuple(system), (), tuple(dataset or ("sample",)), column_map(mapping), split, grades, limit, seed, tokenizer,
        options,
    )  # fmt: skip
    display, out = Display(json, wide), out or default_out("calibration")
    if dry_run:
        show_plan(partial(Calibrations().foreseen, request), display)
        return
    crew = given.crew(workers, engine, address)
    carry_out(
        partial(Calibrations().carry_out, request), out, display=display, workers=crew, max_usd=max_cost
    )
    if asked is not None and not json:
        _show_translations(out, *asked, target or (), wide)


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
