"""The texts that a run judges, kept once beside its items, so that a report can show them."""

from __future__ import annotations

from functools import partial

from embassay.protocols.pteb.plan import Plan, PlannedDataset
from embassay.protocols.pteb.slices import task
from embassay.runs.folder import RunFolder


def keep_texts(plan: Plan, folder: RunFolder) -> None:
    """Write `texts/TASK/DATASET.parquet` of every task: the texts that are paraphrased, as `item_id`, `field` (both
    from the place, `first:ID`), `text` and `lang`."""
    for dataset in plan.datasets:
        for one in dataset.tasks:
            folder.keep_texts(one.task, dataset.name, partial(_columns, plan, dataset, one.task))


def _columns(plan: Plan, dataset: PlannedDataset, name: str) -> dict[str, list[str]]:
    columns: dict[str, list[str]] = {"item_id": [], "field": [], "text": [], "lang": []}
    for part in plan.parts(dataset, name):
        for place, text in task(name).texts(part.data):
            field, _, item = place.partition(":")
            for column, value in zip(columns, (item, field, text, part.lang), strict=True):
                columns[column].append(value)
    return columns
