"""What is stored together in one transaction stands or falls by itself."""

from __future__ import annotations

import sqlite3
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from embassay.errors import ModelError
from embassay.protocols.hume.database import SqliteStudyDatabase
from embassay.protocols.hume.store import SavedAnswer, SubmittedAnswer, open_answer_store


@pytest.fixture
def file(tmp_path):
    made = SqliteStudyDatabase(tmp_path / "answers.sqlite3")
    yield made
    made.close()


def _keep(key, *, fail=False):
    def work(do):
        do.run("INSERT INTO study VALUES (?, 'x')", key)
        if fail:
            raise ValueError(key)
        return key

    return work


def test_one_that_fails_leaves_nothing_and_takes_nobody_along(file) -> None:
    """While the disk is busy with one, the others wait and go together."""
    begun, go_on = threading.Event(), threading.Event()

    def first(do):
        begun.set()
        assert go_on.wait(10)
        return _keep("first")(do)

    with ThreadPoolExecutor(30) as threads:
        slow = threads.submit(file.write, first)
        assert begun.wait(10)
        others = [threads.submit(file.write, _keep(f"k{at:02}", fail=at % 3 == 0)) for at in range(24)]
        go_on.set()
        assert slow.result() == "first"
        for at, one in enumerate(others):
            if at % 3 == 0:
                with pytest.raises(ValueError, match=f"k{at:02}"):
                    one.result()
            else:
                assert one.result() == f"k{at:02}"
    kept = {key for (key,) in file.read(lambda do: do.all("SELECT key FROM study"))}
    assert kept == {"first", *(f"k{at:02}" for at in range(24) if at % 3)}


def test_a_statement_that_fails_is_one_clear_error(file) -> None:
    """And the next work finds the database as it should be."""
    file.write(_keep("a"))
    with pytest.raises(ModelError, match="cannot be read or written"):
        file.write(_keep("a"))
    assert file.write(_keep("b")) == "b"


def test_a_full_disk_acknowledges_nothing_it_has_not(study) -> None:
    """What was acknowledged before is there; what was refused is not; and with room again it goes on."""
    store = open_answer_store(study)
    store.add_annotator("ann")
    writer = store.database._writer
    writer.execute("PRAGMA max_page_count = 60")
    acknowledged = {}

    def fill():
        for seq in range(1, 500):
            draft = SubmittedAnswer(f"mood-{seq:03}", 1, seq, comment="x" * 900, tab="t")
            assert isinstance(store.save("ann", "mood", draft), SavedAnswer)
            acknowledged[draft.item_id] = seq

    with pytest.raises(ModelError, match="full"):
        fill()
    assert len(acknowledged) > 5
    assert {item: one.seq for item, one in store.answers("ann").items()} == acknowledged
    writer.execute("PRAGMA max_page_count = 100000")
    assert isinstance(store.save("ann", "mood", SubmittedAnswer("mood-999", 1, 999, tab="t")), SavedAnswer)
    store.close()
    found = sqlite3.connect(study.path / "answers.sqlite3")
    assert found.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    assert found.execute("SELECT COUNT(*) FROM changes").fetchone() == (len(acknowledged) + 1,)
    found.close()
