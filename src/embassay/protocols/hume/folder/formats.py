"""The files of a study, line by line."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from embassay.protocols.hume.study import Family, Label, TaskSpec, Who

VERSION = 1
Defect = Literal[
    "ambiguous_label", "neutral_text", "parsing_artefact", "added_context", "interdisciplinary", "empty", "same_text",
    "leaked",
]  # fmt: skip
"""What may be wrong with an item, a closed list (spec hume 8 and 13)."""
Name = Annotated[str, Field(min_length=1, max_length=80, pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class LabelChoice(_Strict):
    """A label of a classification: its stored value, the word on its button, and what it means."""

    value: Label
    name: str
    description: str = ""


class Scale(_Strict):
    """The scale of a rating; `anchors` say in words what a level means, by its number as text (`"0"`)."""

    low: float = 0
    high: float = 5
    step: Annotated[float, Field(gt=0)] = 1
    anchors: dict[str, str] = {}


class Practice(_Strict):
    """An item to practise on, which does not count: what is shown, the answer, and why it is the answer.

    For reranking `answer` is a list of 0 and 1. A practice of clustering has `payload` {"texts": [...]} and as answer
    the group of each text.
    """

    payload: dict[str, Any]
    answer: Any
    explanation: str


class Source(_Strict):
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


class Task(_Strict):
    """A task of a study, as annotators are told of it. `lang` is ISO 639-3, `guidelines` are Markdown, frozen."""

    name: Name
    family: Family
    lang: str
    title: str
    question: str
    guidelines: str
    n: Annotated[int, Field(ge=1)]
    labels: list[LabelChoice] = []
    scale: Scale | None = None
    practice: list[Practice] = []
    source: Source
    notes: list[str] = []

    @property
    def spec(self) -> TaskSpec:
        """What scoring needs of it."""
        return TaskSpec(self.name, self.family, self.lang, tuple(label.value for label in self.labels))


class StudyFile(_Strict):
    """`study.json`. `guidelines_version` changes with any word of the guidelines; `content` is the hash of all items
    with their gold, `guidelines` that of what annotators are told."""

    version: int = VERSION
    name: str
    seed: int
    tasks: Annotated[list[Task], Field(min_length=1)]
    guidelines_version: str = "1"
    content: str
    guidelines: str

    def task(self, name: str) -> Task:
        """The task of this name; KeyError where there is none."""
        return next((one for one in self.tasks if one.name == name), None) or _missing(name)


class ItemRow(_Strict):
    """An item as it is shown. `payload` by family: classification and clustering {"text"}, STS {"text1", "text2"},
    reranking {"query", "documents": [{"id", "text"}]}, in the order in which they are shown to everyone."""

    id: str
    task: str
    payload: dict[str, Any]


class GoldRow(_Strict):
    """What is right: a label, the gold group, a rating, or a grade per document; and the item's id in the source, for
    reranking also those of its `documents` as shown. `defects` are those seen when it was drawn: kept here, since they
    tell of the gold."""

    id: str
    gold: Any
    source_id: str = ""
    documents: list[str] = []
    defects: list[Defect] = []


class AnnotationRow(_Strict):
    """An answer as kept in files, a line each; `value` null where the item could not be judged (`flag` says why)."""

    item_id: str
    annotator_id: str
    value: Any = None
    ts: str = ""
    seconds: float | None = None
    kind: Who = "person"
    flag: str = ""
    comment: str = ""


def _missing(name: str) -> Task:
    raise KeyError(name)
