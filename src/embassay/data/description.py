"""A dataset described in YAML: which files, which of their columns, and what they are to the tasks."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from embassay.data.dataset import Dataset
from embassay.data.flat import PreferencePairsFromRanks
from embassay.data.lines import READING, DelimitedReadOptions
from embassay.data.retrieval import GainTable
from embassay.data.rows import (
    RowSource,
    find_nearest_name,
    format_value_for_error,
    make_missing_column_error,
    normalise_value_to_plain_text,
)
from embassay.data.shapes import RETRIEVAL_PARTS, find_missing_columns
from embassay.data.sources import SIDES, assemble_dataset_parts
from embassay.data.tables import open_table_file
from embassay.data.views import (
    FilteredRowsView,
    JoinedColumnsView,
    RenamedColumnsView,
    SelectedColumnsView,
    TitlePrependedView,
)
from embassay.data.yaml import read_yaml
from embassay.errors import DataError, UsageError

Part = Literal[
    "documents", "summarised", "comparisons", "ratings", "labelled", "classification", "pairs", "labelled_pairs",
    "reranking", "summaries", "paraphrases", "corpus", "queries", "qrels", "top_ranked", "train", "test"
]  # fmt: skip


class _StrictDescriptionModel(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class ColumnsFromOtherFileEntry(_StrictDescriptionModel):
    """Columns taken from the one row of another file that has the same `on`."""

    file: str
    on: str
    columns: list[str] = Field(min_length=1)


class PairsFromRanksDescription(_StrictDescriptionModel):
    """Comparisons made from ranks (1 = best) within groups of rows."""

    group: list[str] = Field(min_length=1)
    rank: str


class TableFileDescription(_StrictDescriptionModel):
    """One file and the shapes it serves, and how it is read where its lines do not tell (`Reading`)."""

    file: str
    shapes: list[Part] = Field(min_length=1)
    map: dict[str, str] = {}
    quoting: Literal["", "double", "none"] = ""
    header: Literal["", "none"] | list[str] = ""
    delimiter: Literal["", "comma", "tab", "semicolon", "bar"] = ""
    where: dict[str, list[str]] = {}
    join: ColumnsFromOtherFileEntry | None = None
    axes: dict[str, str] = {}
    pairs: PairsFromRanksDescription | None = None
    gains: dict[float, float] | None = None

    @field_validator("where", mode="before")
    @classmethod
    def _convert_values_to_text(cls, value: object) -> object:
        """Convert one value or a list of values per column to the text they are compared as."""
        if not isinstance(value, dict):
            return value
        return {
            name: [normalise_value_to_plain_text(v) for v in (x if isinstance(x, list) else [x])]
            for name, x in value.items()
        }

    @model_validator(mode="after")
    def _check_fields_agree(self) -> TableFileDescription:
        if self.pairs and self.shapes != ["comparisons"]:
            raise ValueError("pairs requires shapes: [comparisons]")
        if self.axes and "ratings" not in self.shapes:
            raise ValueError("axes requires ratings in shapes")
        if self.gains is not None and self.shapes != ["qrels"]:
            raise ValueError("gains requires shapes: [qrels]")
        return self


class DatasetDescriptionFile(_StrictDescriptionModel):
    """The whole description of a dataset."""

    name: str = Field(min_length=1)
    lang: str = ""
    licence: str = ""
    source: str = ""
    notes: str = ""
    root: str = ""
    tasks: list[str] = []
    tables: list[TableFileDescription] = Field(min_length=1)

    @model_validator(mode="after")
    def _check_one_table_per_shape(self) -> DatasetDescriptionFile:
        shapes = [shape for entry in self.tables for shape in entry.shapes]
        if twice := next((shape for shape in shapes if shapes.count(shape) > 1), ""):
            raise ValueError(f"only one table can have the shape {twice}")
        parts = set(RETRIEVAL_PARTS) & set(shapes)
        if parts and len(parts) < len(RETRIEVAL_PARTS):
            raise ValueError(
                f"a retrieval dataset needs {', '.join(RETRIEVAL_PARTS)}, not only {', '.join(sorted(parts))}"
            )
        if "top_ranked" in shapes and not parts:
            raise ValueError(f"top_ranked needs {', '.join(RETRIEVAL_PARTS)}")
        if len(sides := set(SIDES) & set(shapes)) == 1:
            raise ValueError(f"a classification needs {' and '.join(SIDES)}, not only {sides.pop()}")
        return self


def open_described_dataset(path: Path, split: str | None, grades: str | None) -> Dataset:
    """The dataset that the YAML file at `path` describes.

    Files are relative to its `root`, and that to the YAML file; both may name environment variables, ${NAME}.
    `split` replaces a `where` on the column split, `grades` the gains. DataError for a description that is
    not what it should be and a table that lacks a column, UsageError for a variable that is not set.
    """
    described = read_dataset_description(path)
    folder = path.parent / _expand_variables(described.root, path)
    sources = [_open_entry_source(entry, folder, path, split) for entry in described.tables]
    # A split can only be chosen by a column of that name: without one, all rows would pass for it.
    if split is not None and not any("split" in source.columns() for source in sources):
        raise make_missing_column_error(sources[0], "split")
    parts = assemble_dataset_parts(zip((entry.shapes for entry in described.tables), sources, strict=True))
    gains = next((GainTable(entry.gains) for entry in described.tables if entry.gains is not None), GainTable())
    return Dataset(
        described.name,
        parts,
        described.lang,
        gains if grades is None else GainTable.make_gain_table_from_grade_map(grades),
        {
            "lang": described.lang,
            "tables": [_collect_settings_that_affect_rows(entry) for entry in described.tables],
            "split": split,
            "grades": grades,
        },
        tasks={"": tuple(described.tasks)} if described.tasks else {},
    )


def read_dataset_description(path: Path) -> DatasetDescriptionFile:
    """The checked content of a description; DataError with the field, what was expected and found."""
    content = read_yaml(path)
    if not isinstance(content, dict):
        raise DataError(
            "the description is not a mapping",
            path=path,
            expected="name:, tables: ...",
            found=format_value_for_error(content),
            mend="Start it with `name:` and `tables:`.",
        )
    try:
        return DatasetDescriptionFile.model_validate(content)
    except ValidationError as error:
        raise _make_first_fault_error(path, error) from error


def _make_first_fault_error(path: Path, error: ValidationError) -> DataError:
    """Make an error of the first fault in one line: field, expected, found."""
    errors = error.errors(include_url=False)
    fault = errors[0]
    where = _format_field_path(fault["loc"])
    more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
    if fault["type"] == "missing":
        return DataError(f"the field {where} is missing{more}.", path=path, mend="Add it.")
    if fault["type"] == "extra_forbidden":
        fields = [
            name
            for model in (
                DatasetDescriptionFile,
                TableFileDescription,
                ColumnsFromOtherFileEntry,
                PairsFromRanksDescription,
            )
            for name in model.model_fields
        ]
        near = find_nearest_name(str(fault["loc"][-1]), fields)
        return DataError(
            f"unknown field {where}{more}.", path=path, mend=f"Did you mean {near}?" if near else "Remove it."
        )
    if fault["type"] == "value_error":
        return DataError(f"{where or 'tables'}: {fault['msg'].removeprefix('Value error, ')}{more}.", path=path)
    expected = fault["msg"].removeprefix("Input should be ").replace("a valid ", "a ")
    return DataError(
        f"the field {where} is invalid{more}",
        path=path,
        expected=expected,
        found=format_value_for_error(fault["input"]),
    )


def _collect_settings_that_affect_rows(entry: TableFileDescription) -> dict[str, Any]:
    """List the settings of an entry that decide what is read."""
    dumped = entry.model_dump(mode="json")
    return {name: value for name, value in dumped.items() if value or name not in READING}


def _format_field_path(loc: tuple[int | str, ...]) -> str:
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in loc).lstrip(".")


def _open_entry_source(entry: TableFileDescription, folder: Path, description: Path, split: str | None) -> RowSource:
    def open_entry_file(name: str) -> RowSource:
        return open_table_file(folder / _expand_variables(name, description))

    header = entry.header if isinstance(entry.header, str) else tuple(entry.header)
    reading = DelimitedReadOptions(entry.quoting, header, entry.delimiter)
    source: RowSource = open_table_file(folder / _expand_variables(entry.file, description), reading)
    if entry.join:
        source = JoinedColumnsView(source, open_entry_file(entry.join.file), entry.join.on, tuple(entry.join.columns))
    source = RenamedColumnsView(
        source, {**entry.map, **{f"axis.{axis}": column for axis, column in entry.axes.items()}}
    )
    where: Mapping[str, Any] = entry.where
    if split is not None and "split" in source.columns() and "train" not in entry.shapes:
        where = {**where, "split": [split]}
    if where:
        source = FilteredRowsView(source, {column: frozenset(values) for column, values in where.items()})
    if entry.axes:
        source = SelectedColumnsView(
            source, ("id", "text", "summary", "lang", *(f"axis.{axis}" for axis in entry.axes))
        )
    if entry.pairs:
        source = PreferencePairsFromRanks(source, tuple(entry.pairs.group), entry.pairs.rank)
    for shape in entry.shapes:
        if missing := find_missing_columns(shape, source.columns()):
            raise make_missing_column_error(source, missing[0])
    return TitlePrependedView(source) if "corpus" in entry.shapes and "title" in source.columns() else source


def _expand_variables(text: str, path: Path) -> str:
    def value(match: re.Match[str]) -> str:
        if match[1] not in os.environ:
            raise UsageError(
                f"{path} needs the environment variable {match[1]}, which is not set.",
                mend=f"Set {match[1]} to the folder with the data.",
            )
        return os.environ[match[1]]

    return re.sub(r"\$\{(\w+)\}", value, text)
