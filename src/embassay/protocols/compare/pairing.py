"""Whether two runs asked the same of the same items, so that their replicates belong together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

_SAME = ("seed", "limit", "tasks", "options", "split", "grades", "tokenizer")
"""Arguments on which items, their edits and their resamples depend."""


@dataclass(frozen=True)
class Pairing:
    """`paired` where replicate b of both runs comes from one resample of the same items; else `reason` says why not."""

    paired: bool
    reason: str = ""


def pairing(first: Mapping[str, Any], second: Mapping[str, Any]) -> Pairing:
    """Compare the manifests of two runs.

    >>> run = {"protocol": "sage", "arguments": {"seed": 1}, "datasets": [{"name": "a", "fingerprint": "f"}]}
    >>> pairing(run, run).paired, pairing(run, {**run, "arguments": {"seed": 2}}).reason
    (True, 'seed differs: 1 and 2')
    """
    if first.get("protocol") != second.get("protocol"):
        return Pairing(False, f"protocol differs: {first.get('protocol')} and {second.get('protocol')}")
    if first.get("resampling") != second.get("resampling"):
        return Pairing(False, "the runs drew their resamples by other rules, in two releases")
    ours, theirs = first.get("arguments") or {}, second.get("arguments") or {}
    for name in _SAME:
        if ours.get(name) != theirs.get(name):
            return Pairing(False, f"{name} differs: {ours.get(name)} and {theirs.get(name)}")
    data = [
        {one["name"]: one.get("fingerprint") for one in run.get("datasets", ())} for run in (first, second)
    ]
    for name in data[0].keys() & data[1].keys():
        if data[0][name] != data[1][name]:
            return Pairing(False, f"the data of {name} differ")
    return Pairing(True)
