"""`uvx embassay demo` from the wheel as on an empty machine: no variables, an empty home, no compiler, no checkout.

    python tests/packaging/empty_machine.py [--wheel FILE] [--python python3.13]

Builds the wheel where none is named. Needs uv and a package index. The PATH holds hardly more than uv, and uv may build
nothing, so that every dependency has to have a wheel for this machine. Prints the seconds it took, and what was
installed. Exit code 1 where the demo fails, leaves no report, or has no values of the bundled neural model.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

from environments import ROOT, Failed, build, empty_machine, interpreters

DEAD = ("toml", "httpx", "cwl-eval", "wordllama")
"""What must not come along any more."""


def tried(wheel: Path, folder: Path, interpreter: str) -> str:
    """What the demo says at its end; raises Failed where something is not as it should be."""
    machine = empty_machine(folder)
    said = machine.uvx(wheel, interpreter, "embassay", "demo", "--out", "demo")
    report = machine.work / "demo" / "report.html"
    if not report.is_file() or "wordllama" not in said:
        raise Failed(f"the demo leaves no report, or has nothing to say of wordllama:\n{said}")
    listed = machine.uvx(wheel, interpreter, "python", "-c", _LISTED).split()
    if strays := [name for name in DEAD if name in listed]:
        raise Failed(f"there came along {', '.join(strays)}")
    size = report.stat().st_size / 1e6
    return f"{len(listed)} packages, a report of {size:.1f} MB"


_LISTED = "from importlib.metadata import distributions; print(*(one.name.lower() for one in distributions()))"


def main() -> int:
    """Try it."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--wheel", type=Path)
    parser.add_argument("--python", default="")
    asked = parser.parse_args()
    found = [path for _, path in interpreters()] or [sys.executable]
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="empty") as scratch:
        wheel = asked.wheel or build(Path(scratch) / "dist", ROOT, "wheel")[0]
        try:
            found_there = tried(wheel.resolve(), Path(scratch) / "machine", asked.python or found[-1])
        except Failed as fault:
            print(f"uvx embassay demo failed:\n{fault}")
            return 1
    print(f"uvx embassay demo: {time.monotonic() - began:.0f} s, {found_there}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
