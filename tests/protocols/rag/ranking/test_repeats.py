"""Comparing repeats of a ranking."""

from __future__ import annotations

import pytest

from embassay.errors import UsageError
from embassay.protocols.rag.ranking.reliability import RepeatedOrderAgreement, compare_repeated_orders


def test_by_hand() -> None:
    """Of 0123, 0132 and 1023: one pair of 6 differs between the first and each other, two between these; the top 2 is
    shared by all but in the order, the top 1 by the first two."""
    orders = [(0, 1, 2, 3), (0, 1, 3, 2), (1, 0, 2, 3)]
    found = compare_repeated_orders(orders, top=1, reference=(0, 1, 2, 3), shown=[[5, 5], [5], []], tokens=[10, 20, 30])
    assert found.discordance == pytest.approx((1 + 1 + 2) / 6 / 3)
    assert found.overlap == pytest.approx(1 / 3)
    assert found.tau == pytest.approx((1 + 2 / 3 + 2 / 3) / 3)
    assert (found.runs, found.calls, found.passages, found.tokens) == (3, 1.0, 5.0, 20.0)
    assert compare_repeated_orders(orders, top=2).overlap == 1.0


def test_equal_orders() -> None:
    """Nothing differs; no reference, no tau. Pools of one passage or none are always in order."""
    assert compare_repeated_orders([(1, 0)] * 5) == RepeatedOrderAgreement(5, 0.0, 1.0)
    assert compare_repeated_orders([(0,)] * 2, reference=(0,)) == RepeatedOrderAgreement(2, 0.0, 1.0, 1.0)
    assert compare_repeated_orders([()] * 2) == RepeatedOrderAgreement(2, 0.0, 1.0)


@pytest.mark.parametrize("orders", [[], [(0, 1)], [(0, 1), (0, 1, 2)], [(0, 1), (0, 2)]])
def test_what_cannot_be_compared(orders: list[tuple[int, ...]]) -> None:
    """Fewer than two, or of other positions."""
    with pytest.raises(UsageError, match="cannot be compared"):
        compare_repeated_orders(orders)
