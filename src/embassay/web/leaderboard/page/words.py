"""How states, facts and values of the record are said on a page. `static/numbers.js` says the same."""

from __future__ import annotations

from collections.abc import Sequence

from embassay.protocols.kernel import tables as numbers
from embassay.report.record import FEW
from embassay.web.leaderboard.contract import Board, Cell, Column, Dataset, Facts, SystemRow

STATES = {
    "done": "n/a", "failed": "✕ failed", "running": "◔ running", "partial": "◐ partial", "not run": "not run",
    "undefined": "n/a", "none": numbers.NONE,
}  # fmt: skip
"""The word of a cell without a value; one that is done and has none is undefined."""
STATUSES = {"live": "● live", "stale": "◌ no news", "done": "✓ complete"}
KINDS = {
    "embedding": "embedding model", "classical": "classical metric", "reference": "reference, not ranked",
    "llm": "language model", "person": "people", "run": "stack",
}  # fmt: skip


def hundred(share: float) -> str:
    """Of 100 resamples, rounded down; `over 99` from 99.5.

    >>> hundred(0.999), hundred(0.876), hundred(1.0)
    ('over 99', '87', 'over 99')
    """
    return "over 99" if share >= 0.995 else str(int(100 * share + 1e-9))


def kind(name: str) -> str:
    """A kind in words."""
    return KINDS.get(name, name)


def value(cell: Cell, column: Column) -> str:
    """The value in its unit, or the word of its state."""
    return STATES[cell.state] if cell.value is None else number(cell.value, column)


def number(raw: float, column: Column) -> str:
    """A raw number as its column prints it."""
    return numbers.score(raw * column.factor, column.decimals)


def interval(cell: Cell, column: Column) -> str:
    """The 95% interval; said where there is none."""
    if cell.low is None or cell.high is None:
        return "no interval"
    return numbers.interval(cell.low * column.factor, cell.high * column.factor, column.decimals)


FEW_ITEMS = 30
"""Under so many items a rank says how many there are."""


def few_items(n: int) -> str:
    """What stands beside a rank that few items are behind.

    >>> few_items(12), few_items(30), few_items(0)
    ('n = 12', '', '')
    """
    return f"n = {n}" if 0 < n < FEW_ITEMS else ""


def items(board: Board, column: Column | None, cell: Cell) -> int:
    """The items behind a rank: of an overall score those of all its datasets; 0 where nobody knows."""
    if column is None or board.protocol == "mteb":
        return 0
    return sum(one.n for one in board.data) if column.task == "overall" else cell.n


def is_few(cell: Cell, column: Column) -> bool:
    """Whether so few items stand behind a value that it is shown grey; an overall is over tasks, not items."""
    return column.task != "overall" and cell.n < FEW


def rank(ranks: tuple[int, int] | None) -> str:
    """The places that the tests allow."""
    return numbers.NONE if ranks is None else numbers.rank(*ranks)


def short(system: SystemRow) -> str:
    """What stands under a name: its kind, and how large its vectors are."""
    return system.kind + (f" · {numbers.count(system.facts.dims)} d" if system.facts.dims else "")


def facts(known: Facts) -> list[tuple[str, str]]:
    """All that is known of a system, named and with units."""
    seconds = None if known.p95_ms is None else known.p95_ms / 1000
    lines = (
        ("Dimensions", known.dims is not None and numbers.count(known.dims)),
        ("Input limit", known.max_tokens is not None and f"{numbers.count(known.max_tokens)} tokens"),
        ("Parameters", known.parameters is not None and parameters(known.parameters)),
        ("Memory of the weights", known.weights_mb is not None and megabytes(known.weights_mb)),
        ("Vectors of a million texts", known.vectors_mb is not None and megabytes(known.vectors_mb)),
        ("Memory of the index", known.index_mb is not None and megabytes(known.index_mb)),
        ("Price per million tokens", _money(known.usd_per_million_tokens)),
        ("Price per thousand queries", _money(known.usd_per_thousand_queries)),
        ("Latency, 95th percentile", seconds is not None and numbers.duration(seconds)),
        ("Time on this board", known.seconds is not None and numbers.duration(known.seconds)),
        ("Texts per second", known.texts_per_second is not None and speed(known.texts_per_second)),
        ("Licence", known.licence),
    )
    return [(name, said) for name, said in lines if said]


def _money(dollars: float | None) -> str:
    return "" if dollars is None else money(dollars)


def money(dollars: float) -> str:
    """A price: cents above one cent, four digits below.

    >>> money(1.32), money(0.0042), money(0)
    ('$1.32', '$0.0042', '$0')
    """
    if dollars == 0:
        return "$0"
    return f"${dollars:,.2f}" if dollars >= 0.01 else f"${float(f'{dollars:.2g}'):f}".rstrip("0")


def parameters(n: int) -> str:
    """A count of parameters in millions or billions.

    >>> parameters(334_912_000), parameters(7_100_000_000), parameters(51_200)
    ('335 M', '7.1 B', '51,200')
    """
    if n >= 1e9:
        return f"{n / 1e9:.1f} B"
    return f"{n / 1e6:,.0f} M" if n >= 1e6 else numbers.count(n)


def megabytes(mb: float) -> str:
    """Memory in MB, with a decimal below ten.

    >>> megabytes(1536), megabytes(0.42)
    ('1,536 MB', '0.4 MB')
    """
    return f"{numbers.count(round(mb)) if mb >= 10 else numbers.score(mb, 1)} MB"


def speed(per_second: float) -> str:
    """Texts per second.

    >>> speed(12480.3), speed(3.25)
    ('12,480', '3.2')
    """
    return numbers.count(round(per_second)) if per_second >= 10 else f"{per_second:.1f}"


def n_of(data: Sequence[Dataset]) -> str:
    """How much the board stands on."""
    items = f"n = {numbers.count(sum(one.n for one in data))}"
    return items if len(data) == 1 else f"{numbers.counted(len(data), 'dataset')}, {items}"


def agreement(board: Board) -> dict[str, str]:
    """How well people agree, by dataset."""
    return {one.dataset: one.people for one in board.columns if one.people}


def complete(board: Board) -> str:
    """How many systems have all that the board asks."""
    asked = [one for one in board.systems if one.kind != "reference"]
    done = sum(one.state == "done" for one in asked)
    if done == len(asked):
        return numbers.counted(done, "system")
    return f"{done} of {numbers.counted(len(asked), 'system')} complete"


def versions(fingerprint: str) -> str:
    """A fingerprint as far as one reads it."""
    return fingerprint[:12]
