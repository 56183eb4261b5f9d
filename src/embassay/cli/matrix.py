"""`--matrix`: questions by systems, after a run."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from embassay.cli.terminal import show_blocks
from embassay.errors import UsageError
from embassay.protocols.kernel.request import OUTPUT, option


@dataclass(frozen=True)
class MatrixOptions:
    """What is printed beside the results."""

    matrix: bool = option(
        False, "Print questions by systems: the place of the right passage.", name="--matrix", group=OUTPUT
    )


def show_matrix(run: Path | None, *, wide: bool) -> None:
    """Print the first questions of a run's matrix. UsageError where there is no folder that it could be in."""
    from embassay.report.matrix import matrix_view

    if run is None:
        raise UsageError("--matrix reads the folder of the results.", mend="Add --out FOLDER.")
    show_blocks(matrix_view(run), wide)
