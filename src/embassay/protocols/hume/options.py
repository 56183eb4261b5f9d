"""What HUME's studies are asked with: what is drawn, which models answer and when an answer stands, what is scored."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import MISSING, asdict, dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, get_args

from embassay.errors import UsageError
from embassay.protocols.hume.study import Family, Question
from embassay.protocols.kernel.request import (
    DATA,
    MOST_RESAMPLES,
    OUTPUT,
    SPEED,
    STATISTICS,
    SYSTEMS,
    RunRequest,
    convert_tuples_to_lists,
    option,
    redeclare_option,
)

if TYPE_CHECKING:
    from embassay.data.catalogue.suites import DatasetSuite
    from embassay.protocols.hume.sampling.options import StudySampleRequest

VERSION = 2
"""Raised when the same request would give other numbers; part of every cell's key."""
Aggregation = Literal["paper", "pooled", "mean", "first"]
"""How the answers of several people become one score."""
ApMode = Literal["tie_aware", "display_order", "expected"]
"""How documents with equal marks are ordered."""
AP_MODES: tuple[ApMode, ...] = get_args(ApMode)
OneAnnotator = Literal["wilson", "none"]
"""The interval of one annotator's clusters or rankings."""
Models = Literal["study", "all"]
"""Which systems of result files are models."""
Mode = Literal["ranking", "binary"]
"""How a language model answers an item of reranking."""
Form = Literal["csv", "jsonl", "label-studio", "argilla", "mteb"]
"""Formats that are written."""
GoldKind = Literal["original", "adjudicated", "consensus"]
"""Which gold is written: as it was, as adjudicators decided, or also where all agree."""
RUNS = 100
Words = list[str] | None


@dataclass(frozen=True)
class LlmAnswerAcceptanceOptions:
    """The options by which a model's answer is accepted."""

    check: float = option(0.2, "Share of the consistently answered items that people also answer.")
    least: int = option(10, "Minimum number of items in that sample; all, if there are fewer.")
    most_wrong: float = option(
        0.1, "Maximum share of contradicted answers; if the interval is above it, people do the whole task."
    )
    tolerance: float = option(1.0, "Maximum difference between ratings that still count as equal.")
    seed: int = option(1337, "Random seed of the sample.", group=STATISTICS)

    def __post_init__(self) -> None:
        if self.least < 1:
            raise UsageError(f"least is {self.least}.", mend="Use a positive whole number.")
        for name in ("check", "most_wrong"):
            if not 0 <= getattr(self, name) <= 1:
                raise UsageError(f"{name} is {getattr(self, name)}.", mend="Use a share from 0 to 1.")
        if not self.tolerance >= 0:
            raise UsageError(f"tolerance is {self.tolerance}.", mend="Use 0 or more.")


@dataclass(frozen=True)
class AnnotateRequest:
    """`llms` are specs of chat models, with the fields of `LlmAnnotatorOptions` among their parameters if need be.
    `tasks` are names of the study's; none: all that language models can annotate. `limit` is of items per task."""

    llms: tuple[str, ...] = option(
        MISSING, "A chat model, such as ollama:gemma3:27b?temperature=0.7.", name="--llm", group=SYSTEMS
    )
    mode: Mode = option(
        "ranking", "For reranking, have the model mark relevant documents, as people do, instead of ranking all.",
        name="--binary", flag="binary"
    )  # fmt: skip
    runs: int = option(1, "Answers per item; scores are averaged.", least=1, most=RUNS, group=STATISTICS)
    seed: int = redeclare_option(RunRequest, "seed")
    tasks: tuple[str, ...] = option((), "A task in the study. Default: all except clustering.", name="--task -t")
    limit: int | None = redeclare_option(RunRequest, "limit")

    def __post_init__(self) -> None:
        if not self.llms:
            raise UsageError("No language model was given.", mend="Pass one, such as --llm ollama:gemma3:27b.")
        if not 1 <= self.runs <= RUNS:
            raise UsageError(f"--runs is {self.runs}.", mend=f"Use 1 to {RUNS}.")
        if self.limit is not None and self.limit < 1:
            raise UsageError(f"The limit is {self.limit}.", mend="Give 1 or more.")

    def as_dict(self) -> dict[str, Any]:
        """As saved beside the answers."""
        return asdict(self)


@dataclass(frozen=True)
class StudyTaskOptions:
    """Settings of the tasks that are drawn; in a file, every task has its own."""

    label: Words = option(None, "Description of a label, such as joy='Happy, pleased.'.")
    label_name: Words = option(None, "Name on a label's button, such as 0=sadness.")
    guidelines: str | None = option(None, "Your own guidelines, in Markdown.")
    question: str = option("", "Your own question, shown above every item.")
    scale: str | None = option(None, "Rating scale, LOW-HIGH[:STEP]. Default: 0-5.")
    groups: int | None = option(None, "Number of gold clusters to draw from. Default: 6, or 5 if that fits better.")
    relevant: int = option(3, "Maximum number of relevant documents per query.")
    candidates: int = option(7, "Documents per query.")
    negatives: Literal["auto", "lists", "bm25"] = option(
        "auto", "Source of hard negatives: the data's lists or bm25. auto prefers lists."
    )
    against: Words = option(None, "Training data to search for leaked items.")
    drop_leaked: bool = option(False, "Leave out leaked texts.")
    practice: int = option(3, "Practice items per task.")
    whole: bool = option(False, "Use every item of an annotated set unchanged. Default for the hume suite.")
    give_k: bool = option(False, "Tell people the number of groups, as models are told.")

    def build_task_file_settings(self) -> dict[str, Any]:
        """Build a task's keys for a file; UsageError for a label or scale that cannot be read."""
        from embassay.protocols.hume.sampling.options import read_guidelines_file

        return {
            "labels": parse_label_meanings(self.label or (), self.label_name or ()),
            "guidelines": self.guidelines and read_guidelines_file(self.guidelines),
            "question": self.question, "scale": self.scale and parse_rating_scale(self.scale), "groups": self.groups,
            "relevant": self.relevant, "candidates": self.candidates,
            "negatives": None if self.negatives == "auto" else self.negatives,
            "against": self.against or [], "drop_leaked": self.drop_leaked, "practice": self.practice,
            "whole": self.whole, "give_k": self.give_k
        }  # fmt: skip


ANNOTATED = ("hume", "mteb-hume")
"""Suites of sets that people have annotated: to draw from them anew would lose what they answered."""


@dataclass(frozen=True)
class StudyDataOptions:
    """Which data a study is drawn from, by the options that other commands have too, and what it is as a whole."""

    datasets: tuple[str, ...] = redeclare_option(RunRequest, "datasets", default=(), help="A catalogue name or a path.")
    config: Path | None = option(None, "YAML file with settings for every task.", group=DATA)
    families: tuple[Family, ...] = option((), "A task family. Default: all that fit the data.", name="--task -t")
    n: int | None = option(None, "Items per task. Default: 40 (30 for clustering and reranking).", least=2)
    name: str | None = option(None, "Name of the study. Default: the name of the --out folder.", group=DATA)
    lang: tuple[str, ...] = option(
        (), "Use only this language, such as eng, and assume it for data that states none.", group=DATA
    )
    mapping: Mapping[str, str] = redeclare_option(RunRequest, "mapping")
    split: str | None = redeclare_option(RunRequest, "split")
    grades: str | None = redeclare_option(RunRequest, "grades")
    ask: tuple[Question, ...] = option((), "What to ask annotators about themselves. Default: nothing.")
    limit: int | None = option(None, "Maximum number of items per task, for a trial.", least=2, group=DATA)
    seed: int | None = redeclare_option(RunRequest, "seed", default=None, help="Random seed. Default: 1337.")
    own: StudyTaskOptions = field(default_factory=StudyTaskOptions)

    @property
    def has_no_study_data_options(self) -> bool:
        """Whether none was given."""
        return not any((self.datasets, self.families, self.n, self.lang, self.mapping, self.split, self.grades))

    def request(self, name: str) -> StudySampleRequest:
        """Make the request to draw one study of all datasets; UsageError where there are none."""
        from embassay.protocols.hume.sampling.options import parse_sampling_config

        if not self.datasets:
            raise UsageError(
                "There is no data to sample from.",
                mend="Pass -d DATASET or --config FILE. To try it out, use -d sample.",
            )
        entry = {
            "family": list(self.families), "n": self.n, "lang": list(self.lang),
            "map": dict(self.mapping), "split": self.split, "grades": self.grades, **self.own.build_task_file_settings()
        }  # fmt: skip
        tasks = [
            task
            for data in self._prefer_paths_over_catalogue_names()
            for task in self._list_task_entries_of_dataset(data, entry)
        ]
        return parse_sampling_config({"name": name, "tasks": tasks, "profile": list(self.ask)})

    @property
    def chosen_suites(self) -> list[DatasetSuite]:
        """The suites among the datasets."""
        from embassay.data.catalogue.suites import find_suite

        return [suite for data in self._prefer_paths_over_catalogue_names() if (suite := find_suite(data))]

    def _prefer_paths_over_catalogue_names(self) -> list[str]:
        from embassay.data.sources import prefer_path_over_catalogue

        return [prefer_path_over_catalogue(data) for data in self.datasets]

    def _list_task_entries_of_dataset(self, data: str, row: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """The task of a dataset; those of a suite, which are for the families that were asked for."""
        from embassay.data.catalogue.suites import find_suite
        from embassay.protocols.hume.sampling.options import make_task_config_of_suite_member

        suite = find_suite(data)
        if suite is None:
            yield {"data": data, **row}
            return
        for member in (suite.narrow_suite_to_tasks(self.families) if self.families else suite).members:
            yield {
                **row,
                **make_task_config_of_suite_member(member, suite.name),
                "whole": row["whole"] or suite.name in ANNOTATED,
            }


def parse_label_meanings(told: Sequence[str], names: Sequence[str]) -> dict[str, dict[str, str]]:
    """Label -> what people are told of it, from LABEL=WORDS.

    >>> parse_label_meanings(["0=Low spirits."], ["0=sadness"])
    {'0': {'description': 'Low spirits.', 'name': 'sadness'}}
    """
    labels: dict[str, dict[str, str]] = {}
    for flag, key, entries in (("--label", "description", told), ("--label-name", "name", names)):
        for entry in entries:
            value, equals, words = (part.strip() for part in entry.partition("="))
            if not (value and equals and words):
                raise UsageError(f"Cannot read {flag} {entry!r}.", mend=f"Write {flag} LABEL='words'.")
            labels.setdefault(value, {})[key] = words
    return labels


def parse_rating_scale(text: str) -> dict[str, float]:
    """A scale from LOW-HIGH or LOW-HIGH:STEP.

    >>> parse_rating_scale("1-4:0.5")
    {'low': 1.0, 'high': 4.0, 'step': 0.5}
    """
    number = r"(-?\d+(?:\.\d+)?)"
    ends = re.fullmatch(rf"{number}-{number}(?::(\d+(?:\.\d+)?))?", text.strip())
    if ends is None or not float(ends[1]) < float(ends[2]):
        raise UsageError(f"Cannot read --scale {text!r}.", mend="Write LOW-HIGH or LOW-HIGH:STEP, such as 1-4:0.5.")
    return {"low": float(ends[1]), "high": float(ends[2]), "step": float(ends[3] or 1)}


@dataclass(frozen=True)
class AnnotationImportOptions:
    """How annotations are taken from files."""

    form: Literal["auto", "csv", "jsonl", "label-studio", "argilla"] = option(
        "auto", "Format of the files; auto detects it.", name="--format", group=OUTPUT
    )
    annotators: tuple[str, ...] = option(
        (), "Who answered, or a new name for an annotator in the file.",
        name="--annotator", value="NAME|OLD=NAME", group=SYSTEMS
    )  # fmt: skip
    replace: bool = option(False, "Replace earlier answers with these.", name="--replace", group=SPEED)


@dataclass(frozen=True)
class AnnotationExportOptions:
    """What goes out of a study, and whose answers."""

    form: Form | None = option(
        None, "Export answers (csv, jsonl), tasks (label-studio, argilla) or people's scores (mteb).",
        name="--to --format", group=OUTPUT
    )  # fmt: skip
    gold: GoldKind | None = option(
        None,
        "Write a dataset and a study whose gold is original, adjudicated, or adjudicated plus consensus.",
        group=DATA,
    )
    tasks: tuple[str, ...] = option((), "Only this task.", name="--task -t")
    answers: bool = option(False, "Add people's answers to the tasks.", name="--answers", group=OUTPUT)
    profiles: bool = option(False, "Include what annotators said about themselves (csv, jsonl).", name="--profiles")
    revision: str = option("1", "Revision of MTEB's baseline Human to write.", group=OUTPUT)
    exposed: bool = option(
        False,
        "Include answers given in a browser that had shown someone else's answers.",
        name="--exposed",
        group=OUTPUT,
    )

    def __post_init__(self) -> None:
        if self.gold is None and self.form is None:
            raise UsageError("Nothing to export was selected.", mend="Pass --format csv or --gold adjudicated.")
        if self.gold is not None and (self.form is not None or self.profiles):
            raise UsageError(
                f"{'--format' if self.form else '--profiles'} has no effect with --gold.",
                mend="Use only one of the two.",
            )


@dataclass(frozen=True)
class _HumeRequest:
    def as_dict(self) -> dict[str, Any]:
        """The arguments as saved in the manifest and compared on resume."""
        return convert_tuples_to_lists(asdict(self))


@dataclass(frozen=True)
class StudyRequest(_HumeRequest):
    """A request to score a study; empty `tasks` or `answers` stand for all of them.

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
    systems: tuple[str, ...] = redeclare_option(RunRequest, "systems", default=())
    tasks: tuple[str, ...] = option((), "A task of the study. Default: all.", name="--task -t")
    answers: tuple[str, ...] = option(
        (), "Use only these annotations (JSONL). Default: all of the study's annotations.", value="FILE", group=DATA
    )
    aggregation: Aggregation = option("paper", "How to combine several people's answers into one score.")
    human_ap_mode: ApMode = option("tie_aware", "How people's MAP handles documents with equal marks.")
    one_annotator: OneAnnotator = option(
        "wilson", "Interval for a single annotator's clusters or marks; the paper gives none."
    )
    samples_per_label: int | None = option(
        None, "Training texts per label. Default: 16 for Emotion and Toxic, 32 for Tweet, otherwise 8.", least=1
    )
    resamples: int = option(10_000, "Bootstrap resamples per interval.", least=1, most=MOST_RESAMPLES, group=STATISTICS)
    seed: int = redeclare_option(RunRequest, "seed")
    tokenizer: str = redeclare_option(RunRequest, "tokenizer")
    min_answered: float = option(
        0.5, "Leave out annotators with less than this share of the most active annotator's answers.",
        least=0, most=1, value="SHARE", group=STATISTICS
    )  # fmt: skip
    min_shared: int = option(
        10,
        "Minimum number of shared items to compare two annotators, unless they share all items.",
        least=1,
        group=STATISTICS,
    )
    repeats: int = 10
    neighbours: int = 10
    give_k: bool = option(True, "Give systems the number of gold clusters; otherwise they estimate it, as people do.")
    smallest_group: int = option(5, "Withhold a profile's scores if fewer people than this share it.", least=2)

    def as_dict(self) -> dict[str, Any]:
        """The arguments as saved in the manifest and compared on resume."""
        usual = {entry.name: entry.default for entry in fields(self)}
        return {
            name: value for name, value in super().as_dict().items() if name not in self.LATER or value != usual[name]
        }

    def __post_init__(self) -> None:
        _check_scoring_options_allowed(self)
        if self.smallest_group < 2:
            raise UsageError(
                f"smallest_group is {self.smallest_group}.", mend="Use 2 or more: one person is not a group."
            )
        _check_option_choice("human-ap-mode", self.human_ap_mode, AP_MODES)
        if not 0 <= self.min_answered <= 1:
            raise UsageError(f"min_answered is {self.min_answered}.", mend="Use a share from 0 to 1.")
        for name in ("resamples", "samples_per_label", "repeats", "neighbours", "min_shared"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise UsageError(f"{name} is {value}.", mend="Use a positive whole number.")


@dataclass(frozen=True)
class PublishedRequest(_HumeRequest):
    """Scores from result files of MTEB. `models` says whether only the models of the study take part in best, median,
    mean and rank, or `all` that the files hold.

    `systems` are evaluated on the items that people answered, and placed among them; `samples_per_label` are the
    training texts per label of classification, None as the paper has it, and the rest as for a study.
    """

    GROWS: ClassVar[tuple[str, ...]] = ("systems",)
    OF_SYSTEMS: ClassVar[tuple[str, ...]] = (
        "systems", "samples_per_label", "resamples", "tokenizer", "repeats", "neighbours"
    )  # fmt: skip
    results: tuple[str, ...] = option(
        MISSING, "Score MTEB result files instead of a study.",
        name="--from-mteb", value="FILE|FOLDER", group=DATA
    )  # fmt: skip
    llm_scores: tuple[str, ...] = option(
        (), "With --from-mteb: CSV with columns dataset, lang and human, plus one per language model.",
        value="FILE|FOLDER", group=DATA
    )  # fmt: skip
    models: Models = option("study", "With --from-mteb: the paper's models, or all models in the files.", group=SYSTEMS)
    aggregation: Aggregation = redeclare_option(StudyRequest, "aggregation")
    one_annotator: OneAnnotator = redeclare_option(StudyRequest, "one_annotator")
    seed: int = redeclare_option(StudyRequest, "seed")
    systems: tuple[str, ...] = redeclare_option(StudyRequest, "systems")
    samples_per_label: int | None = redeclare_option(StudyRequest, "samples_per_label")
    resamples: int = redeclare_option(StudyRequest, "resamples")
    tokenizer: str = redeclare_option(StudyRequest, "tokenizer", default="")
    repeats: int = 10
    neighbours: int = 10

    def __post_init__(self) -> None:
        _check_scoring_options_allowed(self)
        _check_option_choice("models", self.models, get_args(Models))

    def as_dict(self) -> dict[str, Any]:
        """The arguments as saved in the manifest and compared on resume; of systems only where there are some."""
        plain = super().as_dict()
        return plain if self.systems else {key: plain[key] for key in plain if key not in self.OF_SYSTEMS}


def _check_scoring_options_allowed(request: Any) -> None:
    _check_option_choice("aggregation", request.aggregation, get_args(Aggregation))
    _check_option_choice("one-annotator", request.one_annotator, get_args(OneAnnotator))


def _check_option_choice(name: str, value: str, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise UsageError(f"--{name} is {value!r}.", mend=f"Use one of {', '.join(allowed)}.")
