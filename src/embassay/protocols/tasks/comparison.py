"""What a task asks a system for, the same items on both sides, and an outcome from its one number."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from embassay.contracts import Role, Similarity
from embassay.protocols.kernel.estimates import Estimate, Items, undefined
from embassay.protocols.tasks.task import WITHOUT_WORDING, Reworded, Task
from embassay.records import Component, Score, Skipped, TaskOutcome

DECIMALS = 6
"""Similarities are rounded before they are ranked, so that float noise decides nothing."""


@runtime_checkable
class Embedding(Protocol):
    """A similarity that has vectors: `systems.cosine.Cosine`, and what stands in for it."""

    def vectors(self, texts: Sequence[str], role: Role | None = None) -> NDArray[np.float32]:
        """The texts' vectors, (n, dim)."""
        ...

    def between(
        self, texts: Sequence[str], left: NDArray[np.int64], right: NDArray[np.int64]
    ) -> NDArray[np.float32]:
        """Similarity of `texts[left[i]]` and `texts[right[i]]`, (n,)."""
        ...


def similarity(system: Similarity, first: Sequence[str], second: Sequence[str]) -> NDArray[np.float64]:
    """Similarity of `first[i]` and `second[i]`, (n,), to 1e-6; NaN where a text could not be encoded.

    One call, so one batch to metrics that compare within a batch; an encoder sees every distinct text once.
    """
    if not isinstance(system, Embedding):
        return _rounded(system.pairs(first, second))
    place = {text: row for row, text in enumerate(dict.fromkeys((*first, *second)))}
    left, right = (np.array([place[text] for text in side], dtype=np.int64) for side in (first, second))
    return _rounded(system.between(list(place), left, right))


def nearest(
    system: Similarity, anchors: Sequence[Sequence[str]], texts: Sequence[Sequence[str]]
) -> list[NDArray[np.float64]]:
    """Of every item, each text's highest similarity to any of the item's anchors, (texts,); NaN where the text, or
    all of the anchors, could not be encoded."""
    first = [anchor for group, others in zip(anchors, texts, strict=True) for anchor in group for _ in others]
    second = [text for group, others in zip(anchors, texts, strict=True) for _ in group for text in others]
    sizes = [(len(group), len(others)) for group, others in zip(anchors, texts, strict=True)]
    cuts = np.cumsum([rows * columns for rows, columns in sizes], dtype=np.int64)
    parts = np.split(similarity(system, first, second), cuts)[:-1]
    # fmax, and not max: an anchor that was lost leaves the others.
    return [np.fmax.reduce(part.reshape(size), axis=0) for part, size in zip(parts, sizes, strict=True)]


def _rounded(values: NDArray[np.float32]) -> NDArray[np.float64]:
    # Zero has one sign, and equal values compare equal.
    return np.asarray(np.round(values.astype(np.float64), DECIMALS) + 0.0)


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


def outcome(
    headline: str,
    found: Estimate | str,
    items: Items,
    *,
    n: int,
    scores: Iterable[Score] = (),
    skipped: Iterable[Skipped] = (),
    warnings: Iterable[str] = (),
    counts: Mapping[str, int],
) -> TaskOutcome:
    """The outcome whose headline is `found`, or has no value for the reason that `found` is. `n` counts the items."""
    left_out, noted = _summed(skipped), tuple(warnings)
    if isinstance(found, str):
        row = undefined(headline, n, found)
        component = Component(None, n, reason=found)
    else:
        row = replace(found.score(headline), n=n)
        units = found.n if found.units is None else found.units
        component = replace(found.component(), n=n, units=None if units == n else units)
    return TaskOutcome((row, *scores), {headline: component}, items.columns, left_out, noted, counts)


def _summed(skipped: Iterable[Skipped]) -> tuple[Skipped, ...]:
    """One entry per reason."""
    by_reason: dict[str, Skipped] = {}
    for one in skipped:
        before = by_reason.get(one.reason, Skipped(one.reason, 0))
        examples = (*before.examples, *one.examples)[:5]
        by_reason[one.reason] = Skipped(one.reason, before.count + one.count, examples)
    return tuple(by_reason.values())
