"""Which texts have a usable wording, whether they are enough, and what stands in the data then."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from embassay.data import open_dataset
from embassay.protocols.wordings.protocol import count_encoded_texts
from embassay.protocols.wordings.records import ParaphraseOutcome
from embassay.protocols.wordings.work import (
    find_language_at_place,
    find_registered_task,
    make_dataset_in_original_wording,
    replace_texts_by_wordings,
)
from embassay.records import ScoredTextPairs

OUTCOMES = ("ok", "copied", "empty", "too long", "wrong language", "thinking", "refused", "failed", "missing")


def scored(n):
    return ScoredTextPairs(
        tuple(f"p{i}" for i in range(n)), tuple(f"first {i}" for i in range(n)),
        tuple(f"second {i}" for i in range(n)), np.arange(n, dtype=float),
    )  # fmt: skip


def known(data, outcomes):
    """Every text's wording, with outcomes in the order first texts, second texts."""
    texts = (*data.first, *data.second)
    found = {}
    for text, outcome in zip(texts, outcomes, strict=True):
        wording = f"{text}, said again" if outcome in OUTCOMES[:2] else ""
        found["en", text, ""] = ParaphraseOutcome(text, "en", "", wording, outcome)
    return found


@given(st.lists(st.sampled_from(OUTCOMES), min_size=40, max_size=40))
def test_a_pair_is_kept_exactly_if_both_texts_have_a_wording(outcomes):
    """Both sides hold the items of which every text is usable; over 3 of 40 texts without one there is a reason."""
    data = scored(20)
    worded = replace_texts_by_wordings(find_registered_task("sts"), data, "en", known(data, outcomes))
    usable = [outcome in OUTCOMES[:2] for outcome in outcomes]
    kept = [data.ids[i] for i in range(20) if usable[i] and usable[20 + i]]
    assert list(worded.reworded.original.ids) == list(worded.reworded.paraphrased.ids) == kept
    assert worded.reworded.original.first == tuple(f"first {one[1:]}" for one in kept)
    assert worded.reworded.paraphrased.first == tuple(f"first {one[1:]}, said again" for one in kept)
    failed = usable.count(False)
    assert bool(worded.reason) == (failed > 3)
    assert bool(worded.warning) == (failed == 3)
    assert worded.counts == {"texts_asked": 40, "texts_not_worded": failed}


@pytest.mark.parametrize(
    ("pairs", "failed", "most", "scored_"),
    [
        (20, 3, 0.05, True), (20, 4, 0.05, False),  # 40 texts: three are let pass
        (2, 2, 0.05, True), (2, 3, 0.05, False),  # 4 texts: half of them at most
        (60, 6, 0.05, True), (60, 7, 0.05, False),  # 120 texts: the share alone
        (60, 12, 0.1, True), (60, 13, 0.1, False), (60, 1, 0.0, False),
    ],
)  # fmt: skip
def test_the_share_that_may_be_lost(pairs, failed, most, scored_):
    """5% or what the option says; of fewer than 100 texts three or half, with a warning."""
    data = scored(pairs)
    outcomes = ["refused"] * failed + ["ok"] * (2 * pairs - failed)
    worded = replace_texts_by_wordings(find_registered_task("sts"), data, "en", known(data, outcomes), most_lost=most)
    assert bool(worded.reason) is not scored_
    assert bool(worded.warning) == (scored_ and failed > most * 2 * pairs)


def test_the_reason_counts_each_kind():
    """So that a user sees what to mend."""
    data = scored(20)
    outcomes = ["refused"] * 3 + ["too long"] * 2 + ["ok"] * 35
    reason = replace_texts_by_wordings(find_registered_task("sts"), data, "en", known(data, outcomes)).reason
    assert reason == ("5 of 40 texts (12.5%) could not be rewritten: 3 refused, 2 too long (over 5%, so no score)")


def test_a_text_that_the_set_lacks_is_missing():
    """It is a failure like others, not a KeyError."""
    data = scored(20)
    wordings = known(data, ["ok"] * 40)
    del wordings["en", "second 3", ""]
    worded = replace_texts_by_wordings(find_registered_task("sts"), data, "en", wordings)
    assert "p3" not in worded.reworded.original.ids
    assert not worded.reason


def test_originals_stand_in_on_request_only():
    """`keep_failed`: all items, the failed text as it was, no reason; the count stays."""
    data = scored(20)
    worded = replace_texts_by_wordings(
        find_registered_task("sts"), data, "en", known(data, ["refused"] * 10 + ["ok"] * 30), keep_failed=True
    )
    assert worded.reworded.paraphrased.first[:2] == ("first 0", "first 1")
    assert (worded.reworded.kept, worded.reason, worded.counts["texts_not_worded"]) == (20, "", 10)


def test_excluded_copies_are_no_failures():
    """They leave both sides, but do not count towards the 5%."""
    data = scored(20)
    worded = replace_texts_by_wordings(
        find_registered_task("sts"), data, "en", known(data, ["copied"] * 8 + ["ok"] * 32), exclude_copied=True
    )
    assert (worded.reworded.kept, worded.reason) == (12, "")


def test_a_wording_of_a_place_comes_before_that_of_the_text():
    """With a seed for every text, occurrences of one text have wordings of their own [A3]."""
    data = ScoredTextPairs(("p0", "p1"), ("same", "same"), ("one", "other"), np.array([1.0, 2.0]))
    wordings = {
        ("en", text, ""): ParaphraseOutcome(text, "en", "", f"{text}!", "ok") for text in ("same", "one", "other")
    }
    wordings["en", "same", "sts:first:p1"] = ParaphraseOutcome("same", "en", "sts:first:p1", "equal", "ok")
    worded = replace_texts_by_wordings(find_registered_task("sts"), data, "en", wordings)
    assert worded.reworded.paraphrased.first == ("same!", "equal")


def test_blanks_before_punctuation_go_on_both_sides():
    """Option of [A19]: the original is tidied as the paraphrase is."""
    data = ScoredTextPairs(("p0",), ("a man ( old ) .",), ("a dog !",), np.array([1.0]))
    wordings = {
        ("en", text, ""): ParaphraseOutcome(text, "en", "", f"so , {text}", "ok")
        for text in (*data.first, *data.second)
    }
    worded = replace_texts_by_wordings(find_registered_task("sts"), data, "en", wordings, tidy=True)
    assert (worded.reworded.original.first, worded.reworded.original.second) == (("a man (old).",), ("a dog!",))
    assert worded.reworded.paraphrased.first == ("so, a man (old).",)
    assert make_dataset_in_original_wording(
        find_registered_task("sts"), data, tidy=True
    ).reworded.paraphrased.second == ("a dog!",)
    assert make_dataset_in_original_wording(find_registered_task("sts"), data).reworded.paraphrased is data


@pytest.mark.parametrize(
    ("place", "lang", "own"),
    [
        ("first:1", "en-de", "en"), ("second:1", "en-de", "de"), ("text:1", "en-de", "en-de"),
        ("first:1", "zh-Hant", "zh-Hant"),
    ],
)  # fmt: skip
def test_each_side_of_a_crossed_pair_has_its_language(place, lang, own):
    """A pair in two languages is worded in both; a script is no second language."""
    assert find_language_at_place(place, lang) == own


def test_a_sentence_shared_by_two_language_pairs_is_asked_once():
    """In STS17 the English side of en-de and en-tr is the same: one wording, found from both."""
    data = ScoredTextPairs(("p0",), ("a cat",), ("eine Katze",), np.array([1.0]))
    wordings = {
        ("en", "a cat", ""): ParaphraseOutcome("a cat", "en", "", "one cat", "ok"),
        ("de", "eine Katze", ""): ParaphraseOutcome("eine Katze", "de", "", "ein Kätzchen", "ok"),
    }
    worded = replace_texts_by_wordings(find_registered_task("sts"), data, "en-de", wordings)
    assert worded.reworded.paraphrased.second == ("ein Kätzchen",)


def test_an_encoder_reads_the_corpus_too():
    """Progress counts the documents that are searched, which nobody paraphrases."""
    data = open_dataset("sample").load("retrieval").data
    assert count_encoded_texts(find_registered_task("retrieval"), data) == len(data.corpus) + len(data.queries)
    assert count_encoded_texts(find_registered_task("sts"), scored(4)) == 8
