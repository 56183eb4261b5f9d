"""What a cell of HUME will hold in memory at most."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from embassay.contracts import Similarity
from embassay.protocols.footprint import dimensions, remembered
from embassay.protocols.hume.models.classification import FewLabelled
from embassay.protocols.hume.models.families import texts_of
from embassay.protocols.pteb import footprint
from embassay.runs.memory import Footprint

_LEARNT = 4 * 8
"""Bytes of a value while a classifier learns from it and applies what it has learnt."""


def needed(system: Similarity, data: Any, resamples: int) -> Footprint:
    """The estimate for one system on the items of a task (`data_of`): that of PTEB for as many texts, with what a
    classifier of vectors takes."""
    texts, dim = texts_of(data), dimensions(system)
    found = footprint.needed(system, data, texts, resamples)
    parts = dict(found.parts)
    if dim:
        parts["vectors"] += remembered(len(texts), dim)
        if isinstance(data, FewLabelled):
            parts["the classifier"] = _LEARNT * len(texts) * dim
    return replace(found, parts=parts, mend="Sample fewer items, or score fewer tasks (--task)")
