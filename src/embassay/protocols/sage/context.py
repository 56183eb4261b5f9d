"""What every SAGE task gets besides the system and the data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from embassay.protocols import context
from embassay.protocols.sage.options import SageOptions


@dataclass(frozen=True)
class Context(context.Context):
    """The seed, the run's tokenizer and the options; `dataset` names the random streams."""

    options: SageOptions = field(default_factory=SageOptions)
    advance: Callable[[int], None] = field(default=lambda _: None, kw_only=True, compare=False)
    """Hears of every shard of a corpus that is done, with its texts; for systems whose encoder does not tell itself."""

    lang: str = field(default="", kw_only=True)
    """The code of the language that all texts are in; empty, `und` or `mul` where none is told or there are several."""

    @property
    def resamples(self) -> int:
        """Bootstrap resamples behind every interval."""
        return self.options.resamples
