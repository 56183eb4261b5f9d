"""What can go wrong on the way, each with a probability of its own, drawn from one seed."""

from __future__ import annotations

from dataclasses import dataclass, fields
from random import Random

GENERAL = ("refused", "refused_until", "broken", "overloaded", "slow", "truncated", "reset")
SPOILING = ("wrong_dimensions", "not_a_number")


@dataclass(frozen=True)
class Faults:
    """Probabilities in [0, 1], at most 1 together: 429 without and with Retry-After, 500, 503, an answer after
    `slow_seconds`, half an answer, a connection reset, vectors too short, vectors with NaN."""

    refused: float = 0.0
    refused_until: float = 0.0
    broken: float = 0.0
    overloaded: float = 0.0
    slow: float = 0.0
    truncated: float = 0.0
    reset: float = 0.0
    wrong_dimensions: float = 0.0
    not_a_number: float = 0.0
    slow_seconds: float = 2.0
    retry_after: str = "0.05"
    seed: int = 1337

    @classmethod
    def all(cls, share: float, **settings: float) -> Faults:
        """Every fault with the same probability, `share` together."""
        return cls(**dict.fromkeys((*GENERAL, *SPOILING), share / len((*GENERAL, *SPOILING))), **settings)

    def draw(self, random: Random) -> str:
        """The name of the next request's fault; "" for none."""
        at = random.random()
        for one in fields(self):
            if one.name in (*GENERAL, *SPOILING):
                at -= getattr(self, one.name)
                if at < 0:
                    return one.name
        return ""
