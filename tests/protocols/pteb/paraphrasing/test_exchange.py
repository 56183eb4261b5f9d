"""Sets as one file, and back."""

from __future__ import annotations

import pytest

from embassay.data import open_dataset
from embassay.errors import DataError, UsageError
from embassay.protocols.wordings.records import ParaphraseOutcome, TextToParaphrase
from embassay.protocols.wordings.sets import (
    ParaphraseSet,
    WordingSource,
    export_paraphrases,
    import_paraphrases,
    open_stored_source,
)

TEXTS = ('a "red" fox,\nrunning', "zwei Füchse", "lost in one run", " ")


def rows(seed: int) -> list[ParaphraseOutcome]:
    usable = [
        ParaphraseOutcome(text, "en", "", f"{text.strip()} otherwise {seed}", "ok", seed=seed) for text in TEXTS[:2]
    ]
    third = (
        ParaphraseOutcome(TEXTS[2], "en", "", "found", "ok", seed=seed)
        if seed == 1337
        else ParaphraseOutcome(
            TEXTS[2], "en", "", "", "too long", "900 characters", 6, 5_001_352, 1.5, "too long;too long"
        )
    )
    return [*usable, third, ParaphraseOutcome(" ", "en", "", " ", "ok", attempts=0)]


@pytest.fixture
def kept(tmp_path):
    made = ParaphraseSet.open_or_create_in_folder(tmp_path / "set")
    made.add(WordingSource(name="m", paraphraser="openai:m", identity="i"))
    for dataset in ("first", "second"):
        for seed in (1337, 1338):
            made.keep("m", dataset, seed, rows(seed))
    return made


def test_csv_loses_nothing(kept, tmp_path):
    """The set that is made of it has the same rows and digests."""
    assert export_paraphrases(kept, "m", tmp_path / "all.csv").texts == 8
    found = import_paraphrases(tmp_path / "all.csv", tmp_path / "again")
    for dataset in ("first", "second"):
        for seed in (1337, 1338):
            assert found.rows("all", dataset, seed) == kept.rows("m", dataset, seed)
            assert found.digest("all", dataset, seed) == kept.digest("m", dataset, seed)


def test_jsonl_is_a_dataset(kept, tmp_path):
    """Of the shape `paraphrases`; texts that lack a wording in a run are left out and counted."""
    told = export_paraphrases(kept, "m", tmp_path / "shared.jsonl")
    assert (told.texts, told.incomplete, told.repeated) == (2, 2, 0)
    loaded = open_dataset(str(tmp_path / "shared.jsonl")).load("paraphrases").data
    assert loaded.texts == TEXTS[:2]
    assert loaded.runs == 2
    assert loaded.wordings[1] == ("zwei Füchse otherwise 1337", "zwei Füchse otherwise 1338")


def test_a_text_with_two_sets_of_wordings(kept, tmp_path):
    """Is written once, and the other is counted."""
    kept.keep("m", "third", 1337, [ParaphraseOutcome(TEXTS[1], "en", "", "anders", "ok")])
    assert export_paraphrases(kept, "m", tmp_path / "shared.jsonl").repeated == 1


def test_jsonl_is_replayed(kept, tmp_path):
    """As a stored set, whatever the dataset is called now; texts that are not in it are missing."""
    export_paraphrases(kept, "m", tmp_path / "shared.jsonl")
    import_paraphrases(tmp_path / "shared.jsonl", tmp_path / "again", name="theirs")
    stored = open_stored_source("stored:x", str(tmp_path / "again"))
    assert stored.seeds(2, 1337, dataset="renamed") == (1337, 1338)
    found = dict(
        stored.write(
            [TextToParaphrase(TEXTS[1], "de"), TextToParaphrase("new", "de")], seed=1338, run=1, dataset="renamed"
        )
    )
    assert (found[0].wording, found[0].lang) == ("zwei Füchse otherwise 1338", "de")
    assert found[1].outcome == "missing"


def test_a_plain_file_of_wordings(tmp_path):
    """With text and paraphrases alone: seeds are counted from the first; a text may have fewer than others."""
    file = tmp_path / "plain.jsonl"
    file.write_text('{"text": "a", "paraphrases": ["b", "a"]}\n{"text": "c", "paraphrases": ["d"]}\n', encoding="utf-8")
    found = import_paraphrases(file, tmp_path / "again", seed=5)
    assert found.list_kept_seeds("plain", "plain") == (5, 6)
    assert [row.outcome for row in found.rows("plain", "plain", 5)] == ["ok", "ok"]
    assert [row.outcome for row in found.rows("plain", "plain", 6)] == ["copied"]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('{"text": "a", "paraphrases": ["b"], "seeds": [1, 2]}', r"bad.jsonl:1: .*a list of 1 seeds"),
        ('{"text": "a", "wording": "", "run_seed": 1, "outcome": "ok"}', r"bad.jsonl:1: .*'wording'.*outcome is 'ok'"),
        ('{"text": "a", "wording": "b", "run_seed": 1, "outcome": "fine"}', r"bad.jsonl:1: .*'outcome'"),
        ('{"text": "a", "wording": "b", "run_seed": null}', r"bad.jsonl:1: .*'run_seed'"),
        ('{"text": "a"}', r"the file contains no paraphrases"),
    ],
)
def test_what_cannot_be_taken_in(tmp_path, line, said):
    """Is named by file and line."""
    (tmp_path / "bad.jsonl").write_text(line + "\n", encoding="utf-8")
    with pytest.raises(DataError, match=said):
        import_paraphrases(tmp_path / "bad.jsonl", tmp_path / "again")


def test_nothing_is_overwritten(kept, tmp_path):
    """A folder with a set is left alone, and a file of another kind is not written."""
    export_paraphrases(kept, "m", tmp_path / "all.csv")
    with pytest.raises(UsageError, match="already"):
        import_paraphrases(tmp_path / "all.csv", kept.path)
    with pytest.raises(UsageError, match=r"\.jsonl or \.csv"):
        export_paraphrases(kept, "m", tmp_path / "all.xlsx")
