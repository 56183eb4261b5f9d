"""The range of a dataset's gold scores, without which an error of ratings means nothing."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from embassay.data import DATASETS
from embassay.data.catalogue.entries import entries
from embassay.errors import UsageError

USUAL = (0.0, 5.0)
_RANGE = re.compile(r"(?:(?P<name>.+)=)?(?P<low>-?\d+(?:\.\d+)?)-(?P<high>-?\d+(?:\.\d+)?)")

Range = tuple[float, float]


def parse_gold(given: Sequence[str]) -> Mapping[str, Range]:
    """Ranges by the dataset's name, "" for all others. UsageError for what is no range.

    >>> parse_gold(["sick=1-5", "0-4"])
    {'sick': (1.0, 5.0), '': (0.0, 4.0)}
    """
    found: dict[str, Range] = {}
    for text in given:
        match = _RANGE.fullmatch(text.strip())
        low, high = (float(match["low"]), float(match["high"])) if match else USUAL
        if match is None or not low < high:
            raise UsageError(
                f"{text!r} is no range of gold scores.", mend="Write LOW-HIGH or DATASET=LOW-HIGH: sick=1-5."
            )
        found[match["name"] or ""] = (low, high)
    return found


def gold_range(
    given: Mapping[str, Range], source: str, name: str, scores: NDArray[np.float64]
) -> tuple[Range, str]:
    """The range of a dataset's scores, and a warning where it was taken for granted.

    It is what was given, else what the catalogue says, else 0 to 5. UsageError where scores are outside of it.
    """
    stated = given.get(name) or given.get("") or _known(source)
    low, high = stated or USUAL
    if len(scores) and (scores.min() < low or scores.max() > high):
        raise UsageError(
            f"The gold scores of {name!r} go from {scores.min():g} to {scores.max():g}, which is not within "
            f"{low:g} to {high:g}.",
            mend=f"Say their range: --gold {name}=LOW-HIGH.",
        )
    if stated is not None:
        return (low, high), ""
    return USUAL, f"Gold scores are taken to be 0 to 5; if they are not, say so: --gold {name}=LOW-HIGH."


def _known(source: str) -> Range | None:
    """What the catalogue says of a dataset that is named and not a path."""
    if Path(source).exists():
        return None
    name = DATASETS.style.parse(source).name
    if name == "sample":
        return USUAL
    record = entries().get(name)
    return (record.gold[0], record.gold[1]) if record is not None and record.gold else None
