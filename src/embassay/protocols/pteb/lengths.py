"""The drop by length of text, from the items of a run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embassay.parquet import read_parquet
from embassay.protocols.pteb.analysis import LengthBin, by_length, item_words
from embassay.protocols.pteb.analysis.length import SCORES
from embassay.protocols.pteb.plan import Plan, PlannedDataset, Seeds
from embassay.protocols.pteb.slices import task
from embassay.protocols.pteb.sources import Source
from embassay.protocols.pteb.summary.layout import ORIGINAL
from embassay.runs.cells import CellRecord
from embassay.runs.folder import RunFolder

Floats = NDArray[np.float64]
VALUES = {
    "sts": ("similarity", "gold"),
    "pair_classification": ("similarity", "gold"),
    "summarization": ("similarity", "gold"),
    "classification": ("correct", ""),
    "reranking": ("ap", ""),
    "retrieval": ("ndcg@10", ""),
}
"""Task -> the item measure that is compared, and the gold beside it."""


def drops_by_length(
    plan: Plan, folder: RunFolder, sources: Sequence[Source], seeds: Seeds, records: Sequence[CellRecord]
) -> dict[tuple[str, str, str], Sequence[LengthBin]]:
    """(task, dataset, system) -> the bins, for systems whose cells are all done; references are left out."""
    done = {(record.task, record.dataset, record.system, record.variant) for record in records if record.done}
    found: dict[tuple[str, str, str], Sequence[LengthBin]] = {}
    for name, dataset in _cells(plan):
        variants = [source.variant(seed) for source in sources for seed in seeds[source.name, dataset.name]]
        words = _words(plan, name, dataset)
        for system in plan.systems:
            where = (name, dataset.name, system.name)
            if system.kind == "reference" or not all((*where, one) in done for one in (ORIGINAL, *variants)):
                continue
            if (bins := _bins(folder, where, variants, words)) is not None:
                found[where] = bins
    return found


def _cells(plan: Plan) -> Iterator[tuple[str, PlannedDataset]]:
    for dataset in plan.datasets:
        for one in dataset.tasks:
            if one.task in SCORES:
                yield one.task, dataset


def _words(plan: Plan, name: str, dataset: PlannedDataset) -> dict[tuple[str, str], float]:
    """(language or "", item) -> the mean number of words of the texts it is scored by."""
    parts = plan.parts(dataset, name)
    texts: dict[tuple[str, str], list[str]] = {}
    for part in parts:
        lang = part.lang if len(parts) > 1 else ""
        for place, text in task(name).texts(part.data):
            for item in _items_of(place):
                texts.setdefault((lang, item), []).append(text)
    return dict(zip(texts, item_words(list(texts.values())).tolist(), strict=True))


def _items_of(place: str) -> tuple[str, ...]:
    """The items whose score a text may be part of: `summary:D:3` is the item `D:3`, `query:Q:0` the item `Q`."""
    item = place.partition(":")[2]
    return (item, item.rpartition(":")[0]) if ":" in item else (item,)


def _bins(
    folder: RunFolder, where: tuple[str, str, str], variants: Sequence[str], words: Any
) -> tuple[LengthBin, ...] | None:
    measure, gold = VALUES[where[0]]
    original = _values(folder, where, ORIGINAL, measure)
    keys = [key for key in original if key in words]
    if not keys:
        return None
    runs = [_values(folder, where, variant, measure) for variant in variants]
    golds = _values(folder, where, ORIGINAL, gold) if gold else None
    return by_length(
        SCORES[where[0]],
        np.array([words[key] for key in keys]),
        _column(original, keys),
        [_column(run, keys) for run in runs],
        _column(golds, keys) if golds is not None else None,
    )


def _values(
    folder: RunFolder, where: tuple[str, str, str], variant: str, measure: str
) -> dict[tuple[str, str], float]:
    import polars as pl

    table = read_parquet(folder.items_path(*where, variant=variant)).filter(pl.col("measure") == measure)
    keys = zip(table["variant"], table["item_id"], strict=True)
    return {
        key: float("nan") if value is None else value for key, value in zip(keys, table["value"], strict=True)
    }


def _column(values: dict[tuple[str, str], float], keys: Sequence[tuple[str, str]]) -> Floats:
    return np.array([values.get(key, np.nan) for key in keys], dtype=np.float64)
