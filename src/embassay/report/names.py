"""What systems are called where there is little room, and what runs of one kind are called."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from embassay.runs.tails import tails

LONG = 28
LONGEST = 44
SERVING = {
    "base_url",
    "key",
    "price",
    "price_output",
    "rpm",
    "tpm",
    "concurrency",
    "timeout",
    "device",
    "batch_size",
}
"""Parameters that say where and how a model is asked, and not what it answers."""


def labels(names: Sequence[str]) -> dict[str, str]:
    """A label per name: names over 28 characters lose the organisation and how the model is served first, then
    their end.

    Labels are distinct: names that would share one keep more, or get their number.

    >>> list(labels(["bm25", "st:sentence-transformers/all-MiniLM-L6-v2"]).values())
    ['bm25', 'all-MiniLM-L6-v2']
    """
    short = {name: _without_organisation(name) for name in names}
    shared = Counter(short.values())
    kept = {name: short[name] if shared[short[name]] == 1 else name for name in names}
    cut = {
        name: label if len(label) <= LONGEST else label[: LONGEST - 1] + "…" for name, label in kept.items()
    }
    shared = Counter(cut.values())
    return {
        name: label if shared[label] == 1 else f"{label[: LONGEST - 6]}… #{i + 1}"
        for i, (name, label) in enumerate(cut.items())
    }


def _without_organisation(name: str) -> str:
    if len(name) <= LONG:
        return name
    target, question, parameters = name.partition("?")
    kept = "&".join(part for part in parameters.split("&") if part.partition("=")[0] not in SERVING)
    return target.rstrip("/").rpartition("/")[2] + (question + kept if kept else "")


def run_names(kind: str, folders: Sequence[Path]) -> list[str]:
    """A name per run of one kind: that of its folder, with as many of the folders above it as tell them apart.

    >>> run_names("sage", [Path("runs/sage-news"), Path("runs/sage-law")])
    ['news', 'law']
    >>> run_names("sage", [Path("may/sage"), Path("june/sage")])
    ['may/sage', 'june/sage']
    """
    names = list(tails(folders))
    deep = any("/" in name for name in names)
    short = names if deep else [name.removeprefix(kind).lstrip("-_. ") or name for name in names]
    return short if len(set(short)) == len(set(names)) else names
