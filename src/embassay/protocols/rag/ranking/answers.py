"""Whether the answers that a ranker is told are those to its proposals."""

from __future__ import annotations

from collections.abc import Sequence

from embassay.protocols.rag.ranking.engine import Call


def is_answer(shown: Sequence[int], call: Call) -> bool:
    """Whether `call` orders exactly what was `shown`, in the order it was shown in.

    >>> is_answer((4, 2, 7), Call((4, 2, 7), (7, 4, 2))), is_answer((4, 2, 7), Call((4, 2, 7), (7, 4, 4)))
    (True, False)
    """
    return call.shown == tuple(shown) and sorted(call.order) == sorted(call.shown)


def check_answers(proposals: Sequence[tuple[int, ...]], calls: Sequence[Call]) -> None:
    """ValueError unless `calls` are the answers to `proposals`, one each, in their order."""
    if len(proposals) != len(calls) or not all(map(is_answer, proposals, calls)):
        raise ValueError(f"answers to {list(proposals)} were awaited, not {list(calls)}")
