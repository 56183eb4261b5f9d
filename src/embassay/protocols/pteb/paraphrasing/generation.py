"""How wordings are drawn from a language model."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from embassay.errors import UsageError
from embassay.protocols.options import option

if TYPE_CHECKING:
    from embassay.contracts import Sampling

SEED_STEP = 1_000_003
"""Added to the seed for every further attempt: the same seed would bring the same answer again."""


@dataclass(frozen=True)
class Generation:
    """Sampling as the paper's (spec/pteb 4), how often an answer that cannot be used is drawn anew, and whether an
    answer may have 5 times the characters of its text at most (`strict_length`), or 40 where that is more."""

    temperature: float = option(0.8, "Sampling temperature of a model that paraphrases.")
    top_p: float = option(0.9, "Share of probability that words are drawn from.")
    retries: int = option(5, "How often an answer that cannot be used is drawn anew.")
    strict_length: bool = option(
        False, "Reject answers of over 5 times the characters of their text, however short the text is."
    )

    def __post_init__(self) -> None:
        if self.temperature < 0 or not 0 < self.top_p <= 1 or self.retries < 0:
            raise UsageError(
                f"Cannot draw with temperature {self.temperature}, top_p {self.top_p} and {self.retries} retries.",
                mend="Temperature is 0 or more, top_p in (0, 1], retries 0 or more.",
            )

    def sampling(self, seed: int, attempt: int) -> Sampling:
        """How attempt number `attempt`, from 0, of a run with this seed is drawn."""
        from embassay.contracts import Sampling

        return Sampling(self.temperature, self.top_p, seed + SEED_STEP * attempt)

    def as_dict(self) -> dict[str, Any]:
        """As saved in manifests."""
        return asdict(self)
