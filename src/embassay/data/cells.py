"""One cell of a row as text, number, choice, label or key; a wrong one is a DataError with its line."""

from __future__ import annotations

import math
from typing import Any

from embassay.data.rows import Row
from embassay.errors import DataError


def text_of(row: Row, column: str) -> str | None:
    """The text, or None if it is missing or blank. DataError if it is not a text."""
    value = row.cells.get(column)
    if value is None:
        return None
    if not isinstance(value, str):
        raise wrong(row, column, "a text")
    return value if value.strip() else None


def key_of(row: Row, column: str) -> str:
    """An identifier: a text or an integer, as text. DataError if there is none."""
    value = row.cells.get(column)
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if not isinstance(value, str) or not value.strip():
        raise wrong(row, column, "an identifier (text or integer)")
    return value


def plain_number(value: str | int | float) -> float:
    """A number, or the one that a text spells in ASCII digits: Python reads `1_0` as 10 and Arabic digits too, and no
    file that other programs write or read means that. ValueError or OverflowError for what is none.

    >>> plain_number(" 2.5 ")
    2.5
    """
    if isinstance(value, str) and ("_" in value or not value.strip().isascii()):
        raise ValueError(value)
    return float(value)


def number_of(row: Row, column: str) -> float | None:
    """A finite number, from a number or its text; None if it is missing, empty or NaN."""
    value = row.cells.get(column)
    if value is None or (isinstance(value, str) and not value.strip()):
        return None
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise wrong(row, column, "a number")
    try:
        number = plain_number(value)
    except (ValueError, OverflowError):
        raise wrong(row, column, "a number") from None
    if math.isinf(number):
        raise wrong(row, column, "a finite number")
    return None if math.isnan(number) else number


def choice_of(row: Row, column: str) -> int | None:
    """0 or 1; None for a tie (missing, empty, NaN, or the word `tie`)."""
    value = row.cells.get(column)
    if isinstance(value, str) and value.strip().lower() == "tie":
        return None
    try:
        number = number_of(row, column)
    except DataError:
        number = math.inf
    if number is None:
        return None
    if number not in (0, 1):
        raise wrong(row, column, "0 (the first summary) or 1 (the second)")
    return int(number)


def binary_of(row: Row, column: str) -> int | None:
    """A label of 0 or 1 (or a truth value); None if it is missing, empty or NaN."""
    value = row.cells.get(column)
    if isinstance(value, bool):
        return int(value)
    number = number_of(row, column)
    if number not in (None, 0, 1):
        raise wrong(row, column, "0 or 1")
    return None if number is None else int(number)


def texts_of(row: Row, column: str) -> list[str | None]:
    """A list of texts, None for the missing and the blank ones; a single text is a list of one.

    DataError if it is neither, or holds what is not a text.
    """
    value = row.cells.get(column)
    values = value if isinstance(value, list) else [] if value is None else [value]
    if not all(one is None or isinstance(one, str) for one in values):
        raise wrong(row, column, "texts")
    return [one if one is not None and one.strip() else None for one in values]


def label_of(row: Row, column: str) -> str | None:
    """A label as text (an integer 3 and a text "3" are one label); None if it is missing, empty or NaN."""
    value = row.cells.get(column)
    if value is not None and not isinstance(value, str | int | float):
        raise wrong(row, column, "a label (text or number)")
    text = "" if value is None else plain(value)
    return None if not text.strip() or text.strip().lower() == "nan" else text


def plain(value: Any) -> str:
    """A value as the text it is compared as, truth values as in JSON.

    >>> plain(3), plain("3"), plain(True)
    ('3', '3', 'true')
    """
    return str(value).lower() if isinstance(value, bool) else str(value)


def wrong(row: Row, column: str, expected: str) -> DataError:
    """The error for a cell that is not what its column needs."""
    return DataError(
        f"the value of {column!r} cannot be used",
        path=row.path,
        line=row.line,
        expected=expected,
        found=shown(row.cells.get(column)),
        mend="Correct it, or leave the row out.",
    )


def shown(value: Any) -> str:
    """A value as an error message shows it: its repr, cut at 60 characters.

    >>> shown(None), shown("x" * 3)
    ('nothing', "'xxx'")
    """
    if value is None:
        return "nothing"
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
