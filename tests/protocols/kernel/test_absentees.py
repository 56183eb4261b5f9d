"""Datasets that are not on this machine are planned and priced by what the catalogue says of them."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from embassay.cli.main import app, build_app_with_commands
from embassay.data import open_dataset
from embassay.data.catalogue.entries import CatalogueDatasetRecord, read_catalogue_entries
from embassay.data.catalogue.miniature import (
    DatasetItemCounts,
    choose_representative_shape,
    compute_dataset_sizes_from_record,
    estimate_tokens_relative_to_english,
    write_miniature_dataset,
)
from embassay.data.catalogue.suites import read_all_suites
from embassay.protocols.kernel import inputs
from embassay.protocols.kernel.absentees import AbsentDataset
from embassay.protocols.sage.options import Request, SageOptions
from embassay.protocols.sage.protocol import SageProtocol

COMMANDS = {
    "sage": [["sage", "run", "-s", "jaccard"]],
    "pteb": [["pteb", "run", "-s", "jaccard", "-p", "copied"]],
    "hteb": [["hteb", "run", "-s", "jaccard", "--transformer", "openai:gpt-4o-mini", "--runs", "1"]],
    "hume": [["hume", "sample"]],
}


@pytest.fixture(autouse=True)
def nothing_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No mirror, and no hub."""
    monkeypatch.setenv("EMBASSAY_DATA", str(tmp_path / "none"))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    inputs.open_request_dataset.cache_clear()


def _planned(command: list[str]) -> dict:
    done = CliRunner().invoke(build_app_with_commands(command[0]) and app, [*command, "--dry-run", "--json"])
    assert done.exit_code == 0, (command, done.output, done.exception)
    return json.loads(done.stdout)


@pytest.mark.parametrize("name", read_all_suites())
def test_every_suite_is_planned_with_nothing_at_hand(name: str) -> None:
    """Each of its sets is in the plan of its protocol, with items and tokens, and named as not fetched."""
    suite = read_all_suites()[name]
    for command in COMMANDS[suite.protocol]:
        words = [] if suite.protocol == "hume" else ["--tokenizer", "words"]
        told = _planned([*command, "-d", name, *words])
        members = {member.dataset for member in suite.members}
        if suite.protocol == "hume":
            assert set(told["not_fetched"]) == members
            assert all(task["n"] >= 2 for task in told["tasks"])
            continue
        assert {cell["dataset"] for cell in told["cells"]} == members
        for cell in told["cells"]:
            assert not cell["fetched"]
            assert cell["items"] > 0, cell
            assert cell["texts"] > 0, cell
        assert any("ot on this machine" in note for note in told["notes"])


def test_documents_are_counted_as_documents() -> None:
    """MS MARCO has 8,841,823 passages, each in 19 versions; its 6,980 queries are not its size."""
    request = Request(("jaccard",), datasets=("msmarco",), tokenizer="words", options=SageOptions())
    constant = next(cell for cell in SageProtocol().forecast_run_cost(request).cells if cell.system == "constant")
    assert constant.items == 8_841_823
    assert constant.texts == 19 * 8_841_823
    # A limit draws documents; those that are relevant to a query stay.
    limited = next(
        c for c in SageProtocol().forecast_run_cost(replace(request, limit=500)).cells if c.system == "constant"
    )
    assert limited.items == read_catalogue_entries()["msmarco"].relevant == 7_433


def test_what_is_here_is_planned_as_it_is() -> None:
    """A file beside a set that is not here is counted exactly, and not by any figure."""
    request = Request(
        ("jaccard",), ("clustering",), datasets=("sample", "reddit"), tokenizer="words", options=SageOptions()
    )
    both = SageProtocol().forecast_run_cost(request)
    alone = SageProtocol().forecast_run_cost(replace(request, datasets=("sample",)))
    # Time and what the process holds already are the moment's.
    here, there = (
        [replace(cell, seconds=0.0, memory_bytes=0) for cell in told.cells if cell.fetched] for told in (both, alone)
    )
    assert here == there
    absent = {cell.system: cell.items for cell in both.cells if not cell.fetched}
    assert absent == dict.fromkeys(("jaccard", "constant", "random"), 420_464)


def test_a_price_follows_the_figures() -> None:
    """Tokens times price; a set of twelve times the characters costs twelve times as much."""
    spec = "openai:text-embedding-3-small?price=1"
    options = SageOptions()
    request = Request((spec,), datasets=("arxiv-s2s", "medrxiv-s2s"), tokenizer="words", options=options)
    cells = {
        cell.dataset: cell
        for cell in SageProtocol().forecast_run_cost(request).cells
        if cell.system.startswith("openai")
    }
    for cell in cells.values():
        assert cell.usd == pytest.approx(cell.tokens / 1e6, rel=0.01)
        assert cell.requests
    # 732,723 titles of 74 characters, and 37,500 of 115: by characters 12.6 times as many tokens.
    assert cells["arxiv-s2s"].tokens / cells["medrxiv-s2s"].tokens == pytest.approx(12.6, rel=0.15)


@pytest.mark.parametrize("name", read_catalogue_entries())
def test_a_miniature_is_of_its_shape(name: str, tmp_path: Path) -> None:
    """It opens as the dataset would, with as many rows as were wanted, and texts as long as the record says."""
    record = read_catalogue_entries()[name]
    size = AbsentDataset(record).planned_sizes[0]
    opened = open_dataset(str(write_miniature_dataset(record, (), size, tmp_path)))
    shape = choose_representative_shape(record)
    assert not opened.missing(shape)
    loaded = opened.load(shape)
    assert not loaded.skipped
    assert len(loaded.data) in (int(size.main), int(size.other)) or shape == "classification"


def test_amounts_follow_languages_limits_and_sets() -> None:
    """Of some languages their share; a limit holds for each language and set."""
    known = read_catalogue_entries()
    assert compute_dataset_sizes_from_record(known["sts17"]) == DatasetItemCounts(5_346)
    assert compute_dataset_sizes_from_record(known["sts17"], ("en-en", "es-es")) == DatasetItemCounts(500)
    assert compute_dataset_sizes_from_record(known["sts17"], ("en-en", "ko-ko"), 100) == DatasetItemCounts(200)
    assert compute_dataset_sizes_from_record(known["arxiv-p2p"], (), 500) == DatasetItemCounts(31 * 500)
    assert compute_dataset_sizes_from_record(known["askubuntu"], (), 10).other == 10
    assert compute_dataset_sizes_from_record(known["banking77"]) == DatasetItemCounts(3_080, 10_003)


def test_every_record_says_how_long_its_texts_are() -> None:
    """Of each part that has texts; and nothing that is not a part."""
    for record in read_catalogue_entries().values():
        assert record.chars, record.name
        assert set(record.chars) <= _texts_of(record), record.name
        assert set(record.by_lang) <= set(record.langs), record.name


def _texts_of(record: CatalogueDatasetRecord) -> set[str]:
    columns = {name for table in record.all_tables for name in (table.part, *table.list_canonical_columns)}
    return columns | {"text", "text2", "query", "positive", "negative"}


def test_scripts_differ_in_tokens() -> None:
    """A character of Chinese is about as many tokens as five of English."""
    assert (
        estimate_tokens_relative_to_english("eng")
        < estimate_tokens_relative_to_english("fr")
        < estimate_tokens_relative_to_english("ru")
        < estimate_tokens_relative_to_english("zho")
    )
