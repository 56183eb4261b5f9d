"""Batches done together: whatever they are, every vector is the one that its batch gives alone."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from embassay.errors import ModelError
from embassay.systems.encoders.batches import EncoderBatchMerger, PaddedBatch


class Full(Exception):
    """No room."""


class Machine:
    """A card with room for `room` tokens, whose time a call is `start` and 1 for each token; for shapes of `odd` width
    done together its vectors are a little different."""

    def __init__(self, room: int = 10**9, start: float = 0.0, odd: int = 0) -> None:
        self.room, self.start, self.odd = room, start, odd
        self.now = 0.0
        self.calls: list[int] = []

    def run(self, group: Sequence[PaddedBatch]) -> np.ndarray:
        tokens = sum(one.tokens for one in group)
        if tokens > self.room:
            raise Full
        self.now += self.start + tokens
        self.calls.append(len(group))
        found = np.concatenate([one.features for one in group]).astype(np.float32)[:, None]
        if len(group) > 1 and self.odd and group[0].width % self.odd == 0:
            found = np.nextafter(found, np.float32(np.inf))
        return found

    def joined(self) -> EncoderBatchMerger:
        return EncoderBatchMerger(self.run, halves, lambda error: isinstance(error, Full), clock=lambda: self.now)


def halves(batch: PaddedBatch) -> tuple[PaddedBatch, PaddedBatch]:
    middle = batch.rows // 2
    one, other = batch.features[:middle], batch.features[middle:]
    return PaddedBatch(len(one), batch.width, one), PaddedBatch(len(other), batch.width, other)


def padded(shapes: Sequence[tuple[int, int]]) -> list[PaddedBatch]:
    numbers = iter(range(10**6))
    return [PaddedBatch(rows, width, np.array([next(numbers) for _ in range(rows)])) for rows, width in shapes]


@given(
    calls=st.lists(st.lists(st.tuples(st.integers(1, 9), st.integers(1, 4)), max_size=30), min_size=1, max_size=4),
    room=st.integers(4, 200),
    start=st.sampled_from([0.0, 3.0, 500.0]),
    odd=st.integers(0, 2),
)
@pytest.mark.filterwarnings("ignore:The card has no room")
def test_vectors_are_those_of_each_batch_alone(calls, room, start, odd):
    """Whatever the batches, the room, the speed, and the shapes that are not done alike: in order, bit by bit."""
    machine = Machine(room, start, odd)
    joined = machine.joined()
    for shapes in calls:
        batches = padded(shapes)
        found = joined(batches)
        assert [len(one) for one in found] == [one.rows for one in batches]
        for batch, vectors in zip(batches, found, strict=True):
            np.testing.assert_array_equal(vectors[:, 0], batch.features)


def test_more_are_done_together_while_that_pays():
    """With a dear start a call takes more and more; where each token costs the same, no more than at first."""
    dear, cheap = Machine(start=10_000.0), Machine()
    for machine in (dear, cheap):
        joined = machine.joined()
        for _ in range(12):
            joined(padded([(8, 4)] * 256))
    assert max(dear.calls) == 256
    assert max(cheap.calls) <= 4


def test_a_full_card_is_given_less():
    """What fits is found once, and a batch that does not fit alone is halved, with a warning; one text must fit."""
    machine = Machine(room=200, start=10_000.0)
    joined = machine.joined()
    for _ in range(8):
        joined(padded([(8, 4)] * 64))
    assert max(machine.calls) == 4
    assert joined.tokens <= 200
    tight = Machine(room=10)
    with pytest.warns(RuntimeWarning, match="batches are halved"):
        assert tight.joined()(padded([(8, 4)]))[0][:, 0].tolist() == list(range(8))
    with pytest.raises(ModelError, match="single text"), pytest.warns(RuntimeWarning):
        Machine(room=3).joined()(padded([(2, 4)]))


def test_shapes_that_change_vectors_are_tried_once():
    """And after eight of them nothing is laid together any more."""
    machine = Machine(start=10_000.0, odd=1)
    joined = machine.joined()
    for _ in range(3):
        joined(padded([(1, width) for width in range(1, 30) for _ in range(8)]))
    assert 8 <= len(joined.same) <= 30
    assert not any(joined.same.values())
    before = len(machine.calls)
    joined(padded([(1, width) for width in range(1, 30) for _ in range(8)]))
    assert set(machine.calls[before:]) == {1}


def test_other_errors_are_not_hidden():
    """Only a full card is a reason to try again."""
    joined = Machine().joined()
    joined.run = lambda _: np.empty((0, 1), dtype=np.float32)[5]
    with pytest.raises(IndexError):
        joined(padded([(1, 1)]))
