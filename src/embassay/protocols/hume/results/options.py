"""What a run of `hume score` was asked to do."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import Any, ClassVar, Literal, get_args

from embassay.errors import UsageError
from embassay.protocols.hume.profiles import SMALLEST
from embassay.protocols.hume.scoring import AP_MODES, HALF, MIN_SHARED, Aggregation, ApMode, OneAnnotator

VERSION = 2
"""Raised when the same request would give other numbers; part of every cell's key."""
Models = Literal["study", "all"]


@dataclass(frozen=True)
class _Request:
    def as_dict(self) -> dict[str, Any]:
        """The arguments as saved in the manifest and compared on resume."""
        return {
            name: list(value) if isinstance(value, tuple) else value for name, value in asdict(self).items()
        }


@dataclass(frozen=True)
class PublishedRequest(_Request):
    """Scores from result files of MTEB. `models` says whether only the models of the study take part in best, median,
    mean and rank, or `all` that the files hold.

    `systems` are evaluated on the items that people answered, and placed among them; `samples_per_label` are the
    training texts per label of classification, None as the paper has it, and the rest as for a study.
    """

    GROWS: ClassVar[tuple[str, ...]] = ("systems",)
    OF_SYSTEMS: ClassVar[tuple[str, ...]] = (
        "systems", "samples_per_label", "resamples", "tokenizer", "repeats", "neighbours",
    )  # fmt: skip
    results: tuple[str, ...]
    llm_scores: tuple[str, ...] = ()
    models: Models = "study"
    aggregation: Aggregation = "paper"
    one_annotator: OneAnnotator = "wilson"
    seed: int = 1337
    systems: tuple[str, ...] = ()
    samples_per_label: int | None = None
    resamples: int = 10_000
    tokenizer: str = ""
    repeats: int = 10
    neighbours: int = 10

    def __post_init__(self) -> None:
        _check(self)
        _check_choice("models", self.models, get_args(Models))

    def as_dict(self) -> dict[str, Any]:
        """The arguments as saved in the manifest and compared on resume; of systems only where there are some."""
        plain = super().as_dict()
        return plain if self.systems else {key: plain[key] for key in plain if key not in self.OF_SYSTEMS}


@dataclass(frozen=True)
class StudyRequest(_Request):
    """A study to score. `tasks` empty: all; `answers` empty: all that the study's folder holds.

    `samples_per_label` are the training texts per label of classification; None as the paper has it. `repeats` are the
    draws of training texts, and `neighbours` those that classify for a system without vectors. Annotators count from
    the share `min_answered` of what the one with most answers gave, and two are compared from `min_shared` items on.
    Systems are told the number of gold clusters where they `give_k`, and else find one. Scores by profile are told of
    groups of `smallest_group` people and more.
    """

    GROWS: ClassVar[tuple[str, ...]] = ("systems", "tasks")
    LATER: ClassVar[tuple[str, ...]] = ("give_k", "smallest_group")
    """Arguments that are saved only where they are not the usual ones: earlier runs are still the same."""
    study: str
    systems: tuple[str, ...] = ()
    tasks: tuple[str, ...] = ()
    answers: tuple[str, ...] = ()
    aggregation: Aggregation = "paper"
    human_ap_mode: ApMode = "tie_aware"
    one_annotator: OneAnnotator = "wilson"
    samples_per_label: int | None = None
    resamples: int = 10_000
    seed: int = 1337
    tokenizer: str = "cl100k"
    min_answered: float = HALF
    min_shared: int = MIN_SHARED
    repeats: int = 10
    neighbours: int = 10
    give_k: bool = True
    smallest_group: int = SMALLEST

    def as_dict(self) -> dict[str, Any]:
        """The arguments as saved in the manifest and compared on resume."""
        usual = {one.name: one.default for one in fields(self)}
        return {
            name: value
            for name, value in super().as_dict().items()
            if name not in self.LATER or value != usual[name]
        }

    def __post_init__(self) -> None:
        _check(self)
        if self.smallest_group < 2:
            raise UsageError(
                f"smallest_group is {self.smallest_group}.",
                mend="Use 2 or more: one person is nobody's group.",
            )
        _check_choice("human-ap-mode", self.human_ap_mode, AP_MODES)
        if not 0 <= self.min_answered <= 1:
            raise UsageError(f"min_answered is {self.min_answered}.", mend="Use a share from 0 to 1.")
        for name in ("resamples", "samples_per_label", "repeats", "neighbours", "min_shared"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise UsageError(f"{name} is {value}.", mend="Use a positive whole number.")


def _check(request: Any) -> None:
    _check_choice("aggregation", request.aggregation, get_args(Aggregation))
    _check_choice("one-annotator", request.one_annotator, get_args(OneAnnotator))


def _check_choice(name: str, value: str, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise UsageError(f"--{name} is {value!r}.", mend=f"Use one of {', '.join(allowed)}.")
