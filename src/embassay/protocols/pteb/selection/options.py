"""What a selection of paraphrasers can be told."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from embassay.errors import UsageError
from embassay.protocols.options import option
from embassay.protocols.pteb.judging.options import RatingOptions
from embassay.protocols.pteb.selection.choice import Rule


@dataclass(frozen=True)
class SelectionOptions(RatingOptions):
    """Options of step 2."""

    least_similarity: float = option(4.0, "Mean rating that a candidate needs, 0 to 5 [A7].")
    least_edit_distance: float = option(0.1, "Edit distance that a candidate needs: below, it copies.")
    cross_check: Literal["selected", "all"] = option(
        "selected", "Have the other judges rate the selected candidate, or all of them."
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
