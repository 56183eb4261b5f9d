"""A set on disk: what is kept comes back exactly, and damage is told."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from embassay.errors import DataError, UsageError
from embassay.protocols.wordings.records import ParaphraseOutcome
from embassay.protocols.wordings.sets import ParaphraseSet, WordingSource

ROWS = [
    ParaphraseOutcome("a red fox", "en", "", "a crimson fox", "ok", seed=1337, seconds=0.25),
    ParaphraseOutcome("ein Fuchs", "de", "", "ein Fuchs", "copied", seed=1001340, attempts=2, rejected="empty"),
    ParaphraseOutcome("a red fox", "de", "", "", "failed", "no connection", seed=1337),
    ParaphraseOutcome("x", "en", "first:1", "y", "ok"),
]
SOURCE = WordingSource(name="a model", paraphraser="openai:m", identity="openai:m@1", prompt={"name": "default"})


@pytest.fixture
def kept(tmp_path):
    made = ParaphraseSet.open_or_create_in_folder(tmp_path / "paraphrases")
    made.add(SOURCE)
    made.keep("a model", "d/e", 1338, ROWS[:2], fingerprint="f1")
    made.keep("a model", "d/e", 1337, ROWS, fingerprint="f1")
    return made


def test_what_is_kept_comes_back(kept):
    """Every column of every row, in their order, from the set's folder or the run's."""
    for folder in (kept.path, kept.path.parent):
        found = ParaphraseSet.open(folder)
        assert found.rows("a model", "d/e", 1337) == tuple(ROWS)
        assert found.list_kept_seeds("a model", "d/e") == (1337, 1338)
        assert found.count_outcomes_by_dataset_and_seed("a model") == {
            "d/e": {1337: {"copied": 1, "failed": 1, "ok": 2}, 1338: {"copied": 1, "ok": 1}}
        }
        assert found.source("a model").prompt == {"name": "default"}
    assert kept.has_all_wordings_of_run("a model", "d/e", 1337)
    assert not kept.has_all_wordings_of_run("a model", "d/e", 1339)
    assert not kept.has_all_wordings_of_run("other", "d/e", 1337)


@given(
    st.lists(
        st.builds(
            ParaphraseOutcome, st.text(st.characters(codec="utf-8")), st.sampled_from(["en", "und"]), st.text("ab:"),
            st.text(st.characters(codec="utf-8")), st.sampled_from(["ok", "too long"]), st.text("xyz"),
            st.integers(0, 6), st.integers(0, 2**62), st.floats(0, 100), st.sampled_from(["", "empty;refused"]),
        )
    )
)  # fmt: skip
def test_any_rows_come_back(tmp_path_factory, rows):
    """Whatever texts hold."""
    made = ParaphraseSet.open_or_create_in_folder(tmp_path_factory.mktemp("set"))
    made.add(SOURCE)
    made.keep("a model", "d", 1, rows)
    assert ParaphraseSet.open(made.path).rows("a model", "d", 1) == tuple(rows)


def test_wordings_by_text(kept):
    """Of a language, or of all; where a text is in two, the first."""
    found = kept.wordings("a model", "d/e", 1337)
    assert found[("a red fox", "")].wording == "a crimson fox"
    assert found[("x", "first:1")].wording == "y"
    assert kept.wordings("a model", "d/e", 1337, lang="de")[("a red fox", "")].outcome == "failed"


def test_the_digest_is_of_the_content(kept, tmp_path):
    """Not of order or time; another wording or outcome changes it."""
    other = ParaphraseSet.open_or_create_in_folder(tmp_path / "other")
    other.add(SOURCE)
    digests = []
    for rows in (
        [replace(row, seconds=9.0, attempts=1, rejected="") for row in reversed(ROWS)],
        [replace(ROWS[0], wording="a fox"), *ROWS[1:]],
        [*ROWS[:2], replace(ROWS[2], outcome="refused"), ROWS[3]],
    ):
        other.keep("a model", "d/e", 1337, rows)
        digests.append(other.digest("a model", "d/e", 1337))
    assert digests[0] == kept.digest("a model", "d/e", 1337)
    assert len(set(digests)) == 3


def test_a_damaged_file_is_named(kept):
    """One bit is enough; so is a file that is gone."""
    path = next(kept.path.rglob("seed-1337.parquet"))
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    with pytest.raises(DataError, match=r"seed-1337.parquet: the paraphrases were changed after they were written"):
        kept.rows("a model", "d/e", 1337)
    path.unlink()
    with pytest.raises(DataError, match=r"seed-1337.parquet: the paraphrases cannot be read"):
        kept.rows("a model", "d/e", 1337)
    assert len(kept.rows("a model", "d/e", 1338)) == 2


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda m: m.pop("sources") and m.update(sources=[{}]), "sources.0.name"),
        (lambda m: m.update(version=2), "version"),
    ],
)
def test_a_manifest_that_cannot_be_read(kept, change, said):
    """Is told with the field that is wrong."""
    path = kept.path / "manifest.json"
    manifest = json.loads(path.read_text("utf-8"))
    change(manifest)
    path.write_text(json.dumps(manifest), encoding="utf-8")
    with pytest.raises(DataError, match=said):
        ParaphraseSet.open(kept.path)


def test_no_set(tmp_path):
    """A folder without one, and names that it does not have."""
    with pytest.raises(DataError, match="no set of paraphrases"):
        ParaphraseSet.open(tmp_path)
    with pytest.raises(UsageError, match="no source 'x'"):
        ParaphraseSet.open_or_create_in_folder(tmp_path).source("x")


def test_what_the_set_does_not_have(kept):
    """The datasets and seeds that there are."""
    with pytest.raises(UsageError, match=r"seed 7.*Datasets: d/e; seeds of d/e: 1337, 1338"):
        kept.rows("a model", "d/e", 7)


def test_a_source_is_not_changed(kept):
    """Its name is taken by its identity; what is told of it may be renewed, and its files stay."""
    kept.add(SOURCE.model_copy(update={"about": {"model": "m-2026"}}))
    kept.add(SOURCE.model_copy(update={"about": {"sampling": 1}}))
    assert kept.source("a model").about == {"model": "m-2026", "sampling": 1}
    assert kept.list_kept_seeds("a model", "d/e") == (1337, 1338)
    with pytest.raises(UsageError, match="another source called 'a model'"):
        kept.add(SOURCE.model_copy(update={"identity": "openai:m@2"}))


def test_other_data_is_told(kept):
    """By the fingerprint; a dataset that the set has none of is no mismatch."""
    assert kept.describe_data_mismatches("a model", {"d/e": "f1", "new": "x"}) == []
    assert "different data of 'd/e'" in kept.describe_data_mismatches("a model", {"d/e": "f2"})[0]


def test_a_kill_between_the_files_loses_one_run_only(kept, monkeypatch):
    """A file that the manifest does not list yet is written again."""
    monkeypatch.setattr(
        ParaphraseSet, "_save_paraphrase_set_manifest", lambda self: (_ for _ in ()).throw(KeyboardInterrupt)
    )
    with pytest.raises(KeyboardInterrupt):
        kept.keep("a model", "d/e", 1339, ROWS)
    monkeypatch.undo()
    again = ParaphraseSet.open_or_create_in_folder(kept.path)
    assert again.list_kept_seeds("a model", "d/e") == (1337, 1338)
    again.keep("a model", "d/e", 1339, ROWS)
    assert ParaphraseSet.open(kept.path).rows("a model", "d/e", 1339) == tuple(ROWS)
