"""Whole SAGE retrieval runs as commands: what one takes, and what a document adds to that.

Memory is looked at from outside, fifty times a second. What the system reports at the end of a process (`ru_maxrss`,
`time -v`) does not do: a run sets its own record back when a cell begins, so that it leaves out all cells but the last
(425 MB where 699 MB had been held), and it is never less than what the process that started the run held. It is the
memory of the run's own process; one that reads tables for the report comes beside it at the end. Disk is the run's
folder and its cache, and the scratch files, which have no name, at their largest.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SYSTEMS = ("bm25", "wordllama", "minilm")
LONGEST = "numerize,capitalize"
"""The two edits that leave the most tokens, three times and twice as many, and so take the most memory."""
FEW, MANY, ASKED = 32, 8_192, 200
_LOOK = 0.02


@dataclass(frozen=True)
class Whole:
    """A command from its start to its end: CPU seconds, user and system; bytes of memory at the most, `before` its
    first cell and in all; of scratch files at the most, and of the folders it left."""

    seconds: float
    before: int
    peak: int
    scratch: int
    kept: int

    @property
    def disk(self) -> int:
        """What has to be free."""
        return self.scratch + self.kept


def whole(command: Sequence[str], cache: Path, out: Path) -> Whole:
    """Do a command that writes to `cache` and `out`. Raises RuntimeError, with what it said, if it fails."""
    said = cache.with_suffix(".said")
    with said.open("wb") as told:
        process = subprocess.Popen(command, stdout=told, stderr=told, env={**os.environ, "EMBASSAY_CACHE": str(cache)})
        status, used, before, peak, scratch = _watched(process.pid, out)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(said.read_text("utf-8", "replace")[-2000:])
    # Where there is nothing to look at, what the system reports.
    peak = peak or used.ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    kept = sum(one.stat().st_size for folder in (cache, out) for one in folder.rglob("*") if one.is_file())
    return Whole(used.ru_utime + used.ru_stime, before, peak, scratch, kept)


def _watched(process: int, out: Path) -> tuple[int, Any, int, int, int]:
    """Its status and usage when it has ended, the most memory it held before its first cell and in all, and the most
    that its nameless files did."""
    before = peak = scratch = looks = 0
    begun = False
    while True:
        done, status, used = os.wait4(process, os.WNOHANG)
        if done:
            return status, used, before, peak, scratch
        peak = max(peak, _resident(process))
        # The texts are put beside the items before the first cell; a file is written whole, or not at all.
        begun = begun or any((out / "texts").rglob("*.parquet"))
        before = before if begun else peak
        # Files grow slowly, and there are more of them to look at.
        if looks % 25 == 0:
            scratch = max(scratch, _nameless(process))
        looks += 1
        time.sleep(_LOOK)


def _resident(process: int) -> int:
    try:
        return int(Path(f"/proc/{process}/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE")
    except (OSError, IndexError):
        return 0


def _nameless(process: int) -> int:
    size = 0
    try:
        for one in Path(f"/proc/{process}/fd").iterdir():
            if str(one.readlink()).endswith("(deleted)"):
                size += one.stat().st_size
    except OSError:  # it has ended, or closed one meanwhile
        return size
    return size


def sage(systems: Sequence[str], out: Path, *more: str) -> list[str]:
    """The command of a SAGE retrieval run."""
    program = str(Path(sys.executable).with_name("embassay"))
    chosen = [word for system in systems for word in ("-s", system)]
    return [program, "sage", "run", "-t", "retrieval", *chosen, *more, "--out", str(out)]


def write_folder(path: Path, texts: Sequence[str], queries: int = 1) -> None:
    """A folder in BEIR's layout whose queries are the beginnings of its texts."""
    (path / "qrels").mkdir(parents=True)
    rows = ({"_id": f"d{row}", "title": "", "text": text} for row, text in enumerate(texts))
    (path / "corpus.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    asked = ({"_id": f"q{row}", "text": text[:80]} for row, text in enumerate(texts[:queries]))
    (path / "queries.jsonl").write_text("".join(json.dumps(row) + "\n" for row in asked), "utf-8")
    judged = (f"q{row}\td{row}\t1\n" for row in range(min(queries, len(texts))))
    (path / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\n" + "".join(judged), "utf-8")


def done(system: str, texts: Sequence[str], queries: int, edits: str = "all") -> Whole:
    """A run on these texts as documents."""
    with tempfile.TemporaryDirectory() as folder:
        data, out, cache = (Path(folder) / name for name in ("data", "run", "cache"))
        write_folder(data, texts, queries)
        return whole(sage([system], out, "-d", str(data), "--retrieval-edits", edits), cache, out)


def copies(texts: Sequence[str], n: int) -> list[str]:
    """`n` texts, numbered ones of the same where there are too few."""
    return [f"{texts[i % len(texts)]} {i // len(texts) or ''}".strip() for i in range(n)]
