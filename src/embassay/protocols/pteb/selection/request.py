"""What a selection of paraphrasers was asked to do."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from embassay.errors import UsageError
from embassay.protocols import request
from embassay.protocols.pteb.paraphrasing.generation import Generation
from embassay.protocols.pteb.selection.options import SelectionOptions

VERSION = 2
"""Raised when the same request would give other numbers; part of every cell's key."""


@dataclass(frozen=True)
class SelectionRequest(request.Request):
    """The arguments of a selection; `systems` are the candidates, which `judge` rates, and `cross_judges` as well."""

    tokenizer: str = ""
    judge: str = ""
    cross_judges: tuple[str, ...] = ()
    prompt: str = "default"
    generation: Generation = field(default_factory=Generation)
    options: SelectionOptions = field(default_factory=SelectionOptions)

    def __post_init__(self) -> None:
        if not self.systems:
            raise UsageError("No paraphraser is named.", mend="Name one, such as ollama:gemma3:27b.")
        if not self.judge:
            raise UsageError("No judge is named.", mend="Name a language model, such as ollama:gemma3:27b.")

    def as_dict(self) -> dict[str, Any]:
        """The arguments as saved in the manifest and compared on resume."""
        plain = super().as_dict()
        del plain["tokenizer"], plain["tasks"], plain["grades"]
        return {**plain, "generation": self.generation.as_dict(), "options": self.options.as_dict()}
