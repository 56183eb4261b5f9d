"""What a PTEB run, and a run that rates pairs, can be told and were asked to do."""

from __future__ import annotations

import math
from dataclasses import MISSING, asdict, dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from embassay.errors import UsageError
from embassay.protocols.kernel import request
from embassay.protocols.kernel.request import (
    DATA,
    MOST_RESAMPLES,
    STATISTICS,
    SYSTEMS,
    check_option_values,
    option,
    redeclare_option,
    split_comma_separated_names,
)
from embassay.protocols.tasks.task import PtebOptions
from embassay.protocols.wordings.records import (
    OnFailure,
    ParaphraseSamplingAndRetryOptions,
    RewordingRepeatOptions,
    check_run_counts,
)

if TYPE_CHECKING:
    from embassay.contracts import SamplingSettings


@dataclass(frozen=True)
class JudgeRatingOptions:
    """How ratings are asked for. `[An]` is the ambiguity of the paper an option settles (docs/pteb.md)."""

    judge_temperature: float = option(
        0.8, "The judge's sampling temperature; 0 picks the most likely answer.", point="A13", group=SYSTEMS
    )
    judge_top_p: float = option(0.9, "The judge's nucleus sampling threshold (top-p).", group=SYSTEMS)
    answers: Literal["free", "schema"] = option(
        "free", "Parse the judge's free-text answer, or enforce a JSON schema (for small models)."
    )
    attempts: int = option(6, "Attempts per rating before it counts as failed.", group=SYSTEMS)
    resamples: int = option(1_000, "Bootstrap resamples per interval.", most=MOST_RESAMPLES, group=STATISTICS)

    def __post_init__(self) -> None:
        check_option_values(self)
        if not 0 <= self.judge_temperature <= 2:
            raise UsageError(f"judge_temperature is {self.judge_temperature}.", mend="Use a number from 0 to 2.")
        if not 0 < self.judge_top_p <= 1:
            raise UsageError(f"judge_top_p is {self.judge_top_p}.", mend="Use a number above 0 and at most 1.")

    def make_answer_sampling(self, seed: int) -> SamplingSettings:
        """Make the sampling settings of an answer with this seed."""
        from embassay.contracts import SamplingSettings

        return SamplingSettings(self.judge_temperature, self.judge_top_p, seed)

    def as_dict(self) -> dict[str, Any]:
        """Every option with its value, as saved in a manifest."""
        return asdict(self)


@dataclass(frozen=True)
class JudgingRunOptions(JudgeRatingOptions):
    """The options of a judging run, step 1 of PTEB."""

    gold_bins: str = option("1,2,3,4", "Edges of the gold score bins, from 0 to 5.", point="A5")
    word_bins: str = option("10,20,30,50", "Upper edges of the word count bins.", point="A5")
    smallest_bin: int = option(10, "Minimum number of pairs per bin for a correlation.")

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("gold_bins", "word_bins"):
            _parse_bin_edges(name, getattr(self, name))
        if self.gold_bin_edges[-1] >= 5:
            raise UsageError(f"gold_bins is {self.gold_bins!r}.", mend="Use numbers between 0 and 5.")

    @property
    def gold_bin_edges(self) -> tuple[float, ...]:
        """Where one bin of gold scores ends and the next begins."""
        return _parse_bin_edges("gold_bins", self.gold_bins)

    @property
    def word_bin_edges(self) -> tuple[int, ...]:
        """The last word count of every bin but the last."""
        return tuple(map(int, _parse_bin_edges("word_bins", self.word_bins)))


def _parse_bin_edges(name: str, text: str) -> tuple[float, ...]:
    """The numbers of a list; UsageError unless they rise from above 0, and are whole where words are counted."""
    try:
        edges = tuple((int if name == "word_bins" else float)(part) for part in text.split(","))
    except ValueError:
        edges = ()
    # With 0 before and infinity after, one chain of comparisons rules out 0, infinity and NaN too.
    if not edges or not all(a < b for a, b in pairwise((0, *edges, math.inf))):
        raise UsageError(
            f"{name} is {text!r}.", mend="Give increasing numbers separated by commas, such as 10,20,30,50."
        )
    return edges


JUDGE_VERSION = 2
"""Raised when the same request would give other numbers; part of every cell's key."""


@dataclass(frozen=True)
class JudgeEvaluationRequest(request.RunRequest):
    """The arguments of a judge run; `systems` are the judges. `gold` are ranges of gold scores, see `gold.py`."""

    systems: tuple[str, ...] = option(
        MISSING, "A chat model, such as ollama:gemma3:27b.", name="--judge -j", group=SYSTEMS
    )
    tokenizer: str = ""
    gold: tuple[str, ...] = option(
        (), "Range of the gold scores, such as 1-5 or sick=1-5. Default: the catalogue's range, or 0-5.",
        value="[DATASET=]LOW-HIGH", group=DATA
    )  # fmt: skip
    options: JudgingRunOptions = field(default_factory=JudgingRunOptions)

    def as_dict(self) -> dict[str, Any]:
        """The arguments as saved in the manifest and compared on resume."""
        plain = super().as_dict()
        del plain["tokenizer"], plain["tasks"], plain["grades"]
        return {**plain, "options": self.options.as_dict()}


PROMPT_NAMES = ("default", "variant1", "variant2", "variant3")
"""The prompts for paraphrasing: the usual one, and the rewordings of it for prompt sensitivity (table 12)."""


@dataclass(frozen=True)
class Request(request.RunRequest):
    """The arguments of a PTEB run. `seed` is that of the first run's paraphrases, and of everything else."""

    GROWS: ClassVar[tuple[str, ...]] = request.GROWING
    paraphrasers: tuple[str, ...] = option(
        ("recorded",),
        "A chat model (ollama:gemma3:27b), `recorded`, `stored:FOLDER`, or a control (`copied`, `permuted`).",
        name="--paraphraser -p", group=SYSTEMS
    )  # fmt: skip
    prompts: tuple[str, ...] = option(
        ("default",), "Prompt: default, variant1 to variant3, or a text file.", name="--prompt", group=SYSTEMS
    )
    runs: int = redeclare_option(RewordingRepeatOptions, "runs")
    until_ci: float | None = redeclare_option(RewordingRepeatOptions, "until_ci")
    """Points: datasets get more runs until every drop is known to +- as many."""
    max_runs: int = redeclare_option(RewordingRepeatOptions, "max_runs")
    control: bool = option(
        False, "Add a control that permutes as many words as paraphrasing changed.", name="--control"
    )
    """Whether texts with their words permuted, as far as the first paraphraser reworded them, stand beside."""
    baseline: str = redeclare_option(RewordingRepeatOptions, "baseline")
    on_failure: OnFailure = option(
        "leave out", "Leave out a text without a usable paraphrase, or keep it (`original`, as in the authors' code)."
    )
    exclude_copied: bool = option(
        False, "`copied`: leave out texts that paraphrasing did not change.", name="--exclude", words={"copied": True}
    )
    seed_per: Literal["run", "text"] = option(
        "run", "One seed per `run` (equal texts get equal paraphrases) or per `text`.", group=STATISTICS
    )
    last_seeds: tuple[tuple[str, int], ...] = redeclare_option(RewordingRepeatOptions, "last_seeds")
    """Dataset -> the seed of its last run, in place of the usual one."""
    generation: ParaphraseSamplingAndRetryOptions = field(default_factory=ParaphraseSamplingAndRetryOptions)
    options: PtebOptions = field(default_factory=PtebOptions)
    original_only: bool = option(False, "Score the texts without paraphrasing.", name="--original-only")
    """Whether the texts are scored as they are, and nothing is paraphrased."""
    fresh: tuple[str, ...] = option(
        (), "A dataset that no model can have seen, to test whether paraphrasing lowers scores more on the others.",
        name="--fresh", value="NAME", group=DATA
    )  # fmt: skip
    """Datasets of the run whose texts are younger than the models."""
    to_rate: int = option(
        0, "Write a sheet with this many random items per task and dataset, so that people can rate the paraphrases.",
        name="--to-rate", value="N", least=0, group=DATA
    )  # fmt: skip
    """Items of each group that `pteb_to_rate` has, for people to say whether their paraphrases are valid."""
    ratings: tuple[str, ...] = option(
        (), "A completed copy of the --to-rate sheet, one per rater. Also gives the change on valid paraphrases alone.",
        name="--ratings", value="FILE", group=DATA
    )  # fmt: skip
    """Filled-in sheets, from which the change on valid paraphrases is estimated."""

    def as_dict(self) -> dict[str, Any]:
        """The arguments as saved in the manifest and compared on resume; some only where they are given, and never
        those of ratings, which come when the run is done."""
        plain = super().as_dict()
        unsaid = [name for name in ("original_only", "fresh") if not plain[name]]
        return {key: value for key, value in plain.items() if key not in (*unsaid, "to_rate", "ratings")}

    def __post_init__(self) -> None:
        if self.original_only:
            if self.paraphrasers or self.control or self.until_ci is not None:
                raise UsageError(
                    "--original-only paraphrases nothing, so it cannot be combined with a "
                    "paraphraser, --control or --until-ci.",
                    mend="Use one or the other.",
                )
        elif not self.paraphrasers or not self.prompts:
            raise UsageError(
                "Nothing would be paraphrased.",
                mend="Pass a paraphraser, such as -p recorded, or --original-only to score the original texts.",
            )
        check_run_counts(self.runs, self.until_ci, self.max_runs)
        self._check_rating_options()

    def _check_rating_options(self) -> None:
        if not (self.to_rate or self.ratings):
            return
        if self.original_only:
            raise UsageError(
                "--original-only has no paraphrases to rate.",
                mend="Omit either --original-only, or --to-rate and --ratings.",
            )
        if self.on_failure != "leave out":
            raise UsageError(
                "With --on-failure original, some texts stay unchanged, so there is no paraphrase to rate.",
                mend="Use --on-failure leave-out.",
            )


@dataclass(frozen=True)
class RatingStudyPoolOptions:
    """What a study is drawn from: a source of a set, some languages (all without), datasets, the run with a seed."""

    source: str = option("", "Paraphraser to use, if the set has several.", group=DATA)
    langs: tuple[str, ...] = option(
        (), "Languages, such as fra,deu. Default: all.", read=split_comma_separated_names, group=DATA
    )
    datasets: tuple[str, ...] = redeclare_option(request.RunRequest, "datasets", default=(), help="Only this dataset.")
    run_seed: int | None = option(None, "Seed of the run to draw from. Default: that of the first run.", group=DATA)


@dataclass(frozen=True)
class RatingBatchOptions:
    """How pairs are handed out. A pilot takes the first `pilot` pairs of every language, and the main study, with
    `after_pilot`, those that are left: nobody rates a pair for a second time."""

    batch: int = option(20, "Pairs per batch, not counting dummies.")
    pilot: int = option(0, "Pairs per language in a pilot; the paper uses 20.")
    after_pilot: int = option(0, "Pairs per language to leave out because a pilot used them.")

    def __post_init__(self) -> None:
        if self.batch < 1 or self.pilot < 0 or self.after_pilot < 0:
            raise UsageError(
                "A number of pairs is too small.", mend="Use 1 or more for batch, 0 or more for the others."
            )
        if self.pilot and self.after_pilot:
            raise UsageError("--pilot and --after-pilot cannot be combined.", mend="Use only one of them.")


@dataclass(frozen=True)
class SubmissionFilters:
    """Which submissions count; each that does not is counted by its reason."""

    least_seconds: float = option(0.0, "Minimum seconds per pair, as measured by the platform.")
    where: str = option(
        "", "Keep only people with this value in the submissions table: 'Country of residence=Nigeria'."
    )
    rating: str = option("rating", "Name of the rating column in a Prolific table.")

    def __post_init__(self) -> None:
        if self.least_seconds < 0:
            raise UsageError(f"least_seconds is {self.least_seconds}.", mend="Use 0 or more.")
        if self.where and "=" not in self.where:
            raise UsageError(f"Cannot read --where {self.where!r}.", mend="Write 'COLUMN=VALUE'.")
