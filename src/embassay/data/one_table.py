"""What one table can be: every shape whose columns it has."""

from __future__ import annotations

from collections.abc import Mapping

from embassay.data.classification import Tested
from embassay.data.rows import Source, missing_column
from embassay.data.shapes import missing_columns, table_shapes
from embassay.data.views import Filtered, Renamed, Titled


def parts_of_table(raw: Source, mapping: Mapping[str, str], split: str | None) -> dict[str, Source]:
    """Shape -> the rows of `raw` under the mapped names, those of `split` where one is named.

    A classification keeps its rows to train on. DataError for a table that no shape can be made of.
    """
    source: Source = Renamed(raw, dict(mapping))
    if "title" in mapping:
        source = Titled(source)
    columns = source.columns()
    shapes = table_shapes(columns)
    if "text" not in columns and all(missing_columns(shape, columns) for shape in shapes):
        raise missing_column(source, "text")
    if split is None:
        return dict.fromkeys(shapes, source)
    parts: dict[str, Source] = dict.fromkeys(shapes, Filtered(source, {"split": frozenset({split})}))
    if "classification" in parts and not missing_columns("classification", columns):
        parts["classification"] = Tested(source, split)
    return parts
