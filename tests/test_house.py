"""The house: how many modules there are, how large, in which rooms, and under which names.

The package was once cut into many small files. `BEHIND` holds what is not yet as the rules ask, in numbers that may
only fall: lower them with every merge, never raise one.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from functools import cache
from pathlib import Path

from source import on_one_worker, parsed

PACKAGE = Path(__file__).parents[1] / "src" / "embassay"
MODULES = sorted(PACKAGE.rglob("*.py"))
NAMED = [path for path in MODULES if path.name != "__init__.py"]
IN_A_FOLDER = 15
LEAST = 60
"""Lines of code below which a module is a part of another."""
ONE_VENDOR_A_FILE = {"systems/encoders", "systems/rerankers", "systems/chat"}
REGISTERED = {*ONE_VENDOR_A_FILE, "systems/lexical", "search/indexes", "protocols/tasks", "cli"}
"""Folders whose modules are each a thing of a registry, or a command: such a one may be small."""
OF_A_PROTOCOL = {"protocol", "tables", "conclusions", "options"}
"""Names that every protocol and report may have."""
FIELD = {
    *("chunking", "clustering", "encoding", "golden", "paraphrasing", "ranking", "reranking", "resampling", "routing"),
    *("sampling", "scoring", "training", "weighting", "wording", "heading", "reading", "string"),
    *("ceiling", "recording", "spending", "mixed"),
}  # fmt: skip
"""Nouns of the field that end like participles."""
BEHIND = {
    "files": 594,
    "modules under 60 lines of code": 30,
    "names that are no nouns": 2,
    "names that occur twice in a part": 4,
    "modules above 15 in a folder": 0,
}


@cache
def _code_lines(path: Path) -> int:
    """Lines that hold code: no docstring, comment or blank."""
    written = path.read_text(encoding="utf-8").splitlines()
    lines = {n for n, line in enumerate(written, 1) if line.strip() and not line.lstrip().startswith("#")}
    for node in parsed(path):
        if (
            isinstance(node, ast.Expr)
            and isinstance(node.value, ast.Constant)
            and isinstance(node.value.value, str)
        ):
            lines -= set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return len(lines)


def _folder(path: Path) -> str:
    return path.parent.relative_to(PACKAGE).as_posix()


def _part(path: Path) -> str:
    """The part of the package that a module belongs to; every protocol and every protocol's report is one."""
    parts = path.relative_to(PACKAGE).parts[:-1]
    return "/".join(parts[:2] if parts[:1] in {("protocols",), ("report",), ("web",)} else parts[:1])


def _small() -> list[Path]:
    return [
        path
        for path in NAMED
        if _code_lines(path) < LEAST
        and _folder(path) not in REGISTERED
        and path.name != "__main__.py"
        and path.stem not in OF_A_PROTOCOL
    ]


def _above() -> int:
    folders = Counter(_folder(path) for path in NAMED if _folder(path) not in ONE_VENDOR_A_FILE)
    return sum(max(n - IN_A_FOLDER, 0) for n in folders.values())


def _twice() -> int:
    names = Counter(
        (_part(path), path.stem)
        for path in NAMED
        if _folder(path) not in ONE_VENDOR_A_FILE and path.stem not in OF_A_PROTOCOL
    )
    return sum(n - 1 for n in names.values())


def _no_nouns() -> list[str]:
    return [
        path.relative_to(PACKAGE).as_posix()
        for path in NAMED
        if path.stem not in FIELD
        and re.search(r"(ing|[^e]ed)$|^(again|found|lost|kept|beside|among|beyond)$", path.stem)
    ]


@on_one_worker
def test_the_house_only_gets_better() -> None:
    """Nothing that is behind the rules falls further behind."""
    now = {
        "files": len(MODULES),
        "modules under 60 lines of code": len(_small()),
        "names that are no nouns": len(_no_nouns()),
        "names that occur twice in a part": _twice(),
        "modules above 15 in a folder": _above(),
    }
    assert not {what: (n, BEHIND[what]) for what, n in now.items() if n > BEHIND[what]}


def test_no_module_is_too_long() -> None:
    """A module holds one idea in at most 500 lines of code."""
    assert not {path.name: n for path in NAMED if (n := _code_lines(path)) > 500}


def test_every_module_says_what_it_holds() -> None:
    """In a docstring, whose first paragraph is one sentence or two."""
    assert not [path.name for path in NAMED if not ast.get_docstring(ast.Module(list(_body(path)), []))]


def _body(path: Path) -> list[ast.stmt]:
    """The statements of a file."""
    return next(node for node in parsed(path) if isinstance(node, ast.Module)).body
