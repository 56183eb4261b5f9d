"""Which systems are compared on what."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from embassay.protocols.pteb.summary.layout import Layout

OVERALL = "overall"


@dataclass(frozen=True)
class Scope:
    """A task, or `overall`, and the systems that were evaluated on it by one method."""

    name: str
    task: str
    systems: tuple[str, ...]


def scopes(layout: Layout) -> Iterator[Scope]:
    """`overall` and every task, references left out.

    Where a task needs vectors, systems that have none were evaluated by another method and are never ranked with the
    others: they have a scope `NAME:classical` of their own (or NAME, when no system has vectors).
    """
    needing = {task.name for task in layout.tasks if task.vectors}
    for name in (OVERALL, *(task.name for task in layout.tasks)):
        everyone = tuple(system.name for system in layout.ranked)
        with_vectors = tuple(system.name for system in layout.ranked if system.vectors)
        differs = bool(needing) if name == OVERALL else name in needing
        if not differs or not with_vectors or with_vectors == everyone:
            yield Scope(name, name, everyone)
            continue
        yield Scope(name, name, with_vectors)
        yield Scope(f"{name}:classical", name, tuple(one for one in everyone if one not in with_vectors))
