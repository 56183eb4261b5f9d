"""What one step to more candidates brings, and what it takes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from embassay.protocols.rag.tradeoffs.stack import JITTER_MS, Stack

Kind = Literal["gain", "loss", "free", "within jitter"]


@dataclass(frozen=True)
class Gain:
    """From one stack to another: differences of quality, milliseconds and dollars per 1,000 queries.

    `per_ms` is quality per millisecond, None where the times cannot be told apart (`within jitter`) or the step is
    `free`: no slower and no worse.
    """

    quality: float
    milliseconds: float
    usd: float
    per_ms: float | None
    kind: Kind


def marginal_gain(less: Stack, more: Stack, measure: str, *, jitter_ms: float = JITTER_MS) -> Gain:
    """The step from `less` to `more` by this measure. Source: spec rag 3.5."""
    quality = more.reaches(measure) - less.reaches(measure)
    milliseconds, usd = more.latency - less.latency, more.cost - less.cost
    if abs(milliseconds) <= jitter_ms:
        return Gain(quality, milliseconds, usd, None, "within jitter")
    if milliseconds <= 0 and quality >= 0:
        return Gain(quality, milliseconds, usd, None, "free")
    return Gain(quality, milliseconds, usd, quality / milliseconds, "gain" if quality > 0 else "loss")
