"""What starting costs: CPU seconds and modules of every protocol's command on the sample, each in a process of its own.

    python benchmarks/bench_startup.py                    # all, the median of five
    python benchmarks/bench_startup.py --quick            # one cold start each: does it run?
    python benchmarks/bench_startup.py --only 'sage run'  # those whose words begin so
    python benchmarks/bench_startup.py --modules          # also the modules of ours, by package

Seconds are of the processor (user and system, children included), so that other work on the machine changes them
little. Byte code and caches are warm: each command runs once before it is timed. Runs are made in a folder of their own
each time, with few resamples where a run has them, for what is timed is the start and not the statistics. There is no
peer: compare two checkouts in turn.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

SYSTEMS = "-s levenshtein -s jaccard --tokenizer words"
ENCODER = "-s wordllama --tokenizer words"
FEW = "--resamples 200"
PREPARED = (
    "hume sample -d sample --lang eng --n 6 --candidates 5 --relevant 2 --out study",
    "hume simulate study",
    "rag golden -d sample -j recorded:sample -s wordllama --limit 12 --depth 20 --out golden",
)
"""What the timed commands need, made once."""
COMMANDS = {
    "--help": "--help",
    "sage run --dry-run": f"sage run --dry-run {SYSTEMS}",
    "sage run": f"sage run {SYSTEMS} -t preference {FEW} --out OUT",
    "pteb run --dry-run": f"pteb run --dry-run -p recorded --runs 1 {SYSTEMS}",
    "pteb run": f"pteb run -p recorded --runs 1 {SYSTEMS} -t sts {FEW} --out OUT",
    "rag golden": "rag golden -d sample -j recorded:sample -s wordllama --limit 12 --depth 20 --out OUT",
    "rag score": f"rag score --qrels golden/export/qrels.tsv --run one=run.trec --run two=run.trec {FEW} --out OUT",
    "rag sweep": "rag sweep sweep.yaml --out OUT",
    "rag probe names": f"rag probe names {ENCODER} --queries 4 --runs 1 {FEW} --out OUT",
    "hume score": f"hume score study {ENCODER} {FEW} --out OUT",
}
"""By the words that are printed; OUT is a new folder each time."""
SWEEP = """\
datasets: sample
encoder: wordllama
k: [20]
latency: {queries: 2, warmup: 1, repeats: 1, concurrency: 1}
prices: {date: 2025-11-30}
"""
STARTED = """\
import atexit, os, sys
def told():
    with open(os.environ["LOADED"], "w") as file:
        file.write("\\n".join(sys.modules))
atexit.register(told)
from embassay.cli.main import run
run()
"""


@dataclass(frozen=True)
class Started:
    """One start of a command: CPU seconds, and the modules that its process had loaded at its end."""

    seconds: float
    modules: frozenset[str]

    @property
    def ours(self) -> list[str]:
        """Those of Embassay."""
        return sorted(one for one in self.modules if one.split(".")[0] == "embassay")


def started(words: str, folder: Path) -> Started:
    """Run `embassay` with these words in `folder`. CalledProcessError, with what it said, where it fails."""
    out = tempfile.mkdtemp(dir=folder)
    command = [word.replace("OUT", out) for word in words.split()]
    loaded = folder / "loaded.txt"
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        [sys.executable, "-c", STARTED, *command], cwd=folder, env={**os.environ, "LOADED": str(loaded)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        sys.exit(f"embassay {' '.join(command)}\n{done.stdout}{done.stderr}")
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Started(seconds, frozenset(loaded.read_text().split()))


def prepare(folder: Path) -> dict[str, Started]:
    """Make the study, golden set and runs that the timed commands read; the starts by their first two words."""
    (folder / "sweep.yaml").write_text(SWEEP)
    starts = {" ".join(words.split()[:2]): started(words, folder) for words in PREPARED}
    judged = [line.split("\t") for line in (folder / "golden/export/qrels.tsv").read_text().splitlines()[1:]]
    lines = (f"{query} Q0 {document} {place} {-place} run\n" for place, (query, document, *_) in enumerate(judged))
    (folder / "run.trec").write_text("".join(lines))
    return starts


def main(arguments: list[str] | None = None) -> dict[str, Started]:
    """Print the table; by command the median of its seconds, with the modules of its last start."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="One cold start each.")
    parser.add_argument("--only", default="", help="Commands whose words begin so.")
    parser.add_argument("--modules", action="store_true", help="Also print how many modules of ours, by package.")
    options = parser.parse_args(arguments)
    chosen = {name: words for name, words in COMMANDS.items() if name.startswith(options.only)}
    found = {}
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        prepared = prepare(folder)
        for name, words in chosen.items():
            if options.quick:
                # One start says whether it runs; that of a golden set was needed anyway.
                found[name] = prepared.get(name) or started(words, folder)
                continue
            last = started(words, folder)
            times = [started(words, folder).seconds for _ in range(5)]
            found[name] = Started(statistics.median(times), last.modules)
    show(found)
    if options.modules:
        show_modules(found)
    return found


def show(found: dict[str, Started]) -> None:
    """A row per command."""
    table = Table(title="Starting")
    for heading in ("command", "CPU, s", "modules", "of ours"):
        table.add_column(heading, justify="left" if heading == "command" else "right")
    for name, one in found.items():
        table.add_row(name, f"{one.seconds:.2f}", str(len(one.modules)), str(len(one.ours)))
    Console(width=120).print(table)


def show_modules(found: dict[str, Started]) -> None:
    """The modules of ours by the first three words of their names, and other libraries by their first."""
    for name, one in found.items():
        counts = Counter(".".join(module.split(".")[:3]) for module in one.ours)
        counts += Counter(module.split(".")[0] for module in one.modules if not module.startswith("embassay"))
        print(f"\n{name}\n  " + ", ".join(f"{part} {n}" for part, n in counts.most_common() if n > 2))


if __name__ == "__main__":
    main()
