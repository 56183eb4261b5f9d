"""Parquet, read in a process of its own: a damaged or hostile file ends that process, never this one.

Libraries that read Parquet trust counts that stand in the file: one wrong byte, and memory for 2^61 rows is asked for,
which ends a process without an error that anyone could catch. So one process reads all files, within limits of memory
and time, and hands over tables; where it dies, the file is refused and the next file gets a new one.
"""

from __future__ import annotations

import atexit
import io
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, cast

from embassay.errors import DataError
from embassay.limits import ROWS, TABLE, UnpackedSizeGuard, announce_reading, iterate_within_reading_time_limit

if TYPE_CHECKING:
    import polars as pl


MEND = "Copy or write it again."
_PROGRAM = Path(__file__).with_name("reader.py")
_SECONDS = 120
# More idle processes than files are read at a time would only hold memory.
_KEPT = 2


def close_idle_readers_at_exit(processes: list[Any]) -> None:
    """Close what waits for work at the end; in a process that is forked, close only its ends of the pipes."""

    def close_all_processes() -> None:
        while processes:
            processes.pop().close()

    def close_forked_pipes() -> None:
        while processes:
            processes.pop().close_process_pipes()

    atexit.register(close_all_processes)
    if hasattr(os, "register_at_fork"):
        # Two processes that write to one pipe would each read the other's answers.
        os.register_at_fork(after_in_child=close_forked_pipes)


_idle: list[ParquetReaderProcess] = []
close_idle_readers_at_exit(_idle)


def request_parquet_tables(
    source: Path | bytes,
    columns: Sequence[str] | None,
    *,
    path: Path | None = None,
    mend: str = MEND,
    rows: int | None = None,
) -> Iterator[pl.DataFrame]:
    """The tables of one request as they come; see `read_parquet` and `read_parquet_in_batches` for the rest."""
    reader = _take_reader_process()
    whole = False
    named = path or (source if isinstance(source, Path) else None)
    try:
        with announce_reading("Parquet" if named is None else named.name, "row") as progress:
            for frame in iterate_within_reading_time_limit(
                reader.tables(source, columns, named, mend, rows), named, "table"
            ):
                progress.done += len(frame)
                yield frame
        whole = True
    except GeneratorExit:
        # Whoever looked at the first rows only may have had all of them.
        whole = reader.has_answer_ended()
        raise
    except (DataError, OSError):
        whole = reader.answered
        raise
    finally:
        # One that was left in the middle of an answer is of no more use.
        if whole and len(_idle) < _KEPT:
            _idle.append(reader)
        else:
            reader.close()


def _take_reader_process() -> ParquetReaderProcess:
    while _idle:
        reader = _idle.pop()
        if reader.is_alive:
            return reader
        reader.close()
    return ParquetReaderProcess()


class ParquetReaderProcess:
    """A process that reads Parquet files, and what is said to it."""

    def __init__(self) -> None:
        self.answered = True
        # Where this process finds its libraries that one finds them, and not in the folder it happens to stand in.
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(entry for entry in sys.path if entry)}
        self._process = subprocess.Popen(
            # -P: a file beside the program must not pass for a library; polars' panics are not for the user's screen.
            [sys.executable, "-P", str(_PROGRAM)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, env=environment
        )  # fmt: skip
        if self._get_reader_output_stream.read(1) != b"r":
            self.close()
            raise DataError(
                "the process that reads Parquet cannot be started", mend="Check that `python -c 'import polars'` works."
            )

    @property
    def is_alive(self) -> bool:
        """Whether the reading process is alive and can be asked."""
        return self._process.poll() is None

    @property
    def _get_reader_output_stream(self) -> IO[bytes]:
        return cast(IO[bytes], self._process.stdout)

    def tables(
        self, source: Path | bytes, columns: Sequence[str] | None, path: Path | None, mend: str, rows: int | None
    ) -> Iterator[pl.DataFrame]:
        """The tables of the answer. DataError for what cannot be read or is too large, OSError for a file that cannot
        be opened."""
        import polars as pl

        size = len(source) if isinstance(source, bytes) else _file_size(source)
        ratio = UnpackedSizeGuard(path or "the content", size)
        self.answered = False
        self._send_parquet_read_request(source, columns, rows, size)
        while (kind := self._get_reader_output_stream.read(1)) == b"t":
            frame = pl.read_ipc(io.BytesIO(self._read_length_prefixed_reply()))
            ratio.add(_measure_unpacked_table_bytes(frame))
            yield frame
        if not kind:
            code = self._process.wait()
            name = signal.Signals(-code).name if code < 0 else f"exit code {code}"
            raise _make_oversized_parquet_error(path, mend, f"{name} in the reading process")
        content = b"" if kind == b"." else self._read_length_prefixed_reply()
        self.answered = True
        if kind == b"f":
            number, reason = json.loads(content)
            raise OSError(number, reason, str(path))
        if kind == b"r":
            raise ROWS.make_exceeded_error(path)
        if kind == b"m":
            raise _make_oversized_parquet_error(path, mend, "out of memory")
        if kind == b"e":
            raise DataError(
                "the file is damaged or not a Parquet file", path=path, found=content.decode("utf-8", "replace"),
                mend=mend
            )  # fmt: skip

    def _send_parquet_read_request(
        self, source: Path | bytes, columns: Sequence[str] | None, rows: int | None, size: int
    ) -> None:
        request: dict[str, Any] = {
            "path": None if isinstance(source, bytes) else str(source.absolute()),
            "size": size if isinstance(source, bytes) else None,
            "columns": None if columns is None else list(columns), "rows": rows, "most": ROWS.most,
            # A second of CPU more for every MiB.
            "memory": TABLE.most + size, "seconds": _SECONDS + size // 2**20
        }  # fmt: skip
        requests = cast(IO[bytes], self._process.stdin)
        requests.write(json.dumps(request).encode() + b"\n")
        if isinstance(source, bytes):
            requests.write(source)
        requests.flush()

    def has_answer_ended(self) -> bool:
        """Whether what comes next is the end of the answer; it may be asked once."""
        return self._get_reader_output_stream.read(1) == b"."

    def _read_length_prefixed_reply(self) -> bytes:
        return self._get_reader_output_stream.read(int.from_bytes(self._get_reader_output_stream.read(8), "big"))

    def close(self) -> None:
        """End the process, in the midst of whatever it does."""
        kill_reader_process(self._process)

    def close_process_pipes(self) -> None:
        """Close the pipe ends of this process, and no more if the reader is another's."""
        close_process_pipes(self._process)


def kill_reader_process(process: subprocess.Popen[Any]) -> None:
    """End a process that reads requests and writes answers, in the midst of whatever it does."""
    process.kill()
    process.wait()
    close_process_pipes(process)


def close_process_pipes(process: subprocess.Popen[Any]) -> None:
    """Close its pipes on this side, and take it for ended."""
    process.returncode = process.returncode or 0
    for stream in (process.stdin, process.stdout):
        with suppress(OSError):  # it died with a request half taken
            cast(IO[Any], stream).close()


def _make_oversized_parquet_error(path: Path | None, mend: str, found: str) -> DataError:
    return DataError(
        "the Parquet file is damaged, or larger than Embassay's limit", path=path, found=found,
        mend=f"{mend} If it is complete, allow more memory: export {TABLE.doubled_limit_setting}"
    )  # fmt: skip


def _file_size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0  # the reader says why


def _measure_unpacked_table_bytes(frame: pl.DataFrame) -> int:
    """Bytes of a table with every text written out: one long text in a million rows is kept once only in the table."""
    import polars as pl

    texts = [name for name, kind in frame.schema.items() if kind == pl.String]
    lengths = frame.select(pl.col(texts).str.len_bytes().sum()) if texts else None
    return int(frame.estimated_size()) + (sum(lengths.row(0)) if lengths is not None else 0)


__all__ = ["read_parquet", "read_parquet_column_names", "read_parquet_in_batches"]


def read_parquet(
    source: Path | bytes, columns: Sequence[str] | None = None, *, path: Path | None = None, mend: str = MEND
) -> pl.DataFrame:
    """The rows of a file, or of the content of one (then `path` is its name in messages), in their order.

    `columns`: those to read, all where None. DataError with `mend` for what is damaged, not Parquet, has not these
    columns, or is larger than the limits; OSError for a file that cannot be opened.
    """
    import polars as pl

    frames = list(request_parquet_tables(source, columns, path=path, mend=mend))
    return frames[0] if len(frames) == 1 else pl.concat(frames, rechunk=False)


def read_parquet_column_names(path: Path) -> tuple[str, ...]:
    """The names of a file's columns, from its schema alone; errors as of `read_parquet`."""
    (frame,) = request_parquet_tables(path, None, rows=0)
    return tuple(frame.columns)


def read_parquet_in_batches(path: Path, columns: Sequence[str] | None = None, *, rows: int) -> Iterator[pl.DataFrame]:
    """The rows of a file in order, in tables of about `rows`: no process ever holds them all. At least one table comes,
    without rows where the file has none. Errors as of `read_parquet`, raised where the damage is reached."""
    return request_parquet_tables(path, columns, rows=rows)
