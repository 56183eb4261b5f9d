"""What a model's tokens cost."""

from __future__ import annotations

from dataclasses import dataclass

from embassay.errors import UsageError
from embassay.systems.models import known_model


@dataclass(frozen=True)
class Price:
    """US dollars per million tokens, in and out, and the day (ISO) the list said so; no day where the user
    gave the price."""

    usd_per_million_input: float
    usd_per_million_output: float = 0.0
    priced_on: str | None = None

    @classmethod
    def of(cls, model: str, given: float | None = None) -> Price | None:
        """The price the user gave, else the known-model table's; None where neither is there."""
        if given is not None:
            return cls(given)
        known = known_model(model)
        if known is None or known.usd_per_million_input is None:
            return None
        return cls(known.usd_per_million_input, known.usd_per_million_output or 0.0, known.priced_on)

    @classmethod
    def of_chat(cls, model: str, read: float | None, written: float | None) -> Price | None:
        """`of` for a model that also writes; a price for reading alone says nothing, unless it is 0."""
        if read is None and written is None:
            return cls.of(model)
        if not read and not written:
            return cls(0.0)
        if read is None or written is None:
            raise UsageError(
                f"The price of {model!r} is half known.", mend="Give both price= and price_output=."
            )
        return cls(read, written)

    def usd(self, input_tokens: int, output_tokens: int = 0) -> float:
        """The dollars for so many tokens.

        >>> Price(0.5, 2.0).usd(1_000_000, 500_000)
        1.5
        """
        total = input_tokens * self.usd_per_million_input + output_tokens * self.usd_per_million_output
        return total / 1e6
