"""All benchmarks one after the other, and what they measured as a line of the history: `make bench [ARGS=--quick]`.

    python benchmarks/run_all.py [--quick] [--only WORD] [--history FILE]

Every `bench_*.py` is a process of its own. One that fails, takes too long or has nothing to measure does not stop the
others; each is told of, and the exit code is 1 if any failed. The line has date, version, commit, kind of machine, and
for every comparison with a peer the ratio (the peer's time through ours) with its range. Small runs are noisy: they
prove that the scripts run, and `history_page.py` leaves them out.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from timing import LOG, NOTHING_TO_MEASURE

from embassay import __version__

HERE = Path(__file__).parent
HISTORY = HERE / "results" / "history.jsonl"
QUICK_LIMIT, LIMIT = 300, 6 * 3600
"""Seconds that a script may take."""
ENDED = {0: "measured", NOTHING_TO_MEASURE: "nothing to measure", None: "too slow"}


@dataclass(frozen=True)
class Outcome:
    """What became of a script, in words."""

    script: str
    ended: str
    seconds: float


def main() -> None:
    """Run them, print what became of each, and add a line to the history."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="the smallest sizes: does everything run?")
    parser.add_argument("--only", default="", help="scripts whose name has this in it")
    parser.add_argument("--history", type=Path, default=HISTORY, help="the file that gets the line")
    given = parser.parse_args()
    scripts = sorted(path for path in HERE.glob("bench_*.py") if given.only in path.name)
    with tempfile.TemporaryDirectory() as scratch:
        log = Path(scratch) / "comparisons.jsonl"
        outcomes = [run(script, given.quick, log) for script in scripts]
        compared = [json.loads(line) for line in log.read_text("utf-8").splitlines()] if log.exists() else []
    add_line(given.history, outcomes, compared, quick=given.quick)
    failed = [outcome.script for outcome in outcomes if outcome.ended not in ("measured", "nothing to measure")]
    ran = len(outcomes) - len(failed)
    print(f"\n{ran} of {len(outcomes)} benchmarks ran; {len(compared)} comparisons in {given.history}.")
    if failed:
        raise SystemExit(f"Failed: {', '.join(failed)}.")


def run(script: Path, quick: bool, log: Path) -> Outcome:
    """Run a script; its output goes to the screen as it comes."""
    print(f"== {script.name}", flush=True)
    command = [sys.executable, str(script), *(["--quick"] if quick else [])]
    start = time.perf_counter()
    try:
        done = subprocess.run(
            command, env={**os.environ, LOG: str(log)}, check=False, timeout=QUICK_LIMIT if quick else LIMIT
        )
        code: int | None = done.returncode
    except subprocess.TimeoutExpired:
        code = None
    seconds = time.perf_counter() - start
    outcome = Outcome(script.stem, ENDED.get(code, f"exit code {code}"), round(seconds, 1))
    print(f"== {outcome.script}: {outcome.ended}, {outcome.seconds:.0f} s", flush=True)
    return outcome


def add_line(path: Path, outcomes: Sequence[Outcome], compared: Sequence[dict[str, object]], *, quick: bool) -> None:
    """A run as one line of JSON at the end of the history."""
    now = datetime.now(UTC).strftime("%Y-%m-%d")
    line = {"date": now, "version": __version__, "commit": read_commit(), "quick": quick, "machine": describe_machine()}
    line |= {"comparisons": list(compared), "scripts": [asdict(outcome) for outcome in outcomes]}
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as stream:
        stream.write(json.dumps(line) + "\n")


def describe_machine() -> dict[str, object]:
    """Its kind, and nothing that names it: ratios of different kinds are not compared."""
    model = platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        lines = [line for line in info.read_text().splitlines() if line.startswith("model name")]
        model = lines[0].partition(":")[2].strip() if lines else model
    system, python = platform.system(), platform.python_version()
    return {"processor": model, "cores": os.cpu_count(), "system": system, "python": python}


def read_commit() -> str:
    """The commit, with + where files differ from it; empty outside a checkout."""
    try:
        words = ["git", "-C", str(HERE), "describe", "--always", "--dirty=+", "--match="]
        return subprocess.run(words, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""


if __name__ == "__main__":
    main()
