"""Table 13: the datasets of a run, their languages and their measure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from embassay.protocols.pteb.analysis.drops import HEADLINES
from embassay.records import Result


@dataclass(frozen=True)
class DatasetUsed:
    """One dataset in one task, with the languages that were scored (`und`: not stated)."""

    task: str
    dataset: str
    languages: tuple[str, ...]
    measure: str


def datasets_used(rows: Iterable[Result]) -> tuple[DatasetUsed, ...]:
    """The datasets of the rows, tasks in the protocol's order, datasets in that of the run."""
    whole: dict[tuple[str, str], set[str]] = {}
    parts: dict[tuple[str, str], set[str]] = {}
    for row in rows:
        if row.protocol == "pteb" and row.dataset and row.task in HEADLINES:
            whole.setdefault((row.task, row.dataset), set()).add(row.lang)
            if row.subset:
                parts.setdefault((row.task, row.dataset), set()).add(row.lang)
    return tuple(
        DatasetUsed(task, dataset, tuple(sorted(parts.get(key, langs))), HEADLINES[task])
        for task in HEADLINES
        for key, langs in whole.items()
        if key[0] == task
        for dataset in key[1:]
    )
