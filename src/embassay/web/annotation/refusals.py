"""Answers that say no: a status and a sentence, and never what was sent."""

from __future__ import annotations

from typing import Any


class Refusal(Exception):
    """A request that is refused with `status`; `more` are further fields of the answer."""

    def __init__(self, status: int, sentence: str, **more: Any) -> None:
        super().__init__(sentence)
        self.status, self.sentence, self.more = status, sentence, more

    @property
    def body(self) -> dict[str, Any]:
        """What is sent."""
        return {"error": self.sentence, **self.more}


def not_found() -> Refusal:
    """The one answer for wrong links, unknown paths and what is somebody else's."""
    return Refusal(404, "There is nothing here.")
