"""Tables of lines and marks as strangers write them: nothing is lost without a word."""

from __future__ import annotations

import csv
import io
import shlex
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from embassay.data import open_dataset, parse_mapping
from embassay.data.check import DataCheckRequest
from embassay.data.lines import MARKS, DelimitedReadOptions, DelimitedTable, split_reading_from_mapping
from embassay.data.rows import RowSource
from embassay.data.tables import open_table_file
from embassay.errors import DataError, UsageError

STRAY = 'id\ttext\tlabel\n1\t"one\ta\n2\ta "two"\tb\n3\tthree"\ta\n4\tfour\tb\n'


def written(folder: Path, name: str, text: str) -> Path:
    """The file with this text."""
    path = folder / name
    path.write_bytes(text.encode())
    return path


def cells(source: RowSource) -> list[list[str]]:
    """All rows."""
    names = source.columns()
    return [[row.cells[name] for name in names] for row in source.rows(names)]


def test_quotes_that_swallow_rows_are_characters(tmp_path: Path) -> None:
    """A table of tabs whose quotes make no sense is read line by line, and that is said and part of its fingerprint."""
    for text in (STRAY, STRAY.replace('a "two"', "two")):
        path = written(tmp_path, "stray.tsv", text)
        found = open_dataset(str(path)).load("documents")
        assert len(found.data) == 4
        assert found.data.texts[0] == '"one'
        assert any("read as ordinary characters" in one for one in found.warnings)
        asked = DelimitedTable(path, "\t", DelimitedReadOptions(quoting="none"))
        assert cells(asked) == cells(DelimitedTable(path, "\t"))
        assert (
            DelimitedTable(path, "\t").list_origins()[0].compute_content_digest()
            != asked.list_origins()[0].compute_content_digest()
        )


def test_what_quotes_quote_is_read_as_before(tmp_path: Path) -> None:
    """Rows of RFC 4180 keep their line breaks and tabs, and fingerprints their value."""
    rows = [["id", "text"], ["1", "a\tb\nc"], ["2", 'say ""']]
    text = io.StringIO()
    csv.writer(text, delimiter="\t", lineterminator="\n").writerows(rows)
    path = written(tmp_path, "good.tsv", text.getvalue())
    assert cells(DelimitedTable(path, "\t")) == rows[1:]
    [origin] = DelimitedTable(path, "\t").list_origins()
    assert (origin.how, len(origin.notes)) == ("", 1)  # a field with tab and line break is worth a word


def test_columns_without_names(tmp_path: Path) -> None:
    """They are numbers, or what the mapping calls them; the first row is a row."""
    path = written(tmp_path, "pairs.tsv", "4.5\tone two\tone\n1\tthree\tfour\n")
    mapping = parse_mapping("header=none,score=1,text=2,text2=3")
    assert open_dataset(str(path), mapping=mapping).load("pairs").data.scores.tolist() == [4.5, 1]
    named = parse_mapping("header=score|text|text2")
    assert len(open_dataset(str(path), mapping=named).load("pairs").data) == 2
    with pytest.raises(DataError, match="do not match the file"):
        open_dataset(str(path), mapping={"header": "a|b"})
    with pytest.raises(DataError, match="looks like data"):
        open_dataset(str(path)).load("pairs")


def test_ids_that_are_none(tmp_path: Path) -> None:
    """`id=` numbers the rows, of BEIR's `_id` too; no other column can be mapped to nothing."""
    for name in ("id", "_id"):
        path = written(tmp_path, f"{name}.csv", f"{name},text\n7,one\n7,two\n")
        with pytest.raises(DataError, match="--map id="):
            open_dataset(str(path)).load("documents")
        assert open_dataset(str(path), mapping=parse_mapping("id=")).load("documents").data.ids == ("1", "2")
    with pytest.raises(UsageError, match="Cannot read 'text='"):
        parse_mapping("text=")


def test_a_description_says_how_its_tables_are_read(tmp_path: Path) -> None:
    """Quoting, header, delimiter and ids, a table each."""
    written(tmp_path, "pairs.txt", '4.5|"one two|one\n1|three|four"\n')
    described = written(
        tmp_path, "own.yaml",
        "name: own\ntables:\n- file: pairs.txt\n  shapes: [pairs]\n  delimiter: bar\n  quoting: none\n"
        "  header: [score, text, text2]\n",
    )  # fmt: skip
    assert open_dataset(str(described)).load("pairs").data.first == ('"one two', "three")
    described.write_text(described.read_text().replace("delimiter: bar", "delimiter: dash"))
    with pytest.raises(DataError, match="delimiter"):
        open_dataset(str(described))


@pytest.mark.parametrize(
    ("name", "text", "columns"),
    [
        ("a.b.txt", "text\tlabel\nx y\ta\n", ("text", "label")),
        ("a.txt", '{"text": "x"}\n', ("text",)),
        ("a.txt", "text|label\nx, y|a\n", ("text", "label")),
        ("a.txt", "text\nx y, z\n", ("text",)),
    ],
)
def test_text_files_are_what_their_lines_are(name: str, text: str, columns: tuple[str, ...], tmp_path: Path) -> None:
    """JSON, fields between marks, or a text per line."""
    source = open_table_file(written(tmp_path, name, text))
    assert source.columns() == columns
    assert len(cells(source)) == 1


def test_a_reading_that_means_nothing(tmp_path: Path) -> None:
    """One line says what is wrong."""
    path = written(tmp_path, "a.jsonl", '{"text": "x"}\n')
    for mapping in ({"quoting": "none"}, {"quoting": "single"}, {"header": "yes"}, {"delimiter": "dash"}):
        with pytest.raises(UsageError, match=next(iter(mapping))):
            open_dataset(str(path), mapping=mapping)


CHARACTERS = st.characters(exclude_categories=["Cs"], exclude_characters="\0") | st.sampled_from("\"'\t\n\r,;| ")
SUFFIXES = {"tab": ".tsv", "comma": ".csv", "semicolon": ".csv", "bar": ".txt"}
HOSTILE = st.text(CHARACTERS, max_size=12)


@st.composite
def tables(draw: st.DrawFn) -> tuple[str, str, list[list[str]]]:
    """Suffix, what a program has written, and the rows it was given: by RFC 4180, or by putting marks between."""
    mark = draw(st.sampled_from(list(SUFFIXES)))
    quoted = draw(st.booleans())
    width = draw(st.integers(2, 4))
    cell = HOSTILE if quoted else HOSTILE.filter(lambda one: not set(one) & {MARKS[mark], "\n", "\r"})
    body = draw(st.lists(st.lists(cell, min_size=width, max_size=width), min_size=1, max_size=6))
    rows = [["text", *(f"column{place}" for place in range(2, width + 1))], *body]
    text = io.StringIO()
    if quoted:
        style = draw(st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]))
        csv.writer(text, delimiter=MARKS[mark], lineterminator="\r\n", quoting=style).writerows(rows)
    else:
        text.write("".join(MARKS[mark].join(row) + "\n" for row in rows))
    return SUFFIXES[mark], text.getvalue(), rows


def unquoted(text: str) -> str:
    """A field without the quotes that stand around it."""
    return text[1:-1].replace('""', '"') if len(text) > 1 and text[0] == text[-1] == '"' else text


@given(tables())
def test_what_a_check_suggests_reads_every_row_or_says_which_not(
    tmp_path_factory: pytest.TempPathFactory, made: tuple[str, str, list[list[str]]]
) -> None:
    """Whatever the strings, and whoever wrote them: all rows are read back, or their lines are named."""
    suffix, text, (names, *rows) = made
    path = written(tmp_path_factory.mktemp("hostile"), f"own{suffix}", text)
    report = DataCheckRequest(str(path), near=None).report()
    suggested = shlex.split(report.command or "")
    mapping = parse_mapping(suggested[suggested.index("--map") + 1]) if "--map" in suggested else {}
    reading, _ = split_reading_from_mapping(mapping)
    told = DataCheckRequest(str(path), mapping, near=None).report()
    try:
        found = cells(open_table_file(path, reading))
    except DataError:
        assert told.faults
        return
    if reading.header == "none":
        found = found[1:] if found[:1] == [names] else found
    same = [list(map(unquoted, row)) for row in found] == [list(map(unquoted, row)) for row in rows]
    said = [one for one in (*told.remarks, *told.faults) if isinstance(one, str) is False or "quotes" in one]
    assert same or said, (text, found, rows)


def test_a_blank_after_the_mark_is_of_no_name(tmp_path: Path) -> None:
    """`text, label` has a column `label`; where a blank is all that tells two names apart it stays."""
    path = written(tmp_path, "own.csv", "text, label\none,1\n")
    assert DelimitedTable(path, ",").columns() == ("text", "label")
    path = written(tmp_path, "odd.csv", "text, text\none,1\n")
    assert DelimitedTable(path, ",").columns() == ("text", " text")
