"""Some texts beside what became of them in every run (the paper's figure 5)."""

from __future__ import annotations

from dataclasses import dataclass

from embassay.errors import EmbassayError
from embassay.protocols.pteb.analysis.side_by_side import SideBySide, side_by_side
from embassay.protocols.pteb.paraphrasing.set import ParaphraseSet
from embassay.report.record import Record

COUNT = 6
MOST_PLACES = 8
"""Datasets (of every source) whose texts are shown: the first so many."""


@dataclass(frozen=True)
class Wordings:
    """Texts of one dataset by one source, which the title names."""

    title: str
    texts: tuple[SideBySide, ...]


def wordings(record: Record) -> tuple[tuple[Wordings, ...], str]:
    """Texts of every dataset and source, drawn with the seed; or why they cannot be shown."""
    if not (record.path / "paraphrases").is_dir():
        return (), ""
    try:
        kept = ParaphraseSet.open(record.path)
        places = [(source, dataset) for source in kept.sources.values() for dataset in source.datasets]
        places = places[:MOST_PLACES]
        # All of them together stay about as long, however many datasets there are.
        count = max(2, COUNT // max(1, len(places)))
        made = [_of(kept, source.name, dataset, count, len(kept.sources) > 1) for source, dataset in places]
    except EmbassayError as error:
        return (), f"The paraphrases cannot be shown: {error}"
    return tuple(one for one in made if one.texts), ""


def _of(kept: ParaphraseSet, source: str, dataset: str, count: int, several: bool) -> Wordings:
    runs = {seed: kept.rows(source, dataset, seed) for seed in kept.seeds(source, dataset)}
    title = f"{dataset}, {source}" if several else dataset
    return Wordings(title, side_by_side(runs, count=count))
