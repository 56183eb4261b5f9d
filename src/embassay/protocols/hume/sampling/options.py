"""What is to be sampled, from the command line or a YAML file, with the line of what is wrong."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from importlib.resources import files
from itertools import starmap
from pathlib import Path
from string import Template
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from embassay.data.catalogue.suites import SuiteMember
from embassay.data.rows import find_nearest_name
from embassay.data.yaml import find_yaml_line, read_yaml
from embassay.errors import DataError, UsageError
from embassay.protocols.hume.options import StudyTaskOptions
from embassay.protocols.hume.study import Family, LabelChoice, Name, Question, RatingScale, StudyTask
from embassay.runs.folder import digest_json

SEED = 1337
SIZES: dict[Family, int] = {"classification": 40, "clustering": 30, "reranking": 30, "sts": 40}
"""Items of a task where nothing else is asked for: within the study's ranges (spec hume 2.1)."""


def _convert_to_list(value: object) -> object:
    return value if isinstance(value, list) else [value]


def _convert_label_keys_to_text(value: object) -> object:
    """YAML reads the label 1 as a number."""
    return {str(key): held for key, held in value.items()} if isinstance(value, dict) else value


class _SamplingModel(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class LabelWordAndMeaning(_SamplingModel):
    """What people are told of a label: the word on its button, and what it means."""

    name: str = ""
    description: str = ""

    @model_validator(mode="before")
    @classmethod
    def _accept_bare_description(cls, value: object) -> object:
        return {"description": value} if isinstance(value, str) else value


class TaskSampleRequest(_SamplingModel):
    """One dataset to draw from, for one family or for all that it has the columns of.

    `lang` keeps these languages, a task each, or states the language of data that state none. `guidelines` is the
    text itself. `relevant` and `candidates` are for reranking, `negatives` says where its hard negatives come from:
    `lists` the data's own candidates, `bm25` the corpus. `groups` is the number of gold clusters, `against` other data
    (those that models train on) to look for the items' texts in, `drop_leaked` leaves out items that are in them.
    `whole` takes every item as it is, as of a set that was annotated before. `give_k` tells people how many groups
    there are, as models know it (spec hume 11, 16). Data of a `suite` that aren't there are left out.
    """

    data: Annotated[str, Field(min_length=1)]
    family: Annotated[list[Family], BeforeValidator(_convert_to_list)] = []
    name: Name | None = None
    title: str = ""
    question: str = ""
    n: Annotated[int, Field(ge=2)] | None = None
    lang: Annotated[list[str], BeforeValidator(_convert_to_list)] = []
    map: dict[str, str] = {}
    split: str | None = None
    grades: str | None = None
    labels: Annotated[dict[str, LabelWordAndMeaning], BeforeValidator(_convert_label_keys_to_text)] = {}
    guidelines: str | None = None
    scale: RatingScale | None = None
    groups: Annotated[int, Field(ge=2)] | None = None
    relevant: Annotated[int, Field(ge=1)] = StudyTaskOptions.relevant
    candidates: Annotated[int, Field(ge=2)] = StudyTaskOptions.candidates
    negatives: Literal["lists", "bm25"] | None = None
    against: list[str] = []
    drop_leaked: bool = False
    practice: Annotated[int, Field(ge=0, le=10)] = StudyTaskOptions.practice
    whole: bool = False
    give_k: bool = False
    suite: str = ""

    @model_validator(mode="after")
    def _check_consistent_settings(self) -> TaskSampleRequest:
        if self.whole and (self.n is not None or self.groups is not None or self.drop_leaked):
            raise ValueError("whole uses every item unchanged, so it cannot be combined with n, groups or drop_leaked")
        if self.relevant >= self.candidates:
            raise ValueError(f"relevant ({self.relevant}) must be less than candidates ({self.candidates})")
        return self

    def size(self, family: Family, limit: int | None = None) -> int:
        """The number of items that are wanted, at most `limit`."""
        wanted = self.n or SIZES[family]
        return wanted if limit is None else min(wanted, limit)


class StudySampleRequest(_SamplingModel):
    """A whole study; `profile` is what it asks of every annotator."""

    name: str = "study"
    seed: int = SEED
    profile: Annotated[list[Question], BeforeValidator(_convert_to_list)] = []
    tasks: Annotated[list[TaskSampleRequest], Field(min_length=1)]


def make_task_config_of_suite_member(member: SuiteMember, suite: str) -> dict[str, Any]:
    """The keys of a task for a dataset of a suite."""
    return {"data": member.spec(tasks=False), "family": list(member.tasks), "suite": suite}


_MODELS: Mapping[str, type[BaseModel]] = {
    "tasks": TaskSampleRequest,
    "scale": RatingScale,
    "labels": LabelWordAndMeaning,
}
Place = Sequence[int | str]


def read_sampling_config(path: Path) -> StudySampleRequest:
    """The request that a file makes. Paths of data and guidelines are relative to the file.

    Raises UsageError for a key or value that is not right, with its line, DataError for a file that is no mapping.
    """
    if not path.is_file():
        raise UsageError(f"There is no file {str(path)!r}.", mend="Pass the YAML file of the study.")
    content = read_yaml(path)
    if not isinstance(content, dict):
        raise DataError(
            "the file is not a YAML mapping", path=path, expected="tasks: ...", found=type(content).__name__,
            mend="Start it with `tasks:`; see docs/hume_sampling.md."
        )  # fmt: skip
    content.setdefault("name", path.stem)
    return parse_sampling_config(content, path)


def parse_sampling_config(content: Mapping[str, Any], path: Path | None = None) -> StudySampleRequest:
    """Check a sampling configuration and make the request that it stands for."""
    base = path.parent if path else Path()
    tasks = content.get("tasks")
    if isinstance(tasks, list):
        content = {**content, "tasks": [_load_task_guidelines_and_paths(task, base) for task in tasks]}
    try:
        return StudySampleRequest.model_validate(content)
    except ValidationError as error:
        raise _make_sampling_settings_error(error, path) from None


def read_guidelines_file(path: str | Path) -> str:
    """The text of own guidelines. Raises UsageError for a file that cannot be read or is empty."""
    try:
        text = Path(path).read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"The guidelines {path} cannot be read: {error}.", mend="Use a UTF-8 text file.") from None
    if not text:
        raise UsageError(f"The guidelines {path} are empty.", mend="Write instructions for the annotators.")
    return text + "\n"


def _load_task_guidelines_and_paths(task: Any, base: Path) -> Any:
    """A task with the text of its guidelines, paths relative to here, and levels as texts."""
    if not isinstance(task, dict):
        return task
    task = dict(task)
    if isinstance(task.get("guidelines"), str):
        task["guidelines"] = read_guidelines_file(base / task["guidelines"])
    if isinstance(task.get("data"), str):
        task["data"] = _resolve_data_path(task["data"], base)
    against = task.get("against")
    if isinstance(against, str | list):
        task["against"] = [
            _resolve_data_path(str(path), base) for path in ([against] if isinstance(against, str) else against)
        ]
    scale = task.get("scale")
    if isinstance(scale, dict) and isinstance(scale.get("anchors"), dict):
        anchors = {str(level): words for level, words in scale["anchors"].items()}
        task["scale"] = {**scale, "anchors": anchors}
    return task


def _resolve_data_path(spec: str, base: Path) -> str:
    """A path beside the file, if there is one; a name of the catalogue stays as it is."""
    path = os.path.normpath(base / spec)
    return path if Path(path).exists() else spec


def _make_sampling_settings_error(error: ValidationError, path: Path | None) -> UsageError:
    """The first thing that is wrong, in one line."""
    first = min(error.errors(include_url=False), key=lambda error: error["type"] != "extra_forbidden")
    place = first["loc"]
    name = "".join(f"[{part + 1}]" if isinstance(part, int) else f".{part}" for part in place).lstrip(".")
    where = f"{path}:{find_yaml_line(path, place)}: " if path else ""
    see = "See docs/hume_sampling.md." if path else "`embassay hume sample --help` lists the settings."
    if path is None:
        name = name.partition(".")[2]
    if first["type"] == "extra_forbidden":
        names = list(_find_config_class_of_error(place[:-1]).model_fields)
        near = find_nearest_name(str(place[-1]), names)
        mend = f"Did you mean {near!r}?" if near else f"Valid keys are {', '.join(names)}."
        return UsageError(f"{where}unknown key {name!r}.", mend=mend)
    if first["type"] == "missing":
        return UsageError(f"{where}the key {name!r} is missing.", mend=f"Add a line `{place[-1]}: ...`.")
    words = first["msg"].removeprefix("Value error, ").removeprefix("Input should be ")
    if isinstance(first["input"], dict):
        return UsageError(f"{where}{f'{name}: ' if name else ''}{words}.", mend=see)
    return UsageError(f"{where}{name} is {first['input']!r}, but should be {words}.", mend=see)


def _find_config_class_of_error(place: Place) -> type[BaseModel]:
    names = [part for part in place if part in _MODELS]
    return _MODELS[str(names[-1])] if names else StudySampleRequest


VERSION = "1"
"""Of the guidelines beside this module; raised with any word of them."""
QUESTIONS: Mapping[Family, str] = {
    "classification": "Which label fits this text best?",
    "clustering": "Which texts are about the same topic?",
    "reranking": "Which of these documents answer the query?",
    "sts": "How similar in meaning are the two texts?",
}
ANCHORS: Mapping[str, str] = {
    "0": "Unrelated: the texts are about different things.",
    "1": "Different statements on the same subject.",
    "2": "Not equivalent, though some details are the same.",
    "3": "Roughly the same, but something important differs or is missing.",
    "4": "Nearly the same: only unimportant details differ.",
    "5": "The same meaning.",
}
"""A level of the usual scale -> what it means (spec hume 3)."""
EXAMPLES: Mapping[str, tuple[str, str]] = {
    "0": ("The night train was late again.", "She planted an apple tree."),
    "1": ("How long must rice be cooked?", "Where in Europe does rice grow?"),
    "2": ("The choir sings in the old church on Sundays.", "The choir has had a new conductor since Sunday."),
    "3": ("The old mill burned down last night.", "There was a fire in the old mill."),
    "4": ("A small dog is running over the wet grass.", "A dog is running over the grass."),
    "5": ("Tickets are sold at the door only.", "You can only buy tickets at the door."),
}
"""A level of the usual scale in our words -> two texts that it fits."""


def make_label_choices_in_vote_order(
    labels: Sequence[str], told: Mapping[str, LabelWordAndMeaning]
) -> list[LabelChoice]:
    """The labels in the order in which a tied vote goes to the first: by number where all are numbers, else as text.

    >>> [one.value for one in make_label_choices_in_vote_order(["10", "9"], {})]
    ['9', '10']
    """
    whole = all(label.isdecimal() for label in labels)
    order = sorted(labels, key=lambda label: (int(label) if whole else 0, label))
    return [
        LabelChoice(
            value=label,
            name=told.get(label, LabelWordAndMeaning()).name or label.replace("_", " "),
            description=told.get(label, LabelWordAndMeaning()).description,
        )
        for label in order
    ]


def complete_rating_scale(scale: RatingScale | None) -> RatingScale:
    """The scale that ratings are given on, with words for its levels: 0 to 5 in whole numbers if none is asked for.

    A scale of 0 to 5 without words has ours; on another one only the ends are named.
    """
    scale = scale or RatingScale()
    if scale.anchors:
        return scale
    if (scale.low, scale.high) == (0, 5):
        return scale.model_copy(update={"anchors": dict(ANCHORS)})
    ends = {f"{scale.low:g}": ANCHORS["0"], f"{scale.high:g}": ANCHORS["5"]}
    return scale.model_copy(update={"anchors": ends})


ANY_GROUPS = "The number of groups is up to you."


def describe_group_count(groups: int | None) -> str:
    """What people are told of the number of groups."""
    return ANY_GROUPS if groups is None else f"There are {groups} groups: make that many."


def make_guidelines(
    family: Family, labels: Sequence[LabelChoice] = (), scale: RatingScale | None = None, groups: int | None = None
) -> str:
    """Our guidelines of a family in Markdown, with these labels, levels or number of groups in their place."""
    text = (files("embassay.protocols.hume.sampling") / "guidelines" / f"{family}.md").read_text("utf-8")
    scale = scale or RatingScale()
    return Template(text).substitute(
        labels="\n".join(_format_guideline_entry(label.name, label.description) for label in labels),
        levels="\n".join(starmap(_format_scale_level, scale.anchors.items())),
        low=f"{scale.low:g}", high=f"{scale.high:g}", groups=describe_group_count(groups)
    )  # fmt: skip


def hash_guidelines(tasks: Sequence[StudyTask]) -> str:
    """A fingerprint of every word that annotators are told, and of the practice items."""
    shown = {"question", "guidelines", "labels", "scale", "practice"}
    return digest_json([task.model_dump(include=shown) for task in tasks])


def guideline_version(tasks: Sequence[StudyTask]) -> str:
    """The version of the guidelines, which changes with any word: `1-` and the beginning of their fingerprint."""
    return f"{VERSION}-{hash_guidelines(tasks)[:8]}"


def _format_scale_level(level: str, words: str) -> str:
    """A level with its meaning, and with an example where both are ours."""
    if ANCHORS.get(level) != words or level not in EXAMPLES:
        return _format_guideline_entry(level, words)
    one, other = EXAMPLES[level]
    return f"{_format_guideline_entry(level, words)} Example: *{one}* and *{other}*"


def _format_guideline_entry(name: str, words: str) -> str:
    return f"- **{name}**: {words}" if words else f"- **{name}**"
