"""Imports point one way, and starting the command line loads nothing heavy."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "src" / "embassay"
ROOT_MODULES = {
    *(
        "records",
        "contracts",
        "errors",
        "spec",
        "registry",
        "randomness",
        "compiled",
        "limits",
        "bounded",
        "parquet",
    ),
    *("accelerator", "folders"),
}
PARTS = {"measures", "stats", "text", "search", "data", "runs"}
BELOW_PROTOCOLS = ROOT_MODULES | PARTS | {"systems"}
MAY_IMPORT = {
    **dict.fromkeys(ROOT_MODULES | PARTS, ROOT_MODULES),
    "systems": ROOT_MODULES | {"text", "search"},
    "protocols": BELOW_PROTOCOLS,
    "doctor": BELOW_PROTOCOLS,
    "report": BELOW_PROTOCOLS | {"protocols"},
    "interchange": BELOW_PROTOCOLS | {"protocols"},
    "web": BELOW_PROTOCOLS | {"protocols", "report", "interchange"},
    "cli": BELOW_PROTOCOLS | {"protocols", "doctor", "report", "interchange", "web"},
    "__main__": {"cli"},
}
HEAVY = {
    *("numpy", "scipy", "sklearn", "polars", "numba", "torch", "onnxruntime", "onnx", "tokenizers"),
    *("tiktoken", "jinja2", "pydantic", "wordllama", "bm25s", "rapidfuzz", "safetensors"),
}


def _layer(path: Path) -> str:
    """The part of the package a file belongs to; "" for the package's own front, which may import all."""
    return path.relative_to(PACKAGE).with_suffix("").parts[0].removesuffix("__init__")


def _imported(path: Path) -> Iterator[tuple[int, str]]:
    """Line and full name of everything of ours that a file imports, at its top or inside a function."""
    package = ("embassay", *path.relative_to(PACKAGE).parent.parts)
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else ()
            origin = ".".join((*above, *([node.module] if node.module else [])))
            names = [f"{origin}.{alias.name}" for alias in node.names]
        else:
            continue
        yield from ((node.lineno, name) for name in names if name.split(".")[0] == "embassay")


def test_every_part_has_its_place() -> None:
    """A new folder or module at the top of the package must be given its place in the order of imports."""
    entries = [path for path in PACKAGE.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()]
    unknown = {path.stem for path in entries} - {*MAY_IMPORT, "__init__"}
    assert not unknown, f"say in MAY_IMPORT what these may import: {sorted(unknown)}"


def test_imports_point_one_way() -> None:
    """A part imports only the parts below it and itself; what is inside a function counts too."""
    wrong = [
        f"{path.relative_to(PACKAGE)}:{line} imports {name}"
        for path in sorted(PACKAGE.rglob("*.py"))
        for line, name in _imported(path)
        if (part := name.split(".")[1] if "." in name else "") in MAY_IMPORT and part not in _allowed(path)
    ]
    assert not wrong


def _allowed(path: Path) -> set[str]:
    layer = _layer(path)
    return MAY_IMPORT.get(layer, set(MAY_IMPORT)) | {layer}


def test_the_walk_sees_imports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The test above would notice: absolute, relative and nested imports are all found."""
    monkeypatch.setitem(globals(), "PACKAGE", tmp_path)
    (tmp_path / "text").mkdir()
    module = tmp_path / "text" / "x.py"
    module.write_text(
        "import embassay.cli.main\nfrom embassay import report\nfrom ..stats import a\nfrom . import b\n"
        "def f():\n    from embassay.data.views import c\nimport json\n"
    )
    assert [name for _, name in _imported(module)] == [
        "embassay.cli.main",
        "embassay.report",
        "embassay.stats.a",
        "embassay.text.b",
        "embassay.data.views.c",
    ]


def _python(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, check=True)


HELP = "import sys; sys.argv = ['embassay', '--help']; from embassay.cli.main import run; run()"
STARTS = {"import": "import embassay.cli.main", "help": HELP, "package": "import embassay"}


@pytest.mark.parametrize("code", STARTS.values(), ids=STARTS)
def test_starting_loads_nothing_heavy(code: str) -> None:
    """Importing the command line, or asking for help, loads none of the numeric and model libraries."""
    report = _python("-X", "importtime", "-c", code).stderr
    loaded = {line.rpartition("|")[2].strip().split(".")[0] for line in report.splitlines()}
    assert "embassay" in loaded
    assert not loaded & HEAVY


@pytest.mark.skipif(os.name == "nt", reason="no CPU time of children on Windows")
def test_help_takes_under_a_third_of_a_second() -> None:
    """`embassay --help` costs less than 0.3 s of CPU, the best of five starts."""
    import resource

    def seconds() -> float:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = _python("-c", HELP)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        assert "sage" in done.stdout
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    assert min(seconds() for _ in range(5)) < 0.3
