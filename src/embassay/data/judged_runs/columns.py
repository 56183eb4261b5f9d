"""The fast way to read lines: whole columns at once, or None for whatever is out of the ordinary."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from embassay.data.judged_runs.content import first_line
from embassay.data.judged_runs.layouts import KEYS, Layout

if TYPE_CHECKING:
    import polars as pl


def text_columns(content: bytes, layout: Layout) -> pl.DataFrame | None:
    """The columns KEYS of lines of fields: None where a line has other fields, or a number is none."""
    body = _below_header(content) if layout.header else content
    if layout.separator != " ":
        return _parsed(body, layout)
    # Most files have one blank between fields; the others are made so.
    found = None if b"\t" in body else _parsed(body, layout)
    return _parsed(_single_blanks(body), layout) if found is None else found


def _parsed(body: bytes, layout: Layout) -> pl.DataFrame | None:
    import polars as pl
    from polars.exceptions import PolarsError

    names = {f"column_{i}": name for i, name in enumerate(layout.fields, start=1)}
    try:
        frame = pl.read_csv(
            body, separator=layout.separator, has_header=False,
            quote_char='"' if layout.separator == "," else None,
            schema={column: pl.Float64 if name == "value" else pl.String for column, name in names.items()},
        )  # fmt: skip
    except PolarsError:
        return None
    if any(frame.null_count().row(0)):
        # A blank line is a row of nothing; any other hole is for the careful reader to find.
        frame = frame.filter(~pl.all_horizontal(pl.all().is_null()))
    if any(frame.null_count().row(0)):
        return None
    frame = frame.rename({column: name for column, name in names.items() if name})
    return checked(frame.select(KEYS))


def json_columns(content: bytes, names: Mapping[str, str]) -> pl.DataFrame | None:
    """The columns KEYS of JSON Lines, from the keys `names` (ours -> theirs); None where anything is odd."""
    import polars as pl
    from polars.exceptions import PanicException, PolarsError

    kinds = {names[key]: pl.Float64 if key == "value" else pl.String for key in KEYS}
    try:
        frame = pl.read_ndjson(content, schema=kinds)
    except (PolarsError, PanicException):
        return None
    frame = frame.rename({theirs: ours for ours, theirs in names.items()}).select(KEYS)
    return None if any(frame.null_count().row(0)) else checked(frame)


def checked(frame: pl.DataFrame) -> pl.DataFrame | None:
    """The frame, or None if it has no rows, a number that is not finite or an id of blanks."""
    import polars as pl

    sound = frame.select(
        pl.col("value").is_finite().all(),
        *((pl.col(key).str.strip_chars() != "").all() for key in ("query", "doc")),
    )
    return frame if len(frame) and all(sound.row(0)) else None


def _below_header(content: bytes) -> bytes:
    header = first_line(content)
    return content[content.index(header) + len(header) + 1 :]


def _single_blanks(content: bytes) -> bytes:
    """The text with one blank wherever white space stood inside a line, and none at its ends."""
    if b"\t" in content:
        content = content.replace(b"\t", b" ")
    while b"  " in content:
        content = content.replace(b"  ", b" ")
    if b"\n " in content:
        content = content.replace(b"\n ", b"\n")
    if b" \n" in content:
        content = content.replace(b" \n", b"\n")
    return content.strip(b" ")
