"""What a PTEB run can be told, and was asked to do; every default is the one spec/pteb decides."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from embassay.errors import UsageError
from embassay.protocols.kernel import request
from embassay.protocols.pteb.paraphrasing.records import Generation
from embassay.protocols.tasks.options import PtebOptions

VERSION = 4
"""Raised when the same request would give other numbers; part of every cell's key."""


@dataclass(frozen=True)
class Request(request.Request):
    """The arguments of a PTEB run. `seed` is that of the first run's paraphrases, and of everything else."""

    GROWS: ClassVar[tuple[str, ...]] = request.GROWING
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
    original_only: bool = False
    """Whether the texts are scored as they are, and nothing is paraphrased."""

    def as_dict(self) -> dict[str, Any]:
        """The arguments as saved in the manifest and compared on resume."""
        plain = super().as_dict()
        return plain if self.original_only else {key: plain[key] for key in plain if key != "original_only"}

    def __post_init__(self) -> None:
        if self.runs < 1:
            raise UsageError(f"There cannot be {self.runs} runs.", mend="Ask for one or more.")
        if self.original_only:
            if self.paraphrasers or self.control or self.until_ci is not None:
                raise UsageError(
                    "--original-only paraphrases nothing, and a paraphraser, --control or --until-ci is given.",
                    mend="Leave out either.",
                )
        elif not self.paraphrasers or not self.prompts:
            raise UsageError(
                "Nobody is to paraphrase.",
                mend="Name a paraphraser, for example -p recorded, or add --original-only for plain scores.",
            )
        if self.until_ci is not None and self.until_ci <= 0:
            raise UsageError(f"--until-ci is {self.until_ci}.", mend="Give points above 0, for example 0.5.")
        if self.until_ci is not None and not 2 <= self.runs <= self.max_runs:
            raise UsageError(
                f"An interval needs two runs or more, and at most --max-runs {self.max_runs}; asked were {self.runs}.",
                mend="Give --runs and --max-runs that allow it.",
            )
