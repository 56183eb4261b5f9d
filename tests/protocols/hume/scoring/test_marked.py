"""Marked documents as rankings: the spec's table, scikit-learn, and the mean over all orders."""

from __future__ import annotations

import math
from itertools import pairwise, permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from embassay.errors import UsageError
from embassay.measures import average_precision
from embassay.protocols.hume.options import AP_MODES
from embassay.protocols.hume.scoring import average_precision_of_marks, reranking_scores

GOLD = [1, 1, 1, 0, 0, 0, 0]


def bits(text: str) -> list[int]:
    """A vector from its digits."""
    return [int(one) for one in text]


@pytest.mark.parametrize(
    ("marks", "ap", "rr", "ndcg"),
    [
        ("1110000", 1, 1, 1),
        ("1100000", 0.809524, 1, 1),
        ("1101000", 0.587302, 1, 0.967468),
        ("1111000", 0.75, 1, 1),
        ("0001110", 0.428571, 0.25, 0.550810),
        ("0000000", 0.428571, 1, 1),
        ("1111111", 0.428571, 1, 1),
        ("1000000", 0.619048, 1, 1),
    ],
)
def test_table_of_the_spec(marks: str, ap: float, rr: float, ndcg: float) -> None:
    """HUME section 4, three relevant of seven, displayed first."""
    found = reranking_scores([GOLD], [bits(marks)])
    expected = {"map": ap, "mrr_at_10": rr, "ndcg_at_10": ndcg}
    assert found == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(
    ("marks", "ap"), [("0010000", 1), ("0110000", 0.5), ("1000000", 0.142857), ("0000000", 0.142857)]
)
def test_one_relevant(marks: str, ap: float) -> None:
    """A hit alone, with one more, a miss, nothing marked."""
    assert average_precision_of_marks(bits("0010000"), bits(marks)) == pytest.approx(ap, abs=1e-6)


@pytest.mark.parametrize(
    ("answers", "expected"),
    [(["0010000"] * 27 + ["1000000"] * 3, 0.914286), (["0010000"] * 26 + ["0110000"] + ["1000000"] * 3, 0.897619)],
    ids=["dan", "nob"],
)
def test_published_wikipedia(answers: list[str], expected: float) -> None:
    """HUME section 4: 30 queries each."""
    found = reranking_scores([bits("0010000")] * 30, [bits(one) for one in answers])
    assert found["map"] == pytest.approx(expected, abs=1e-6)


queries = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), min_size=2, max_size=5).filter(
    lambda pairs: any(grade for grade, _ in pairs)
)


@given(queries)
def test_modes_by_their_definitions(pairs: list[tuple[int, int]]) -> None:
    """tie_aware is scikit-learn's; display_order is AP of the stable order; expected is the mean over all orders within
    ties. Marks may have more than two values."""
    from sklearn.metrics import average_precision_score

    gold, marks = [list(side) for side in zip(*pairs, strict=True)]
    binary = [int(grade > 0) for grade in gold]
    assert average_precision_of_marks(gold, marks) == pytest.approx(average_precision_score(binary, marks))

    def of_order(order: list[int]) -> float:
        names = [str(place) for place in order]
        return average_precision({str(i): one for i, one in enumerate(binary)}, names)

    stable = sorted(range(len(marks)), key=lambda i: -marks[i])
    assert average_precision_of_marks(gold, marks, human_ap_mode="display_order") == pytest.approx(of_order(stable))
    orders = [
        list(order)
        for order in permutations(range(len(marks)))
        if all(marks[a] >= marks[b] for a, b in pairwise(order))
    ]
    mean = math.fsum(of_order(order) for order in orders) / len(orders)
    assert average_precision_of_marks(gold, marks, human_ap_mode="expected") == pytest.approx(mean)
    assert all(0 < average_precision_of_marks(gold, marks, human_ap_mode=mode) <= 1 for mode in AP_MODES)


def test_the_cutoff_is_ten() -> None:
    """A document relevant on place 11 counts for AP alone; a higher grade gains 2^grade - 1."""
    found = reranking_scores([[0] * 10 + [1]], [[1] * 11])
    assert (found["mrr_at_10"], found["ndcg_at_10"]) == (0, 0)
    assert found["map"] == pytest.approx(1 / 11)
    graded = reranking_scores([[1, 2]], [[0, 0]])["ndcg_at_10"]
    assert graded == pytest.approx((1 + 3 / math.log2(3)) / (3 + 1 / math.log2(3)))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: average_precision_of_marks([1, 0], [1]), "2 gold grades but 1 marks"),
        (lambda: average_precision_of_marks([0, 0], [1, 0]), "no relevant document"),
        (lambda: average_precision_of_marks([1, 0], [1, 0], human_ap_mode="random"), "human_ap_mode is 'random'"),
        (lambda: reranking_scores([], []), "0 gold queries"),
    ],
)
def test_refused(call, message: str) -> None:
    """With what is wrong."""
    with pytest.raises(UsageError, match=message):
        call()
