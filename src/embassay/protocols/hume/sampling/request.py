"""What is to be sampled, as given on the command line or in a file."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from embassay.protocols.hume.folder.formats import Name, Scale
from embassay.protocols.hume.study import Family

SEED = 1337
SIZES: dict[Family, int] = {"classification": 40, "clustering": 30, "reranking": 30, "sts": 40}
"""Items of a task where nothing else is asked for: within the study's ranges (spec hume 2.1)."""


def _listed(value: object) -> object:
    return value if isinstance(value, list) else [value]


def _texts(value: object) -> object:
    """YAML reads the label 1 as a number."""
    return {str(key): held for key, held in value.items()} if isinstance(value, dict) else value


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class LabelText(_Strict):
    """What people are told of a label: the word on its button, and what it means."""

    name: str = ""
    description: str = ""

    @model_validator(mode="before")
    @classmethod
    def _described(cls, value: object) -> object:
        return {"description": value} if isinstance(value, str) else value


class TaskRequest(_Strict):
    """One dataset to draw from, for one family or for all that it has the columns of.

    `lang` keeps these languages, a task each, or states the language of data that state none. `guidelines` is the
    text itself. `relevant` and `candidates` are for reranking, `negatives` says where its hard negatives come from:
    `lists` the data's own candidates, `bm25` the corpus. `groups` is the number of gold clusters, `against` other data
    (those that models train on) to look for the items' texts in, `drop_leaked` leaves out items that are in them.
    """

    data: Annotated[str, Field(min_length=1)]
    family: Annotated[list[Family], BeforeValidator(_listed)] = []
    name: Name | None = None
    title: str = ""
    question: str = ""
    n: Annotated[int, Field(ge=2)] | None = None
    lang: Annotated[list[str], BeforeValidator(_listed)] = []
    map: dict[str, str] = {}
    split: str | None = None
    grades: str | None = None
    labels: Annotated[dict[str, LabelText], BeforeValidator(_texts)] = {}
    guidelines: str | None = None
    scale: Scale | None = None
    groups: Annotated[int, Field(ge=2)] | None = None
    relevant: Annotated[int, Field(ge=1)] = 3
    candidates: Annotated[int, Field(ge=2)] = 7
    negatives: Literal["lists", "bm25"] | None = None
    against: list[str] = []
    drop_leaked: bool = False
    practice: Annotated[int, Field(ge=0, le=10)] = 3

    @model_validator(mode="after")
    def _fits(self) -> TaskRequest:
        if self.relevant >= self.candidates:
            raise ValueError(f"relevant ({self.relevant}) must be below candidates ({self.candidates})")
        return self

    def size(self, family: Family, limit: int | None = None) -> int:
        """How many items are wanted, at most `limit`."""
        wanted = self.n or SIZES[family]
        return wanted if limit is None else min(wanted, limit)


class SampleRequest(_Strict):
    """A whole study."""

    name: str = "study"
    seed: int = SEED
    tasks: Annotated[list[TaskRequest], Field(min_length=1)]
