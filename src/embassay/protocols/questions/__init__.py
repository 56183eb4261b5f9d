"""Questions that a language model writes about passages: drawn, written, checked by a second call, kept at once.

Here is what they are asked with; `drafts` writes them.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import asdict, dataclass
from typing import Any

from embassay.errors import UsageError
from embassay.protocols.kernel.request import DATA, SYSTEMS, check_option_values, option

OF_MODELS = ("fact", "comparison", "procedure", "keywords", "typo", "language")
"""The kinds that a language model writes; `typo` is a fact with typing errors, made by ourselves."""
NEAR, FAR = "near", "far"
NO_ANSWER = (NEAR, FAR)
"""The kinds of questions that the documents don't answer: of their subject, and of another."""


@dataclass(frozen=True)
class QuestionsOptions:
    """How questions are written and which are kept."""

    n: int = option(20, "Number of questions to write of each kind.", group=DATA)
    into: str = option("", "Language code for questions of the kind `language`: de.")
    attempts: int = option(3, "Maximum attempts to write a question that passes the checks.", group=SYSTEMS)
    copied: float = option(0.6, "Largest share of a question that may be copied word for word.")
    near: float = option(0.8, "Minimum Jaccard index at which a question counts as a repeat.")
    words: int = option(25, "Minimum words in a passage to write a question from it.")
    temperature: float = option(0.7, "The writer's sampling temperature.", group=SYSTEMS)
    top_p: float = option(0.95, "The writer's nucleus sampling threshold (top-p).", group=SYSTEMS)

    def __post_init__(self) -> None:
        check_option_values(self)
        if not 0 < self.copied <= 1 or not 0.3 <= self.near <= 1:
            raise UsageError(
                f"copied is {self.copied:g} and near is {self.near:g}.",
                mend="Use a share above 0 for --copied, and 0.3 to 1 for --near.",
            )
        if not 0 <= self.temperature <= 2 or not 0 < self.top_p <= 1:
            raise UsageError(
                f"temperature is {self.temperature:g} and top_p is {self.top_p:g}.",
                mend="Use a temperature from 0 to 2, and a top_p above 0 and at most 1.",
            )

    def as_dict(self) -> dict[str, Any]:
        """Every option with its value, as saved in a manifest."""
        return asdict(self)


def check_question_kinds(kinds: Collection[str], known: Collection[str]) -> None:
    """UsageError for a kind of question that is not known."""
    for kind in kinds:
        if kind not in known:
            from embassay.data.rows import find_nearest_name

            near = find_nearest_name(kind, known)
            raise UsageError(
                f"There is no kind of question called {kind!r}.",
                mend=f"{f'Did you mean {near}? ' if near else ''}Use one of {', '.join(known)}.",
            )


def check_language_kind_has_language(kinds: Collection[str], into: str) -> None:
    """UsageError where questions are wanted in another language, and none is named."""
    if "language" in kinds and not into:
        raise UsageError("Questions of the kind 'language' need a language.", mend="Add --into de.")


def list_default_question_kinds(into: str) -> tuple[str, ...]:
    """The kinds that are written where none is named: all that can be."""
    return tuple(kind for kind in OF_MODELS if kind != "language" or into)
