"""Runs and qrels of every format are the same columns, and whatever is wrong with one is said with its line."""

from __future__ import annotations

import gzip
import io
import json
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from embassay.data.judged_runs import RunOrQrelsEntries, read_entries_in_memory, read_qrels_entries, read_run_entries
from embassay.data.judged_runs import runs as careful
from embassay.data.judged_runs import runs as columns
from embassay.data.judged_runs.layouts import QRELS, RUN, DelimitedFieldLayout, detect_text_file_layout
from embassay.errors import DataError

RUN_ROWS = [("q1", "d1", 2.5), ("q1", "d2", -0.25), ("q2", "d1", 1e-7), ("q10", "dé", 3.0)]
QREL_ROWS = [("q1", "d1", 5.0), ("q1", "d2", 1.0), ("q2", "d1", 4.0), ("q10", "dé", 3.0)]
TREC = "".join(f"{q} Q0 {d} 1 {s!r} tag\n" for q, d, s in RUN_ROWS)
QRELS_TREC = "".join(f"{q} 0 {d} {g:g}\n" for q, d, g in QREL_ROWS)
BEIR = "query-id\tcorpus-id\tscore\n" + "".join(f"{q}\t{d}\t{g:g}\n" for q, d, g in QREL_ROWS)


def jsonl(rows: list[tuple[str, str, float]], value: str, query: str = "query_id", doc: str = "doc_id") -> str:
    return "".join(json.dumps({query: q, doc: d, value: v, "more": [1]}) + "\n" for q, d, v in rows)


def parquet(rows: list[tuple[str, str, float]], value: str) -> bytes:
    buffer = io.BytesIO()
    names = ["query_id", "doc_id", value]
    pl.DataFrame(rows, schema=names, orient="row").write_parquet(buffer)
    return buffer.getvalue()


def read(kind: str, path: Path, content: str | bytes, **arguments: object) -> RunOrQrelsEntries:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return (read_run_entries if kind == "run" else read_qrels_entries)(path, **arguments)  # type: ignore[operator, no-any-return]


RUNS = {
    "trec": TREC,
    "tabs": TREC.replace(" ", "\t"),
    "many blanks": " " + TREC.replace(" ", " \t  ").replace("\n", "  \n"),
    "CRLF": TREC.replace("\n", "\r\n"),
    "lone CR": TREC.replace("\n", "\r"),
    "BOM": b"\xef\xbb\xbf" + TREC.encode(),
    "blank lines": "\n\n" + TREC.replace("\n", "\n\n"),
    "no last line end": TREC.rstrip(),
    "packed": gzip.compress(TREC.encode()),
    "jsonl": jsonl(RUN_ROWS, "score"),
    "packed jsonl": gzip.compress(jsonl(RUN_ROWS, "score").encode()),
    "other names": jsonl(RUN_ROWS, "sim", "qid", "docno"),
    "parquet": parquet(RUN_ROWS, "score"),
    "csv": "doc_id,query_id,score\n" + "".join(f'{d},"{q}",{s!r}\n' for q, d, s in RUN_ROWS),
    "tsv": "qid\tdocid\tsim\n" + "".join(f"{q}\t{d}\t{s!r}\n" for q, d, s in RUN_ROWS),
}


@pytest.mark.parametrize("content", RUNS.values(), ids=RUNS)
@pytest.mark.parametrize("name", ["run.txt", "run.gz"])
def test_runs_of_every_format_are_the_same(tmp_path: Path, content: str | bytes, name: str) -> None:
    """The format is told from the content, whatever the file is called; order is kept."""
    assert read("run", tmp_path / name, content).frame.rows() == RUN_ROWS


QRELS_FILES = {
    "trec": QRELS_TREC,
    "beir": BEIR,
    "beir without header": BEIR.partition("\n")[2],
    "beir, CRLF and BOM": b"\xef\xbb\xbf" + BEIR.replace("\n", "\r\n").encode(),
    "three columns by blanks": "".join(f"{q} {d} {g}\n" for q, d, g in QREL_ROWS),
    "jsonl": jsonl(QREL_ROWS, "relevance"),
    "grade": jsonl(QREL_ROWS, "grade"),
    "parquet": parquet(QREL_ROWS, "relevance"),
}


@pytest.mark.parametrize("content", QRELS_FILES.values(), ids=QRELS_FILES)
def test_qrels_of_every_format_are_the_same(tmp_path: Path, content: str | bytes) -> None:
    """As for runs."""
    assert read("qrels", tmp_path / "q", content).frame.rows() == QREL_ROWS


def test_integers_and_texts_are_one_id(tmp_path: Path) -> None:
    """An id written as a number is the text of that number."""
    content = '{"query_id": 7, "doc_id": 10, "score": 1}\n{"query_id": "7", "doc_id": "11", "score": 0}\n'
    assert read("run", tmp_path / "r", content).frame.rows() == [("7", "10", 1.0), ("7", "11", 0.0)]


def test_ids_with_blanks_between_tabs(tmp_path: Path) -> None:
    """Tabs separate where they give the right number of columns, so that ids may hold blanks."""
    rows = read("qrels", tmp_path / "q", "a query\ta document\t3\n").frame.rows()
    assert rows == [("a query", "a document", 3.0)]


def test_an_id_may_begin_with_a_brace(tmp_path: Path) -> None:
    """A table whose first id does is still no JSON, in judgements and in runs."""
    run = read("run", tmp_path / "run", "{q1} Q0 d1 1 2.5 tag\n")
    qrels = read("qrels", tmp_path / "qrels", "{q1} 0 d1 3\n")
    assert run.frame.rows() == [("{q1}", "d1", 2.5)]
    assert qrels.frame.rows() == [("{q1}", "d1", 3.0)]


def test_map_names_columns(tmp_path: Path) -> None:
    """`--map` wins over the usual names, where the file has the column."""
    content = '{"q": "1", "query_id": "x", "doc_id": "d", "code": 2}\n'
    mapping = {"query_id": "q", "relevance": "code", "score": "nowhere"}
    assert read("qrels", tmp_path / "q", content, mapping=mapping).frame.rows() == [("1", "d", 2.0)]


def test_split(tmp_path: Path) -> None:
    """A split selects rows; line numbers stay those of the file."""
    content = "".join(
        f'{{"query_id": "q", "doc_id": "{i}", "relevance": {i}, "split": "{"ab"[i % 2]}"}}\n' for i in range(4)
    )
    found = read("qrels", tmp_path / "q", content, split="b")
    assert found.frame.rows() == [("q", "1", 1.0), ("q", "3", 3.0)]
    assert [found.line_of(0), found.line_of(1)] == [2, 4]
    with pytest.raises(DataError, match="no row belongs to the requested split"):
        read("qrels", tmp_path / "q", content, split="c")


def test_beir_folder(tmp_path: Path) -> None:
    """A folder stands for its qrels: the test split unless another is named."""
    (tmp_path / "qrels").mkdir()
    (tmp_path / "qrels" / "test.tsv").write_text(BEIR)
    (tmp_path / "qrels" / "dev.tsv").write_text("q\td\t2\n")
    assert read_qrels_entries(tmp_path).frame.rows() == QREL_ROWS
    assert read_qrels_entries(tmp_path, split="dev").frame.rows() == [("q", "d", 2.0)]
    with pytest.raises(DataError, match=r"the folder has no qrels \(expected qrels/x.tsv\)"):
        read_qrels_entries(tmp_path, split="x")


def test_line_of_an_entry(tmp_path: Path) -> None:
    """Blank lines and the header count as lines, not as entries."""
    found = read("qrels", tmp_path / "q", "\nquery-id\tcorpus-id\tscore\n\nq\td\t1\n\nq\te\t2\n")
    assert [found.line_of(i) for i in (0, 1)] == [4, 6]


def test_objects() -> None:
    """Mappings, lists in order and frames are read as files are."""
    assert read_entries_in_memory({"q": {"a": 1, "b": 2}}, "run", "r").frame.rows() == [
        ("q", "a", 1.0),
        ("q", "b", 2.0),
    ]
    assert read_entries_in_memory({"q": ["b", "a"]}, "run", "r").frame.rows() == [("q", "b", 0.0), ("q", "a", -1.0)]
    frame = pl.DataFrame({"query_id": [1], "doc_id": ["a"], "score": [2]})
    assert read_entries_in_memory(frame, "run", "r").frame.rows() == [("1", "a", 2.0)]
    with pytest.raises(DataError, match="r: the run has no entries"):
        read_entries_in_memory({}, "run", "r")
    with pytest.raises(DataError, match="a value is not a finite number"):
        read_entries_in_memory({"q": {"a": float("nan")}}, "run", "r")
    with pytest.raises(DataError, match="a query's documents cannot be read"):
        read_entries_in_memory({"q": 1.0}, "run", "r")


LINE = "q1 Q0 d1 1 2.5 tag\n"
FAULTS: list[tuple[str, str, str | bytes, str]] = [
    ("missing column", "run", LINE + "q1 Q0 d2 2 2.0\n", r":2: .*expected 6 columns.*found 5.*written completely"),
    ("one too many", "run", LINE + "q1 Q0 d 2 2 2.0 tag\n", r":2: .*found 7.*If identifiers contain spaces"),
    (
        "five columns",
        "run",
        "q1 Q0 d1 1 2.5\n",
        r":1: .*not a valid line of a run.*6 columns: query Q0.*found 5 columns",
    ),
    ("qrels as run", "run", QRELS_TREC, r":1: .*found 4 columns.*This looks like qrels: pass it with --qrels"),
    ("run as qrels", "qrels", TREC, r"1: .*found 6 columns.*This looks like a run: pass it with --run"),
    ("score is a word", "run", LINE + "q1 Q0 d2 2 high tag\n", r":2: the score is not a number .*found 'high'"),
    ("score is NaN", "run", "\n" + LINE + "q1 Q0 d2 2 nan tag\n", r":3: the score is not a number .*found 'nan'"),
    ("score is infinite", "run", LINE + "q1 Q0 d2 2 1e999 tag\n", r"2: .*a finite number; found '1e999'"),
    ("comma in score", "run", LINE + "q1 Q0 d2 2 0,5 tag\n", r"2: .*found '0,5'"),
    ("grade is a word", "qrels", "q 0 d 1\nq 0 e good\n", r"2: the grade is not a number .*found 'good'"),
    ("empty", "run", "", r" the file is empty\. Check that it was written"),
    ("only blank lines", "run", "\n \n", "the file is empty"),
    ("only a header", "qrels", "query-id\tcorpus-id\tscore\n", "there are no lines below the header"),
    ("binary", "run", b"q1 Q0 d1 1 2.5 tag\nq\x00\x01", r"2: the file is binary .*found a NUL byte"),
    (
        "Latin-1",
        "run",
        LINE.encode() + "q1 Q0 dé 2 1 t\n".encode("latin-1"),
        r":2: byte 8 of the line is not UTF-8 .*0xe9.*Save the file as UTF-8",
    ),
    ("UTF-16", "run", LINE.encode("utf-16"), "the file is UTF-16 .*Save it as UTF-8"),
    ("cut gzip", "run", gzip.compress(LINE.encode() * 99)[:-20], "the gzip file is truncated or damaged"),
    ("cut parquet", "run", parquet(RUN_ROWS, "score")[:-30], "damaged or not a Parquet file"),
    ("cut JSON", "run", jsonl(RUN_ROWS, "score") + '{"query_id": "q', r"5: the line is not valid JSON"),
    ("a JSON list", "run", '[{"query_id": "q"}]', r"1: .*one object per line, without an enclosing list"),
    (
        "not an object",
        "run",
        '{"query_id": "q", "doc_id": "d", "score": 1}\n[1]\n',
        r":2: the line is not a JSON object",
    ),
    (
        "missing key",
        "run",
        '{"query_id": "q", "doc_id": "d", "relevance": 1}\n',
        r"no column 'score' \(found columns query_id, doc_id, relevance\).*--map score=",
    ),
    (
        "a line without a key",
        "run",
        '{"query_id": "q", "doc_id": "d", "score": 1}\n{"query_id": "q", "doc_id": "d"}\n',
        r":2: the score is not a number .*found nothing",
    ),
    (
        "a text as score",
        "run",
        '{"query_id": "q", "doc_id": "d", "score": 1}\n{"query_id": "q", "doc_id": "e", "score": "x"}\n',
        r":2: .*found 'x'",
    ),
    ("NaN in JSON", "run", '{"query_id": "q", "doc_id": "d", "score": NaN}\n', r":1: the score is not a number"),
    (
        "no id",
        "run",
        '{"query_id": "q", "doc_id": "d", "score": 1}\n{"query_id": null, "doc_id": "d", "score": 1}\n',
        r":2: the query has no identifier .*found nothing",
    ),
    ("blank id in CSV", "run", "query_id,doc_id,score\nq,d,1\nq, ,1\n", r":3: the document has no identifier"),
    ("ragged CSV", "run", "query_id,doc_id,score\nq,d,1\nq,d\n", r":3: .*expected 3 columns as in the header; found 2"),
    ("null in parquet", "run", parquet([("q", "d", 1.0), ("q", "e", None)], "score"), r":2: the score is not a number"),  # type: ignore[list-item]
    ("underscores in a score", "run", "q Q0 d 1 1_0 t\n", r":1: the score is not a number .*found '1_0'"),
    ("digits that are not ASCII", "run", "q Q0 d 1 \u0661\u0660 t\n", r":1: the score is not a number"),
    ("words in parquet", "run", parquet([("q", "d", "high")], "score"), r"1: .*found 'high'"),  # type: ignore[list-item]
    ("no rows in parquet", "run", parquet([], "score"), r"the table has no rows"),
]


@pytest.mark.parametrize(("kind", "content", "says"), [fault[1:] for fault in FAULTS], ids=[f[0] for f in FAULTS])
def test_faults(tmp_path: Path, kind: str, content: str | bytes, says: str) -> None:
    """One line names the file, the line, what was expected and found, and the mend."""
    with pytest.raises(DataError, match=f"the file.*{says}") as caught:
        read(kind, tmp_path / "the file", content)
    assert "\n" not in str(caught.value)
    assert caught.value.mend


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    """Its name, and why it cannot be read."""
    with pytest.raises(DataError, match=r"nowhere.trec: the file cannot be read \(found No such file"):
        read_run_entries(tmp_path / "nowhere.trec")


ids = st.text(st.characters(codec="utf-8", exclude_categories=("Z", "C"), exclude_characters="\"'{[,#"), min_size=1)
numbers = st.floats(allow_nan=False, allow_infinity=False)
blanks = st.sampled_from([" ", "\t", "  ", " \t "])


@given(st.lists(st.tuples(ids, ids, numbers), min_size=1, max_size=8), blanks, st.booleans())
def test_the_two_ways_agree(rows: list[tuple[str, str, float]], blank: str, spaced: bool) -> None:
    """Whatever the fast reader takes, the careful one reads as the same; and it reads all that is written."""
    lines = (blank.join((q, "Q0", d, "1", repr(s), "tag")) for q, d, s in rows)
    content = ("\n\n" if spaced else "\n").join(lines).encode()
    layout = detect_text_file_layout(Path("x"), content, RUN, {})
    slow = list(careful.parse_run_or_qrels_lines(Path("x"), content, RUN, layout).values())
    fast = columns.parse_text_columns(content, layout)
    assert slow == rows
    assert fast is not None
    assert fast.select("query", "doc", "value").rows() == rows


def test_layouts_say_what_they_are() -> None:
    """Their names are in the record of a scoring."""
    assert detect_text_file_layout(Path("x"), BEIR.encode(), QRELS, {}).title == "TSV with a header"
    assert detect_text_file_layout(Path("x"), QRELS_TREC.encode(), QRELS, {}).title == "TREC qrels"
    assert detect_text_file_layout(Path("x"), TREC.encode(), RUN, {}).title == "TREC run"
    assert DelimitedFieldLayout("", ",", ()).split('a,"b,c"') == ["a", "b,c"]


Lines = list[tuple[str, str, int, float]]
WRITTEN: dict[str, Callable[[Lines], str | bytes]] = {
    "trec": lambda lines: "".join(f"{q} Q0 {d} {r} {s} x\n" for q, d, r, s in lines),
    "csv": lambda lines: "query_id,doc_id,rank,score\n" + "".join(f"{q},{d},{r},{s}\n" for q, d, r, s in lines),
    "spaced csv": lambda lines: "qid, pid, Rank, score\n" + "".join(f"{q}, {d}, {r}, {s}\n" for q, d, r, s in lines),
    "tsv": lambda lines: "qid\tpid\tposition\tscore\n" + "".join(f"{q}\t{d}\t{r}\t{s}\n" for q, d, r, s in lines),
    "jsonl": lambda lines: "".join(
        json.dumps({"query_id": q, "doc_id": d, "rank": r, "score": s}) + "\n" for q, d, r, s in lines
    ),
    "odd jsonl": lambda lines: "".join(
        json.dumps({"query_id": q, "doc_id": d, "rank": str(r), "score": str(s)}) + "\n" for q, d, r, s in lines
    ),
    "parquet": lambda lines: _parquet(lines, ["query_id", "doc_id", "rank", "score"]),
}


def _parquet(lines: Lines, names: list[str]) -> bytes:
    buffer = io.BytesIO()
    pl.DataFrame(lines, schema=names, orient="row").write_parquet(buffer)
    return buffer.getvalue()


def made(score: Callable[[int], float], rank: Callable[[int], int], queries: int = 3, depth: int = 6) -> Lines:
    return [(f"q{n}", f"d{i}", rank(i), score(i)) for n in range(queries) for i in range(1, depth + 1)]


@pytest.mark.parametrize("written", WRITTEN.values(), ids=WRITTEN)
def test_distances_are_not_taken_for_scores(written: Callable[[Lines], str | bytes], tmp_path: Path) -> None:
    """Where the score rises with the rank the last would be ranked first: in long lists and short ones, from rank 0
    too, with ties and with a step that falls. Ranks of 0, a tie and scores that go up and down say nothing."""

    def run(score: Callable[[int], float], rank: Callable[[int], int], *size: int) -> RunOrQrelsEntries:
        return read("run", tmp_path / "run", written(made(score, rank, *size)))

    for score, rank, *size in (
        (lambda i: 0.1 * i, lambda i: i),
        (lambda i: 0.1 * i, lambda i: i - 1),
        (lambda i: 0.1 * i, lambda i: i, 1, 2),
        (lambda i: 0.1 * max(i, 2), lambda i: i),
        (lambda i: 0.05 if i == 25 else 0.1 * i, lambda i: i, 1, 30),
    ):
        with pytest.raises(DataError, match="increase with the rank") as caught:
            run(score, rank, *size)
        assert caught.value.line
    for score, rank in (
        (lambda i: 0.1 * i, lambda _: 0),
        (lambda i: -0.1 * i, lambda i: i),
        (lambda _: 0.0, lambda i: i),
        (lambda i: (-1.0) ** i, lambda i: i),
    ):
        assert len(run(score, rank).frame) == 18


def test_rising_scores_without_ranks_are_said(tmp_path: Path) -> None:
    """Such a run may be of distances; one that was sorted otherwise is scored without a word."""
    rows = [("q1", f"d{i}", 0.1 * i) for i in range(1, 6)]
    found = read("run", tmp_path / "up", jsonl(rows, "score"))
    assert [note for note in found.notes if "increase from line to line" in note]
    assert not read("run", tmp_path / "down", jsonl(rows[::-1], "score")).notes
    assert read_entries_in_memory({"q": {"a": 0.1, "b": 0.2, "c": 0.3, "d": 0.4}}, "run", "r").notes


@pytest.mark.parametrize("name", ["distance", "dist", "vector_distance"])
def test_what_is_called_a_distance(name: str, tmp_path: Path) -> None:
    """Where it rises with the order the least is the best, where it falls (Milvus' similarities) the most; an order
    that tells neither is asked about, also through --map."""
    for values, best in (([0.1, 0.2, 0.3], "d0"), ([0.9, 0.8, 0.7], "d0")):
        content = jsonl([("q", f"d{i}", value) for i, value in enumerate(values)], name)
        for mapping in ({}, {"score": name}):
            found = read("run", tmp_path / "run", content, mapping=mapping)
            assert found.frame.sort("value", descending=True)["doc"][0] == best
            assert found.notes
    with pytest.raises(DataError, match="does not show which value is best"):
        read("run", tmp_path / "run", jsonl([("q", "a", 0.2), ("q", "b", 0.1), ("q", "c", 0.3)], name))


@pytest.mark.parametrize("content", [
    "qid\tpid\trank\nq1\td1\t1\nq1\td2\t2\nq2\td9\t1\nq2\td5\t2\n",
    '{"qid": "q1", "pid": "d1", "rank": 1}\n{"qid": "q1", "pid": "d2", "rank": 2}\n'
    '{"qid": "q2", "pid": "d9", "rank": 1}\n{"qid": "q2", "pid": "d5", "rank": 2}\n',
    _parquet([("q1", "d1", 1), ("q1", "d2", 2), ("q2", "d9", 1), ("q2", "d5", 2)], ["qid", "pid", "rank"]),  # type: ignore[list-item]
])  # fmt: skip
def test_ranks_are_no_scores(content: str | bytes, tmp_path: Path) -> None:
    """The first rank is the best, by its own name and as the score; nothing else may be made of such numbers."""
    for mapping in ({}, {"score": "rank"}):
        found = read("run", tmp_path / "run", content, mapping=mapping)
        best = found.frame.sort("value", descending=True).unique("query", keep="first", maintain_order=True)
        assert sorted(best["doc"]) == ["d1", "d9"]
        assert not found.is_scored
        assert found.notes


def test_ranks_tell_equal_scores_apart(tmp_path: Path) -> None:
    """In tables; trec_eval goes by the id in TREC files, and so does a run of one."""
    lines: Lines = [("q", "a", 1, 0.5), ("q", "z", 2, 0.5), ("q", "m", 3, 0.25)]
    for name, written in WRITTEN.items():
        values = dict(read("run", tmp_path / "run", written(lines)).frame.select("doc", "value").iter_rows())
        assert (values["a"] == values["z"]) is (name == "trec")
        assert values["a"] >= values["z"] > values["m"]


IDS = {
    "CSV": 'query_id, doc_id, score\nq1, d1, 1\nq1, "d, 2", 0.5\n',
    "TSV": "query_id\tdoc_id\tscore\nq1 \t d1\t1\nq1\td, 2 \t0.5\n",
    "quoted TSV": '"query_id"\t"doc_id"\t"score"\n"q1"\t"d1"\t1\n"q1"\t"d, 2"\t0.5\n',
    "JSON": '{"query_id": " q1", "doc_id": "d1 ", "score": 1}\n{"query_id": "q1", "doc_id": "d, 2", "score": 0.5}\n',
    "Parquet": parquet([(" q1", "d1 ", 1.0), ("q1", "d, 2", 0.5)], "score"),
}


@pytest.mark.parametrize("content", IDS.values(), ids=IDS)
def test_ids_without_what_stands_around_them(content: str | bytes, tmp_path: Path) -> None:
    """Blanks at their ends, and the quotation marks of CSV, are no part of ids."""
    assert read("run", tmp_path / "r", content).frame.rows() == [("q1", "d1", 1.0), ("q1", "d, 2", 0.5)]


def test_ids_that_became_decimals(tmp_path: Path) -> None:
    """Where a file has numbers they are the integers that they were; in texts nobody knows (`scoring.identity`)."""
    frame = pl.DataFrame({"query_id": [1.0, 2.0], "doc_id": [11.0, 12.0], "score": [0.5, 0.25]})
    assert read_entries_in_memory(frame, "run", "r").frame.rows() == [("1", "11", 0.5), ("2", "12", 0.25)]
    content = '{"query_id": 1.0, "doc_id": 11.0, "score": "0.5"}\n'
    assert read("run", tmp_path / "r", content).frame.rows() == [("1", "11", 0.5)]


def test_blanks_that_separate_nothing(tmp_path: Path) -> None:
    """In TREC files a no-break space belongs to an id, in the first line too."""
    content = "q1 Q0 doc\u00a07 1 2 x\nq1 Q0 doc\u30008 2 1 x\n"
    assert read("run", tmp_path / "r", content).frame["doc"].to_list() == ["doc\u00a07", "doc\u30008"]


@pytest.mark.parametrize("content", ["q1 d1 1\nq1 d2 2\n", "q1\td1\t0.9\n", "q1 d1 1 0.9\n"])
def test_short_runs_are_told_to_name_their_columns(content: str, tmp_path: Path) -> None:
    """Nobody knows whether a third column is a rank or a score."""
    with pytest.raises(DataError, match="add a header line"):
        read("run", tmp_path / "r", content)


def test_lists_in_memory() -> None:
    """Documents in order, and pairs of a document and its score."""
    assert read_entries_in_memory({"q": [("a", 0.5), ("b", 0.25)]}, "run", "r").frame.rows() == [
        ("q", "a", 0.5),
        ("q", "b", 0.25),
    ]
    assert not read_entries_in_memory({"q": ["b", "a"]}, "run", "r").is_scored


def test_an_id_that_looks_like_a_formula_survives_the_sheet(tmp_path):
    """What we give people to grade has an apostrophe before it; a spreadsheet or a person may take it off."""
    sheet = tmp_path / "graded.csv"
    sheet.write_text("query_id,doc_id,grade\n'=q,'-doc,5\n=q,'@b,1\n'tis,-2.5,3\n")
    rows = read_qrels_entries(sheet).frame.select("query", "doc").rows()
    assert rows == [("=q", "-doc"), ("=q", "@b"), ("'tis", "-2.5")]
