"""What a fuzzer is given: a function of bytes, inputs that it reads, and words that its inputs are made of."""

from __future__ import annotations

import json
import tempfile
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from embassay.errors import EmbassayError

Read = Callable[[bytes, Path], object]
JSON = (
    *("{", "}", "[", "]", ":", ",", '"', "null", "NaN", "1e999", "true"),
    *("\\ud800", "\\u0000", "-0.0", "\ufeff", "[" * 40),
)
YAML = (
    *(": ", "- ", "\n", "  ", "&a ", "*a", "!!python/object:os.system ", "!!binary "),
    *("{", "}", "|", "~", "yes", "1_0"),
)


@dataclass(frozen=True)
class Target:
    """`read` gets the input and an empty folder of its own; EmbassayError is all that it may raise."""

    name: str
    read: Read
    seeds: tuple[bytes, ...] = ()
    words: tuple[str, ...] = ()
    made: Callable[[], bytes] | None = None
    """A seed that is written by our own code."""

    def all_seeds(self) -> tuple[bytes, ...]:
        """Inputs that are read without a refusal."""
        return self.seeds if self.made is None else (*self.seeds, self.made())

    def __call__(self, content: bytes) -> None:
        """Read `content`; what is refused is well, and so is a warning."""
        with tempfile.TemporaryDirectory(prefix="fuzz") as folder, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                self.read(content, Path(folder))
            except EmbassayError:
                return


def lines(*rows: Any) -> bytes:
    """The rows as JSON Lines."""
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


def text_of(content: bytes) -> str:
    """Any text, lone surrogates left out: no answer of a server and no argument has them."""
    return content.decode("utf-8", "replace")
