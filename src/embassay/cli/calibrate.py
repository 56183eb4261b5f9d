"""`embassay calibrate`: what a similarity means, thresholds that keep a promise, and one model's in another's scale."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from embassay.cli.options import Spread, of_records, within_memory
from embassay.errors import UsageError
from embassay.protocols.calibration.options import CalibrationRequest
from embassay.protocols.kernel.request import DETAILS

if TYPE_CHECKING:
    from pathlib import Path

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


@within_memory
@of_records(tasks=())
def calibrate(request: CalibrationRequest, running: Spread, origin: From = None, target: To = None) -> None:
    """Tell what a similarity means, and from which one on to accept.

    It is fitted to labelled or graded pairs.

    Example: embassay calibrate -s wordllama -d pairs.jsonl --precision 0.9
    """
    from embassay.cli.session import do
    from embassay.protocols.calibration.protocol import Calibrations

    asked = _threshold(origin) if origin else None
    run = do(Calibrations(), request, running, "calibration")
    if run is not None and asked is not None and not running.json:
        _show_translations(run.path, *asked, target or (), running.wide)


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
