"""What comes in is checked: the message names file and line, and nothing is written where anything is wrong."""

from __future__ import annotations

import contextlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from embassay.errors import DataError, EmbassayError, UsageError
from embassay.protocols.hume.exchange.export import format_annotations_as_csv, read_csv_answers
from embassay.protocols.hume.exchange.intake import guess_answer_file_format, import_files
from embassay.protocols.hume.study import AnnotationRow

HEAD = "item_id,annotator_id,value\n"


@pytest.fixture
def file(tmp_path):
    def make(text, name="in.csv"):
        path = tmp_path / name
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return path

    return make


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("mood-00,ann,0\nmood-99,ann,1\n", r"in.csv:3: mood-99 is not an item of the study"),
        ("mood-00,ann,joyful\n", r"in.csv:2: the answer to mood-00 is 'joyful'"),
        ("pairs-00,ann,7\n", r"in.csv:2: the answer to pairs-00 is '7'"),
        ("pairs-00,ann,2.5\n", r"in.csv:2: the answer to pairs-00 is '2.5'"),
        ("pairs-00,ann,nan\n", r"in.csv:2: the answer to pairs-00"),
        ('search-00,ann,"[1,0]"\n', r"in.csv:2: the answer to search-00"),
        (
            "mood-00,ann,0\nmood-00,ann,1\n",
            r"in.csv:3: the answer by ann to mood-00 appears twice, first in in.csv, line 2",
        ),
        ("mood-00,,0\n", r"in.csv:2: no annotator is named"),
        ("mood-00,ann\n", r"in.csv:2: the row and the header have different numbers of cells"),
        (",ann,0\n", r"in.csv:2: the item_id is missing"),
        ('mood-00,ann,"0\n', r"in.csv"),
        ("mood-88,ann,0\nmood-99,ann,1\n", r"mood-88 is not an item of the study \(and 1 more such lines\)"),
    ],
)
def test_mistakes_in_a_table(empty, file, body, told):
    """Nothing is written."""
    with pytest.raises(DataError, match=told):
        import_files(empty, [file(HEAD + body)])
    assert not list((empty / "annotations").glob("*.jsonl"))


def test_marks_in_a_table(empty, file):
    """As JSON, or as people type them."""
    marks = {"0": "[1, 0, 0, 0, 0, 0, 1]", "1": "1 0 0 0 0 0 1", "2": "1000001", "3": "1;0;0;0;0;0;1"}
    body = "".join(f'search-0{at},ann,"{text}"\n' for at, text in marks.items())
    done = import_files(empty, [file(HEAD + body)])
    (path,) = done.written
    assert {str(json.loads(line)["value"]) for line in path.read_text().splitlines()} == {"[1, 0, 0, 0, 0, 0, 1]"}
    assert done.open == {("ann", "search"): 2}


@pytest.mark.parametrize(
    "text", ["item_id;value\nmood-00;2\n", "\ufeffitem_id\tvalue\r\nmood-00\t2\r\n", " Item_ID , Value \nmood-00,2\n"]
)
def test_tables_of_other_countries(empty, file, text):
    """Semicolons, tabs, a byte order mark, Windows' line ends, capitals."""
    done = import_files(empty, [file(text)], annotator=("zoë",))
    assert done.answers == {("zoë", "mood"): 1}


def test_what_is_open_is_left_out(empty, file):
    """And counted; a reason makes it an answer."""
    text = "item_id,annotator_id,value,flag\nmood-00,ann,1,\nmood-01,ann,,\nmood-02,ann,,garbled\n"
    done = import_files(empty, [file(text)])
    assert done.answers == {("ann", "mood"): 2}
    assert done.impossible == 1
    assert done.left_out == {"unanswered, with no reason given": 1}


def test_again_is_refused_or_replaces(empty, file):
    """Also where another file has the answer; what is not replaced stays."""
    first = file(HEAD + "mood-00,ann,0\nmood-01,ann,1\nmood-00,bob,2\n")
    import_files(empty, [first])
    with pytest.raises(UsageError, match=r"ann\.jsonl already contains 3 of these answers by ann, bob"):
        import_files(empty, [first])
    done = import_files(empty, [file(HEAD + "mood-00,ann,2\nmood-02,ann,2\n", "later.csv")], replace=True)
    assert done.replaced == 1
    rows = [json.loads(line) for line in (empty / "annotations" / "ann.jsonl").read_text().splitlines()]
    assert {row["item_id"]: row["value"] for row in rows} == {"mood-00": 2, "mood-01": 1, "mood-02": 2}
    assert json.loads((empty / "annotations" / "bob.jsonl").read_text())["value"] == 2


def test_names(empty, file):
    """One for those whom a file does not name, others in place of a file's; what is of no use is said."""
    path = file(HEAD + "mood-00,3,0\nmood-00,,1\n")
    done = import_files(empty, [path], annotator=("ann", "3=bob", "4=cat"))
    assert set(done.answers) == {("ann", "mood"), ("bob", "mood")}
    assert done.remarks == ("no file contains the annotator 4",)
    with pytest.raises(UsageError, match="it is unclear who gave which answers"):
        import_files(empty, [path], annotator=("ann", "bob"))


def test_the_file_of_the_offline_page(empty, file):
    """JSONL, one object alone too; what was begun only is left out."""
    row = {
        "item_id": "mood-00",
        "annotator_id": "ann",
        "value": 1,
        "ts": "",
        "seconds": 2,
        "kind": "person",
        "flag": "",
        "comment": "",
    }
    begun = {**row, "item_id": "search-00", "value": {"draft": [1, None, 0, 0, 0, 0, 0]}}
    path = file(json.dumps(row) + "\n" + json.dumps(begun) + "\n", "ann.answers.jsonl")
    done = import_files(empty, [path])
    assert done.files == (("ann.answers.jsonl", "jsonl"),)
    assert done.left_out == {"started but not finished": 1}
    assert guess_answer_file_format(file(json.dumps(row), "one.jsonl")) == "jsonl"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "is empty"),
        ('{"a": 1}', "Unknown file format"),
        ('[{"a": 1}]', "Unknown file format"),
        ('{"item_id": ', "in.csv:1: the line is not valid JSON"),
        (b"\xff\xfe\x00x", "UTF-8"),
    ],
)
def test_files_that_are_none(empty, file, text, told):
    with pytest.raises(DataError, match=told):
        import_files(empty, [file(text)])


WORDS = st.text(alphabet="ab =+-@'\",;\t\r\nü\ufeff[]0", max_size=6)
ROWS = st.builds(
    AnnotationRow,
    item_id=WORDS.map(lambda text: f"i{text}i"),
    annotator_id=WORDS.map(lambda text: f"a{text}a"),
    value=st.one_of(st.integers(), WORDS.map(lambda text: f"{text}x"), st.lists(st.integers(0, 1), min_size=1)),
    seconds=st.one_of(st.none(), st.floats(0, 1e6)),
    flag=WORDS,
    comment=WORDS,
)


@given(rows=st.lists(ROWS, max_size=3))
def test_any_text_survives_a_table(tmp_path_factory, rows):
    """Quotes, commas, line ends, formulas, apostrophes."""
    path = tmp_path_factory.getbasetemp() / "any.csv"
    path.write_bytes(format_annotations_as_csv(rows).encode())
    found = read_csv_answers(path).answers
    told = ("item_id", "annotator_id", "flag", "comment", "seconds")
    assert [[getattr(one, name) for name in told] for one in found] == [
        [getattr(row, name) for name in told] for row in rows
    ]
    texts = [(one.value, row.value) for one, row in zip(found, rows, strict=True) if isinstance(row.value, str)]
    assert all(there == here for there, here in texts)


@given(content=st.binary(max_size=300))
def test_any_bytes_are_an_error_of_ours(tmp_path_factory, content):
    """Never another one."""
    path = tmp_path_factory.getbasetemp() / "any.bytes"
    path.write_bytes(content)
    with contextlib.suppress(EmbassayError):
        if guess_answer_file_format(path) == "csv":
            read_csv_answers(path)
