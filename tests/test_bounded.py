"""What is too large is refused before it is held; what is not is read as it is."""

from __future__ import annotations

import gzip
import io
import os
import resource
import threading
import zlib
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from embassay import limits as bounded
from embassay.data import lines, open_dataset
from embassay.data.documents import passages
from embassay.data.judged_runs import read_run_entries
from embassay.data.tables import open_table_file
from embassay.errors import DataError
from embassay.limits import (
    DOCUMENT,
    FILES,
    LINE,
    ROWS,
    TIMES,
    WHOLE,
    announce_reading,
    find_current_reading,
    list_bounded_folder_entries,
    open_gzip,
    read_bounded_file,
    read_bounded_lines,
    unpack_gzip,
    walk_bounded_folder,
)
from embassay.parquet import read_parquet_in_batches


@pytest.fixture(scope="module")
def bomb(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Ten GB of blanks in ten MB: one piece of 10 MB, packed, a thousand times over."""
    path = tmp_path_factory.mktemp("bomb") / "bomb.jsonl.gz"
    piece = gzip.compress(b'{"id": "1", "text": "' + b" " * 10_000_000, mtime=0)
    with path.open("wb") as stream:
        for _ in range(1000):
            stream.write(piece)
    return path


def test_files_up_to_the_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its last byte counts; one more is refused."""
    monkeypatch.setenv(DOCUMENT.environment_variable_name, "1000")
    path = tmp_path / "x"
    path.write_bytes(b"a" * 1000)
    assert read_bounded_file(path) == b"a" * 1000
    path.write_bytes(b"a" * 1001)
    with pytest.raises(DataError, match=r"expected at most 1,000 bytes.*EMBASSAY_LIMIT_DOCUMENT=2000"):
        read_bounded_file(path)


def test_what_has_no_size_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A pipe is read to its end, a device without end to the limit."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: pipe.write_bytes(b"abc" * 1000))
    writer.start()
    assert read_bounded_file(pipe) == b"abc" * 1000
    writer.join()
    monkeypatch.setenv(DOCUMENT.environment_variable_name, "1MiB")
    with pytest.raises(DataError, match="larger than Embassay's limit"):
        read_bounded_file(Path("/dev/zero"))


def test_a_packed_file_is_unpacked(tmp_path: Path) -> None:
    """Also one of several pieces; a cut one is what gzip says of it."""
    content = gzip.compress(b"one\n") + gzip.compress(b"two\n")
    assert unpack_gzip(content, tmp_path) == b"one\ntwo\n"
    with open_gzip(io.BytesIO(content), tmp_path, len(content)) as stream:
        assert stream.readlines() == [b"one\n", b"two\n"]
    with pytest.raises((EOFError, zlib.error)):
        unpack_gzip(content[:-9], tmp_path)


def test_a_bomb_is_refused(bomb: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By every reader that unpacks, long before the machine suffers: 10 MB that stand for 10 GB."""
    assert bomb.stat().st_size < 12_000_000
    monkeypatch.setattr(bounded, "SMALL", 2**25)
    monkeypatch.setenv(TIMES.environment_variable_name, "3")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for read in (lambda: open_dataset(str(bomb)).load("documents"), lambda: read_run_entries(bomb)):
        with pytest.raises(DataError, match=r"unpacks to far more|a line larger") as caught:
            read()
        assert "export EMBASSAY_LIMIT_" in caught.value.mend
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 400_000, "kilobytes"


def test_what_unpacks_to_more_than_is_held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Text that packs as text does, but is longer than the limit."""
    monkeypatch.setenv(WHOLE.environment_variable_name, "1000")
    with pytest.raises(DataError, match="EMBASSAY_LIMIT_WHOLE"):
        unpack_gzip(gzip.compress(os.urandom(2000)), tmp_path)


@pytest.mark.parametrize("name", ["x.jsonl", "x.csv"])
def test_a_line_without_end(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its number is said."""
    monkeypatch.setenv(LINE.environment_variable_name, "1000")
    path = tmp_path / name
    head = b'{"id": "1", "text": "b"}\n' if name.endswith("jsonl") else b"id,text\n"
    path.write_bytes(head + b"a" * 2000)
    with pytest.raises(DataError, match=rf"{name}:2: a line larger than Embassay's limit.*EMBASSAY_LIMIT_LINE"):
        open_dataset(str(path)).load("documents")
    assert list(read_bounded_lines(io.BytesIO(b"a\nb"), path)) == [b"a\n", b"b"]


@pytest.mark.parametrize(
    "body", [b'1,"' + b"a\n" * 1000, b"1," + b'"a\n",' * 300], ids=["a field over many lines", "fields without end"]
)
def test_a_row_without_end(body: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A row may go on over many lines, each of them short."""
    monkeypatch.setenv(LINE.environment_variable_name, "1000")
    path = tmp_path / "x.csv"
    path.write_bytes(b"id,text\n0,x\n" + body)
    with pytest.raises(DataError, match=r"x.csv:3: a line larger"):
        open_dataset(str(path)).load("documents")


@pytest.mark.parametrize("name", ["x.jsonl", "x.csv", "x.tsv"])
def test_columns_by_the_million(name: str, tmp_path: Path) -> None:
    """Refused at once."""
    names = [f"c{i}" for i in range(1_000_000)]
    path = tmp_path / name
    if name.endswith("jsonl"):
        path.write_text("{" + ", ".join(f'"{one}": 1' for one in names) + "}\n")
    else:
        path.write_text(("," if name.endswith("csv") else "\t").join(names) + "\n")
    with pytest.raises(DataError, match=r"more columns than Embassay's limit.*EMBASSAY_LIMIT_COLUMNS"):
        open_dataset(str(path)).load("documents")


def test_a_folder_of_too_many_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By listing and by walking."""
    monkeypatch.setenv(FILES.environment_variable_name, "10")
    for number in range(10):
        (tmp_path / str(number)).touch()
    assert len(list_bounded_folder_entries(tmp_path.iterdir(), tmp_path)) == 10
    assert len(list(walk_bounded_folder(tmp_path))) == 1
    (tmp_path / "another").touch()
    for seen in (
        lambda: list_bounded_folder_entries(tmp_path.iterdir(), tmp_path),
        lambda: list(walk_bounded_folder(tmp_path)),
    ):
        with pytest.raises(DataError, match=r"more files in a folder than Embassay's limit \(expected at most 10"):
            seen()


@pytest.mark.parametrize("name", ["x.jsonl", "x.csv", "x.jsonl.gz", "x.parquet"])
@pytest.mark.parametrize("sampled", [64, 2**20], ids=["counted before", "as they are read"])
def test_too_many_rows(name: str, sampled: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Are refused, and said how to allow; as many as are allowed are read."""
    monkeypatch.setattr(lines, "_SAMPLED", sampled)
    monkeypatch.setenv(ROWS.environment_variable_name, "1001")
    path = tmp_path / name

    def write(rows: int) -> None:
        if name.endswith("parquet"):
            ids = [str(i) for i in range(rows)]
            pl.DataFrame({"id": ids, "text": ["a"] * rows}).write_parquet(path)
            return
        row, head = ("{},a\n", "id,text\n") if name.endswith("csv") else ('{{"id": "{}", "text": "a"}}\n', "")
        content = (head + "".join(row.format(i) for i in range(rows))).encode()
        path.write_bytes(gzip.compress(content) if name.endswith("gz") else content)

    write(1000)
    assert open_dataset(str(path)).parts
    write(3000)
    with pytest.raises(DataError, match=r"more rows than Embassay's limit.*at most 1,001.*EMBASSAY_LIMIT_ROWS=2002"):
        open_dataset(str(path)).load("documents")


def test_a_run_of_too_many_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Likewise."""
    monkeypatch.setenv(ROWS.environment_variable_name, "10")
    path = tmp_path / "x.run"
    path.write_text("".join(f"q1 Q0 d{i} {i} {1 / i} x\n" for i in range(1, 12)))
    with pytest.raises(DataError, match="EMBASSAY_LIMIT_ROWS=20"):
        read_run_entries(path)


def test_what_is_being_read_is_known() -> None:
    """The innermost, how far it is, and nothing afterwards."""
    rows = read_bounded_lines(io.BytesIO(b"a\nb\n"), Path("x.csv"))
    next(rows)
    next(rows)
    assert str(find_current_reading()) == "reading x.csv, line 2"
    with announce_reading("y"):
        assert str(find_current_reading()) == "reading y"
    rows.close()
    assert find_current_reading() is None


def test_the_root_is_no_folder_of_data() -> None:
    """It is refused before anything in it is looked at."""
    with pytest.raises(DataError, match="root of the file system"):
        open_dataset("/")


def test_a_folder_that_takes_too_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Says that what was converted is kept."""
    for name in ("a.md", "b.md"):
        (tmp_path / name).write_text(f"# {name}")
    moments = iter(range(0, 100_000, 1_000))
    monkeypatch.setattr(passages.time, "monotonic", lambda: next(moments))
    with pytest.raises(DataError, match=r"took too long.*EMBASSAY_LIMIT_CONVERSIONS"):
        open_dataset(str(tmp_path)).load("documents")


class Clock:
    """A clock that goes on by so many seconds with each look at it."""

    def __init__(self, step: float) -> None:
        self.now, self.step = 0.0, step

    def __call__(self) -> float:
        self.now += self.step
        return self.now


def _spoken(path: Path) -> None:
    read_run_entries(path)


def _tabled(path: Path) -> None:
    list(open_table_file(path).rows(["text"]))


@pytest.mark.parametrize(
    ("name", "content", "read"),
    [
        ("t.jsonl", '{"text": "a"}\n' * 50, _tabled),
        ("t.csv", "text\n" + "a\n" * 50, _tabled),
        ("engine.jsonl", '{"query_id": "q", "documents": ["a", "b"]}\n' * 50, _spoken),
    ],
    ids=["JSON Lines", "CSV", "answers"],
)
def test_a_reading_that_takes_too_long(
    name: str, content: str, read: Callable[[Path], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every reader that goes by lines stops, says how far it came, and how to allow more."""
    (tmp_path / name).write_text(content)
    monkeypatch.setattr(bounded.time, "monotonic", Clock(200.0))
    with pytest.raises(DataError, match=rf"{name}.*longer than allowed.*found line 9 after 1,8") as caught:
        read(tmp_path / name)
    assert caught.value.mend.endswith("EMBASSAY_LIMIT_READING=3600")


def test_a_parquet_file_and_a_folder_that_take_too_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By tables and by folders."""
    pl.DataFrame({"text": ["a"] * 100}).write_parquet(tmp_path / "t.parquet", row_group_size=10)
    monkeypatch.setattr(bounded.time, "monotonic", Clock(1_000.0))
    with pytest.raises(DataError, match=r"found table 2 after 2,"):
        list(read_parquet_in_batches(tmp_path / "t.parquet", rows=10))
    for place in range(5):
        (tmp_path / "folder" / str(place)).mkdir(parents=True)
    with pytest.raises(DataError, match=r"found folder 2 after 2,"):
        list(walk_bounded_folder(tmp_path / "folder"))


def test_a_pipe_that_never_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """It gives a few bytes each time it is asked, and is not waited for until a whole block has come."""
    ends = os.pipe()
    os.write(ends[1], b"q Q0 d 1 1.0 x\n")
    monkeypatch.setattr(bounded.time, "monotonic", Clock(2_000.0))
    with pytest.raises(DataError, match="longer than allowed"):
        read_bounded_file(Path(f"/dev/fd/{ends[0]}"))
    for end in ends:
        os.close(end)


def test_what_is_done_with_the_rows_hardly_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """A corpus that is encoded as it is read takes as long as it takes."""
    now = Clock(0.0)
    monkeypatch.setattr(bounded.time, "monotonic", now)
    for _ in read_bounded_lines(io.BytesIO(b"a\n" * 100), Path("x.csv")):
        now.now += 3_600.0
