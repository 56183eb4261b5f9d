"""A board as its table shows it: columns with their scales, rows in groups; and the lines of one system."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from embassay.document import marks
from embassay.document.marks import Scale, scale_of
from embassay.protocols.kernel import tables as numbers
from embassay.report.answers import LIKELY
from embassay.web.leaderboard.contract import Board, Card, Cell, Column, Elsewhere, Stand, SystemRow
from embassay.web.leaderboard.page.words import few_items, items

MOST_ROWS = 300
MISSING, APART = "Not ranked: a task is missing", "Classical metrics, ranked by themselves"
UNRANKED = "Not ranked"
REFERENCES = "References, not ranked"
UNVALUED = "No value"


@dataclass(frozen=True)
class Drawn:
    """The column of the score, the others of the overview, each with its scale; groups as title and rows. Ranks are
    drawn on the scale from 1 to `most`."""

    lead: Column | None
    lead_scale: Scale
    tasks: tuple[tuple[Column, Scale], ...]
    groups: tuple[tuple[str, tuple[SystemRow, ...]], ...]
    kinds: tuple[str, ...]
    most: int
    more: int

    @property
    def has_ranks(self) -> bool:
        """Whether any system is ranked."""
        return self.most > 0

    @property
    def width(self) -> int:
        """Columns of the table."""
        return 3 + len(self.tasks) + 2 * self.has_ranks


def drawn(board: Board) -> Drawn:
    """What the page of a board shows before anything is chosen."""
    lead = next((one for one in board.columns if one.key == board.lead), None)
    others = [one for one in board.columns if one.overview and one is not lead]
    groups = _groups(board, lead)
    return Drawn(
        lead,
        _scale(board, lead),
        tuple((one, _scale(board, one)) for one in others),
        groups,
        tuple(dict.fromkeys(one.kind for one in board.systems)),
        board.ranked(board.lead),
        max(0, len(board.systems) - MOST_ROWS),
    )


@dataclass(frozen=True)
class Leading:
    """Who may be first on a board's score, how sure that is (`sure`, `likely`, `open`, `` where nothing is tested), and
    the value of the first; `ahead` is the share of resamples in which it is first, `rank` its places on the scale from
    1 to `most`, `few` how few items are behind them."""

    rows: tuple[SystemRow, ...]
    level: str
    ahead: float | None
    column: Column | None
    cell: Cell | None
    rank: tuple[int, int] | None = None
    most: int = 0
    few: str = ""


def leading(board: Board) -> Leading:
    """As the first screen of a report says it: sure where the tests leave one system the first place alone, likely
    where it is first in at least 80 of 100 resamples."""
    column = next((one for one in board.columns if one.key == board.lead), None)
    ranks, best = board.ranks.get(board.lead, ()), board.best.get(board.lead, ())
    ranked = [one for one in board.systems if one.group == "" and ranks and ranks[one.index] is not None]
    if column is None or not ranked:
        return Leading((), "", None, column, None)
    first = ranked[0].index
    alone, ahead = ranks[first] == (1, 1), best[first]
    level = "sure" if alone else "likely" if ahead is not None and 100 * ahead >= LIKELY else "open"
    may = [one for one in ranked if (ranks[one.index] or (0, 0))[0] == 1] if level == "open" else ranked[:1]
    cell = board.cells[board.lead][first]
    few = few_items(items(board, column, cell))
    return Leading(tuple(may), level, ahead, column, cell, ranks[first], board.ranked(board.lead), few)


def _scale(board: Board, column: Column | None) -> Scale:
    """The scale of a column: its values and ends of intervals, pooled. Chance and the like would leave the others in a
    corner: where a reference lies outside it is not drawn."""
    if column is None:
        return scale_of(())
    cells = board.cells.get(column.key, ())
    contenders = [cells[one.index] for one in board.systems if cells and one.kind != "reference"]
    pool = [end for cell in contenders or cells for end in cell[:3] if end is not None]
    return scale_of(pool, factor=column.factor)


def sign(kind: str) -> str:
    """The class that draws the shape of a kind: circle, square, triangle, diamond, dash."""
    return marks.CLASSES.get("human" if kind == "person" else kind, "")


def mark(cell: Cell, kind: str, scale: Scale, width: int = 72) -> Markup:
    """The interval mark of a cell, drawn `width` pixels wide at least; the grid alone where its value lies outside of
    the scale."""
    if cell.value is None or not scale.low <= cell.value <= scale.high:
        return marks.bar(None, None, None, "", scale)
    return marks.bar(cell.value, cell.low, cell.high, sign(kind), scale, width=width)


def rank_mark(rank: tuple[int, int] | None, of: int, kind: str) -> Markup:
    """A range of ranks on the scale from 1 to `of`; nothing without a rank."""
    return Markup() if rank is None else marks.rank_mark(*rank, of, sign(kind))


def _groups(board: Board, lead: Column | None) -> tuple[tuple[str, tuple[SystemRow, ...]], ...]:
    rows: Sequence[list[SystemRow]] = ([], [], [], [])
    for one in board.systems[:MOST_ROWS]:
        rows[_place(board, one)].append(one)
    is_overall = lead is not None and lead.task == "overall"
    missing = MISSING if is_overall else UNVALUED
    if any(_value(board, one) is not None for one in rows[2]):
        missing = UNRANKED
    titles = ("", APART, missing, REFERENCES)
    return tuple((title, tuple(group)) for title, group in zip(titles, rows, strict=True) if group)


def _place(board: Board, system: SystemRow) -> int:
    ranks = board.ranks.get(board.lead, ())
    has_ranks = any(one is not None for one in ranks)
    if system.kind == "reference":
        return 3
    if _value(board, system) is None or (has_ranks and ranks[system.index] is None):
        return 2
    return 1 if has_ranks and system.group == "classical" else 0


def _value(board: Board, system: SystemRow) -> float | None:
    cells = board.cells.get(board.lead, ())
    return cells[system.index].value if cells else None


MOST = 300


@dataclass(frozen=True)
class CardScores:
    """`overview` and `details` (by dataset) of a card; `more` counts the details that are not drawn."""

    overview: tuple[Stand, ...]
    details: tuple[Stand, ...]
    more: int
    missing: tuple[Stand, ...]


def standing(card: Card) -> CardScores:
    """What the card shows."""
    overview = tuple(one for one in card.stands if one.column.overview)
    rest = tuple(one for one in card.stands if not one.column.overview)
    missing = tuple(one for one in card.stands if one.cell.value is None and one.cell.state != "none")
    return CardScores(overview, rest[:MOST], max(0, len(rest) - MOST), missing)


def place(stand: Stand | Elsewhere) -> str:
    """Rank and number of those ranked, as `1–2 of 14`."""
    if stand.rank is None:
        return numbers.NONE
    return f"{numbers.rank(*stand.rank)} of {numbers.count(stand.of)}"
