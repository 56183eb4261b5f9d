"""What each kind of SAGE's items carries besides values: texts, what people said, edits, clusters, rankings."""

from __future__ import annotations

from collections.abc import Sequence

from embassay.parquet import read_parquet
from embassay.report.items.changes import changes
from embassay.report.items.groups import SIZES, Group
from embassay.report.items.rankings import Corpus, rankings
from embassay.report.items.texts import SHORT, Part, Source
from embassay.report.sage.curves import expected, is_linear

MOST_MEMBERS, FEW_MEMBERS = 200, 20
"""Texts of one clustering set that go into the page of one run, and of several."""


def comparisons(source: Source) -> Part:
    """The source, both summaries and the one people chose."""
    return {
        "fields": {name: source.texts(name) for name in ("source", "first", "second")},
        "choice": _choices(source.group, source.ids),
    }


def ratings(source: Source) -> Part:
    """The source, the summary and its ratings by axis."""
    return {
        "fields": {name: source.texts(name) for name in ("source", "summary")},
        "ratings": _human(source),
    }


def robustness(source: Source) -> Part:
    """The text, its summary and a window of each edited version."""
    fields = {name: source.texts(name) for name in ("text", "summary")}
    return {"fields": fields, **_changes(source)}


def sensitivity(source: Source) -> Part:
    """The text, the span that each variant inserts or removes, and the similarity expected of it."""
    linear = is_linear(source.record)
    sizes = {size: round(expected(float(size), linear=linear), 4) for kind in SIZES.values() for size in kind}
    return {"fields": {"text": source.texts("text")}, "expected": sizes, **_changes(source)}


def clustering(source: Source) -> Part:
    """The members of each set by label: text, label, and the cluster each system put it in."""
    members: dict[str, list[str]] = {item: [] for item in source.ids}
    for text in source.judged.items("text"):
        name = source.judged.text("set", text) or ""
        if name in members:
            members[name].append(text)
    clusters = [_clusters(source, system.name) for system in source.group.systems]
    return {"fields": {}, "sets": [_set(source, members[item], clusters) for item in source.ids]}


def retrieval(source: Source) -> Part:
    """The query, the documents that occur, and the two rankings of every system."""
    corpus = Corpus(source.excerpts, source.judged)
    ranked, gains = rankings(source.folder, source.group, source.ids, corpus)
    return {
        "fields": {"query": source.texts("query")},
        "rankings": ranked,
        "gains": gains,
        "documents": corpus.ids,
        "documentTexts": corpus.texts,
    }


def _changes(source: Source) -> Part:
    group = source.group
    texts = [source.judged.text("text", item) or "" for item in source.ids]
    made = changes(source.record, group.kind.task, group.dataset, source.ids, texts)
    return {"changes": made.by_edit, "needle": made.needle, "changesReason": made.reason}


def _choices(group: Group, ids: Sequence[str]) -> list[int | None]:
    """What people chose (0 or 1), read off a system's prediction and whether it was right."""
    keys = [measure.key for measure in group.measures]
    wanted = (("correct", ""), ("similarity", "first"), ("similarity", "second"))
    if any(key not in keys for key in wanted):
        return [None] * len(ids)
    correct, first, second = (group.values[keys.index(key), 0] for key in wanted)
    place = {item: i for i, item in enumerate(group.ids)}
    predicted = {item: int(round(first[place[item]], 6) <= round(second[place[item]], 6)) for item in ids}
    return [{1.0: predicted[item], 0.0: 1 - predicted[item]}.get(float(correct[place[item]])) for item in ids]


def _human(source: Source) -> dict[str, list[float | None]]:
    """The human ratings by axis; they stand in every system's file."""
    import polars as pl

    group = source.group
    path = source.folder.items_path(group.kind.task, group.dataset, group.systems[0].name)
    frame = read_parquet(path).filter(pl.col("variant") == "human")
    axes: dict[str, dict[str, float | None]] = {}
    for item, axis, value in frame.select("item_id", "measure", "value").iter_rows():
        axes.setdefault(axis, {})[item] = value
    return {axis: [values.get(item) for item in source.ids] for axis, values in axes.items()}


def _clusters(source: Source, system: str) -> dict[str, dict[str, int]]:
    """The cluster of each text by set."""
    import polars as pl

    path = source.folder.items_path(source.group.kind.task, source.group.dataset, system)
    frame = read_parquet(path).filter(pl.col("measure") == "cluster")
    found: dict[str, dict[str, int]] = {}
    for item, name, value in frame.select("item_id", "variant", "value").drop_nulls().iter_rows():
        found.setdefault(name, {})[item] = int(value)
    return found


def _set(source: Source, members: Sequence[str], clusters: Sequence[dict[str, dict[str, int]]]) -> Part:
    """The first texts of one set, by label."""
    label = {text: source.judged.text("label", text) or "" for text in members}
    name = source.judged.text("set", members[0]) if members else ""
    shown = sorted(members, key=lambda text: label[text])[
        : FEW_MEMBERS if source.excerpts.is_short else MOST_MEMBERS
    ]
    return {
        "total": len(members),
        "ids": shown,
        "texts": [source.excerpts.add(source.judged.text("text", text) or "", SHORT) for text in shown],
        "labels": [label[text] for text in shown],
        "clusters": [[of.get(name or "", {}).get(text) for text in shown] for of in clusters],
    }
