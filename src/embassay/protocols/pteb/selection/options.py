"""What a selection of paraphrasers can be told, and was asked to do."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from embassay.errors import UsageError
from embassay.protocols.kernel import request
from embassay.protocols.kernel.request import option
from embassay.protocols.pteb.judging.options import RatingOptions
from embassay.protocols.pteb.paraphrasing.records import Generation
from embassay.protocols.pteb.selection.choice import Rule


@dataclass(frozen=True)
class SelectionOptions(RatingOptions):
    """Options of step 2."""

    least_similarity: float = option(4.0, "Mean rating that a candidate needs, 0 to 5.", point="A7")
    least_edit_distance: float = option(0.1, "Edit distance that a candidate needs; below it, it copies.")
    cross_check: Literal["selected", "all"] = option(
        "selected", "Whom the other judges rate: the selected candidate, or all."
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 <= self.least_similarity <= 5:
            raise UsageError(
                f"least_similarity is {self.least_similarity}.", mend="Use a number from 0 to 5."
            )
        if not 0 < self.least_edit_distance <= 1:
            raise UsageError(
                f"least_edit_distance is {self.least_edit_distance}.",
                mend="Use a number above 0, at most 1: at 0 a candidate that copies would do.",
            )

    @property
    def rule(self) -> Rule:
        """The rule that selects."""
        return Rule(self.least_similarity, self.least_edit_distance)


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
