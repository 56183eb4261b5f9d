"""Models against people on the same items: the difference of their scores by the paired bootstrap of items."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from embassay.errors import DataError
from embassay.protocols.hume.beyond.drawn import Floats, drawn_mean
from embassay.protocols.hume.beyond.people import (
    ItemRows,
    People,
    numbers,
    people_rows,
    people_score,
    row_score,
)
from embassay.protocols.hume.beyond.resampling import Draws, Range, Resampled, no_interval, resampled
from embassay.protocols.hume.study import Family, TaskSpec

DRAWS = Draws(n_resamples=10_000)
SystemValues = Mapping[str, Any]
"""What a system has of every item, by item id; items it failed on are absent. Classification: 1 for a right label and 0
for a wrong one, or the share of repeats that were right. Reranking: the AP of the query. STS: the similarity of the two
texts. Clustering: the id of the item's group."""
_RANGE: Mapping[Family, Range] = {
    "classification": (-1.0, 1.0),
    "clustering": (-1.0, 1.0),
    "reranking": (-1.0, 1.0),
    "sts": (-2.0, 2.0),
}
NO_CLUSTERS = "one partition of one set of items: resampled items do not show what other items would give"


@dataclass(frozen=True)
class Compared:
    """A system minus people, over the items that both have.

    `system` and `people` are their scores on these items, `difference` the one minus the other with interval and `p`.
    The interval is NaN, and `reason` says why, where none can be had.
    """

    system: float
    people: float
    difference: Resampled

    @property
    def reason(self) -> str:
        """Why there is no interval; empty where there is one."""
        return self.difference.reason


def compare_with_people(
    people: People, systems: Mapping[str, SystemValues], draws: Draws = DRAWS
) -> dict[str, Compared]:
    """Every system's score minus people's, with a bootstrap interval over items and a two-sided p that they are equal.

    A resample draws items, each with gold, the answers of people and those of the system; both are scored on it by the
    family's main measure and the convention of `people`. Systems with the same items see the same resamples. So it
    asks what other items like these would give, with these annotators: their own spread has no part in it.
    Clustering has a difference and no interval: see `NO_CLUSTERS` and docs/hume_beyond.md.
    Source: spec hume 7 and ambiguity 13. Raises DataError for a system without an item that people answered.

    >>> answers = {"ann": dict(a=1, b=1, c=1, d=0, e=1, f=1)}
    >>> people = People(TaskSpec("colours", "classification", "eng"), dict.fromkeys("abcdef", 1), answers)
    >>> found = compare_with_people(people, {"m": dict(a=0, b=1, c=0, d=0, e=0, f=0.5)})["m"]
    >>> round(found.difference.estimate, 4), found.difference.high < 0
    (-0.5833, True)
    """
    answered = set(people.scored_items)
    groups: dict[tuple[str, ...], list[str]] = {}
    for name, values in systems.items():
        items = tuple(sorted(answered & values.keys()))
        if not items:
            raise DataError(
                f"{name} has no item of {people.task.name} that people answered.",
                mend="Give its values by item id.",
            )
        groups.setdefault(items, []).append(name)
    found: dict[str, Compared] = {}
    for items, names in groups.items():
        rows = [[systems[name][item] for item in items] for name in names]
        found |= dict(
            zip(names, _compared(people.task, people_rows(people, items), rows, draws), strict=True)
        )
    return {name: found[name] for name in systems}


def _compared(task: TaskSpec, laid: ItemRows, rows: Sequence[Sequence[Any]], draws: Draws) -> list[Compared]:
    n, once = len(laid.items), np.ones((1, len(laid.items)))
    people = float(people_score(task, laid, once)[0])
    scores = _system_scores(task, laid, rows, once)[0].tolist()

    def difference(counts: Floats) -> Floats:
        return _system_scores(task, laid, rows, counts) - people_score(task, laid, counts)[:, None]

    if task.family == "clustering":
        differences = [no_interval(score - people, n, NO_CLUSTERS) for score in scores]
    else:
        # Differences are nearly symmetric: mending bias and skew only adds noise to them (docs/hume_beyond.md).
        differences = list(
            resampled(
                difference, n, replace(draws, kind=draws.kind or "expanded"), within=(_RANGE[task.family],)
            )
        )
    return [Compared(score, people, one) for score, one in zip(scores, differences, strict=True)]


def _system_scores(task: TaskSpec, laid: ItemRows, rows: Sequence[Sequence[Any]], counts: Floats) -> Floats:
    """(b, systems)."""
    if task.family in ("classification", "reranking"):
        return drawn_mean(counts, np.stack([numbers(row) for row in rows], axis=1))
    return np.stack([row_score(task, laid.gold, row, counts) for row in rows], axis=1)
