"""The fast tests with the lowest and with the newest versions of every dependency, each in a fresh environment.

    python tests/packaging/versions.py [--only lowest|newest] [PYTEST ARGUMENT]...

The lowest are those that pyproject.toml allows, on the oldest Python that is here; the newest those that the index has,
on the newest Python. Needs uv, which can resolve to the lowest, and a package index. Exit code 1 where one fails.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from environments import MINILM, ROOT, Environment, fresh, interpreters, quickly

EXTRAS = "ann,onnx,llm,static,test"
"""What `make test` has beside the core."""
RESOLUTIONS = {"lowest": ("--resolution", "lowest-direct"), "newest": ("--upgrade",)}
NAMED = ("numpy", "scipy", "scikit-learn", "polars", "pandas", "datasketch", "pydantic", "openai", "httpx2")
"""The packages whose versions are printed."""
_VERSIONS = """
import sys
from importlib import metadata
here = {one.name: one.version for one in metadata.distributions()}
print(", ".join(f"{name} {here[name]}" for name in sys.argv[1:] if name in here))
"""


def installed(which: str, folder: Path, interpreter: str) -> Environment | None:
    """An environment with the checkout and the versions that `which` asks for; None where uv finds none."""
    place = fresh(folder, interpreter)
    asked = ["--editable", f"{ROOT}[{EXTRAS}]"]
    # Nothing of ours asks for pandas, but its frames are read.
    if which == "newest":
        asked.append("pandas")
    done = quickly(place.python, *RESOLUTIONS[which], *asked) and quickly(place.python, "--no-deps", MINILM)
    return place if done else None


def passes(place: Environment, arguments: Sequence[str]) -> bool:
    """Whether the fast tests pass there."""
    command = [
        *(str(place.python), "-m", "pytest", "-n", "auto", "--dist", "loadgroup"),
        *("-m", "not slow and not nightly", *arguments),
    ]
    return subprocess.run(command, cwd=ROOT, check=False).returncode == 0


def main() -> int:
    """Try both, or the one that is asked for."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--only", choices=tuple(RESOLUTIONS))
    asked, arguments = parser.parse_known_args()
    found = list(interpreters()) or [("this one", sys.executable)]
    pythons = {"lowest": found[0], "newest": found[-1]}
    failed = 0
    with tempfile.TemporaryDirectory(prefix="versions") as scratch:
        for which in [asked.only] if asked.only else RESOLUTIONS:
            version, path = pythons[which]
            place = installed(which, Path(scratch) / which, path)
            if place is None:
                failed += 1
                print(f"{which}: cannot be installed with Python {version}", flush=True)
                continue
            print(f"{which}: Python {version}, {place.run('python', '-c', _VERSIONS, *NAMED).strip()}", flush=True)
            failed += not passes(place, arguments)
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
