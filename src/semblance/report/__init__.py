"""What a run says, for people: one HTML file (`write_report`) and the terminal (`terminal.render_run`)."""

from __future__ import annotations

from pathlib import Path

__all__ = ["write_report"]


def write_report(run: Path, *, out: Path | None = None) -> Path:
    """Write the report of a run folder as one self-contained HTML file and return its path.

    `out` defaults to `report.html` in the folder. Unfinished runs give a report of what is there. Raises
    DataError when the folder holds no run, or one of another schema.
    """
    from semblance.report.html import write

    return write(Path(run), Path(out) if out is not None else Path(run) / "report.html")
