"""Reading from the hub: through `datasets`, from a folder in the hub's place."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pytest

from embassay.data import open_dataset
from embassay.data.catalogue import entries as records
from embassay.data.catalogue import hub as fetching
from embassay.data.catalogue.entries import (
    CatalogueDatasetRecord,
    describe_dataset_source,
    find_catalogue_entry,
    read_catalogue_entries,
)
from embassay.data.catalogue.hub import fetch_tables_into_mirror
from embassay.errors import DataError, UsageError

SIZE = 4
ON_HUB = [record for record in read_catalogue_entries().values() if record.hub]


def _silent(_doing: str, _done: int, _total: int | None) -> None:
    pass


@pytest.mark.slow
@pytest.mark.usefixtures("mirror")
@pytest.mark.parametrize("record", ON_HUB, ids=lambda record: record.name)
def test_record(record: CatalogueDatasetRecord, hub: Any) -> None:
    """A repository with the configurations and splits that the record names gives every shape it declares."""
    hub.add(record)
    dataset = open_dataset(record.name)
    assert dataset.shapes() == record.list_shapes_tables_can_give
    for shape in record.list_shapes_tables_can_give:
        loaded = dataset.load(shape)
        assert loaded.skipped == ()
        assert len(loaded.data) / max(1, len(record.langs)) in (SIZE, 2 * SIZE, 3 * SIZE)


def test_the_mirror_wins_and_gives_the_same(hub: Any, mirror: Path) -> None:
    """What was fetched is read from the mirror from then on: the same records, another fingerprint."""
    hub.add(find_catalogue_entry("rte3"))
    before = open_dataset("rte3")
    assert describe_dataset_source(find_catalogue_entry("rte3")) == "hub"
    loaded = before.load("labelled_pairs")
    fetched = fetch_tables_into_mirror(find_catalogue_entry("rte3"), _silent)
    assert [one.rows for one in fetched] == [2] * 4
    assert describe_dataset_source(find_catalogue_entry("rte3")) == "mirror"
    assert (mirror / "rte3" / "test" / "de.jsonl.gz").is_file()
    after = open_dataset("rte3").load("labelled_pairs")
    assert (after.data.ids, after.data.first) == (loaded.data.ids, loaded.data.first)
    assert after.fingerprint != loaded.fingerprint


@pytest.mark.usefixtures("mirror")
def test_fingerprint(hub: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It follows the content: another one at the same revision, on a machine that has not cached it, is seen."""
    folder = hub.add(find_catalogue_entry("biosses"))
    first = open_dataset("biosses")
    assert first.fingerprint == first.load("pairs").fingerprint == open_dataset("biosses").fingerprint
    path = folder / "default" / "test.jsonl"
    path.write_text(path.read_text().replace("text 1", "text one"))
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", tmp_path / "elsewhere")
    assert open_dataset("biosses").fingerprint != first.fingerprint


@pytest.mark.usefixtures("mirror")
def test_large_tables_are_streamed(hub: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Above a size that the record states nothing is downloaded whole; the records are the same."""
    hub.add(find_catalogue_entry("stsbenchmark"))
    whole = open_dataset("stsbenchmark").load("pairs")
    monkeypatch.setattr(records, "LARGE", 0)
    streamed = open_dataset("stsbenchmark").load("pairs")
    assert (streamed.data.first, streamed.fingerprint) == (whole.data.first, whole.fingerprint)


@pytest.mark.usefixtures("mirror")
def test_no_other_split_in_silence(hub: Any) -> None:
    """A split that is not there is an error; only corpora and queries may be called as they like."""
    folder = hub.add(find_catalogue_entry("scifact"))
    about = folder / "README.md"
    about.write_text(
        about.read_text().replace("split: corpus", "split: test").replace("split: queries", "split: every")
    )
    assert len(open_dataset("scifact").load("retrieval").data) == SIZE
    with pytest.raises(DataError, match=r"dev at d56462d0e63a cannot be read from the hub .*dev"):
        open_dataset("scifact", split="dev").load("retrieval")
    hub.add(find_catalogue_entry("biosses"))
    with pytest.raises(DataError, match="biosses-sts dev at"):
        open_dataset("biosses", split="dev").load("pairs")


def test_out_of_reach(mirror: Path, hub: Any) -> None:
    """One line names what was asked for, the folder to fill, its files and columns, and where to read on."""
    assert not list(hub.root.iterdir())
    with pytest.raises(DataError, match="mteb/sts12-sts test at a0d554a64d88 cannot be read from the hub") as caught:
        open_dataset("sts12").load("pairs")
    assert caught.value.mend == (
        f"Fill the folder {mirror / 'sts12'} with test.jsonl (sentence1, sentence2, score) (see docs/data.md)."
    )
    assert "\n" not in str(caught.value)


def test_fetch_goes_on_where_it_stopped(hub: Any, mirror: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whole pieces are kept; the next fetch reads only what is missing, and the file holds every row once."""
    monkeypatch.setattr(fetching, "PIECE", 10)
    hub.add(find_catalogue_entry("biosses"), copies=25)
    heard: list[int] = []

    def stop(_doing: str, done: int, _total: int | None) -> None:
        heard.append(done)
        if done == 30 and heard.count(30) == 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fetch_tables_into_mirror(find_catalogue_entry("biosses"), stop)
    assert not (mirror / "biosses" / "test.jsonl.gz").exists()
    assert describe_dataset_source(find_catalogue_entry("biosses")) == "part of mirror"
    fetch_tables_into_mirror(find_catalogue_entry("biosses"), stop)
    assert heard == [0, 10, 20, 30, 30, 40, 50, 60, 70, 80, 90, 100]
    first = open_dataset("biosses").load("pairs").data.first
    assert first == tuple(itertools.chain.from_iterable([[f"text {n}" for n in range(SIZE)]] * 25))
    assert sorted(path.name for path in (mirror / "biosses").iterdir()) == ["origin.json", "test.jsonl.gz"]


def test_fetch_leaves_alone_what_is_there(hub: Any, mirror: Path) -> None:
    """A table that is in the mirror, in whatever form, is not fetched again."""
    hub.add(find_catalogue_entry("hume-sts12"))
    (mirror / "hume-sts12").mkdir()
    (mirror / "hume-sts12" / "test.csv").write_text("text,text2,score\na,b,1\n")
    (fetched,) = fetch_tables_into_mirror(find_catalogue_entry("hume-sts12"), _silent)
    assert (fetched.rows, fetched.path.name) == (None, "test.csv")


@pytest.mark.usefixtures("mirror")
def test_counts_are_held_against_the_record(hub: Any) -> None:
    """A pinned dataset that is not as large as the record says is an error; the file stays."""
    hub.add(find_catalogue_entry("biosses"))
    with pytest.raises(DataError, match=r"does not match the catalogue \(expected 100 rows; found 4\)"):
        fetch_tables_into_mirror(find_catalogue_entry("biosses"), _silent)
    assert len(open_dataset("biosses").load("pairs").data) == SIZE


def test_a_mirror_that_cannot_be_written(hub: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No traceback, but the file and the variable to change."""
    hub.add(find_catalogue_entry("biosses"))
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("EMBASSAY_DATA", str(tmp_path / "file"))
    with pytest.raises(DataError, match="the mirror cannot be written") as caught:
        fetch_tables_into_mirror(find_catalogue_entry("biosses"), _silent)
    assert "EMBASSAY_DATA" in caught.value.mend


def test_by_hand(mirror: Path) -> None:
    """What is not on a hub says how to come by it."""
    with pytest.raises(DataError, match="is not on the hub") as caught:
        fetch_tables_into_mirror(find_catalogue_entry("robust04"), _silent)
    assert "NIST" in caught.value.mend
    assert not list(mirror.iterdir())


def test_any_repository(hub: Any) -> None:
    """`hub:ORG/NAME` is one table, with `--map` and `--split`; a configuration and a revision can be named."""
    hub.add(find_catalogue_entry("sts17"))
    mapping = {"text": "sentence1", "text2": "sentence2"}
    dataset = open_dataset(f"hub:{find_catalogue_entry('sts17').hub}?config=en-de", mapping=mapping)
    assert (dataset.name, dataset.shapes()) == ("mteb/sts17-crosslingual-sts", ("pairs",))
    assert len(dataset.load("pairs").data) == SIZE
    with pytest.raises(DataError, match="org/none test at main cannot be read from the hub"):
        open_dataset("hub:org/none")
    with pytest.raises(UsageError, match="needs the name of a repository"):
        open_dataset("hub")
