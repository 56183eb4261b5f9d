"""The texts that a run judges, kept once beside its items, so that a report can show them."""

from __future__ import annotations

from semblance.protocols.pteb.plan import Plan
from semblance.protocols.pteb.slices import task
from semblance.runs.folder import RunFolder, write_columns


def keep_texts(plan: Plan, folder: RunFolder) -> None:
    """Write `texts/TASK/DATASET.parquet` of every task: the texts that are paraphrased, as `item_id`, `field` (both
    from the place, `first:ID`), `text` and `lang`."""
    for dataset in plan.datasets:
        for one in dataset.tasks:
            path = folder.texts_path(one.task, dataset.name)
            if path.exists():
                continue
            columns: dict[str, list[str]] = {"item_id": [], "field": [], "text": [], "lang": []}
            for part in plan.parts(dataset, one.task):
                for place, text in task(one.task).texts(part.data):
                    field, _, item = place.partition(":")
                    for name, value in zip(columns, (item, field, text, part.lang), strict=True):
                        columns[name].append(value)
            write_columns(path, columns)
