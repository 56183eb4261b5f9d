"""What a judge said while a query's passages were ordered: a line for every answer, written the moment it comes.

The first line says what the answers belong to: judge, engine, seed, pool. Then one line per answer, numbered by round
and by place among the proposals of the round, because answers come in any order; and one for each time the query had
to be given up. A log that belongs to something else is begun anew; what cannot be read at its end (a full disk, a kill
in the middle of a write) is cut off.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from embassay.runs.files import to_json, write_atomic

About = Mapping[str, Any]


@dataclass(frozen=True)
class KeptCall:
    """An answer: ids of passages in the order `shown`, and best first; the rest as in `judges.Ordering`."""

    round: int
    place: int
    shown: tuple[str, ...]
    order: tuple[str, ...]
    attempts: int = 1
    rejected: tuple[str, ...] = ()
    missing: int = 0
    unknown: int = 0


@dataclass(frozen=True)
class KeptFailure:
    """The query was given up in this round."""

    round: int
    failed: str


Entry = KeptCall | KeptFailure
_LINE = re.compile(r"[^\n]*\n|[^\n]+")


class CallLog:
    """The answers kept for one query: in the file `path`, or only in memory where there is none."""

    def __init__(
        self,
        path: Path | None = None,
        about: About | None = None,
        warn: Callable[[str], None] = lambda _: None,
    ) -> None:
        """Open the log of `about`, which names everything that the answers depend on; `warn` is told what of an old
        log is of no use."""
        self._path, self._about = path, dict(about or {})
        self.entries: list[Entry] = []
        if path is None or not path.exists():
            self._begun = False
            return
        # Not `splitlines`: an id may hold characters that it takes for the end of a line.
        lines = _LINE.findall(path.read_text("utf-8", errors="replace"))
        known = _parsed(lines[0]) if lines else None
        self._begun = known == json.loads(to_json(self._about))
        if not self._begun:
            if known is not None or len(lines) > 1:
                warn(
                    f"{path}: {_difference(known, self._about)}; {max(0, len(lines) - 1)} answers are discarded."
                )
            return
        whole = list(_whole(lines[1:]))
        self.entries = [entry for _, entry in whole]
        if len(whole) < len(lines) - 1:
            if len(whole) < len(lines) - 2:
                warn(
                    f"{path}:{len(whole) + 2}: this line cannot be read; it and {len(lines) - len(whole) - 2} after "
                    "it are discarded."
                )
            self._rewrite()

    def append(self, entry: Entry) -> None:
        """Keep one more, at once and in one write: a killed process leaves whole lines."""
        self.entries.append(entry)
        if self._path is None:
            return
        if not self._begun:
            self._rewrite()
            return
        file = os.open(self._path, os.O_WRONLY | os.O_APPEND)
        try:
            os.write(file, _line(entry).encode())
        finally:
            os.close(file)

    def cut(self, entries: Iterable[Entry]) -> None:
        """Keep only these."""
        self.entries = list(entries)
        if self._path is not None:
            self._rewrite()

    def _rewrite(self) -> None:
        if self._path is not None:
            write_atomic(self._path, log_text(self._about, self.entries))
            self._begun = True


def log_text(about: About, entries: Sequence[Entry]) -> str:
    """A whole log, as `CallLog` reads it."""
    return to_json(about) + "\n" + "".join(map(_line, entries))


def _line(entry: Entry) -> str:
    return to_json(asdict(entry)) + "\n"


def _whole(lines: Iterable[str]) -> Iterable[tuple[str, Entry]]:
    """The lines up to the first that is none."""
    for line in lines:
        entry = _entry(_parsed(line))
        if entry is None or not line.endswith("\n"):
            return
        yield line, entry


def _parsed(line: str) -> dict[str, Any] | None:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _entry(row: dict[str, Any] | None) -> Entry | None:
    if row is None:
        return None
    try:
        if "failed" in row:
            return KeptFailure(int(row["round"]), str(row["failed"]))
        return KeptCall(
            int(row["round"]), int(row["place"]), _words(row["shown"]), _words(row["order"]),
            int(row["attempts"]), _words(row["rejected"]), int(row["missing"]), int(row["unknown"]),
        )  # fmt: skip
    except (KeyError, TypeError, ValueError):
        return None


def _words(value: list[Any]) -> tuple[str, ...]:
    return tuple(str(one) for one in value)


def _difference(known: About | None, about: About) -> str:
    if known is None:
        return "its first line cannot be read"
    names = [name for name in about if known.get(name) != json.loads(to_json(about[name]))]
    return f"it was begun with another {' and '.join(names) or 'set of keys'}"
