"""What is asked of language models as annotators: which, how often, of which tasks, and how answers are drawn."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

from embassay.errors import UsageError
from embassay.protocols.hume.llms.answers import Mode

RUNS = 100


@dataclass(frozen=True)
class LlmOptions:
    """How a model answers: its temperature (left out, with a warning, where a model takes none), and whether the server
    binds answers to a JSON schema where it can (`schema`) or they are read as they come (`free`)."""

    temperature: float = 0.0
    answers: Literal["schema", "free"] = "schema"

    def __post_init__(self) -> None:
        if not 0 <= self.temperature <= 2:
            raise UsageError(f"The temperature is {self.temperature}.", mend="Use a number from 0 to 2.")


@dataclass(frozen=True)
class AnnotateRequest:
    """`llms` are specs of chat models, with the fields of `LlmOptions` among their parameters if need be. `tasks` are
    names of the study's; none: all that language models can annotate. `limit` is of items per task."""

    llms: tuple[str, ...]
    mode: Mode = "ranking"
    runs: int = 1
    seed: int = 1337
    tasks: tuple[str, ...] = ()
    limit: int | None = None

    def __post_init__(self) -> None:
        if not self.llms:
            raise UsageError("No language model is named.", mend="Name one: --llm ollama:gemma3:27b.")
        if not 1 <= self.runs <= RUNS:
            raise UsageError(f"{self.runs} runs are asked for.", mend=f"Ask for 1 to {RUNS}.")
        if self.limit is not None and self.limit < 1:
            raise UsageError(f"The limit is {self.limit}.", mend="Give 1 or more.")

    def as_dict(self) -> dict[str, Any]:
        """As saved beside the answers."""
        return asdict(self)
