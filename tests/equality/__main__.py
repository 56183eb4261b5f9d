"""Hold the ten runs, or those that are named, against their records; or write the records anew.

PYTHONPATH=src:tests python -m equality [NAME ...]      exit code 1 where a byte differs
PYTHONPATH=src:tests python -m equality --write         that is how it is to be from now on
PYTHONPATH=src:tests python -m equality --into FOLDER   write what is compared, to `diff -r` two checkouts
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path

from equality.record import FOLDER, differences, files_of, record_of
from equality.runs import RUNS, make


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(RUNS))
    parser.add_argument("--write", action="store_true", help="write the records")
    parser.add_argument("--into", type=Path, help="a folder for the lines that are compared")
    parser.add_argument("--workers", type=int, default=1, help="for the runs whose command has the option")
    given = parser.parse_args()
    said = []
    for name in given.names or RUNS:
        more = ("--workers", str(given.workers)) if RUNS[name].workers and given.workers > 1 else ()
        with tempfile.TemporaryDirectory() as folder:
            files = files_of(name, make(name, Path(folder), *more))
        for place, lines in files.items() if given.into else ():
            path = given.into / name / f"{place}.txt"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("\n".join(lines) + "\n", encoding="utf-8", errors="surrogatepass")
        if given.write:
            write(name, record_of(files))
        elif not given.into:
            said += differences(name, read(name), files)
    print("\n".join(said), end="\n" if said else "")
    return bool(said)


def read(name: str) -> dict:
    """The record of a run."""
    return json.loads((FOLDER / f"{name}.json").read_text("utf-8"))


def write(name: str, record: dict) -> None:
    """Keep the record of a run, a line for each file and each result, so that a change of it can be read."""
    FOLDER.mkdir(exist_ok=True)
    parts = [f'"arithmetic": {json.dumps(record["arithmetic"])}']
    files = [f"{json.dumps(place)}: {json.dumps(one)}" for place, one in record["files"].items()]
    parts.append('"files": {\n' + ",\n".join(files) + "\n}")
    rows = [json.dumps(row, ensure_ascii=False) for row in record["results"]]
    parts.append('"results": [\n' + ",\n".join(rows) + "\n]")
    (FOLDER / f"{name}.json").write_text("{" + ",\n".join(parts) + "}\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
