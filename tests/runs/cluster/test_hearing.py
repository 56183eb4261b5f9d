"""What the driver hears of cells: nothing is lost or counted twice in whatever order the messages come."""

from hypothesis import given
from hypothesis import strategies as st

from embassay.runs.cluster.engine import CellProgressRelay
from embassay.runs.folder import RunCell

CELL = RunCell("retrieval", "scifact", "bm25", "k", 100, None)


class Listener:
    """Keeps what it hears."""

    def __init__(self):
        self.said, self.texts = [], 0

    def started(self, cell):
        self.said.append("started")

    def advanced(self, cell, texts):
        assert self.said == ["started"]
        self.texts += texts


def heard(messages):
    """A listener that has heard of them."""
    listener = Listener()
    ears = CellProgressRelay(None, None, [CELL], listener)
    for attempt, texts in messages:
        ears.hear(CELL.key, attempt, texts)
    return ears, listener


@given(st.lists(st.integers(0, 50), max_size=20).flatmap(lambda texts: st.permutations([0, *texts])))
def test_messages_overtake_one_another(texts):
    """The cell begins once, before all else, and its texts are summed."""
    _, listener = heard(("one", amount) for amount in texts)
    assert listener.said == ["started"]
    assert listener.texts == sum(texts)


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 9)), min_size=1, max_size=30))
def test_a_cell_that_begins_anew(messages):
    """What a lost machine had done is taken back, and its last words count nothing: what is told is what the newest
    attempt has done."""
    _, listener = heard(messages)
    newest = list(dict.fromkeys(attempt for attempt, _ in messages))[-1]
    assert listener.said == ["started"]
    assert listener.texts == sum(texts for attempt, texts in messages if attempt == newest)


def test_a_cell_that_has_ended():
    """Nothing more is told of it."""
    ears, listener = heard([("one", 3)])
    ears.forget(CELL)
    ears.hear(CELL.key, "one", 4)
    ears.hear(CELL.key, "two", 0)
    assert listener.texts == 3
