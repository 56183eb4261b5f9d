"""What the store promises, in a file and on a server alike."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from embassay.errors import UsageError
from embassay.protocols.hume import database as clock
from embassay.protocols.hume.store import LEASE_SECONDS, RefusedAnswer, SavedAnswer, SubmittedAnswer

FIRST = SubmittedAnswer("mood-00", 1, seq=1, seconds=2.5, tab="t")


def _saved(store, annotator, *drafts):
    return [store.save(annotator, draft.item_id.partition("-")[0], draft) for draft in drafts]


def test_an_answer_is_stored_and_read_back(store, opened) -> None:
    """All of it, also by another process that opens the same store."""
    draft = SubmittedAnswer(
        "search-01", [1, 0, 0, 1, 0, 0, 0], 4, 61.25, "page is cut", "see «§2» – عربي 🙂", "tab-1", 2
    )
    (saved,) = _saved(store, "ann", draft)
    assert saved == SavedAnswer(draft.item_id, draft.value, draft.flag, draft.comment, 61.25, 2, 4, saved.saved_at)
    assert opened().answers("ann") == {"search-01": saved}
    assert opened().answers("bob") == {}


@pytest.mark.parametrize("value", [None, 0, 3.5, "a group", {"draft": [1, None, 0]}, [0, 1]])
def test_values_of_every_kind_come_back_as_they_were(store, value) -> None:
    """With their type: the label 1 is not the text 1."""
    _saved(store, "ann", replace(FIRST, value=value))
    (back,) = store.answers("ann").values()
    assert back.value == value
    assert type(back.value) is type(value)


def test_the_same_answer_again_is_acknowledged_and_changes_nothing(store) -> None:
    """A browser that did not hear the answer sends again."""
    once, twice = _saved(store, "ann", FIRST, replace(FIRST, seconds=9.0))
    assert twice == once
    assert len(store.changes("ann")) == 1


def test_an_older_or_another_answer_under_a_known_number_is_refused(store) -> None:
    """With the one that holds, so that the page can show it."""
    (held,) = _saved(store, "ann", replace(FIRST, seq=5))
    for late in (replace(FIRST, seq=4), replace(FIRST, seq=5, value=2), replace(FIRST, seq=5, flag="x")):
        assert _saved(store, "ann", late) == [RefusedAnswer("older", held)]
    assert store.answers("ann") == {"mood-00": held}


def test_numbers_count_by_item(store) -> None:
    """Two answers on their way may overtake each other."""
    first, second = _saved(store, "ann", replace(FIRST, seq=7), replace(FIRST, item_id="mood-01", seq=6))
    assert isinstance(first, SavedAnswer)
    assert isinstance(second, SavedAnswer)
    assert store.find_last_change_number_of_annotator("ann") == 7
    assert store.find_last_change_number_of_annotator("bob") == 0


def test_every_step_is_kept(store) -> None:
    """Undo is a step of its own, and the last one counts."""
    steps = [FIRST, replace(FIRST, value=2, seq=2), replace(FIRST, value=None, seq=3), replace(FIRST, seq=4)]
    _saved(store, "ann", *steps)
    assert [change.answer.value for change in store.changes("ann")] == [1, 2, None, 1]
    assert {change.tab for change in store.changes("ann")} == {"t"}
    assert store.answers("ann")["mood-00"].seq == 4
    assert store.changes("bob") == ()


def test_one_tab_writes(store, monkeypatch) -> None:
    """Another one reads until it takes over, or the first was silent for long."""
    at = 1000.0
    monkeypatch.setattr(clock, "current_unix_seconds", lambda: at)
    assert store.try_to_take_write_lease("ann", "one", take=False)
    assert not store.try_to_take_write_lease("ann", "two", take=False)
    assert store.try_to_take_write_lease("bob", "two", take=False)
    (refused,) = _saved(store, "ann", replace(FIRST, tab="two"))
    assert refused == RefusedAnswer("another_tab", None)
    assert store.try_to_take_write_lease("ann", "two", take=True)
    assert _saved(store, "ann", replace(FIRST, tab="one")) == [RefusedAnswer("another_tab", None)]
    assert not store.try_to_take_write_lease("ann", "one", take=False)
    at += LEASE_SECONDS + 1
    assert store.try_to_take_write_lease("ann", "one", take=False)


def test_a_clock_that_is_put_back_locks_nobody_out(store, monkeypatch) -> None:
    """A tab that is gone would hold the lease for the hour that the clock lost."""
    at = 5000.0
    monkeypatch.setattr(clock, "current_unix_seconds", lambda: at)
    assert store.try_to_take_write_lease("ann", "one", take=False)
    at -= 5
    assert not store.try_to_take_write_lease("ann", "two", take=False)
    at -= 3600
    assert store.try_to_take_write_lease("ann", "two", take=False)
    assert not store.try_to_take_write_lease("ann", "one", take=False)


def test_saving_renews_the_lease(store, monkeypatch) -> None:
    """Who writes stays the one who writes."""
    at = 1000.0
    monkeypatch.setattr(clock, "current_unix_seconds", lambda: at)
    for seq in range(1, 5):
        at += LEASE_SECONDS - 1
        assert isinstance(_saved(store, "ann", replace(FIRST, seq=seq))[0], SavedAnswer)
        assert not store.try_to_take_write_lease("ann", "two", take=False)


def test_a_repeat_is_acknowledged_whoever_writes_by_now(store) -> None:
    """What was stored is stored: the tab that sent it may have lost the right to write since."""
    (held,) = _saved(store, "ann", FIRST)
    assert store.try_to_take_write_lease("ann", "two", take=True)
    assert _saved(store, "ann", FIRST) == [held]


ITEMS = ("mood-00", "mood-01", "mood-02")


def test_a_task_is_finished_once_all_is_decided_and_then_frozen(store) -> None:
    """An item that cannot be judged counts, for a reason; a draft, one taken back and one not seen do not."""
    assert store.finish("ann", "mood", ITEMS) == ITEMS
    _saved(
        store,
        "ann",
        FIRST,
        SubmittedAnswer("mood-01", None, 2, tab="t"),
        SubmittedAnswer("mood-02", {"draft": [1, None]}, 3, tab="t"),
    )
    assert store.finish("ann", "mood", ITEMS) == ("mood-01", "mood-02")
    assert store.finished() == {}
    _saved(
        store,
        "ann",
        SubmittedAnswer("mood-01", None, 4, flag="empty", tab="t"),
        SubmittedAnswer("mood-02", 0, 5, tab="t"),
    )
    assert store.finish("ann", "mood", ITEMS) == ()
    at = store.finished()["ann"]["mood"]
    assert store.finish("ann", "mood", ITEMS) == ()
    assert store.finished() == {"ann": {"mood": at}}
    before = store.answers("ann")
    assert _saved(store, "ann", SubmittedAnswer("mood-00", 2, 6, tab="t")) == [
        RefusedAnswer("frozen", before["mood-00"])
    ]
    assert store.answers("ann") == before
    assert isinstance(_saved(store, "ann", SubmittedAnswer("pairs-00", 2.0, 7, tab="t"))[0], SavedAnswer)
    assert isinstance(_saved(store, "bob", FIRST)[0], SavedAnswer)


def test_a_repeat_after_the_end_is_still_acknowledged(store) -> None:
    """The answer was stored before the task was finished; only its acknowledgement was lost."""
    saved = _saved(store, "ann", *(SubmittedAnswer(item, 1, at, tab="t") for at, item in enumerate(ITEMS, 1)))
    store.finish("ann", "mood", ITEMS)
    assert _saved(store, "ann", SubmittedAnswer("mood-02", 1, 3, tab="t")) == saved[2:]


def test_people_and_their_settings(store) -> None:
    """Somebody who is there stays what they are."""
    assert not store.add_annotator("ann")
    assert store.add_annotator("script", "simulated")
    store.save_name_and_settings("ann", "Ann <b>", {"theme": "dark"})
    assert [(one.id, one.kind, one.name, dict(one.settings)) for one in store.annotators()] == [
        ("ann", "person", "Ann <b>", {"theme": "dark"}),
        ("bob", "person", None, {}),
        ("script", "simulated", None, {}),
    ]
    assert store.annotator("ann") == store.annotators()[0]
    assert store.annotator("nobody") is None
    with pytest.raises(UsageError, match="ann is already a person"):
        store.add_annotator("ann", "simulated")


@pytest.mark.parametrize("name", ["", " ", "a b", "../x", "a/b", "-x", "x" * 81, "a\n", "a\0", "<b>"])
def test_names_that_cannot_stand_in_files(store, name) -> None:
    """Refused before anything is made of them."""
    with pytest.raises(UsageError, match="is not a valid annotator name"):
        store.add_annotator(name)
    assert len(store.annotators()) == 2


def test_many_threads_at_once_store_everything_once(store) -> None:
    """Each answer is sent three times from different threads; some in the wrong order."""
    people = [f"p{at}" for at in range(6)]
    for name in people:
        store.add_annotator(name)
    drafts = [
        (name, SubmittedAnswer(f"mood-{item:02}", step, seq=step + 1, tab="t"))
        for step in range(5) for item in range(3) for name in people for _ in range(3)
    ]  # fmt: skip
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda one: store.save(one[0], "mood", one[1]), drafts))
    for name in people:
        assert [one.value for one in store.answers(name).values()] == [4, 4, 4]
        steps = [(change.answer.item_id, change.answer.seq) for change in store.changes(name)]
        assert len(steps) == len(set(steps))


def test_a_store_serves_one_study_only(store, opened, study) -> None:
    """Other items, other guidelines, or another version of either are refused by name."""
    for change, told in (
        ({"content": "other"}, "other items"),
        ({"guidelines": "other"}, "guidelines"),
        ({"guidelines_version": "2"}, "guidelines '1'"),
    ):
        other = replace(study, study=study.study.model_copy(update=change))
        with pytest.raises(UsageError, match=told):
            opened(other)
    assert opened().annotators() == store.annotators()
