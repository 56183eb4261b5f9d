"""When a pair is locked."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from embassay.protocols.rag.ranking.locks import PairLockEvidence, count_disjoint_paths_up_to_two


def never(better: int, worse: int) -> bool:
    return False


def always(better: int, worse: int) -> bool:
    return True


def evidence(n: int = 5, confirmations: int = 2, net: bool = False, pending_edges: bool = False) -> PairLockEvidence:
    return PairLockEvidence(n, confirmations=confirmations, net=net, pending_edges=pending_edges)


def test_a_pair_is_locked_by_its_second_confirmation() -> None:
    """Once judged, a pair is pending; judged so again, it is locked and pending no more."""
    known = evidence()
    known.add_order_and_lock_pairs([0, 1], never, never)
    assert known.pending == {(0, 1): 1}
    assert not known.order.pairs
    known.add_order_and_lock_pairs([0, 1], never, never)
    assert known.order.pairs == [(0, 1)]
    assert not known.pending


def test_directions_are_counted_apart() -> None:
    """Contradictions do not cancel: 1 over 0, 0 over 1, 1 over 0 locks the first (ambiguity 16)."""
    known = evidence()
    for order in ([1, 0], [0, 1], [1, 0]):
        known.add_order_and_lock_pairs(order, never, never)
    assert known.order.pairs == [(1, 0)]


def test_net_confirmations_cancel() -> None:
    """As an option, what speaks against a pair is set off."""
    known = evidence(net=True)
    for order in ([1, 0], [0, 1], [1, 0]):
        known.add_order_and_lock_pairs(order, never, never)
    assert not known.order.pairs
    known.add_order_and_lock_pairs([1, 0], never, never)
    assert known.order.pairs == [(1, 0)]


def test_a_judgement_against_a_lock_is_ignored() -> None:
    """What contradicts a lock is not even counted."""
    known = evidence(confirmations=1)
    known.add_order_and_lock_pairs([0, 1, 2], never, never)
    known.add_order_and_lock_pairs([2, 1, 0], never, never)
    assert known.order.is_known_better(0, 2)
    assert not known.pending


def test_reachability_is_asked_anew_after_every_lock() -> None:
    """Locks of one answer imply others of it, which are then skipped (trap T16): 0 over 2 over 3 is locked, so a
    judgement 1, 3, 0 that confirms 1 over 3 and 3 over 0 cannot close a cycle."""
    known = evidence(confirmations=1)
    known.add_order_and_lock_pairs([0, 1, 2, 3, 4], never, never)
    # All ten pairs were locked one by one, or implied by those before.
    assert all(known.order.is_known_better(i, j) for i in range(5) for j in range(i + 1, 5))
    assert len(known.order.pairs) == 10
    known.add_order_and_lock_pairs([4, 3, 2, 1, 0], always, always)
    assert len(known.order.pairs) == 10


def test_pendings_that_a_path_implies_are_dropped() -> None:
    """1 over 3 was judged once; once 1 over 2 over 3 is locked, nothing more is awaited for it."""
    known = evidence()
    known.add_order_and_lock_pairs([1, 3], never, never)
    for pair in ([1, 2], [2, 3]):
        known.add_order_and_lock_pairs(pair, never, never)
        known.add_order_and_lock_pairs(pair, never, never)
    assert known.order.is_known_better(1, 3)
    assert not known.pending


def test_a_clear_margin_locks_at_once() -> None:
    """No confirmation is awaited where the scores are far enough apart."""
    known = evidence()
    known.add_order_and_lock_pairs([0, 1], always, never)
    assert known.order.pairs == [(0, 1)]


@pytest.mark.parametrize(("pending_edges", "locked"), [(False, False), (True, True)])
def test_two_ways_through_others_are_evidence_only_as_an_option(pending_edges: bool, locked: bool) -> None:
    """0 over 1 over 3 and 0 over 2 over 3 were each judged once. Then 0 over 3 is: locked if pending pairs count and
    the score is ahead; by default the clause never fires (ambiguity 14)."""
    for ahead, expected in ((always, locked), (never, False)):
        known = evidence(pending_edges=pending_edges)
        for pair in ([0, 1], [1, 3], [0, 2], [2, 3], [0, 3]):
            known.add_order_and_lock_pairs(pair, never, ahead)
        assert ((0, 3) in known.order.pairs) == expected


def test_one_way_is_not_enough() -> None:
    """Two paths through the same item are one piece of evidence."""
    known = evidence(pending_edges=True)
    for pair in ([0, 1], [0, 2], [1, 2], [2, 3], [0, 3]):
        known.add_order_and_lock_pairs(pair, never, always)
    assert (0, 3) not in known.order.pairs


@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), max_size=18, unique=True))
def test_disjoint_paths_are_those_that_a_search_finds(pairs: list[tuple[int, int]]) -> None:
    """Two paths without a common item in between exist just if none of the items in between lies on all of them."""
    edges = [(a, b) for a, b in pairs if a != b]

    def connected(without: int | None) -> bool:
        reached, waiting = {0}, [0]
        while waiting:
            item = waiting.pop()
            for a, b in edges:
                if a == item and (a, b) != (0, 6) and b not in reached and b != without:
                    reached.add(b)
                    waiting.append(b)
        return 6 in reached

    expected = 0 if not connected(None) else 1 + all(connected(item) for item in range(1, 6))
    assert count_disjoint_paths_up_to_two(edges, 0, 6) == expected
