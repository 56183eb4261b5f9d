"""What is printed never moves the cursor, changes colours or turns text around: names, texts and reasons come from
strangers' files and servers."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
"""Control characters but the tab and the end of a line, and what makes a terminal show text in another order. The marks
of direction that texts in Hebrew or Arabic need (U+200E, U+200F, U+061C) are left."""
_OF_BARS = re.compile(r"\r(?!\n)|(?:\n|\x1b\[A)*\Z")
"""How the bars of libraries (tqdm) begin a write on stderr: back to the beginning of the line, or a line up."""


def visible(text: str) -> str:
    r"""`text` with its control characters as JSON writes them, so that what is JSON stays the same JSON.

    >>> visible("\x1b[2Jgone") + visible("\u202egnp.exe")
    '\\u001b[2Jgone\\u202egnp.exe'
    """
    return _CONTROLS.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def same_width(text: str) -> str:
    r"""`text` with U+FFFD for each control character, for what is laid out already.

    >>> same_width("a\x1bb") == "a\N{REPLACEMENT CHARACTER}b"
    True
    """
    return _CONTROLS.sub("\N{REPLACEMENT CHARACTER}", text)


class Visible:
    """A text stream that shows control characters instead of sending them. `unfiltered` is the stream behind it, for
    what draws and has made its texts harmless itself."""

    buffer = None  # Whoever wrote bytes would write past it.

    def __init__(self, stream: Any, *, bars: bool = False) -> None:
        self.unfiltered, self._bars = stream, bars

    def write(self, text: str) -> int:
        """Write it; the number of its characters."""
        drawn = _OF_BARS.match(text) if self._bars else None
        head = drawn[0] if drawn is not None else ""
        self.unfiltered.write(head + visible(text[len(head) :]))
        return len(text)

    def writelines(self, lines: Any) -> None:
        """Write each."""
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.unfiltered, name)


@contextmanager
def only_visible() -> Iterator[None]:
    """Inside, nothing that is printed on stdout or stderr controls the terminal."""
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = Visible(sys.stdout), Visible(sys.stderr, bars=True)
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before


def unfiltered(stream: Any) -> Any:
    """The stream behind a `Visible` one; any other is its own."""
    return stream.unfiltered if isinstance(stream, Visible) else stream
