"""A system scored against people instead of gold: as one more annotator, beside the human ceiling."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from embassay.protocols.hume.beyond.ceiling import GROUPS, ONE, range_of, scorer_against
from embassay.protocols.hume.beyond.drawn import Floats
from embassay.protocols.hume.beyond.people import People
from embassay.protocols.hume.beyond.resampling import DRAWS, Draws, Resampled, no_interval, resampled
from embassay.protocols.hume.study import Answers

SystemAnswers = Mapping[str, Any]
"""What a system answered, by item id, as a person would: a label, the id of a group, a number per pair of texts; for
reranking a score per document, in the order displayed."""


def against_people(people: People, system: SystemAnswers, draws: Draws = DRAWS) -> Resampled:
    """A system's mean score against the answers of all annotators but one, put together as in `human_ceiling`.

    Every annotator is left out once, so the system meets the same gold as the people of the ceiling do, made by as many
    voters: it is at the ceiling where it answers as they do, even if both differ from the dataset's gold. For one
    annotator NaN with a reason; no interval for clustering. An item counts where two or more annotators have it.

    >>> from embassay.protocols.hume.study import TaskSpec
    >>> votes = {"ann": dict(a="x", b="y", c="x"), "bob": dict(a="x", b="y", c="y")}
    >>> found = against_people(People(TaskSpec("t", "classification", "eng"), {}, votes), dict(a="x", b="y", c="x"))
    >>> round(found.estimate, 4)
    0.8333
    """
    taking_part: Answers = people.taking_part
    shared = [item for item in people.items if sum(item in own for own in taking_part.values()) > 1]
    items = [item for item in shared if item in system]
    if len(taking_part) < 2 or not items:
        reason = ONE if len(taking_part) < 2 else "no item has two annotators and an answer of the system"
        return no_interval(float("nan"), len(items), reason)
    parts = [
        scorer_against(people, system, [own for key, own in taking_part.items() if key != name], items)
        for name in taking_part
    ]

    def mean(counts: Floats) -> Floats:
        return np.asarray(np.mean([part(counts) for part in parts], axis=0))

    if people.task.family == "clustering":
        return no_interval(float(mean(np.ones((1, len(items))))[0]), len(items), GROUPS)
    return resampled(mean, len(items), draws, within=(range_of(people.task.family),))[0]
