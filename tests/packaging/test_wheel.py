"""What users install: the wheel holds the whole package and nothing else, the same bytes whenever it is built."""

from __future__ import annotations

import re
import tarfile
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest
from environments import ROOT, VERSIONS, build

import embassay

pytest.importorskip("hatchling")
pytestmark = pytest.mark.slow
SOURCE = ROOT / "src"
ABOUT = f"embassay-{embassay.__version__}.dist-info"
LARGEST = 19_000_000
"""Bytes of the wheel, 15.7 million of them wordllama's vectors; a new file of some size is a decision."""
LICENCES = ("licenses/LICENSE", "licenses/src/embassay/systems/encoders/wordllama_files/LICENSE")
KINDS = {
    *(".css", ".csv", ".html", ".js", ".json", ".jsonl", ".md", ".py"),
    *(".safetensors", ".svg", ".toml", ".tsv", ".txt", ".typed", ".yaml", ""),
}
"""What the package is made of, "" being a licence; another kind of file is a decision."""


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The sdist and the wheel of this tree."""
    sdist, wheel = sorted(build(tmp_path_factory.mktemp("dist")), key=lambda path: path.suffix)
    return sdist, wheel


def _names(wheel: Path) -> set[str]:
    return set(zipfile.ZipFile(wheel).namelist())


def test_the_wheel_holds_the_package_and_nothing_else(built: tuple[Path, Path]) -> None:
    """Sample data, templates, scripts, catalogues, type marker and licence; no tests, caches or machine code."""
    packed = _names(built[1])
    files = (path for path in (SOURCE / "embassay").rglob("*") if path.is_file())
    wanted = {
        path.relative_to(SOURCE).as_posix()
        for path in files
        if "__pycache__" not in path.parts and path.suffix not in (".nbi", ".nbc")
    }
    about = {f"{ABOUT}/{name}" for name in ("METADATA", "RECORD", "WHEEL", "entry_points.txt", *LICENCES)}
    assert packed == wanted | about
    assert {Path(name).suffix for name in wanted} == KINDS
    assert "embassay/py.typed" in packed
    assert built[1].stat().st_size < LARGEST


def test_no_path_of_a_machine(built: tuple[Path, Path]) -> None:
    """No file names the folder that it was made in, nor anyone's home."""
    own = re.compile(rb"/(?:home|Users)/[a-z]\w*/|" + re.escape(str(ROOT).encode()) + rb"\b")
    packed = zipfile.ZipFile(built[1])
    assert [name for name in packed.namelist() if own.search(packed.read(name))] == []


def test_the_wheel_of_the_sdist_is_the_wheel_of_the_tree(built: tuple[Path, Path], tmp_path: Path) -> None:
    """Byte for byte: who builds from the source distribution gets the same."""
    with tarfile.open(built[0]) as packed:
        if hasattr(tarfile, "data_filter"):  # not in Python below 3.11.4
            packed.extraction_filter = tarfile.data_filter
        packed.extractall(tmp_path)
    (unpacked,) = tmp_path.iterdir()
    (again,) = build(tmp_path / "dist", unpacked, "wheel")
    assert _names(again) == _names(built[1])
    assert again.read_bytes() == built[1].read_bytes()


def test_two_builds_are_the_same_bytes(
    built: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whenever they are made; SOURCE_DATE_EPOCH sets the date of the files within, and nothing else."""
    again = {path.name: path.read_bytes() for path in build(tmp_path / "again")}
    assert again == {path.name: path.read_bytes() for path in built}
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    first, other = zipfile.ZipFile(build(tmp_path / "dated", ROOT, "wheel")[0]), zipfile.ZipFile(built[1])
    assert first.infolist()[0].date_time[:3] == (2023, 11, 14)
    assert [first.read(name) for name in first.namelist()] == [other.read(name) for name in other.namelist()]


def test_the_sdist_holds_what_the_repository_does_and_no_more(built: tuple[Path, Path]) -> None:
    """What is tested, documented and built from; no caches, runs or environments of whoever built it."""
    with tarfile.open(built[0]) as packed:
        paths = [name.partition("/")[2] for name in packed.getnames()]
    assert {path.partition("/")[0] for path in paths} == {
        *(".gitignore", "CHANGELOG.md", "CITATION.cff", "CONTRIBUTING.md", "Dockerfile", "LICENSE", "Makefile"),
        *("PKG-INFO", "README.md", "benchmarks", "docs", "hatch_build.py", "mkdocs.yml", "pyproject.toml"),
        *("src", "tests"),
    }
    assert not [path for path in paths if re.search(r"__pycache__|\.hypothesis|\.(pyc|nbi|nbc)$", path)]


def test_what_the_wheel_says_of_itself(built: tuple[Path, Path]) -> None:
    """Licence, Pythons, command and description are in the metadata that an index shows."""
    packed = zipfile.ZipFile(built[1])
    about = Parser().parsestr(packed.read(f"{ABOUT}/METADATA").decode())
    assert (about["Name"], about["Version"], about["License-Expression"]) == (
        "embassay",
        embassay.__version__,
        "Apache-2.0 AND MIT",
    )
    named = re.findall(r"Python :: (3\.\d+)", " ".join(about.get_all("Classifier") or []))
    assert (about["Requires-Python"], tuple(named)) == (f">={VERSIONS[0]}", VERSIONS)
    assert about["Description-Content-Type"] == "text/markdown"
    assert "# Embassay" in about.get_payload()
    assert packed.read(f"{ABOUT}/entry_points.txt").decode().split() == [
        *("[console_scripts]", "embassay", "=", "embassay.cli.main:run"),
        *("[pytest11]", "embassay", "=", "embassay.pytest_plugin"),
    ]
