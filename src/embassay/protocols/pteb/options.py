"""What a PTEB run was asked to do."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from embassay.errors import UsageError
from embassay.protocols.kernel import request
from embassay.protocols.kernel.request import STATISTICS, SYSTEMS, like, option
from embassay.protocols.tasks.task import PtebOptions
from embassay.protocols.wordings.records import Generation, OnFailure, Repeats, check_runs

PROMPT_NAMES = ("default", "variant1", "variant2", "variant3")
"""The prompts for paraphrasing: the usual one, and the rewordings of it for prompt sensitivity (table 12)."""


@dataclass(frozen=True)
class Request(request.Request):
    """The arguments of a PTEB run. `seed` is that of the first run's paraphrases, and of everything else."""

    GROWS: ClassVar[tuple[str, ...]] = request.GROWING
    paraphrasers: tuple[str, ...] = option(
        ("recorded",),
        "A chat model (ollama:gemma3:27b), `recorded`, `stored:FOLDER`, or a control (`copied`, `permuted`).",
        name="--paraphraser -p", group=SYSTEMS,
    )  # fmt: skip
    prompts: tuple[str, ...] = option(
        ("default",), "default, variant1 to variant3, or a text file.", name="--prompt", group=SYSTEMS
    )
    runs: int = like(Repeats, "runs")
    until_ci: float | None = like(Repeats, "until_ci")
    """Points: datasets get more runs until every drop is known to +- as many."""
    max_runs: int = like(Repeats, "max_runs")
    control: bool = option(
        False,
        "Add a control: texts with words permuted as far as paraphrasing changed them.",
        name="--control",
    )
    """Whether texts with their words permuted, as far as the first paraphraser reworded them, stand beside."""
    baseline: str = like(Repeats, "baseline")
    on_failure: OnFailure = option(
        "leave out",
        "Leave out a text without a usable paraphrase (`leave-out`), or keep it (`original`, the authors' code).",
    )
    exclude_copied: bool = option(
        False,
        "`copied`: leave out texts that paraphrasing did not change.",
        name="--exclude",
        words={"copied": True},
    )
    seed_per: Literal["run", "text"] = option(
        "run", "One seed per `run` (equal texts stay equal) or per `text`.", group=STATISTICS
    )
    last_seeds: tuple[tuple[str, int], ...] = like(Repeats, "last_seeds")
    """Dataset -> the seed of its last run, in place of the usual one."""
    generation: Generation = field(default_factory=Generation)
    options: PtebOptions = field(default_factory=PtebOptions)
    original_only: bool = option(
        False, "Score the texts as they are, without paraphrasing.", name="--original-only"
    )
    """Whether the texts are scored as they are, and nothing is paraphrased."""

    def as_dict(self) -> dict[str, Any]:
        """The arguments as saved in the manifest and compared on resume."""
        plain = super().as_dict()
        return plain if self.original_only else {key: plain[key] for key in plain if key != "original_only"}

    def __post_init__(self) -> None:
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
        check_runs(self.runs, self.until_ci, self.max_runs)
