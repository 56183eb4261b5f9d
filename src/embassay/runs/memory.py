"""Memory: what this process and its children hold, who of them claims how much, and `--memory` as a promise.

What a cell will hold at most is estimated from its data (`WorkMemoryEstimate`). The processes of a run write what they
have begun into one small file, so that cells side by side wait for each other rather than break the promise together. A
cell that does not fit even alone fails, with the figure and the mend; the others go on. Nothing that is computed
depends on any of this. Processes on other machines are not covered.
"""

from __future__ import annotations

import json
import os
import re
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event, Lock, Thread, main_thread
from types import FrameType
from typing import IO, Any

from embassay.errors import Interrupted, UsageError

_STATUS, _CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")


class PeakMemory:
    """Peak resident memory from its making to `bytes`; where the system cannot begin anew, since the process began."""

    def __init__(self) -> None:
        try:
            # Linux: 5 sets the peak back to what is held now.
            _CLEAR.write_text("5")
            self._begun = True
        except OSError:
            self._begun = False
        self._most = 0

    @property
    def bytes(self) -> int | None:
        """So far; None where the system does not tell."""
        # Some sandboxes tell what is held now in the place of the peak.
        self._most = max(
            self._most,
            (_read_linux_peak_resident_memory() if self._begun else None)
            or _measure_process_lifetime_peak_memory()
            or 0,
        )
        return self._most or None


def _read_linux_peak_resident_memory() -> int | None:
    try:
        lines = _STATUS.read_text().splitlines()
    except OSError:
        return None
    # VmHWM is the peak of what was resident.
    peaks = (line.split()[1] for line in lines if line.startswith("VmHWM:"))
    return next((int(kib) * 1024 for kib in peaks), None)


def _measure_process_lifetime_peak_memory() -> int | None:
    try:
        import resource
    except ImportError:  # not POSIX
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def measure_resident_memory(process: int | None = None) -> int | None:
    """The bytes of memory that a process (by default this one) holds now; None where the system does not tell, or the
    process is gone."""
    try:
        lines = Path(f"/proc/{process or 'self'}/status").read_text().splitlines()
    except OSError:
        return None
    sizes = (line.split()[1] for line in lines if line.startswith("VmRSS:"))
    return next((int(kib) * 1024 for kib in sizes), None)


class MemoryWatch:
    """Looks now and then at what this process and those that it has started hold together; `most` is the most so far.
    Pages that they share count for each of them. `beyond` is called once, in a thread of its own, when they hold more
    than `limit` bytes."""

    def __init__(self, period: float = 0.2, limit: int | None = None, beyond: Callable[[], None] | None = None) -> None:
        self.most = 0
        self._period, self._over = period, Event()
        self._limit, self._beyond = limit, beyond
        self._thread = Thread(target=self._watch_memory_until_stopped, daemon=True)

    def __enter__(self) -> MemoryWatch:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def update_peak_memory(self) -> None:
        """Measure once the memory that the processes hold together."""
        below = sum(measure_resident_memory(process) or 0 for process in _list_child_processes(Path("/proc/self")))
        # The system remembers this process's peak, which may lie between two looks.
        self.most = max(
            self.most,
            (measure_resident_memory() or 0) + below,
            (_read_linux_peak_resident_memory() or _measure_process_lifetime_peak_memory() or 0) if not below else 0,
        )

    def _watch_memory_until_stopped(self) -> None:
        while True:
            self.update_peak_memory()
            if self._beyond is not None and self._limit is not None and self.most > self._limit:
                self._beyond()
                self._beyond = None
            if self._over.wait(self._period):
                return


def _list_child_processes(process: Path) -> list[int]:
    """The ids of the processes below one."""
    ids: list[int] = []
    try:
        # Linux lists children by the thread that started them.
        for thread in (process / "task").iterdir():
            ids += map(int, (thread / "children").read_text().split())
    except OSError:
        return ids
    return ids + [below for child in ids for below in _list_child_processes(Path("/proc", str(child)))]


_GLANCE = 0.005
"""Seconds between looks at whether the file of claims, which is held for moments, is free."""


class ProcessMemoryClaims:
    """The claims of this and the other processes, bytes by process id; 0 where a process is between two cells, and then
    it counts by what it holds. One that is gone counts nothing."""

    def __init__(self, path: Path) -> None:
        self._path, self._own = path, str(os.getpid())

    def write(self, amount: int) -> None:
        """Claim so much for this process."""
        with self._open_claims_file() as file:
            self._write_claims(file, {**self._read_memory_claims_of_live_processes(file), self._own: amount})

    def try_claim_memory(self, amount: int, most: int) -> bool:
        """Claim so much for this process if it fits beside the others."""
        with self._open_claims_file() as file:
            claims = self._read_memory_claims_of_live_processes(file)
            fits = amount + self._sum_memory_held_or_claimed_by_others(claims) <= most
            if fits:
                self._write_claims(file, {**claims, self._own: amount})
            return fits

    def alone(self) -> bool:
        """Whether no other process is in a cell."""
        with self._open_claims_file() as file:
            return not any(
                claim
                for process, claim in self._read_memory_claims_of_live_processes(file).items()
                if process != self._own
            )

    def others(self) -> int:
        """What the other processes hold or have claimed."""
        with self._open_claims_file() as file:
            return self._sum_memory_held_or_claimed_by_others(self._read_memory_claims_of_live_processes(file))

    def _sum_memory_held_or_claimed_by_others(self, claims: dict[str, int]) -> int:
        return sum(
            max(claim, measure_resident_memory(int(process)) or 0)
            for process, claim in claims.items()
            if process != self._own
        )

    @staticmethod
    def _read_memory_claims_of_live_processes(file: IO[str]) -> dict[str, int]:
        """The claims of processes that live."""
        claims: dict[str, int] = json.loads(file.read() or "{}")
        return {
            process: claim for process, claim in claims.items() if measure_resident_memory(int(process)) is not None
        }

    @staticmethod
    def _write_claims(file: IO[str], claims: dict[str, int]) -> None:
        file.seek(0)
        file.truncate()
        file.write(json.dumps(claims))

    @contextmanager
    def _open_claims_file(self) -> Iterator[IO[str]]:
        from filelock import lock_descriptor

        with self._path.open("a+", encoding="utf-8") as file:
            # Held from reading to writing: two processes must not both take the room that one of them needs.
            lock_descriptor(file.fileno(), poll_interval=_GLANCE)
            file.seek(0)
            yield file


LIMIT, CLAIMS = "EMBASSAY_MEMORY", "EMBASSAY_MEMORY_CLAIMS"
"""Environment variables: the bytes, and the file of claims; the processes of a run inherit both."""
LEAST = 2**29
_UNITS: dict[str, int] = {
    "b": 1,
    **{f"{letter}b": 1000**n for n, letter in enumerate("kmgt", 1)},
    **{f"{letter}ib": 1024**n for n, letter in enumerate("kmgt", 1)},
}
_PERIOD = 0.2


@dataclass(frozen=True)
class WorkMemoryEstimate:
    """What work will hold at most beside what its process holds already: bytes by what they are for, and what to do
    where that is too much."""

    parts: Mapping[str, int] = field(default_factory=dict)
    mend: str = "Use fewer items (--limit)."

    @property
    def bytes(self) -> int:
        """All parts together."""
        return sum(self.parts.values())

    def __str__(self) -> str:
        """The largest part, and the others from 16 MiB, by size."""
        large = sorted(self.parts.items(), key=lambda part: -part[1])
        shown = [(purpose, size) for i, (purpose, size) in enumerate(large) if not i or size >= 2**24]
        return ", ".join(f"{format_memory_size(size)} for {purpose}" for purpose, size in shown)


def parse_memory_size(text: str) -> int:
    """The bytes of `4GiB`, `512MiB` or `2GB`, whatever the case. UsageError for what is no size, and for one too small
    for any run.

    >>> parse_memory_size("4GiB"), parse_memory_size("1.5 gb")
    (4294967296, 1500000000)
    """
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([a-z]+)", text.strip(), re.IGNORECASE)
    if match is None or match[2].lower() not in _UNITS:
        raise UsageError(
            f"--memory is {text!r}, which is not a size.", mend="Write a number and a unit: 4GiB, 512MiB or 2GB."
        )
    amount = round(float(match[1]) * _UNITS[match[2].lower()])
    if amount < LEAST:
        raise UsageError(
            f"--memory is {format_memory_size(amount)}, which is too small for any run.",
            mend=f"Use at least {format_memory_size(LEAST)}: the program itself needs most of that.",
        )
    return amount


def format_memory_size(amount: int) -> str:
    """Format a size of memory: `3.2 GiB`, `140 MiB`.

    >>> format_memory_size(3_400_000_000), format_memory_size(1_000_000)
    ('3.17 GiB', '1 MiB')
    """
    return f"{amount / 2**30:.3g} GiB" if amount >= 2**30 else f"{amount / 2**20:.0f} MiB"


def read_promised_memory() -> int | None:
    """What is promised in this process, in bytes; None without a promise."""
    value = os.environ.get(LIMIT, "")
    if not value:
        return None
    return int(value) if value.isdecimal() else parse_memory_size(value)


_watch: MemoryWatch | None = None


@contextmanager
def enforce_memory_limit(most: int | None, *, stop: bool = False) -> Iterator[None]:
    """Inside, this process and those that it starts together hold no more than `most` bytes; None promises nothing.

    What estimates its cells keeps the promise by that. Other work is to `stop` where it holds more: it is interrupted
    as by Ctrl-C, also where that is ignored, keeps what it keeps then, and UsageError says so. Of the main thread only.
    """
    global _watch
    if most is None:
        yield
        return
    before = {name: os.environ.get(name) for name in (LIMIT, CLAIMS)}
    stopper = _MainThreadInterrupter()
    watch = MemoryWatch(limit=most, beyond=stopper) if stop else MemoryWatch()
    interrupts = signal.signal(signal.SIGINT, stopper.heard) if stop else None
    try:
        with tempfile.TemporaryDirectory(prefix="embassay-") as folder, watch as _watch:
            os.environ.update({LIMIT: str(most), CLAIMS: str(Path(folder, "claims"))})
            ProcessMemoryClaims(Path(folder, "claims")).write(0)
            yield
            stopper.stop_interrupting()
    except (KeyboardInterrupt, Interrupted) as error:
        if not stopper.stopped:
            raise
        raise _make_memory_limit_exceeded_error(watch.most, most, kept=isinstance(error, Interrupted)) from None
    else:
        if stopper.stopped:  # a server that has come down
            raise _make_memory_limit_exceeded_error(watch.most, most)
    finally:
        for name, value in before.items():
            os.environ.pop(name, None) if value is None else os.environ.update({name: value})
        _watch = None
        if stop:
            signal.signal(signal.SIGINT, interrupts)


class _MainThreadInterrupter:
    """Interrupts the main thread as Ctrl-C does, once, unless its work has ended."""

    def __init__(self) -> None:
        self.stopped = False
        self._lock, self._ended = Lock(), False
        self._before = signal.getsignal(signal.SIGINT)

    def heard(self, number: int, frame: FrameType | None) -> None:
        """An interrupt: its own, or one that is treated as it was before. A shell's background job ignores those."""
        if self.stopped:
            raise KeyboardInterrupt
        if callable(self._before):
            self._before(number, frame)

    def __call__(self) -> None:
        with self._lock:
            if not self._ended:
                self.stopped = True
                # To the main thread, where a blocking call is interrupted; a raise here would end this thread only.
                signal.pthread_kill(main_thread().ident or 0, signal.SIGINT)

    def stop_interrupting(self) -> None:
        """Stop interrupting: the work has ended."""
        with self._lock:
            self._ended = True


def _make_memory_limit_exceeded_error(held: int, most: int, *, kept: bool = False) -> UsageError:
    return UsageError(
        f"The run reached {format_memory_size(held)}, over the limit of {format_memory_size(most)}, "
        "and was stopped." + (" Finished work is kept." if kept else ""),
        mend="Use less data (--limit, if the command has it), or raise --memory.",
    )


@contextmanager
def reserve_memory(need: WorkMemoryEstimate) -> Iterator[None]:
    """Inside, the work has the room that it needs; it is waited for while other processes of the run hold it.
    UsageError, with the figure, where the work does not fit even alone."""
    most = read_promised_memory()
    if most is None:
        yield
        return
    check_memory_fits(need)
    held = measure_resident_memory() or 0
    path = Path(os.environ.get(CLAIMS, ""))
    if not path.is_file():
        yield
        return
    claims = ProcessMemoryClaims(path)
    while not claims.try_claim_memory(held + need.bytes, most):
        # Nobody else is in a cell, so waiting would never end.
        if claims.alone():
            raise UsageError(
                f"This would use up to {format_memory_size(held + need.bytes)} of memory in addition to the "
                f"{format_memory_size(claims.others())} of the run's other processes, more than the limit of "
                f"{format_memory_size(most)} ({need}).",
                mend="Use fewer --workers, or raise --memory.",
            )
        time.sleep(_PERIOD)
    try:
        yield
    finally:
        claims.write(0)


def check_memory_fits(need: WorkMemoryEstimate) -> None:
    """UsageError, with the figure, where work that is about to begin would break the promise by itself."""
    most = read_promised_memory()
    if most is not None and (held := measure_resident_memory() or 0) + need.bytes > most:
        raise _make_memory_error(need, held, most)


def _make_memory_error(need: WorkMemoryEstimate, held: int, most: int) -> UsageError:
    return UsageError(
        f"This would use up to {format_memory_size(held + need.bytes)} of memory, "
        f"more than the limit of {format_memory_size(most)}: {need}, and "
        f"{format_memory_size(held)} already used by the program and the data.",
        mend=f"{need.mend.rstrip('.')}, or raise --memory.",
    )


def find_memory_use_and_promise() -> dict[str, Any] | None:
    """What was promised, and the most that the processes of this run have held together so far; None without a
    promise."""
    most = read_promised_memory()
    if most is None or _watch is None:
        return None
    return {"promised_bytes": most, "held_bytes": _watch.most, "kept": _watch.most <= most}


def describe_broken_memory_promise(told: Mapping[str, Any] | None) -> str:
    """Describe a broken promise of memory; empty where it was kept, or none was made."""
    if told is None or told["kept"]:
        return ""
    return (
        f"The run used up to {format_memory_size(told['held_bytes'])} of memory, more than the "
        f"{format_memory_size(told['promised_bytes'])} set with --memory. Its results are not affected."
    )
