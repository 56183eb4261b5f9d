"""What runs say, for people: one HTML file (`write_report`) and the terminal (`terminal.render_run`)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

__all__ = ["write_report"]


def write_report(run: Path | Sequence[Path], *, out: Path | None = None) -> Path:
    """Write one report of a run folder, or of several, as one self-contained HTML file and return its path.

    `out` defaults to `report.html` in the folder; of several folders, in the one that holds them all. Unfinished runs
    give a report of what is there. Raises DataError when a folder holds no run, or one of another schema; UsageError
    for two runs of one kind.
    """
    from semblance.report.html import write

    folders = [Path(run)] if isinstance(run, str | Path) else [Path(one) for one in run]
    return write(folders, Path(out) if out is not None else _place(folders) / "report.html")


def _place(folders: Sequence[Path]) -> Path:
    """The folder itself, or the one that several lie in."""
    import os

    if len(folders) == 1:
        return folders[0]
    return Path(os.path.commonpath([folder.absolute() for folder in folders]))
