"""A corpus that is read through a file is the corpus that is read into memory: forced by a small threshold."""

from __future__ import annotations

import gzip
import json
import pickle
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from embassay.data import column, corpus, open_dataset
from embassay.data.corpus import PickedTexts, TextColumn
from embassay.data.rows import skip_and_collect_faulty_rows
from embassay.errors import DataError, UsageError
from embassay.records import Documents, LoadedDataset, RetrievalSet

Rows = list[dict[str, Any]]
LANGS = ("en", "fr", "")
ROWS: Rows = [
    {"id": f"d{place}", "title": f"T{place % 3}" if place % 4 else "", "text": text, "lang": LANGS[place % 3]}
    for place, text in enumerate(["one two", "", "drei é", "x" * 300, "one two", " ", "\U0001f600 a\tb", "end"] * 6)
]
QUERIES = [{"id": f"q{place}", "text": f"query {place}"} for place in range(4)]
QRELS = [("q0", "d3", 1), ("q0", "d9", 0), ("q1", "d40", 2), ("q2", "nowhere", 1), ("q9", "d1", 1)]


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EMBASSAY_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def large(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """From the call on, corpora of more than 100 characters are large."""
    return lambda: monkeypatch.setattr(corpus, "IN_MEMORY", 100)


def jsonl(path: Path, rows: Sequence[dict[str, Any]]) -> None:
    """Rows as JSON Lines."""
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def jsonl_gz(path: Path, rows: Rows) -> None:
    """Packed."""
    with gzip.open(path, "wt", encoding="utf-8") as stream:
        stream.write("".join(json.dumps(row) + "\n" for row in rows))


WRITERS: dict[str, Callable[[Path, Rows], object]] = {
    "jsonl": jsonl,
    "jsonl.gz": jsonl_gz,
    "csv": lambda path, rows: pl.DataFrame(rows).write_csv(path),
    "tsv": lambda path, rows: pl.DataFrame(rows).write_csv(path, separator="\t"),
    "parquet": lambda path, rows: pl.DataFrame(rows).write_parquet(path, row_group_size=5),
}


def described(folder: Path, suffix: str, rows: Rows = ROWS) -> str:
    """A retrieval set whose corpus is a file of this format, by a description."""
    folder.mkdir(exist_ok=True)
    WRITERS[suffix](folder / f"docs.{suffix}", rows)
    jsonl(folder / "queries.jsonl", QUERIES)
    jsonl(folder / "qrels.jsonl", [dict(zip(("query_id", "doc_id", "relevance"), one, strict=True)) for one in QRELS])
    (folder / "set.yaml").write_text(
        f"name: made\nlang: en\ntables:\n  - {{file: docs.{suffix}, shapes: [corpus, documents]}}\n"
        "  - {file: queries.jsonl, shapes: [queries]}\n  - {file: qrels.jsonl, shapes: [qrels]}\n"
    )
    return str(folder / "set.yaml")


def beir(folder: Path, rows: Rows = ROWS) -> str:
    """A folder in BEIR's layout."""
    folder.mkdir(exist_ok=True)
    jsonl(folder / "corpus.jsonl", rows)
    jsonl(folder / "queries.jsonl", QUERIES)
    lines = ["query_id\tdoc_id\trelevance", *("\t".join(map(str, one)) for one in QRELS)]
    (folder / "qrels.tsv").write_text("\n".join(lines) + "\n")
    return str(folder)


def corpus_of(loaded: LoadedDataset[Any]) -> Documents:
    """Its documents."""
    return loaded.data.corpus if isinstance(loaded.data, RetrievalSet) else loaded.data


@pytest.mark.parametrize("limit", [None, 5, 30])
@pytest.mark.parametrize("shape", ["retrieval", "documents"])
@pytest.mark.parametrize("suffix", [*WRITERS, "beir"])
def test_equal(tmp_path: Path, large: Callable[[], None], suffix: str, shape: str, limit: int | None) -> None:
    """Records, fingerprint, warnings and what is skipped are the same: the first time, and when it is kept."""
    spec = beir(tmp_path / "d") if suffix == "beir" else described(tmp_path / "d", suffix)
    small = open_dataset(spec).load(shape, limit=limit)
    assert isinstance(corpus_of(small).texts, tuple)
    large()
    for _ in range(2):
        found = open_dataset(spec).load(shape, limit=limit)
        assert found == small
        assert isinstance(corpus_of(found).texts, (tuple, PickedTexts) if limit else TextColumn)
        assert set(corpus_of(found).langs or ()) <= {*LANGS}
        assert pickle.loads(pickle.dumps(found)) == small
    assert len(list((tmp_path / "cache" / "corpora").glob("*/texts"))) == 1


@given(st.lists(st.tuples(st.sampled_from("abcdefgh"), st.sampled_from(["", "x", "yy" * 80])), min_size=1, max_size=12))
def test_repeated_ids(tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, str]]) -> None:
    """An id that appears twice is the same error with the same lines, and all of them where faults are collected."""
    folder = tmp_path_factory.mktemp("ids")
    jsonl(folder / "t.jsonl", [{"id": key, "text": text} for key, text in [*rows, ("last", "z" * 200)]])
    small, large_ = (_outcome(folder, most) for most in (10**9, 20))
    assert small == large_


def _outcome(folder: Path, most: int) -> tuple[str, list[str]]:
    faults: list[str] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("EMBASSAY_CACHE", str(folder))
        patch.setattr(corpus, "IN_MEMORY", most)
        dataset = open_dataset(str(folder / "t.jsonl"))
        with skip_and_collect_faulty_rows(lambda error: faults.append(str(error))):
            dataset.load("documents")
        try:
            loaded = dataset.load("documents")
        except DataError as error:
            return str(error), faults
        return repr((list(loaded.data.ids), list(loaded.data.texts), loaded.skipped, loaded.warnings)), faults


def test_another_corpus_is_another_key(tmp_path: Path, large: Callable[[], None]) -> None:
    """A changed file, another mapping and another shape are kept apart; the same bytes elsewhere are not."""
    large()
    kept = tmp_path / "cache" / "corpora"
    spec = beir(tmp_path / "d")
    before = open_dataset(spec).load("retrieval").data.corpus
    shutil.copytree(spec, tmp_path / "copy" / "d")
    assert open_dataset(str(tmp_path / "copy" / "d")).load("retrieval").data.corpus == before
    assert len(list(kept.glob("*/texts"))) == 1
    mapped = open_dataset(spec, mapping={"title": "lang"}).load("retrieval").data.corpus
    assert mapped.texts[0] == "en one two"
    beir(tmp_path / "d", [{**row, "text": row["text"].replace("o", "0")} for row in ROWS])
    assert open_dataset(spec).load("retrieval").data.corpus.texts[0] == "0ne tw0"
    assert len(list(kept.glob("*/texts"))) == 3
    assert before.texts[0] == "one two"


@pytest.mark.parametrize("name", ["ids", "texts", "about.json"])
@pytest.mark.parametrize("damage", ["cut", "changed", "gone"])
def test_damaged(tmp_path: Path, large: Callable[[], None], name: str, damage: str) -> None:
    """A damaged file is found, told of and made anew."""
    large()
    spec = beir(tmp_path / "d")
    before = tuple(open_dataset(spec).load("retrieval").data.corpus.texts)
    (file,) = (tmp_path / "cache" / "corpora").glob(f"*/{name}")
    content = file.read_bytes()
    if damage == "gone":
        file.unlink()
    else:
        file.write_bytes(content[: len(content) // 2] if damage == "cut" else b"[" + content[1:])
    with pytest.warns(RuntimeWarning, match="is damaged"):
        assert open_dataset(spec).load("retrieval").data.corpus.texts == before
    assert file.read_bytes() == content
    assert open_dataset(spec).load("retrieval").data.corpus.texts == before


def test_private(tmp_path: Path, large: Callable[[], None]) -> None:
    """Nobody else on the machine can read what is kept: the file it was read from may be the user's alone."""
    large()
    open_dataset(beir(tmp_path / "d")).load("retrieval")
    kept = tmp_path / "cache" / "corpora"
    assert [folder.stat().st_mode & 0o077 for folder in (kept, *kept.glob("*/"))] == [0, 0]


def test_cannot_be_written(tmp_path: Path, large: Callable[[], None]) -> None:
    """A cache folder that cannot be written is a UsageError that names the mend."""
    large()
    (tmp_path / "cache").write_text("a file in its place")
    with pytest.raises(UsageError, match="set EMBASSAY_CACHE"):
        open_dataset(beir(tmp_path / "d")).load("retrieval")


def test_full_disk(tmp_path: Path, large: Callable[[], None], monkeypatch: pytest.MonkeyPatch) -> None:
    """A disk that is full while texts are written is a UsageError too, and nothing is left."""
    large()

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("embassay.data.column.TextColumnWriter._write_checksummed_bytes", full)
    with pytest.raises(UsageError, match="No space left"):
        open_dataset(beir(tmp_path / "d")).load("retrieval")
    assert not list((tmp_path / "cache" / "corpora").glob("**/texts"))


def test_faults_are_collected_every_time(tmp_path: Path, large: Callable[[], None]) -> None:
    """What a check reads, with rows left out, is no corpus for a run, and goes when the process ends."""
    large()
    spec = beir(tmp_path / "d", [*ROWS, {"id": True, "text": "bad"}, ROWS[2]])
    for _ in range(2):
        faults: list[str] = []
        with skip_and_collect_faulty_rows(lambda error, faults=faults: faults.append(error.what)):  # type: ignore[misc]
            corpus = open_dataset(spec).load("retrieval").data.corpus
        assert corpus.texts[3] == ROWS[3]["title"] + " " + ROWS[3]["text"]
        assert faults == ["the value of 'id' cannot be used", "id 'd2' appears twice, first on line 3."]
    assert not list((tmp_path / "cache" / "corpora").glob("[0-9a-f]*/texts"))


PROGRAM = """
import sys
from embassay.data import corpus
corpus.IN_MEMORY = 100
from embassay.data import open_dataset
if len(sys.argv) > 2:
    # Slow enough to be met in the middle.
    from time import sleep
    from embassay.data.column import TextColumnWriter
    append = TextColumnWriter.append
    def slowly(self, text):
        sleep(0.02)
        append(self, text)
    TextColumnWriter.append = slowly
loaded = open_dataset(sys.argv[1]).load("retrieval")
print(loaded.fingerprint, len(loaded.data.corpus), loaded.data.corpus.texts[-1])
"""


def started(spec: str, *more: str) -> subprocess.Popen[str]:
    """A process that opens a large corpus."""
    return subprocess.Popen([sys.executable, "-c", PROGRAM, spec, *more], stdout=subprocess.PIPE, text=True)


@pytest.mark.slow
def test_killed_while_writing(tmp_path: Path) -> None:
    """`kill -9` in the middle leaves nothing that counts; the next process makes the corpus and cleans up."""
    spec, kept = beir(tmp_path / "d"), tmp_path / "cache" / "corpora"
    process = started(spec, "slowly")
    while not list(kept.glob(".*.part/texts")) and process.poll() is None:
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert list(kept.glob(".*.part/texts"))
    assert not list(kept.glob("[0-9a-f]*/"))
    out, _ = started(spec).communicate()
    assert out.split()[1:] == [str(len(ROWS)), "T2", "end"]
    assert not list(kept.glob(".*.part*"))
    assert len(list(kept.glob("[0-9a-f]*/texts"))) == 1


@pytest.mark.slow
def test_many_make_it_at_once(tmp_path: Path) -> None:
    """Processes that open the same corpus make it once and all read it."""
    spec, kept = beir(tmp_path / "d"), tmp_path / "cache" / "corpora"
    processes = [started(spec, "slowly") for _ in range(3)]
    said = {process.communicate()[0] for process in processes}
    assert len(said) == 1
    assert said.pop().split()[1] == str(len(ROWS))
    assert len(list(kept.glob("*/texts"))) == 1


def test_written_parts_are_left_alone(tmp_path: Path) -> None:
    """What is being written is not taken for what a killed process left."""
    with column.make_corpus_scratch_folder(tmp_path) as folder:
        (folder / "texts").write_text("half")
        assert column.remove_unfinished_corpora(tmp_path) == 0
        assert (folder / "texts").exists()
    assert [one.name for one in tmp_path.iterdir()] == ["new.lock"]
