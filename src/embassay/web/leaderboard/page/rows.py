"""A board as its table shows it: columns, rows in groups, the lines of one system; how states and values are said."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from embassay.document import marks
from embassay.document.marks import LinearScale, fit_axis_scale
from embassay.protocols.kernel import tables as numbers
from embassay.report.record import FEW
from embassay.web.leaderboard.contract import (
    BoardCell,
    BoardColumn,
    BoardDataset,
    BoardSystemRow,
    Leaderboard,
    OtherBoardStanding,
    SystemFacts,
    SystemProfile,
    SystemStandingInColumn,
)

MOST_ROWS = 300
MISSING, APART = "Not ranked: a task is missing", "Classical metrics, ranked separately"
UNRANKED = "Not ranked"
REFERENCES = "References, not ranked"
UNVALUED = "No value"


@dataclass(frozen=True)
class BoardTable:
    """The column of the score, the others of the overview, each with its scale; groups as title and rows. Ranks are
    drawn on the scale from 1 to `most`."""

    lead: BoardColumn | None
    lead_scale: LinearScale
    tasks: tuple[tuple[BoardColumn, LinearScale], ...]
    groups: tuple[tuple[str, tuple[BoardSystemRow, ...]], ...]
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


def arrange_board_table(board: Leaderboard) -> BoardTable:
    """What the page of a board shows before anything is chosen."""
    lead = next((column for column in board.columns if column.key == board.lead), None)
    others = [column for column in board.columns if column.overview and column is not lead]
    groups = _group_board_rows_by_ranking(board, lead)
    return BoardTable(
        lead,
        _column_scale(board, lead),
        tuple((column, _column_scale(board, column)) for column in others),
        groups,
        tuple(dict.fromkeys(system.kind for system in board.systems)),
        board.ranked(board.lead),
        max(0, len(board.systems) - MOST_ROWS),
    )


@dataclass(frozen=True)
class PossibleLeaders:
    """Who may be first on a board's score, how sure that is (`sure`, `likely`, `open`, `` where nothing is tested), and
    the value of the first; `ahead` is the share of resamples in which it is first, `rank` its places on the scale from
    1 to `most`, `few` how few items are behind them."""

    rows: tuple[BoardSystemRow, ...]
    level: str
    ahead: float | None
    column: BoardColumn | None
    cell: BoardCell | None
    rank: tuple[int, int] | None = None
    most: int = 0
    few: str = ""


LIKELY_FIRST = 95
"""Resamples of 100: a lead of 1.7 standard errors, 0.84 more than 80 of 100 take (`embassay.stats.clear_lead`)."""


def find_possible_leaders(board: Leaderboard) -> PossibleLeaders:
    """As the first screen of a report says it: sure where the tests leave one system the first place alone, likely
    where it is first in at least 95 of 100 resamples, which is what being clearly first in 80 takes."""
    column = next((column for column in board.columns if column.key == board.lead), None)
    ranks, best = board.ranks.get(board.lead, ()), board.best.get(board.lead, ())
    ranked = [system for system in board.systems if system.group == "" and ranks and ranks[system.index] is not None]
    if column is None or not ranked:
        return PossibleLeaders((), "", None, column, None)
    first = ranked[0].index
    alone, ahead = ranks[first] == (1, 1), best[first]
    level = "sure" if alone else "likely" if ahead is not None and 100 * ahead >= LIKELY_FIRST else "open"
    may = [row for row in ranked if (ranks[row.index] or (0, 0))[0] == 1] if level == "open" else ranked[:1]
    cell = board.cells[board.lead][first]
    few = note_few_items(count_items_behind_rank(board, column, cell))
    return PossibleLeaders(tuple(may), level, ahead, column, cell, ranks[first], board.ranked(board.lead), few)


def _column_scale(board: Leaderboard, column: BoardColumn | None) -> LinearScale:
    """The scale of a column: its values and ends of intervals, pooled. Chance and the like would leave the others in a
    corner: where a reference lies outside it is not drawn."""
    if column is None:
        return fit_axis_scale(())
    cells = board.cells.get(column.key, ())
    contenders = [cells[system.index] for system in board.systems if cells and system.kind != "reference"]
    pool = [end for cell in contenders or cells for end in cell[:3] if end is not None]
    return fit_axis_scale(pool, factor=column.factor)


def pick_kind_class(kind: str) -> str:
    """The class that draws the shape of a kind: circle, square, triangle, diamond, dash."""
    return marks.CLASSES.get("human" if kind == "person" else kind, "")


def draw_interval_mark_of_cell(cell: BoardCell, kind: str, scale: LinearScale, width: int = 72) -> Markup:
    """The interval mark of a cell, drawn `width` pixels wide at least; the grid alone where its value lies outside of
    the scale."""
    if cell.value is None or not scale.low <= cell.value <= scale.high:
        return marks.draw_range_bar(None, None, None, "", scale)
    return marks.draw_range_bar(cell.value, cell.low, cell.high, pick_kind_class(kind), scale, width=width)


def draw_rank_range_mark(rank: tuple[int, int] | None, of: int, kind: str) -> Markup:
    """A range of ranks on the scale from 1 to `of`; nothing without a rank."""
    return Markup() if rank is None else marks.draw_rank_range_bar(*rank, of, pick_kind_class(kind))


def _group_board_rows_by_ranking(
    board: Leaderboard, lead: BoardColumn | None
) -> tuple[tuple[str, tuple[BoardSystemRow, ...]], ...]:
    rows: Sequence[list[BoardSystemRow]] = ([], [], [], [])
    for system in board.systems[:MOST_ROWS]:
        rows[_choose_sort_group_of_system_row(board, system)].append(system)
    is_overall = lead is not None and lead.task == "overall"
    missing = MISSING if is_overall else UNVALUED
    if any(_lead_column_value(board, row) is not None for row in rows[2]):
        missing = UNRANKED
    titles = ("", APART, missing, REFERENCES)
    return tuple((title, tuple(group)) for title, group in zip(titles, rows, strict=True) if group)


def _choose_sort_group_of_system_row(board: Leaderboard, system: BoardSystemRow) -> int:
    ranks = board.ranks.get(board.lead, ())
    has_ranks = any(rank is not None for rank in ranks)
    if system.kind == "reference":
        return 3
    if _lead_column_value(board, system) is None or (has_ranks and ranks[system.index] is None):
        return 2
    return 1 if has_ranks and system.group == "classical" else 0


def _lead_column_value(board: Leaderboard, system: BoardSystemRow) -> float | None:
    cells = board.cells.get(board.lead, ())
    return cells[system.index].value if cells else None


MOST = 300


@dataclass(frozen=True)
class SystemCardScores:
    """`overview` and `details` (by dataset) of a card; `more` counts the details that are not drawn."""

    overview: tuple[SystemStandingInColumn, ...]
    details: tuple[SystemStandingInColumn, ...]
    more: int
    missing: tuple[SystemStandingInColumn, ...]


def arrange_card_scores(card: SystemProfile) -> SystemCardScores:
    """Arrange the scores that a system's card shows."""
    overview = tuple(stand for stand in card.stands if stand.column.overview)
    rest = tuple(stand for stand in card.stands if not stand.column.overview)
    missing = tuple(stand for stand in card.stands if stand.cell.value is None and stand.cell.state != "none")
    return SystemCardScores(overview, rest[:MOST], max(0, len(rest) - MOST), missing)


def format_rank_of_total(stand: SystemStandingInColumn | OtherBoardStanding) -> str:
    """Rank and number of those ranked, as `1–2 of 14`."""
    if stand.rank is None:
        return numbers.NONE
    return f"{numbers.format_rank_range(*stand.rank)} of {numbers.format_count(stand.of)}"


STATES = {
    "done": "n/a", "failed": "✕ failed", "running": "◔ running", "partial": "◐ partial", "not run": "not run",
    "undefined": "n/a", "none": numbers.NONE
}  # fmt: skip
"""The word of a cell without a value; one that is done and has none is undefined."""
STATUSES = {"live": "● live", "stale": "◌ no updates", "done": "✓ complete"}
KINDS = {
    "embedding": "embedding model", "classical": "classical metric", "reference": "reference, not ranked",
    "llm": "language model", "person": "people", "run": "retrieval run or stack"
}  # fmt: skip


def format_count_of_hundred_resamples(share: float) -> str:
    """Of 100 resamples, rounded down; `over 99` from 99.5.

    >>> format_count_of_hundred_resamples(0.999), format_count_of_hundred_resamples(
    ...     0.876), format_count_of_hundred_resamples(1.0)
    ('over 99', '87', 'over 99')
    """
    return "over 99" if share >= 0.995 else str(int(100 * share + 1e-9))


def system_kind_word(name: str) -> str:
    """A kind in words."""
    return KINDS.get(name, name)


def format_cell_value(cell: BoardCell, column: BoardColumn) -> str:
    """The value in its unit, or the word of its state."""
    return STATES[cell.state] if cell.value is None else format_column_number(cell.value, column)


def format_column_number(raw: float, column: BoardColumn) -> str:
    """A raw number as its column prints it."""
    return numbers.format_score(raw * column.factor, column.decimals)


def format_cell_interval(cell: BoardCell, column: BoardColumn) -> str:
    """The 95% interval; said where there is none."""
    if cell.low is None or cell.high is None:
        return "no interval"
    return numbers.format_interval(cell.low * column.factor, cell.high * column.factor, column.decimals)


FEW_ITEMS = 30
"""Under so many items a rank says how many there are."""


def note_few_items(n: int) -> str:
    """What stands beside a rank that few items are behind.

    >>> note_few_items(12), note_few_items(30), note_few_items(0)
    ('n = 12', '', '')
    """
    return f"n = {n}" if 0 < n < FEW_ITEMS else ""


def count_items_behind_rank(board: Leaderboard, column: BoardColumn | None, cell: BoardCell) -> int:
    """The items behind a rank: of an overall score those of all its datasets; 0 where nobody knows."""
    if column is None or board.protocol == "mteb":
        return 0
    return sum(dataset.n for dataset in board.data) if column.task == "overall" else cell.n


def is_based_on_few_items(cell: BoardCell, column: BoardColumn) -> bool:
    """Whether so few items stand behind a value that it is shown grey; an overall is over tasks, not items."""
    return column.task != "overall" and cell.n < FEW


def format_rank_range(ranks: tuple[int, int] | None) -> str:
    """The places that the tests allow."""
    return numbers.NONE if ranks is None else numbers.format_rank_range(*ranks)


def describe_kind_and_dimensions(system: BoardSystemRow) -> str:
    """What stands under a name: its kind, and how large its vectors are."""
    return system.kind + (f" · {numbers.format_count(system.facts.dims)} d" if system.facts.dims else "")


def system_facts(known: SystemFacts) -> list[tuple[str, str]]:
    """All that is known of a system, named and with units."""
    seconds = None if known.p95_ms is None else known.p95_ms / 1000
    lines = (
        ("Dimensions", known.dims is not None and numbers.format_count(known.dims)),
        ("Input limit", known.max_tokens is not None and f"{numbers.format_count(known.max_tokens)} tokens"),
        ("Parameters", known.parameters is not None and format_parameter_count(known.parameters)),
        ("Memory for weights", known.weights_mb is not None and format_megabytes(known.weights_mb)),
        ("Memory for vectors of a million texts", known.vectors_mb is not None and format_megabytes(known.vectors_mb)),
        ("Memory for the index", known.index_mb is not None and format_megabytes(known.index_mb)),
        ("Price per million tokens", _format_money_if_known(known.usd_per_million_tokens)),
        ("Price per thousand queries", _format_money_if_known(known.usd_per_thousand_queries)),
        ("Latency, 95th percentile", seconds is not None and numbers.format_duration(seconds)),
        ("Time on this board", known.seconds is not None and numbers.format_duration(known.seconds)),
        ("Texts per second", known.texts_per_second is not None and format_texts_per_second(known.texts_per_second)),
        ("Licence", known.licence),
        ("Last check", known.last_check),
    )
    return [(name, words) for name, words in lines if words]


def _format_money_if_known(dollars: float | None) -> str:
    return "" if dollars is None else format_money(dollars)


def format_money(dollars: float) -> str:
    """A price: cents above one cent, four digits below.

    >>> format_money(1.32), format_money(0.0042), format_money(0)
    ('$1.32', '$0.0042', '$0')
    """
    if dollars == 0:
        return "$0"
    return f"${dollars:,.2f}" if dollars >= 0.01 else f"${float(f'{dollars:.2g}'):f}".rstrip("0")


def format_parameter_count(n: int) -> str:
    """A count of parameters in millions or billions.

    >>> format_parameter_count(334_912_000), format_parameter_count(7_100_000_000), format_parameter_count(51_200)
    ('335 M', '7.1 B', '51,200')
    """
    if n >= 1e9:
        return f"{n / 1e9:.1f} B"
    return f"{n / 1e6:,.0f} M" if n >= 1e6 else numbers.format_count(n)


def format_megabytes(mb: float) -> str:
    """Memory in MB, with a decimal below ten.

    >>> format_megabytes(1536), format_megabytes(0.42)
    ('1,536 MB', '0.4 MB')
    """
    return f"{numbers.format_count(round(mb)) if mb >= 10 else numbers.format_score(mb, 1)} MB"


def format_texts_per_second(per_second: float) -> str:
    """Texts per second.

    >>> format_texts_per_second(12480.3), format_texts_per_second(3.25)
    ('12,480', '3.2')
    """
    return numbers.format_count(round(per_second)) if per_second >= 10 else f"{per_second:.1f}"


def describe_dataset_and_item_count(data: Sequence[BoardDataset]) -> str:
    """Describe how much data the board stands on."""
    items = f"n = {numbers.format_count(sum(dataset.n for dataset in data))}"
    return items if len(data) == 1 else f"{numbers.format_noun_count(len(data), 'dataset')}, {items}"


def map_datasets_to_people_agreement(board: Leaderboard) -> dict[str, str]:
    """How well people agree, by dataset."""
    return {column.dataset: column.people for column in board.columns if column.people}


def describe_complete_system_count(board: Leaderboard) -> str:
    """How many systems have all that the board asks."""
    # Reference systems are there for comparison; nobody waits for them.
    asked = [system for system in board.systems if system.kind != "reference"]
    done = sum(row.state == "done" for row in asked)
    if done == len(asked):
        return numbers.format_noun_count(done, "system")
    return f"{done} of {numbers.format_noun_count(len(asked), 'system')} complete"


def shorten_fingerprint(fingerprint: str) -> str:
    """A fingerprint as far as one reads it."""
    return fingerprint[:12]
