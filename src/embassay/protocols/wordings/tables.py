"""Columns of the tables of PTEB and HTEB: fractions in points of 100 with two decimals, and their intervals."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from embassay.protocols.kernel.tables import Field, Find, Style, number

POINTS = 100
"""Scores are shown in points: 0.7543 is 75.43."""


def to_points(value: float | None) -> float | None:
    """A fraction in points; None stays."""
    return None if value is None else POINTS * value


def fine_points(name: str, find: Find = "", style: Style = "number") -> Field:
    """A fraction in points, with two decimals."""
    return number(name, find, style=style, factor=POINTS)


def signed_points(name: str, find: Find = "") -> Field:
    """A change in points, with its sign."""
    return fine_points(name, find, "signed")


def sequence_fields(
    names: Sequence[str], find: Callable[[Any], Sequence[Any]], style: Style = "number", factor: int = 1
) -> Iterator[Field]:
    """A column for each value of a sequence, such as the ends of an interval."""
    for place, name in enumerate(names):
        yield _place_field(name, find, place, style, factor)


def _place_field(
    name: str, find: Callable[[Any], Sequence[Any]], place: int, style: Style, factor: int
) -> Field:
    # A function of its own: in a loop the lambda would see the last place alone.
    return number(name, lambda item: find(item)[place], style=style, factor=factor)
