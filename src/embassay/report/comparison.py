"""One system against each other one: differences with intervals, and what the tests say of them."""

from __future__ import annotations

from dataclasses import dataclass

from embassay.protocols.numbers import Unit
from embassay.report.board import Board, Row
from embassay.report.record import Pair, Record
from embassay.report.scale import Scale, scale_of


@dataclass(frozen=True)
class ForestRow:
    """A system compared with the first one: `pair` is its value minus that one's."""

    row: Row
    pair: Pair
    word: str


@dataclass(frozen=True)
class Forest:
    """All systems against `base` in the scope `title`, printed in `unit`."""

    base: Row
    title: str
    scale: Scale
    rows: tuple[ForestRow, ...]
    unit: Unit


def forest_of(record: Record, board: Board) -> Forest | None:
    """The best system of the leading scope against each other ranked one; None where nothing is compared."""
    scope = record.scope(board.lead)
    if not scope.pairs or not board.ranked:
        return None
    base = board.ranked[0]
    found = [(row, scope.pair(row.system.name, base.system.name)) for row in board.ranked[1:]]
    rows = [ForestRow(row, pair, word(pair, record.alpha)) for row, pair in found if pair is not None]
    edges = [edge for one in rows for edge in (one.pair.ci_low, one.pair.ci_high)]
    scale = scale_of([*edges, 0.0], within=None, factor=board.unit.factor)
    return Forest(base, board.lead_title, scale, tuple(rows), board.unit)


def word(pair: Pair, alpha: float) -> str:
    """What the test says of a - b, in the report's own verbs."""
    if pair.p_adjusted >= alpha:
        return "cannot be told apart"
    return "beats" if pair.difference > 0 else "is beaten by"
