"""The process that reads Parquet: a program of its own, which needs nothing but polars.

Requests come on standard input, one line of JSON each: `path`, or `size` for so many bytes of content that follow;
`columns` or null; `rows` per table, null for one table, 0 for the schema alone; `most` rows that a file may have;
`memory` in bytes and `seconds` of CPU that it may use. Each answer begins with a letter: `t` a table (its length in 8
bytes, then Arrow's file format), `e` an error (length, then text), `m` one for want of memory, `r` one for more rows,
`f` a file that cannot be opened (length, then number and text), `.` the end. An `r` before any answer says that the
process is ready.
"""

from __future__ import annotations

import io
import json
import os
import signal
import sys
from collections.abc import Iterator
from typing import IO, Any

import polars as pl
from polars.exceptions import PanicException, PolarsError


def main() -> None:
    """Answer until there are no more requests."""
    # Only answers may stand where answers are read: what a library prints goes nowhere.
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    requests = sys.stdin.buffer
    # Ctrl-C and a terminal that closes are the other process's business, which may still read what it needs to end
    # well.
    for name in ("SIGINT", "SIGHUP"):
        if hasattr(signal, name):  # Windows has no SIGHUP
            signal.signal(getattr(signal, name), signal.SIG_IGN)
    before = _count_used_address_space_bytes()
    answers.write(b"r")
    answers.flush()
    while line := requests.readline():
        request = json.loads(line)
        content = requests.read(request["size"]) if request["size"] is not None else None
        _limit_process_resources(request, before)
        _write_parquet_answer_to_stream(request, content, answers)


def _write_parquet_answer_to_stream(asked: Any, content: bytes | None, answers: IO[bytes]) -> None:
    try:
        if content is None:
            # An OSError as any file has it; later ones are polars' words for what a file brings about.
            with open(asked["path"], "rb") as stream:  # noqa: PTH123
                content = None if _can_polars_take_name(asked["path"]) else stream.read()
    except OSError as error:
        _write_length_prefixed_part(answers, b"f", json.dumps([error.errno, error.strerror]).encode())
    else:
        _send_tables(asked, asked["path"] if content is None else content, answers)
    answers.flush()


def _can_polars_take_name(path: str) -> bool:
    """Whether polars can take the name: that of a file may be bytes that are no UTF-8."""
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True


def _send_tables(asked: Any, source: str | bytes, answers: IO[bytes]) -> None:
    try:
        if _count_parquet_rows(source) > asked["most"]:
            _write_length_prefixed_part(answers, b"r", b"")
            return
        for frame in _read_parquet_frames(source, asked):
            buffer = io.BytesIO()
            frame.write_ipc(buffer)
            _write_length_prefixed_part(answers, b"t", buffer.getbuffer())
        answers.write(b".")
    except (PolarsError, PanicException, MemoryError, OSError, ValueError) as error:
        reason = str(error).partition("\n")[0] or type(error).__name__
        # A panic for lack of memory can be told by its words only.
        full = isinstance(error, MemoryError) or "allocate memory" in reason
        _write_length_prefixed_part(answers, b"m" if full else b"e", reason.encode())


def _write_length_prefixed_part(answers: IO[bytes], kind: bytes, content: bytes | memoryview) -> None:
    answers.write(kind + len(content).to_bytes(8, "big"))
    answers.write(content)


def _count_parquet_rows(source: str | bytes) -> int:
    """Count the rows of a Parquet file, as its end says, which is all that is read for it."""
    content = source if isinstance(source, str) else io.BytesIO(source)
    return int(pl.scan_parquet(content, glob=False).select(pl.len()).collect().item())


def _read_parquet_frames(source: str | bytes, asked: Any) -> Iterator[pl.DataFrame]:
    columns, rows = asked["columns"], asked["rows"]
    if rows is None:
        yield pl.read_parquet(source if isinstance(source, str) else io.BytesIO(source), columns=columns, glob=False)
        return
    scanned = pl.scan_parquet(source if isinstance(source, str) else io.BytesIO(source), glob=False)
    empty = pl.DataFrame(schema=scanned.collect_schema())
    yield empty if columns is None else empty.select(columns)
    if rows:
        chosen = scanned if columns is None else scanned.select(columns)
        yield from chosen.collect_batches(chunk_size=rows, maintain_order=True)


def _limit_process_resources(asked: Any, before: int) -> None:
    """Limit the memory and the seconds of CPU that this process may take from now on."""
    try:
        import resource
    except ImportError:  # Windows has no such limits
        return
    used = resource.getrusage(resource.RUSAGE_SELF)
    seconds = int(used.ru_utime + used.ru_stime) + asked["seconds"]
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(resource.RLIMIT_CPU, (seconds if hard < 0 else min(seconds, hard), hard))
    if before:
        _, hard = resource.getrlimit(resource.RLIMIT_AS)
        most = before + asked["memory"]
        resource.setrlimit(resource.RLIMIT_AS, (most if hard < 0 else min(most, hard), hard))


def _count_used_address_space_bytes() -> int:
    """Bytes of address space of this process with its threads running; 0 where the system does not say."""
    # The threads start with the first work, and their stacks count as address space.
    pl.select(pl.int_range(0, 100_000)).sum()
    try:
        with open("/proc/self/statm", "rb") as stream:  # noqa: PTH123
            return int(stream.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0


if __name__ == "__main__":
    main()
