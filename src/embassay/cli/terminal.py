"""What the terminal can show, and printing to it: never what moves the cursor, changes colours or turns text around."""

from __future__ import annotations

import re
import shlex
import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress

    from embassay.document.blocks import Block

_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
"""Control characters but the tab and the end of a line, and what makes a terminal show text in another order. The marks
of direction that texts in Hebrew or Arabic need (U+200E, U+200F, U+061C) are left."""
_OF_BARS = re.compile(r"\r(?!\n)|(?:\n|\x1b\[A)*\Z")
"""How the bars of libraries (tqdm) begin a write on stderr: back to the beginning of the line, or a line up."""


def format_command_line(words: Iterable[str] | None = None) -> str:
    """The `words` after `embassay` as they are typed; by default those of the present command."""
    return shlex.join(["embassay", *(sys.argv[1:] if words is None else words)])


def escape_control_characters(text: str) -> str:
    r"""Escape control characters in `text` as JSON writes them, so that JSON stays the same JSON.

    >>> escape_control_characters("\x1b[2Jgone") + escape_control_characters("\u202egnp.exe")
    '\\u001b[2Jgone\\u202egnp.exe'
    """
    return _CONTROLS.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def replace_control_characters(text: str) -> str:
    r"""Replace each control character in `text` with U+FFFD, for what is laid out already.

    >>> replace_control_characters("a\x1bb") == "a\N{REPLACEMENT CHARACTER}b"
    True
    """
    return _CONTROLS.sub("\N{REPLACEMENT CHARACTER}", text)


class ControlEscapingStream:
    """A text stream that shows control characters instead of sending them. `unfiltered` is the stream behind it, for
    what draws and has made its texts harmless itself."""

    buffer = None  # Whoever wrote bytes would write past it.

    def __init__(self, stream: Any, *, bars: bool = False) -> None:
        self.unfiltered, self._bars = stream, bars

    def write(self, text: str) -> int:
        """Write a text, and return the number of its characters."""
        drawn = _OF_BARS.match(text) if self._bars else None
        head = drawn[0] if drawn is not None else ""
        self.unfiltered.write(head + escape_control_characters(text[len(head) :]))
        return len(text)

    def writelines(self, lines: Any) -> None:
        """Write each of the lines."""
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.unfiltered, name)


@contextmanager
def escape_control_characters_in_output() -> Iterator[None]:
    """Filter control characters from what is printed on stdout or stderr within the block."""
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = ControlEscapingStream(sys.stdout), ControlEscapingStream(sys.stderr, bars=True)
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before


def find_unfiltered_stream(stream: Any) -> Any:
    """Find the stream behind a `ControlEscapingStream`; any other is its own."""
    return stream.unfiltered if isinstance(stream, ControlEscapingStream) else stream


@dataclass(frozen=True)
class ScreenWidthAndCharset:
    """Width in columns, and whether more than ASCII can be printed."""

    width: int
    unicode: bool


def measure_screen_width_and_charset() -> ScreenWidthAndCharset:
    """Measure the screen behind stdout; 80 columns where there is none."""
    encoding = (sys.stdout.encoding or "ascii").lower().replace("-", "")
    return ScreenWidthAndCharset(shutil.get_terminal_size((80, 24)).columns, encoding == "utf8")


def print_as_json(value: Any) -> None:
    """Print a value as one line of JSON."""
    import json

    import typer

    typer.echo(json.dumps(value, ensure_ascii=False))


def print_rendered_text(text: Any) -> None:
    """Print a rendered text on stdout, coloured only where that is a terminal."""
    # Lines are folded to the screen already; a path or a wide table must stay whole.
    _make_plain_text_console(sys.stdout, soft_wrap=True, highlight=False).print(text)


def print_view_blocks(blocks: Iterable[Block], wide: bool = False) -> None:
    """Print what a view says, as wide as the screen, or with all its columns and notes."""
    from embassay.document.terminal import draw_terminal_blocks

    device = measure_screen_width_and_charset()
    print_rendered_text(draw_terminal_blocks(blocks, width=device.width, wide=wide, unicode=device.unicode))


BROAD = 28
"""Characters over which a system goes by its label."""
_SPEC = re.compile(r"[a-z][\w+-]*:\S+")


def make_name_shortener(names: Iterable[str]) -> Callable[[str], str]:
    """The function that puts the labels of reports in place of these names in a text: specs of models behind a server
    are longer than a line."""
    long = {name for name in names if len(name) > BROAD}
    if not long:
        return str
    from embassay.report.record import shorten_names_to_labels  # a start without such names needs none of it

    labels = shorten_names_to_labels(sorted(long))
    pattern = re.compile("|".join(map(re.escape, sorted(labels, key=len, reverse=True))))
    return lambda text: pattern.sub(lambda match: labels[match[0]], text)


def print_table_to_fit_screen(
    titles: Sequence[str], rows: Sequence[Sequence[str]], *, wide: bool, numbers: bool = False
) -> None:
    """Print a table that fits the screen; unless `wide`, long specs go by their labels. The last column wraps; with
    `numbers`, columns after the third are right-aligned and none wraps."""
    from embassay.document.blocks import Column, Table, make_number_columns

    if not wide:
        shorten = make_name_shortener(entry for row in rows for entry in row if _SPEC.fullmatch(entry))
        rows = [[shorten(entry) for entry in row] for row in rows]

    heads: list[str | Column] = (
        [*titles[:3], *make_number_columns(*titles[3:])]
        if numbers
        else [*titles[:-1], Column(titles[-1], style="wrap")]
    )
    print_view_blocks([Table.of("table", heads, rows)], wide)


def make_progress_bars() -> Progress:
    """Make progress bars on stderr with a description and a state, gone at the end."""
    from rich.progress import BarColumn, Progress, ProgressColumn, Task
    from rich.text import Text

    class PlainTextProgressColumn(ProgressColumn):
        """A progress column that shows its field as plain text: a name in brackets is no markup."""

        def __init__(self, field: str) -> None:
            super().__init__()
            self._field = field

        def render(self, task: Task) -> Text:
            return Text(escape_control_characters(task.fields.get(self._field, task.description)))

    return Progress(
        PlainTextProgressColumn("description"),
        BarColumn(bar_width=24),
        PlainTextProgressColumn("state"),
        console=_make_plain_text_console(sys.stderr),
        refresh_per_second=4,
        transient=True,
    )


def _make_plain_text_console(stream: Any, **options: Any) -> Console:
    """A console that draws on a stream, and shows texts only as texts: no markup in a string, and no control
    characters in what is printed while bars are drawn, which comes this way too."""
    from rich.console import Console
    from rich.text import Text

    class HarmlessConsole(Console):
        def print(self, *objects: Any, **how: Any) -> None:
            shown = [Text(item) if isinstance(item, str) else item for item in objects]
            for item in shown:
                if isinstance(item, Text):
                    item.plain = replace_control_characters(item.plain)
            super().print(*shown, **how)

    return HarmlessConsole(file=find_unfiltered_stream(stream), **options)


MOMENT = 1.5
"""Seconds of one reading after which it is said."""
PERIOD = 15.0
"""Seconds between two lines."""
_LOOK = 0.25


@contextmanager
def announce_slow_file_reading() -> Iterator[None]:
    """Announce what this process reads within the block for longer than a moment, and how far it is."""
    ended = threading.Event()
    threading.Thread(target=_report_slow_reading, args=(ended,), name="embassay-reading", daemon=True).start()
    try:
        yield
    finally:
        ended.set()


def _report_slow_reading(ended: threading.Event) -> None:
    seen, since, last = None, 0.0, -PERIOD
    while not ended.wait(_LOOK):
        # Nothing is imported for it: before the module of limits is there, nothing is read.
        limits = sys.modules.get("embassay.limits")
        # While that module is being imported it is there, and its functions are not.
        being_read = getattr(limits, "find_current_reading", None)
        progress = None if being_read is None else being_read()
        now = time.monotonic()
        if progress is not seen:
            seen, since = progress, now
        if progress is not None and now - since >= MOMENT and now - last >= PERIOD:
            last = now
            print(f"{progress} ...", file=sys.stderr, flush=True)
