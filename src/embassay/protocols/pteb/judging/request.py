"""What a judge run was asked to do."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from embassay.protocols import request
from embassay.protocols.pteb.judging.options import JudgeOptions

VERSION = 2
"""Raised when the same request would give other numbers; part of every cell's key."""


@dataclass(frozen=True)
class JudgeRequest(request.Request):
    """The arguments of a judge run; `systems` are the judges. `gold` are ranges of gold scores, see `gold.py`."""

    tokenizer: str = ""
    gold: tuple[str, ...] = ()
    options: JudgeOptions = field(default_factory=JudgeOptions)

    def as_dict(self) -> dict[str, Any]:
        """The arguments as saved in the manifest and compared on resume."""
        plain = super().as_dict()
        del plain["tokenizer"], plain["tasks"], plain["grades"]
        return {**plain, "options": self.options.as_dict()}
