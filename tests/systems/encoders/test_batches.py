"""How texts are put together."""

from __future__ import annotations

import threading

from hypothesis import given
from hypothesis import strategies as st

from embassay.systems.encoders import batches
from embassay.systems.encoders.batches import batch_by_equal_length, batch_by_similar_length, run_batches_on_all_cores


def test_equal_lengths():
    """Long ones first, in the order of the rows, no more tokens together than allowed, but at least one text."""
    assert batch_by_equal_length([3, 3, 5, 3, 20], 6) == [[4], [2], [0, 1], [3]]
    assert batch_by_equal_length([], 6) == []


@given(st.lists(st.text(max_size=5), unique=True, max_size=20), st.integers(1, 7), st.randoms())
def test_similar_lengths_are_a_function_of_the_set(texts, size, random):
    """However the call is ordered, the same texts share a batch, and every row is in one."""
    other = random.sample(texts, len(texts))
    found = [[texts[row] for row in batch] for batch in batch_by_similar_length(texts, size)]
    assert found == [[other[row] for row in batch] for batch in batch_by_similar_length(other, size)]
    assert sorted(text for batch in found for text in batch) == sorted(texts)
    assert all(len(batch) <= size for batch in found)


def test_every_thread_starts_and_every_batch_is_done(monkeypatch):
    """With as many threads as there are cores, but no more than batches."""
    monkeypatch.setattr(batches, "count_cores", lambda: 3)
    started, done = [], []
    run_batches_on_all_cores(done.extend, [[0, 1], [2]], start=lambda: started.append(threading.get_ident()))
    assert sorted(done) == [0, 1, 2]
    assert 1 <= len(set(started)) <= 2
    assert threading.get_ident() not in started
    run_batches_on_all_cores(done.extend, [])
