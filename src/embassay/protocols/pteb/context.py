"""What every PTEB task gets besides the system and the data."""

from __future__ import annotations

from dataclasses import dataclass, field

from embassay.protocols import context
from embassay.protocols.pteb.options import PtebOptions


@dataclass(frozen=True)
class Context(context.Context):
    """The seed (of everything but paraphrasing), the run's tokenizer and the options; `dataset` names the random
    streams, and is followed by the language where a dataset has several."""

    options: PtebOptions = field(default_factory=PtebOptions)

    @property
    def resamples(self) -> int:
        """Bootstrap resamples behind every interval."""
        return self.options.resamples
