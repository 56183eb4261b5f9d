"""What the terminal can show, and printing to it."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from embassay.cli.controls import same_width, unfiltered, visible

if TYPE_CHECKING:
    from rich.console import Console
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
    # Lines are folded to the screen already; a path or a wide table must stay whole.
    _console(sys.stdout, soft_wrap=True, highlight=False).print(text)


def show_table(
    titles: Sequence[str], rows: Sequence[Sequence[str]], *, wide: bool, numbers: bool = False
) -> None:
    """Print a table that fits the screen. The last column wraps; with `numbers`, columns after the third are
    right-aligned and none wraps."""
    from embassay.report.terminal import Column, render_table

    here, last = screen(), len(titles) - 1
    columns = [
        Column(title, right=numbers and i > 2, wraps=not numbers and i == last)
        for i, title in enumerate(titles)
    ]
    show(render_table(columns, rows, width=here.width, wide=wide, unicode=here.unicode))


def progress_bars() -> Progress:
    """Bars on stderr with a description and a state, rewritten at most four times a second, gone at the end."""
    from rich.progress import BarColumn, Progress, ProgressColumn, Task
    from rich.text import Text

    class Plain(ProgressColumn):
        """A field as it is: a name in brackets is no markup."""

        def __init__(self, field: str) -> None:
            super().__init__()
            self._field = field

        def render(self, task: Task) -> Text:
            return Text(visible(task.fields.get(self._field, task.description)))

    return Progress(
        Plain("description"),
        BarColumn(bar_width=24),
        Plain("state"),
        console=_console(sys.stderr),
        refresh_per_second=4,
        transient=True,
    )


def _console(stream: Any, **options: Any) -> Console:
    """A console that draws on a stream, and shows texts only as texts: no markup in a string, and no control
    characters in what is printed while bars are drawn, which comes this way too."""
    from rich.console import Console
    from rich.text import Text

    class Harmless(Console):
        def print(self, *objects: Any, **how: Any) -> None:
            shown = [Text(one) if isinstance(one, str) else one for one in objects]
            for one in shown:
                if isinstance(one, Text):
                    one.plain = same_width(one.plain)
            super().print(*shown, **how)

    return Harmless(file=unfiltered(stream), **options)
