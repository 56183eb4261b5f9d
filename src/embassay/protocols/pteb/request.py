"""What a PTEB run was asked to do."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from embassay.errors import UsageError
from embassay.protocols import request
from embassay.protocols.pteb.options import PtebOptions
from embassay.protocols.pteb.paraphrasing.generation import Generation

VERSION = 4
"""Raised when the same request would give other numbers; part of every cell's key."""


@dataclass(frozen=True)
class Request(request.Request):
    """The arguments of a PTEB run. `seed` is that of the first run's paraphrases, and of everything else."""

    paraphrasers: tuple[str, ...] = ("recorded",)
    prompts: tuple[str, ...] = ("default",)
    runs: int = 6
    until_ci: float | None = None
    """Points: datasets get more runs until every drop is known to +- as many."""
    max_runs: int = 20
    control: bool = False
    """Whether texts with their words permuted, as far as the first paraphraser reworded them, stand beside."""
    baseline: str = ""
    on_failure: Literal["leave out", "original"] = "leave out"
    exclude_copied: bool = False
    seed_per: Literal["run", "text"] = "run"
    last_seeds: tuple[tuple[str, int], ...] = ()
    """Dataset -> the seed of its last run, in place of the usual one."""
    generation: Generation = field(default_factory=Generation)
    options: PtebOptions = field(default_factory=PtebOptions)

    def __post_init__(self) -> None:
        if self.runs < 1:
            raise UsageError(f"There cannot be {self.runs} runs.", mend="Ask for one or more.")
        if not self.paraphrasers or not self.prompts:
            raise UsageError("Nobody is to paraphrase.", mend="Name a paraphraser, for example recorded.")
        if self.until_ci is not None and self.until_ci <= 0:
            raise UsageError(f"--until-ci is {self.until_ci}.", mend="Give points above 0, for example 0.5.")
        if self.until_ci is not None and not 2 <= self.runs <= self.max_runs:
            raise UsageError(
                f"An interval needs two runs or more, and at most --max-runs {self.max_runs}; asked were {self.runs}.",
                mend="Give --runs and --max-runs that allow it.",
            )
