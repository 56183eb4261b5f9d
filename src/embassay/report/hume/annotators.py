"""Annotator by annotator, and the human score of a pair by every convention."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from embassay.protocols import numbers
from embassay.protocols.hume.summary.record import Annotator, PairRecord
from embassay.report.hume.words import CONVENTIONS, POINTS


@dataclass(frozen=True)
class AnnotatorRow:
    """An annotator on a pair; `seconds` is the median time of an item."""

    pair: str
    id: str
    simulated: bool
    score: str
    exact: str
    items: str
    seconds: str
    flagged: str


@dataclass(frozen=True)
class Annotators:
    """All of them; a column that nobody has a value in is left out."""

    rows: tuple[AnnotatorRow, ...]
    has_seconds: bool
    has_flags: bool


@dataclass(frozen=True)
class ConventionRow:
    """A pair: its score by each convention of the table, the text and the exact value; the first is the one used."""

    pair: str
    cells: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Conventions:
    """The human score by convention, where a pair has several annotators."""

    columns: tuple[str, ...]
    rows: tuple[ConventionRow, ...]


def annotators(pairs: Sequence[PairRecord]) -> Annotators:
    """The rows of all pairs."""
    every = [(pair, one) for pair in pairs for one in (*pair.annotators, *pair.left_out)]
    return Annotators(
        tuple(_row(pair, one) for pair, one in every),
        any(one.seconds is not None for _, one in every),
        any(one.flagged for _, one in every),
    )


def _row(pair: PairRecord, one: Annotator) -> AnnotatorRow:
    items = f"{one.items} of {pair.n}" if one.items < pair.n else numbers.count(one.items)
    items += "" if one in pair.annotators else ", left out"
    return AnnotatorRow(
        pair.name, one.id, one.kind == "simulated", POINTS.text(one.score), f"{100 * one.score:.6g}", items,
        numbers.NONE if one.seconds is None else numbers.duration(one.seconds), str(one.flagged),
    )  # fmt: skip


def conventions(pairs: Sequence[PairRecord]) -> Conventions | None:
    """The table; None where no pair has more than one annotator."""
    several = [one for one in pairs if len(one.annotators) > 1]
    names = [name for name in CONVENTIONS if any(one.conventions.get(name) is not None for one in several)]
    if len(names) < 2:
        return None
    return Conventions(
        tuple(CONVENTIONS[name] for name in names),
        tuple(
            ConventionRow(one.name, tuple(_cell(one.conventions.get(name)) for name in names))
            for one in several
        ),
    )


def _cell(value: float | None) -> tuple[str, str]:
    return ("–", "") if value is None else (POINTS.text(value), f"{100 * value:.6g}")
