"""Columns of the tables of PTEB and HTEB: fractions in points of 100 with two decimals, and their intervals."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from embassay.protocols.kernel.tables import ComputedColumn, Find, Style, number_column

POINTS = 100
"""Scores are shown in points: 0.7543 is 75.43."""


def convert_to_points(value: float | None) -> float | None:
    """A fraction in points; None stays."""
    return None if value is None else POINTS * value


def make_points_column(name: str, find: Find = "", style: Style = "number") -> ComputedColumn:
    """Make a column of a fraction in points, with two decimals."""
    return number_column(name, find, style=style, factor=POINTS)


def make_signed_points_column(name: str, find: Find = "") -> ComputedColumn:
    """Make a column of a change in points, with its sign."""
    return make_points_column(name, find, "signed")


def iterate_columns_of_sequence_values(
    names: Sequence[str], find: Callable[[Any], Sequence[Any]], style: Style = "number", factor: int = 1
) -> Iterator[ComputedColumn]:
    """A column for each value of a sequence, such as the ends of an interval."""
    for place, name in enumerate(names):
        yield _make_column_of_sequence_value(name, find, place, style, factor)


def _make_column_of_sequence_value(
    name: str, find: Callable[[Any], Sequence[Any]], place: int, style: Style, factor: int
) -> ComputedColumn:
    # A function of its own: in a loop the lambda would see the last place alone.
    return number_column(name, lambda item: find(item)[place], style=style, factor=factor)
