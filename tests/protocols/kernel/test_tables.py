"""Tables of values: exact in CSV, rounded in Markdown."""

from __future__ import annotations

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from embassay.protocols.kernel.tables import Column, ColumnTable, csv_text, inert, meant

text = st.text(st.characters(codec="utf-8", exclude_characters="\x00"))


@pytest.mark.parametrize(
    ("column", "value", "written"),
    [
        (Column("orig"), 81.4151, "81.42"),
        (Column("delta", "signed"), 0.004, "+0.00"),
        (Column("delta", "signed", 1), -3.16, "-3.2"),
        (Column("p", "p"), 6.503e-10, "6.5e-10"),
        (Column("n", decimals=0), 54, "54"),
        (Column("orig"), None, "n/a"),
        (Column("reason", "text"), None, ""),
        (Column("orig"), "under 10", "under 10"),
    ],
)
def test_values_are_written_for_people(column, value, written):
    """Fixed decimals per column, a sign where it matters, n/a for a missing number."""
    assert column.written(value) == written


def test_csv_has_every_digit_and_markdown_two():
    """And text columns are on the left."""
    columns = (Column("system", "text"), Column("orig"))
    table = ColumnTable("t", "Title", columns, (("a|b", 1 / 3), ("c", None)), "A note.")
    assert table.as_csv() == f"system,orig\na|b,{1 / 3!r}\nc,\n"
    assert table.as_markdown() == (
        "**Title**\n\n| system | orig |\n|---|---:|\n| a\\|b | 0.33 |\n| c | n/a |\n\nA note.\n"
    )


@given(st.lists(st.lists(text, min_size=2, max_size=2), min_size=1))
def test_csv_is_read_as_it_was_written(rows):
    """Commas, quotes and line ends in names included; what a spreadsheet would compute is kept from it."""
    read = list(csv.reader(io.StringIO(csv_text(rows), newline="")))
    assert [[meant(cell) for cell in row] for row in read] == [[meant(cell) for cell in row] for row in rows]
    assert read == [[inert(cell) for cell in row] for row in rows]
