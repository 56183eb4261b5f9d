"""The documentation says what the code does: commands, options, columns, tables, errors, version."""

from __future__ import annotations

import dataclasses
import importlib.util
import re
import shlex
import tomllib
from pathlib import Path
from types import ModuleType

import pytest
import yaml

import embassay
from embassay import errors
from embassay.protocols.sage.options import SageOptions
from embassay.protocols.sage.sensitivity import KINDS, compute_expected_similarity
from embassay.protocols.sage.tasks import TASK_NAMES, TASKS
from embassay.records import ResultRow

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"


def _page(name: str) -> str:
    return (DOCS / f"{name}.md").read_text(encoding="utf-8")


def _cli_reference() -> ModuleType:
    spec = importlib.util.spec_from_file_location("cli_reference", Path(__file__).with_name("cli_reference.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # Its dataclasses look their module up by name.
    import sys

    sys.modules["cli_reference"] = module
    spec.loader.exec_module(module)
    return module


def test_the_cli_reference_is_that_of_the_app() -> None:
    """docs/cli.md holds every command with every option, default and help text, as they are now."""
    module = _cli_reference()
    written = _page("cli").partition(module.START)[2]
    assert written.strip() == module.reference().strip(), "renew it: python tests/docs/cli_reference.py --write"


def test_every_command_and_option_is_in_the_page() -> None:
    """The reference leaves nothing out: each option of each command is in its section, by itself or as one of a set."""
    module, page = _cli_reference(), _page("cli")
    commands = list(module.commands())
    assert {"embassay demo", "embassay list", "embassay sage run", "embassay report"} <= {
        command.path for command in commands
    }
    for command in commands:
        assert f"### `{command.path}`" in page
        section = page.partition(f"### `{command.path}`")[2].partition("\n### ")[0]
        sets = " ".join(of for title, of in module.SETS.items() if f"*{title}*" in section).split()
        for option in command.options:
            here = re.search(rf"`{re.escape(module.spelled(option))}(`|\.| )", section)
            assert here or {module.spelled(option), *option.spellings} & set(sets), (command.path, option)


FITS = 66
"""Characters of a first sentence that the list of commands does not cut."""


def test_every_command_has_a_short_answer_and_an_example() -> None:
    """Its help begins with one short sentence, and ends on one line with the command and options that it has."""
    for command in _cli_reference().commands():
        if command.path == "embassay":
            continue
        example = command.about.rpartition("Example: ")[2]
        assert re.match(rf"{command.path}\b", example), command.path
        known = {spelling for option in command.options for spelling in option.spellings}
        assert len(command.about.partition("\n\n")[0]) <= FITS, command.path
        assert {word for word in shlex.split(example) if word.startswith("-")} <= known, command.path


def test_every_exit_code_is_in_the_pages() -> None:
    """Codes and names of all errors stand on the pages about the command line and errors; runs refer to the first."""
    assert "(cli.md#exit-codes)" in _page("runs")
    for kind in vars(errors).values():
        if isinstance(kind, type) and issubclass(kind, errors.EmbassayError):
            assert f"| `{kind.__name__}` | {kind.exit_code} |" in _page("errors")
            if kind is not errors.EmbassayError:
                assert f"| {kind.exit_code} |" in _page("cli")


def test_every_sage_option_is_in_the_page() -> None:
    """docs/sage.md has every option with its default, and says which open point of the paper it settles."""
    rows = dict(re.findall(r"^\| `--([a-z-]+)` \|(.*)\|$", _page("sage"), re.MULTILINE))
    options = {field.name.replace("_", "-"): field for field in dataclasses.fields(SageOptions)}
    assert set(rows) == set(options)
    for name, field in options.items():
        default = "off" if field.default in (False, None) else str(field.default)
        assert default in rows[name].partition("|")[0], name
        points = [field.metadata["point"]] if field.metadata["point"] else []
        assert re.findall(r"\[(A\d+)\]", rows[name]) == points, name


def test_every_open_point_is_settled_in_the_page() -> None:
    """All 24 ambiguities of the paper are listed, in order."""
    listed = re.findall(r"^(\d+)\. \*\*\[A(\d+)\]", _page("sage"), re.MULTILINE)
    assert listed == [(str(number), str(number)) for number in range(1, 25)]


def test_every_task_is_in_the_page() -> None:
    """Names and headline measures of the tasks are those of the code."""
    page = _page("sage")
    for name in TASK_NAMES:
        assert re.search(rf"^\| `{name}` \|.*`{TASKS.build(name).headline}` \|$", page, re.MULTILINE), name


@pytest.mark.parametrize(
    ("value", "figures"), [(1.0, ("0.679", "0.688", "0.683")), (0.9, ("0.783",)), (2 / 3, ("0.881",))]
)
def test_what_a_constant_similarity_scores(value: float, figures: tuple[str, ...]) -> None:
    """The figures that the page gives for systems that always answer the same are the task's own."""
    kinds = [1 - abs(value - compute_expected_similarity([*kind.sizes])).mean() for kind in KINDS]  # type: ignore[arg-type]
    computed = [f"{score:.3f}" for score in (*kinds, sum(kinds) / 2)]
    for figure in figures:
        assert figure in computed
        assert figure in _page("sage")


def test_result_columns_are_in_the_page() -> None:
    """docs/runs.md lists the columns of a result, in their order."""
    section = _page("runs").partition("## `results.jsonl`")[2].partition("## ")[0]
    rows = re.findall(r"^\| (`.*?) \|", section, re.MULTILINE)
    listed = [name for row in rows for name in re.findall(r"`(\w+)`", row)]
    assert listed == [field.name for field in dataclasses.fields(ResultRow)]


@pytest.mark.slow
def test_every_table_is_in_the_page(tmp_path: Path) -> None:
    """The tables that a run of all five tasks writes are those that docs/sage.md lists."""
    run = embassay.sage.run(["jaccard", "wordllama"], limit=12, tokenizer="words", out=tmp_path / "run")
    written = {path.stem for path in (run.path / "tables").iterdir()}
    section = _page("sage").partition("## Tables of a run")[2]
    rows = re.findall(r"^\| (`.*?) \|", section, re.MULTILINE)
    assert {name for row in rows for name in re.findall(r"`(\w+)`", row)} == written


def test_every_extension_point_is_in_the_page() -> None:
    """Every registry that other packages can join is listed with its entry-point group."""
    from embassay.data import DATASETS
    from embassay.measures import MEASURES
    from embassay.systems import SYSTEMS
    from embassay.text import PERTURBATIONS, TOKENIZERS

    page = _page("extending")
    for registry in (SYSTEMS, DATASETS, PERTURBATIONS, MEASURES, TOKENIZERS):
        assert f"`embassay.{registry.kind}s`" in page


def test_an_extension_takes_under_ten_lines() -> None:
    """Each kind of addition on the page is shorter than ten lines of code."""
    page = _page("extending")
    for title in ("A system", "A dataset", "A perturbation", "A measure", "A task"):
        code = page.partition(f"## {title}\n")[2].partition("```python\n")[2].partition("```")[0]
        lines = [line for line in code.splitlines() if line.strip() and "import" not in line and "print" not in line]
        assert 0 < len(lines) < 10, title


def test_every_page_is_in_the_navigation() -> None:
    """The site has every page, once."""
    # The file holds no tags: mkdocs' own loader is not needed.
    navigation = yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))["nav"]
    names = re.findall(r"'([\w/]+\.md)'", str(navigation))
    assert sorted(names) == sorted(path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md"))


def test_the_site_needs_no_network() -> None:
    """No page and no setting asks the reader's browser for a font, script or style from elsewhere."""
    settings = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    assert re.search(r"^  font: false", settings, re.MULTILINE)
    assert "http" not in settings
    for page in DOCS.rglob("*.md"):
        assert not re.search(r"<(?:script|link|img)\b|!\[[^]]*\]\(http", page.read_text(encoding="utf-8")), page.name


def test_the_version_stands_in_one_place() -> None:
    """`__init__.py` has it, the build reads it there, and what would have to be changed with it does not name it."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert project["project"]["dynamic"] == ["readme", "version"]
    assert project["tool"]["hatch"]["version"] == {"path": "src/embassay/__init__.py"}
    for name in ("README.md", "CITATION.cff"):
        assert not re.search(r"(?<!cff-)version.{0,5}\d+\.\d+", (ROOT / name).read_text(encoding="utf-8")), name


def test_the_changelog_begins_with_this_version() -> None:
    """What was done last is of the version that the package says it is."""
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    top = re.search(r"^## \[?(\d+\.\d+\.\d+)", changelog, re.MULTILINE)
    assert top is not None
    assert embassay.__version__ == top[1]
