"""What a selection of paraphrasers can be told, and was asked to do."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from embassay.errors import UsageError
from embassay.protocols.kernel import request
from embassay.protocols.kernel.request import option
from embassay.protocols.pteb.judging.options import RatingOptions
from embassay.protocols.pteb.paraphrasing.records import Generation

TIE = 0.005
"""Edit distances this close are equal at the two decimals of table 4."""


@dataclass(frozen=True)
class Candidate:
    """A paraphraser's means over the datasets: `similarity` as judged, 0 to 5; normalised word `edit_distance`,
    0 to 1; `seconds` per text. None where there is no value; `reason` says why one that is needed is missing."""

    name: str
    similarity: float | None
    edit_distance: float | None
    seconds: float | None = None
    reason: str = ""


@dataclass(frozen=True)
class Rule:
    """What a candidate must reach at least to be taken."""

    similarity: float = 4.0
    edit_distance: float = 0.1

    def __str__(self) -> str:
        return (
            f"Among candidates with a mean similarity of at least {self.similarity:g} and an edit distance of at "
            f"least {self.edit_distance:g} (others copy), the largest edit distance; equal ones to two decimals "
            "by the shorter runtime."
        )


@dataclass(frozen=True)
class Selection:
    """What the rule says: the name taken (empty: none), why, who is on the front, and why each other one is out."""

    selected: str
    because: str
    front: tuple[str, ...]
    rejected: dict[str, str]


def select(candidates: Sequence[Candidate], rule: Rule = Rule()) -> Selection:
    """Apply the rule.

    >>> table_4 = [Candidate("gemma3-27b", 4.26, 0.81, 0.27), Candidate("gpt-oss-20b", 4.44, 0.55, 1.24)]
    >>> select(table_4).selected
    'gemma3-27b'
    """
    rejected = {one.name: why for one in candidates if (why := _unfit(one, rule))}
    fit = [one for one in candidates if one.name not in rejected]
    front = tuple(one.name for one in pareto_front(candidates))
    if not fit:
        return Selection("", "no candidate meets the rule", front, rejected)
    most = max(_known(one.edit_distance) for one in fit)
    tied = [one for one in fit if most - _known(one.edit_distance) <= TIE]
    # Speed first; then what tells equally fast ones apart, so that the order of the command line does not.
    best = min(tied, key=lambda one: (_slowness(one), -_known(one.edit_distance), one.name))
    return Selection(best.name, _because(best, fit, tied), front, rejected)


def pareto_front(candidates: Sequence[Candidate]) -> list[Candidate]:
    """The candidates, in their order, that no other beats: more similar, more reworded and faster, or as good in all
    and better in one. One without a similarity or edit distance is on no front; an unknown runtime counts as the
    longest."""
    known = [one for one in candidates if one.similarity is not None and one.edit_distance is not None]
    return [one for one in known if not any(_beats(other, one) for other in known)]


def _beats(a: Candidate, b: Candidate) -> bool:
    first, second = _criteria(a), _criteria(b)
    return first != second and all(x >= y for x, y in zip(first, second, strict=True))


def _criteria(one: Candidate) -> tuple[float, float, float]:
    """All of them larger for better."""
    return _known(one.similarity), _known(one.edit_distance), -_slowness(one)


def _unfit(one: Candidate, rule: Rule) -> str:
    if one.similarity is None or one.edit_distance is None:
        return one.reason or "not all of its values are there"
    if one.similarity < rule.similarity:
        return f"a similarity of {one.similarity:.2f}, under {rule.similarity:g}: the meaning is not kept"
    if one.edit_distance < rule.edit_distance:
        return f"an edit distance of {one.edit_distance:.2f}, under {rule.edit_distance:g}: it copies"
    return ""


def _because(best: Candidate, fit: Sequence[Candidate], tied: Sequence[Candidate]) -> str:
    distance = f"an edit distance of {_known(best.edit_distance):.2f}"
    if len(fit) == 1:
        return f"the only candidate that meets the rule, with {distance}"
    if len(tied) == 1:
        return f"the largest edit distance of the {len(fit)} that meet the rule: {distance}"
    return f"{distance}, as {len(tied) - 1} other{'s' if len(tied) > 2 else ''}, and the shortest runtime"


def _known(value: float | None) -> float:
    assert value is not None
    return value


def _slowness(one: Candidate) -> float:
    return math.inf if one.seconds is None else one.seconds


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
