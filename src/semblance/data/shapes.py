"""The shapes tasks ask for, and the columns each needs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from semblance.data.rows import nearest
from semblance.errors import UsageError

AXES = ("overall", "accuracy", "coverage", "coherence")
"""Rating axes that are recognised by their plain name (spec sage 4b); any other is a column `axis.NAME`."""

SHAPES: Mapping[str, tuple[str, ...]] = {
    "documents": ("text",),
    "summarised": ("text", "summary"),
    "comparisons": ("text", "summary_1", "summary_2", "choice"),
    "ratings": ("text", "summary"),
    "labelled": ("text", "label"),
    "retrieval": (),
}
"""Shape -> the columns it needs; ratings need one axis more, and retrieval is made of the parts below."""

RETRIEVAL_PARTS: Mapping[str, tuple[str, ...]] = {
    "corpus": ("id", "text"),
    "queries": ("id", "text"),
    "qrels": ("query_id", "doc_id", "relevance"),
}
"""The three tables of a retrieval set -> the columns each needs."""

_OPTIONAL = ("id", "title", "lang", "split", "set")


def axis_columns(columns: Iterable[str]) -> dict[str, str]:
    """Axis name -> its column, the recognised four first.

    >>> axis_columns(["text", "axis.fluency", "overall"])
    {'overall': 'overall', 'fluency': 'axis.fluency'}
    """
    known = set(columns := tuple(columns))
    axes = {axis: axis for axis in AXES if axis in known}
    return axes | {name.removeprefix("axis."): name for name in columns if name.startswith("axis.")}


def missing_columns(part: str, columns: Sequence[str]) -> tuple[str, ...]:
    """The columns that `part` (a flat shape or a retrieval part) needs and `columns` lacks."""
    needed = RETRIEVAL_PARTS.get(part) or SHAPES[part]
    missing = tuple(column for column in needed if column not in columns)
    return missing + (("axis.NAME",) if part == "ratings" and not axis_columns(columns) else ())


def check_targets(mapping: Mapping[str, str]) -> None:
    """UsageError if the mapping names a column that no shape has."""
    known = {column for part in (SHAPES, RETRIEVAL_PARTS) for needed in part.values() for column in needed}
    known |= {*AXES, *_OPTIONAL}
    for target in mapping:
        if target not in known and target.removeprefix("axis.") in ("", target):
            near = nearest(target, known)
            raise UsageError(
                f"No task reads a column called {target!r} (in --map {target}={mapping[target]}).",
                mend=(f"Did you mean {near}? " if near else "")
                + f"Columns are {', '.join(sorted(known))}, axis.NAME.",
            )


def check_shape(shape: str) -> None:
    """UsageError if there is no such shape."""
    if shape not in SHAPES:
        near = nearest(shape, SHAPES)
        raise UsageError(
            f"There is no shape called {shape!r}.",
            mend=f"{f'Did you mean {near}? ' if near else ''}Shapes are {', '.join(SHAPES)}.",
        )
