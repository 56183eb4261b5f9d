"""One dataset of the catalogue as declared: where it is, what its tables are, and who uses it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from embassay.data.shapes import OTHERWISE, PARTS, RETRIEVAL_PARTS, SHAPES

Protocol = Literal["sage", "pteb", "rag", "hume"]
Task = Literal[
    "preference", "robustness", "sensitivity", "clustering", "retrieval", "sts", "classification",
    "pair_classification", "reranking", "summarization",
]  # fmt: skip
LARGE = 200_000
"""Rows above which a table of the hub is streamed, not downloaded whole."""


def _as_list(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


Names = Annotated[list[str], BeforeValidator(_as_list)]
"""One name or several; of several, the first that is there counts."""


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class TableRecord(_Strict):
    """One table: a file of the mirror, and one or more splits of one configuration on the hub.

    `map` is canonical column -> the dataset's own, a dot leading into a nested cell and `.0` to an element of
    a list. A canonical column that is not mapped is read under its own name or BEIR's.
    """

    part: str
    shapes: list[str]
    config: Names = []
    split: Names = []
    map: dict[str, Names] = {}
    rows: int | None = None
    nested: bool = False
    exact: bool = False
    """Whether the split was asked for by name, so that no other will do."""

    @property
    def is_of_a_set(self) -> bool:
        """Whether it is one of the tables of a retrieval set."""
        return self.part in (*RETRIEVAL_PARTS, "top_ranked")

    @property
    def splits(self) -> tuple[str, ...]:
        """The splits on the hub, all of which are read; by default the one called like the part."""
        return tuple(self.split) or (self.part,)

    @property
    def targets(self) -> tuple[str, ...]:
        """The canonical columns it gives: those that its shapes need, and what it maps besides."""
        lists = OTHERWISE if self.nested else {}
        needed = [
            name for one in self.shapes for name in lists.get(one) or PARTS.get(one) or SHAPES.get(one, ())
        ]
        return tuple(dict.fromkeys([*needed, *self.map]))

    @property
    def is_large(self) -> bool:
        """Whether it is streamed."""
        return (self.rows or 0) > LARGE


_CORPUS = TableRecord(part="corpus", shapes=["corpus"], config=["corpus"])
_QUERIES = TableRecord(part="queries", shapes=["queries"], config=["queries", "query"])
_QRELS = TableRecord(part="qrels", shapes=["qrels"], config=["default", "qrels"], split=["test"])
_RANKED = TableRecord(part="top_ranked", shapes=["top_ranked"], config=["top_ranked"])
_SENTENCES = {"text": ["sentence1", "sent1"], "text2": ["sentence2", "sent2"]}

LAYOUTS: Mapping[str, tuple[TableRecord, ...]] = {
    "sts": (TableRecord(part="test", shapes=["pairs"], map=_SENTENCES),),
    "pair_classification": (
        TableRecord(
            part="test",
            shapes=["labelled_pairs"],
            map={**_SENTENCES, "label": ["labels", "label"]},
            nested=True,
        ),
    ),
    "classification": (
        TableRecord(part="train", shapes=["train"]),
        TableRecord(part="test", shapes=["test", "labelled"]),
    ),
    "clustering": (
        TableRecord(
            part="test", shapes=["labelled"], map={"text": ["sentences"], "label": ["labels"]}, nested=True
        ),
    ),
    "retrieval": (_CORPUS, _QUERIES, _QRELS),
    "reranking": (_CORPUS, _QUERIES, _QRELS, _RANKED),
}
"""Layout -> its tables, as MTEB and BEIR keep them on the hub."""


class EntryRecord(_Strict):
    """A dataset of the catalogue.

    Its tables are those of `layout` with `rows`, `split` and `shapes` by part laid over them, or spelled out.
    `langs` are its languages where each is a configuration of its own. `size` counts what is scored (pairs, texts
    to test or to cluster, queries, documents), 0 where it is not known; `gold` is the range of its scores.
    `by_hand` says how to come by what no hub holds. Datasets of one `group` count as one: the mean of them.
    """

    name: str = Field(pattern=r"^[a-z0-9][a-z0-9-]*$")
    title: str
    licence: str
    protocols: dict[Protocol, list[Task]]
    hub: str = ""
    revision: str = "main"
    lang: str = ""
    langs: list[str] = []
    gold: list[float] = Field(default=[], max_length=2)
    size: int = 0
    layout: str = ""
    rows: dict[str, int] = {}
    split: dict[str, Names] = {}
    shapes: dict[str, list[str]] = {}
    tables: list[TableRecord] = []
    by_hand: str = ""
    notes: str = ""
    group: str = Field(default="", pattern=r"^([a-z0-9][a-z0-9-]*)?$")

    @property
    def is_pinned(self) -> bool:
        """Whether the revision is a commit: then everybody gets the same bytes."""
        return re.fullmatch("[0-9a-f]{40}", self.revision) is not None

    @property
    def all_tables(self) -> tuple[TableRecord, ...]:
        """The tables, spelled out."""
        laid = [
            table.model_copy(
                update={
                    "rows": self.rows.get(table.part),
                    "split": self.split.get(table.part, table.split),
                    "shapes": self.shapes.get(table.part, table.shapes),
                }
            )
            for table in (LAYOUTS[self.layout] if self.layout else ())
        ]
        return (*laid, *self.tables)

    @property
    def all_shapes(self) -> tuple[str, ...]:
        """The shapes that the tables together can give."""
        given = {shape for table in self.all_tables for shape in table.shapes}
        found = given & set(SHAPES)
        if {"train", "test"} <= given:
            found.add("classification")
        if given >= set(RETRIEVAL_PARTS):
            found.add("reranking" if "top_ranked" in given else "retrieval")
        return tuple(shape for shape in SHAPES if shape in found)

    @property
    def tasks(self) -> tuple[str, ...]:
        """The tasks of all protocols that use it."""
        return tuple(dict.fromkeys(task for tasks in self.protocols.values() for task in tasks))

    def config(self, table: TableRecord, lang: str) -> tuple[str, ...]:
        """The configurations on the hub that may hold a table, the likeliest first."""
        if not lang or not self.langs:
            return tuple(table.config)
        return tuple(f"{lang}-{name}" for name in table.config if name != "default") or (lang,)
