"""What a choice can be told."""

from __future__ import annotations

from dataclasses import dataclass, field

from embassay.errors import UsageError
from embassay.protocols.kernel.request import DATA, SYSTEMS, Options, option
from embassay.protocols.live import TaskRequestWithRetrievers
from embassay.protocols.questions import (
    OF_MODELS,
    check_language_kind_has_language,
    check_question_kinds,
    list_default_question_kinds,
)

FEW = 50
"""Passages that are asked about, and judged questions, below which no choice is sure: of a handful of passages all
systems find the same ten."""
FOUND = 0.2
"""How near the first place the best system has to find the passages that sentences were taken out of, from 0 to 1. On a
collection where none did (0.08), what was believed was wrong."""
UNLIKELY = 0.05
"""A system whose chance of being the best is lower is not asked about more passages, and called unlikely."""
AS_GOOD = 0.9
"""P(within the tolerance) from which on a system that isn't the pick would do as well."""


@dataclass(frozen=True)
class ChoiceOptions(Options):
    """The options of a choice between systems."""

    passages: int = option(500, "Maximum passages to search, drawn at random.")
    questions: int = option(95, "Maximum passages to turn into questions.")
    tolerance: float = option(0.03, "Largest acceptable expected loss in nDCG@10 against the best system.")
    queries: str = option("", "Your users' questions, without judgements: a file with a column `text`.", group=DATA)
    labels: str = option(
        "", "Existing judgements: query_id (or query), doc_id, relevance; TREC, BEIR, or a run of rag golden."
    )
    llm: str = option("", "A chat model that also writes questions: ollama:gemma3:27b. Default: none.", group=SYSTEMS)
    checker: str = option("", "The chat model that checks --llm's questions. Default: --llm.", group=SYSTEMS)
    kinds: str = option("", f"Kinds to write, comma-separated: {', '.join(OF_MODELS)}. Default: all.")
    written_per_kind: int = option(20, "Number of questions to write of each kind.")
    into: str = option("", "Language code for questions of the kind `language`: de.")

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.tolerance < 1:
            raise UsageError(f"tolerance is {self.tolerance:g}.", mend="Use a number between 0 and 1, such as 0.03.")
        check_question_kinds(self.written_question_kinds, OF_MODELS)
        check_language_kind_has_language(self.written_question_kinds, self.into)
        named = next((name for name in ("checker", "kinds", "into") if getattr(self, name)), "")
        if named and not self.llm:
            raise UsageError(
                f"--{named} is for questions written by a language model, but --llm is missing.",
                mend=f"Name a model with --llm, or leave out --{named}.",
            )

    @property
    def written_question_kinds(self) -> tuple[str, ...]:
        """The kinds that a model writes; none without a model."""
        named = tuple(dict.fromkeys(kind.strip() for kind in self.kinds.split(",") if kind.strip()))
        return named or (list_default_question_kinds(self.into) if self.llm else ())


def plan_passage_draw_sizes(questions: int) -> tuple[int, ...]:
    """How many passages systems are asked about at first, and where that does not decide: all that may be asked.

    >>> plan_passage_draw_sizes(95), plan_passage_draw_sizes(40)
    ((50, 95), (40,))
    """
    return (*([FEW] if questions > FEW else []), questions)


@dataclass(frozen=True)
class ChoiceRequest(TaskRequestWithRetrievers):
    """The arguments of a choice."""

    options: ChoiceOptions = field(default_factory=ChoiceOptions)
