"""Wordings written beforehand: a dataset's own, and stored sets."""

from __future__ import annotations

import pytest

from embassay.data import open_dataset
from embassay.errors import DataError, UsageError
from embassay.protocols.pteb.paraphrasing import open_paraphraser
from embassay.protocols.wordings.records import ParaphraseOutcome, TextToParaphrase
from embassay.protocols.wordings.sets import ParaphraseSet, WordingSource
from embassay.records import TextsWithParaphrases

RECORDED = {
    "a": TextsWithParaphrases(("one", "two"), (("eins", "uno"), ("two", "dos", "deux"))),
    "b": TextsWithParaphrases(("two",), (("zwei",),)),
}
ROWS = {
    1337: [
        ParaphraseOutcome("x", "en", "", "y", "ok", seed=1337),
        ParaphraseOutcome("z", "en", "", "", "refused", "no", 6),
    ],
    1338: [ParaphraseOutcome("x", "en", "", "why", "ok", seconds=0.5), ParaphraseOutcome("z", "en", "", "zed", "ok")],
    1443: [ParaphraseOutcome("x", "en", "", "ex", "ok"), ParaphraseOutcome("z", "en", "", "zee", "ok")],
}


def written(paraphraser, texts, **options):
    return [one for _, one in paraphraser.write([TextToParaphrase(text, "en") for text in texts], **options)]


def test_recorded_run_by_run():
    """Wording number i for run i; the dataset says which; a text without one is missing, a blank one is blank."""
    found = open_paraphraser("recorded", recorded=RECORDED)
    rows = written(found, ["one", "two", "three", " "], seed=1337, run=0, dataset="a")
    assert [(row.wording, row.outcome) for row in rows] == [
        ("eins", "ok"), ("two", "copied"), ("", "missing"), (" ", "ok"),
    ]  # fmt: skip
    assert [row.wording for row in written(found, ["one", "two"], seed=1338, run=1, dataset="a")] == ["uno", "dos"]
    assert written(found, ["two"], seed=1337, run=0, dataset="b")[0].wording == "zwei"


def test_recorded_has_so_many_runs():
    """As the text with the fewest wordings; more is an error that says how many there are."""
    found = open_paraphraser("recorded", recorded=RECORDED)
    assert found.seeds(2, 1337, dataset="a") == (1337, 1338)
    with pytest.raises(UsageError, match=r"'a' has 2 recorded .* 3 runs.*--runs 2"):
        found.seeds(3, 1337, dataset="a")
    with pytest.raises(UsageError, match="'c' has 0 recorded"):
        found.seeds(1, 1337, dataset="c")
    assert not found.remote


def test_the_sample_has_three():
    """Of every text, for the demo."""
    sample = open_dataset("sample").load("paraphrases").data
    found = open_paraphraser("recorded", recorded={"sample": sample})
    assert found.seeds(3, 1337, dataset="sample") == (1337, 1338, 1339)
    with pytest.raises(UsageError, match="3 recorded"):
        found.seeds(4, 1337, dataset="sample")


@pytest.fixture
def folder(tmp_path):
    made = ParaphraseSet.open_or_create_in_folder(tmp_path / "set")
    made.add(WordingSource(name="m", paraphraser="openai:m", identity="i", about={"model": "m-1"}))
    for seed, rows in ROWS.items():
        made.keep("m", "d", seed, rows, fingerprint="f")
    made.keep("m", "other", 1337, [ParaphraseOutcome("q", "en", "", "r", "ok")])
    return tmp_path / "set"


def test_a_stored_set_is_replayed_exactly(folder):
    """Wordings, failures, attempts and seconds; no server is asked."""
    found = open_paraphraser(f"stored:{folder}")
    assert not found.remote
    for seed, rows in ROWS.items():
        assert written(found, ["x", "z"], seed=seed, run=0, dataset="d") == rows
    missing = written(found, ["new"], seed=1337, run=0, dataset="d")[0]
    assert (missing.outcome, missing.wording) == ("missing", "")
    assert found.about()["model"] == "m-1"
    assert found.describe_data_mismatches({"d": "g"})


def test_its_seeds_are_those_it_was_written_with(folder):
    """A changed last seed included; from another first seed on where there is such."""
    found = open_paraphraser(f"stored:{folder}")
    assert found.seeds(3, 1337, dataset="d") == (1337, 1338, 1443)
    assert found.seeds(2, 1338, dataset="d") == (1338, 1443)
    assert found.seeds(1, 1, dataset="d") == (1337,)
    assert found.seeds(1, 1337, dataset="renamed") == (1337,)  # what all datasets of the set have
    with pytest.raises(UsageError, match=r"3 runs of 'd' \(seeds 1337, 1338, 1443\).*--runs 3"):
        found.seeds(4, 1337, dataset="d")


def test_a_dataset_of_another_name(folder):
    """Is looked up in all of the set."""
    found = open_paraphraser(f"stored:{folder}")
    rows = written(found, ["x", "q"], seed=1337, run=0, dataset="renamed")
    assert [row.wording for row in rows] == ["y", "r"]


def test_its_identity_is_its_content(folder, tmp_path):
    """Wherever it lies; another wording makes another."""
    before = open_paraphraser(f"stored:{folder}").identity
    moved = tmp_path / "moved"
    folder.rename(moved)
    assert open_paraphraser(f"stored:{moved}").identity == before
    ParaphraseSet.open(moved).keep("m", "d", 1337, [ParaphraseOutcome("x", "en", "", "yy", "ok")])
    assert open_paraphraser(f"stored:{moved}").identity != before


def test_a_set_of_several_sources(folder):
    """Needs to be told which, by a part of the name that only one has."""
    made = ParaphraseSet.open(folder)
    made.add(WordingSource(name="openai:gpt variant1", paraphraser="openai:gpt", identity="j"))
    made.keep("openai:gpt variant1", "d", 1, [ParaphraseOutcome("x", "en", "", "v", "ok")])
    with pytest.raises(UsageError, match=r"2 sources.*source=.*'m', 'openai:gpt variant1'"):
        open_paraphraser(f"stored:{folder}")
    found = open_paraphraser(f"stored:{folder}?source=variant1")
    assert written(found, ["x"], seed=1, run=0, dataset="d")[0].wording == "v"
    assert open_paraphraser(f"stored:{folder}?source=m").seeds(1, 1337, dataset="d") == (1337,)
    with pytest.raises(UsageError, match="0 of them with 'zzz'"):
        open_paraphraser(f"stored:{folder}?source=zzz")


def test_damage_is_found_when_it_is_read(folder):
    """And names the file."""
    path = next(folder.rglob("seed-1338.parquet"))
    path.write_bytes(path.read_bytes()[:-1])
    found = open_paraphraser(f"stored:{folder}")
    with pytest.raises(DataError, match="seed-1338"):
        written(found, ["x"], seed=1338, run=0, dataset="d")
