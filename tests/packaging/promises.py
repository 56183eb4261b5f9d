"""What docs/stability.md promises, as one line per name: the package as it is, held against promised.txt.

    python tests/packaging/promises.py            what has changed; exit code 1 where anything has
    python tests/packaging/promises.py --write    that is how it is to be from now on

A line that is new is a promise for a long time; a line that is gone breaks somebody's script.
"""

from __future__ import annotations

import importlib
import inspect
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import fields
from difflib import unified_diff
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

ROOT = Path(__file__).parents[2]
KEPT = Path(__file__).with_name("promised.txt")
MODULES = (
    "embassay",
    *(
        f"embassay.{name}"
        for name in ("data", "interchange", "measures", "report", "search", "stats", "systems", "text")
    ),
    *(f"embassay.protocols.{name}" for name in ("sage", "pteb", "rag", "hume")),
)
"""The modules whose `__all__` is public; what is in no list is not."""
REGISTRIES = {
    "systems": "embassay.systems:SYSTEMS",
    "rerankers": "embassay.systems.rerankers:RERANKERS",
    "indexes": "embassay.search.indexes:INDEXES",
    "perturbations": "embassay.text:PERTURBATIONS",
    "tokenizers": "embassay.text:TOKENIZERS",
    "measures": "embassay.measures:MEASURES",
    "sage tasks": "embassay.protocols.sage:TASKS",
    "pteb tasks": "embassay.protocols.pteb:TASKS",
}


def promises() -> str:
    """Every promise, sorted in its section."""
    sections: dict[str, Callable[[], Iterator[str]]] = {
        "python": _python, "command line": _commands, "exit codes": _exit_codes, "entry points": _groups,
        "names": _names, "environment": _environment, "files of a run": _run,
    }  # fmt: skip
    return "\n".join(
        f"[{name}]\n" + "".join(f"{line}\n" for line in sorted(set(do()))) for name, do in sections.items()
    )


def _python() -> Iterator[str]:
    for path in MODULES:
        module = importlib.import_module(path)
        for name in module.__all__:
            thing = getattr(module, name)
            yield f"{path}.{name}{_called(thing)}"
            if inspect.isclass(thing):
                yield from (f"{path}.{name}.{one}" for one in _members(thing))


def _called(thing: Any) -> str:
    """How it is called: names, kinds and defaults of its arguments. Types may become wider and are left out."""
    if inspect.ismodule(thing) or not (inspect.isfunction(thing) or inspect.isclass(thing)):
        return ""
    try:
        signature = inspect.signature(thing)
    except ValueError:
        return ""
    bare = [
        one.replace(annotation=inspect.Parameter.empty, default=_default(one.default))
        for one in signature.parameters.values()
    ]
    return re.sub(r"<([^>]*)>", r"\1", str(inspect.Signature(bare)))


class _Shown:
    """A default as it is written; that of an object is that there is one."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text


def _default(value: Any) -> Any:
    if value is inspect.Parameter.empty or isinstance(value, str | int | float | bool | type(None)):
        return value
    if isinstance(value, tuple) and all(isinstance(one, str | int | float) for one in value):
        return value
    return _Shown("...")


def _members(thing: type) -> Iterator[str]:
    """The public attributes of a class, of its own and inherited from ours."""
    for base in thing.__mro__:
        if base.__module__.startswith("embassay"):
            yield from (name for name in vars(base) if not name.startswith("_"))
            yield from (name for name in inspect.get_annotations(base) if not name.startswith("_"))


def _commands() -> Iterator[str]:
    reference = _beside("docs", "cli_reference.py")
    for command in reference.commands():
        yield command.path
        for option in command.options:
            yield f"{command.path} {' '.join(option.spellings)}"


def _exit_codes() -> Iterator[str]:
    from embassay import errors

    for name, thing in vars(errors).items():
        if inspect.isclass(thing) and issubclass(thing, errors.EmbassayError):
            yield f"{name} {thing.exit_code}"


def _groups() -> Iterator[str]:
    from embassay.registry import Registry

    for path in sorted((ROOT / "src" / "embassay").rglob("*.py")):
        if "Registry" in path.read_text():
            module = importlib.import_module(
                ".".join(path.relative_to(ROOT / "src").with_suffix("").parts).removesuffix(".__init__")
            )
            yield from (thing.group for thing in vars(module).values() if isinstance(thing, Registry))


def _names() -> Iterator[str]:
    for kind, path in REGISTRIES.items():
        module, _, name = path.partition(":")
        yield from (
            f"{kind}: {entry.name}" for entry in getattr(importlib.import_module(module), name) if not entry.package
        )


def _environment() -> Iterator[str]:
    for path in (ROOT / "src" / "embassay").rglob("*.py"):
        yield from re.findall(r"\"(EMBASSAY_[A-Z]+(?:_[A-Z]+)*)\"", path.read_text())


def _run() -> Iterator[str]:
    """The files of a small run, the keys of its manifest and the columns of its tables."""
    import polars

    from embassay.records import ResultRow

    yield from (f"results.jsonl: {one.name}" for one in fields(ResultRow))
    with tempfile.TemporaryDirectory() as scratch:
        out = Path(scratch, "run")
        command = "sage run -s jaccard -d sample -t preference -t sensitivity --limit 20 --tokenizer words --json"
        subprocess.run(
            [sys.executable, "-m", "embassay", *command.split(), "--out", str(out)],
            check=True, capture_output=True, env={**os.environ, "EMBASSAY_CACHE": scratch},
        )  # fmt: skip
        yield from (f"manifest.json: {key}" for key in json.loads((out / "manifest.json").read_text()))
        for path in out.rglob("*"):
            inner = path.relative_to(out)
            if path.is_file() and inner.parts[0] not in (".lock", "cells", "logs"):
                yield f"file: {inner.as_posix()}"
            if path.suffix == ".parquet":
                yield from (f"{inner.parts[0]}: {column}" for column in polars.read_parquet_schema(path))
        for path in out.glob("tables/*.csv"):
            yield from (f"{path.name}: {column}" for column in polars.read_csv(path, infer_schema=False).columns)


def _beside(*parts: str) -> ModuleType:
    path = Path(__file__).parents[1].joinpath(*parts)
    spec = spec_from_file_location(path.stem, path)
    assert spec
    assert spec.loader
    module = module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def changes() -> list[str]:
    """The lines that differ from what is kept: `-` is gone, `+` is new."""
    lines = unified_diff(KEPT.read_text().splitlines(), promises().splitlines(), lineterm="", n=0)
    return [line for line in lines if line[:1] in "+-" and line[:3] not in ("+++", "---")]


def main() -> int:
    """Show what has changed, or keep it."""
    if sys.argv[1:] == ["--write"]:
        KEPT.write_text(promises())
        return 0
    print("\n".join(found := changes()) or "All that is promised is there, and nothing else.")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
