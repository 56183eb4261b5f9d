"""docs/papers.md: each item's command is one of ours, and what the demo makes of it is there."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from paper_runs import Workspace, answer
from stub import StubServer

ROOT = Path(__file__).parents[2]
with (ROOT / "docs" / "papers.csv").open(encoding="utf-8", newline="") as stream:
    ITEMS = list(csv.DictReader(stream))
NOT_RUN = {"hume serve"}
"""The commands that are not typed here, for the reason that the table gives."""


OF_AN_INDEX = "sweep/tables/rag_table7.csv"
"""What compares approximate indexes with exact search."""


@pytest.fixture
def pages(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    import papers_page

    return papers_page


def test_the_page_is_that_of_the_table(pages: Any) -> None:
    assert pages.PAGE.read_text("utf-8") == pages.page(), "renew it: python benchmarks/papers_page.py --write"


def test_every_command_is_one_of_the_reference(pages: Any) -> None:
    """And so are its options."""
    reference = (ROOT / "docs" / "cli.md").read_text("utf-8")
    for item in pages.read_items():
        words = item["command"].split()
        first = next((place for place, word in enumerate(words) if word.startswith("-")), len(words))
        # What is an argument stands behind the command, such as a paper.
        names = [" ".join(words[:end]) for end in range(first, 0, -1)]
        assert any(f"### `embassay {name}`\n" in reference for name in names), item
        assert all(f"`{word}" in reference or f", {word}" in reference for word in words if word[0] == "-"), item


@pytest.mark.slow
def test_what_the_demo_makes_is_there(pages: Any, demo: Any) -> None:
    """Of every item that names a file, which holds something."""
    made = {item["made"] for item in pages.read_items()} - {""}
    assert len(made) > 50
    empty = {name for name in made if not (found := demo.folder / name).exists() or not found.stat().st_size}
    assert not empty


@pytest.fixture(scope="module")
def workspace(warm: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workspace]:
    """One folder for all commands of the table, so that what several need is made once."""
    with StubServer(chat=answer) as stub:
        chat = f"openai:{{}}?base_url={stub.url}/v1&price=0"
        yield Workspace(tmp_path_factory.mktemp("papers"), warm.command, ITEMS, chat)


@pytest.mark.slow
@pytest.mark.parametrize("item", ITEMS, ids=[f"{item['paper']}-{item['place']}-{item['command']}" for item in ITEMS])
def test_each_command_makes_what_the_table_says(item: dict[str, str], workspace: Workspace) -> None:
    """On the sample, with options that keep it short; what it gives is there and holds something."""
    if item["reason"]:
        assert item["command"] in NOT_RUN
        pytest.skip(item["reason"])
    if "{chat" in item["run"] or "{llm-" in item["run"]:
        pytest.importorskip("openai")
    if item["gives"] == OF_AN_INDEX:
        pytest.importorskip("faiss")
    said = workspace.run(item["run"])
    if item["gives"].startswith("says: "):
        assert item["gives"].removeprefix("says: ") in said
        return
    made = workspace.folder / item["gives"]
    assert made.exists()
    if made.is_dir():
        assert any(made.iterdir())
    elif made.suffix == ".csv":
        with made.open(encoding="utf-8-sig", newline="") as stream:
            assert len(list(csv.reader(stream))) > 1
    else:
        assert made.stat().st_size


def test_what_is_run_is_what_the_page_names() -> None:
    """The command of the page with more options, or with others in place of the names that stand for the reader's."""
    for item in ITEMS:
        assert bool(item["run"]) != bool(item["reason"]), item
        words = item["command"].split()
        first = next((place for place, word in enumerate(words) if word.startswith("-")), len(words))
        if item["run"]:
            assert item["run"].split()[:first] == words[:first], item
            options = {word for word in words if word.startswith("-")}
            assert options <= set(item["run"].split()), item
    assert {item["command"] for item in ITEMS if item["reason"]} == NOT_RUN
