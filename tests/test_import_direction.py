"""Imports point one way, and starting the command line loads nothing heavy."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from source import PACKAGE, on_one_worker, parsed

ROOT_MODULES = {
    *("records", "contracts", "errors", "spec", "registry", "randomness", "compiled", "limits", "parquet", "machine")
}
PARTS = {"measures", "stats", "text", "search", "data", "runs"}
BELOW_PROTOCOLS = ROOT_MODULES | PARTS | {"systems"}
MAY_IMPORT = {
    **dict.fromkeys(ROOT_MODULES | PARTS, ROOT_MODULES),
    "data": ROOT_MODULES | {"text"},
    "systems": ROOT_MODULES | {"text", "search"},
    "protocols": BELOW_PROTOCOLS,
    "doctor": BELOW_PROTOCOLS,
    "document": BELOW_PROTOCOLS | {"protocols"},
    "report": BELOW_PROTOCOLS | {"protocols", "document"},
    "interchange": BELOW_PROTOCOLS | {"protocols"},
    "web": BELOW_PROTOCOLS | {"protocols", "document", "report", "interchange"},
    "cli": BELOW_PROTOCOLS | {"protocols", "doctor", "document", "report", "interchange", "web"},
    "__main__": {"cli"},
    "pytest_plugin": {"errors", "protocols", "runs"},
}
HEAVY = {
    *("numpy", "scipy", "sklearn", "polars", "numba", "torch", "onnxruntime", "onnx", "tokenizers"),
    *("tiktoken", "jinja2", "pydantic", "wordllama", "bm25s", "rapidfuzz", "safetensors"),
    *("pandas", "fastapi", "starlette", "uvicorn", "yaml", "rich", "asyncio"),
}


def _layer(path: Path) -> str:
    """The part of the package a file belongs to; "" for the package's own front, which may import all."""
    return path.relative_to(PACKAGE).with_suffix("").parts[0].removesuffix("__init__")


def _imported(path: Path) -> Iterator[tuple[int, str]]:
    """Line and full name of everything of ours that a file imports, at its top or inside a function."""
    package = ("embassay", *path.relative_to(PACKAGE).parent.parts)
    for node in parsed(path):
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


@on_one_worker
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


PROTOCOLS = ("sage", "pteb", "hteb", "rag", "hume")


def _protocol(module: str) -> str | None:
    """Whose module it is, by its name without the package's; None for what all share."""
    part, _, rest = module.partition(".")
    own = rest.partition(".")[0]
    if part in ("protocols", "report", "cli") and own in PROTOCOLS:
        return own
    return None


def _at_the_top(path: Path) -> Iterator[tuple[int, str]]:
    """What importing the file imports of ours: line, and the module's name without the package's."""
    inside = {
        line
        for node in parsed(path)
        if isinstance(node, ast.FunctionDef) or (isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test))
        for line in range(node.lineno, (node.end_lineno or 0) + 1)
    }
    for line, name in _imported(path):
        words = name.split(".")[1:]
        if line not in inside:
            found = PACKAGE.joinpath(*words)
            yield line, ".".join(words if found.is_dir() or found.with_suffix(".py").exists() else words[:-1])


@on_one_worker
def test_no_protocol_is_imported_at_the_top_of_another_or_of_what_all_share() -> None:
    """A run, and its report, load the modules of one protocol: those of others are imported where they are used."""
    wrong = []
    for part in ("protocols", "report", "cli"):
        for path in sorted((PACKAGE / part).rglob("*.py")):
            own = _protocol(".".join(path.relative_to(PACKAGE).with_suffix("").parts))
            for line, name in _at_the_top(path):
                theirs = _protocol(name)
                if theirs not in (None, own):
                    wrong.append(f"{path.relative_to(PACKAGE)}:{line} imports {name}")
    assert not wrong


FORKED = """\
import atexit, importlib, json, os, sys
for name in ("jinja2", "numba", "pydantic", "rich.progress", "rich.table", "scipy.stats", "typer", "yaml"):
    importlib.import_module(name)
for number, words in enumerate(json.load(sys.stdin)):
    process = os.fork()
    if process == 0:
        sys.argv = ["embassay", *words.split()]
        code = 0
        try:
            importlib.import_module("embassay.cli.main").run()
        except SystemExit as end:
            code = end.code
        with open(f"{number}.json", "w") as file:
            json.dump([code, [one for one in sys.modules if one.startswith("embassay.")]], file)
        atexit._run_exitfuncs()
        os._exit(0)
    os.waitpid(process, 0)
"""
"""Each command line in a process of its own that has only the libraries loaded: its exit code, and modules of ours, in
a file each."""
SYSTEMS = "-s levenshtein -s wordllama --tokenizer words --limit 8"
RUNS = {
    "sage": (f"sage run {SYSTEMS} --resamples 200 --out sage",),
    "pteb": (f"pteb run -p recorded --runs 1 {SYSTEMS} --resamples 200 --out pteb",),
    "hteb": (
        f"hteb run --transformer recorded -t sts --languages reference --runs 1 {SYSTEMS.replace('8', '14')} "
        "--resamples 200 --out hteb",
    ),
    "rag": (
        "rag golden -d sample -j recorded:sample -s wordllama --limit 3 --depth 12 --out golden",
        "rag score --qrels golden/export/qrels.tsv --run one=run.trec --run two=run.trec --resamples 200 --out score",
        "rag sweep sweep.yaml --out sweep",
        "rag probe names -s wordllama --tokenizer words --queries 4 --runs 1 --resamples 200 --out names",
        "rag probe noise -s wordllama --tokenizer words --queries 4 --runs 1 --resamples 200 --out noise",
    ),
    "hume": (
        "hume sample -d sample --lang eng --n 6 --candidates 5 --relevant 2 --out study",
        "hume simulate study",
        "hume score study -s wordllama --tokenizer words --resamples 200 --out hume",
    ),
}
SWEEP = """\
datasets: sample
encoder: wordllama
k: [20]
latency: {queries: 2, warmup: 1, repeats: 1, concurrency: 1}
prices: {date: 2025-11-30}
"""


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """By command line: the modules of ours at its end, named without the package."""
    folder = tmp_path_factory.mktemp("runs")
    (folder / "sweep.yaml").write_text(SWEEP)
    (folder / "run.trec").write_text("law-q3 Q0 law-03#2 1 2.0 run\nlaw-q3 Q0 law-07#2 2 1.0 run\n")
    asked = [words for lines in RUNS.values() for words in lines]
    done = subprocess.run(
        [sys.executable, "-c", FORKED], cwd=folder, input=json.dumps(asked), capture_output=True, text=True, check=True
    )
    told = [json.loads((folder / f"{number}.json").read_text()) for number in range(len(asked))]
    failed = [words for words, (code, _) in zip(asked, told, strict=True) if code]
    assert not failed, f"{failed} {done.stderr}"
    return {
        words: [one.removeprefix("embassay.") for one in modules]
        for words, (_, modules) in zip(asked, told, strict=True)
    }


FAMILY = {"hteb": "pteb"}
"""HTEB succeeds PTEB: a report tells both in one page and one table, so HTEB's reads what PTEB's is made of."""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_run_loads_only_the_modules_of_its_own_protocol(protocol: str, loaded: dict[str, list[str]]) -> None:
    """With its report and what it prints."""
    others: set[str] = set()
    for words in RUNS[protocol]:
        modules = loaded[words]
        assert f"cli.{protocol}" in modules
        others |= {one for one in modules if _protocol(one) not in (None, protocol, FAMILY.get(protocol))}
    assert not others


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


@pytest.mark.slow
@pytest.mark.parametrize("command", ["calibrate", "compare", "data", "gate", "hume", "watch"])
def test_help_of_a_command_waits_for_no_session(command: str) -> None:
    """What carries out a run takes a tenth of a second and more to load; who asks for help has none."""
    told = "import atexit; atexit.register(lambda: print(*sys.modules, file=sys.stderr)); "
    start = f"import sys; sys.argv = ['embassay', {command!r}, '--help']; "
    loaded = _python("-c", f"{start}{told}from embassay.cli.main import run; run()").stderr.split()
    assert "embassay.cli.options" in loaded
    assert not {"embassay.cli.session", "embassay.cli.progress", "sqlite3"} & set(loaded)


@pytest.mark.slow
def test_a_plan_of_little_work_loads_no_machine_code() -> None:
    """What a metric of words says of its own speed is enough there."""
    words = "sage run -s jaccard -s bm25 -s rouge --tokenizer words --dry-run"
    start = f"import sys; sys.argv = ['embassay', *{words.split()}]; from embassay.cli.main import app\n"
    told = "print(*sys.modules, file=sys.stderr)"
    loaded = _python("-c", f"{start}app(standalone_mode=False); {told}").stderr.split()
    assert "embassay.systems.lexical.bm25" in loaded
    assert not {"numba", "scipy", "sklearn", "pandas", "polars"} & set(loaded)


@pytest.mark.slow
def test_help_and_one_command_load_no_other_command() -> None:
    """The list of all commands comes without their modules, and a command's options without those of another."""
    told = "; print(*(one for one in sys.modules if one.startswith('embassay.')), file=sys.stderr)"
    start = "import sys; from embassay.cli.main import app; app({words}, standalone_mode=False)"
    listing = _python("-c", start.format(words=["--help"]) + told).stderr.split()
    assert not [one for one in listing if _protocol(one.removeprefix("embassay."))]
    assert {one for one in listing if one.startswith("embassay.cli.")} == {
        "embassay.cli.terminal", "embassay.cli.main", "embassay.cli.options",
    }  # fmt: skip
    one = _python("-c", start.format(words=["sage", "run", "--help"]) + told).stderr.split()
    assert {_protocol(name.removeprefix("embassay.")) for name in one} == {None, "sage"}


def test_the_list_of_commands_says_what_they_say() -> None:
    """What `embassay --help` says of a command without loading it is the beginning of its own help."""
    from typer.main import get_group
    from typer.testing import CliRunner

    from embassay.cli.main import app, build_app_with_commands

    assert [*get_group(app).commands] == [*get_group(build_app_with_commands()).commands]
    listed, whole = (CliRunner().invoke(one, ["--help"]).output for one in (app, build_app_with_commands()))
    assert listed == whole


def test_a_page_of_every_report_loads_no_statistics_of_scipy() -> None:
    """Every report looks whether systems are watched; `scipy.stats` would be a fifth of the time of `rag score`."""
    report = _python("-X", "importtime", "-c", "import embassay.report.watch.timeline").stderr
    loaded = {line.rpartition("|")[2].strip() for line in report.splitlines()}
    assert "embassay.protocols.watch.impact" in loaded
    assert "scipy.stats" not in loaded
