"""A system among the others: one line per column, overview first, long lists of datasets cut to what is drawn."""

from __future__ import annotations

from dataclasses import dataclass

from embassay.protocols import numbers
from embassay.web.leaderboard.contract import Card, Elsewhere, Stand

MOST = 300


@dataclass(frozen=True)
class Standing:
    """`overview` and `details` (by dataset) of a card; `more` counts the details that are not drawn."""

    overview: tuple[Stand, ...]
    details: tuple[Stand, ...]
    more: int
    missing: tuple[Stand, ...]


def standing(card: Card) -> Standing:
    """What the card shows."""
    overview = tuple(one for one in card.stands if one.column.overview)
    rest = tuple(one for one in card.stands if not one.column.overview)
    missing = tuple(one for one in card.stands if one.cell.value is None and one.cell.state != "none")
    return Standing(overview, rest[:MOST], max(0, len(rest) - MOST), missing)


def place(stand: Stand | Elsewhere) -> str:
    """Rank and number of those ranked, as `1–2 of 14`."""
    if stand.rank is None:
        return numbers.NONE
    return f"{numbers.rank(*stand.rank)} of {numbers.count(stand.of)}"
