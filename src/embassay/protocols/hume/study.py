"""A study: a task, its items with gold and the annotations of people (spec hume 1), and the folder that keeps them.

study.json            the tasks: questions, labels, scales, guidelines, practice, source, hashes (no gold)
items.jsonl           {"id", "task", "payload"}: all that annotators and models see
gold.jsonl            {"id", "gold", "source_id", "documents", "defects"}: no page ever opens it
annotations/*.jsonl   answers of people, an `AnnotationRow` a line, as `hume import` and `hume export` write them
answers.sqlite3       what `hume serve` stores
llm/                  answers of language models (`embassay.protocols.hume.llms`)

Files are read line by line, with gold only where it is asked for.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, SerializerFunctionWrapHandler, ValidationError, model_serializer

from embassay.data.lines import read_text_lines
from embassay.errors import DataError, UsageError
from embassay.limits import read_bounded_file
from embassay.runs.folder import digest_json, slugify_name, write_file_atomically

Family = Literal["classification", "clustering", "reranking", "sts"]
FAMILIES: tuple[Family, ...] = ("classification", "clustering", "reranking", "sts")
Label = str | int
Marks = tuple[int, ...]
Value = Label | float | Marks
"""A label, a cluster's id, a rating, or one 0 or 1 per document: by family."""
Question = Literal["language", "expertise", "age", "gender"]
"""What a study may ask of its annotators (spec hume 13); see `profile`."""
Who = Literal["person", "simulated"]
"""Whether a person answered, or a script that stands in for one: tables say which."""
Gold = Mapping[str, Any]
"""The gold value of every item, by its id."""
Answers = Mapping[str, Mapping[str, Any]]
"""What every annotator answered, by the ids of annotator and item."""


@dataclass(frozen=True)
class TaskSpec:
    """A dataset in one language. `labels` are those of a classification, in the order in which a tied vote goes to
    the first; empty: the sorted values found. Raises DataError for another family, or labels of one spelling."""

    name: str
    family: Family
    lang: str
    labels: tuple[Label, ...] = ()

    def __post_init__(self) -> None:
        if self.family not in FAMILIES:
            raise DataError(f"The family of {self.name} is {self.family!r}.", mend=f"Use one of {', '.join(FAMILIES)}.")
        # Files of annotations do not tell the label 1 from the label "1".
        if len({str(label) for label in self.labels}) < len(self.labels):
            raise DataError(f"Two labels of {self.name} look the same.", mend="List each label once.")


@dataclass(frozen=True)
class StudyItem:
    """What is asked: `payload` is what annotators see, `gold` what they must not."""

    id: str
    task: str
    lang: str
    payload: Mapping[str, Any] = field(default_factory=dict)
    gold: Value | None = None


@dataclass(frozen=True)
class Annotation:
    """One answer of one annotator; `value` None where the item was left open or could not be judged.

    `ts` is ISO 8601, `seconds` those the page was seen. `flag` says why the item is thought broken or cannot be judged,
    empty where it was not flagged.
    """

    item_id: str
    annotator_id: str
    value: Value | None
    ts: str = ""
    seconds: float | None = None
    kind: Who = "person"
    flag: str = ""
    comment: str = ""


def map_items_to_gold_values(task: TaskSpec, items: Iterable[StudyItem]) -> dict[str, Any]:
    """The gold value of every item, in the form its family scores. Raises DataError for one that is missing, repeated
    or of another kind."""
    gold: dict[str, Any] = {}
    for item in items:
        if item.id in gold:
            raise DataError(f"Item {item.id} of {task.name} appears twice.", mend="Give every item a unique id.")
        value = convert_value_for_scoring(task, item.gold, f"The gold of item {item.id} of {task.name}")
        if value is None:
            raise DataError(f"Item {item.id} of {task.name} has no gold.", mend="Pass the file with the gold.")
        gold[item.id] = value
    return gold


def answers_by_annotator(task: TaskSpec, gold: Gold, annotations: Iterable[Annotation]) -> dict[str, dict[str, Any]]:
    """What every annotator answered, annotators and items in the order of their ids; open items are left out.

    Cluster ids become texts without spaces around them: "1" and "1 " are one group. Raises DataError for an item that
    is not of the task, two answers of one annotator to one item, or a value of another kind.
    """
    answers: dict[str, dict[str, Any]] = {}
    for annotation in annotations:
        where = f"The answer by {annotation.annotator_id} to item {annotation.item_id} of {task.name}"
        if annotation.item_id not in gold:
            raise DataError(
                f"{where} is for an item that is not in the study.", mend="Pass the annotations of this sample."
            )
        given = answers.setdefault(annotation.annotator_id, {})
        if annotation.item_id in given:
            raise DataError(f"{where} appears twice.", mend="Keep only the last answer.")
        given[annotation.item_id] = convert_value_for_scoring(
            task, annotation.value, where, like=gold[annotation.item_id]
        )
    return {
        annotator: {item: value for item, value in sorted(answers[annotator].items()) if value is not None}
        for annotator in sorted(answers)
    }


def convert_value_for_scoring(task: TaskSpec, value: Any, where: str, *, like: Any = None) -> Any:
    """`value` in the form its family scores, None where it is missing: a label of the task, a text, a finite float, or
    a tuple of grades (only 0 and 1, and as many, where it must be `like` a gold one). Raises DataError otherwise."""
    if value is None or value == "":
        return None
    if task.family == "classification":
        return _convert_label_for_scoring(value, where, task.labels)
    if task.family == "clustering":
        return _convert_cluster_id_for_scoring(value, where)
    return (
        _convert_rating_for_scoring(value, where)
        if task.family == "sts"
        else _convert_marks_for_scoring(value, where, like)
    )


def _convert_label_for_scoring(value: Any, where: str, labels: Sequence[Label]) -> Label:
    # A CSV file turns the label 1 into the text 1.
    by_text = {str(label): label for label in labels}
    if not isinstance(value, str | int) or (by_text and str(value) not in by_text):
        raise _make_wrong_value_error(where, value, f"one of {', '.join(by_text)}" if by_text else "a label")
    return by_text.get(str(value), value)


def _convert_cluster_id_for_scoring(value: Any, where: str) -> str | None:
    if not isinstance(value, str | int):
        raise _make_wrong_value_error(where, value, "a group id")
    return str(value).strip() or None


def _convert_rating_for_scoring(value: Any, where: str) -> float:
    try:
        number = math.nan if isinstance(value, bool) else float(value)
    except (TypeError, ValueError):
        number = math.nan
    if not math.isfinite(number):
        raise _make_wrong_value_error(where, value, "a number")
    return number


def _convert_marks_for_scoring(value: Any, where: str, like: Marks | None) -> Marks:
    whole = isinstance(value, Sequence) and all(isinstance(mark, int) and mark >= 0 for mark in value)
    if not whole or not len(value):
        raise _make_wrong_value_error(where, value, "a list of whole numbers of 0 or more")
    if like is None and not any(value):
        raise DataError(f"{where} has no relevant document.", mend="Leave the query out, because it has no score.")
    if like is not None and (len(value) != len(like) or max(value) > 1):
        raise _make_wrong_value_error(where, value, f"{len(like)} times 0 or 1")
    return tuple(int(mark) for mark in value)


def _make_wrong_value_error(where: str, value: Any, expected: str) -> DataError:
    return DataError(f"{where} is {value!r}.", mend=f"It must be {expected}.")


VERSION = 1
Defect = Literal[
    "ambiguous_label", "neutral_text", "parsing_artefact", "added_context", "interdisciplinary", "empty", "same_text",
    "leaked"
]  # fmt: skip
"""What may be wrong with an item, a closed list (spec hume 8 and 13)."""
Name = Annotated[str, Field(min_length=1, max_length=80, pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")]


class _StrictStudyModel(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)
    optional: ClassVar[frozenset[str]] = frozenset()
    """Fields that are written only where they say something: a study without them has the bytes it always had."""

    @model_serializer(mode="wrap")
    def _omit_empty_optional_fields(self, plain: SerializerFunctionWrapHandler) -> dict[str, Any]:
        return {name: value for name, value in plain(self).items() if value or name not in self.optional}


class LabelChoice(_StrictStudyModel):
    """A label of a classification: its stored value, the word on its button, and what it means."""

    value: Label
    name: str
    description: str = ""


class RatingScale(_StrictStudyModel):
    """The scale of a rating; `anchors` say in words what a level means, by its number as text (`"0"`)."""

    low: float = 0
    high: float = 5
    step: Annotated[float, Field(gt=0)] = 1
    anchors: dict[str, str] = {}


class PracticeItem(_StrictStudyModel):
    """An item to practise on, which does not count: what is shown, the answer, and why it is the answer.

    For reranking `answer` is a list of 0 and 1. A practice of clustering has `payload` {"texts": [...]} and as answer
    the group of each text.
    """

    payload: dict[str, Any]
    answer: Any
    explanation: str


class StudyItemSource(_StrictStudyModel):
    """Where items were drawn from, so that models are trained and scored on the same data. `split` is the one that was
    asked for, `drawn_from` that of the rows that were drawn. `against` are other data that models may train on, in
    which the items' texts were looked for."""

    dataset: str
    split: str | None = None
    mapping: dict[str, str] = {}
    grades: str | None = None
    lang: str = ""
    fingerprint: str = ""
    against: list[str] = []
    drawn_from: str = ""


class StudyTask(_StrictStudyModel):
    """A task of a study, as annotators are told of it. `lang` is ISO 639-3, `guidelines` are Markdown, frozen.
    `groups` is the number of groups of a clustering where annotators are told it (`give_k`), else None."""

    optional: ClassVar[frozenset[str]] = frozenset({"groups"})
    name: Name
    family: Family
    lang: str
    title: str
    question: str
    guidelines: str
    n: Annotated[int, Field(ge=1)]
    labels: list[LabelChoice] = []
    scale: RatingScale | None = None
    practice: list[PracticeItem] = []
    source: StudyItemSource
    notes: list[str] = []
    groups: Annotated[int, Field(ge=2)] | None = None

    @property
    def spec(self) -> TaskSpec:
        """What scoring needs of the task."""
        return TaskSpec(self.name, self.family, self.lang, tuple(label.value for label in self.labels))


class StudyFile(_StrictStudyModel):
    """`study.json`. `guidelines_version` changes with any word of the guidelines; `content` is the hash of all items
    with their gold, `guidelines` that of what annotators are told. `profile` are the questions that every annotator is
    asked about themselves."""

    optional: ClassVar[frozenset[str]] = frozenset({"profile"})
    version: int = VERSION
    name: str
    seed: int
    tasks: Annotated[list[StudyTask], Field(min_length=1)]
    guidelines_version: str = "1"
    content: str
    guidelines: str
    profile: list[Question] = []

    def task(self, name: str) -> StudyTask:
        """The task of this name; KeyError where there is none."""
        return next((task for task in self.tasks if task.name == name), None) or _raise_missing_task(name)


class ShownItemRow(_StrictStudyModel):
    """An item as it is shown. `payload` by family: classification and clustering {"text"}, STS {"text1", "text2"},
    reranking {"query", "documents": [{"id", "text"}]}, in the order in which they are shown to everyone."""

    id: str
    task: str
    payload: dict[str, Any]


class ItemGoldAnswer(_StrictStudyModel):
    """What is right: a label, the gold group, a rating, or a grade per document; and the item's id in the source, for
    reranking also those of its `documents` as shown. `defects` are those seen when it was drawn: kept here, since they
    tell of the gold."""

    id: str
    gold: Any
    source_id: str = ""
    documents: list[str] = []
    defects: list[Defect] = []


class AnnotationRow(_StrictStudyModel):
    """An answer as kept in files, a line each; `value` null where the item could not be judged (`flag` says why)."""

    item_id: str
    annotator_id: str
    value: Any = None
    ts: str = ""
    seconds: float | None = None
    kind: Who = "person"
    flag: str = ""
    comment: str = ""


def _raise_missing_task(name: str) -> StudyTask:
    raise KeyError(name)


STUDY, ITEMS, GOLD, ANNOTATIONS, ANSWERS = (
    "study.json", "items.jsonl", "gold.jsonl", "annotations", "answers.sqlite3"
)  # fmt: skip
_MEND = "Pass the folder that `embassay hume sample` wrote."
T = TypeVar("T", bound=BaseModel)


@dataclass(frozen=True)
class StudyFolder:
    """A study and where it lies; `items` are without gold, in the order of the file."""

    path: Path
    study: StudyFile
    items: tuple[StudyItem, ...]

    def task(self, name: str) -> StudyTask:
        """The task of this name. Raises UsageError where there is none."""
        try:
            return self.study.task(name)
        except KeyError:
            names = ", ".join(task.name for task in self.study.tasks)
            raise UsageError(f"The study has no task {name!r}.", mend=f"Its tasks are {names}.") from None

    def select_task_items(self, task: str) -> tuple[StudyItem, ...]:
        """The items of a task."""
        return tuple(item for item in self.items if item.task == task)

    def gold(self, task: str) -> dict[str, Any]:
        """The gold of a task's items, in the form its family scores. Reads `gold.jsonl`.

        Raises DataError where the gold of an item is missing or of another kind.
        """
        rows = {row.id: row.gold for _, row in read_jsonl_rows(self.path / GOLD, ItemGoldAnswer)}
        items = [
            StudyItem(item.id, item.task, item.lang, gold=_convert_list_to_tuple(rows.get(item.id)))
            for item in self.select_task_items(task)
        ]
        return map_items_to_gold_values(self.task(task).spec, items)


def read_study(path: Path) -> StudyFolder:
    """The study in a folder. Raises DataError for a folder that holds none, another version, or a broken line."""
    study = _read_study_file(path / STUDY)
    langs = {task.name: task.lang for task in study.tasks}
    items, seen = [], set()
    for line, row in read_jsonl_rows(path / ITEMS, ShownItemRow):
        if row.task not in langs or row.id in seen:
            what = "appears twice" if row.id in seen else f"belongs to the unknown task {row.task!r}"
            raise DataError(f"Item {row.id} {what}", path=path / ITEMS, line=line, mend=_MEND)
        seen.add(row.id)
        items.append(StudyItem(row.id, row.task, langs[row.task], row.payload))
    return StudyFolder(path, study, tuple(items))


def read_jsonl_rows(path: Path, kind: type[T], mend: str = _MEND) -> Iterator[tuple[int, T]]:
    """Every line of a JSONL file with its number. Raises DataError, with the `mend`, for one not of this kind."""
    if not path.is_file():
        raise DataError("There is no such file", path=path, mend=mend)
    for number, text in read_text_lines(path):
        if not text.strip():
            continue
        try:
            row = kind.model_validate_json(text)
        except ValidationError as error:
            raise _convert_validation_error_of_line(error, path, number, mend) from None
        yield number, row


def _read_study_file(path: Path) -> StudyFile:
    if not path.is_file():
        raise DataError("This folder contains no study", path=path.parent, mend=_MEND)
    try:
        study = StudyFile.model_validate_json(read_bounded_file(path))
    except ValidationError as error:
        raise _convert_validation_error_of_line(error, path) from None
    if study.version != VERSION:
        raise DataError(
            "The study was written by a different version", path=path, expected=f"version {VERSION}",
            found=f"version {study.version}", mend="Sample it again, or install the version it was written with."
        )  # fmt: skip
    return study


def _convert_validation_error_of_line(
    error: ValidationError, path: Path, line: int | None = None, mend: str = _MEND
) -> DataError:
    first = error.errors(include_url=False)[0]
    where = ".".join(map(str, first["loc"])) or "the line"
    return DataError(
        f"{where} cannot be read", path=path, line=line, expected=str(first["msg"]),
        found=repr(first.get("input"))[:80], mend=mend
    )  # fmt: skip


def _convert_list_to_tuple(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def hash_items_and_gold(items: Sequence[ShownItemRow], gold: Sequence[ItemGoldAnswer]) -> str:
    """A fingerprint of all items with their gold, in their order."""
    return digest_json([[row.model_dump() for row in rows] for rows in (items, gold)])


def write_study(path: Path, study: StudyFile, items: Sequence[ShownItemRow], gold: Sequence[ItemGoldAnswer]) -> Path:
    """Write a new study and return its folder. Raises UsageError where another study is in it already."""
    text = study.model_dump_json(indent=1) + "\n"
    held = path / STUDY
    if held.is_file() and held.read_text("utf-8") != text:
        raise UsageError(f"{path} contains another study.", mend="Choose another --out, or delete the folder first.")
    # The study last: a folder that holds it is whole.
    write_file_atomically(path / GOLD, _format_rows_as_json_lines(gold))
    write_file_atomically(path / ITEMS, _format_rows_as_json_lines(items))
    write_file_atomically(held, text)
    return path


def write_annotations(path: Path, name: str, rows: Sequence[AnnotationRow]) -> Path:
    """Write `annotations/NAME.jsonl` of the study in `path` and return the file."""
    file = path / ANNOTATIONS / f"{slugify_name(name)}.jsonl"
    write_file_atomically(file, _format_rows_as_json_lines(rows))
    return file


def _format_rows_as_json_lines(rows: Iterable[ShownItemRow | ItemGoldAnswer | AnnotationRow]) -> str:
    return "".join(row.model_dump_json() + "\n" for row in rows)
