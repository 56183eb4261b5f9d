"""The page's modules as one script, for a file that can load no other."""

from __future__ import annotations

import re
from functools import lru_cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

STATIC = Path(__file__).parent / "static"
"""The folder of scripts and style that a server gives out as `/static/`."""
_START = "main.js"
_IMPORT = re.compile(r'^import (\{[^}]*\}) from "\./([\w-]+\.js)";$', re.MULTILINE)
_EXPORT = re.compile(r"^export ((?:async )?(?:function|class|const|let) ([\w$]+))", re.MULTILINE)


@lru_cache(maxsize=2)
def in_order(folder: Path) -> tuple[Path, ...]:
    """The modules that the first one needs, each after those that it imports."""
    needs: dict[str, tuple[str, ...]] = {}
    waiting = [_START]
    while waiting:
        name = waiting.pop()
        if name not in needs:
            needs[name] = tuple(used for _, used in _IMPORT.findall((folder / name).read_text("utf-8")))
            waiting += needs[name]
    try:
        return tuple(folder / name for name in TopologicalSorter(needs).static_order())
    except CycleError as error:
        raise ValueError(f"Modules import each other: {error.args[1]}") from None


def bundle(folder: Path = STATIC) -> str:
    """All modules one after the other, each a function that gives what it exports, so that no name meets another's."""
    parts = ['"use strict";\nconst modules = {};', *(_as_function(path) for path in in_order(folder))]
    return "\n".join(parts) + "\n"


def _as_function(path: Path) -> str:
    text = path.read_text("utf-8")
    given = ", ".join(name for _, name in _EXPORT.findall(text))
    body = _EXPORT.sub(r"\1", _IMPORT.sub(r'const \1 = modules["\2"];', text)).strip()
    return f'modules["{path.name}"] = (() => {{\n{body}\nreturn {{ {given} }};\n}})();'
