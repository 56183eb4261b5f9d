"""From a request to the data it names: the only part of sampling that reads files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from embassay.data import open_dataset
from embassay.data.dataset import Dataset
from embassay.data.rows import plain as cell_text
from embassay.data.views import Filtered
from embassay.errors import DataError, UsageError
from embassay.protocols.hume.published.paper import iso_639_3
from embassay.protocols.hume.sampling.options import TaskRequest
from embassay.protocols.hume.sampling.pools import pair_text
from embassay.protocols.hume.study import FAMILIES, Family
from embassay.records import Loaded

SHAPES: Mapping[Family, tuple[str, ...]] = {
    "classification": ("classification", "labelled"),
    "clustering": ("labelled",),
    "reranking": ("reranking", "retrieval"),
    "sts": ("pairs",),
}
"""Family -> the shapes its items are drawn from, the first that a dataset has."""
TRAIN, TEST = "train", "test"


@dataclass(frozen=True)
class Opened:
    """One task to draw: data in one shape and one language. `lang` is ISO 639-3, `own_lang` as the data write it."""

    request: TaskRequest
    family: Family
    shape: str
    lang: str
    own_lang: str
    data: Loaded[Any]
    trained: tuple[str, ...] = ()
    """Texts that models may train on, besides the training side of a classification."""
    drawn_from: str = ""
    """The split of a table that the items are from; empty where it has none."""


def opened(request: TaskRequest) -> Iterator[Opened]:
    """Every task that a request is for: by family and language. Raises UsageError where it is for none."""
    dataset = open_dataset(request.data, mapping=request.map, split=request.split, grades=request.grades)
    families = request.family or _families(request, dataset)
    for family in families:
        shape = _shape(request, family, dataset)
        yield from _by_language(request, family, shape, dataset)


def _families(request: TaskRequest, dataset: Dataset) -> list[Family]:
    """Those that the data are meant for, else all whose columns they have."""
    meant = dataset.tasks_in("hume")
    found = [family for family in FAMILIES if _shapes(request, family, dataset)]
    found = [family for family in found if meant is None or family in meant]
    if not found:
        raise UsageError(
            f"{dataset.name} has no data for any family of HUME; it can be {', '.join(dataset.shapes())}.",
            mend="Name its columns with --map: text, label, text2, score, query.",
        )
    return found


def _shape(request: TaskRequest, family: Family, dataset: Dataset) -> str:
    found = _shapes(request, family, dataset)
    if not found:
        lacking = min((dataset.missing(shape) for shape in _wanted(request, family)), key=len)
        raise UsageError(
            f"{dataset.name} cannot be sampled for {family}: it has no {', '.join(lacking) or 'rows to train on'}.",
            mend="Name the columns with --map, or leave this family out.",
        )
    return found[0]


def _shapes(request: TaskRequest, family: Family, dataset: Dataset) -> list[str]:
    """The shapes of a family that the dataset can give; a classification needs rows to train on."""
    return [
        shape
        for shape in _wanted(request, family)
        if not dataset.missing(shape) and (shape != "classification" or has_training_rows(dataset))
    ]


def has_training_rows(dataset: Dataset) -> bool:
    """Whether the dataset is a classification with rows to train on, not only a table with a column `split`."""
    return not dataset.missing("classification") and TRAIN in _splits(dataset, "classification")


def _wanted(request: TaskRequest, family: Family) -> tuple[str, ...]:
    if family == "reranking" and request.negatives:
        return ("reranking",) if request.negatives == "lists" else ("retrieval",)
    return SHAPES[family]


def _by_language(request: TaskRequest, family: Family, shape: str, dataset: Dataset) -> Iterator[Opened]:
    tested, drawn_from = _tested(request, shape, dataset)
    subsets = tested.subsets(shape)
    if request.lang and len(subsets) == 1 and set(subsets) <= {"und", ""}:
        subsets = {"und": next(iter(subsets.values()))}
    wanted = {iso_639_3(lang) for lang in request.lang}
    stated = list(subsets) == ["und"] and len(wanted) == 1
    for own, subset in subsets.items():
        lang = next(iter(wanted)) if stated else iso_639_3(own)
        if wanted and lang not in wanted:
            continue
        trained = _trained(request, shape, dataset, own, len(subsets) > 1)
        yield Opened(
            request,
            family,
            shape,
            lang,
            "" if len(subsets) == 1 else own,
            subset.load(shape),
            trained,
            drawn_from,
        )
    if missing := sorted(wanted - {iso_639_3(own) for own in subsets}) if not stated else []:
        raise UsageError(
            f"{dataset.name} has no items in {', '.join(missing)}.",
            mend=f"It has {', '.join(iso_639_3(own) for own in subsets)}.",
        )


def _tested(request: TaskRequest, shape: str, dataset: Dataset) -> tuple[Dataset, str]:
    """The rows of the split `test`, where there are such and no split was asked for; and the name of the split."""
    if request.split or shape == "classification":
        return dataset, request.split or TEST
    if shape == "retrieval" or TEST not in _splits(dataset, shape):
        return dataset, ""
    return _only(dataset, shape, TEST), TEST


def _trained(request: TaskRequest, shape: str, dataset: Dataset, own: str, several: bool) -> tuple[str, ...]:
    """The texts of the split `train` of the same table, and of the data given to compare with."""
    found: list[str] = []
    if shape in ("pairs", "labelled") and TRAIN in _splits(dataset, shape) and request.split is None:
        train = _only(dataset, shape, TRAIN)
        found += _texts((train.only(own) if several else train), shape)
    for spec in request.against:
        found += _texts(open_dataset(spec, mapping=request.map), shape)
    return tuple(found)


def _texts(dataset: Dataset, shape: str) -> list[str]:
    """Every text of a dataset as items are compared: pairs in either order, queries without their documents."""
    data = dataset.load("labelled" if shape == "classification" else shape).data
    if shape == "pairs":
        return [pair_text(one, other) for one, other in zip(data.first, data.second, strict=True)]
    if shape == "reranking":
        return [query for queries in data.queries for query in queries]
    if shape == "retrieval":
        return list(data.queries.texts)
    return list(data.texts)


def _splits(dataset: Dataset, shape: str) -> frozenset[str]:
    source = dataset.parts.get(shape)
    if source is None or "split" not in source.columns():
        return frozenset()
    return frozenset(cell_text(row.cells.get("split")) for row in source.rows(("split",)))


def _only(dataset: Dataset, shape: str, split: str) -> Dataset:
    rows = Filtered(dataset.parts[shape], {"split": frozenset({split})})
    return replace(dataset, parts={**dataset.parts, shape: rows})


def empty_texts(loaded: Loaded[Any], shape: str) -> int:
    """How many documents of a corpus are empty; texts of the other shapes never are."""
    if shape != "retrieval":
        return 0
    if not len(loaded.data):
        raise DataError("The corpus has no documents")
    return sum(not text.strip() for text in loaded.data.corpus.texts)
