"""Tables of values: exact in CSV, rounded in Markdown."""

from __future__ import annotations

import csv
import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from embassay.data.rows import escape_spreadsheet_formula, unescape_spreadsheet_formula
from embassay.protocols.kernel.tables import (
    Column,
    ColumnTable,
    FormattedReportTable,
    check_table_name,
    format_csv_rows,
    interval_columns,
    make_percentage_point_column,
    number_column,
    text,
    whole_number_column,
    write_tables,
)


@pytest.mark.parametrize("rows", [((1.0,),), ((1.0, 2.0), (1.0, 2.0, 3.0))])
def test_a_row_has_a_value_for_every_column(rows):
    """Said where the table is made, with its name and the row."""
    with pytest.raises(ValueError, match=f"row {len(rows)} of the table widths has"):
        ColumnTable("widths", "Widths", (Column("a"), Column("b")), rows)


def test_a_field_finds_its_value_in_the_item_of_a_row():
    """By the column's name, a path, its steps, a function, or in what another function finds; none on the way is no
    value, and what is so counts 1."""
    items = [
        {"name": "a", "at.k": {"value": 0.5, "low": None, "high": 0.75}, "sure": True},
        {"name": "b", "at.k": None, "sure": False},
    ]
    figure = [field.within(lambda item: {"of": item["at.k"]}) for field in interval_columns("of", "xyz")]
    table = ColumnTable.of(
        "found",
        "Found",
        items,
        text("name"),
        number_column("k", ("at.k", "value")),
        whole_number_column("sure"),
        make_percentage_point_column("percent", ("at.k", "high")),
        text("other", lambda item: item["name"] * 2),
        *figure,
        note="All.",
    )
    assert table.rows == (("a", 0.5, 1, 75.0, "aa", 50.0, None, 75.0), ("b", None, 0, None, "bb", None, None, None))
    assert table.format_table_as_markdown().splitlines()[4] == "| a | 0.50 | 1 | 75.0 | aa | 50.0 | n/a | 75.0 |"
    assert table.note == "All."


def test_a_column_has_a_style_that_there_is():
    """Another one would be written as a number."""
    with pytest.raises(ValueError, match=r"the column a has the style 'txt', not text, number"):
        Column("a", "txt")


@pytest.mark.parametrize("name", ["../x", "a/b", "", ".hidden"])
def test_a_table_stays_in_its_folder(name):
    """Its name is that of its files."""
    with pytest.raises(ValueError, match="not a table name"):
        check_table_name(name)


texts = st.text(st.characters(codec="utf-8", exclude_characters="\x00"))


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
    assert column.format_value_for_people(value) == written


def test_csv_has_every_digit_and_markdown_two():
    """And text columns are on the left."""
    columns = (Column("system", "text"), Column("orig"))
    table = ColumnTable("t", "Title", columns, (("a|b", 1 / 3), ("c", None)), "A note.")
    assert table.as_csv() == f"system,orig\na|b,{1 / 3!r}\nc,\n"
    assert table.format_table_as_markdown() == (
        "**Title**\n\n| system | orig |\n|---|---:|\n| a\\|b | 0.33 |\n| c | n/a |\n\nA note.\n"
    )


def test_latex_is_for_a_paper_and_obeys_nobody(tmp_path):
    """Caption, label, headings of rows, bold for who may be first, broken cells; names are printed as they are."""
    body = ["Models & more", ["a_b", "0.50<br>0.02"], [r"\input{x}", "0.40"]]
    made = FormattedReportTable("100% of it", ["system", "overall"], "lr", body, "A note_.", frozenset({(1, 1)}))
    text = made.render_as_latex("sage_table1")
    assert r"\caption{100\% of it. Bold: may be first according to the run's tests.}" in text
    assert r"\label{tab:sage-table1}" in text
    assert r"\multicolumn{2}{l}{\emph{Models \& more}} \\" in text
    assert r"a\_b & \textbf{\shortstack[r]{0.50 \\ 0.02}} \\" in text
    assert r"\textbackslash{}input\{x\} & 0.40 \\" in text
    assert r"\footnotesize A note\_." in text
    assert "Bold" not in FormattedReportTable("t", ["a"], "l", [["x"]]).render_as_latex("t")


def test_latex_leaves_out_columns_without_a_value():
    """The note names them; bold stays where it was; a table without any value keeps all its columns."""
    body = ["Models", ["a", "n/a", "0.50"], ["b", "n/a", "n/a"]]
    made = FormattedReportTable("t", ["system", "overall", "sts"], "lrr", body, "A note.", frozenset({(1, 2)}))
    text = made.render_as_latex("t")
    assert r"\begin{tabular}{lr}" in text
    assert r"system & sts \\" in text
    assert r"a & \textbf{0.50} \\" in text
    assert r"\multicolumn{2}{l}" in text
    note = text.partition(r"\footnotesize ")[2]
    assert "A note." in note
    assert "overall" in note
    assert "overall" not in text.partition(r"\footnotesize ")[0]
    nothing = FormattedReportTable("t", ["system", "sts"], "lr", [["a", "n/a"]])
    assert r"a & n/a \\" in nothing.render_as_latex("t")


def test_a_table_is_kept_in_three_forms(tmp_path):
    """Beside each other, of the same rows."""
    table = ColumnTable("t", "Title", (Column("system", "text"), Column("n", decimals=0)), (("a", 3),))
    write_tables(tmp_path, [table])
    assert sorted(path.name for path in (tmp_path / "tables").iterdir()) == ["t.csv", "t.md", "t.tex"]
    assert (tmp_path / "tables" / "t.csv").read_text() == table.as_csv()
    assert "a & 3" in (tmp_path / "tables" / "t.tex").read_text()


@given(st.lists(st.lists(texts, min_size=2, max_size=2), min_size=1))
def test_csv_is_read_as_it_was_written(rows):
    """Commas, quotes and line ends in names included; what a spreadsheet would compute is kept from it."""
    read = list(csv.reader(io.StringIO(format_csv_rows(rows), newline="")))
    assert [[unescape_spreadsheet_formula(cell) for cell in row] for row in read] == [
        [unescape_spreadsheet_formula(cell) for cell in row] for row in rows
    ]
    assert read == [[escape_spreadsheet_formula(cell) for cell in row] for row in rows]


def test_numbers_of_numpy_are_digits_in_a_table() -> None:
    """They print as Python's own, to the last digit."""
    rows = [[np.float64(0.25), np.int64(3), np.bool_(True), np.float32(0.5)]]
    assert format_csv_rows(rows) == "0.25,3,True,0.5\n"
