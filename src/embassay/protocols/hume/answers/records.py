"""What the store of answers holds, as records."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from embassay.protocols.hume.study import Who

Role = Literal["annotator", "owner"]
DRAFT = "draft"
"""A value {"draft": [...]} is not decided yet: some documents of the query are still open."""


@dataclass(frozen=True)
class Annotator:
    """Who may answer. `name` is the one they gave themselves, None until they did; `settings` are those of the page."""

    id: str
    kind: Who = "person"
    name: str | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Draft:
    """An answer as it is sent. `seq` counts up in the annotator's browser, so that a repeat is known as one;
    `seconds` are those the item was seen so far, `paused` how often the page was left for long; `tab` who sent it."""

    item_id: str
    value: Any
    seq: int
    seconds: float | None = None
    flag: str = ""
    comment: str = ""
    tab: str = ""
    paused: int = 0


@dataclass(frozen=True)
class Saved:
    """An answer as it is stored, with the time (ISO 8601, UTC) at which it was."""

    item_id: str
    value: Any
    flag: str
    comment: str
    seconds: float | None
    paused: int
    seq: int
    saved_at: str

    @property
    def is_complete(self) -> bool:
        """Whether it has a value that scoring can use."""
        return self.value is not None and not is_draft(self.value)

    @property
    def is_decided(self) -> bool:
        """Whether the annotator is done with the item: with a value, or a reason why there can be none."""
        return self.is_complete or (self.value is None and bool(self.flag))

    @property
    def is_empty(self) -> bool:
        """Whether it was taken back and nothing is left of it."""
        return self.value is None and not self.flag and not self.comment


@dataclass(frozen=True)
class Refused:
    """An answer that was not stored: the task is `frozen`, a later one is there (`older`), or `another_tab` writes.
    `answer` is the one that holds."""

    why: Literal["frozen", "older", "another_tab"]
    answer: Saved | None


@dataclass(frozen=True)
class Change:
    """One step in the history of an annotator's answers; what was taken back is one too."""

    annotator_id: str
    answer: Saved
    tab: str


def is_draft(value: Any) -> bool:
    """Whether a value is one that is not decided yet."""
    return isinstance(value, Mapping) and set(value) == {DRAFT}
