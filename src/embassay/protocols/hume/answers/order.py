"""The order in which an annotator meets the items: each their own, the same at every start (spec hume 3)."""

from __future__ import annotations

from collections.abc import Iterable

from embassay.randomness import random_bytes


def own_order(seed: int, annotator: str, task: str, items: Iterable[str]) -> tuple[str, ...]:
    """The ids of a task's items in the order of this annotator, drawn by the study's seed.

    >>> own_order(1, "ann", "emotion", ["a", "b", "c"]) == own_order(1, "ann", "emotion", ["c", "b", "a"])
    True
    """
    return tuple(
        sorted(items, key=lambda item: (random_bytes(16, seed, "own_order", annotator, task, item), item))
    )
