"""PTEB's items: the value of each before and after paraphrasing, its texts and some of their wordings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embassay.errors import EmbassayError
from embassay.parquet import read_parquet
from embassay.protocols.pteb.paraphrasing.set import ParaphraseSet
from embassay.report.items.groups import Group, Kind, Measure
from embassay.report.items.texts import LENGTHS, Part, Source
from embassay.report.pteb.losses import PARAPHRASE
from embassay.report.pteb.tasks import TASKS
from embassay.report.record import Record, System
from embassay.runs.folder import RunFolder

VALUES = {
    "sts": "similarity", "classification": "correct", "clustering": "v_measure", "pair_classification": "similarity",
    "reranking": "ap", "retrieval": "ndcg@10", "summarization": "similarity",
}  # fmt: skip
"""The value of an item of each task."""
FIELDS = {
    "sts": ("first", "second"), "classification": ("test",), "pair_classification": ("first", "second"),
    "reranking": ("query",), "retrieval": ("query",), "summarization": ("summary",),
}  # fmt: skip
NOUNS = {
    "sts": "pair", "classification": "text", "clustering": "set", "pair_classification": "pair", "reranking": "query",
    "retrieval": "query", "summarization": "summary",
}  # fmt: skip
WORDS = {
    "similarity": "similarity", "correct": "right label", "v_measure": "V-measure", "ap": "average precision",
    "ndcg@10": "nDCG@10",
}  # fmt: skip
BETWEEN = " · "
"""Between an item and its language, where two languages have an item of one name."""
MOST = 2_000
"""Wordings of a group's items by all runs that go into the page; where there are more, those of the first run alone."""

Values = NDArray[np.float64]
Column = dict[str, float]


def pteb_groups(record: Record) -> tuple[Group, ...]:
    """The items of every task and dataset that a ranked system has values for."""
    langs = {one["name"]: one.get("lang", "") for one in record.manifest.get("datasets", ())}
    found = (
        _group(record, task.name, task.title, dataset, langs.get(dataset, ""))
        for task in TASKS
        for dataset in record.datasets(task.name)
    )
    return tuple(group for group in found if group is not None)


def reworded(source: Source) -> Part:
    """The texts of every item, their wordings by run, and the gold score where the task has one."""
    record, group = source.record, source.group
    names = FIELDS.get(group.kind.task, ())
    variants = _variants(record, group.kind.task, group.dataset)
    wordings = len(source.ids) * len(names) * len(variants)
    runs = list(islice(_wordings(record, group.dataset), 1 if wordings > MOST else None))
    texts = {name: [_text(source, name, item) for item in source.ids] for name in names}
    add = source.excerpts.add
    return {
        "fields": {name: [add(text, LENGTHS["query"]) for text in column] for name, column in texts.items()},
        "runs": [title for title, _ in runs],
        "allRuns": len(variants),
        "wordings": {
            name: [[_wording(source, known, text) for _, known in runs] for text in column]
            for name, column in texts.items()
        },
        "gold": _gold(source),
        "value": WORDS[VALUES[group.kind.task]],
    }


def _group(record: Record, task: str, title: str, dataset: str, lang: str) -> Group | None:
    folder, measure = RunFolder(record.path), VALUES[task]
    variants = _variants(record, task, dataset)
    systems: list[System] = []
    before: list[Column] = []
    after: list[list[Column]] = []
    for system in record.ranked_systems:
        original = _column(folder, task, dataset, system.name, "original", measure)
        if original:
            systems.append(system)
            before.append(original)
            after.append([_column(folder, task, dataset, system.name, one, measure) for one in variants])
    if not systems:
        return None
    ids = tuple(before[0])
    old = np.array([[column.get(item, np.nan) for item in ids] for column in before])
    new = np.array([[_mean([column.get(item) for column in runs]) for item in ids] for runs in after])
    words = WORDS[measure]
    measures = (
        Measure(("change", ""), f"change of {words}, mean over runs"),
        Measure(("original", ""), f"{words}, original"),
        Measure(("paraphrased", ""), f"{words}, mean over runs"),
    )
    kind = Kind("reworded", task, title, NOUNS[task], measures)
    return Group(kind, dataset, lang, ids, tuple(systems), measures, np.stack([new - old, old, new]))


def _mean(values: Sequence[float | None]) -> float:
    """The mean of the runs that kept the item."""
    known = [value for value in values if value is not None and value == value]
    return sum(known) / len(known) if known else float("nan")


def _variants(record: Record, task: str, dataset: str) -> list[str]:
    cells = (cell for cell in record.cells if (cell.task, cell.dataset) == (task, dataset))
    return list(dict.fromkeys(cell.variant for cell in cells if cell.variant.startswith(PARAPHRASE)))


def _column(folder: RunFolder, task: str, dataset: str, system: str, variant: str, measure: str) -> Column:
    """The value of every item; empty where the cell kept none."""
    import polars as pl

    path = folder.items_path(task, dataset, system, variant=variant)
    if not path.exists():
        return {}
    frame = read_parquet(path, ["item_id", "variant", "measure", "value"])
    found = list(frame.filter(pl.col("measure") == measure).select("item_id", "variant", "value").iter_rows())
    often = Counter(item for item, _, _ in found)
    return {
        item if often[item] == 1 else item + BETWEEN + lang: float("nan") if value is None else value
        for item, lang, value in found
    }


def _text(source: Source, field: str, item: str) -> str:
    """The text of an item; of a query in several wordings the first."""
    name = item.partition(BETWEEN)[0]
    return source.judged.text(field, name) or source.judged.text(field, f"{name}:0") or ""


def _wordings(record: Record, dataset: str) -> Iterator[tuple[str, Mapping[str, str]]]:
    """The title of every run of every source, with the wording of each text."""
    sources = record.manifest.get("paraphrases", {}).get("sources", ())
    for source in sources:
        title = f"{source['name']}, " if len(sources) > 1 else ""
        for seed in source.get("seeds", {}).get(dataset, ()):
            known = _kept(str(record.path), source["name"], dataset, seed)
            if known:
                yield f"{title}{seed}", known


@lru_cache(maxsize=64)
def _kept(path: str, source: str, dataset: str, seed: int) -> Mapping[str, str]:
    """The wording of every text of a run; empty where the set cannot be read."""
    from pathlib import Path

    try:
        rows = ParaphraseSet.open(Path(path)).rows(source, dataset, seed)
    except EmbassayError:
        return {}
    return {row.text: row.wording for row in rows if row.usable}


def _wording(source: Source, known: Mapping[str, str], text: str) -> int:
    """The number of the excerpt; -1 where there is no wording."""
    wording = known.get(text)
    return -1 if wording is None else source.excerpts.add(wording, LENGTHS["query"])


def _gold(source: Source) -> list[float | None]:
    """The gold score of every item; empty where the task has none."""
    group = source.group
    found: dict[str, Any] = _column(
        source.folder, group.kind.task, group.dataset, group.systems[0].name, "original", "gold"
    )
    return [found.get(item) for item in source.ids] if found else []
