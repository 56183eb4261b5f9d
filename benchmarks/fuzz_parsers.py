"""Coverage-guided fuzzing of everything that reads what others wrote (the targets of tests/fuzz).

    pip install 'embassay[fuzz]'
    python benchmarks/fuzz_parsers.py --minutes 60 --out fuzzing [--target NAME]... [--jobs 2]

Spreads the minutes, of processor time, evenly over the targets. Each runs in a process of its own, from its seeds and
what earlier runs kept in OUT/corpus. Each different fault (its kind and the line of ours that it comes from; an input
that takes longer than 5 s of processor time; one that ends the process or takes more than 1 GiB) is kept once in
OUT/faults with its traceback, and the fuzzing goes on behind it. Prints a table in Markdown; exit code 1 where there
are faults.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import time
import traceback
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
HANG = 5.0
"""Seconds of processor time that one input may take."""
_MEMORY = 1024
"""MiB beside those that a process has once everything is loaded."""
_DEATHS = 20
"""Times that a target's process may die before it is left alone."""


@dataclass
class Count:
    """What became of a target: inputs tried, those that reached something new, processor seconds."""

    inputs: int = 0
    paths: int = 0
    seconds: float = 0.0


def main() -> int:
    """Fuzz, here or in a process per target."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--minutes", type=float, default=60.0, help="of processor time, all targets together")
    parser.add_argument("--out", type=Path, default=Path("fuzzing"))
    parser.add_argument("--target", action="append", default=[])
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--here", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    sys.path.insert(0, str(ROOT / "tests"))
    if asked.here:
        _fuzz(asked.here, 60 * asked.minutes, asked.out)
        return 0
    return _all(asked.target, asked.minutes, asked.out, asked.jobs)


def _all(chosen: Sequence[str], minutes: float, out: Path, jobs: int) -> int:
    from fuzz.targets import TARGETS

    names = chosen or [target.name for target in TARGETS]
    each = 60 * minutes / len(names)
    print("| Target | CPU seconds | Inputs | New paths | Faults |\n|---|---:|---:|---:|---:|")
    out.mkdir(parents=True, exist_ok=True)
    total, found = Count(), 0
    with ThreadPoolExecutor(jobs) as pool:
        working = {pool.submit(_in_processes, name, each, out): name for name in names}
        for one in as_completed(working):
            name, count = working[one], one.result()
            faults = len(list(_folder(out / "faults", name).glob("*.txt")))
            found += faults
            total = Count(total.inputs + count.inputs, total.paths + count.paths, total.seconds + count.seconds)
            print(f"| {name} | {count.seconds:.0f} | {count.inputs:,} | {count.paths:,} | {faults} |", flush=True)
    print(f"| all {len(names)} | {total.seconds:.0f} | {total.inputs:,} | {total.paths:,} | {found} |")
    return int(found > 0)


def _in_processes(name: str, seconds: float, out: Path) -> Count:
    """Fuzz until the seconds are spent; a process that dies is followed by another."""
    total = Count()
    for death in range(_DEATHS):
        left = seconds - total.seconds
        if left < 1:
            break
        command = [sys.executable, __file__, "--here", name, "--minutes", str(left / 60), "--out", str(out)]
        told = out / f"{name.replace(' ', '_')}.log"
        with told.open("wb") as log:
            process = subprocess.Popen(command, stdout=log, stderr=log)
            _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        count = _read(out, name)
        total = Count(
            total.inputs + count.inputs, total.paths + count.paths, total.seconds + used.ru_utime + used.ru_stime
        )
        if process.returncode:
            where = _folder(out / "faults", name)
            where.mkdir(parents=True, exist_ok=True)
            said = told.read_text("utf-8", errors="replace")
            (where / f"process-{process.returncode}-{death}.txt").write_text(said[-20_000:], errors="replace")
    return total


def _fuzz(name: str, seconds: float, out: Path) -> None:
    import atheris

    # Compilers of numerical code cannot read what is watched.
    os.environ["NUMBA_DISABLE_JIT"] = "1"
    with atheris.instrument_imports(include=["embassay"], enable_loader_override=False):
        from fuzz.targets import TARGETS
    target = next(one for one in TARGETS if one.name == name)
    corpus, faults = _folder(out / "corpus", name), _folder(out / "faults", name)
    for folder in (corpus, faults):
        folder.mkdir(parents=True, exist_ok=True)
    with atheris.instrument_imports(include=["embassay"], enable_loader_override=False):
        # Loads what the target imports when it is first called.
        for number, seed in enumerate(target.all_seeds()):
            target(seed)
            (corpus / f"seed{number}").write_bytes(seed)
    words = out / f"{name.replace(' ', '_')}.dict"
    words.write_text("".join(f'"{_escaped(word)}"\n' for word in target.words or ("\n",)))
    seen: set[str] = {path.stem for path in faults.glob("*.txt")}
    before, count, told = len(list(corpus.iterdir())), Count(), 0.0

    def once(content: bytes) -> None:
        nonlocal told
        count.inputs += 1
        try:
            with _watched():
                target(content)
        except Exception as error:
            _keep(error, content, faults, seen)
        now = time.process_time()
        if now >= told + 1 or now >= seconds:
            told = now
            count.paths = len(list(corpus.iterdir())) - before
            _write(out, name, count)
        if now >= seconds:
            sys.stderr.flush()
            os._exit(0)

    # The time that counts is the processor's, which is looked at above; these are for what never comes back.
    options = [
        "-max_len=4096", "-timeout=120", f"-rss_limit_mb={_memory() + _MEMORY}", f"-dict={words}",
        f"-artifact_prefix={faults}/",
    ]  # fmt: skip
    atheris.Setup([sys.argv[0], *options, str(corpus)], once)
    atheris.Fuzz()


class Hang(Exception):
    """An input took too long."""


@contextmanager
def _watched() -> Iterator[None]:
    start = time.process_time()
    yield
    used = time.process_time() - start
    if used > HANG:
        raise Hang(f"{used:.1f} s of processor time")


def _memory() -> int:
    """MiB that this process has had at most."""
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def _keep(error: Exception, content: bytes, faults: Path, seen: set[str]) -> None:
    frames = [one for one in traceback.extract_tb(error.__traceback__) if "embassay" in one.filename]
    where = f"{Path(frames[-1].filename).stem}-{frames[-1].lineno}" if frames else "nowhere"
    name = f"{type(error).__name__}-{where}"
    if name in seen:
        return
    seen.add(name)
    (faults / f"{name}.bin").write_bytes(content)
    (faults / f"{name}.txt").write_text("".join(traceback.format_exception(error)), errors="replace")


def _write(out: Path, name: str, count: Count) -> None:
    (out / f"{name.replace(' ', '_')}.json").write_text(json.dumps(vars(count)))


def _read(out: Path, name: str) -> Count:
    path = out / f"{name.replace(' ', '_')}.json"
    if not path.exists():
        return Count()
    count = Count(**json.loads(path.read_text()))
    path.unlink()
    return count


def _folder(parent: Path, name: str) -> Path:
    return parent / re.sub(r"\W", "_", name)


def _escaped(word: str) -> str:
    return "".join(f"\\x{byte:02x}" for byte in word.encode("utf-8", "surrogatepass"))


if __name__ == "__main__":
    sys.exit(main())
