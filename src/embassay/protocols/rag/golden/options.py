"""What the making of a golden set can be told: the knobs of its stages, and the stage that each belongs to."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args, get_origin, get_type_hints

from embassay.errors import UsageError
from embassay.protocols.options import option

_RANGES = (
    ("chunk", 1, math.inf), ("overlap", 0, math.inf), ("depth", 1, math.inf), ("bm25_k1", 0, math.inf),
    ("bm25_b", 0, 1), ("rrf_c", 0, math.inf), ("minimum", 1, math.inf), ("top", 1, math.inf), ("batch", 2, 26),
    ("stability_turns", 1, math.inf), ("confirmations", 1, math.inf), ("repeat", 0, math.inf), ("human", 0, 1),
)  # fmt: skip
"""Knob, least and most."""


@dataclass(frozen=True)
class GoldenOptions:
    """The knobs; defaults are the profile `thorough` (spec rag 4)."""

    nfc: bool = option(True, "Compose the characters of questions and rewrites (Unicode NFC).")
    chunk: int | None = option(
        None, "Cut documents into chunks of so many tokens at most, at sentences; 430 is usual."
    )
    overlap: int = option(70, "Tokens that a chunk shares with the one before.")
    depth: int = option(50, "Passages from the search by vectors, and as many from that by words.")
    bm25_k1: float = option(1.2, "How fast repeated words stop to count in the search by words.")
    bm25_b: float = option(0.75, "How much long passages are discounted in the search by words, 0 to 1.")
    rrf_c: float = option(60.0, "The constant of reciprocal rank fusion.")
    judge_question: Literal["original", "rewrite"] = option(
        "original", "What the judge sees: the question as it was asked, or its rewriting [ambiguity 24]."
    )
    failed: Literal["leave-out", "ungraded"] = option(
        "leave-out",
        "A query of which the judge did not grade every passage: leave it out, or go on with those passages ungraded.",
    )
    minimum: int = option(35, "Passages that the best whole grades must hold before the rest is cut.")
    top: int = option(20, "Passages of the final order that matter most.")
    batch: int | None = option(None, "Passages in one listwise call. Default: that of the ranking.")
    stability_turns: int | None = option(None, "Turns without a change of the top before `locks` stops.")
    confirmations: int | None = option(None, "Times that `locks` must see one passage before another.")
    repeat: int = option(0, "Judge so many items a second time, to see whether the judge repeats itself.")
    human: float = option(
        0.0, "Share of the queries that go into a file for a person to check; 0.4 is usual."
    )

    def __post_init__(self) -> None:
        for name, hint in get_type_hints(type(self)).items():
            if get_origin(hint) is Literal and getattr(self, name) not in get_args(hint):
                raise UsageError(
                    f"{name} is {getattr(self, name)!r}.", mend=f"Use one of {', '.join(get_args(hint))}."
                )
        for name, low, high in _RANGES:
            value = getattr(self, name)
            if value is not None and not (math.isfinite(value) and low <= value <= high):
                most = "" if high == math.inf else f" to {high:g}"
                raise UsageError(f"{name} is {value:g}.", mend=f"Use a number from {low:g}{most}.")
        if self.chunk is not None and self.overlap > self.chunk // 2:
            raise UsageError(
                f"Chunks of {self.chunk} tokens cannot overlap by {self.overlap}.",
                mend="Let the overlap be at most half of the chunk.",
            )

    def as_dict(self) -> dict[str, Any]:
        """Every option with its value, as saved in a manifest."""
        return asdict(self)
