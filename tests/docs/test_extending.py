"""The package of docs/extending.md, made of the page's own blocks, installed and used from outside."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from embassay.protocols.kernel.tables import Column, ColumnTable
from page_examples import declared_protocol

PAGE = Path(__file__).parents[2] / "docs" / "extending.md"
BLOCK = re.compile(r"^<!-- package -->\n(?:<!-- run -->\n)?```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
TICKETS = "body,queue\nno invoice came,billing\nit crashes,fault\nI paid twice,billing\nno login,fault\n"
GROUPS = {
    "systems": "letters",
    "datasets": "tickets",
    "perturbations": "drop_vowels",
    "measures": "Exact",
    "tasks": "sts_one_side",
    "rerankers": "shortest",
    "llms": "parrot",
}
USE = """
from embassay.measures import MEASURES
from embassay.text import PERTURBATIONS, perturb
from embassay.systems.rerankers import RERANKERS
print(MEASURES.build("Exact")(["a", "b"], ["a", "c"]))
edit = PERTURBATIONS.build("drop_vowels")
print(perturb(edit, "banana", seed=1, text_id="x") == perturb(edit, "banana", seed=1, text_id="x"))
print(RERANKERS.build("shortest").score("q", ["long", "x"]).tolist())
import asyncio
from embassay.contracts import ChatMessage
from embassay.systems.chat import open_chat
print(asyncio.run(open_chat("parrot").complete([ChatMessage("user", "hello")])).text)
"""


def _blocks(kind: str) -> list[str]:
    return [code for found, code in BLOCK.findall(PAGE.read_text(encoding="utf-8")) if found == kind]


def _environment(target: Path) -> dict[str, str]:
    path = os.pathsep.join(filter(None, [str(target), os.environ.get("PYTHONPATH")]))
    return os.environ | {"PYTHONPATH": path, "COLUMNS": "200"}


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder the package is installed in."""
    home = tmp_path_factory.mktemp("extending")
    source = home / "my-package" / "my_package"
    source.mkdir(parents=True)
    (source / "__init__.py").write_text("\n".join(_blocks("python")), encoding="utf-8")
    (source / "tickets.csv").write_text(TICKETS, encoding="utf-8")
    (toml,) = _blocks("toml")
    (source.parent / "pyproject.toml").write_text(toml, encoding="utf-8")
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation", "--no-index"]
    installed = home / "installed"
    subprocess.run(
        [*command, "--target", str(installed), str(source.parent)], check=True, capture_output=True, text=True
    )
    return installed


@pytest.fixture
def embassay(warm: Any) -> Callable[..., subprocess.CompletedProcess[str]]:
    """`embassay ARGUMENTS` where a package lies in the folder `target`, beside it."""

    def run(target: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*warm.command, *arguments], env=_environment(target), cwd=target.parent, capture_output=True, text=True,
            check=False,
        )  # fmt: skip

    return run


POINTS = re.compile(r'^```toml\n(\[project.entry-points."embassay.protocols"\]\n.*?)^```$', re.MULTILINE | re.DOTALL)


def test_a_protocol_takes_under_120_lines() -> None:
    """The whole declaration."""
    assert len([line for line in declared_protocol().splitlines() if line.strip()]) < 120


@pytest.mark.slow
def test_a_protocol_of_another_package(tmp_path: Path, embassay: Any) -> None:
    """It is listed, carried out, resumed, spread over workers, compared, reported and exported, as any other."""
    target = tmp_path / "installed"
    facts = target / "shout-1.0.dist-info"
    facts.mkdir(parents=True)
    (target / "shout.py").write_text(declared_protocol(), encoding="utf-8")
    (facts / "METADATA").write_text("Metadata-Version: 2.1\nName: shout\nVersion: 1.0\n")
    (points,) = POINTS.findall(PAGE.read_text(encoding="utf-8"))
    (facts / "entry_points.txt").write_text(points.replace("project.entry-points.", "").replace('"', ""))
    for what in ("protocols", "pages"):
        assert "from the package shout" in embassay(target, "list", what).stdout
    common = ("run", "shout", "-s", "jaccard", "-s", "levenshtein", "--tokenizer", "words", "-o", "marks=2")
    for out, workers in (("one", "1"), ("two", "2")):
        done = embassay(target, *common, "--workers", workers, "--out", out)
        assert done.returncode == 0, done.stderr
    one, two = ((tmp_path / out / "results.jsonl").read_bytes() for out in ("one", "two"))
    assert one == two
    assert b'"task":"capitals"' in one.replace(b": ", b":")
    assert (tmp_path / "one" / "tables" / "shout_tasks.csv").exists()
    page = (tmp_path / "one" / "report.html").read_text("utf-8")
    assert "0 failed" not in page
    for place in ("overview-board", "compare", "shout", "shout-missed", "system-0"):
        assert f"id={place}>" in page or f"id={place} " in page
    assert "<a href=#shout>SHOUT</a>" in page
    assert "id=shout-datasets" not in page
    missed = (tmp_path / "one" / "tables" / "shout_missed.csv").read_text()
    assert missed.splitlines()[1].startswith("sample,jaccard,")
    assert (missed.splitlines()[1].rpartition(",")[2].removesuffix(".0")) in done.stdout
    paper = embassay(target, "export", "one", "--to", "latex", "--table", "shout_missed", "--out", "paper")
    assert paper.returncode == 0, paper.stderr
    assert "tab:shout-missed" in "".join(file.read_text() for file in (tmp_path / "paper").glob("*.tex"))
    again = embassay(target, *common, "--out", "one")
    assert "4 done already" in again.stderr
    other = embassay(target, *common[:-2], "-o", "marks=3", "--out", "one")
    assert other.returncode == 2
    assert "marks" in other.stderr
    assert embassay(target, "compare", "one").returncode == 0


@pytest.fixture
def shout(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The module of the page's protocol, as another package's."""
    from embassay.report.runs import PAGES

    monkeypatch.setattr(PAGES, "_entries", dict(PAGES._entries))
    module = ModuleType("shout")
    monkeypatch.setitem(sys.modules, "shout", module)
    exec(declared_protocol(), module.__dict__)
    return module


def _run(protocol: Any, out: Path) -> Any:
    return protocol.run(["jaccard"], limit=8, tokenizer="words", out=out)


def _with_tables(shout: Any, then: Callable[[], Any]) -> Any:
    class Wider(shout.Shout):
        """SHOUT with one more table."""

        name = "wider"

        def tables(self, plan: Any, rows: Any) -> Any:
            yield from super().tables(plan, rows)
            yield then()

    return Wider()


@pytest.mark.parametrize(
    ("then", "said"),
    [
        (lambda: {}["nothing"], "KeyError: 'nothing'"),
        (lambda: ColumnTable("shout_missed", "Again", (), ()), "two tables called shout_missed"),
        (lambda: ColumnTable("../outside", "Away", (), ()), "not a table name"),
        (lambda: ColumnTable("short", "Short", (Column("a"), Column("b")), ((1.0,),)), "row 1 of the table short"),
    ],
)
def test_a_table_that_fails_costs_no_run(shout: Any, tmp_path: Path, then: Any, said: str) -> None:
    """The tables before it are written, results and all, and a note names what went wrong."""
    run = _run(_with_tables(shout, then), tmp_path / "run")
    (warning,) = run.manifest["warnings"]
    assert "failed after shout_missed" in warning
    assert said in warning
    assert run.manifest["status"] == "finished"
    assert run.table("shout_missed").height == 3
    assert "Texts not known again" in (tmp_path / "run" / "tables" / "shout_missed.md").read_text("utf-8")
    assert not (tmp_path / "run" / "outside.csv").exists()
    assert not list(tmp_path.glob("outside*"))


def test_a_score_that_is_not_the_tasks_fails_its_cell(shout: Any, tmp_path: Path) -> None:
    """Under another name it would be ranked as what it is not."""
    shout.capitals.__globals__["TASKS"]._entries["capitals"] = replace(
        shout.TASKS._entries["capitals"], factory=lambda: replace(shout.capitals(), headline="knwon")
    )
    run = _run(shout.Shout(), tmp_path / "run")
    (cell,) = (one for one in run.manifest["cells"] if one["system"] == "jaccard")
    assert cell["status"] == "failed"
    assert "declares 'knwon', but it scores known" in cell["reason"]


def test_a_page_of_anything_but_blocks_is_named(shout: Any, tmp_path: Path) -> None:
    """In a line, with what it gave."""
    from embassay.report.runs import PAGES, read_report_runs

    PAGES._entries["shout"] = replace(
        PAGES._entries["shout"], factory=lambda run, alone: ["a bare string"], package="x"
    )
    run = _run(shout.Shout(), tmp_path / "run")
    (found,) = read_report_runs([run.path])
    blocks, why = found.load_external_page_or_reason
    assert not blocks
    assert "'a bare string', which is not a block" in why


@pytest.mark.parametrize(
    ("option", "said"), [("mark=2", "not an option"), ("marks=two", "marks is 'two'"), ("marks", "not an option")]
)
def test_an_option_that_is_none(option: str, said: str) -> None:
    """One line says what there is."""
    from embassay.errors import UsageError
    from embassay.protocols.kernel.request import Options, parse_options_from_texts

    class Shouted(Options):
        marks: int = 1

    from dataclasses import dataclass

    with pytest.raises(UsageError, match=said):
        parse_options_from_texts(dataclass(frozen=True)(Shouted), [option])


def test_each_takes_under_ten_lines() -> None:
    """Code and entry point together, imports included, blank lines not."""
    for code in _blocks("python"):
        assert len([line for line in code.splitlines() if line.strip()]) + 1 < 10, code


@pytest.mark.slow
@pytest.mark.parametrize("group", GROUPS)
def test_an_installed_package_is_listed(target: Path, embassay: Any, group: str) -> None:
    """`embassay list` shows what the package brings, and where it comes from."""
    done = embassay(target, "list", group)
    assert done.returncode == 0, done.stderr
    line = next(line for line in done.stdout.splitlines() if line.startswith(f"{GROUPS[group]} "))
    assert "from the package my-package" in line


@pytest.mark.slow
def test_a_run_with_the_new_system_on_the_new_dataset(target: Path, embassay: Any) -> None:
    """The system and the dataset of the package are named on the command line like any other."""
    arguments = ("-s", "letters", "-d", "tickets", "-t", "clustering", "--tokenizer", "words", "--out", "run")
    done = embassay(target, "sage", "run", *arguments)
    assert done.returncode == 0, done.stderr
    assert '"system": "letters"' in (target.parent / "run" / "results.jsonl").read_text(encoding="utf-8").replace(
        '":"', '": "'
    )
    checked = embassay(target, "data", "check", "tickets", "--no-near")
    assert "sage clustering" in checked.stdout, checked.stderr


@pytest.mark.slow
def test_a_run_of_the_new_task(target: Path, embassay: Any) -> None:
    """A task of a package runs when it is named, beside one of the paper's, and only then."""
    common = ("-s", "jaccard", "-d", "sample", "--limit", "12", "--tokenizer", "words", "-p", "recorded", "--runs", "1")
    for out, asked in (("both", ("-t", "sts_one_side", "-t", "sts")), ("paper", ("-t", "sts"))):
        done = embassay(target, "pteb", "run", *common, *asked, "--out", out)
        assert done.returncode == 0, done.stderr
    headlines = {}
    for out in ("both", "paper"):
        rows = map(json.loads, (target.parent / out / "results.jsonl").read_text(encoding="utf-8").splitlines())
        found = [row for row in rows if (row["measure"], row["dataset"], row["system"]) == ("delta", "", "jaccard")]
        headlines[out] = {row["task"]: row["value"] for row in found}
    assert set(headlines["both"]) == {"sts", "sts_one_side", "overall"}
    assert set(headlines["paper"]) == {"sts", "overall"}
    assert headlines["both"]["sts"] != headlines["both"]["sts_one_side"]


@pytest.mark.slow
def test_the_rest_is_used_from_python(target: Path) -> None:
    """Measure, perturbation, reranker and chat model are built by name."""
    done = subprocess.run(
        [sys.executable, "-c", USE], env=_environment(target), capture_output=True, text=True, check=True
    )
    assert done.stdout.split("\n")[:4] == ["0.5", "True", "[-4.0, -1.0]", "hello"]


def _broken(folder: Path, points: str, code: str, package: str = "broken-package") -> Path:
    """What an installer leaves behind of a package with this code and these entry points."""
    folder.mkdir(exist_ok=True)
    module = package.replace("-", "_")
    (folder / f"{module}.py").write_text(code)
    metadata = folder / f"{module}-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(points)
    return folder


SYSTEM = "[embassay.systems]\nodd = broken_package:Odd\n"
BROKEN = {
    "import": (
        SYSTEM,
        "import a_module_that_is_not_there",
        "The package 'broken-package' provides 'odd', but loading it failed: ModuleNotFoundError: No module named "
        "'a_module_that_is_not_there' (broken_package.py, line 1).",
    ),
    "attribute": (SYSTEM, "", "but loading it failed: AttributeError: module 'broken_package' has no attribute 'Odd'."),
    "no factory": (SYSTEM, "Odd = 3", "TypeError: broken_package:Odd is not a class or function, but of the type int."),
    "making it": (
        SYSTEM, "def Odd():\n    return 1 / 0",
        "but making it failed: ZeroDivisionError: division by zero (broken_package.py, line 2).",
    ),
    "something else": (
        SYSTEM,
        "class Odd: pass",
        "The package 'broken-package' makes the system 'odd' of the type Odd, which has no encode.",
    ),
    "no dataset": (
        "[embassay.datasets]\nodd = broken_package:odd\n",
        "def odd():\n    return ['a']",
        "The package 'broken-package' makes the dataset 'odd' of the type list, which has no load.",
    ),
    "taken name": (
        "[embassay.systems]\nbm25 = broken_package:Odd\n",
        "class Odd: pass",
        "The package 'broken-package' provides the system 'bm25', a name that is already used.",
    ),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(("points", "code", "told"), BROKEN.values(), ids=BROKEN)
def test_a_broken_package_is_named_in_one_line(
    tmp_path: Path, embassay: Any, points: str, code: str, told: str
) -> None:
    """What is wrong, whose it is and the mend: two lines, no traceback, exit code 2."""
    folder = _broken(tmp_path / "installed", points, code)
    system, dataset = ("letterz", "sample") if "taken" in told else ("odd", "sample")
    if "datasets" in points:
        system, dataset = "jaccard", "odd"
    done = embassay(folder, "sage", "run", "-s", system, "-d", dataset, "--tokenizer", "words", "--out", "run")
    assert done.returncode == 2, (done.returncode, done.stdout, done.stderr)
    assert told in done.stderr
    assert "broken-package" in done.stderr
    assert len(done.stderr.strip().splitlines()) == 2, done.stderr


@pytest.mark.slow
def test_two_packages_of_one_name(tmp_path: Path, embassay: Any) -> None:
    """Both packages are named."""
    folder = _broken(tmp_path / "installed", SYSTEM, "Odd = dict")
    _broken(folder, "[embassay.systems]\nodd = other_package:Odd\n", "Odd = dict", "other-package")
    done = embassay(folder, "list", "systems")
    assert done.returncode == 2
    assert "other-package" in done.stderr
    assert "broken-package" in done.stderr
    assert "a name that is already used by the package" in done.stderr


@pytest.mark.slow
def test_a_broken_package_leaves_the_others_alone(tmp_path: Path, embassay: Any) -> None:
    """It is listed, and what does not name it works."""
    folder = _broken(tmp_path / "installed", SYSTEM, "import a_module_that_is_not_there")
    assert "from the package broken-package" in embassay(folder, "list", "systems").stdout
    arguments = ("-s", "jaccard", "-t", "clustering", "--tokenizer", "words", "--out", "run", "--limit", "10")
    done = embassay(folder, "sage", "run", *arguments)
    assert done.returncode == 0, done.stderr
