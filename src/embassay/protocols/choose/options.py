"""What a choice can be told."""

from __future__ import annotations

from dataclasses import dataclass, field

from embassay.errors import UsageError
from embassay.protocols.kernel.request import DATA, Options, TaskRequest, option


@dataclass(frozen=True)
class ChoiceOptions(Options):
    """What choices are told."""

    passages: int = option(1_500, "Most passages that are searched; drawn at random from more.")
    questions: int = option(200, "Most passages that ask a question of themselves.")
    tolerance: float = option(0.03, "How far below the best nDCG@10 a choice may be expected to lie.")
    queries: str = option(
        "", "Your users' questions, without judgements: a file with a column text.", group=DATA
    )
    labels: str = option(
        "", "The judgements there are: query_id (or query), doc_id, relevance; TREC and BEIR too."
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.tolerance < 1:
            raise UsageError(
                f"tolerance is {self.tolerance:g}.", mend="Use a number between 0 and 1, such as 0.03."
            )


@dataclass(frozen=True)
class ChoiceRequest(TaskRequest):
    """The arguments of a choice."""

    options: ChoiceOptions = field(default_factory=ChoiceOptions)
