"""Coverage-guided fuzzing of everything that reads what others wrote (the targets of tests/fuzz).

    pip install 'semblance-eval[fuzz]'
    python benchmarks/fuzz_parsers.py --seconds 120 --out fuzzing [--target NAME]... [--jobs 2]

Runs each target in a process of its own for so many seconds, from its seeds and what earlier runs kept in OUT/corpus.
Each different fault (its kind and the line of ours that it comes from) is kept once in OUT/faults with its traceback,
and the fuzzing goes on behind it. Prints a table; exit code 1 where there are faults.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import time
import traceback
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).parents[1]
_TOLD = re.compile(r"#(\d+)\s+(?:DONE|pulse|NEW|REDUCE|RELOAD).*?cov: (\d+)")


def main() -> int:
    """Fuzz, here or in a process per target."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--out", type=Path, default=Path("fuzzing"))
    parser.add_argument("--target", action="append", default=[])
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--here", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    sys.path.insert(0, str(ROOT / "tests"))
    if asked.here:
        _fuzz(asked.here, asked.seconds, asked.out)
        return 0
    return _all(asked.target, asked.seconds, asked.out, asked.jobs)


def _all(chosen: Sequence[str], seconds: int, out: Path, jobs: int) -> int:
    from fuzz.targets import TARGETS

    names = chosen or [target.name for target in TARGETS]
    print("| Target | inputs | edges | seconds | faults |\n|---|---:|---:|---:|---:|")
    found = 0
    with ThreadPoolExecutor(jobs) as pool:
        for name, line in zip(
            names, pool.map(lambda one: _in_process(one, seconds, out), names), strict=True
        ):
            faults = len(list(_folder(out / "faults", name).glob("*.txt")))
            found += faults
            print(f"| {name} | {line} | {faults} |", flush=True)
    return int(found > 0)


def _in_process(name: str, seconds: int, out: Path) -> str:
    start = time.perf_counter()
    command = [sys.executable, __file__, "--here", name, "--seconds", str(seconds), "--out", str(out)]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace")
    told = _TOLD.findall(done.stderr)
    if done.returncode:
        # The process itself died: out of memory, a hang, a fault in machine code.
        where = _folder(out / "faults", name)
        where.mkdir(parents=True, exist_ok=True)
        (where / f"process-{done.returncode}.txt").write_text(done.stderr[-20_000:])
    inputs, edges = told[-1] if told else ("?", "?")
    return f"{int(inputs):,} | {edges} | {time.perf_counter() - start:.0f}" if told else f"? | ? | {seconds}"


def _fuzz(name: str, seconds: int, out: Path) -> None:
    import atheris

    with atheris.instrument_imports(include=["semblance"], enable_loader_override=False):
        from fuzz.targets import TARGETS
    target = next(one for one in TARGETS if one.name == name)
    corpus, faults = _folder(out / "corpus", name), _folder(out / "faults", name)
    for folder in (corpus, faults):
        folder.mkdir(parents=True, exist_ok=True)
    with atheris.instrument_imports(include=["semblance"], enable_loader_override=False):
        # Loads what the target imports when it is first called.
        for number, seed in enumerate(target.all_seeds()):
            target(seed)
            (corpus / f"seed{number}").write_bytes(seed)
    words = out / f"{name.replace(' ', '_')}.dict"
    words.write_text("".join(f'"{_escaped(word)}"\n' for word in target.words or ("\n",)))
    seen: set[str] = {path.stem for path in faults.glob("*.txt")}

    def once(content: bytes) -> None:
        try:
            target(content)
        except Exception as error:
            _keep(error, content, faults, seen)

    options = [
        f"-max_total_time={seconds}",
        "-max_len=4096",
        "-timeout=20",
        "-rss_limit_mb=4096",
        f"-dict={words}",
    ]
    atheris.Setup([sys.argv[0], *options, f"-artifact_prefix={faults}/", str(corpus)], once)
    atheris.Fuzz()


def _keep(error: Exception, content: bytes, faults: Path, seen: set[str]) -> None:
    frames = [one for one in traceback.extract_tb(error.__traceback__) if "semblance" in one.filename]
    where = f"{Path(frames[-1].filename).stem}-{frames[-1].lineno}" if frames else "nowhere"
    name = f"{type(error).__name__}-{where}"
    if name in seen:
        return
    seen.add(name)
    (faults / f"{name}.bin").write_bytes(content)
    (faults / f"{name}.txt").write_text("".join(traceback.format_exception(error)), errors="replace")


def _folder(parent: Path, name: str) -> Path:
    return parent / name.replace(" ", "_")


def _escaped(word: str) -> str:
    return "".join(f"\\x{byte:02x}" for byte in word.encode("utf-8", "surrogatepass"))


if __name__ == "__main__":
    sys.exit(main())
