"""What the terminal can show, and printing to it."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.progress import Progress


@dataclass(frozen=True)
class Screen:
    """Width in columns, and whether more than ASCII can be printed."""

    width: int
    unicode: bool


def screen() -> Screen:
    """The screen behind stdout; 80 columns where there is none."""
    encoding = (sys.stdout.encoding or "ascii").lower().replace("-", "")
    return Screen(shutil.get_terminal_size((80, 24)).columns, encoding == "utf8")


def show(text: Any) -> None:
    """Print a rendered text on stdout, coloured only where that is a terminal."""
    from rich.console import Console

    # Lines are folded to the screen already; a path or a wide table must stay whole.
    Console(soft_wrap=True, highlight=False).print(text)


def show_table(
    titles: Sequence[str], rows: Sequence[Sequence[str]], *, wide: bool, numbers: bool = False
) -> None:
    """Print a table that fits the screen. The last column wraps; with `numbers`, columns after the third are
    right-aligned and none wraps."""
    from semblance.report.terminal import Column, render_table

    here, last = screen(), len(titles) - 1
    columns = [
        Column(title, right=numbers and i > 2, wraps=not numbers and i == last)
        for i, title in enumerate(titles)
    ]
    show(render_table(columns, rows, width=here.width, wide=wide, unicode=here.unicode))


def progress_bars() -> Progress:
    """Bars on stderr with a description and a state, rewritten at most four times a second, gone at the end."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn

    return Progress(
        TextColumn("{task.description}"),
        BarColumn(bar_width=24),
        TextColumn("{task.fields[state]}"),
        console=Console(stderr=True),
        refresh_per_second=4,
        transient=True,
    )
