"""Messy files, each with what a user must read of it: what it is, what is wrong, how to mend it."""

from __future__ import annotations

import gzip
import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import polars as pl
import pytest

from embassay.cli.main import run
from embassay.data.check.files import suggest_delimited_read_options
from embassay.data.lines import DelimitedReadOptions


@dataclass(frozen=True)
class Messy:
    """A file or folder as it comes, and the sentences that its check holds (white space aside)."""

    write: Callable[[Path], Path]
    usable: bool
    says: tuple[str, ...]
    options: tuple[str, ...] = ()
    silent_of: tuple[str, ...] = ()


def _file(name: str, content: bytes | str) -> Callable[[Path], Path]:
    def write(folder: Path) -> Path:
        path = folder / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write


def _lines(name: str, *rows: object) -> Callable[[Path], Path]:
    return _file(name, "".join(f"{json.dumps(row)}\n" for row in rows))


TEXTS = (
    "The iron bridge over the harbour was painted red last summer",
    "Wood from old barns makes better tables than new planks do",
    "Salt keeps the fish from spoiling on its way to the market",
    "It has been raining since Tuesday and the cellar is wet",
    "Her grandmother knitted wool socks for every child in town",
    "Corn prices fell after a harvest that nobody had expected",
    "They found a gold coin under the floor of the mill",
    "Potters on this island still dig their clay by hand",
    "Silk was carried over mountains for two thousand years",
    "A glass of wine is poured before the guests sit down",
)


def _labelled(**changes: object) -> list[dict[str, object]]:
    """Ten labelled texts; `row3=...` replaces the label of the third, `text3` its text."""
    rows: list[dict[str, object]] = [{"text": text, "label": "ab"[place % 2]} for place, text in enumerate(TEXTS)]
    for name, value in changes.items():
        rows[int(name.strip("rowtex")) - 1]["text" if name.startswith("text") else "label"] = value
    return rows


def _parquet(folder: Path) -> Path:
    path = folder / "typed.parquet"
    pl.DataFrame({"text": [1, 2, 3], "label": [["a"], ["b"], ["a"]]}).write_parquet(path)
    return path


def _beir(folder: Path) -> Path:
    home = folder / "shop"
    home.mkdir()
    _lines("corpus.jsonl", {"_id": "d1", "text": "a hammer"}, {"_id": "d2", "text": ""})(home)
    _lines("queries.jsonl", {"_id": "q1", "text": "nails?"}, {"_id": "q2", "text": "saws?"})(home)
    _file("qrels.tsv", "query-id\tcorpus-id\tscore\nq1\td1\t1\nq1\td9\t1\nq2\td8\t1\nq7\td1\t1\n")(home)
    return home


def _sides(folder: Path) -> Path:
    home = folder / "split"
    home.mkdir()
    for side in ("train", "test"):
        rows = "".join(f"{text},{'ab'[n % 2]}\n" for n, text in enumerate(TEXTS))
        _file(f"{side}.csv", f"sentence,intent\n{rows}")(home)
    return home


def _cut_gzip(folder: Path) -> Path:
    path = folder / "reviews.jsonl.gz"
    text = "".join(f"{json.dumps({'text': f'text number {n} of many', 'n': n * n})}\n" for n in range(2000))
    whole = gzip.compress(text.encode())
    path.write_bytes(whole[: len(whole) // 2])
    return path


LEAK = [
    *({**row, "split": "train"} for row in _labelled()),
    {"text": "The iron bridge over the harbour  was painted red last summer", "label": "a", "split": "test"},
    {"text": "Wood from old barns makes better tables than new planks do!!", "label": "b", "split": "test"},
    {"text": "A test of its own", "label": "b", "split": "test"},
]

MESSY = {
    "wrong delimiter": Messy(
        _file("reviews.csv", "text;label\nall good, thanks;a\nbad;b\n"),
        False,
        (
            "reviews.csv: its fields are separated by semicolons, not commas.",
            "The fields seem to be separated by semicolons: add --map delimiter=semicolon.",
            "Try embassay data check reviews.csv --map delimiter=semicolon",
        ),
    ),
    "other names": Messy(
        _file("reviews.csv", "body,topic\nall good,a\nbad,b\n"),
        False,
        (
            "there is no column 'text' (found columns body, topic)",
            "sage sensitivity: --map text=body",
            "sage clustering, pteb clustering, hume clustering: --map text=body,label=topic",
        ),
        silent_of=("summary", "choice"),
    ),
    "mixed encodings": Messy(
        _file("mixed.jsonl", b'{"text": "caf\xc3\xa9"}\n{"text": "caf\xe9 noir"}\n{"text": "th\xe9"}\n'),
        False,
        (
            "JSON Lines, not UTF-8 in 2 of 3 lines",
            'line 2 in Windows-1252: {"text": "café noir"}',
            "iconv -f WINDOWS-1252 -t UTF-8 mixed.jsonl",
            "2 times, on lines 2, 3.",
        ),
    ),
    "repeated ids": Messy(
        _lines("ids.jsonl", *({"id": key, "text": f"text {n}"} for n, key in enumerate("abcabd"))),
        False,
        (
            "2 times, on lines 4, 5. First case:",
            "id 'a' appears twice, first on line 1.",
            "Give every row its own id, or number the rows: --map id=.",
            "Try embassay data check ids.jsonl --map id=",
        ),
    ),
    "labels that are NaN": Messy(
        _file(
            "labels.jsonl",
            "".join(f"{json.dumps(row)}\n" for row in _labelled(row3=float("nan"), row5=None, row6="NaN")),
        ),
        True,
        (
            "usable for sage sensitivity, sage clustering, pteb clustering, hume clustering (no language stated)",
            "documents 10 sage sensitivity",
            "labelled 7 sage clustering",
            "labelled: no label: 3 (3, 5, 6)",
            "labels: b: 4 (57%), a: 3 (43%)",
        ),
    ),
    "near-duplicates": Messy(
        _lines("near.jsonl", *_labelled(text7=f"{TEXTS[0].lower()}.", row7="b")),
        True,
        (
            "0 exact repeats in 10 texts; near-duplicates (Jaccard index 0.8 or more): 1.",
            "7 is nearly the same as 1 (0.98): the iron bridge",
        ),
    ),
    "contradictions": Messy(
        _lines("twice.jsonl", *_labelled(text7=TEXTS[0].replace(" ", "  "), row7="b")),
        True,
        (
            "1 exact repeats in 10 texts, 1 of them with a different label or score; near-duplicates",
            "7 equals 1: The iron bridge",
        ),
    ),
    "test texts that are trained on": Messy(
        _lines("leak.jsonl", *LEAK),
        True,
        (
            "classification 3 pteb classification",
            "1 of 3 rows of test have an exact copy in train; near-duplicates (Jaccard index 0.8 or more): 1.",
            "11 equals 1: The iron bridge",
            "12 is nearly the same as 2 (0.9",
        ),
    ),
    "nested JSON": Messy(
        _lines("nested.jsonl", {"id": 1, "doc": {"text": "a", "lang": "en"}}, {"id": 2, "doc": {"text": "b"}}),
        False,
        (
            "'doc' contains objects in 2 rows (keys text, lang)",
            "Only top-level columns are read",
            "doc object 0 2 keys text, lang",
        ),
    ),
    "one JSON list": Messy(
        _file("export.json", json.dumps([{"text": "a"}, {"text": "b"}])),
        False,
        ("it is one JSON list.", "jq -c '.[]' export.json > export.jsonl"),
    ),
    "scores off the scale or in words": Messy(
        _lines(
            "scores.jsonl",
            *({"text": f"text {n}", "text2": f"other {n}", "score": n % 6} for n in range(40)),
            {"text": "x", "text2": "y", "score": 55},
            {"text": "x", "text2": "z", "score": "high"},
        ),
        False,
        (
            "score: 1 of 41 values lie outside the usual range, 0 to 5; the full range is 0 to 55.",
            "scores.jsonl:42: the value of 'score' cannot be used (expected a number; found 'high').",
            "pairs stopped pteb sts, hume sts",
        ),
    ),
    "judgements of what is not there": Messy(
        _beir,
        True,
        (
            "usable for sage sensitivity, sage retrieval, pteb retrieval",
            "retrieval: judgements of unknown documents: 2 (q1 d9, q2 d8)",
            "retrieval: judgements of unknown queries: 1 (q7 d1)",
            "retrieval: queries without a relevant document in the corpus: 1 (q2)",
            "retrieval: empty documents in the corpus: 1 (d2)",
            "retrieval: relevant documents per query: 1 to 1",
        ),
    ),
    "empty texts": Messy(
        _lines("empty.jsonl", {"text": ""}, {"text": "  "}, {"text": None}, {"text": "one"}),
        True,
        ("text text 3 1 one", "documents 1 sage sensitivity", "documents: no text: 3 (1, 2, 3)"),
    ),
    "nothing but empty texts": Messy(
        _lines("empty.jsonl", {"text": ""}, {"text": " "}),
        False,
        ("no row can be used (expected at least one usable row; found no text: 2)",),
    ),
    "an axis that nobody rated": Messy(
        _file("rated.csv", "text,summary,overall,accuracy\na long text,short,3,\nanother,brief,4,\n"),
        True,
        ("ratings: no rating on the axis accuracy: 2 (1, 2)", "ratings: overall: 3 to 4, median 3.5"),
    ),
    "one label": Messy(
        _lines("same.jsonl", *({**row, "label": "a"} for row in _labelled())),
        True,
        (
            "It cannot be used as labelled: see below.",
            "labelled stopped",
            "found in a set with only one label: 10",
        ),
    ),
    "stray quotes that swallow rows": Messy(
        _file("stray.tsv", 'id\ttext\tlabel\n1\t"one\ta\n2\ta "two"\tb\n3\tthree"\ta\n4\tfour\tb\n'),
        True,
        ("stray.tsv: TSV, UTF-8, LF, 4 rows", "quotes do not balance", "as ordinary characters", "documents 4 sage"),
        silent_of=("Stops a run", "embassay data check"),
    ),
    "stray quotes in commas": Messy(
        _file("stray.csv", 'text,label\n"one,a\na "two",b\nthree",a\n'),
        False,
        ("its quotation marks do not seem to enclose fields", "Try embassay data check stray.csv --map quoting=none"),
    ),
    "a field with comma and line break": Messy(
        _file("both.csv", 'id,text,label\n1,"hello, dear\nfriend",a\n2,plain,b\n'),
        True,
        ("fields that contain both a comma and a line break (line 2)", "both.csv: 1 row spans several lines."),
        silent_of=("embassay data check",),
    ),
    "scored pairs without a header": Messy(
        _file(
            "STS.input.news.txt",
            '4.500\t"He said so", said the man.\tThe man said so to her.\n2.0\tA dog runs in a park\t"A dog runs\n'
            "0.5\tThe sun shines on us\tA cat sits on mats\n",
        ),
        False,
        (
            "STS.input.news.txt: text, UTF-8, LF, 2 rows",
            "its first line looks like data, not column names",
            "Try embassay data check STS.input.news.txt \\ --map header=none,text=2,text2=3,score=1",
        ),
    ),
    "the same, read as suggested": Messy(
        _file("STS.input.news.txt", "4.5\tA man walks in a park\tA man walks\n2.0\tA dog runs in a park\tA dog\n"),
        True,
        ("2 rows", "pairs 2 pteb sts, hume sts"),
        ("--map", "header=none,text=2,text2=3,score=1"),
        silent_of=("embassay data check", "Stops a run"),
    ),
    "tabs in a file of commas": Messy(
        _file("sts.csv", "".join(f"msr\t{n}\t{n}.5\tA man, number {n} walks\tA man walks to {n}\n" for n in range(4))),
        False,
        ("its fields are separated by tabs, not commas", "--map header=none,delimiter=tab,text=4,text2=5,score=3"),
    ),
    "a name of two dots": Messy(
        _file("v1.2.data", "text\tlabel\nhello world\ta\nbye world\tb\n"),
        False,
        ("it is, add --map delimiter=tab", "Try embassay data check v1.2.data --map delimiter=tab"),
    ),
    "an abstract that is called summary": Messy(
        _lines(
            "arxiv.jsonl",
            *(
                {"title": f"On {n}", "summary": TEXTS[n], "comment": "12 pages", "categories": "ab"[n % 2]}
                for n in range(6)
            ),
        ),
        False,
        ("--map text=summary,label=categories", "sage sensitivity: --map text=summary"),
        silent_of=("text=comment",),
    ),
    "questions with graded answers": Messy(
        _file("qa.csv", "qtext,label,atext\nwho?,1,he\nwho?,0,no\nwhy?,0,it\nwhy?,1,so\n"),
        False,
        ("Try embassay data check qa.csv --map query=qtext,text=atext",),
        silent_of=("text=atext,label",),
    ),
    "answers of students": Messy(
        _lines(
            "short.jsonl",
            *(
                {"question": "Why?", "desired_answer": text, "student_answer": "So", "score_avg": n / 2}
                for n, text in enumerate(TEXTS)
            ),
        ),
        False,
        ("--map text=desired_answer,text2=student_answer,score=score_avg",),
    ),
    "a folder of split files": Messy(
        _sides,
        False,
        ("Try embassay data check split --map text=sentence,label=intent", "Map it with --map text=sentence"),
    ),
    "byte order mark and CRLF": Messy(
        _file("excel.csv", b"\xef\xbb\xbftext,label\r\nall good,a\r\nbad,b\r\n"),
        True,
        ("CSV, UTF-8 with a byte order mark, CRLF, 2 rows", "labelled 2 sage clustering"),
        silent_of=("Stops a run", "To know"),
    ),
    "Parquet of the wrong types": Messy(
        _parquet,
        False,
        (
            "text number 0 3 1",
            "label list 0 2 ['a']",
            "3 times, on lines 1, 2, 3. First case:",
            "the value of 'text' cannot be used (expected a text; found 1).",
        ),
    ),
    "gzip that is cut": Messy(
        _cut_gzip,
        False,
        ("JSON Lines in gzip", "the gzip file is truncated or damaged", "Copy or download it again."),
    ),
}  # fmt: skip


def _checked(
    path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, *options: str
) -> tuple[int, str]:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr(sys, "argv", ["embassay", "data", "check", str(path), *options])
    with pytest.raises(SystemExit) as ended:
        run()
    return int(ended.value.code or 0), capsys.readouterr().out


@pytest.mark.parametrize("messy", MESSY.values(), ids=MESSY)
def test_a_messy_file(
    messy: Messy, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The check says what it is, what is wrong and how to mend it, in 80 columns, and ends with 0 or 4."""
    monkeypatch.chdir(tmp_path)
    path = messy.write(Path())
    code, printed = _checked(path, capsys, monkeypatch, *messy.options)
    assert code == (0 if messy.usable else 4), printed
    told = " ".join(printed.split())
    for sentence in messy.says:
        assert sentence in told, printed
    for sentence in messy.silent_of:
        assert sentence not in told, printed
    assert max(map(len, printed.splitlines())) <= 80
    assert ("cannot be used as it is" in told) == (not messy.usable)


@pytest.mark.parametrize("messy", MESSY.values(), ids=MESSY)
def test_json_says_the_same(
    messy: Messy, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """`--json` prints one object and nothing else, with the same verdict and exit code."""
    monkeypatch.chdir(tmp_path)
    code, printed = _checked(messy.write(Path()), capsys, monkeypatch, *messy.options, "--json")
    report = json.loads(printed, parse_constant=pytest.fail)  # NaN is no JSON
    assert report["usable"] == messy.usable == (code == 0)
    assert report["usable"] == any(shape["ready"] for shape in report["shapes"])


def test_semicolons_in_json_are_no_delimiters(tmp_path: Path) -> None:
    """What is advised would be a table of broken JSON."""
    path = tmp_path / "export.json"
    path.write_text(json.dumps([{"text": "one; two"}, {"text": "three; four"}]))
    assert suggest_delimited_read_options(path, DelimitedReadOptions()) == (DelimitedReadOptions(), ())
