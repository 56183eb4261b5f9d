"""Controls: the text itself, and its words in another order."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from embassay.measures.correlation import edit_distance
from embassay.protocols.pteb.paraphrasing import PermutingParaphraser, open_paraphraser
from embassay.protocols.wordings.records import ParaphraseOutcome, TextToParaphrase
from embassay.protocols.wordings.sets import ParaphraseSet, WordingSource

LONG = " ".join(f"word{i}" for i in range(40))


def written(paraphraser, texts, seed=1337):
    found = dict(paraphraser.write([TextToParaphrase(text, "en") for text in texts], seed=seed, run=0, dataset="d"))
    return [found[i] for i in range(len(texts))]


def test_copied():
    """The text, counted as a copy; distance 0; any number of runs."""
    found = open_paraphraser("copied")
    rows = written(found, ["a b", " x\n", ""])
    assert [(row.wording, row.outcome) for row in rows] == [("a b", "copied"), (" x\n", "copied"), ("", "ok")]
    assert found.seeds(3, 5) == (5, 6, 7)
    assert not found.remote


@given(st.lists(st.text(st.characters(codec="utf-8"))), st.integers(0, 3))
def test_permuted_has_the_same_words(texts, seed):
    """Each as often; the same order again for the same seed."""
    found = open_paraphraser("permuted")
    rows = written(found, texts, seed)
    assert rows == written(found, texts, seed)
    for text, row in zip(texts, rows, strict=True):
        assert Counter(row.wording.split()) == Counter(text.split())
        assert row.usable


def test_permuted_differs_by_seed():
    """Runs are independent draws, and a long text is permuted through and through."""
    a, b = (written(open_paraphraser("permuted"), [LONG], seed)[0] for seed in (1337, 1338))
    assert a.wording != b.wording
    assert edit_distance(LONG, a.wording) > 0.8


@pytest.mark.parametrize("changed", [0, 2, 10, 20, 40])
def test_as_far_as_the_set(tmp_path, changed):
    """Its words are permuted until the distance is that of the wording in the set."""
    words = LONG.split()
    wording = " ".join([*(f"other{i}" for i in range(changed)), *words[changed:]])
    made = ParaphraseSet.open_or_create_in_folder(tmp_path)
    made.add(WordingSource(name="m", paraphraser="openai:m", identity="i"))
    lost = ParaphraseOutcome("lost here", "en", "", "", "refused")
    made.keep("m", "d", 1337, [ParaphraseOutcome(LONG, "en", "", wording, "ok"), lost])
    found = open_paraphraser(f"permuted:{tmp_path}")
    near, missing = written(found, [LONG, "lost here"])
    assert abs(edit_distance(LONG, near.wording) - changed / 40) <= 0.1
    assert Counter(near.wording.split()) == Counter(words)
    assert (missing.outcome, missing.wording) == ("missing", "")
    assert found.seeds(1, 1337, dataset="d") == (1337,)
    assert found.identity != open_paraphraser("permuted").identity


def test_as_far_as_any_paraphraser():
    """A set is one; so is a control."""
    assert written(PermutingParaphraser("permuted", open_paraphraser("copied")), [LONG])[0].outcome == "copied"
