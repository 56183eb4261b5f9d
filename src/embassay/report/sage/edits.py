"""Items of SAGE: their texts, what people said, edits made again, clusters, and the two rankings of every query."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import starmap
from typing import Any

from embassay.errors import EmbassayError
from embassay.parquet import read_parquet
from embassay.protocols.sage.options import SageOptions
from embassay.protocols.sage.tasks import EDITS, SageContext, edit_documents, shorten_documents
from embassay.records import Documents
from embassay.report.items import (
    LENGTHS,
    REPLACED,
    SHORT,
    SIZES,
    SPANS,
    DatasetItemValues,
    ExcerptStore,
    ItemGroupPageInputs,
    ItemTextsByField,
    Part,
)
from embassay.report.record import RunRecord, SystemOfRun
from embassay.report.sage.tables import compute_expected_similarity_after_edit, is_linear_curve_expected
from embassay.runs.folder import RunFolder

MOST = 200
"""Items of a group whose edited texts go into the page: the first so many of those kept."""
WINDOW = 100
BEFORE = 20
NEEDLE = 90


@dataclass(frozen=True)
class EditSpansOfItems:
    """Edits of a group's items: `reason` says why there are none, `needle` how inserted texts begin."""

    by_edit: dict[str, list[Any]]
    needle: str = ""
    reason: str = ""


def compute_edited_text_spans(
    record: RunRecord, task: str, dataset: str, ids: Sequence[str], texts: Sequence[str]
) -> EditSpansOfItems:
    """For each edit and item a window of the edited text (robustness) or the span that changed."""
    try:
        return _compute_task_text_edits(
            _build_sage_edit_context(record, dataset), task, Documents(tuple(ids[:MOST]), tuple(texts[:MOST]))
        )
    except EmbassayError as error:
        return EditSpansOfItems({}, reason=f"Edited texts cannot be shown: {error}")


def _compute_task_text_edits(context: SageContext, task: str, documents: Documents) -> EditSpansOfItems:
    if task == "robustness":
        made = {
            edit: list(starmap(cut_change_window, _pair_texts_with_edits(edit, documents, context))) for edit in EDITS
        }
        return EditSpansOfItems(made)
    documents = shorten_documents(documents, context)
    spans: dict[str, list[Any]] = {}
    needle = ""
    for edit, kind, _, _ in SPANS:
        found = [(find_change_span(text, new), new) for text, new in _pair_texts_with_edits(edit, documents, context)]
        spans[edit] = [place for place, _ in found]
        if kind == "insertion":
            inserted = (new[place[0] : place[0] + place[2]] for place, new in found)
            needle = max((needle, *inserted), key=len)
    return EditSpansOfItems(spans, needle[:NEEDLE])


def cut_change_window(text: str, new: str) -> list[Any]:
    """Where a window on the first change begins, the original's part of it and the edited one; [] if
    unchanged.

    >>> cut_change_window("the cat is here", "the cat is not here")
    [0, 'the cat is not here']
    """
    if text == new:
        return []
    start = max(0, _common_prefix_length(text, new) - BEFORE)
    start = text.rfind(" ", 0, start) + 1
    return [start, new[start : start + WINDOW]]


def find_change_span(text: str, new: str) -> list[int]:
    """Where two texts begin to differ, how many characters went and how many came.

    >>> find_change_span("one two three", "one three"), find_change_span("one three", "one two three")
    ([5, 4, 0], [5, 0, 4])
    """
    start = _common_prefix_length(text, new)
    end = min(_common_prefix_length(text[::-1], new[::-1]), min(len(text), len(new)) - start)
    return [start, len(text) - start - end, len(new) - start - end]


def _pair_texts_with_edits(edit: str, documents: Documents, context: SageContext) -> list[tuple[str, str]]:
    return list(zip(documents.texts, edit_documents(edit, documents, context), strict=True))


def _common_prefix_length(a: str, b: str) -> int:
    """The length of the common beginning."""
    low, high = 0, min(len(a), len(b))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if a[:middle] == b[:middle] else (low, middle - 1)
    return low


def _build_sage_edit_context(record: RunRecord, dataset: str) -> SageContext:
    from embassay.text import open_tokenizer

    arguments = record.arguments
    options = SageOptions(**(arguments.get("options") or {}))
    tokenizer = open_tokenizer(arguments.get("tokenizer", "cl100k"))
    return SageContext(dataset, tokenizer, arguments.get("seed", 1337), options)


VERSIONS = ("original", "augmented")
EDIT_NUMBERS = {"": 0, **{edit: i for i, edit in enumerate(REPLACED, start=1)}}


class RankedDocumentNumbering:
    """Documents that occur in a ranking, by number: their ids and excerpts."""

    def __init__(self, excerpts: ExcerptStore, judged: ItemTextsByField) -> None:
        self.ids: list[str] = []
        self.texts: list[int] = []
        self._excerpts, self._judged = excerpts, judged
        self._places: dict[str, int] = {}

    def number_document(self, identifier: str) -> int:
        """The document's number; a new one is added."""
        if identifier not in self._places:
            self._places[identifier] = len(self.ids)
            self.ids.append(identifier)
            text = self._judged.text("document", identifier) or ""
            self.texts.append(self._excerpts.add(text, LENGTHS["document"]))
        return self._places[identifier]


def read_clean_augmented_rankings(
    folder: RunFolder, group: DatasetItemValues, queries: Sequence[str], corpus: RankedDocumentNumbering
) -> tuple[list[list[Any]], list[dict[int, float]]]:
    """Per query and system `[documents of the clean ranking, document and edit by turns of the augmented
    one]`,
    and per query the gains of the relevant documents that any system found."""
    found = [_read_rankings_by_query_and_version(folder, group, system) for system in group.systems]
    gains: list[dict[int, float]] = []
    lines = []
    for query in queries:
        gain: dict[int, float] = {}
        lines.append([_flatten_ranking_versions(ranked.get(query, {}), corpus, gain) for ranked in found])
        gains.append(gain)
    return lines, gains


Entries = dict[str, dict[str, list[tuple[str, str, float]]]]


def _read_rankings_by_query_and_version(folder: RunFolder, group: DatasetItemValues, system: SystemOfRun) -> Entries:
    """Entries (document, edit, gain) by query and version, best first."""
    path = folder.locate_cell_items(group.kind.task, group.dataset, system.name, ".rankings")
    if not path.exists():
        return {}
    frame = read_parquet(path).sort("rank", maintain_order=True)
    entries: Entries = {}
    for query, version, doc, edit, gain in frame.select("query_id", "version", "doc_id", "edit", "gain").iter_rows():
        entries.setdefault(query, {}).setdefault(version, []).append((doc, edit, gain or 0.0))
    return entries


def _flatten_ranking_versions(
    versions: dict[str, list[tuple[str, str, float]]], corpus: RankedDocumentNumbering, gain: dict[int, float]
) -> list[list[int]]:
    lists: list[list[int]] = []
    for version in VERSIONS:
        flat: list[int] = []
        for doc, edit, value in versions.get(version, ()):
            number = corpus.number_document(doc)
            flat += [number] if version == "original" else [number, EDIT_NUMBERS.get(edit, 0)]
            if value > 0 and not edit:
                gain[number] = value
        lists.append(flat)
    return lists


MOST_MEMBERS, FEW_MEMBERS = 200, 20
"""Texts of one clustering set that go into the page of one run, and of several."""


def make_comparisons_item_data(source: ItemGroupPageInputs) -> Part:
    """Make the page's data on items of comparisons: source, both summaries, and people's choice."""
    return {
        "fields": {name: source.texts(name) for name in ("source", "first", "second")},
        "choice": _infer_human_choices_from_predictions(source.group, source.ids),
    }


def make_ratings_item_data(source: ItemGroupPageInputs) -> Part:
    """Make the page's data on rated items: the source, the summary and its ratings by axis."""
    return {
        "fields": {name: source.texts(name) for name in ("source", "summary")},
        "ratings": _read_ratings_by_axis(source),
    }


def make_robustness_item_data(source: ItemGroupPageInputs) -> Part:
    """Make the page's data on robustness items: text, summary, a window of each edited version."""
    fields = {name: source.texts(name) for name in ("text", "summary")}
    return {"fields": fields, **_make_text_change_data(source)}


def make_sensitivity_item_data(source: ItemGroupPageInputs) -> Part:
    """Make the page's data on sensitivity items: text, the span each variant changes, expectation."""
    linear = is_linear_curve_expected(source.record)
    sizes = {
        size: round(compute_expected_similarity_after_edit(float(size), linear=linear), 4)
        for kind in SIZES.values()
        for size in kind
    }
    return {"fields": {"text": source.texts("text")}, "expected": sizes, **_make_text_change_data(source)}


def make_clustering_item_data(source: ItemGroupPageInputs) -> Part:
    """Make the page's data on clustering items: each set's members by label, and their clusters."""
    members: dict[str, list[str]] = {item: [] for item in source.ids}
    for text in source.judged.items("text"):
        name = source.judged.text("set", text) or ""
        if name in members:
            members[name].append(text)
    clusters = [_read_text_clusters_by_set(source, system.name) for system in source.group.systems]
    return {"fields": {}, "sets": [_make_cluster_set_data(source, members[item], clusters) for item in source.ids]}


def make_retrieval_item_data(source: ItemGroupPageInputs) -> Part:
    """Make the page's data on retrieval items: the query, documents, and every system's two rankings."""
    corpus = RankedDocumentNumbering(source.excerpts, source.judged)
    ranked, gains = read_clean_augmented_rankings(source.folder, source.group, source.ids, corpus)
    return {
        "fields": {"query": source.texts("query")},
        "rankings": ranked,
        "gains": gains,
        "documents": corpus.ids,
        "documentTexts": corpus.texts,
    }


def _make_text_change_data(source: ItemGroupPageInputs) -> Part:
    group = source.group
    texts = [source.judged.text("text", item) or "" for item in source.ids]
    made = compute_edited_text_spans(source.record, group.kind.task, group.dataset, source.ids, texts)
    return {"changes": made.by_edit, "needle": made.needle, "changesReason": made.reason}


def _infer_human_choices_from_predictions(group: DatasetItemValues, ids: Sequence[str]) -> list[int | None]:
    """Infer what people chose (0 or 1) from a system's prediction and whether it was right."""
    keys = [measure.key for measure in group.measures]
    wanted = (("correct", ""), ("similarity", "first"), ("similarity", "second"))
    if any(key not in keys for key in wanted):
        return [None] * len(ids)
    correct, first, second = (group.values[keys.index(key), 0] for key in wanted)
    place = {item: i for i, item in enumerate(group.ids)}
    predicted = {item: int(round(first[place[item]], 6) <= round(second[place[item]], 6)) for item in ids}
    return [{1.0: predicted[item], 0.0: 1 - predicted[item]}.get(float(correct[place[item]])) for item in ids]


def _read_ratings_by_axis(source: ItemGroupPageInputs) -> dict[str, list[float | None]]:
    """Read the human ratings by axis; they stand in every system's file."""
    import polars as pl

    group = source.group
    path = source.folder.locate_cell_items(group.kind.task, group.dataset, group.systems[0].name)
    frame = read_parquet(path).filter(pl.col("variant") == "human")
    axes: dict[str, dict[str, float | None]] = {}
    for item, axis, value in frame.select("item_id", "measure", "value").iter_rows():
        axes.setdefault(axis, {})[item] = value
    return {axis: [values.get(item) for item in source.ids] for axis, values in axes.items()}


def _read_text_clusters_by_set(source: ItemGroupPageInputs, system: str) -> dict[str, dict[str, int]]:
    """Read the cluster of each text, by set."""
    import polars as pl

    path = source.folder.locate_cell_items(source.group.kind.task, source.group.dataset, system)
    frame = read_parquet(path).filter(pl.col("measure") == "cluster")
    clusters: dict[str, dict[str, int]] = {}
    for item, name, value in frame.select("item_id", "variant", "value").drop_nulls().iter_rows():
        clusters.setdefault(name, {})[item] = int(value)
    return clusters


def _make_cluster_set_data(
    source: ItemGroupPageInputs, members: Sequence[str], clusters: Sequence[dict[str, dict[str, int]]]
) -> Part:
    """Make the page's data on one set of texts to cluster: its first texts, by label."""
    label = {text: source.judged.text("label", text) or "" for text in members}
    name = source.judged.text("set", members[0]) if members else ""
    shown = sorted(members, key=lambda text: label[text])[: FEW_MEMBERS if source.excerpts.is_short else MOST_MEMBERS]
    return {
        "total": len(members),
        "ids": shown,
        "texts": [source.excerpts.add(source.judged.text("text", text) or "", SHORT) for text in shown],
        "labels": [label[text] for text in shown],
        "clusters": [[of.get(name or "", {}).get(text) for text in shown] for of in clusters],
    }
