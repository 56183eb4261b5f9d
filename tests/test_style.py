"""House rules that a linter does not know: sizes, names, and nothing of a machine in the files."""

from __future__ import annotations

import ast
import re
import statistics
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from source import on_one_worker, parsed
from tiers import HERE, read_places

ROOT = Path(__file__).parents[1]
MODULES = sorted((ROOT / "src").rglob("*.py"))
FUNCTION_LINES, USUAL_LINES = 50, 30
VAGUE = {"utils", "util", "helper", "helpers", "manager", "managers", "misc", "common"}

# Written in pieces, so that this file does not hold what it looks for.
HOSTS = ("pypi" ".org", "pythonhosted" ".org", "conda" ".anaconda", "registry.npm" "js")  # fmt: skip
ELSEWHERE = re.compile(
    r"(?<![\w.~*$}/-])/(?:work|root|home|Users|farm)/[\w.]|" + "|".join(rf"\b{re.escape(host)}" for host in HOSTS)
)
TEXT = {".py", ".md", ".toml", ".yml", ".yaml", ".json", ".jsonl", ".html", ".css", ".js", ".txt", ".cfg", ""}


def _functions() -> Iterator[tuple[str, int]]:
    """Where every function is, and its length without its docstring."""
    for path in MODULES:
        for node in parsed(path):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                yield f"{path.relative_to(ROOT)}:{node.lineno} {node.name}", _length(node)


def _length(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    first = node.body[0]
    documented = isinstance(first, ast.Expr) and ast.get_docstring(node, clean=False) is not None
    docstring = _lines(first) if documented else 0
    return _lines(node) - docstring


def _lines(node: ast.stmt) -> int:
    return (node.end_lineno or node.lineno) - node.lineno + 1


def _tracked() -> list[Path]:
    """The files of the repository; everything that looks like one where there is no git."""
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode == 0 and listed.stdout:
        return [ROOT / name for name in listed.stdout.splitlines() if (ROOT / name).is_file()]
    kept = (path for folder in ("src", "tests", "docs", "benchmarks") for path in (ROOT / folder).rglob("*"))
    return [path for path in (*kept, *ROOT.glob("*")) if path.is_file() and "__pycache__" not in path.parts]


@on_one_worker
def test_functions_are_short() -> None:
    """No function is longer than 50 lines without its docstring, and nine in ten have at most 30."""
    lengths = dict(_functions())
    assert not {where: n for where, n in lengths.items() if n > FUNCTION_LINES}
    assert statistics.quantiles(lengths.values(), n=10)[-1] <= USUAL_LINES


def test_modules_are_named_by_a_noun() -> None:
    """No module or folder is a drawer for everything."""
    vague = [path for path in MODULES if VAGUE & {part.removesuffix(".py").strip("_") for part in path.parts}]
    assert not vague


@pytest.mark.parametrize("name", ["quick.txt", "nightly.txt"])
def test_every_place_of_a_tier_exists(name: str) -> None:
    """A test that was renamed would silently move to another tier."""
    gone = []
    for place in read_places(name):
        file, *parts = place.partition("[")[0].split("::")
        path = HERE.parent / file
        written = path.read_text("utf-8") if path.is_file() else ""
        if not path.exists() or not all(re.search(rf"(def|class) {part}\b", written) for part in parts):
            gone.append(place)
    assert not gone


def test_nothing_of_a_machine() -> None:
    """No file names a folder of somebody's machine or a package registry."""
    found = [
        f"{path.relative_to(ROOT)}:{number}: {line[:120]}"
        for path in _tracked()
        if path.suffix in TEXT
        for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), start=1)
        if ELSEWHERE.search(line)
    ]
    assert not found


@pytest.mark.parametrize(
    ("text", "counts"),
    [
        ("open('/home/" "me/data')", True),
        ("cd /work/" "main", True),
        ("pip install --index-url https://pypi." "org/simple", True),
        ("~/work/x", False),
        ("$TMP/home/x", False),
        ("at work/home/office", False),
    ],
)  # fmt: skip
def test_the_search_knows_a_machine(text: str, counts: bool) -> None:
    """The test above would notice, and leaves ordinary text alone."""
    assert bool(ELSEWHERE.search(text)) == counts
