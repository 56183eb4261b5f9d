"""Broken datasets: every fault is one line that says where it is, what was found and how to mend it."""

from __future__ import annotations

import gzip
import io
import json
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl
import pytest

from embassay.data import open_dataset
from embassay.errors import DataError

ROW = '{"id": "a", "text": "one"}\n'
RATED = "id,text,summary,overall\n"
CHOICES = "id,text,summary_1,summary_2,choice\n"
FOLDER = {
    "corpus.jsonl": '{"_id": "d1", "title": "T", "text": "one"}\n{"_id": "d2", "text": "two"}\n',
    "queries.jsonl": '{"_id": "q1", "text": "which"}\n',
    "qrels/test.tsv": "query-id\tcorpus-id\tscore\nq1\td1\t1\n",
}
TABLE = "name: x\ntables:\n  - file: rows.jsonl\n    shapes: [documents]\n"


@dataclass(frozen=True)
class Fault:
    """Files to write, what to open, and what the message must say."""

    name: str
    files: dict[str, str | bytes]
    spec: str
    shape: str
    says: tuple[str, ...]
    mapping: dict[str, str] = field(default_factory=dict)
    split: str | None = None
    grades: str | None = None


def one(name: str, file: str, content: str | bytes, shape: str, *says: str, **options: object) -> Fault:
    return Fault(name, {file: content}, file, shape, says, **options)  # type: ignore[arg-type]


def folder(name: str, changed: dict[str, str | None], *says: str, **options: object) -> Fault:
    files = {f"f/{path}": text for path, text in {**FOLDER, **changed}.items() if text is not None}
    return Fault(name, files, "f", "retrieval", says, **options)  # type: ignore[arg-type]


def described(name: str, yaml: str, *says: str, rows: str = ROW, shape: str = "documents") -> Fault:
    return Fault(name, {"x.yaml": yaml, "rows.jsonl": rows}, "x.yaml", shape, says)


def parquet(frame: pl.DataFrame) -> bytes:
    buffer = io.BytesIO()
    frame.write_parquet(buffer)
    return buffer.getvalue()


PARQUET = parquet(pl.DataFrame({"text": [f"text {n}" * 20 for n in range(2000)]}))
PACKED = gzip.compress((ROW * 200).encode() + bytes(range(1, 9)))

FAULTS = [
    one("truncated gz", "x.jsonl.gz", PACKED[: len(PACKED) // 2], "documents", "x.jsonl.gz: ", "truncated"),
    one("damaged gz", "x.jsonl.gz", PACKED[:-8] + b"12345678", "documents", "truncated or damaged", "CRC"),
    one("gz by name only", "x.csv.gz", "text\na\n", "documents", "no gzip header", "Rename it without .gz"),
    one("gz without the name", "x.jsonl", PACKED, "documents", "a gzip header", "Add .gz"),
    one(
        "bad UTF-8",
        "x.jsonl",
        ROW.encode() + b'{"text": "caf\xe9"}',
        "documents",
        "x.jsonl:2: ",
        "byte 14",
        "0xe9",
        "Save the file as UTF-8",
    ),
    one("bad UTF-8 in CSV", "x.csv", b"text\na\nb\n\xff\xfe\n", "documents", "x.csv:4: ", "0xff"),
    one("UTF-16", "x.csv", "text\na\n".encode("utf-16"), "documents", "UTF-16", "Save it as UTF-8"),
    one("binary", "x.csv", b"text\na\0b\n", "documents", "x.csv:2: ", "NUL byte"),
    one(
        "invalid JSON",
        "x.jsonl",
        ROW + '{"text": "one"\n',
        "documents",
        "x.jsonl:2: the line is not valid JSON",
        "expecting ',' delimiter",
        "one complete JSON object",
    ),
    one("JSON too deep", "x.jsonl", '{"text": ' + "[" * 100_000, "documents", "x.jsonl:1: ", "not valid JSON"),
    one("half a surrogate pair", "x.jsonl", '{"text": "\\ud83d"}', "documents", "x.jsonl:1: ", "surrogate pair"),
    one(
        "JSON list", "x.jsonl", ROW + '["one"]\n', "documents", "x.jsonl:2: ", "one JSON object per line", "a JSON list"
    ),
    one("one pretty JSON document", "x.jsonl", '{\n  "text": "one"\n}\n', "documents", "x.jsonl:1: "),
    one(
        "missing column",
        "x.csv",
        "id,texte,label\n1,a,b\n",
        "documents",
        "no column 'text'",
        "columns id, texte, label",
        "--map text=texte",
    ),
    one("missing column without a near one", "x.csv", "id,corpse\n1,a\n", "documents", "--map text=COLUMN"),
    one(
        "missing column of a shape",
        "x.jsonl",
        '{"text": "a", "abstract": "b"}',
        "summarised",
        "no column 'summary'",
        "columns text, abstract",
        "--map summary=abstract",
    ),
    one(
        "ratings without an axis",
        "x.jsonl",
        '{"text": "a", "summary": "b"}',
        "ratings",
        "'axis.NAME'",
        "--map axis.NAME=COLUMN",
    ),
    one(
        "unknown source column",
        "x.csv",
        "id,topic\n1,a\n",
        "documents",
        "no column 'topics' to read 'text' from",
        "columns id, topic",
        "--map text=topic ",
        mapping={"text": "topics"},
    ),
    one("duplicate ids", "x.jsonl", ROW + "\n" + ROW, "documents", "x.jsonl:3: ", "'a'", "first on line 1"),
    one(
        "duplicate ids in CSV",
        "x.csv",
        'id,text\n7,"one\ntwo"\n7,b\n',
        "documents",
        "x.csv:4: ",
        "'7'",
        "first on line 2",
    ),
    one("missing id", "x.jsonl", ROW + '{"text": "b"}', "documents", "x.jsonl:2: ", "'id'", "found nothing"),
    one("empty file", "x.jsonl", "", "documents", "x.jsonl: the file is empty"),
    one("empty gz", "x.csv.gz", gzip.compress(b""), "documents", "the file is empty"),
    one("blank lines only", "x.jsonl", "\n\n", "documents", "all lines are blank"),
    one("header only", "x.csv", "id,text\n", "documents", "no rows below the header"),
    one(
        "ragged CSV",
        "x.csv",
        "id,text\n1,a\n2,b,c\n",
        "documents",
        "x.csv:3: ",
        "expected 2 fields",
        "found 3",
        "double quotes",
    ),
    one("short CSV row", "x.csv", "id,text\n1\n", "documents", "x.csv:2: ", "found 1"),
    one(
        "unbalanced quote",
        "x.csv",
        'id,text\n1,a\n2,"b\n3,c\n4,d\n',
        "documents",
        "x.csv:3: ",
        "not closed",
        "Write quotes inside",
    ),
    one("text after a quote", "x.csv", 'id,text\n1,"a"b\n', "documents", "x.csv:2: ", "closing quote"),
    one("column named twice", "x.csv", "text,text\na,b\n", "documents", "x.csv:1: ", "'text' twice"),
    one(
        "number for a text",
        "x.jsonl",
        ROW + '{"id": "b", "text": 5}',
        "documents",
        "x.jsonl:2: ",
        "'text' cannot be used",
        "found 5",
    ),
    one("list for a text", "x.jsonl", '{"text": ["a", "b"]}', "documents", "x.jsonl:1: ", "['a', 'b']"),
    one("list for a label", "x.jsonl", '{"text": "a", "label": ["b"]}', "labelled", "'label'", "['b']"),
    one(
        "rating in words",
        "x.csv",
        RATED + "1,a,b,5\n2,a,b,good\n",
        "ratings",
        "x.csv:3: ",
        "'overall'",
        "a number",
        "'good'",
    ),
    one("infinite rating", "x.csv", RATED + "1,a,b,inf\n", "ratings", "x.csv:2: ", "a finite number"),
    one(
        "true for a rating", "x.jsonl", '{"text": "a", "summary": "b", "overall": true}', "ratings", "'overall'", "True"
    ),
    one("choice 2", "x.csv", CHOICES + "1,t,a,b,2\n", "comparisons", "x.csv:2: ", "0 (the first", "'2'"),
    one("choice in words", "x.csv", CHOICES + "1,t,a,b,left\n", "comparisons", "x.csv:2: ", "'left'"),
    one(
        "only ties",
        "x.csv",
        CHOICES + "1,t,a,b,tie\n2,t,a,b,\n",
        "comparisons",
        "no row can be used",
        "tie or no choice: 2",
    ),
    one("only blank texts", "x.csv", "id,text\n1, \n2,\n", "documents", "no row can be used", "no text: 2"),
    one(
        "one label in all",
        "x.csv",
        "text,label\na,x\nb,x\n",
        "labelled",
        "no row can be used",
        "in a set with only one label: 2",
    ),
    one(
        "no such split",
        "x.csv",
        "text,split\na,train\nb,dev\n",
        "documents",
        "no row passes the filter",
        "expected split=test",
        "split=dev, split=train",
        split="test",
    ),
    one("no split column", "x.csv", "text,fold\na,1\n", "documents", "no column 'split'", split="test"),
    one("unknown suffix", "x.jsonn", "[]", "documents", "known suffix", ".parquet", "to .jsonl?"),
    one("JSON in one piece", "x.json", "[]", "documents", "cannot read .json files", "jq -c"),
    one("text called Parquet", "x.parquet", "id,text\n1,a\n", "documents", " file is damaged or not a Parquet file"),
    one("cut Parquet", "x.parquet", PARQUET[: len(PARQUET) // 2], "documents", "damaged or not a Parquet file"),
    one(
        "damaged Parquet pages",
        "x.parquet",
        PARQUET[:8] + b"\xff" * 400 + PARQUET[408:],
        "documents",
        "damaged or not a Parquet file",
    ),
    one("empty Parquet file", "x.parquet", b"", "documents", "damaged or not a Parquet file"),
    one(
        "numbers for texts in Parquet",
        "x.parquet",
        parquet(pl.DataFrame({"text": [1, 2]})),
        "documents",
        "x.parquet:1: ",
        "a text",
        "found 1",
    ),
    folder("no corpus", {"corpus.jsonl": None}, "f: the folder has no corpus file", "found qrels, queries.jsonl"),
    folder("no queries", {"queries.jsonl": None}, "no queries file", "BEIR"),
    folder("no qrels", {"qrels/test.tsv": None}, "no qrels file"),
    folder("corpus without text", {"corpus.jsonl": '{"_id": "d1", "body": "x"}'}, "corpus.jsonl", "'text'"),
    folder("corpus without ids", {"corpus.jsonl": '{"text": "x"}'}, "corpus.jsonl", "no column 'id'"),
    folder("qrels without a header", {"qrels/test.tsv": "q1\td1\t1\n"}, "test.tsv", "no column 'query_id'"),
    folder(
        "qrels of other queries",
        {"qrels/test.tsv": "query-id\tcorpus-id\tscore\nx1\td1\t1\n"},
        "test.tsv",
        "no judgement has a known query id",
        "found x1",
        "belong together",
    ),
    folder(
        "qrels of other documents",
        {"qrels/test.tsv": "query-id\tcorpus-id\tscore\nq1\tx1\t1\n"},
        "no judgement has a known document id",
        "found x1",
    ),
    folder(
        "nothing relevant",
        {"qrels/test.tsv": "query-id\tcorpus-id\tscore\nq1\td1\t0\n"},
        "no row can be used",
        "queries without a relevant document in the corpus: 1",
    ),
    folder(
        "relevance in words",
        {"qrels/test.tsv": "query-id\tcorpus-id\tscore\nq1\td1\tyes\n"},
        "test.tsv:2: ",
        "'relevance'",
        "'yes'",
    ),
    folder("no relevance", {"qrels/test.tsv": "query-id\tcorpus-id\tscore\nq1\td1\t\n"}, "test.tsv:2: "),
    folder(
        "judged twice",
        {"qrels/test.tsv": "query-id\tcorpus-id\tscore\nq1\td1\t1\nq1\td1\t2\n"},
        "test.tsv:3: ",
        "'q1' and document 'd1' have two different judgements",
        "found 2",
    ),
    folder("grade not in the map", {}, "test.tsv:2: ", "expected 2, 0", "found '1'", "--grades", grades="2=5,0=1"),
    folder("qrels of another split", {}, "no qrels for the split 'tests'", "found test", "--split test", split="tests"),
    folder(
        "several splits",
        {"qrels/dev.tsv": "", "qrels/train.tsv": "", "qrels/test.tsv": None},
        "several splits, none called test",
        "found dev, train",
        "--split dev",
    ),
    folder(
        "duplicate documents",
        {"corpus.jsonl": FOLDER["corpus.jsonl"] * 2},
        "corpus.jsonl:3: ",
        "'d1'",
        "first on line 1",
    ),
    folder(
        "number for a title",
        {"corpus.jsonl": '{"_id": "d1", "title": 3, "text": "x"}'},
        "corpus.jsonl:1: ",
        "'title'",
        "found 3",
    ),
    described("YAML syntax", "name: x\ntables: [\n", "x.yaml:3: ", "not valid YAML"),
    *(
        described(f"YAML {kind} that is none", f"name: x\nversion: {value}\n", "x.yaml:2: ", f"is not a valid {kind}")
        for kind, value in (
            ("int", "0x_"),
            ("int", "!!int x"),
            ("int", "!!int ''"),
            ("int", "1" * 5000),
            ("float", "!!float x"),
            ("bool", "!!bool maybe"),
            ("timestamp", "!!timestamp x"),
        )
    ),
    described("YAML mapping that is none", "name: x\nversion: !!map x\n", "x.yaml:2: ", "mapping node"),
    described("YAML key twice", "name: x\nname: y\n", "x.yaml:2: ", "'name' appears twice"),
    described("YAML list", "- a\n", "not a mapping", "found ['a']"),
    described(
        "YAML unknown field", TABLE + "    mapp: {text: body}\n", "unknown field tables[0].mapp", "Did you mean map?"
    ),
    described(
        "YAML missing field", "name: x\ntables:\n  - shapes: [documents]\n", "the field tables[0].file is missing"
    ),
    described("YAML wrong type", TABLE.replace("name: x", "name: 5"), "the field name", "expected a string", "found 5"),
    described(
        "YAML unknown shape",
        TABLE.replace("documents", "document"),
        "tables[0].shapes[0]",
        "expected 'documents', 'summarised'",
        "found 'document'",
    ),
    described("YAML two faults", "name: 5\ntables: []\n", "(and 1 more)"),
    described("YAML shape twice", TABLE + TABLE.partition("tables:\n")[2], "only one table", "documents"),
    described(
        "YAML half a retrieval set",
        TABLE.replace("documents", "corpus"),
        "needs corpus, queries, qrels, not only corpus",
    ),
    described("YAML pairs misplaced", TABLE + "    pairs: {group: [a], rank: r}\n", "pairs requires shapes"),
    described("YAML axes misplaced", TABLE + "    axes: {a: b}\n", "axes requires ratings in shapes"),
    described("YAML gains misplaced", TABLE + "    gains: {1: 2}\n", "gains requires shapes: [qrels]"),
    described("YAML column missing", TABLE + "    map: {text: body}\n", "rows.jsonl", "no column 'body'"),
    described("YAML file missing", TABLE.replace("rows", "row"), "row.jsonl", "cannot be read", "No such file"),
    described("YAML where matches nothing", TABLE + "    where: {id: [b, c]}\n", "expected id=b|c", "found id=a"),
    described(
        "YAML join key twice",
        TABLE + "    map: {text: t}\n    join: {file: o.jsonl, on: id, columns: [t]}\n",
        "o.jsonl:2: ",
        "id 'a' appears twice, first on line 1",
    ),
    described(
        "YAML join column missing",
        TABLE + "    join: {file: o.jsonl, on: id, columns: [u]}\n",
        "o.jsonl",
        "no column 'u'",
    ),
    described(
        "YAML join column taken",
        TABLE + "    join: {file: o.jsonl, on: id, columns: [text]}\n",
        "o.jsonl",
        "'text' is also a column",
    ),
]


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_fault_is_told(fault: Fault, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Opening or loading raises one DataError, on one line, that says all that is needed to mend the file."""
    monkeypatch.chdir(tmp_path)
    other = {"o.jsonl": '{"id": "a", "t": "x", "text": "y"}\n' * 2}
    for name, content in {**other, **fault.files}.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    with pytest.raises(DataError) as caught:
        open_dataset(fault.spec, mapping=fault.mapping, split=fault.split, grades=fault.grades).load(fault.shape)
    message = str(caught.value)
    assert [part for part in fault.says if part not in message] == [], message
    assert "\n" not in message
    assert len(message) < 500


def _rows(*rows: dict[str, object]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def _documents() -> str:
    return _rows(
        {"id": 1, "text": "a"}, {"id": 2, "text": " "}, {"id": 3, "text": None}, {"id": 4}, {"id": 5, "text": "a"}
    )


def _ratings() -> str:
    base = {"text": "t", "summary": "s"}
    return _rows(
        {"id": 1, **base, "overall": 3, "accuracy": None},
        {"id": 2, **base, "overall": float("nan"), "accuracy": "2.5"},
        {"id": 3, **base, "overall": None, "accuracy": None},
        {"id": 4, "text": "t", "summary": "", "overall": 1, "accuracy": 1},
    )


def _labels() -> str:
    rows = [("a", "x", "1"), ("b", "y", "1"), ("c", "y", "1"), ("d", "z", "2"), ("e", "z", "2")]
    bad: list[object] = [None, float("nan"), "", "NaN"]
    return _rows(
        *({"id": text, "text": text, "label": label, "set": group} for text, label, group in rows),
        *({"id": f"bad{n}", "text": "f", "label": label, "set": "1"} for n, label in enumerate(bad)),
    )


def _choices() -> str:
    base = {"text": "t", "summary_1": "s"}
    return _rows(
        {"id": 1, **base, "summary_2": "s", "choice": 1},
        {"id": 2, **base, "summary_2": "r", "choice": "0"},
        {"id": 3, **base, "summary_2": "r", "choice": None},
        {"id": 4, **base, "summary_2": "r", "choice": "Tie"},
        {"id": 5, **base, "choice": 0},
    )


def _retrieval() -> dict[str, str]:
    return {
        "corpus.jsonl": _rows({"_id": "d1", "text": "one"}, {"_id": "d2", "text": ""}, {"_id": "d3", "text": "one"}),
        "queries.jsonl": _rows(*({"_id": f"q{n}", "text": "?"} for n in range(1, 5)), {"_id": "q5", "text": ""}),
        "qrels/test.tsv": "query-id\tcorpus-id\tscore\n"
        + "".join(f"{row}\n" for row in ("q1\td1\t1", "q1\tx\t1", "q1\td3\t-1", "q2\tx\t1", "q3\td1\t0", "z\td1\t1")),
    }


Counts = dict[str, tuple[int, tuple[str, ...]]]
ODDITIES: list[tuple[str, dict[str, str], str, int, Counts, tuple[str, ...]]] = [
    (
        "x.jsonl",
        {"x.jsonl": _documents()},
        "documents",
        2,
        {"no text": (3, ("2", "3", "4"))},
        ("repeats of an earlier text: 1 (5)",),
    ),
    (
        "x.jsonl",
        {"x.jsonl": _rows({"id": 1, "text": "a", "summary": "a"}, {"id": 2, "text": "b", "summary": None})},
        "summarised",
        1,
        {"no summary": (1, ("2",))},
        ("summaries equal to their text: 1 (1)",),
    ),
    (
        "x.jsonl",
        {"x.jsonl": _ratings()},
        "ratings",
        2,
        {
            "no rating on the axis accuracy": (2, ("1", "3")),
            "no rating on the axis overall": (2, ("2", "3")),
            "no summary": (1, ("4",)),
        },
        (),
    ),
    (
        "x.jsonl",
        {"x.jsonl": _labels()},
        "labelled",
        3,
        {"no label": (4, ("bad0", "bad1", "bad2")), "in a set with only one label": (2, ("d", "e"))},
        ("labels with only one text: 1 (x in set 1)",),
    ),
    (
        "x.jsonl",
        {"x.jsonl": _choices()},
        "comparisons",
        2,
        {"tie or no choice": (2, ("3", "4")), "no summary_2": (1, ("5",))},
        ("comparisons of identical summaries: 1 (1)",),
    ),
    (
        ".",
        _retrieval(),
        "retrieval",
        1,
        {
            "queries without text": (1, ("q5",)),
            "judgements of unknown queries": (1, ("z d1",)),
            "judgements of unknown documents": (2, ("q1 x", "q2 x")),
            "queries without a relevant document in the corpus": (2, ("q2", "q3")),
            "queries without judgements": (1, ("q4",)),
        },
        (
            "judgements below 0, read as not relevant: 1 (q1 d3)",
            "empty documents in the corpus: 1 (d2)",
            "repeats of an earlier text: 1 (d3)",
        ),
    ),
]


@pytest.mark.parametrize(("spec", "files", "shape", "size", "skipped", "warnings"), ODDITIES)
def test_oddity_is_counted(
    spec: str, files: dict[str, str], shape: str, size: int, skipped: Counts, warnings: tuple[str, ...], tmp_path: Path
) -> None:
    """What can be left out or kept with a warning is, and is counted with its ids."""
    for name, content in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(content)
    loaded = open_dataset(f"{tmp_path}/{spec}").load(shape)
    assert len(loaded.data) == size
    assert {left.reason: (left.count, left.examples) for left in loaded.skipped} == skipped
    assert loaded.warnings == warnings


def test_very_long_document(tmp_path: Path) -> None:
    """A document of 5 MB is read from JSONL and CSV, with a warning."""
    text = "words " * 900_000
    (tmp_path / "x.jsonl").write_text(json.dumps({"text": text}))
    (tmp_path / "x.csv").write_text(f'text\n"{text}"\n')
    for name in ("x.jsonl", "x.csv"):
        loaded = open_dataset(str(tmp_path / name)).load("documents")
        assert loaded.data.texts == (text,)
        assert loaded.warnings == ("texts longer than 1,000,000 characters: 1 (1)",)


def test_newlines_and_byte_order_mark(tmp_path: Path) -> None:
    """Mixed line ends and a UTF-8 byte order mark are read as if they were not there."""
    (tmp_path / "x.jsonl").write_bytes(b'\xef\xbb\xbf{"text": "a"}\r\n{"text": "b"}\n{"text": "c"}\r{"text": "d"}')
    (tmp_path / "x.csv").write_bytes(b'\xef\xbb\xbftext,n\r\na,1\nb,2\rc,3\r\n"d",4')
    for name in ("x.jsonl", "x.csv"):
        assert open_dataset(str(tmp_path / name)).load("documents").data.texts == ("a", "b", "c", "d")
