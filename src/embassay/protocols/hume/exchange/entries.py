"""An answer on its way in: as a file says it, with the place where it says so."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from embassay.errors import DataError
from embassay.protocols.hume.study import Who

Format = Literal["csv", "jsonl", "label-studio", "argilla"]
FORMATS: tuple[Format, ...] = ("csv", "jsonl", "label-studio", "argilla")
SKIPPED = "skipped"
"""The flag of an item that an annotator left with the tool's own button for that, without a reason."""


@dataclass(frozen=True)
class Place:
    """Where something stands: a file, and a line or the words for a place in it."""

    path: Path
    line: int | None = None
    words: str = ""

    def fault(self, what: str, *, expected: str = "", found: str = "", mend: str = "") -> DataError:
        """What is wrong there."""
        said = f"{self.words}: {what}" if self.words else what
        return DataError(said, path=self.path, line=self.line, expected=expected, found=found, mend=mend)


@dataclass(frozen=True)
class Incoming:
    """An answer that a file holds. `annotator_id` is "" where the file does not say who gave it; `value` is as the file
    has it, None for an item that was not answered."""

    item_id: str
    annotator_id: str
    value: Any
    at: Place
    ts: str = ""
    seconds: float | None = None
    kind: Who = "person"
    flag: str = ""
    comment: str = ""

    def __post_init__(self) -> None:
        for text in (self.annotator_id, self.value, self.ts, self.flag, self.comment):
            try:
                str(text).encode()
            except UnicodeEncodeError:
                raise self.at.fault(
                    "half of a surrogate pair, which is no text", found=ascii(text)[:60],
                    mend="Write the whole character, or leave it out.",
                ) from None  # fmt: skip


@dataclass
class Taken:
    """What was read of a file: answers, what was left out with the reason and how often, and remarks for the user."""

    answers: list[Incoming] = field(default_factory=list)
    left_out: dict[str, int] = field(default_factory=dict)
    remarks: list[str] = field(default_factory=list)

    def leave_out(self, why: str) -> None:
        """Count something that is no answer."""
        self.left_out[why] = self.left_out.get(why, 0) + 1
