"""Stacks that are alike in all but one axis."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any

from embassay.protocols.rag.sweep.configuration import Configuration
from embassay.protocols.rag.sweep.findings.ground import Ground

AXES = tuple(one.name for one in fields(Configuration))
Pairs = list[tuple[int, int]]


def values_of(ground: Ground, axis: str) -> list[Any]:
    """The values of an axis, in the order of the sweep; numbers ascending, all dimensions last."""
    found = list(dict.fromkeys(getattr(one, axis) for one in ground.configurations))
    if axis == "dims":
        return sorted(found, key=lambda dims: (dims is None, dims or 0))
    return sorted(found) if axis == "k" else found


def pairs_alike(ground: Ground, axis: str, value: Any, other: Any) -> Pairs:
    """Places of the stacks with `value` beside those with `other` that are equal in all else."""
    places = {one: i for i, one in enumerate(ground.configurations)}
    found = [
        (i, places.get(replace(one, **{axis: other})))
        for one, i in places.items()
        if getattr(one, axis) == value
    ]
    return [(i, j) for i, j in found if j is not None]


def family_of(configuration: Configuration) -> str:
    """What stacks share that differ in K alone.

    >>> family_of(Configuration("wordllama", 64, "hnsw-f32", 100))
    'wordllama/64d/hnsw-f32/dense'
    """
    return configuration.id.replace(f"/k{configuration.k}/", "/", 1)


def usual_measures(ground: Ground) -> list[str]:
    """The measures that steps and effects are told by: the one that decides, then those of AvgPerf."""
    first, weighed = ground.rules.measure, ground.rules.efficiency
    return [first, *(one for one in ground.measures if one in weighed and one != first)]


def at_other_cutoffs(ground: Ground) -> list[str]:
    """The measure that decides at other cutoffs."""
    base = ground.rules.measure.partition("@")[0]
    return [one for one in ground.measures if one.partition("@")[0] == base and one != ground.rules.measure]


def at_cutoff(measures: Sequence[str], measure: str, k: int) -> str | None:
    """The same measure at K, where it was measured."""
    name = f"{measure.partition('@')[0]}@{k}"
    return name if name in measures else None
