"""Parquet comes from a process of its own: what it reads is what polars reads, and what ends it ends nothing else."""

from __future__ import annotations

import io
import subprocess
import sys
import threading
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from embassay import parquet
from embassay.errors import DataError
from embassay.limits import TABLE
from embassay.parquet import read_parquet, read_parquet_column_names, read_parquet_in_batches

CRASH = Path(__file__).parents[1] / "fuzz" / "crashes" / "parquet" / "a_count_of_rows_that_ends_the_process.parquet"
FRAME = pl.DataFrame(
    {
        "id": [str(i) for i in range(1000)], "value": [None if i % 7 == 0 else i / 3 for i in range(1000)],
        "list": [[i, i + 1] for i in range(1000)], "label": pl.Series(["a", "b"] * 500, dtype=pl.Categorical),
    }
)  # fmt: skip


@pytest.fixture
def path(tmp_path: Path) -> Path:
    FRAME.write_parquet(tmp_path / "x.parquet", row_group_size=100)
    return tmp_path / "x.parquet"


def test_a_file_is_what_polars_reads(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Values, types and order; from a path, also a relative one, or from bytes; some columns or all."""
    assert read_parquet(path).equals(pl.read_parquet(path))
    assert read_parquet(path).schema == pl.read_parquet(path).schema
    assert read_parquet(path.read_bytes(), ["value", "id"]).equals(pl.read_parquet(path, columns=["value", "id"]))
    assert read_parquet_column_names(path) == ("id", "value", "list", "label")
    monkeypatch.chdir(path.parent)
    assert len(read_parquet(Path("x.parquet"))) == 1000


@pytest.mark.parametrize("rows", [1, 64, 5000])
def test_batches_are_the_file_in_order(path: Path, rows: int) -> None:
    frames = list(read_parquet_in_batches(path, ["id", "value"], rows=rows))
    assert pl.concat(frames).equals(FRAME.select("id", "value"))
    assert max(map(len, frames)) <= max(rows, 1)


def test_a_file_without_rows(tmp_path: Path) -> None:
    """Still has its columns."""
    FRAME.clear().write_parquet(tmp_path / "x.parquet")
    assert read_parquet(tmp_path / "x.parquet").shape == (0, 4)
    assert [frame.shape for frame in read_parquet_in_batches(tmp_path / "x.parquet", ["id"], rows=10)] == [(0, 1)]


@given(st.lists(st.tuples(st.text(), st.none() | st.floats(), st.integers(-(2**63), 2**63 - 1)), max_size=20))
def test_any_values_come_back(rows: list[tuple[str, float | None, int]]) -> None:
    """To the last bit, NaN and nulls apart."""
    schema = {"text": pl.String, "number": pl.Float64, "whole": pl.Int64}
    frame = pl.DataFrame(rows, schema=schema, orient="row")
    buffer = io.BytesIO()
    frame.write_parquet(buffer)
    assert read_parquet(buffer.getvalue()).equals(frame, null_equal=True)


def test_what_ends_the_reader_ends_nothing_else(path: Path) -> None:
    """The file is refused with what happened and two ways out; the next file is read."""
    with pytest.raises(DataError, match="SIGABRT in the reading process") as caught:
        read_parquet(CRASH, mend="Run it again.")
    assert str(CRASH) in str(caught.value)
    assert caught.value.mend.startswith(
        "Run it again. If it is complete, allow more memory: export EMBASSAY_LIMIT_TABLE"
    )
    assert len(read_parquet(path)) == 1000


def test_a_reader_that_died_while_it_waited(path: Path) -> None:
    """Is replaced."""
    read_parquet(path)
    parquet._idle[-1]._process.kill()
    parquet._idle[-1]._process.wait()
    assert len(read_parquet(path)) == 1000


@pytest.mark.parametrize("content", [b"", b"PAR1", b"PAR1" + b"\xff" * 100 + b"PAR1", b"plain text\n" * 20])
def test_what_is_no_parquet(content: bytes, path: Path) -> None:
    """Is refused by the same process, which reads on."""
    read_parquet(path)
    reader = parquet._idle[-1]
    with pytest.raises(DataError, match="damaged or not a Parquet file"):
        read_parquet(content, path=Path("mine.parquet"))
    assert reader in parquet._idle


def test_columns_that_are_not_there(path: Path) -> None:
    with pytest.raises(DataError, match="nothing_such"):
        read_parquet(path, ["nothing_such"])


def test_what_cannot_be_opened(tmp_path: Path) -> None:
    """Is the error that any file brings."""
    with pytest.raises(FileNotFoundError):
        read_parquet(tmp_path / "none")
    with pytest.raises(IsADirectoryError):
        read_parquet(tmp_path)


def test_more_memory_than_allowed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """400 MB of zeros in some kilobytes; with the limit as usual they are read."""
    pl.select(zero=pl.repeat(0, 50_000_000, dtype=pl.Int64)).write_parquet(tmp_path / "x.parquet", statistics=False)
    monkeypatch.setenv(TABLE.environment_variable_name, "100MiB")
    with pytest.raises(DataError, match=r"larger than Embassay's limit.*EMBASSAY_LIMIT_TABLE=200MiB"):
        read_parquet(tmp_path / "x.parquet")


def test_a_text_kept_once_in_many_rows(tmp_path: Path) -> None:
    """400 MB of text in one kilobyte, which the table itself holds once only."""
    text = pl.Series("text", ["x" * 1_000_000]).new_from_index(0, 400)
    pl.DataFrame([text]).write_parquet(tmp_path / "x.parquet")
    assert (tmp_path / "x.parquet").stat().st_size < 10_000
    with pytest.raises(DataError, match="unpacks to far more data than any text would"):
        read_parquet(tmp_path / "x.parquet")


def test_two_files_in_turns_and_one_left_half_read(path: Path) -> None:
    """Each has a reader of its own; one that is left in the middle is not asked again."""
    pairs = zip(read_parquet_in_batches(path, rows=10), read_parquet_in_batches(path, rows=10), strict=True)
    assert all(one.equals(other) for one, other in (next(pairs), next(pairs)))
    del pairs
    assert len(read_parquet(path)) == 1000


def test_a_look_at_the_first_rows_costs_no_process(path: Path) -> None:
    """The reader of a file left after its only table is asked again; of one left with more to come, it is not."""
    FRAME.write_parquet(path)
    read_parquet(path)
    reader = parquet._idle[-1]
    for rows, kept in ((1000, True), (1, False)):
        tables = read_parquet_in_batches(path, rows=rows)
        assert [len(next(tables)), len(next(tables))] == [0, rows]
        tables.close()  # type: ignore[attr-defined]
        assert (reader in parquet._idle) is kept
        assert reader.is_alive is kept


def test_threads_read_at_the_same_time(path: Path) -> None:
    """And no more readers are kept than two."""
    found: list[int] = []
    threads = [
        threading.Thread(target=lambda: found.extend(len(read_parquet(path)) for _ in range(5))) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [1000] * 20
    assert len(parquet._idle) <= 2


def test_a_program_ends_without_a_word(path: Path) -> None:
    """Readers end with the process that they are for, and a module in the folder one stands in is not theirs."""
    (path.parent / "polars.py").write_text("raise SystemExit('not this one')")
    code = (
        "from pathlib import Path; from embassay.parquet import read_parquet; "
        f"print(len(read_parquet(Path({str(path)!r}))))"
    )
    done = subprocess.run(
        [sys.executable, "-P", "-W", "error", "-c", code], cwd=path.parent, capture_output=True, text=True, check=True
    )
    assert (done.stdout, done.stderr) == ("1000\n", "")
