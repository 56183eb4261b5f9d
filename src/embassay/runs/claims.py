"""Who of a run's processes holds how much: a file that all of them write, one at a time."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from embassay.runs.memory import resident

try:
    import fcntl
except ImportError:  # not POSIX: nobody waits for anybody
    fcntl = None  # type: ignore[assignment]


class Claims:
    """The claims of this and the other processes, bytes by process id; 0 where a process is between two cells, and then
    it counts by what it holds. One that is gone counts nothing."""

    def __init__(self, path: Path) -> None:
        self._path, self._own = path, str(os.getpid())

    def write(self, amount: int) -> None:
        """Claim so much for this process."""
        with self._open() as file:
            self._put(file, {**self._read(file), self._own: amount})

    def granted(self, amount: int, most: int) -> bool:
        """Claim so much for this process if it fits beside the others."""
        with self._open() as file:
            claims = self._read(file)
            fits = amount + self._sum(claims) <= most
            if fits:
                self._put(file, {**claims, self._own: amount})
            return fits

    def alone(self) -> bool:
        """Whether no other process is in a cell."""
        with self._open() as file:
            return not any(claim for process, claim in self._read(file).items() if process != self._own)

    def others(self) -> int:
        """What the other processes hold or have claimed."""
        with self._open() as file:
            return self._sum(self._read(file))

    def _sum(self, claims: dict[str, int]) -> int:
        return sum(
            max(claim, resident(int(process)) or 0)
            for process, claim in claims.items()
            if process != self._own
        )

    @staticmethod
    def _read(file: IO[str]) -> dict[str, int]:
        """The claims of processes that live."""
        claims: dict[str, int] = json.loads(file.read() or "{}")
        return {process: claim for process, claim in claims.items() if resident(int(process)) is not None}

    @staticmethod
    def _put(file: IO[str], claims: dict[str, int]) -> None:
        file.seek(0)
        file.truncate()
        file.write(json.dumps(claims))

    @contextmanager
    def _open(self) -> Iterator[IO[str]]:
        with self._path.open("a+", encoding="utf-8") as file:
            if fcntl is not None:
                fcntl.flock(file, fcntl.LOCK_EX)
            file.seek(0)
            yield file
