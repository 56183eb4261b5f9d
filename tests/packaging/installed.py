"""The wheel in a fresh environment of each Python that is here, without extras: it says its version, lists, and runs.

    python tests/packaging/installed.py [--wheel FILE] [--python python3.12]...

Takes every python3.11 to 3.13 of the PATH where none is named, and builds the wheel where none is. The environment's
user has an empty home, and works in a folder of their own. Needs a package index. Prints a table: seconds of installing
and of the run, by the clock, and the size on disk. Exit code 1 where one fails.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path

from environments import ROOT, VERSIONS, Failed, build, fresh, interpreters

RUN = "embassay sage run -s bm25 -s wordllama -d sample --limit 20 --tokenizer words --out first --json"


def tried(wheel: Path, folder: Path, interpreter: str) -> str:
    """A row of the table; raises Failed where something is not as it should be."""
    began = time.monotonic()
    place = fresh(folder, interpreter)
    place.install(str(wheel))
    between = time.monotonic()
    version = wheel.name.split("-")[1]
    shown = place.run("embassay", "--version").strip()
    if version not in shown:
        raise Failed(f"--version says {shown!r}")
    listed = place.run("embassay", "list", "systems")
    if not all(name in listed for name in ("bm25", "wordllama", "minilm")):
        raise Failed(f"list says {listed}")
    place.run("python", "-W", "error", "-c", "import embassay")
    place.run(*RUN.split())
    lines = (place.work / "first" / "results.jsonl").read_text().splitlines()
    rows = [json.loads(line) for line in lines]
    tasks = {row["task"] for row in rows if row["system"] == "wordllama" and row["value"] is not None}
    if not {"preference", "robustness", "sensitivity", "clustering", "retrieval", "overall"} <= tasks:
        raise Failed(f"the run has values for {tasks} only")
    _left_alone(place.folder / "home", place.work)
    size = place.bytes() / 1e6
    return f"{between - began:.1f} | {time.monotonic() - between:.1f} | {len(rows)} | {size:.0f} |"


def _left_alone(home: Path, work: Path) -> None:
    """A run writes into its folder and the cache, and nowhere else."""
    if strays := {path.name for path in work.iterdir()} - {"first"}:
        raise Failed(f"beside the run there are {strays}")
    if strays := {path.name for path in home.iterdir()} - {".cache"}:
        raise Failed(f"at home there are {strays}")


def main() -> int:
    """Try them one after another."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--wheel", type=Path)
    parser.add_argument("--python", action="append", default=[])
    asked = parser.parse_args()
    found = [(path, path) for path in asked.python] or list(interpreters())
    failed = 0
    print("| Python | install s | run s | rows | MB on disk |\n|---|---:|---:|---:|---:|")
    with tempfile.TemporaryDirectory(prefix="installed") as scratch:
        wheel = asked.wheel or build(Path(scratch) / "dist", ROOT, "wheel")[0]
        for version, path in found or [("this one", sys.executable)]:
            try:
                print(f"| {version} | {tried(wheel.resolve(), Path(scratch) / 'place', path)}", flush=True)
            except Failed as fault:
                failed += 1
                print(f"| {version} | failed | | | |\n{fault}", flush=True)
    absent = [version for version in VERSIONS if version not in dict(found)] if not asked.python else []
    if absent:
        print(f"Not here, so not tried: {', '.join(absent)}")
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
