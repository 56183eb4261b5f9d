"""Which runs belong on one board: one protocol, on one version of the data, asked in one way."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from embassay.protocols import numbers
from embassay.web.leaderboard.reading import RunData

KINDS = {
    "sage": "SAGE", "pteb": "PTEB", "score": "RAG", "sweep": "RAG sweep", "names": "Names probe",
    "noise": "Noise probe", "hume": "HUME", "mteb": "MTEB",
}  # fmt: skip
"""What makes a board, in the order of their titles; other runs (golden sets, judges of paraphrases) compare no systems.
"""
_WHO = frozenset(
    {"systems", "encoder", "dims", "index", "k", "reranker", "mode", "rewrite", "deduplicate", "boost"}
)
"""Arguments that say which systems take part: these may differ between runs of a board."""
_WHERE = frozenset(
    {"datasets", "mapping", "qrels", "pools", "answers", "study", "results", "llm_scores", "baseline"}
)
"""Arguments that say where the data are: what they are is told by their fingerprints."""
_ONLY_MORE = frozenset({"measures", "cutoffs"})
"""Arguments that add columns and change none."""
_SHOWN = 3
_DIGITS = 8


def version_of(run: RunData) -> str:
    """A short digest of all that must agree between runs of a board: kind, data, seed, limit, tasks and options. What
    `protocols.compare.pairing` asks for is part of it."""
    data = sorted(
        (str(one["name"]), str(one.get("fingerprint"))) for one in run.manifest.get("datasets") or ()
    )
    asked = {
        name: value for name, value in (run.manifest.get("arguments") or {}).items() if _tells(name, value)
    }
    plain = json.dumps([run.kind, data, asked], sort_keys=True, ensure_ascii=False, default=str)
    return hashlib.sha256(plain.encode("utf-8", "replace")).hexdigest()[:_DIGITS]


def history_of(run: RunData) -> tuple[str, ...]:
    """What stays the same over the versions of a board: its kind and the names of its datasets."""
    return (run.kind, *sorted(str(one["name"]) for one in run.manifest.get("datasets") or ()))


def title_of(run: RunData) -> str:
    """A board's title.

    >>> titled("sage", ["scifact", "sumpubmed", "sts-b", "quora", "yelp"])
    'SAGE on scifact, sumpubmed, sts-b and 2 more'
    """
    return titled(run.kind, [str(one["name"]) for one in run.manifest.get("datasets") or ()])


def titled(kind: str, datasets: list[str]) -> str:
    """The same from the names of its datasets."""
    shown = datasets[:_SHOWN]
    more = len(datasets) - len(shown)
    names = ", ".join(shown) + (f" and {numbers.count(more)} more" if more else "")
    return f"{KINDS[kind]} on {names}" if names else KINDS[kind]


def language_of(run: RunData, dataset: Mapping[str, Any]) -> str:
    """The language of a dataset: the manifest's, or that of the rows."""
    return str(dataset.get("lang") or run.langs.get(str(dataset["name"]), ""))


def _tells(name: str, value: Any) -> bool:
    # `runs` is a list of files for RAG, and the number of paraphrases for PTEB and the probes.
    return name not in _WHO | _WHERE | _ONLY_MORE and not (name == "runs" and isinstance(value, list))
