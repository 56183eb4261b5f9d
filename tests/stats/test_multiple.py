"""Holm's correction."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from embassay.errors import UsageError
from embassay.stats import holm

probabilities = st.lists(st.floats(0, 1), max_size=12)


def test_by_hand() -> None:
    """(.005 x 4, .01 x 3, .03 x 2, .04 x 1 raised to .06), in the order given."""
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm(np.array([0.9, 0.6])) == [1.0, 1.0]
    assert holm([]) == []
    assert all(type(value) is float for value in holm(np.array([0.1, 0.2])))


@given(probabilities)
def test_definition(p: list[float]) -> None:
    """The largest (m - j + 1) p_(j) up to each rank, at most 1."""
    ordered = sorted(p)
    expected = [min(1.0, max((len(p) - j) * ordered[j] for j in range(ordered.index(x) + 1))) for x in p]
    # Equal p-values share the result of the last of them, whose factor is smaller but whose maximum is not.
    assert holm(p) == pytest.approx(expected)


@given(probabilities, st.randoms())
def test_order_does_not_matter(p: list[float], random) -> None:
    """Shuffled p-values get shuffled results, never below themselves and in the same order of size."""
    order = list(range(len(p)))
    random.shuffle(order)
    adjusted = holm(p)
    assert holm([p[i] for i in order]) == [adjusted[i] for i in order]
    assert all(after >= before for before, after in zip(p, adjusted, strict=True))


def test_refused() -> None:
    """What is not a probability."""
    for wrong in ([1.2], [-0.1], [float("nan")], [[0.1]]):
        with pytest.raises(UsageError, match="p-values are"):
            holm(wrong)
