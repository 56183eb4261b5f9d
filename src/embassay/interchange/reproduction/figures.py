"""Published figures as they are printed, and one beside ours: how far they agree.

The folder `published` has the numbers of the papers' tables, one a line, transcribed from Goel et al. (SAGE, 2025),
the authors of PTEB and HUME, and Dallaire (2025, arXiv 2511.09545). They are as printed, also where a paper contradicts
itself (docs/published.md lists where); `benchmarks/reproducing/printed.py` renews them.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable
from dataclasses import astuple, dataclass, fields
from functools import cache
from pathlib import Path
from typing import Literal

Verdict = Literal["exact", "within rounding", "differs"]
FROM_ROUNDED = {
    ("HUME", "table 2"), ("HUME", "table 13"), ("SAGE", "table 1"), ("RAG", "5.2 %PROC"), ("RAG", "5.3 indexes"),
    ("RAG", "A.1 efficiency"), ("RAG", "A.3 name over topic"), ("RAG", "4.4 noise"),
    *(("PTEB", f"table {number}") for number in (2, 6, 9, 10, 14)),
}  # fmt: skip
"""Tables that are made here from other printed figures: these are rounded, so the last digit may be one off."""
LAST_PLACE = 1.05
"""Units of the last printed digit, and a little for floats."""
HEAD = ("table", "row", "column", "published")


@dataclass(frozen=True)
class Printed:
    """A figure of a paper: the table, row and column it stands in, and the text that is printed."""

    table: str
    row: str
    column: str
    published: str


@cache
def printed(paper: str) -> tuple[Printed, ...]:
    """The figures of `SAGE`, `PTEB`, `RAG` or `HUME`, in the order of its tables."""
    path = Path(__file__).parent / "published" / f"{paper.lower()}.csv"
    with path.open(encoding="utf-8", newline="") as stream:
        return tuple(Printed(**row) for row in csv.DictReader(stream))


@dataclass(frozen=True)
class Figure:
    """`published` is the text that is printed, `ours` a number as text; `row` and `column` name the cell."""

    paper: str
    table: str
    row: str
    column: str
    published: str
    ours: str

    @property
    def verdict(self) -> Verdict:
        """`exact`: ours, rounded to the printed digits, is what is printed; `within rounding`: made from rounded
        figures, and one unit beside it."""
        if float(self.rounded) == float(self.published):
            return "exact"
        rounded = (self.paper, self.table) in FROM_ROUNDED
        return "within rounding" if rounded and abs(self.difference) <= LAST_PLACE * self.unit else "differs"

    @property
    def rounded(self) -> str:
        """Ours with the digits that are printed."""
        mantissa, exponent = _split(self.published)
        return f"{float(self.ours):.{_decimals(mantissa)}{'e' if exponent else 'f'}}"

    @property
    def difference(self) -> float:
        """Ours minus published."""
        return float(self.ours) - float(self.published)

    @property
    def off(self) -> str:
        """Ours as it would be printed minus published, with the printed digits and a sign; two digits of a p-value.

        >>> Figure("SAGE", "table 4", "a", "b", "0.335", "0.3331").off
        '-0.002'
        """
        mantissa, exponent = _split(self.published)
        difference = float(self.rounded) - float(self.published)
        return f"{difference:+.1e}" if exponent else f"{difference:+.{_decimals(mantissa)}f}"

    @property
    def unit(self) -> float:
        """What one step of the last printed digit is worth."""
        mantissa, exponent = _split(self.published)
        return float(f"1e{int(exponent or 0) - _decimals(mantissa)}")


def figure(paper: str, table: str, row: str, column: str, published: str, ours: float | str) -> Figure:
    """A figure of ours to eight digits, or as the code writes it."""
    text = ours if isinstance(ours, str) else f"{ours:.8g}"
    return Figure(paper, table, row, column, published, text)


def written(figures: Iterable[Figure]) -> str:
    """The figures as CSV."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow([field.name for field in fields(Figure)])
    writer.writerows(astuple(one) for one in figures)
    return stream.getvalue()


def read(path: Path) -> list[Figure]:
    """The figures of a file."""
    with path.open(encoding="utf-8", newline="") as stream:
        return [Figure(**row) for row in csv.DictReader(stream)]


def _split(text: str) -> tuple[str, str]:
    mantissa, _, exponent = text.partition("e")
    return mantissa, exponent


def _decimals(mantissa: str) -> int:
    return len(mantissa.partition(".")[2])
