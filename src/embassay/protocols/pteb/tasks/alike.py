"""The same items on both sides also where an encoder fails: what it cannot encode in one wording counts in neither."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from embassay.protocols.pteb.tasks.rewording import WITHOUT_WORDING
from embassay.protocols.pteb.tasks.task import Reworded, Task
from embassay.records import Skipped

NOT_ENCODED = "texts that could not be encoded in one of their two wordings"


def encoded(task: Task, both: Reworded, failures: Collection[str]) -> Reworded:
    """`both` without the texts of which one wording is among `failures` (the texts that a system could not encode), and
    without what they take along; `both` itself where there are none."""
    said, own = dict(task.texts(both.paraphrased)), dict(task.texts(both.original))
    gone = [place for place, text in own.items() if text in failures or said[place] in failures]
    if not gone:
        return both
    without = set(gone)
    rest = task.reword(both.original, lambda place, _: None if place in without else said[place])
    taken = tuple(left for left in rest.lost if not left.reason.endswith(WITHOUT_WORDING))
    lost = (*both.lost, Skipped(NOT_ENCODED, len(gone), tuple(gone[:5])), *taken)
    return replace(rest, items=both.items, lost=lost)
