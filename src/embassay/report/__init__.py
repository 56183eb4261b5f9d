"""What runs say, for people: one HTML file (`write_report`) and the terminal (`terminal.make_run_terminal_blocks`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

__all__ = ["write_report"]

Tell = Callable[[str], None]


def _ignore_event(_: str) -> None:
    """Ignore an event: nobody listens."""


def write_report(
    run: Path | Sequence[Path], *, out: Path | None = None, summary: bool = False, tell: Tell = _ignore_event
) -> Path:
    """Write one report of a run folder, or of several, as one self-contained HTML file and return its path.

    With `summary` it is the one for whoever decides, two pages when printed, in `summary.html`.

    A folder without a run of its own stands for all the runs in it, at any depth. `out` defaults to `report.html` in
    the folder; of several folders, in the one that holds them all. Unfinished runs give a report of what is there.
    `tell` gets a line per folder that is left out (one that cannot be read beside others that can, or that holds the
    same results as another), and per page of another package that cannot be shown. Raises DataError when a folder
    holds no run, or one of another schema.
    """
    from embassay.registry import import_attribute
    from embassay.report.runs import read_report_runs

    folders = [Path(run)] if isinstance(run, str | Path) else [Path(folder) for folder in run]
    runs = read_report_runs(folders)
    for left in runs[0].left:
        tell(f"Left out: {left.path} ({left.reason}).")
    name = "summary" if summary else "report"
    target = Path(out) if out is not None else _common_folder(folders) / f"{name}.html"
    written: Path = import_attribute(
        f"embassay.report.{'summary:write_summary_page' if summary else 'html:write_whole_report_html'}"
    )(runs, target)
    for made in () if summary else runs:
        if why := made.load_external_page_or_reason[1]:
            tell(f"The page of {made.title} cannot be shown: {why}")
    return written


def _common_folder(folders: Sequence[Path]) -> Path:
    """The folder itself, or the one that several lie in."""
    import os

    if len(folders) == 1:
        return folders[0]
    return Path(os.path.commonpath([folder.absolute() for folder in folders]))
